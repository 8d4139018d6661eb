/**
 * Bytes that change at rest: a damaged file affects only itself, is counted, and stops no delivery. The test damages
 * any file of the state folder at three moments: while fragments wait, while bodies wait, and in between.
 */
import { lstatSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { imbalances } from '../../src/deliver/status-books.ts';
import { parseBodyName } from '../../src/store/outbox.ts';
import { startCollector } from '../collector.ts';
import { inSomeOrder, loadOf, type Random, randomOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { booksOf, deliverHere, differences, exporting, fill, founded, receivedBy, room } from './stage.ts';

const seeds = bySize({ quick: 5, ci: 25, full: 1_000 });
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;
const EVENTS = 40;
/**
 * No server answers at a damaged endpoint. The clock of the test stands still, so the endpoint would be retried for
 * ever.
 */
const MISLED_MS = 15_000;
const startMs = Math.floor(Date.now() / 1_000 - 3_600) * 1_000;
const nowMs = startMs + 1_800_000;

/** The kinds of damage to the bytes of a file. */
const damages: ((bytes: Buffer, random: Random) => Buffer)[] = [
  (bytes, random) => bytes.subarray(0, Math.floor(random() * bytes.length)),
  () => Buffer.alloc(0),
  bytes => Buffer.alloc(bytes.length),
  (bytes, random) => {
    const flipped = Buffer.from(bytes);
    for (let flips = 1 + Math.floor(random() * 8); flips > 0; flips -= 1) {
      const at = Math.floor(random() * bytes.length);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    }
    return flipped;
  },
  (bytes, random) => {
    const at = Math.floor(random() * bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(512, 0xff), bytes.subarray(at)]);
  },
];

it(`R10 ${seeds} times, some fragments are damaged before they are taken (seeds from ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const sums = { touched: 0, delivered: 0, quarantined: 0, lost: 0 };
  for (let i = 0; i < seeds; i += 1) {
    const random = randomOf(seed + i);
    const { folder, leave } = room();
    const collector = await startCollector();
    try {
      // Each event is a session of its own, so that the fate of each event can be checked alone.
      const hooks = Array.from({ length: EVENTS }, (_, n) => ({
        event: 'Notification',
        payload: { session_id: `s${n}`, cwd: '/', hook_event_name: 'Notification', message: `m${n}` },
      }));
      const state = founded(join(folder, 'state'));
      const names = fill(state, hooks, { env: exporting(collector.url), random, startMs });
      const touched = new Set<number>();
      for (let count = 1 + Math.floor(random() * 8); count > 0; count -= 1) {
        const n = Math.floor(random() * EVENTS);
        touched.add(n);
        damage(join(state, 'inbox', names[n] ?? ''), random);
      }
      litter(join(state, 'inbox'), random);
      await deliverHere(state, { now: () => nowMs, waitMs: MISLED_MS });
      const books = booksOf(state);
      const arrived = new Set(collector.records().map(record => record.plain['session.id']));
      const lost = hooks.filter((_, n) => !touched.has(n) && !arrived.has(`s${n}`));
      sums.touched += touched.size;
      sums.delivered += hooks.length - touched.size - lost.length;
      sums.lost += lost.length;
      sums.quarantined += books.fragments.quarantined;
      expect(lost, `seed ${seed + i}`).toEqual([]);
      expect(imbalances(books), `seed ${seed + i}`).toEqual([]);
      // A damaged version number looks like another version: the file waits for the program of that version.
      expect(books.fragments.waiting, `seed ${seed + i}`).toBeLessThanOrEqual(touched.size);
    } finally {
      await collector.close();
      leave();
    }
  }
  row('R10', 'fragments cut, emptied, zeroed, flipped, stretched; foreign files beside them', {
    faults: sums.touched,
    obligations: seeds * EVENTS - sums.touched,
    delivered: sums.delivered,
    duplicated: 0,
    lost: sums.lost,
    quarantined: sums.quarantined,
    note: `${seeds} seeds`,
  });
});

it(`R10 ${seeds} times, a file in the state folder is damaged while bodies wait (seeds from ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const sums = { faults: 0, obligations: 0, delivered: 0, dropped: 0 };
  for (let i = 0; i < seeds; i += 1) {
    const random = randomOf(seed + 10_000 + i);
    const { folder, leave } = room();
    const collector = await startCollector();
    try {
      const load = loadOf(EVENTS, random, `rest-${seed + i}`);
      const order = inSomeOrder(load, random);
      const half = Math.floor(order.length / 2);
      const env = exporting(collector.url);
      const state = founded(join(folder, 'state'));
      const healthy = founded(join(folder, 'healthy'));
      const fresh = [{ event: 'SessionStart', payload: { session_id: 'fresh', cwd: '/', source: 'startup' } }];
      const another = () => ({ env, random: randomOf(i), startMs: nowMs - 1_000_000 });
      for (const each of [healthy, state]) fill(each, order, { env, random: randomOf(i), startMs });
      await deliverHere(healthy, { now: () => nowMs });
      fill(healthy, fresh, another());
      await deliverHere(healthy, { now: () => nowMs + 600_000 });
      const expected = receivedBy(collector).hashes;
      const from = collector.requests.length;

      await collector.stop();
      await deliverHere(state, { now: () => nowMs, waitMs: 300, round: { fragments: half, bytes: 1e9 } });
      const victims = ['journal', 'sessions', 'documents', 'outbox', 'ledger.json'].flatMap(name =>
        filesBelow(join(state, name)),
      );
      const victim = victims[Math.floor(random() * victims.length)] ?? '';
      const kind = victim.slice(state.length + 1).split('/')[0] ?? '';
      damage(victim, random);
      sums.faults += 1;
      await collector.start();
      const what = `seed ${seed + i}: ${victim.slice(state.length)}`;
      // The next session brings the settings of the destination again, in case they were damaged.
      fill(state, fresh, another());
      await deliverHere(state, { now: () => nowMs + 600_000 });
      const books = booksOf(state);
      const received = receivedBy({ ...collector, requests: collector.requests.slice(from) });
      sums.obligations += expected.size;
      sums.delivered += received.hashes.size;
      if (kind === 'outbox') {
        // The damaged body, and no other. After one flipped bit it may still be a valid request.
        const missing = [...expected.keys()].filter(id => !received.hashes.has(id));
        const changed = [...received.hashes].filter(([id, hash]) => expected.get(id) !== hash);
        expect(changed.length, what).toBeLessThanOrEqual(itemsIn(victim));
        sums.dropped += missing.length;
        expect(missing.length, what).toBeLessThanOrEqual(itemsIn(victim));
      } else {
        // A machine whose name was damaged gets a new one.
        const isRenamed = victim.endsWith('/installation.json');
        const changed = differences(received.hashes, expected).filter(id => !isRenamed || !received.hashes.has(id));
        // A damaged state of a session that can still be read may change its own spans, but no others.
        const traces = new Set(changed.map(id => id.split(' ')[1]));
        if (kind === 'sessions') expect(traces.size, what).toBeLessThanOrEqual(1);
        else expect(changed, what).toEqual([]);
      }
      expect(imbalances(books), what).toEqual([]);
    } finally {
      await collector.close();
      leave();
    }
  }
  row('R10', 'journal, session, document, body, ledger damaged while bodies wait', {
    faults: sums.faults,
    obligations: sums.obligations,
    delivered: sums.delivered,
    duplicated: 0,
    lost: 0,
    dropped: sums.dropped,
    note: `${seeds} seeds; in items`,
  });
});

function damage(path: string, random: Random): void {
  const bytes = readFileSync(path);
  const { atime, mtime } = statSync(path);
  const how = damages[Math.floor(random() * damages.length)];
  if (how) writeFileSync(path, how(bytes, random));
  // Damaged files are not new files.
  utimesSync(path, atime, mtime);
}

/** Files that others may leave in a folder. */
function litter(folder: string, random: Random): void {
  if (random() < 0.3) writeFileSync(join(folder, 'notes.txt'), 'mine');
  if (random() < 0.3) writeFileSync(join(folder, '.DS_Store'), '\0');
}

function filesBelow(path: string): string[] {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) return [path];
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));
}

const itemsIn = (path: string): number => parseBodyName(basename(path))?.items ?? 0;
