/**
 * A collector is away or hangs: hooks do not notice it, delivery still reads the inbox, and afterwards everything
 * arrives.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { imbalances } from '../../src/deliver/status-books.ts';
import { countItems } from '../../src/ship/otlp-body.ts';
import { type Received as Post, type Reply, startCollector } from '../collector.ts';
import { skipFor } from '../needs.ts';
import { books, until } from '../wire/house.ts';
import { drive, memoryOf, watchMemory } from './drive.ts';
import { type HookCall, loadOf, randomOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import {
  booksOf,
  byHand,
  checkBooks,
  checkWhole,
  exporting,
  fill,
  founded,
  lostOf,
  receivedBy,
  room,
  stage,
} from './stage.ts';

const { hooks, parallel } = bySize({
  quick: { hooks: 40, parallel: 8 },
  ci: { hooks: 300, parallel: 32 },
  full: { hooks: 10_000, parallel: 64 },
});
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;
/** A delivery that waits for an answer is asked to hand over. It does so after the answer, or after the wait for it. */
const env = { OTEL_HOOKS_LINGER: '500ms', OTEL_EXPORTER_OTLP_TIMEOUT: '2000' };

it(`R5 a collector that is away for ${hooks} hooks (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const { house, collector, leave } = await stage();
  try {
    await collector.stop();
    const load = loadOf(hooks, randomOf(seed), `away-${seed}`);
    const rss = watchMemory(house);
    const driven = await drive(house, load, { parallel, random: randomOf(seed + 1), env });
    await collector.start();
    const typed = await byHand(house, '60s');
    const received = receivedBy(collector);
    row('R5', `collector away, ${parallel} hooks at a time`, {
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected),
      longestHookMs: driven.longestHookMs,
      rssMb: rss(),
    });
    expect(driven.harmful).toEqual([]);
    expect(typed).toMatchObject({ status: 0, stderr: '' });
    checkWhole(received, load.expected);
    checkBooks(house, load.expected);
    expect(received.repeatedItems).toBe(0);
  } finally {
    await leave();
  }
});

it(`R5 rounds continue while the collector hangs (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  let isWell = false;
  const { house, collector, leave } = await stage({ answer: () => (isWell ? { status: 200 } : 'hang') });
  try {
    const load = loadOf(hooks, randomOf(seed + 2), `hangs-${seed}`);
    const rss = watchMemory(house);
    const driven = await drive(house, load, { parallel, random: randomOf(seed + 3), env });
    // Delivery takes all fragments before any request was answered; the requests follow.
    await until(() => books(house)?.fragments.waiting === 0 && collector.requests.length > 0, 30_000);
    const during = books(house);
    const asked = collector.requests.length;
    isWell = true;
    const typed = await byHand(house, '60s');
    const received = receivedBy(collector);
    row('R5', `collector hangs, ${parallel} hooks at a time`, {
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected),
      longestHookMs: driven.longestHookMs,
      rssMb: rss(),
      note: `${asked} requests hung`,
    });
    expect(driven.harmful).toEqual([]);
    expect(asked).toBeGreaterThan(0);
    expect(during?.fragments).toMatchObject({ received: hooks, journaled: hooks, waiting: 0 });
    expect(typed).toMatchObject({ status: 0 });
    checkWhole(received, load.expected);
    checkBooks(house, load.expected);
    expect(received.repeatedItems).toBe(0);
  } finally {
    await leave();
  }
});

function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    // This system has no such folder.
    return 0;
  }
}

/**
 * Sessions of plain actions, 500 events each: the work for each event is small, so that the number of events counts.
 */
function* plainSessions(events: number): Generator<HookCall[]> {
  const PER_SESSION = 500;
  for (let s = 0; s * PER_SESSION < events; s += 1) {
    const base = { session_id: `backlog-${seed}-${s}`, cwd: '/' };
    const hooks: HookCall[] = [
      { event: 'SessionStart', payload: { ...base, hook_event_name: 'SessionStart', source: 'startup' } },
    ];
    for (let call = 0; hooks.length < PER_SESSION - 1; call += 1) {
      const fields = {
        ...base,
        tool_name: 'Bash',
        tool_use_id: `${s}-${call}`,
        tool_input: { command: 'ls -l'.repeat(20) },
      };
      hooks.push({ event: 'PreToolUse', payload: { ...fields, hook_event_name: 'PreToolUse' } });
      hooks.push({ event: 'PostToolUse', payload: { ...fields, hook_event_name: 'PostToolUse', duration_ms: 3 } });
    }
    hooks.length = PER_SESSION - 1;
    hooks.push({ event: 'SessionEnd', payload: { ...base, hook_event_name: 'SessionEnd', reason: 'other' } });
    yield hooks;
  }
}

