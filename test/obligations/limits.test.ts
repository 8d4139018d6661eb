/**
 * The limits of the state folder: every round keeps them. It drops items as the page on limits states, and counts each
 * dropped item.
 */
import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Keep, keepOf } from '../../src/deliver/state-limits.ts';
import { imbalances } from '../../src/deliver/status-books.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { openStore } from '../../src/store/store.ts';
import type { Json } from '../../src/telemetry/otlp-decode.ts';
import { type Collector, plainAttributes, startCollector } from '../collector.ts';
import { inSomeOrder, loadOf, randomOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { booksOf, copyOf, deliverHere, exporting, fill, founded, receivedBy, room } from './stage.ts';

type Over = 'over-files' | 'over-size';
const { fragments, perRound, over } = bySize<{ fragments: number; perRound: number; over: Over[] }>({
  quick: { fragments: 120, perRound: 8, over: ['over-size'] },
  ci: { fragments: 2_000, perRound: 50, over: ['over-files', 'over-size'] },
  full: { fragments: 20_000, perRound: 200, over: ['over-files', 'over-size'] },
});
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;
/** Shorter than the pause after a 401, so that a delivery by hand does not wait for its end. */
const AWAY_MS = 240_000;

const filesIn = (folder: string): { name: string; sizeBytes: number }[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name, parentPath }) => ({ name, sizeBytes: statSync(join(parentPath, name)).size }));
const bytesOf = (files: readonly { sizeBytes: number }[]): number =>
  files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

const frameIn = (collector: Collector): string[] =>
  collector
    .spans()
    .filter(({ name }) => /^(session|invoke_agent) /.test(String(name)))
    .map(({ spanId }) => String(spanId))
    .sort();

/** The newest value of a counter of losses. */
function lossesIn(collector: Collector, item: string, reason: string): number {
  const points = collector
    .metrics()
    .filter(({ name }) => name === 'agent_hooks.pipeline.dropped')
    .flatMap(({ sum: data }) => (data as { dataPoints: { asInt: string; attributes: Json }[] }).dataPoints)
    .filter(({ attributes }) => {
      const plain = plainAttributes(attributes);
      return plain['agent_hooks.pipeline.item'] === item && plain['agent_hooks.pipeline.reason'] === reason;
    });
  return Number(points.at(-1)?.asInt ?? 0);
}

it.each(over)(
  `R14 a destination that does not answer while its backlog is over the limit: %s (seed ${seed})`,
  { timeout: TIMEOUT_MS },
  async reason => {
    const { folder, leave } = room();
    let isAway = true;
    const collector = await startCollector({ answer: () => ({ status: isAway ? 401 : 200 }) });
    const healthy = await startCollector();
    try {
      const random = randomOf(seed);
      const load = loadOf(fragments, random, `limit-${seed}`);
      const first = founded(join(folder, 'first'));
      fill(first, inSomeOrder(load, random), { env: exporting(collector.url), random });
      const other = founded(join(folder, 'other'));
      fill(other, inSomeOrder(load, randomOf(seed)), { env: exporting(healthy.url), random: randomOf(seed + 1) });
      await deliverHere(other);

      // The size without limits, so that the whole frame and a third of the rest fits.
      const whole = copyOf(first, join(folder, 'whole'));
      const round = { fragments: perRound, bytes: 1e9 };
      await deliverHere(whole, { round, waitMs: AWAY_MS });
      const all = filesIn(join(whole, 'outbox'));
      const frame = all.filter(({ name }) => name.endsWith('-skeleton'));
      const most =
        reason === 'over-files'
          ? frame.length + Math.floor((all.length - frame.length) / 3)
          : bytesOf(frame) + Math.floor((bytesOf(all) - bytesOf(frame)) / 3);
      const keep: Keep = keepOf();
      keep.places.outbox = {
        ...keep.places.outbox,
        ...(reason === 'over-files' ? { files: most } : { sizeBytes: most }),
      };

      const state = copyOf(first, join(folder, 'state'));
      let highest = 0;
      let looks = 0;
      const now = (): number => {
        const files = filesIn(join(state, 'outbox'));
        highest = Math.max(highest, reason === 'over-files' ? files.length : bytesOf(files));
        looks += 1;
        return Date.now();
      };
      await deliverHere(state, { round, keep, now, waitMs: AWAY_MS });
      isAway = false;
      const { books } = await deliverHere(state, { keep });
      const received = receivedBy(collector);
      const [account] = books?.destinations ?? [];
      const dropped = (account?.spans.dropped[reason] ?? 0) + (account?.logs.dropped[reason] ?? 0);
      row('R14', `the outbox ${reason}, its destination away`, {
        obligations: fragments,
        delivered: received.records.size,
        dropped,
        duplicated: received.repeatedItems,
        lost: load.expected.spans.size + load.expected.records - received.spans.size - received.records.size - dropped,
        note: 'in items; what is dropped is counted, told as a metric, and no frame of a session',
      });
      expect(looks).toBeGreaterThan(fragments / perRound);
      expect(highest).toBeLessThanOrEqual(most);
      expect(highest).toBeGreaterThan(most / 2);
      expect(books && imbalances(books)).toEqual([]);
      expect(account).toMatchObject({
        spans: { produced: load.expected.spans.size, accepted: received.spans.size, waiting: 0 },
        logs: { produced: load.expected.records, accepted: received.records.size, waiting: 0 },
      });
      expect(dropped).toBeGreaterThan(0);
      expect(received.repeatedItems).toBe(0);
      expect(frameIn(collector)).toEqual(frameIn(healthy));
      expect(lossesIn(collector, 'span', reason)).toBe(account?.spans.dropped[reason] ?? 0);
      expect(lossesIn(collector, 'log', reason)).toBe(account?.logs.dropped[reason] ?? 0);
    } finally {
      await collector.close();
      await healthy.close();
      leave();
    }
  },
);

