/**
 * Decisions of a person about waiting data: move it to another destination, drop it, or send it again. Each decision
 * takes a few rounds of bounded size. A kill in between leaves the rest unchanged, and the same command continues with
 * the rest. The caller has the lock, so no request is being sent.
 */
import type { Destination, Signal } from '../config/destinations.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import { outgoingOf } from '../pipeline/outgoing.ts';
import { outputOfJournal } from '../pipeline/rebuild.ts';
import { stored } from '../pipeline/stored-session.ts';
import type { SessionState } from '../session/session-state.ts';
import { itemsOf, type RefusedFile, refusedFile } from '../ship/lanes.ts';
import { noStanding, withoutDestinations } from '../ship/standing.ts';
import { type Account, accountsOf, BY_USER, increase, type Ledger, REDIRECTED } from '../store/ledger.ts';
import type { BodyFile } from '../store/outbox.ts';
import type { Round, Store } from '../store/store.ts';
import { giveUp, handOver, noMetrics } from '../telemetry/metric-state.ts';

/** The largest number of items that one round moves, so that memory holds only a part of a backlog. */
const ROUND = { bodies: 2_000, bytes: 32 * 1024 * 1024 };

/** The items by signal; for metrics, versions of the state. */
export type Counts = Record<Signal, number>;
export const noItems = (): Counts => ({ traces: 0, logs: 0, events: 0, metrics: 0 });

export interface Waiting {
  items: Counts;
  bodies: number;
  sizeBytes: number;
  /** The number of sessions that send their later data to the destination. */
  sessions: string[];
  /** The data in quarantine that the destination refused. */
  refused: RefusedFile[];
}

export function waitingFor(store: Store, id: string): Waiting {
  const items = noItems();
  const bodies = store.next(id);
  for (const body of bodies) items[body.signal] += body.items;
  const state = store.read(documents.metrics.of(id));
  items.metrics = state === undefined ? 0 : state.version - state.accepted;
  return {
    items,
    bodies: bodies.length,
    sizeBytes: bodies.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    sessions: sessionsTo(store, id),
    refused: store.quarantined().flatMap(name => {
      const file = refusedFile(name);
      return file?.destination === id ? [file] : [];
    }),
  };
}

const stateOf = (store: Pick<Store, 'session'>, key: string): SessionState | undefined =>
  store.session(key)?.state as SessionState | undefined;

const sessionsTo = (store: Store, id: string): string[] =>
  store.sessions().filter(key => stateOf(store, key)?.pinned?.destinations.includes(id));

/** A destination, as far as it is known. A removed destination has only its account. */
export type Known = Pick<Destination, 'id' | 'provider' | 'endpoint'> & Partial<Destination>;

export interface FormerDestination {
  from: Known;
  /** The configuration does not name it, so its document is removed once it has no waiting data. */
  isForgotten: boolean;
  /** The destination with which its open sessions continue. */
  heir: Destination | undefined;
}

/**
 * Moves waiting data to another destination. Signals that the other destination does not accept stay. Returns the
 * numbers of moved items.
 */
export function redirect(store: Store, former: FormerDestination, to: Destination, nowMs: number): Counts {
  const { from } = former;
  const takes = ({ signal }: { signal: Signal }): boolean => to.signals[signal] !== undefined;
  const moved = noItems();
  for (;;) {
    const part = partOf(store.next(from.id).filter(takes));
    if (part.length === 0) break;
    const read = part.map(body => ({ body, bytes: store.body(from.id, body.name) }));
    const whole = read.flatMap(({ body, bytes }) => (bytes === undefined ? [] : [{ ...body, bytes }]));
    const damaged = read.flatMap(({ body, bytes }) => (bytes === undefined ? [body] : []));
    committed(store, {
      documents: [remembered(to, nowMs)],
      settled: part.map(({ name }) => ({ destination: from.id, name })),
      bodies: whole.map(({ signal, items, isSkeleton, bytes }) => ({
        ...{ destination: to.id, signal, items, isSkeleton, bytes },
      })),
      tally(ledger) {
        countLeft(ledger, from, whole, REDIRECTED);
        countLeft(ledger, from, damaged, 'damaged');
        for (const { signal, items } of whole) accountsOf(ledger, to.id, to)[signal].produced += items;
      },
    });
    for (const { signal, items } of whole) moved[signal] += items;
  }
  moved.metrics = takes({ signal: 'metrics' }) ? moveMetrics(store, from, to, nowMs) : 0;
  removeIfUnused(store, former);
  return moved;
}

function moveMetrics(store: Store, from: Known, to: Destination, nowMs: number): number {
  const changed = new ChangedDocuments(store);
  const left = changed.own(documents.metrics.of(from.id));
  if (left === undefined || left.accepted >= left.version) return 0;
  const versions = left.version - left.accepted;
  const taking = changed.own(documents.metrics.of(to.id)) ?? noMetrics();
  handOver(left, taking, nowMs);
  changed.write(documents.metrics.of(from.id), left);
  changed.write(documents.metrics.of(to.id), taking);
  committed(store, {
    documents: [remembered(to, nowMs), ...changed.changes()],
    tally(ledger) {
      increase(accountsOf(ledger, from.id, from).metrics.dropped, REDIRECTED, versions);
      accountsOf(ledger, to.id, to).metrics.produced += 1;
    },
  });
  return versions;
}

