/**
 * Cumulative counters and histograms, one state per destination, stored as JSON between processes.
 *
 * Attributes come from closed sets, so the number of series is bounded: names that users or servers choose become `mcp` or
 * `custom`. Back ends compute increases from recent samples, so each value needs a base. A series starts when it first
 * appears; its zero is sent before its first value. After a gap, the previous value is sent again before the new one.
 * A gauge is sent once for each measurement, without a zero. A delivery may process the newest session first, so a gauge
 * keeps the newest measurement by the time of its event.
 */
import { dollars } from '../lib/dollars.ts';
import { quoted } from '../lib/quoted.ts';
import { admit, bounded, type Census, censusOf, MOST_SERIES } from './cardinality.ts';
import { type Increment, one, type Place } from './increments.ts';
import { development, type MetricId, type MetricName, metrics, ours } from './names.ts';
import { metricResource, type Plain } from './resource.ts';

export interface MetricState {
  v: 1;
  /** The number of changes. A destination that has accepted this version is up to date. */
  version: number;
  accepted: number;
  /** The time of the newest encoded points. The next points are later, also after a jump of the clock. */
  lastMs: number;
  resources: { [key: string]: { attributes: Plain; series: { [key: string]: Series } } };
}

export interface Series {
  metric: MetricId;
  attributes: Plain;
  startMs: number;
  /** The initial zero was sent. */
  begun: boolean;
  now: Sum;
  /** The values that the destination has accepted; the base of deltas. */
  sent: Sum;
  /** The time of a gauge's measurement. Absent for states of older versions. */
  measuredMs?: number | undefined;
  /** A measurement since the last accepted values, with its span. */
  exemplar?: { ms: number; value: number; traceId: string; spanId: string } | undefined;
}

export interface Sum {
  sum: number;
  count: number;
  buckets?: number[];
}

export const noMetrics = (): MetricState => ({ v: 1, version: 0, accepted: 0, lastMs: 0, resources: {} });

/** Returns the ids of the span of a count; undefined if its trace is not sent. */
export type Locate = (from: Place) => { traceId: string; spanId: string } | undefined;

export interface Adding {
  /** Absent: no exemplars. */
  locate?: Locate | undefined;
  mostSeries?: number | undefined;
}

/** Changes `state`, which the caller owns. */
export function addTo(
  state: MetricState,
  resource: Plain,
  increments: readonly Increment[],
  nowMs: number,
  { locate, mostSeries = MOST_SERIES }: Adding = {},
): void {
  if (increments.length === 0) return;
  const { identity, key: resourceKey } = identityOf(resource);
  state.resources[resourceKey] ??= { attributes: identity, series: {} };
  const all = state.resources[resourceKey].series;
  const census = censuses.get(all) ?? censusOf(Object.values(all));
  censuses.set(all, census);
  const places = new Map<Series, { place: Place; value: number }>();
  const over: Increment[] = [];
  const add = (increment: Increment, bounds = boundsOf(increment.metric)): void => {
    const { metric, value, place } = increment;
    let { attributes } = increment;
    let key = seriesKey(increment);
    if (all[key] === undefined) {
      const within = bounded(census, metric, attributes, mostSeries);
      over.push(...within.over.map(reason => one('pipelineOverflow', { [ours.pipelineReason]: reason })));
      if (within.attributes !== attributes) {
        attributes = within.attributes;
        key = seriesKey({ metric, attributes });
      }
      if (all[key] === undefined) admit(census, metric, attributes);
    }
    const series = all[key] ?? {
      metric,
      attributes,
      startMs: nowMs,
      begun: false,
      now: zero(bounds),
      sent: zero(bounds),
    };
    all[key] = series;
    if (isGauge(metric) && !isNewest(series, increment.measuredMs, nowMs)) return;
    addValue(series.now, value, bounds, metrics[metric]);
    if (locate === undefined || place === undefined) return;
    const known = places.get(series);
    // A histogram keeps the exemplar of the highest value, a counter the newest one.
    if (bounds === undefined || known === undefined || value > known.value) places.set(series, { place, value });
  };
  for (const increment of increments) add(increment);
  for (const increment of over) add(increment);
  for (const [series, { place, value }] of places) exemplify(series, place, value, locate);
  state.version += 1;
}

