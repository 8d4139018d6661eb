/** The project holds its own work: nothing copied from the shared materials, and no place of anybody's machine. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { filesBelow, root } from './sources.ts';

const shared = join(root, '..', 'shared');
const own = filesBelow('.');

/** Files as small as `{}` are equal by chance. */
const TELLING_BYTES = 64;
/** So are short lines. */
const TELLING_CHARS = 100;

const suffix = existsSync(shared) ? '' : ' (skipped: ../shared is not here)';

it.skipIf(suffix !== '')(`no file is a copy of one of the shared materials${suffix}`, () => {
  const theirs = new Set(theirFiles().map(sha256));
  const copies = own.filter(
    file => statSync(join(root, file)).size > TELLING_BYTES && theirs.has(sha256(join(root, file))),
  );
  expect(copies).toEqual([]);
});

it.skipIf(suffix !== '')(`no sentence is taken over from the shared materials${suffix}`, () => {
  const theirs = new Set(theirFiles().filter(isText).flatMap(linesOf));
  const taken = own
    .filter(isText)
    .flatMap(file => linesOf(join(root, file)).flatMap(line => (theirs.has(line) ? [`${file}: ${line}`] : [])));
  expect(taken).toEqual([]);
});

it('no file names a place on the machine where it was made', () => {
  // Wherever it is made: the folder of the sources, what lies around it, and the home of whoever works there.
  const places = [root, dirname(root), homedir()].map(place => `${place}/`).filter(place => place.length > 3);
  const named = own.flatMap(file => {
    const text = readFileSync(join(root, file), 'latin1');
    return places.filter(place => text.includes(place)).map(place => `${file}: ${place}`);
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
