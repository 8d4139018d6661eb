/**
 * Destinations as the state folder remembers them: one document each, and one for its metrics. A corrected key or address makes
 * a new destination; here is what the former one leaves to it, and when one is forgotten.
 */
import { type Destination, destinationDocument, DESTINATION_PREFIX as PREFIX } from '../config/destinations.ts';
import type { SessionState } from '../session/session-state.ts';
import { heirsIn, SHIP_DOCUMENT, stuckIn, withoutStanding } from '../ship/ship.ts';
import { accountsOf, increase, type Ledger } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';
import { handOver, type MetricState, metricsDocument, noMetrics } from '../telemetry/metric-state.ts';

/** As long as sessions that have ended. */
const REMEMBERED_MS = 7 * 24 * 3_600_000;

export function destinationsIn(store: Pick<Store, 'document' | 'documents'>): Destination[] {
  return store
    .documents()
    .filter(name => name.startsWith(PREFIX))
    .flatMap(name => (store.document(name) as Destination | undefined) ?? []);
}

/** A person who corrected a key or an address runs `deliver`, and no session has begun with the new one yet. */
export function noteCorrections(store: Store, configured: readonly Destination[], nowMs: number): void {
  const stuck = stuckIn(store.document(SHIP_DOCUMENT), destinationsIn(store));
  const corrections = configured.filter(({ id, source }) =>
    stuck.some(each => each.source === source && each.id !== id),
  );
  if (corrections.length === 0) return;
  const documents = corrections.map(each => ({
    name: destinationDocument(each.id),
    value: { ...each, pinnedMs: nowMs },
  }));
  store.commit({ documents });
}

/**
 * Bodies go to the heir by themselves (ship.ts). Metrics are one state for each destination, and two that
 * send the same series would read as counters that fall: what was not accepted of the one is added to the other.
 */
export function handOverMetrics(store: Store, nowMs: number): void {
  const documents = new Map<string, unknown>();
  const stateOf = (id: string): MetricState | undefined =>
    (documents.get(metricsDocument(id)) ?? store.document(metricsDocument(id))) as MetricState | undefined;
  const tallies: ((ledger: Ledger) => void)[] = [];
  for (const [of, heir] of heirsIn(store.document(SHIP_DOCUMENT), destinationsIn(store))) {
    const from = stateOf(of.id);
    if (from === undefined || from.accepted >= from.version) continue;
    const to = stateOf(heir.id) ?? noMetrics();
    const superseded = from.version - from.accepted;
    handOver(from, to, nowMs);
    documents.set(metricsDocument(of.id), from).set(metricsDocument(heir.id), to);
    tallies.push(ledger => {
      increase(accountsOf(ledger, of.id, of).metrics.dropped, 'superseded', superseded);
      accountsOf(ledger, heir.id, heir).metrics.produced += 1;
    });
  }
  if (tallies.length === 0) return;
  store.commit({
    documents: [...documents].map(([name, value]) => ({ name, value })),
    tally: ledger => {
      for (const tally of tallies) tally(ledger);
    },
  });
}

/**
 * Those that no session was pinned to for a week, for which nothing lies in the outbox, and who inherit nothing. Metrics
 * that nobody took until then have grown old. The account stays in the books.
 */
export function forgetDestinations(store: Store, nowMs: number): void {
  const pinned = new Set(
    store
      .sessions()
      .flatMap(key => (store.session(key)?.state as SessionState | undefined)?.pinned?.destinations ?? []),
  );
  const known = destinationsIn(store);
  const heirs = heirsIn(store.document(SHIP_DOCUMENT), known);
  const isNeeded = ({ id, pinnedMs = 0 }: Destination): boolean =>
    nowMs - pinnedMs < REMEMBERED_MS ||
    pinned.has(id) ||
    store.next(id).length > 0 ||
    heirs.some(([, heir]) => heir.id === id);
  const gone = known.filter(each => !isNeeded(each));
  if (gone.length === 0) return;
  const untaken = gone.flatMap(destination => {
    const state = store.document(metricsDocument(destination.id)) as MetricState | undefined;
    const versions = state === undefined ? 0 : state.version - state.accepted;
    return versions > 0 ? [{ destination, versions }] : [];
  });
  const standing = withoutStanding(
    store.document(SHIP_DOCUMENT),
    gone.map(({ id }) => id),
  );
  store.commit({
    documents: [
      ...gone.flatMap(({ id }) => [
        { name: destinationDocument(id), value: undefined },
        { name: metricsDocument(id), value: undefined },
      ]),
      { name: SHIP_DOCUMENT, value: standing },
    ],
    tally(ledger) {
      for (const { destination, versions } of untaken)
        increase(accountsOf(ledger, destination.id, destination).metrics.dropped, 'over-age', versions);
    },
  });
}
