/** What the state folder may hold, as the settings say it, and what destinations are told of all that was lost. */
import type { Destination } from './config/destinations.ts';
import { factsOf, type Key, type Values } from './config/schema.ts';
import { type Account, accountsOf, increase, type Ledger } from './store/ledger.ts';
import type { IsUnderWay, Limits, PlaceLimits } from './store/limits.ts';
import type { QuarantineLimits } from './store/quarantine.ts';
import type { Store } from './store/store.ts';
import { type Increment, type MetricState, metricsDocument, noMetrics, raiseTo } from './telemetry/metrics.ts';
import { ours } from './telemetry/names.ts';
import { resourceAttributes } from './telemetry/resource.ts';

export interface Keep {
  places: Limits;
  quarantine: QuarantineLimits;
}

const MB = 1024 * 1024;

export function keepOf(values: Values = {}): Keep {
  /** 0 stands for no limit. */
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
  };
}

/** Brings the folder within its limits. Lost to another owner, it is nothing: that one does it. */
export function keepWithin(store: Store, { places }: Keep, isUnderWay?: IsUnderWay): void {
  const over = store.within(places, isUnderWay);
  if (over !== undefined) store.commit(over.round);
}

/** A destination that took no metrics for so long may be nobody's any more: it hears of its own losses only. */
const HEARS_FOR_MS = 24 * 3_600_000;

/** What the books say was lost goes into the metric states of those destinations that get metrics. */
export function tellLosses(store: Store, metered: readonly Destination[], installation: string, nowMs: number): void {
  const ledger = store.ledger();
  const resource = resourceAttributes({
    agent: 'otel-hooks',
    serviceName: undefined,
    attributes: {},
    installation,
  });
  const documents: { name: string; value: unknown }[] = [];
  const told: Destination[] = [];
  for (const destination of metered) {
    const { id } = destination;
    const name = metricsDocument(id);
    const state = (store.document(name) as MetricState | undefined) ?? noMetrics();
    const losses = nowMs - state.lastMs < HEARS_FOR_MS ? lossesOf(ledger, id) : ownLosses(ledger, id);
    if (!raiseTo(state, resource, losses, nowMs)) continue;
    documents.push({ name, value: state });
    told.push(destination);
  }
  if (told.length === 0) return;
  store.commit({
    documents,
    tally(next) {
      // One that was only just corrected has no account yet.
      for (const destination of told) accountsOf(next, destination.id, destination).metrics.produced += 1;
    },
  });
}

/** As cumulative values: what was dropped, refused, set aside, and tried in vain, on the way to a destination. */
export function lossesOf(ledger: Ledger, id: string): Increment[] {
  const { fragments, counters } = ledger;
  return [
    ...counted('pipelineDropped', 'fragment', fragments.dropped),
    ...counted('pipelineQuarantined', 'fragment', ofPrefix(counters, 'quarantined.')),
    ...counted('pipelineDropped', 'journal', ofPrefix(counters, 'dropped.journal.')),
    ...counted('pipelineDropped', 'quarantine', ofPrefix(counters, 'dropped.quarantine.')),
    // Metrics that could not be sent are told by the next that can.
    ...bodySignals.flatMap(signal => counted('pipelineFailed', items[signal], ofPrefix(counters, `failed.${signal}.`))),
    ...ownLosses(ledger, id),
  ];
}

const items = { traces: 'span', logs: 'log', events: 'event' } as const;
const bodySignals = ['traces', 'logs', 'events'] as const;

function ownLosses(ledger: Ledger, id: string): Increment[] {
  const accounts = ledger.destinations[id];
  if (accounts === undefined) return [];
  return bodySignals.flatMap(signal => {
    const { dropped, rejected }: Account = accounts[signal];
    return [
      ...counted('pipelineDropped', items[signal], dropped),
      ...counted('pipelineRejected', items[signal], rejected),
    ];
  });
}

const counted = (metric: Increment['metric'], item: string, counts: Readonly<Record<string, number>>): Increment[] =>
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
