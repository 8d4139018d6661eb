import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { decodeFragment } from '../../src/hook/fragment.ts';
import { type Inbox, openInbox } from '../../src/serve/fragment-writer.ts';

let stateFolder: string;
let inbox: Inbox;

beforeEach(() => {
  stateFolder = mkdtempSync(join(tmpdir(), 'otel-hooks-serve-'));
  inbox = openInbox({ stateFolder, nonce: '0'.repeat(32), fsync: false });
});
afterEach(() => rmSync(stateFolder, { recursive: true, force: true }));

/** The files in the inbox at this moment. */
function files(): string[] {
  let names: string[];
  try {
    names = readdirSync(join(stateFolder, 'inbox')).sort();
  } catch {
    // The folder is made with the first file.
    return [];
  }
  return names.map(name => {
    const decoded = decodeFragment(name, readFileSync(join(stateFolder, 'inbox', name)), 0);
    return decoded.ok ? decoded.fragment.payload.toString() : decoded.why;
  });
}

function keep(payload: string, isLine = true): Promise<unknown> {
  return new Promise(resolve => inbox.keep({ header: {}, payload: Buffer.from(payload), isLine, settled: resolve }));
}

it('events that arrive together go into one file, and answers come after it', async () => {
  const answers: string[] = [];
  const all = ['a', 'b', 'c'].map(each => keep(each).then(() => answers.push(each)));
  expect([files(), answers]).toEqual([[], []]);
  await Promise.all(all);
  expect(files()).toEqual(['a\nb\nc']);
  expect(answers).toEqual(['a', 'b', 'c']);
});

it('a sender waits for no other', async () => {
  for (const each of ['a', 'b', 'c']) await keep(each);
  expect(files()).toEqual(['a', 'b', 'c']);
});

it('no file grows without limit', async () => {
  await Promise.all(Array.from({ length: 250 }, (_, n) => keep(String(n))));
  expect(files().map(text => text.split('\n').length)).toEqual([100, 100, 50]);
});

it('an event that is not one line has a file of its own, after earlier events', () => {
  void keep('a');
  void keep('{\n}', false);
  expect(files()).toEqual(['a', '{\n}']);
});

it('all senders of a file get the error when it cannot be written', async () => {
  inbox = openInbox({ stateFolder: `${stateFolder}\0`, nonce: '0'.repeat(32), fsync: false });
  expect(await Promise.all([keep('a'), keep('b')])).toEqual([expect.any(Error), expect.any(Error)]);
});
