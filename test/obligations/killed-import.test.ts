/**
 * An import is killed at any moment, and the person runs it again until it ends. The journals, the counts and the spans
 * are those of an import that was not killed. Further processes read the transcripts, and they end with the import.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { imbalances, readStatusBooks } from '../../src/deliver/status-books.ts';
import { openStore } from '../../src/store/store.ts';
import { type Collector, startCollector } from '../collector.ts';
import { START_MS } from '../play.ts';
import { randomOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed } from './size.ts';
import { founded, room } from './stage.ts';

const kills = bySize({ quick: 4, ci: 12, full: 200 });
const TIMEOUT_MS = bySize({ quick: 240_000, ci: 600_000, full: 3_600_000 });
const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'otel-hooks.cjs');
const SESSIONS = 120;
/** Together 26 MB, so that further processes read them. The largest session takes several parts. */
const RESULT = 'x'.repeat(26_000);
/** The items of the largest body, which one kill may cause to be sent again. */
const LARGEST_BODY = 512;

it(`R17 ${kills} SIGKILLs of an import (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const random = randomOf(seed);
  const { folder, leave } = room();
  const collectors = [await startCollector(), await startCollector()] as const;
  try {
    writeSessions(join(folder, '.claude', 'projects', '-w'));
    const [whole, killed] = ['whole', 'killed'].map(name => founded(join(folder, name))) as [string, string];
    const startMs = performance.now();
    expect(await run(folder, whole, collectors[0])).toBe(0);
    const tookMs = performance.now() - startMs;
    let status: number | null = null;
    for (let kill = 0; kill < kills; kill += 1) await run(folder, killed, collectors[1], random() * tookMs);
    for (let tries = 0; status !== 0 && tries < 3; tries += 1) status = await run(folder, killed, collectors[1]);
    const [expected, received] = collectors.map(collector => collector.spans().map(({ spanId }) => String(spanId)));
    const duplicated = (received?.length ?? 0) - new Set(received).size;
    const lost = missing(expected, received);
    row('R17', 'SIGKILLs of an import', { faults: kills, delivered: received?.length ?? 0, duplicated, lost });
    expect(status).toBe(0);
    expect(journals(killed)).toEqual(journals(whole));
    expect([...new Set(received)].sort()).toEqual([...new Set(expected)].sort());
    expect(duplicated).toBeLessThanOrEqual(kills * LARGEST_BODY);
    const store = openStore({ folder: killed, access: 'read' });
    expect(imbalances(readStatusBooks(store))).toEqual([]);
    const { transcripts } = store.ledger();
    expect(transcripts.read).toBe(transcripts.journaled + transcripts.duplicate);
    expect(transcripts.journaled).toBe(openStore({ folder: whole, access: 'read' }).ledger().transcripts.journaled);
  } finally {
    for (const collector of collectors) await collector.close();
    leave();
  }
});

function missing(expected: readonly string[] = [], received: readonly string[] = []): number {
  const known = new Set(received);
  return expected.filter(id => !known.has(id)).length;
}

/** Returns the exit status; null if it was killed. */
async function run(home: string, state: string, { url }: Collector, killMs?: number): Promise<number | null> {
  const child = spawn(process.execPath, [PROGRAM, 'import', '--all', '--state-dir', state], {
    env: { HOME: home, USERPROFILE: home, PATH: process.env.PATH, OTEL_EXPORTER_OTLP_ENDPOINT: url },
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>(settled => child.once('exit', settled));
  if (killMs === undefined) return await ended;
  const timeout = new AbortController();
  await Promise.race([ended, pause(killMs, undefined, { signal: timeout.signal }).catch(() => undefined)]);
  timeout.abort();
  child.kill('SIGKILL');
  return await ended;
}

const journals = (state: string): { [name: string]: string } =>
  Object.fromEntries(
    readdirSync(join(state, 'journal')).map(name => [name, readFileSync(join(state, 'journal', name), 'utf8')]),
  );

function writeSessions(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (let number = 0; number < SESSIONS; number += 1) {
    const session = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const path = join(folder, `${session}.jsonl`);
    writeFileSync(path, rowsOf(session, number, number === 7 ? 250 : 6));
    utimesSync(path, START_MS / 1_000 + number, START_MS / 1_000 + number);
  }
}

function rowsOf(session: string, number: number, turns: number): string {
  const rows: object[] = [];
  const add = (more: object): void => {
    const timestamp = new Date(START_MS + number * 5_000 + rows.length * 1_000).toISOString();
    const ids = { uuid: `${session}-${rows.length}`, parentUuid: null, sessionId: session };
    rows.push({ ...ids, timestamp, cwd: '/home/dev/shop', version: '2.1.280', ...more });
  };
  for (let turn = 0; turn < turns; turn += 1) {
    const use = `toolu_${session}_${turn}`;
    const answer = (block: object, part: string): void => {
      const usage = { input_tokens: 10, output_tokens: 20 };
      const message = { id: `msg_${session}_${turn}_${part}`, role: 'assistant', model: 'claude-sonnet-5' };
      add({ type: 'assistant', message: { ...message, content: [block], usage } });
    };
    add({ type: 'user', promptId: `${session}-p${turn}`, message: { role: 'user', content: `prompt ${turn}` } });
    answer({ type: 'tool_use', id: use, name: 'Bash', input: { command: `ls ${turn}` } }, 'a');
    const content = [{ type: 'tool_result', tool_use_id: use, content: `${turn} ${RESULT}` }];
    add({ type: 'user', message: { role: 'user', content } });
    answer({ type: 'text', text: `done ${turn}` }, 'b');
  }
  return rows.map(each => `${JSON.stringify(each)}\n`).join('');
}
