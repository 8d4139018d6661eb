/** Packed transcripts, and known forms that are not read: they are read if possible, and reported if not. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import zlib, { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { findSessions } from '../../src/pipeline/find-transcripts.ts';
import { emptyStore, importRound } from '../../src/pipeline/import-round.ts';
import { unreadProblems } from '../../src/pipeline/round-problems.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { skipFor } from '../needs.ts';

const home = mkdtempSync(join(tmpdir(), 'packed-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const thread = '0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';
const day = join(home, '.codex', 'sessions', '2026', '11', '02');
const rollout = join(day, `rollout-2026-11-02T09-00-00-${thread}.jsonl`);
const row = (second: number, type: string, payload: object): string =>
  JSON.stringify({ timestamp: new Date(Date.UTC(2026, 10, 2, 9, 0, second)).toISOString(), type, payload });
const text = `${[
  row(0, 'session_meta', { id: thread, timestamp: '2026-11-02T09:00:00.000Z', cwd: home, source: 'cli' }),
  row(1, 'event_msg', { type: 'task_started', turn_id: 't1' }),
  row(1, 'event_msg', { type: 'user_message', message: 'hello' }),
  row(3, 'event_msg', {
    type: 'token_count',
    info: { total_token_usage: { input_tokens: 70, output_tokens: 7, total_tokens: 77 } },
  }),
  row(4, 'event_msg', { type: 'task_complete', turn_id: 't1', last_agent_message: 'hi' }),
].join('\n')}\n`;

/** A frame of zstd with one block that is stored as it is: RFC 8878, 3.1.1. */
function stored(content: Buffer): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(0xfd2fb528, 0);
  // A single segment, its size in four bytes.
  header.writeUInt8(0b1010_0000, 4);
  header.writeUInt32LE(content.length, 5);
  // The last block, raw.
  header.writeUIntLE((content.length << 3) | 1, 9, 3);
  return Buffer.concat([header, content]);
}

const search = (eyes: ReturnType<typeof diskEyes>, paths: string[] = []) =>
  findSessions({ agents, paths, places: { home, project: home, env: {} }, eyes, sinceMs: 0 });

function importedLines(eyes: ReturnType<typeof diskEyes>, paths: string[] = []): string[] {
  const { found } = search(eyes, paths);
  const world = { env: {}, home, platform: 'linux' as const, ownVariables: false, configFile: undefined };
  const { outputs } = importRound(
    emptyStore,
    found,
    { ...world, installation: 'i', hashKey: 'k', nowMs: Date.UTC(2027, 0), eyes, pins: new Map() },
    Number.POSITIVE_INFINITY,
    { metrics: false, logsSinceMs: 0 },
  );
  return outputs.map(({ lines }) => lines);
}

function laid(bytes: Buffer, name = `${rollout}.zst`): void {
  rmSync(day, { recursive: true, force: true });
  mkdirSync(day, { recursive: true });
  writeFileSync(name, bytes);
}

test('a packed rollout gives the events of the unpacked one', () => {
  laid(Buffer.from(text), rollout);
  const plain = importedLines(diskEyes());
  expect(plain.join('')).toContain('"input_tokens":70');
  // The packer does not matter: the host only asks for a function that unpacks.
  laid(gzipSync(text));
  expect(importedLines(diskEyes(gunzipSync))).toEqual(plain);
  expect(importedLines(diskEyes(gunzipSync), [`${rollout}.zst`])).toEqual(plain);
  expect(search(diskEyes(gunzipSync)).passed).toEqual([]);
});

test('zstd is unpacked by Node itself', context => {
  if (!('zstdDecompressSync' in zlib)) skipFor(context, 'needs Node 22.15');
  laid(Buffer.from(text), rollout);
  const plain = importedLines(diskEyes());
  laid(stored(Buffer.from(text)));
  expect(importedLines(diskEyes())).toEqual(plain);
});

test.each([
  ['an older Node', null, /Node unpacks since 22\.15/],
  ['a damaged file', gunzipSync, /damaged/],
  ['one that is too large', () => gunzipSync(gzipSync(Buffer.alloc(99)), { maxOutputLength: 9 }), /above 64 MB/],
])('%s: it is skipped, counted and reported', (_, unpack, why) => {
  laid(stored(Buffer.from(text)));
  for (const paths of [[], [`${rollout}.zst`], [day]]) {
    const eyes = diskEyes(unpack);
    const { found, without, passed } = search(eyes, paths);
    expect([found, without]).toEqual([[], []]);
    expect(passed).toMatchObject([{ files: 1, path: `${rollout}.zst`, why: expect.stringMatching(why) as string }]);
    expect(unreadProblems(eyes)).toMatchObject([{ code: 'transcripts-packed' }]);
  }
});

test('forms that are known and not read are counted by import, each with its reason', () => {
  rmSync(day, { recursive: true, force: true });
  const made = [
    join(home, '.cursor', 'chats', 'a1b2', 'c1', 'store.db'),
    join(home, '.copilot', 'session-store.db'),
    join(home, '.local', 'share', 'opencode', 'opencode.db'),
    join(home, '.config', 'Cursor', 'User', 'globalStorage', 'state.vscdb'),
  ];
  for (const path of made) {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'x');
  }
  const { passed, found } = search(diskEyes());
  expect(found).toEqual([]);
  expect(passed.map(each => [each.agent, each.files]).sort()).toEqual([
    ['copilot', 1],
    ['cursor', 2],
    ['opencode', 1],
  ]);
  for (const path of made) {
    expect(search(diskEyes(), [path])).toMatchObject({ without: [], passed: [{ path, files: 1 }] });
  }
});
