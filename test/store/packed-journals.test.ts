/** A journal reads the same whether it is plain, packed, or packed with further lines behind. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Limits } from '../../src/store/limits.ts';
import { openStore, type Store } from '../../src/store/store.ts';

const DAY_MS = 86_400_000;
const none = { sizeBytes: Number.POSITIVE_INFINITY, files: Number.POSITIVE_INFINITY, days: 3_650 };
const limits: Limits = { inbox: none, outbox: none, journal: none };
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `{"id":${from + i},"text":"${'x'.repeat(30)}"}\n`).join('');

let root: string;
let laterMs: number;
let store: Store;
const clock = { nowMs: () => Date.now() + laterMs, monotonicMs: () => laterMs };
const open = (access: 'own' | 'read'): Store => openStore({ folder: join(root, 'state'), access, clock });
const files = (): string[] => fs.readdirSync(join(root, 'state', 'journal')).sort();

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-packed-'));
  laterMs = 0;
  store = open('own');
});
afterEach(() => fs.rmSync(root, { recursive: true }));

function pack(key: string): void {
  const text = Buffer.from(store.journal(key) ?? '');
  expect(store.commit({ packed: [{ key, bytes: gzipSync(text), textBytes: text.length }] })).toBe('committed');
}

it('reads the same from packed journals, in every way', () => {
  const text = lines(0, 5_000);
  store.commit({ journal: [{ key: 'a', lines: text }] });
  const ways = (each: Store) => ({
    all: each.journal('a'),
    tail: each.journalTail('a', 3),
    long: each.journalTail('a', 9_999),
    head: each.journalHead('a', 500),
    parts: [0, 100_000, text.length].map(from => each.journalFrom('a', from, 10_000)),
    size: each.journalSize('a'),
    sizes: [...each.journalSizes()],
    keys: each.journals(),
  });
  const before = ways(store);
  const { mtimeMs } = fs.statSync(join(root, 'state', 'journal', 'a.jsonl'));
  pack('a');
  expect(files()).toEqual(['a.jsonl.gz']);
  expect(ways(store)).toEqual(before);
  expect(ways(open('read'))).toEqual(before);
  const packed = join(root, 'state', 'journal', 'a.jsonl.gz');
  expect(Math.abs(fs.statSync(packed).mtimeMs - mtimeMs)).toBeLessThan(1_000);
  expect(gunzipSync(fs.readFileSync(packed)).toString()).toBe(text);
});

it('a packed session that goes on has its new lines behind the packed ones', () => {
  store.commit({ journal: [{ key: 'a', lines: lines(0, 10) }] });
  pack('a');
  const before = store.journalSize('a') ?? 0;
  store.commit({ journal: [{ key: 'a', lines: lines(10, 12) }], sessions: [{ key: 'a', state: { turn: 1 } }] });
  store.commit({ journal: [{ key: 'a', lines: lines(12, 13) }], sessions: [{ key: 'a', state: { turn: 2 } }] });
  expect(files()).toEqual(['a.jsonl', 'a.jsonl.gz']);
  for (const each of [store, open('read')]) {
    expect(each.journal('a')).toBe(lines(0, 13));
    expect(each.journalTail('a', 2)).toBe(lines(11, 13));
    expect(each.journalTail('a', 5)).toBe(lines(8, 13));
    expect(each.journalFrom('a', before, 1_000_000)).toEqual({ lines: lines(10, 13), endBytes: lines(0, 13).length });
    expect(each.journalSize('a')).toBe(lines(0, 13).length);
  }
  store.commit({ prune: ['a'] });
  expect([files(), store.journal('a')]).toEqual([[], undefined]);
});

it('the moment between both files shows each line once', () => {
  store.commit({ journal: [{ key: 'a', lines: lines(0, 10) }] });
  const plain = fs.readFileSync(join(root, 'state', 'journal', 'a.jsonl'));
  pack('a');
  fs.writeFileSync(join(root, 'state', 'journal', 'a.jsonl'), plain);
  const reader = open('read');
  expect(reader.journal('a')).toBe(lines(0, 10));
  expect(reader.journalTail('a', 20)).toBe(lines(0, 10));
  expect(reader.journalFrom('a', lines(0, 10).length, 1_000)).toEqual({ lines: '', endBytes: lines(0, 10).length });
});

it('a journal that grew while it was packed stays plain', () => {
  store.commit({ journal: [{ key: 'a', lines: lines(0, 10) }] });
  const text = Buffer.from(store.journal('a') ?? '');
  store.commit({ journal: [{ key: 'a', lines: lines(10, 11) }] });
  store.commit({ packed: [{ key: 'a', bytes: gzipSync(text), textBytes: text.length }] });
  store.commit({ packed: [{ key: 'gone', bytes: gzipSync(text), textBytes: text.length }] });
  expect(files()).toEqual(['a.jsonl']);
  expect(store.journal('a')).toBe(lines(0, 11));
});

it('a damaged packed journal loses its own lines alone', () => {
  store.commit({ journal: [{ key: 'a', lines: lines(0, 10) }] });
  pack('a');
  store.commit({ journal: [{ key: 'a', lines: lines(10, 11) }] });
  fs.writeFileSync(join(root, 'state', 'journal', 'a.jsonl.gz'), 'no gzip');
  expect(store.journal('a')).toBe(lines(10, 11));
  expect(open('read').journals()).toEqual(['a']);
});

it('journals are packed a week after their last line, once their session is over', () => {
  store.commit({ journal: [{ key: 'over', lines: lines(0, 1) }] });
  store.commit({ journal: [{ key: 'open', lines: lines(0, 1) }], sessions: [{ key: 'open', state: { turn: 1 } }] });
  const day = (): void => {
    const found = store.within(limits);
    if (found !== undefined) store.commit(found.round);
    laterMs += DAY_MS;
  };
  for (let i = 0; i < 7; i += 1) day();
  expect(store.packable()).toEqual([]);
  for (let i = 0; i < 2; i += 1) day();
  expect(store.packable().map(({ key }) => key)).toEqual(['over']);
  pack('over');
  expect(store.packable()).toEqual([]);
  const [journal] = [...store.journalSizes()].filter(([key]) => key === 'over');
  expect(journal).toEqual(['over', lines(0, 1).length]);
});
