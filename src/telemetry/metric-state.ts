/**
 * Counters and histograms, cumulative, one state for each destination, kept as JSON between processes.
 *
 * Attributes come from closed sets, so the number of series is bounded: names that users or servers invent become
 * `mcp` or `custom`. Back ends compute increases from what they saw of late, so each value that grew has what it grew from
 * beside it: a series starts when it first appears, and leaves once as 0 at that moment before its first value leaves; after a
 * silence what stood until then is said again.
 */
import { dollars } from '../lib/dollars.ts';
import { admit, bounded, type Census, censusOf, MOST_SERIES } from './cardinality.ts';
import { type Increment, one, type Place } from './increments.ts';
import { type MetricId, type MetricName, metrics, ours } from './names.ts';
import { metricResource, type Plain } from './resource.ts';

export interface MetricState {
  v: 1;
  /** Counts the changes; a destination that has accepted it is up to date. */
  version: number;
  accepted: number;
  /** Time of the newest points that were encoded; the next are later, whatever the clock says. */
  lastMs: number;
  resources: { [key: string]: { attributes: Plain; series: { [key: string]: Series } } };
}

export interface Series {
  metric: MetricId;
  attributes: Plain;
  startMs: number;
  /** Has left as 0. */
  begun: boolean;
  now: Sum;
  /** What the destination has accepted, for differences. */
  sent: Sum;
  /** A measurement since then, and where it was taken. */
  exemplar?: { ms: number; value: number; traceId: string; spanId: string } | undefined;
}

export interface Sum {
  sum: number;
  count: number;
  buckets?: number[];
}

/** Name of the store's document that holds a destination's state. */
export const metricsDocument = (destination: string): string => `metrics-${destination}`;

export const noMetrics = (): MetricState => ({ v: 1, version: 0, accepted: 0, lastMs: 0, resources: {} });

/** The ids on the wire of where something was counted; undefined where that trace does not leave. */
export type Locate = (from: Place) => { traceId: string; spanId: string } | undefined;

export interface Adding {
  /** Without it nothing is exemplified. */
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
  const identity = metricResource(resource);
  const resourceKey = JSON.stringify(identity);
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
    addValue(series.now, value, bounds, (metrics[metric] as MetricName).fractional);
    if (locate === undefined || place === undefined) return;
    const known = places.get(series);
    // The highest measurement tells most; of a counter the newest.
    if (bounds === undefined || known === undefined || value > known.value) places.set(series, { place, value });
  };
  for (const increment of increments) add(increment);
  for (const increment of over) add(increment);
  for (const [series, { place, value }] of places) exemplify(series, place, value, locate);
  state.version += 1;
}

/** Of the series of a resource, for as long as they live. */
const censuses = new WeakMap<object, Census>();

function addValue(
  now: Sum,
  value: number,
  bounds: readonly number[] | undefined,
  isFractional: boolean | undefined,
): void {
  now.sum = isFractional ? dollars(now.sum + value) : now.sum + value;
  now.count += 1;
  if (bounds === undefined || now.buckets === undefined) return;
  const at = bounds.findIndex(bound => value <= bound);
  const bucket = at < 0 ? bounds.length : at;
  now.buckets[bucket] = (now.buckets[bucket] ?? 0) + 1;
}

/** One for each series, until the destination has it. */
function exemplify(series: Series, place: Place, value: number, locate: Locate | undefined): void {
  const { exemplar } = series;
  if (exemplar !== undefined && boundsOf(series.metric) !== undefined && exemplar.value > value) return;
  const ids = locate?.(place);
  if (ids !== undefined) series.exemplar = { ms: place.ms, value, ...ids };
}

/**
 * What is counted elsewhere, brought to what is said there: counters never down, levels either way. A
 * level above nothing is always news, since back ends take what is not repeated for gone.
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

/** A histogram that is kept elsewhere, and only grows there. */
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

/** One more measurement of a histogram that is kept elsewhere. */
export function measuredOnce(metric: MetricId, total: Sum | undefined, value: number): Sum {
  const bounds = boundsOf(metric);
  const now = total ?? zero(bounds);
  addValue(now, value, bounds, undefined);
  return now;
}

const seriesIn = (state: MetricState, resource: Plain): { readonly [key: string]: Series } =>
  state.resources[JSON.stringify(metricResource(resource))]?.series ?? {};

/** What is told of the pipeline is read off the books, which every destination hears of by itself. */
const fromBooks: readonly MetricId[] = [
  'pipelineDropped',
  'pipelineRejected',
  'pipelineQuarantined',
  'pipelineSpool',
  'pipelineExport',
];

const isFromBooks = ({ metric, attributes }: Pick<Series, 'metric' | 'attributes'>): boolean =>
  fromBooks.includes(metric) || (attributes[ours.pipelineResult] ?? 'accepted') !== 'accepted';

/** Adds to `to` what `from` has and its destination has not accepted. The caller owns both. */
export function handOver(from: MetricState, to: MetricState, nowMs: number): void {
  for (const [resource, { attributes, series }] of Object.entries(from.resources)) {
    to.resources[resource] ??= { attributes, series: {} };
    const theirs = to.resources[resource].series;
    for (const [key, each] of Object.entries(series)) {
      const left = difference(each.now, each.sent);
      each.sent = structuredClone(each.now);
      if (left.count === 0 || isFromBooks(each)) continue;
      const none = zero(boundsOf(each.metric));
      theirs[key] ??= { ...each, startMs: nowMs, begun: false, now: none, sent: structuredClone(none) };
      const { now } = theirs[key];
      now.sum += left.sum;
      now.count += left.count;
      if (now.buckets) now.buckets = now.buckets.map((count, i) => count + (left.buckets?.[i] ?? 0));
    }
  }
  from.accepted = from.version;
  to.version += 1;
}

function seriesKey({ metric, attributes }: Pick<Increment, 'metric' | 'attributes'>): string {
  let said: string = metric;
  for (const name in attributes) said += `\0${name}\0${attributes[name]}`;
  const known = seriesKeys.get(said);
  if (known !== undefined) return known;
  const key = `${metric} ${JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
  if (seriesKeys.size >= MOST_SERIES) seriesKeys.clear();
  seriesKeys.set(said, key);
  return key;
}

/** The same few series are counted again and again: sorting their attributes each time costs more than counting. */
const seriesKeys = new Map<string, string>();

export const isLevel = (metric: MetricId): boolean => (metrics[metric] as MetricName).isLevel ?? false;

export const boundsOf = (metric: MetricId): readonly number[] | undefined => (metrics[metric] as MetricName).bounds;

const zero = (bounds: readonly number[] | undefined): Sum =>
  bounds ? { sum: 0, count: 0, buckets: Array.from({ length: bounds.length + 1 }, () => 0) } : { sum: 0, count: 0 };

export const difference = (now: Sum, sent: Sum): Sum => ({
  sum: now.sum - sent.sum,
  count: now.count - sent.count,
  ...(now.buckets ? { buckets: now.buckets.map((count, i) => count - (sent.buckets?.[i] ?? 0)) } : {}),
});
