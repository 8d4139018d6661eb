/** Applies the configured limits of the state folder, and counts the metrics about losses and backlogs. */
import type { Destination } from '../config/destinations.ts';
import { factsOf, type Key, type Values } from '../config/schema.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import { type SessionLimits, sessionLimits } from '../pipeline/session-limits.ts';
import { type Account, accountsOf, increase, type Ledger } from '../store/ledger.ts';
import type { Excess, IsUnderWay, Limits, PlaceLimits } from '../store/limits.ts';
import type { QuarantineLimits } from '../store/quarantine.ts';
import { isFull } from '../store/reserve.ts';
import type { Store } from '../store/store.ts';
import { OTHER } from '../telemetry/cardinality.ts';
import type { Increment } from '../telemetry/increments.ts';
import { histogramTo, noMetrics, raiseTo, type Sum } from '../telemetry/metric-state.ts';
import { ours } from '../telemetry/names.ts';
import { type Plain, resourceAttributes } from '../telemetry/resource.ts';

export interface Keep {
  places: Limits;
  quarantine: QuarantineLimits;
  sessions: SessionLimits;
}

const MB = 1024 * 1024;

export function keepOf(values: Values = {}): Keep {
  /** 0 0 means no limit. */
  const of = (key: Key & `keep.${string}`): number =>
    Number(values[key] ?? factsOf(key).default) || Number.POSITIVE_INFINITY;
  const place = (name: 'inbox' | 'outbox' | 'journal'): PlaceLimits => ({
    sizeBytes: of(`keep.${name}_mb`) * MB,
    files: of(`keep.${name}_files`),
    days: of(`keep.${name}_days`),
  });
  return {
    places: { inbox: place('inbox'), outbox: place('outbox'), journal: place('journal') },
    quarantine: {
      sizeBytes: of('keep.quarantine_mb') * MB,
      files: of('keep.quarantine_files'),
      ageMs: of('keep.quarantine_hours') * 3_600_000,
    },
    sessions: sessionLimits,
  };
}

const KEEP_CHECK_MS = 600_000;

/**
 * Removes files until the folder is within its limits: after each round, which may have added files, and at intervals,
 * for old files.
 */
export class KeepLimits {
  private readonly store: Store;
  private readonly places: Limits;
  private readonly isUnderWay: IsUnderWay;
  private keptMs = Number.NEGATIVE_INFINITY;
  private isMore = false;

  constructor(store: Store, { places }: Keep, isUnderWay: IsUnderWay) {
    this.store = store;
    this.places = places;
    this.isUnderWay = isUnderWay;
  }

  /** Returns the error if the disk is full. If the commit is lost, the other owner applies the limits. */
  keep(isAfterRound: boolean): Error | undefined {
    if (!isAfterRound && !this.isMore && performance.now() - this.keptMs <= KEEP_CHECK_MS) return undefined;
    this.keptMs = performance.now();
    try {
      const over = this.store.within(this.places, this.isUnderWay);
      if (over !== undefined) this.store.commit(over.round);
      // One round lists and removes a part.
      this.isMore = !this.store.isListed() || hasFiles(over?.excess);
      return undefined;
    } catch (error) {
      if (!isFull(error)) throw error;
      return error as Error;
    }
  }
}

const hasFiles = (excess: Excess | undefined): boolean =>
  excess !== undefined && Object.values(excess).some(list => list.length > 0);

/** The resource of the metrics about the pipeline itself. */
export const pipelineResource = (installation: string): Plain =>
  resourceAttributes({ agent: 'otel-hooks', serviceName: undefined, attributes: {}, installation });

/** A destination that accepted no metrics for so long may be abandoned: it gets only its own losses. */
const HEARS_FOR_MS = 24 * 3_600_000;

/**
 * Adds the counts of the pipeline to the metric states of the destinations that get metrics: losses, and the rest that
 * is left to be sent after a pass. The duration of requests alone causes no further request: it is sent with other
 * news.
 */
export function addPipelineMetrics(
  store: Store,
  metered: readonly Destination[],
  resource: Plain,
  left: readonly Increment[],
  nowMs: number,
): void {
  const ledger = store.ledger();
  const changed = new ChangedDocuments(store);
  const raised: [destination: Destination, versions: number][] = [];
  for (const destination of metered) {
    const { id } = destination;
    const document = documents.metrics.of(id);
    const state = changed.own(document) ?? noMetrics();
    const before = state.version;
    const isAlive = nowMs - state.lastMs < HEARS_FOR_MS;
    const values = isAlive ? [...lossesOf(ledger, id), ...left] : ownLosses(ledger, id);
    raiseTo(state, resource, values, nowMs);
    if (state.version > state.accepted)
      for (const { attributes, total } of requestTimes(ledger, id))
        histogramTo(state, resource, { metric: 'pipelineExport', attributes }, total, nowMs);
    if (state.version === before) continue;
    changed.write(document, state);
    raised.push([destination, state.version - before]);
  }
  if (raised.length === 0) return;
  store.commit({
    documents: changed.changes(),
    tally(next) {
      // A destination whose configuration was just corrected has no account yet.
      for (const [destination, versions] of raised)
        accountsOf(next, destination.id, destination).metrics.produced += versions;
    },
  });
}

