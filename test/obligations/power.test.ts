/**
 * The power fails at any moment, and any part of the data that was not synced may be lost. With the fsync option no
 * committed round is lost or counted twice. Without it the last moments may be lost, but delivery can always continue
 * with the folder, and the accounts state the loss. Fragments count as synced: no hook waits for a disk.
 */
import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { reconciliation } from '../../src/deliver/reconciliation.ts';
import { imbalances, readStatusBooks } from '../../src/deliver/status-books.ts';
import { accountsOf } from '../../src/store/ledger.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { type Random, randomOf } from './load.ts';
import { PowerCut, powerDisk } from './power-fs.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { copyOf, fill, founded, room } from './stage.ts';

const cuts = bySize({ quick: 15, ci: 200, full: 5_000 });
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;
const EVENTS = 10;
const DESTINATION = 'd0';

interface Sums {
  cuts: number;
  obligations: number;
  lost: number;
  twice: number;
  damaged: number;
}

it.each([true, false])(
  `R15 ${cuts} power cuts, with the fsync option: %s (seed ${seed})`,
  { timeout: TIMEOUT_MS },
  fsync => {
    const sums: Sums = { cuts: 0, obligations: 0, lost: 0, twice: 0, damaged: 0 };
    // The disk of the test gets many writes, and none of them must survive.
    const { folder, leave } = room(existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
    try {
      const first = founded(join(folder, 'first'));
      const hooks = Array.from({ length: EVENTS }, (_, n) => ({ event: 'E', payload: { n } }));
      fill(first, hooks, { env: {}, random: randomOf(1) });
      for (let i = 0; i < cuts; i += 1) {
        const at = join(folder, String(i));
        cutOnce(first, at, fsync, seed + i, sums);
        rmSync(at, { recursive: true });
      }
    } finally {
      leave();
    }
    row('R15', `power cut, fsync ${fsync ? 'on' : 'off'}, unsynced writes and names dropped, zeroed, reordered`, {
      faults: sums.cuts,
      obligations: sums.obligations,
      delivered: sums.obligations - sums.lost,
      duplicated: sums.twice,
      lost: sums.lost,
      note: `${sums.damaged} damages were counted${fsync ? '' : '; losing the last moments is allowed here'}`,
    });
    expect(sums.cuts).toBeGreaterThan(cuts / 4);
    if (fsync) expect(sums).toMatchObject({ lost: 0, twice: 0, damaged: 0 });
  },
);

function cutOnce(first: string, at: string, fsync: boolean, ownSeed: number, sums: Sums): void {
  const random = randomOf(ownSeed);
  const state = copyOf(first, join(at, 'state'));
  const disk = powerDisk(state, Math.floor(random() * 260), random);
  const sent = new Set<number>();
  let isCut = false;
  try {
    const store = openStore({ folder: state, access: 'own', fsync, fs: disk.fs });
    for (let step = 0; step < 12; step += 1) work(store, random, sent);
    store.close();
  } catch (error) {
    if (!(error instanceof PowerCut)) throw error;
    isCut = true;
  }
  if (!isCut) return;
  sums.cuts += 1;

  const after = join(at, 'after');
  disk.restore(after);
  const what = `seed ${ownSeed}`;
  // Delivery continues from any such state. A ledger that the cut took back assigns the same numbers again, and with
  // them the same names; the next delivery detects the effect on the accounts.
  for (let deliveries = 0; deliveries < 2; deliveries += 1) {
    const store = openStore({ folder: after, access: 'own' });
    const mended = reconciliation(store);
    if (mended) store.commit(mended);
    for (let step = 0; step < 40 && deliveries === 0; step += 1) work(store, random, sent);
    store.close();
  }
  const reader = openStore({ folder: after, access: 'read' });
  const books = readStatusBooks(reader);
  const lines = (reader.journal('0a') ?? '').split('\n').filter(line => line !== '');
  const journaled = lines.flatMap(numbersIn);
  const { counters } = reader.ledger();
  reader.close();
  sums.obligations += EVENTS;
  sums.damaged += Object.entries(counters).reduce((sum, [name, n]) => sum + (name.startsWith('damaged.') ? n : 0), 0);
  const arrived = new Set(journaled);
  // Each event is journaled and sent once.
  const lost = Array.from({ length: EVENTS }, (_, n) => n).filter(n => !arrived.has(n) || !sent.has(n));
  sums.lost += lost.length;
  sums.twice += journaled.length - arrived.size;
  expect(imbalances(books), what).toEqual([]);
  expect(books.fragments.waiting, what).toBe(0);
  if (fsync) {
    expect(lost, what).toEqual([]);
    expect(journaled.length, what).toBe(EVENTS);
  }
}

/** A small version of deliver: events become lines and a body; a body is sent and settled. */
function work(store: Store, random: Random, sent: Set<number>): void {
  const [body] = store.next(DESTINATION);
  if (body !== undefined && random() < 0.5) {
    const bytes = store.body(DESTINATION, body.name);
    const numbers = bytes === undefined ? [] : numbersIn(bytes.toString());
    for (const n of numbers) sent.add(n);
    store.commit({
      settled: [{ destination: DESTINATION, name: body.name }],
      tally(ledger) {
        const { logs } = accountsOf(ledger, DESTINATION);
        if (bytes !== undefined && numbers.length === body.items) logs.accepted += body.items;
        else logs.dropped.damaged = (logs.dropped.damaged ?? 0) + body.items;
      },
    });
    return;
  }
  const { fragments, rejects } = store.take({ fragments: 1 + Math.floor(random() * 3), bytes: 1e9 });
  if (fragments.length + rejects.length === 0) return;
  const numbers = fragments.map(each => (JSON.parse(each.payload.toString()) as { n: number }).n);
  const state = store.session('0a')?.state as { count: number } | undefined;
  const text = JSON.stringify(numbers);
  store.commit({
    journal: [{ key: '0a', lines: `${text}\n` }],
    sessions: [{ key: '0a', state: { count: (state?.count ?? 0) + numbers.length } }],
    bodies: [{ destination: DESTINATION, signal: 'logs', items: numbers.length, bytes: Buffer.from(text) }],
    eaten: fragments.map(each => each.name),
    quarantine: rejects,
    tally(ledger) {
      ledger.fragments.journaled += numbers.length;
      accountsOf(ledger, DESTINATION).logs.produced += numbers.length;
    },
  });
}

/** Empty if the bytes are not such a list, for example after a cut zeroed them. */
function numbersIn(text: string): number[] {
  try {
    return JSON.parse(text) as number[];
  } catch {
    return [];
  }
}
