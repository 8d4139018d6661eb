/** A delivery packs the journals of sessions that are over, and the sessions read the same afterwards. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deliver } from '../../src/deliver/deliver.ts';
import { damagedFiles } from '../../src/deliver/status-books.ts';
import { eventsIn } from '../../src/journal/journal-events.ts';
import { sessionIndex } from '../../src/journal/session-index.ts';
import { changeOf } from '../../src/store/document.ts';
import { calendarDocument } from '../../src/store/limits.ts';
import { openStore } from '../../src/store/store.ts';

const DAY_MS = 86_400_000;
let root: string;
let folder: string;

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-packing-'));
  folder = join(root, 'state');
});
afterEach(() => fs.rmSync(root, { recursive: true }));

const line = (key: string, n: number): string =>
  `${JSON.stringify({
    spec_version: '0.1.0',
    event_id: `00000000-0000-4000-8000-00000000${String(n).padStart(4, '0')}`,
    event_type: n === 0 ? 'Session.Start' : 'Prompt.Submitted',
    timestamp: new Date(Date.now() - 9 * DAY_MS + n).toISOString(),
    source: { tool: 'claude-code' },
    session_id: key,
    actor: { type: 'user' },
    data: {},
    metadata: { 'dev.otel-hooks': { v: 1, seq: n + 1, time: 'arrival' } },
  })}\n`;

it('finds a damaged packed journal on the first delivery of a day, and status says so', async () => {
  const store = openStore({ folder, access: 'own' });
  const yesterday = Date.now() - DAY_MS - 1_000;
  const keys = ['a1', 'b2', 'c3'];
  const journal = keys.map(key => ({ key, lines: line(key, 0) + line(key, 1) }));
  store.commit({ journal, documents: [changeOf(calendarDocument, [[0, yesterday]])] });
  store.commit({
    packed: journal.map(({ key, lines }) => ({ key, bytes: gzipSync(lines), textBytes: lines.length })),
  });
  store.close();
  const path = join(folder, 'journal', 'b2.jsonl.gz');
  const bytes = fs.readFileSync(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 4;
  fs.writeFileSync(path, bytes);
  const surroundings = { env: {}, home: root, platform: process.platform, ownVariables: false, configFile: undefined };
  const stop = new AbortController();
  const counters = () => openStore({ folder, access: 'read' }).ledger().counters;
  const watch = setInterval(() => 'damaged.journal' in counters() && stop.abort(), 20);
  try {
    await deliver({ stateFolder: folder, byHand: false, waitMs: 20_000, surroundings, stop: stop.signal });
  } finally {
    clearInterval(watch);
  }
  expect(counters()).toEqual({ 'damaged.journal': 1 });
  expect(damagedFiles({ ...counters(), 'damaged.sessions': 2 })).toBe('1 journal, 2 sessions');
  expect(fs.readdirSync(join(folder, 'journal')).sort()).toEqual(['a1.jsonl.gz', 'c3.jsonl.gz']);
});

it('packs old journals while it waits for more hooks', async () => {
  const keys = ['a1', 'b2', 'c3'];
  const store = openStore({ folder, access: 'own' });
  const text = (key: string): string => Array.from({ length: 200 }, (_, n) => line(key, n)).join('');
  const today = Date.now();
  const calendar = Array.from({ length: 9 }, (_, day) => [0, today - (8 - day) * DAY_MS] as const);
  const journal = keys.map(key => ({ key, lines: text(key) }));
  store.commit({ journal, documents: [changeOf(calendarDocument, calendar)] });
  store.close();
  const journals = join(folder, 'journal');
  for (const key of ['a1', 'b2']) {
    const seconds = (today - 8.5 * DAY_MS) / 1_000;
    fs.utimesSync(join(journals, `${key}.jsonl`), seconds, seconds);
  }
  const surroundings = { env: {}, home: root, platform: process.platform, ownVariables: false, configFile: undefined };
  const stop = new AbortController();
  const isPacked = (): boolean => fs.existsSync(join(journals, 'b2.jsonl.gz'));
  const watch = setInterval(() => isPacked() && stop.abort(), 20);
  try {
    await deliver({ stateFolder: folder, byHand: false, waitMs: 60_000, surroundings, stop: stop.signal });
  } finally {
    clearInterval(watch);
  }
  expect(fs.readdirSync(journals).sort()).toEqual(['a1.jsonl.gz', 'b2.jsonl.gz', 'c3.jsonl']);
  expect(fs.statSync(join(journals, 'a1.jsonl.gz')).size).toBeLessThan(text('a1').length / 4);
  const reader = openStore({ folder, access: 'read' });
  for (const key of keys) expect(eventsIn(reader.journal(key) ?? '')).toHaveLength(200);
  expect([...sessionIndex(reader).values()].map(({ session }) => session).sort()).toEqual(keys);
  expect(reader.read(calendarDocument)).toHaveLength(9);
  reader.close();
});