/** Cumulative values: dropped, refused, quarantined and silenced data, and failed tries on the way to a destination. */
export function lossesOf(ledger: Ledger, id: string): Increment[] {
  const { fragments, counters } = ledger;
  return [
    ...notAccepted(ledger),
    ...countsAsIncrements('pipelineDropped', 'fragment', fragments.dropped),
    ...countsAsIncrements('pipelineQuarantined', 'fragment', ofPrefix(counters, 'quarantined.')),
    ...countsAsIncrements('pipelineDropped', 'journal', ofPrefix(counters, 'dropped.journal.')),
    ...countsAsIncrements('pipelineDropped', 'quarantine', ofPrefix(counters, 'dropped.quarantine.')),
    // Metrics that could not be sent are part of the next ones.
    ...bodySignals.flatMap(signal =>
      countsAsIncrements('pipelineFailed', items[signal], ofPrefix(counters, `failed.${signal}.`)),
    ),
    ...Object.entries(ofPrefix(counters, 'silenced.')).map(
      ([setting, value]): Increment => ({
        metric: 'pipelineSilenced',
        attributes: { [ours.pipelineReason]: setting },
        value,
      }),
    ),
    ...ownLosses(ledger, id),
  ];
}

/**
 * Hooks that did not become events of a journal, and bad items of lists. Their event types are not known.
 */
function notAccepted({ fragments: { dropped }, counters }: Ledger): Increment[] {
  const { duplicate = 0, ...others } = dropped;
  const results = { duplicate, invalid: 0, dropped: 0 };
  for (const count of Object.values(others)) results.dropped += count;
  for (const prefix of ['quarantined.', 'bad-events.'])
    for (const count of Object.values(ofPrefix(counters, prefix))) results.invalid += count;
  return Object.entries(results).flatMap(([result, value]) =>
    value === 0
      ? []
      : [{ metric: 'pipelineEvents', attributes: { [ours.eventType]: OTHER, [ours.pipelineResult]: result }, value }],
  );
}

/** The sizes of all outboxes: destinations that can be reached get them for those that cannot. */
export function spoolOf(store: Pick<Store, 'destinations' | 'next'>): Increment[] {
  const sizes = { traces: 0, logs: 0, events: 0 };
  for (const id of store.destinations())
    for (const { signal, sizeBytes } of store.next(id)) if (signal !== 'metrics') sizes[signal] += sizeBytes;
  return (['traces', 'logs', 'events'] as const).map(signal => ({
    metric: 'pipelineSpool',
    attributes: { [ours.pipelineItem]: items[signal] },
    value: sizes[signal],
  }));
}

function requestTimes(ledger: Ledger, id: string): { attributes: Increment['attributes']; total: Sum }[] {
  const took = ledger.destinations[id]?.took ?? {};
  return (['traces', 'logs', 'events'] as const).flatMap(signal => {
    const total = took[signal];
    return total === undefined ? [] : [{ attributes: { [ours.pipelineItem]: items[signal] }, total }];
  });
}

const items = { traces: 'span', logs: 'log', events: 'event' } as const;
const bodySignals = ['traces', 'logs', 'events'] as const;

function ownLosses(ledger: Ledger, id: string): Increment[] {
  const accounts = ledger.destinations[id];
  if (accounts === undefined) return [];
  return bodySignals.flatMap(signal => {
    const { dropped, rejected }: Account = accounts[signal];
    return [
      ...countsAsIncrements('pipelineDropped', items[signal], dropped),
      ...countsAsIncrements('pipelineRejected', items[signal], rejected),
    ];
  });
}

const countsAsIncrements = (
  metric: Increment['metric'],
  item: string,
  counts: Readonly<Record<string, number>>,
): Increment[] =>
  Object.entries(counts).map(([reason, value]) => ({
    metric,
    attributes: { [ours.pipelineItem]: item, [ours.pipelineReason]: reason },
    value,
  }));

function ofPrefix(counters: Readonly<Record<string, number>>, prefix: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [name, count] of Object.entries(counters))
    if (name.startsWith(prefix)) increase(found, name.slice(prefix.length), count);
  return found;
}
