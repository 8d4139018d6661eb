/** The state of a session that is over is packed, and every reader gets the same state. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStore, type Store } from '../../src/store/store.ts';

let root: string;
const open = (access: 'own' | 'read'): Store => openStore({ folder: join(root, 'state'), access });
const path = (): string => join(root, 'state', 'sessions', 'a.json');
const state = { v: 1, text: 'é'.repeat(3_000), seen: Array.from({ length: 100 }, (_, i) => `id-${i}`) };
const outline = { arrivedMs: 7, destinations: ['d1'] };

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-states-'));
});
afterEach(() => fs.rmSync(root, { recursive: true }));

it('reads the same in every way, and its outline without the rest', () => {
  const store = open('own');
  store.commit({ journal: [{ key: 'a', lines: 'one\n' }], sessions: [{ key: 'a', state }] });
  const plainBytes = fs.statSync(path()).size;
  expect(store.outline('a')).toBeUndefined();
  store.commit({ journal: [{ key: 'a', lines: 'two\n' }], sessions: [{ key: 'a', state, outline }] });
  expect(fs.statSync(path()).size).toBeLessThan(plainBytes / 3);
  for (const each of [store, open('own'), open('read')]) {
    expect(each.session('a')).toMatchObject({ state, journalBytes: 8 });
    expect(each.outline('a')).toEqual(outline);
    expect(each.sessions()).toEqual(['a']);
    expect([...each.sessionSizes()]).toEqual([['a', fs.statSync(path()).size]]);
    expect(each.journal('a')).toBe('one\ntwo\n');
  }
  expect(open('own').outline('missing')).toBeUndefined();
});

it('is unpacked when the session goes on', () => {
  const store = open('own');
  store.commit({ journal: [{ key: 'a', lines: 'one\n' }], sessions: [{ key: 'a', state, outline }] });
  store.commit({ journal: [{ key: 'a', lines: 'two\n' }] });
  expect(JSON.parse(fs.readFileSync(path(), 'utf8'))).toMatchObject({ v: 1, n: 2, journalBytes: 8, state });
  expect([store.session('a')?.state, store.outline('a')]).toEqual([state, undefined]);
});

it('affects only itself when it is damaged, and is counted', () => {
  open('own').commit({ journal: [{ key: 'a', lines: 'one\n' }], sessions: [{ key: 'a', state, outline }] });
  const bytes = fs.readFileSync(path());
  for (const [i, damaged] of [
    bytes.subarray(0, -20),
    Buffer.concat([bytes.subarray(0, -9), bytes.subarray(-8)]),
  ].entries()) {
    fs.writeFileSync(path(), damaged);
    const store = open('own');
    expect(store.session('a')).toBeUndefined();
    expect(store.journal('a')).toBe('one\n');
    store.commit({});
    expect(store.ledger().counters).toEqual({ 'damaged.sessions': i + 1 });
  }
});

it('has the number of its round, for a ledger that is made again', () => {
  const store = open('own');
  for (let i = 0; i < 4; i += 1) store.commit({ sessions: [{ key: 'a', state, outline }] });
  fs.writeFileSync(join(root, 'state', 'ledger.json'), '');
  expect(open('own').ledger().n).toBe(4);
});