/**
 * Notes the time of a measurement. Returns false if the series has a newer one. Times after `nowMs` come from wrong
 * clocks: they count as `nowMs`, so that the next measurement is not refused.
 */
function isNewest(series: Series, measuredMs: number | undefined, nowMs: number): boolean {
  const { measuredMs: known = 0 } = series;
  const atMs = Math.min(measuredMs ?? nowMs, nowMs);
  if (known > atMs && known <= nowMs) return false;
  series.measuredMs = atMs;
  return true;
}

/** Caches the census of a resource's series, as long as the series object exists. */
const censuses = new WeakMap<object, Census>();

function addValue(
  now: Sum,
  value: number,
  bounds: readonly number[] | undefined,
  { fractional, isGauge }: MetricName,
): void {
  const sum = isGauge ? value : now.sum + value;
  now.sum = fractional ? dollars(sum) : sum;
  now.count += 1;
  if (bounds === undefined || now.buckets === undefined) return;
  const at = bounds.findIndex(bound => value <= bound);
  const bucket = at < 0 ? bounds.length : at;
  now.buckets[bucket] = (now.buckets[bucket] ?? 0) + 1;
}

/** Sets the exemplar of a series until the destination has accepted it. */
function exemplify(series: Series, place: Place, value: number, locate: Locate | undefined): void {
  const { exemplar } = series;
  if (exemplar !== undefined && boundsOf(series.metric) !== undefined && exemplar.value > value) return;
  const ids = locate?.(place);
  if (ids !== undefined) series.exemplar = { ms: place.ms, value, ...ids };
}

/**
 * Sets series to totals from the ledger. Counters only increase; levels also decrease. A level above zero is always
 * sent again, because back ends drop a series that is not repeated.
 */
export function raiseTo(state: MetricState, resource: Plain, totals: readonly Increment[], nowMs: number): void {
  const series = seriesIn(state, resource);
  const missing = totals.flatMap(total => {
    const value = total.value - (series[seriesKey(total)]?.now.sum ?? 0);
    const isNews = isLevel(total.metric) ? value !== 0 || total.value > 0 : value > 0;
    return isNews ? [{ ...total, value }] : [];
  });
  addTo(state, resource, missing, nowMs);
}

/** Sets a series to a histogram from the ledger, which only grows. */
export function histogramTo(
  state: MetricState,
  resource: Plain,
  series: Pick<Increment, 'metric' | 'attributes'>,
  total: Sum,
  nowMs: number,
): void {
  const key = seriesKey(series);
  if (total.count <= (seriesIn(state, resource)[key]?.now.count ?? 0)) return;
  addTo(state, resource, [{ ...series, value: 0 }], nowMs);
  const known = seriesIn(state, resource)[key];
  if (known !== undefined) known.now = structuredClone(total);
}

/** Adds a measurement to a histogram that is kept in the ledger. */
export function measuredOnce(metric: MetricId, total: Sum | undefined, value: number): Sum {
  const bounds = boundsOf(metric);
  const now = total ?? zero(bounds);
  addValue(now, value, bounds, metrics[metric]);
  return now;
}

const seriesIn = (state: MetricState, resource: Plain): { readonly [key: string]: Series } =>
  state.resources[identityOf(resource).key]?.series ?? {};

/** Caches the identity of a resource, as long as the resource object exists. */
const identities = new WeakMap<Plain, { identity: Plain; key: string }>();

function identityOf(resource: Plain): { identity: Plain; key: string } {
  const known = identities.get(resource);
  if (known !== undefined) return known;
  const identity = metricResource(resource);
  const found = { identity, key: JSON.stringify(identity) };
  identities.set(resource, found);
  return found;
}

/** Metrics of the pipeline come from the ledger. Each destination reads the ledger separately. */
const fromBooks: readonly MetricId[] = [
  'pipelineDropped',
  'pipelineRejected',
  'pipelineQuarantined',
  'pipelineSilenced',
  'pipelineSpool',
  'pipelineExport',
];

