/**
 * The wall clock jumps in the middle of sessions: no time runs backwards, the order stays, and no data suddenly counts
 * as too old.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { imbalances } from '../../src/deliver/status-books.ts';
import { type Collector, startCollector } from '../collector.ts';
import { commandsIn, delivered, harmless, runHook, status } from '../wire/house.ts';
import { counts as countsOfSession, sessionOf } from '../wire/session.ts';
import { inSomeOrder, loadOf, randomOf } from './load.ts';
import { notRun, row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { booksOf, byHand, deliverHere, exporting, fill, founded, lostOf, receivedBy, room, stage } from './stage.ts';

const events = bySize({ quick: 60, ci: 500, full: 5_000 });
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;
const startMs = Math.floor(Date.now() / 1_000 - 3_600) * 1_000;

const jumps: [name: string, fake: string, jumpMs: number][] = [
  ['one hour back', '-1h', -HOUR_MS],
  ['one year ahead', '+1y', YEAR_MS],
  ['to 1970', '@1970-01-02 00:00:00', -startMs + 86_400_000],
];

it.each(jumps)(
  `R13 the clock jumps %s while sessions are open and bodies wait (seed ${seed})`,
  {
    timeout: TIMEOUT_MS,
  },
  async (name, _, jumpMs) => {
    const { folder, leave } = room();
    const collector = await startCollector();
    try {
      const load = loadOf(events, randomOf(seed), `clock-${seed}`);
      const order = inSomeOrder(load, randomOf(seed + 1));
      const half = Math.floor(order.length / 2);
      const state = founded(join(folder, 'state'));
      const env = exporting(collector.url);
      await collector.stop();
      fill(state, order.slice(0, half), { env, random: randomOf(1), startMs });
      await deliverHere(state, { byHand: false, waitMs: 0, now: () => startMs + 1_200_000 });
      fill(state, order.slice(half), { env, random: randomOf(2), startMs: startMs + jumpMs, after: half });
      await collector.start();
      // Delivery runs as a hook starts it, and for as long as it retries something under the new clock.
      await deliverHere(state, { byHand: false, waitMs: 0, now: () => startMs + 1_800_000 + jumpMs });
      await deliverHere(state, { now: () => startMs + 1_800_000 + jumpMs });
      const received = receivedBy(collector);
      const books = booksOf(state);
      row('R13', `clock jumps ${name}`, {
        faults: 1,
        obligations: load.expected.records,
        delivered: received.records.size,
        duplicated: received.repeatedItems,
        lost: lostOf(received, load.expected),
        quarantined: books.fragments.quarantined,
      });
      expect(odd(collector)).toEqual([]);
      expect(new Set(received.spans.keys())).toEqual(new Set(load.expected.spans.keys()));
      expect(received.records.size).toBe(load.expected.records);
      expect(collector.records().map(each => each.plain['agent_hooks.event.type'])).not.toContain('Session.Abort');
      expect(books.fragments).toMatchObject({ received: events, journaled: events, quarantined: 0, dropped: {} });
      expect(books.destinations).toMatchObject([
        { spans: { waiting: 0, rejected: {}, dropped: {} }, logs: { waiting: 0, rejected: {}, dropped: {} } },
      ]);
      expect(imbalances(books)).toEqual([]);
      expect(received.counted).toBe(load.expected.records);
      expect(received.fallen).toEqual([]);
    } finally {
      await collector.close();
      leave();
    }
  },
);

const libraries = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(arch => `/usr/lib/${arch}/faketime/libfaketime.so.1`);

it.for(size === 'quick' ? jumps.slice(seed % 3, (seed % 3) + 1) : jumps)(
  `R13 the processes' clock jumps %s within a session (seed ${seed})`,
  {
    timeout: TIMEOUT_MS,
  },
  async ([name, fake], context) => {
    const library = libraries.find(path => existsSync(path));
    const fault = `clock of processes jumps ${name}`;
    if (library === undefined) return notRun(context, 'R13', fault, 'libfaketime is not installed');
    const { house, collector, leave } = await stage();
    try {
      const agent = { house, commands: commandsIn(house) };
      const hooks = sessionOf(`jump-${seed}`, house.project);
      const jumped = { LD_PRELOAD: library, FAKETIME: fake, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
      let longestHookMs = 0;
      for (const [i, hook] of hooks.entries()) {
        const beginMs = performance.now();
        const env = { ...(i < hooks.length / 2 ? {} : jumped), OTEL_HOOKS_LINGER: '300ms' };
        expect(await runHook(agent, { ...hook, env })).toEqual(harmless);
        longestHookMs = Math.max(longestHookMs, performance.now() - beginMs);
      }
      await byHand(house, '20s', jumped);
      await delivered(house);
      const received = receivedBy(collector);
      const { balanced, fragments } = status(house);
      row('R13', fault, {
        faults: 1,
        obligations: hooks.length,
        delivered: fragments.journaled,
        duplicated: received.repeatedItems,
        lost: hooks.length - fragments.journaled,
        longestHookMs,
      });
      expect(odd(collector)).toEqual([]);
      expect(received.spans.size).toBe(countsOfSession.spans);
      expect(received.records.size).toBe(countsOfSession.records);
      expect(fragments).toMatchObject({ journaled: hooks.length, waiting: 0, quarantined: 0, dropped: {} });
      expect(balanced).toBe(true);
      expect(readdirSync(join(house.state, 'quarantine'))).toEqual([]);
    } finally {
      await leave();
    }
  },
);

/** Spans that end before they begin, and spans whose children begin in another order than their hooks. */
function odd(collector: Collector): string[] {
  return collector
    .spans()
    .filter(span => BigInt(String(span.endTimeUnixNano)) < BigInt(String(span.startTimeUnixNano)))
    .map(span => `${span.name} ends before it begins`);
}
