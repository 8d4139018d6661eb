/**
 * The destinations in the state folder: one document for each, and one for its metrics. A corrected key or address
 * creates a new destination. It takes over the backlog of the former one, whose document is removed later.
 */
import type { Destination } from '../config/destinations.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import { outlineOf } from '../pipeline/stored-session.ts';
import type { SessionState } from '../session/session-state.ts';
import { heirsIn, noStanding, type Standing, stuckIn, withoutDestinations } from '../ship/standing.ts';
import { accountsOf, EXCLUDED, increase, type Ledger, REDIRECTED } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';
import { giveUp, handOver, noMetrics } from '../telemetry/metric-state.ts';

/** The same time as for ended sessions. */
const REMEMBERED_MS = 7 * 24 * 3_600_000;

export const destinationsIn = (store: Pick<Store, 'read' | 'idsOf'>): Destination[] =>
  store.idsOf(documents.destinations).flatMap(id => store.read(documents.destinations.of(id)) ?? []);

const standingIn = (store: Pick<Store, 'read'>): Standing => store.read(documents.ship) ?? noStanding;

/** Returns the destinations that get metrics. A destination with an heir has passed its metrics to the heir. */
export function meteredIn(store: Pick<Store, 'read' | 'idsOf'>): Destination[] {
  const all = destinationsIn(store);
  const former = new Set(heirsIn(standingIn(store), all).map(([of]) => of.id));
  return all.filter(({ id, signals }) => signals.metrics && !former.has(id));
}

/**
 * Stores corrected keys and addresses when a person runs `deliver`, before a session uses them. A named destination keeps
 * its id, so all of its changes count.
 */
export function noteCorrections(store: Store, configured: readonly Destination[], nowMs: number): void {
  const stuck = stuckIn(standingIn(store), destinationsIn(store));
  const isChanged = (each: Destination): boolean => {
    const known = each.name === undefined ? undefined : store.read(documents.destinations.of(each.id));
    return (
      known !== undefined && JSON.stringify({ ...known, pinnedMs: 0 }) !== JSON.stringify({ ...each, pinnedMs: 0 })
    );
  };
  const corrections = configured.filter(
    each => isChanged(each) || stuck.some(({ id, source }) => source === each.source && id !== each.id),
  );
  if (corrections.length === 0) return;
  const changed = new ChangedDocuments(store);
  for (const each of corrections) changed.write(documents.destinations.of(each.id), { ...each, pinnedMs: nowMs });
  store.commit({ documents: changed.changes() });
}

/**
 * Adds the metrics that a destination has not accepted to those of its heir. Each destination has one metric state, and
 * two states that send the same series would look like counters that fall. (ship.ts sends bodies to the heir.)
 */
export function handOverMetrics(store: Store, nowMs: number): void {
  const changed = new ChangedDocuments(store);
  const tallies: ((ledger: Ledger) => void)[] = [];
  for (const [of, heir] of heirsIn(standingIn(store), destinationsIn(store))) {
    const [former, successor] = [documents.metrics.of(of.id), documents.metrics.of(heir.id)];
    const from = changed.own(former);
    if (from === undefined || from.accepted >= from.version) continue;
    const to = changed.own(successor) ?? noMetrics();
    const left = from.version - from.accepted;
    handOver(from, to, nowMs);
    changed.write(former, from);
    changed.write(successor, to);
    tallies.push(ledger => {
      increase(accountsOf(ledger, of.id, of).metrics.dropped, REDIRECTED, left);
      accountsOf(ledger, heir.id, heir).metrics.produced += 1;
    });
  }
  if (tallies.length === 0) return;
  store.commit({
    documents: changed.changes(),
    tally: ledger => {
      for (const tally of tallies) tally(ledger);
    },
  });
}

/**
 * Drops what waits for a named destination in a signal that its settings exclude now. Called while no request is under
 * way.
 */
export function dropExcluded(store: Store): void {
  for (const destination of destinationsIn(store)) {
    const { id, name, signals } = destination;
    if (name === undefined) continue;
    const bodies = store.next(id).filter(({ signal }) => signals[signal] === undefined);
    const changed = new ChangedDocuments(store);
    const state = signals.metrics ? undefined : changed.own(documents.metrics.of(id));
    const versions = state === undefined ? 0 : giveUp(state);
    if (bodies.length === 0 && versions === 0) continue;
    if (state !== undefined) changed.write(documents.metrics.of(id), state);
    store.commit({
      settled: bodies.map(body => ({ destination: id, name: body.name })),
      documents: changed.changes(),
      tally(ledger) {
        const account = accountsOf(ledger, id, destination);
        for (const { signal, items } of bodies) increase(account[signal].dropped, EXCLUDED, items);
        if (versions > 0) increase(account.metrics.dropped, EXCLUDED, versions);
      },
    });
  }
}

/**
 * Removes the documents of destinations to which no session was pinned for a week, that have no bodies in the outbox,
 * and that are not heirs. Metrics that they have not accepted are dropped as too old. Their accounts stay in the books.
 */
export function forgetDestinations(store: Store, nowMs: number): void {
  const pinned = new Set(
    store
      .sessions()
      .flatMap(
        key =>
          outlineOf(store, key)?.destinations ??
          (store.session(key)?.state as SessionState | undefined)?.pinned?.destinations ??
          [],
      ),
  );
  const known = destinationsIn(store);
  const standing = standingIn(store);
  const heirs = heirsIn(standing, known);
  const isNeeded = ({ id, pinnedMs = 0 }: Destination): boolean =>
    nowMs - pinnedMs < REMEMBERED_MS ||
    pinned.has(id) ||
    store.next(id).length > 0 ||
    heirs.some(([, heir]) => heir.id === id);
  const gone = known.filter(each => !isNeeded(each));
  if (gone.length === 0) return;
  const untaken = gone.flatMap(destination => {
    const state = store.read(documents.metrics.of(destination.id));
    const versions = state === undefined ? 0 : state.version - state.accepted;
    return versions > 0 ? [{ destination, versions }] : [];
  });
  const changed = new ChangedDocuments(store);
  for (const { id } of gone) {
    changed.write(documents.destinations.of(id), undefined);
    changed.write(documents.metrics.of(id), undefined);
  }
  const ids = gone.map(({ id }) => id);
  changed.write(documents.ship, withoutDestinations(standing, ids));
  store.commit({
    documents: changed.changes(),
    tally(ledger) {
      for (const { destination, versions } of untaken)
        increase(accountsOf(ledger, destination.id, destination).metrics.dropped, 'over-age', versions);
    },
  });
}
