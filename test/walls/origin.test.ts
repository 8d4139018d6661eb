/** The project contains only its own work: no copy of the shared materials, and no path of a developer's machine. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { isCi, skipFor } from '../needs.ts';
import { needsShared, sharedPath } from '../shared.ts';
import { filesBelow, root } from './sources.ts';

const shared = sharedPath('');
const own = filesBelow('.');

/** Files as small as `{}` may be equal by chance. */
const TELLING_BYTES = 64;
/** Short lines may be equal by chance too. */
const TELLING_CHARS = 100;

it('no file is a copy of one of the shared materials', context => {
  needsShared(context, '');
  const theirs = new Set(theirFiles().map(sha256));
  const copies = own.filter(
    file => statSync(join(root, file)).size > TELLING_BYTES && theirs.has(sha256(join(root, file))),
  );
  expect(copies).toEqual([]);
});

it('no sentence is taken over from the shared materials', context => {
  needsShared(context, '');
  const theirs = new Set(theirFiles().filter(isText).flatMap(linesOf));
  const taken = own
    .filter(isText)
    .flatMap(file => linesOf(join(root, file)).flatMap(line => (theirs.has(line) ? [`${file}: ${line}`] : [])));
  expect(taken).toEqual([]);
});

/** The users of examples, samples and tests. Every home that a file names belongs to one of them. */
const exampleUsers = 'ada alice ana ci dev jo kim me mira o ops test u user you'.split(' ');

it('every home in a file is that of an example user', () => {
  const strangers = own.flatMap(file =>
    [...readFileSync(join(root, file), 'latin1').matchAll(/[\\/](?:home|Users)(?:\/|\\{1,4}(?!\/))([\w.-]+)/g)]
      .filter(([, user = '']) => !exampleUsers.includes(user.toLowerCase()))
      .map(([home]) => `${file}: ${home}`),
  );
  expect(strangers).toEqual([]);
});

it('no file names a folder of the machine where it was made', context => {
  // On other machines the clone may be where an example is: in /tmp, or in the home of a user named ada.
  if (!isCi) skipFor(context, 'looks in CI alone for the folders of the machine');
  const isExample = (place: string): boolean => exampleUsers.some(user => `${place}/`.startsWith(`/home/${user}/`));
  const places = [root, dirname(root), homedir()]
    .map(place => resolve(place))
    .filter(place => place.length > 2 && !isExample(place));
  const named = own.flatMap(file => {
    const text = readFileSync(join(root, file), 'latin1');
    // Does not match in the middle of a longer path.
    const names = (place: string): boolean =>
      new RegExp(`(?<![\\w.~-])${place.replaceAll(/[^\w/]/g, '\\$&')}/`).test(text);
    return places.filter(names).map(place => `${file}: ${place}`);
  });
  expect(named).toEqual([]);
});

function theirFiles(): string[] {
  return readdirSync(shared, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(file => !file.startsWith(join(shared, 'backends')) && statSync(file).size > TELLING_BYTES);
}

function isText(file: string): boolean {
  return /\.(md|sample|jsonl?|txt|ts|mjs|ya?ml)$/.test(file) && !file.endsWith('package-lock.json');
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line.length >= TELLING_CHARS);
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