/** Drops waiting data. Returns the numbers of dropped items. */
export function drop(store: Store, former: FormerDestination): Counts {
  const { from } = former;
  const dropped = noItems();
  for (;;) {
    const part = store.next(from.id).slice(0, ROUND.bodies);
    if (part.length === 0) break;
    committed(store, {
      settled: part.map(({ name }) => ({ destination: from.id, name })),
      tally: ledger => countLeft(ledger, from, part, BY_USER),
    });
    for (const { signal, items } of part) dropped[signal] += items;
  }
  const changed = new ChangedDocuments(store);
  const state = changed.own(documents.metrics.of(from.id));
  if (state !== undefined && state.accepted < state.version) {
    dropped.metrics = giveUp(state);
    changed.write(documents.metrics.of(from.id), state);
    committed(store, {
      documents: changed.changes(),
      tally: ledger => increase(accountsOf(ledger, from.id, from).metrics.dropped, BY_USER, dropped.metrics),
    });
  }
  removeIfUnused(store, former);
  return dropped;
}

/**
 * Clears the waits of a destination without waiting data, and removes its document if the configuration does not name
 * it.
 */
function removeIfUnused(store: Store, { from, isForgotten, heir }: FormerDestination): void {
  if (Object.values(waitingFor(store, from.id).items).some(items => items > 0)) return;
  const changed = new ChangedDocuments(store);
  changed.write(documents.ship, withoutDestinations(changed.read(documents.ship) ?? noStanding, [from.id]));
  const sessions: NonNullable<Round['sessions']> = [];
  if (isForgotten) {
    changed.write(documents.destinations.of(from.id), undefined);
    changed.write(documents.metrics.of(from.id), undefined);
    for (const key of sessionsTo(store, from.id)) {
      const state = stateOf(store, key);
      if (state === undefined) continue;
      const others = state.pinned.destinations.filter(id => id !== from.id && id !== heir?.id);
      const destinations = heir === undefined ? others : [...others, heir.id];
      sessions.push(stored({ ...state, pinned: { ...state.pinned, destinations } }));
    }
  }
  committed(store, { documents: changed.changes(), sessions });
}

/** Puts the data that the destination refused into its outbox again. Returns the numbers of items. */
export function resendRefused(store: Store, to: Destination): Counts {
  const sent = noItems();
  for (;;) {
    const found = waitingFor(store, to.id).refused.slice(0, ROUND.bodies);
    const read = found.flatMap(({ name, signal }) => {
      const bytes = store.quarantinedBytes(name);
      const items = bytes === undefined ? 0 : (itemsOf(signal, bytes) ?? 0);
      return bytes === undefined || items === 0 ? [] : [{ name, signal, items, bytes }];
    });
    if (read.length === 0) return sent;
    committed(store, {
      released: read.map(({ name }) => name),
      bodies: read.map(({ signal, items, bytes }) => ({ destination: to.id, signal, items, bytes })),
      documents: [changedStanding(store, to)],
      tally(ledger) {
        for (const { signal, items } of read) accountsOf(ledger, to.id, to)[signal].produced += items;
      },
    });
    for (const { signal, items } of read) sent[signal] += items;
  }
}

/** The next pass tries the destination at once. */
const changedStanding = (store: Store, { id }: Destination) => {
  const changed = new ChangedDocuments(store);
  changed.write(documents.ship, withoutDestinations(changed.read(documents.ship) ?? noStanding, [id]));
  const [change] = changed.changes();
  return change ?? { name: 'ship', value: undefined };
};

/** Puts the spans and records of a journaled session into the outbox again, with the same ids. */
export function resendSession(store: Store, state: SessionState, to: Destination, nowMs: number): Counts {
  const before = waitingFor(store, to.id).items;
  const whole = { ...state, former: undefined };
  const changed = new ChangedDocuments(store);
  changed.write(documents.destinations.of(to.id), { ...to, pinnedMs: nowMs });
  const round: Round = { bodies: [], documents: changed.changes() };
  const tallies: ((ledger: Ledger) => void)[] = [];
  for (const output of outputOfJournal(store, whole, [to.id])) {
    const { bodies, tallies: counts } = outgoingOf([output], changed, nowMs, {
      metrics: false,
      logsSinceMs: Number.NEGATIVE_INFINITY,
    });
    round.bodies?.push(...bodies);
    tallies.push(...counts);
  }
  round.tally = ledger => {
    for (const tally of tallies) tally(ledger);
  };
  committed(store, round);
  const after = waitingFor(store, to.id).items;
  return { ...noItems(), ...difference(after, before) };
}

const difference = (after: Counts, before: Counts): Partial<Counts> =>
  Object.fromEntries(Object.entries(after).map(([signal, items]) => [signal, items - before[signal as Signal]]));

const remembered = (to: Destination, nowMs: number) => ({
  ...{ name: documents.destinations.of(to.id).name, version: 1 },
  value: { ...to, pinnedMs: to.pinnedMs ?? nowMs },
});

function partOf(bodies: readonly BodyFile[]): BodyFile[] {
  const part: BodyFile[] = [];
  let sizeBytes = 0;
  for (const body of bodies) {
    sizeBytes += body.sizeBytes;
    if (part.length > 0 && (sizeBytes > ROUND.bytes || part.length >= ROUND.bodies)) break;
    part.push(body);
  }
  return part;
}

function countLeft(
  ledger: Ledger,
  from: Known,
  bodies: readonly { signal: Signal; items: number }[],
  reason: string,
): void {
  const accounts = accountsOf(ledger, from.id, from);
  for (const { signal, items } of bodies) {
    const { dropped }: Account = accounts[signal];
    increase(dropped, reason, items);
  }
}

/** Another owner of the folder committed a round. This round had no effect, and the command may be repeated. */
function committed(store: Store, round: Round): void {
  if (store.commit({ ...round, epoch: store.epoch }) !== 'committed') throw new Overtaken();
}

export class Overtaken extends Error {
  constructor() {
    super('another delivery took over the state folder; the rest was not done. Run the same command again');
  }
}