const backlog = bySize({ quick: 0, ci: 20_000, full: 1_000_000 });
it(`R5 ${backlog} events wait, first as fragments, then as bodies (seed ${seed})`, {
  timeout: size === 'full' ? 7_200_000 : 180_000,
}, async context => {
  if (backlog === 0) skipFor(context, 'not at size quick');
  // So many files need no disk where memory can hold them.
  const { folder, leave } = room(freeBytes('/dev/shm') > 12e9 ? '/dev/shm' : tmpdir());
  const counts = { traces: 0, logs: 0, metrics: 0 };
  const answer = (post: Post): Reply => {
    if (post.signal) counts[post.signal] += countItems(post.body) ?? 0;
    // Data that was counted need not be kept: this process needs its memory.
    collector.requests.length = 0;
    return { status: 200 };
  };
  const collector = await startCollector({ answer });
  try {
    const state = founded(join(folder, 'state'));
    let written = 0;
    for (const hook of plainSessions(backlog)) {
      fill(state, hook, { env: exporting(collector.url), random: randomOf(seed), after: written });
      written += hook.length;
    }
    await collector.stop();
    const taking = await deliverAlone(folder, state, backlog, () => ledgerOf(state).journaled === written);
    const during = booksOf(state);
    await collector.start();
    const sending = await deliverAlone(folder, state, backlog, () => false);
    const after = booksOf(state);
    const [account] = after.destinations;
    row('R5', `${backlog} events wait as fragments`, {
      obligations: written,
      delivered: during.fragments.journaled,
      lost: written - during.fragments.journaled,
      rssMb: taking.rssMb,
      note: `taken in ${(taking.ms / 1_000).toFixed(0)} s`,
    });
    row('R5', `${backlog} events wait as bodies`, {
      obligations: written,
      delivered: counts.logs,
      lost: written - counts.logs,
      rssMb: sending.rssMb,
      note: `${counts.traces} spans too, sent in ${(sending.ms / 1_000).toFixed(0)} s`,
    });
    expect(during.fragments).toMatchObject({ received: written, waiting: 0, journaled: written, dropped: {} });
    expect(during.destinations[0]?.logs).toMatchObject({ produced: written, waiting: written, accepted: 0 });
    expect(account?.logs).toMatchObject({
      produced: written,
      accepted: written,
      waiting: 0,
      rejected: {},
      dropped: {},
    });
    expect(account?.spans).toMatchObject({ waiting: 0, rejected: {}, dropped: {} });
    expect(counts.logs).toBe(written);
    expect(counts.traces).toBe(account?.spans.accepted);
    expect(imbalances(during)).toEqual([]);
    expect(imbalances(after)).toEqual([]);
    expect(taking.rssMb).toBeLessThanOrEqual(256);
    expect(sending.rssMb).toBeLessThanOrEqual(256);
  } finally {
    await collector.close();
    leave();
  }
});

/** A delivery by hand in a process of its own, without limits, for as long as this number of events may take. */
async function deliverAlone(
  home: string,
  state: string,
  events: number,
  isDone: () => boolean,
): Promise<{ rssMb: number; ms: number }> {
  const config = join(home, '.config', 'otel-hooks');
  mkdirSync(config, { recursive: true });
  const none = { inbox_mb: 0, inbox_files: 0, outbox_mb: 0, outbox_files: 0, journal_mb: 0, journal_files: 0 };
  writeFileSync(join(config, 'config.json'), JSON.stringify({ keep: none }));
  const bin = join(import.meta.dirname, '..', '..', 'dist', 'otel-hooks.cjs');
  const wait = `${Math.max(30, events / 200)}s`;
  const startMs = performance.now();
  const child = spawn(process.execPath, [bin, 'deliver', '--wait', wait, '--state-dir', state], {
    stdio: 'ignore',
    env: { HOME: home, PATH: process.env.PATH ?? '' },
  });
  let rssMb = 0;
  const timer = setInterval(() => {
    rssMb = Math.max(rssMb, (child.pid && memoryOf(child.pid)) || 0);
  }, 100);
  // Without an answer it would retry until its time is over.
  const looking = setInterval(() => isDone() && child.kill(), 5_000);
  await new Promise(resolve => child.on('close', resolve));
  clearInterval(timer);
  clearInterval(looking);
  return { rssMb, ms: performance.now() - startMs };
}

/** The test looks at one file: listing a million bodies each time would slow both processes down. */
function ledgerOf(state: string): { journaled: number } {
  const { fragments } = JSON.parse(readFileSync(join(state, 'ledger.json'), 'utf8')) as {
    fragments: { journaled: number };
  };
  return fragments;
}
