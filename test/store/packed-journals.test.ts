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

const damages: [string, (bytes: Buffer) => Buffer][] = [
  ['is no gzip', () => Buffer.from('no gzip')],
  ['is cut short', bytes => bytes.subarray(0, bytes.length / 2)],
  ['has a wrong checksum', bytes => Buffer.concat([bytes.subarray(0, -8), Buffer.alloc(4), bytes.subarray(-4)])],
];

for (const [what, damage] of damages)
  it(`a packed journal that ${what} loses its own lines alone, is counted and is set aside`, () => {
    store.commit({ journal: [{ key: 'a', lines: lines(0, 100) }] });
    pack('a');
    store.commit({ journal: [{ key: 'a', lines: lines(100, 101) }] });
    const path = join(root, 'state', 'journal', 'a.jsonl.gz');
    const damaged = damage(fs.readFileSync(path));
    fs.writeFileSync(path, damaged);
    expect(open('read').journal('a')).toBe(lines(100, 101));
    expect(open('read').journals()).toEqual(['a']);
    expect(store.journal('a')).toBe(lines(100, 101));
    expect(store.commit({})).toBe('committed');
    expect(store.ledger().counters).toEqual({ 'damaged.journal': 1 });
    expect(files()).toEqual(['a.jsonl']);
    const [aside = ''] = store.quarantined();
    expect(aside).toMatch(/^damaged-journal\.a-\d+$/);
    expect(store.quarantinedBytes(aside)).toEqual(damaged);
    expect(store.journal('a')).toBe(lines(100, 101));
    expect(open('own').commit({})).toBe('committed');
    expect(open('read').ledger().counters).toEqual({ 'damaged.journal': 1 });
  });

it('a listing opens no packed journal, and their lengths are read once', () => {
  for (const key of ['a', 'b', 'c']) {
    store.commit({ journal: [{ key, lines: lines(0, 10) }] });
    pack(key);
  }
  const opened: string[] = [];
  const watching: typeof fs = {
    ...fs,
    openSync: (path, ...more) => {
      if (String(path).includes('journal/')) opened.push(String(path));
      return fs.openSync(path, ...more);
    },
  };
  const watched = openStore({ folder: join(root, 'state'), access: 'own', clock, fs: watching });
  watched.within(limits);
  expect([watched.packable(), watched.journals(), opened]).toEqual([[], ['a', 'b', 'c'], []]);
  const sizes = [...watched.journalSizes()];
  expect(sizes.map(([, size]) => size)).toEqual(Array(3).fill(lines(0, 10).length));
  expect([...watched.journalSizes()]).toEqual(sizes);
  expect(opened.length).toBeLessThanOrEqual(3);
});

it('one round removes a part of many journals, and a listing stops after its time', () => {
  const journal = Array.from({ length: 900 }, (_, i) => ({ key: `k${i}`, lines: lines(0, 1) }));
  store.commit({ journal });
  let nowMs = 0;
  const slow = { nowMs: clock.nowMs, monotonicMs: () => (nowMs += 10) };
  const own = openStore({ folder: join(root, 'state'), access: 'own', clock: slow });
  const few = { ...limits, journal: { ...none, files: 10 } };
  let looks = 0;
  const rounds: number[] = [];
  for (let left = true; left; looks += 1) {
    const found = own.within(few);
    if (found !== undefined) own.commit(found.round);
    if (found?.excess.journals.length) rounds.push(found.excess.journals.length);
    left = !own.isListed() || (found?.excess.journals.length ?? 0) > 0;
  }
  expect(looks).toBeGreaterThan(rounds.length + 1);
  expect(Math.max(...rounds)).toBeLessThanOrEqual(250);
  expect(rounds.reduce((sum, each) => sum + each, 0)).toBe(890);
  expect(files()).toHaveLength(10);
  expect(own.ledger().counters).toEqual({ 'dropped.journal.over-files': 890 });
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
  expect(store.packable()?.map(({ key }) => key)).toEqual(['over']);
  pack('over');
  expect(store.packable()).toEqual([]);
  const [journal] = [...store.journalSizes()].filter(([key]) => key === 'over');
  expect(journal).toEqual(['over', lines(0, 1).length]);
});