const isFromBooks = ({ metric, attributes }: Pick<Series, 'metric' | 'attributes'>): boolean =>
  fromBooks.includes(metric) || (attributes[ours.pipelineResult] ?? 'accepted') !== 'accepted';

/** Adds the values that `from` holds and its destination has not accepted to `to`. The caller owns both. */
export function handOver(from: MetricState, to: MetricState, nowMs: number): void {
  for (const [resource, { attributes, series }] of Object.entries(from.resources)) {
    to.resources[resource] ??= { attributes, series: {} };
    const theirs = to.resources[resource].series;
    for (const [key, each] of Object.entries(series)) {
      const left = difference(each.now, each.sent);
      each.sent = structuredClone(each.now);
      if (left.count === 0 || isFromBooks(each)) continue;
      const none = zero(boundsOf(each.metric));
      const known = theirs[key];
      if (isGauge(each.metric) && known !== undefined && !isNewest(known, each.measuredMs, nowMs)) continue;
      theirs[key] ??= { ...each, startMs: nowMs, begun: false, now: none, sent: structuredClone(none) };
      const { now } = theirs[key];
      now.sum = isGauge(each.metric) ? each.now.sum : now.sum + left.sum;
      now.count += left.count;
      if (now.buckets) now.buckets = now.buckets.map((count, i) => count + (left.buckets?.[i] ?? 0));
    }
  }
  from.accepted = from.version;
  to.version += 1;
}

/**
 * Drops the values that the destination has not accepted. Returns the number of versions. The caller owns the state.
 */
export function giveUp(state: MetricState): number {
  const versions = state.version - state.accepted;
  for (const { series } of Object.values(state.resources))
    for (const each of Object.values(series)) each.sent = structuredClone(each.now);
  state.accepted = state.version;
  return versions;
}

/** Removes the series of a session. Returns false if there is none. The caller owns the state. */
export function forgetSession(state: MetricState, session: string): boolean {
  let isChanged = false;
  for (const { series } of Object.values(state.resources))
    for (const [key, { attributes }] of Object.entries(series)) {
      if (attributes[development.sessionId] !== session) continue;
      delete series[key];
      isChanged = true;
    }
  return isChanged;
}

function seriesKey({ metric, attributes }: Pick<Increment, 'metric' | 'attributes'>): string {
  let unsorted: string = metric;
  for (const name in attributes) unsorted += `\0${name}\0${attributes[name]}`;
  const known = seriesKeys.get(unsorted);
  if (known !== undefined) return known;
  const sorted = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  const key = `${metric} [${sorted.map(([name, value]) => `[${quoted(name)},${jsonOf(value)}]`).join(',')}]`;
  if (seriesKeys.size >= MOST_SERIES) seriesKeys.clear();
  seriesKeys.set(unsorted, key);
  return key;
}

const jsonOf = (value: unknown): string => (typeof value === 'string' ? quoted(value) : JSON.stringify(value));

/**
 * Caches keys by unsorted attributes: the same few series repeat, and sorting costs more than counting.
 */
const seriesKeys = new Map<string, string>();

export const isLevel = (metric: MetricId): boolean => (metrics[metric] as MetricName).isLevel ?? false;

export const isGauge = (metric: MetricId): boolean => (metrics[metric] as MetricName).isGauge ?? false;

export const boundsOf = (metric: MetricId): readonly number[] | undefined => (metrics[metric] as MetricName).bounds;

const zero = (bounds: readonly number[] | undefined): Sum =>
  bounds ? { sum: 0, count: 0, buckets: Array.from({ length: bounds.length + 1 }, () => 0) } : { sum: 0, count: 0 };

export const difference = (now: Sum, sent: Sum): Sum => ({
  sum: now.sum - sent.sum,
  count: now.count - sent.count,
  ...(now.buckets ? { buckets: now.buckets.map((count, i) => count - (sent.buckets?.[i] ?? 0)) } : {}),
});
