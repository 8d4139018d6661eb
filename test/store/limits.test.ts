/** The items that limits remove, their order, and that each is counted. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import type { JournalFile } from '../../src/store/journal.ts';
import { accountsOf, type Signal } from '../../src/store/ledger.ts';
import {
  type Calendar,
  excessOf,
  type Holdings,
  type Limits,
  type PlaceLimits,
  turnPage,
} from '../../src/store/limits.ts';
import { type BodyFile, bodyFile, bodyName } from '../../src/store/outbox.ts';
import { openStore, type Store } from '../../src/store/store.ts';

const none: PlaceLimits = { sizeBytes: Number.POSITIVE_INFINITY, files: Number.POSITIVE_INFINITY, days: 3_650 };
const limits = (some: { [place in keyof Limits]?: Partial<PlaceLimits> }): Limits => ({
  inbox: { ...none, ...some.inbox },
  outbox: { ...none, ...some.outbox },
  journal: { ...none, ...some.journal },
});
const DAY_MS = 86_400_000;
const journalFile = ({ writtenMs }: { writtenMs: number }): JournalFile => ({
  key: 'j',
  sizeBytes: 1,
  writtenMs,
  plainBytes: 1,
  isPacked: false,
});

describe('the outbox', () => {
  const body = (round: number, signal: Signal, sizeBytes: number, isSkeleton = false): BodyFile => {
    const found = bodyFile(bodyName({ signal, items: 1, sizeBytes, isSkeleton }, round, 0));
    if (found === undefined) throw new Error('not the name of a body');
    return found;
  };
  const held = (outbox: { [id: string]: BodyFile[] }, more: Partial<Holdings> = {}): Holdings => ({
    outbox: new Map(Object.entries(outbox)),
    isUnderWay: () => false,
    leftAlone: [],
    journals: new Map(),
    isKnown: () => false,
    calendar: [],
    ...more,
  });
  const gone = (some: Partial<PlaceLimits>, from: Holdings): string[] =>
    excessOf(limits({ outbox: some }), from).bodies.map(
      ({ destination, name, reason }) => `${destination} ${Number(name.slice(0, 12))} ${reason}`,
    );

  it('removes the oldest content first, and the frame of sessions last', () => {
    const from = held({
      d: [body(1, 'traces', 10, true), body(2, 'traces', 10), body(3, 'logs', 10), body(4, 'logs', 10)],
    });
    expect(gone({ sizeBytes: 25 }, from)).toEqual(['d 2 over-size', 'd 3 over-size']);
    expect(gone({ files: 1 }, from)).toEqual(['d 2 over-files', 'd 3 over-files', 'd 4 over-files']);
    expect(gone({ sizeBytes: 0 }, from).at(-1)).toBe('d 1 over-size');
  });

  it('removes bodies of the destination with the largest backlog', () => {
    const away = Array.from({ length: 9 }, (_, i) => body(i + 10, 'logs', 10));
    const from = held({ here: [body(1, 'logs', 10), body(2, 'traces', 10)], away });
    expect(gone({ sizeBytes: 60 }, from)).toEqual([10, 11, 12, 13, 14].map(n => `away ${n} over-size`));
  });

  it('keeps bodies that are being sent, and removes others instead', () => {
    const bodies = [body(1, 'logs', 10), body(2, 'logs', 10), body(3, 'logs', 10)];
    const from = held({ d: bodies }, { isUnderWay: (_, name) => name === bodies[0]?.name });
    expect(gone({ files: 2 }, from)).toEqual(['d 2 over-files']);
    expect(gone({ files: 0 }, from)).toEqual(['d 2 over-files', 'd 3 over-files']);
  });

  it('keeps a body for the allowed number of whole days on which delivery ran', () => {
    const bodies = [body(5, 'logs', 10), body(6, 'logs', 10), body(7, 'logs', 10)];
    const days = (count: number): Calendar => Array.from({ length: count }, (_, i) => [6 + i, i * DAY_MS]);
    expect(gone({ days: 3 }, held({ d: bodies }, { calendar: days(3) }))).toEqual([]);
    expect(gone({ days: 3 }, held({ d: bodies }, { calendar: days(4) }))).toEqual(['d 5 over-age', 'd 6 over-age']);
    expect(gone({ days: 3 }, held({ d: bodies }, { calendar: days(5) }))).toHaveLength(3);
  });

  it('is within its limits afterwards, with the fewest removals, and removes content before frames', () => {
    const bodies = fc.array(
      fc.record({
        destination: fc.constantFrom('a', 'b', 'c'),
        sizeBytes: fc.integer({ min: 1, max: 50 }),
        isSkeleton: fc.boolean(),
      }),
      { maxLength: 30 },
    );
    const property = fc.property(bodies, fc.nat(400), fc.nat(20), (list, sizeBytes, files) => {
      const outbox: { [id: string]: BodyFile[] } = { a: [], b: [], c: [] };
      for (const [round, each] of list.entries())
        outbox[each.destination]?.push(body(round + 1, 'traces', each.sizeBytes, each.isSkeleton));
      const went = new Set(excessOf(limits({ outbox: { sizeBytes, files } }), held(outbox)).bodies.map(b => b.name));
      const kept = Object.values(outbox).flatMap(all => all.filter(({ name }) => !went.has(name)));
      const size = kept.reduce((sum, each) => sum + each.sizeBytes, 0);
      expect(size).toBeLessThanOrEqual(sizeBytes);
      expect(kept.length).toBeLessThanOrEqual(files);
      if (went.size > 0) {
        const largest = Math.max(...Object.values(outbox).flatMap(all => all.map(each => each.sizeBytes)));
        expect(size > sizeBytes - largest || kept.length === files).toBe(true);
      }
      for (const all of Object.values(outbox)) {
        const lost = all.filter(({ name }) => went.has(name));
        if (lost.some(each => each.isSkeleton))
          expect(all.filter(each => !each.isSkeleton && !went.has(each.name))).toEqual([]);
      }
    });
    fc.assert(property, { numRuns: 300 });
  });
});

describe('the calendar', () => {
  const turned = (calendar: Calendar | undefined, ...steps: [round: number, hours: number][]): Calendar =>
    steps.reduce((days, [round, hours]) => turnPage(days, round, hours * 3_600_000) ?? days, calendar ?? []);

  it('begins a day for each day', () => {
    expect(turned([], [1, 0], [5, 23], [7, 24], [8, 47], [9, 49])).toEqual([
      [1, 0],
      [7, DAY_MS],
      [9, 49 * 3_600_000],
    ]);
  });

  it('begins one day for every jump of the clock ahead, and none when it is set back', () => {
    const year = 365 * 24;
    const jumped = turned([], [1, 0], [5, year]);
    expect(jumped).toHaveLength(2);
    const back = turned(jumped, [6, 2]);
    expect(back).toEqual([
      [1, 0],
      [5, 2 * 3_600_000],
    ]);
    expect(turned(back, [7, 3])).toEqual(back);
    expect(turned(back, [8, 27])).toHaveLength(3);
  });

  it('removes no body before its age limit, with any jumps of the clock', () => {
    const hour = fc.oneof(fc.constantFrom(1, 2, 6, 12, 24), fc.integer({ min: -10_000, max: 10_000 }));
    const property = fc.property(fc.array(hour, { maxLength: 60 }), fc.integer({ min: 7, max: 9 }), (steps, days) => {
      const startHours = 500_000;
      let wall = startHours;
      let calendar: Calendar = [];
      let bornAt = 0;
      for (const [round, step] of steps.entries()) {
        // A clock before the release of this program is not trusted; this test does not cover it.
        wall = Math.max(startHours - 30_000, wall + step);
        calendar = turnPage(calendar, round, wall * 3_600_000) ?? calendar;
        if (round === 0) bornAt = wall;
      }
      // Each jump counts as one day at most, so this number of days needs as many looks that were a day apart or seemed
      // to be.
      const looks = steps.filter((step, i) => i > 0 && Math.abs(step) >= 1).length;
      const name = bodyName({ signal: 'logs', items: 1, sizeBytes: 1 }, 0, 0);
      const old = excessOf(limits({ outbox: { days }, journal: { days } }), {
        outbox: new Map([['d', [bodyFile(name)].flatMap(each => each ?? [])]]),
        isUnderWay: () => false,
        leftAlone: [],
        journals: new Map([['j', journalFile({ writtenMs: bornAt * 3_600_000 })]]),
        isKnown: () => false,
        calendar,
      });
      if (looks < days) expect([old.bodies, old.journals]).toEqual([[], []]);
    });
    fc.assert(property, { numRuns: 300 });
  });
});

it('a journal of the moment in which a day began belongs to that day, with any fraction of a millisecond in its time', () => {
  const atMs = Date.UTC(2026, 0);
  const journal = journalFile({ writtenMs: atMs + 0.7 });
  const { journals } = excessOf(limits({ journal: { days: 1 } }), {
    outbox: new Map(),
    isUnderWay: () => false,
    leftAlone: [],
    journals: new Map([['j', journal]]),
    isKnown: () => false,
    calendar: [
      [1, atMs],
      [2, atMs + DAY_MS],
    ],
  });
  expect(journals).toEqual([{ key: 'j', reason: 'over-age' }]);
});

describe('a store', () => {
  let root: string;
  let folder: string;
  let laterMs: number;
  const clock = { nowMs: () => Date.now() + laterMs, monotonicMs: () => laterMs };
  const open = (): Store => openStore({ folder, access: 'own', clock });
  const all = { fragments: 1_000, bytes: 1_000_000 };
  const keep = (store: Store, within: Limits): void => {
    const found = store.within(within);
    if (found !== undefined) expect(store.commit(found.round)).toBe('committed');
  };
  const day = (store: Store): void => {
    laterMs += DAY_MS;
    keep(store, limits({}));
  };

  beforeEach(() => {
    root = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-limits-'));
    folder = join(root, 'state');
    laterMs = 0;
  });
  afterEach(() => fs.rmSync(root, { recursive: true }));

  const newer = (n: number, text = 'otel-hooks/2 x'): string => {
    const name = fragmentName('b0', `${n}.00`, 1, `u${n}`);
    fs.writeFileSync(join(folder, 'inbox', name), text, { mode: 0o600 });
    const seconds = (Date.now() + laterMs) / 1_000 - 100 + n;
    fs.utimesSync(join(folder, 'inbox', name), seconds, seconds);
    return name;
  };
  const produce = (store: Store, items: number, isSkeleton = false): void => {
    store.commit({
      bodies: [{ destination: 'd1', signal: 'traces', items, bytes: Buffer.alloc(100), isSkeleton }],
      tally: ledger => {
        accountsOf(ledger, 'd1').traces.produced += items;
      },
    });
  };

  it('drops bodies over the limit, counted in items by reason, and no body within it', () => {
    const store = open();
    for (const items of [1, 2, 4]) produce(store, items);
    keep(store, limits({ outbox: { sizeBytes: 300 } }));
    expect(store.next('d1')).toHaveLength(3);
    keep(store, limits({ outbox: { sizeBytes: 200 } }));
    keep(store, limits({ outbox: { files: 1 } }));
    expect(store.books().destinations.d1?.traces).toMatchObject({
      produced: 7,
      waiting: 4,
      dropped: { 'over-size': 1, 'over-files': 2 },
    });
    expect(store.within(limits({ outbox: { files: 1 } }))).toBeUndefined();
  });

  it('drops fragments of a later version only when they are over, the oldest first', () => {
    const store = open();
    const [, second, third] = [newer(1), newer(2), newer(3)];
    store.take(all);
    keep(store, limits({ inbox: { files: 3 } }));
    expect(store.books().fragments).toMatchObject({ received: 3, waiting: 3, dropped: {} });
    keep(store, limits({ inbox: { files: 2 } }));
    expect(fs.readdirSync(join(folder, 'inbox')).sort()).toEqual([second, third]);
    keep(store, limits({ inbox: { sizeBytes: 20 } }));
    expect(store.books().fragments).toMatchObject({
      received: 3,
      waiting: 1,
      dropped: { 'over-files': 1, 'over-size': 1 },
    });
  });

  it('never drops a fragment that it can read, for any number of them', () => {
    const store = open();
    const text = encodeFragment('u1', {}, Buffer.from('{}'));
    const name = fragmentName('b0', '1.00', 1, 'u1');
    fs.writeFileSync(join(folder, 'inbox', name), text, { mode: 0o600 });
    expect(store.take(all).fragments).toHaveLength(1);
    keep(store, limits({ inbox: { files: 0, sizeBytes: 0, days: 0 } }));
    expect(store.books().fragments).toMatchObject({ received: 1, waiting: 1, dropped: {} });
  });

  it('drops bodies that are too old, and a session continues after its pruned journal', () => {
    const store = open();
    produce(store, 3);
    store.commit({ journal: [{ key: 'over', lines: 'one\n' }] });
    store.commit({ journal: [{ key: 'open', lines: 'one\n' }], sessions: [{ key: 'open', state: { turn: 1 } }] });
    newer(1);
    store.take(all);
    const week = limits({ inbox: { days: 7 }, outbox: { days: 7 }, journal: { days: 7 } });
    keep(store, week);
    for (let i = 0; i < 6; i += 1) day(store);
    keep(store, week);
    expect(store.books()).toMatchObject({
      fragments: { dropped: {} },
      destinations: { d1: { traces: { waiting: 3, dropped: {} } } },
    });
    day(store);
    keep(store, week);
    expect(store.books()).toMatchObject({
      fragments: { received: 1, waiting: 0, dropped: { 'over-age': 1 } },
      destinations: { d1: { traces: { waiting: 0, dropped: { 'over-age': 3 } } } },
      counters: { 'dropped.journal.over-age': 1 },
    });
    expect(store.journals()).toEqual(['open']);
    keep(store, limits({ journal: { sizeBytes: 0 } }));
    expect(store.journals()).toEqual([]);
    expect([store.session('open')?.state, store.journal('open')]).toEqual([{ turn: 1 }, undefined]);
    store.commit({ journal: [{ key: 'open', lines: 'two\n' }], sessions: [{ key: 'open', state: { turn: 2 } }] });
    expect(open().journal('open')).toBe('two\n');
  });

  it('removes no data when the clock jumps a year ahead, back, or to 1970', () => {
    const week = limits({ inbox: { days: 7 }, outbox: { days: 7 }, journal: { days: 7 } });
    const store = open();
    for (const jumpMs of [0, 365 * DAY_MS, -3_600_000, -Date.now(), 0, 400 * DAY_MS, 0]) {
      laterMs = jumpMs;
      produce(store, 1);
      store.commit({ journal: [{ key: `j${store.ledger().n}`, lines: 'one\n' }] });
      newer(store.ledger().n);
      store.take(all);
      keep(store, week);
    }
    expect(store.next('d1')).toHaveLength(7);
    expect(store.journals()).toHaveLength(7);
    expect(store.books().fragments).toMatchObject({ waiting: 7, dropped: {} });
  });

  it('also counts files that left the quarantine, by reason', () => {
    const store = open();
    for (const label of ['a', 'b']) store.commit({ quarantine: [{ bytes: Buffer.alloc(9), reason: '400', label }] });
    store.emptyQuarantine();
    store.commit({});
    store.commit({ quarantine: [{ bytes: Buffer.alloc(9), reason: '400', label: 'c' }] });
    laterMs = DAY_MS + 60_000;
    keep(store, limits({}));
    expect(store.ledger().counters).toEqual({ 'dropped.quarantine.by-hand': 2, 'dropped.quarantine.over-age': 1 });
    expect(fs.readdirSync(join(folder, 'quarantine'))).toEqual([]);
  });
});
