import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { decodeFragment } from '../../src/hook/fragment.ts';
import { type Inbox, openInbox } from '../../src/serve/fragment-writer.ts';

let stateFolder: string;
let senders: number;
let inbox: Inbox;

beforeEach(() => {
  stateFolder = mkdtempSync(join(tmpdir(), 'otel-hooks-serve-'));
  senders = 1;
  inbox = openInbox({ stateFolder, nonce: '0'.repeat(32), fsync: false, senders: () => senders });
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

it('a single sender does not wait', () => {
  void keep('a');
  expect(files()).toEqual(['a']);
  void keep('b');
  expect(files()).toEqual(['a', 'b']);
});

it('events of simultaneous senders go into one file, and answers come after it', async () => {
  senders = 3;
  const answers: string[] = [];
  const all = ['a', 'b', 'c'].map(each => keep(each).then(() => answers.push(each)));
  expect(files()).toEqual(['a\nb\nc']);
  await Promise.all(all);
  expect(answers).toEqual(['a', 'b', 'c']);
});

it('senders do not wait long for silent connections', async () => {
  senders = 3;
  const kept = keep('a');
  expect(files()).toEqual([]);
  expect(await kept).toBe(undefined);
  expect(files()).toEqual(['a']);
});

it('an event that is not one line has a file of its own, after earlier events', () => {
  senders = 3;
  void keep('a');
  void keep('{\n}', false);
  expect(files()).toEqual(['a', '{\n}']);
});

it('all senders of a file get the error when it cannot be written', async () => {
  senders = 2;
  inbox = openInbox({ stateFolder: `${stateFolder}\0`, nonce: '0'.repeat(32), fsync: false, senders: () => senders });
  expect(await Promise.all([keep('a'), keep('b')])).toEqual([expect.any(Error), expect.any(Error)]);
});