it(`R14 the inbox holds only hooks of a later version, within its limit (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const { folder, leave } = room();
  const collector = await startCollector();
  try {
    const random = randomOf(seed + 2);
    const load = loadOf(fragments, random, `newer-${seed}`);
    const state = founded(join(folder, 'state'));
    fill(state, inSomeOrder(load, random), { env: exporting(collector.url), random });
    const foreign = Array.from({ length: 30 }, (_, i) => {
      const name = fragmentName('abcdef01', `${i}.00`, 1, `later-${String(i).padStart(2, '0')}`);
      writeFileSync(join(state, 'inbox', name), `otel-hooks/2 ${'x'.repeat(100)}`, { mode: 0o600 });
      utimesSync(join(state, 'inbox', name), 1_700_000_000 + i, 1_700_000_000 + i);
      return name;
    });
    const keep = keepOf();
    // Far below the number of fragments that can be read, of which none is dropped.
    keep.places.inbox = { files: 10, sizeBytes: 1_000, days: 30 };
    await deliverHere(state, { keep, round: { fragments: perRound, bytes: 1e9 } });
    const { books } = await deliverHere(state, { keep });
    const left = readdirSync(join(state, 'inbox')).sort();
    row('R14', 'the inbox over its files and its size, hooks of a later version in it', {
      obligations: fragments,
      delivered: receivedBy(collector).records.size,
      dropped: sum(books?.fragments.dropped ?? {}),
      lost: load.expected.records - receivedBy(collector).records.size,
      note: `${foreign.length} hooks of a later version, ${left.length} of them kept`,
    });
    expect(left).toEqual(foreign.slice(-8));
    expect(books?.fragments).toEqual({
      received: fragments + 30,
      journaled: fragments,
      waiting: 8,
      quarantined: 0,
      dropped: { 'over-size': 22 },
    });
    expect(receivedBy(collector).records.size).toBe(load.expected.records);
    expect(lossesIn(collector, 'fragment', 'over-size')).toBe(22);
  } finally {
    await collector.close();
    leave();
  }
});

it(`R14 journal and quarantine stay within their limits, and the sent data stays the same (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const { folder, leave } = room();
  const collector = await startCollector();
  try {
    const random = randomOf(seed + 3);
    const load = loadOf(fragments, random, `journal-${seed}`);
    const state = founded(join(folder, 'state'));
    const order = inSomeOrder(load, random);
    fill(state, order, { env: exporting(collector.url), random });
    for (let i = 0; i < 30; i += 1) {
      const unique = `broken-${i}`;
      const bytes = encodeFragment(unique, { tool: 'claude-code' }, Buffer.from('{'.repeat(200)));
      writeFileSync(join(state, 'inbox', fragmentName('abcdef01', `${i}.00`, 1, unique)), bytes, { mode: 0o600 });
    }
    const keep = keepOf();
    keep.places.journal = { files: 4, sizeBytes: 20_000, days: 30 };
    keep.quarantine = { files: 5, sizeBytes: 1e9, ageMs: 86_400_000 };
    let [journals, quarantined] = [0, 0];
    const now = (): number => {
      journals = Math.max(journals, bytesOf(filesIn(join(state, 'journal'))));
      quarantined = Math.max(quarantined, filesIn(join(state, 'quarantine')).length);
      return Date.now();
    };
    await deliverHere(state, { keep, now, round: { fragments: perRound, bytes: 1e9 } });
    const books = booksOf(state);
    const received = receivedBy(collector);
    const store = openStore({ folder: state, access: 'read' });
    const { counters } = store.ledger();
    store.close();
    const pruned = (counters['dropped.journal.over-size'] ?? 0) + (counters['dropped.journal.over-files'] ?? 0);
    row('R14', 'journal and quarantine over their limits', {
      obligations: fragments,
      delivered: received.records.size,
      lost: load.expected.records - received.records.size,
      quarantined: books.fragments.quarantined,
      note: `${pruned} journals and ${counters['dropped.quarantine.over-files'] ?? 0} files of the quarantine dropped`,
    });
    expect(journals).toBeLessThanOrEqual(20_000);
    expect(quarantined).toBeLessThanOrEqual(5);
    expect(pruned).toBeGreaterThan(0);
    expect(counters['dropped.quarantine.over-files']).toBe(25);
    expect(books.fragments).toMatchObject({ journaled: fragments, quarantined: 30, dropped: {} });
    expect(imbalances(books)).toEqual([]);
    expect([received.records.size, received.spans.size]).toEqual([load.expected.records, load.expected.spans.size]);
    expect(received.repeatedItems).toBe(0);
  } finally {
    await collector.close();
    leave();
  }
});
