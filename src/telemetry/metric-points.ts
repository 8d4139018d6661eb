import { ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { boundsOf, difference, isGauge, isLevel, type MetricState, type Series, type Sum } from './metric-state.ts';
import { type MetricId, type MetricName, metrics } from './names.ts';
import { type Exemplar, OtlpWriter } from './otlp-writer.ts';
import { instrumentationScope, type Plain, resourceOf } from './resource.ts';
import { hrTime } from './spans.ts';

/** The shortest range of usual queries. An earlier point may be outside of this range. */
const SILENCE_MS = 60_000;

export interface EncodedMetrics {
  /** In this order: the previous values after a gap, so that `rate()` has a base, then the newest values. */
  bodies: { items: number; bytes: Uint8Array }[];
  /** The state once the destination has accepted all bodies. */
  settled: MetricState;
}

/** Returns undefined if the destination has accepted the newest state. */
export function encodeMetrics(
  state: MetricState,
  nowMs: number,
  temporality: Temporality,
  writer = new OtlpWriter(),
): EncodedMetrics | undefined {
  if (state.accepted >= state.version) return undefined;
  const settled: MetricState = structuredClone(state);
  const all = Object.values(settled.resources).flatMap(resource => Object.values(resource.series));
  const newest = all.reduce(
    (latest, series) => (series.begun ? latest : Math.max(latest, series.startMs)),
    state.lastMs,
  );
  const timeMs = Math.max(nowMs, newest + 1);
  const selections = temporality === 'cumulative' ? totals(state.lastMs, timeMs) : differences(state.lastMs, timeMs);
  const bodies = selections.flatMap(selection => bodyOf(settled, selection, temporality, writer) ?? []);
  for (const series of all) {
    series.begun = true;
    series.sent = structuredClone(series.now);
  }
  settled.accepted = settled.version;
  settled.lastMs = timeMs;
  return { bodies, settled };
}

export type Temporality = 'cumulative' | 'delta';

/** The series of one body, and the point of each. */
interface Selection {
  has(series: Series): boolean;
  pointOf(series: Series): Point;
}

/** Returns the previous values, for series that the back end does not have any more, and then the newest values. */
function totals(lastMs: number, timeMs: number): Selection[] {
  const isAfterSilence = timeMs - lastMs > SILENCE_MS;
  return [
    {
      // A level does not start at zero.
      has: ({ metric, begun, now, sent }) =>
        !isLevel(metric) && !isGauge(metric) && (!begun || (isAfterSilence && now.count !== sent.count)),
      pointOf: series => point(series, series.sent, series.startMs, series.begun ? timeMs - 1 : series.startMs),
    },
    {
      has: ({ metric, now, sent }) => !isGauge(metric) || now.count !== sent.count,
      pointOf: series => exemplified(series, point(series, series.now, series.startMs, timeMs)),
    },
  ];
}

function differences(lastMs: number, timeMs: number): Selection[] {
  const pointOf = (series: Series): Point => {
    if (isLevel(series.metric) || isGauge(series.metric)) return point(series, series.now, series.startMs, timeMs);
    const change = difference(series.now, series.sent);
    return exemplified(series, point(series, change, Math.max(series.startMs, lastMs), timeMs));
  };
  return [{ has: ({ now, sent }) => now.count !== sent.count, pointOf }];
}

function bodyOf(
  from: MetricState,
  { has, pointOf }: Selection,
  temporality: Temporality,
  writer: OtlpWriter,
): { items: number; bytes: Uint8Array } | undefined {
  const resources: ResourceMetrics[] = [];
  let items = 0;
  for (const { attributes, series } of Object.values(from.resources)) {
    const byMetric = new Map<MetricId, Point[]>();
    for (const each of Object.values(series)) {
      if (!has(each)) continue;
      const points = byMetric.get(each.metric) ?? [];
      points.push(pointOf(each));
      byMetric.set(each.metric, points);
      items += 1;
    }
    if (byMetric.size === 0) continue;
    const metrics = [...byMetric].map(([metric, points]) => dataOf(metric, points, temporality));
    resources.push({ resource: resourceOf(attributes), scopeMetrics: [{ scope: instrumentationScope, metrics }] });
  }
  return items === 0 ? undefined : { items, bytes: writer.metrics(resources) };
}

/** Stores the accepted values in a state that may have grown since it was encoded. */
export function settleMetrics(current: MetricState, settled: MetricState): MetricState {
  const noted = structuredClone(current);
  for (const [resource, { series }] of Object.entries(settled.resources)) {
    for (const [key, { sent, exemplar }] of Object.entries(series)) {
      const known = noted.resources[resource]?.series[key];
      if (known === undefined) continue;
      known.begun = true;
      known.sent = structuredClone(sent);
      if (known.exemplar?.spanId === exemplar?.spanId && known.exemplar?.ms === exemplar?.ms) delete known.exemplar;
    }
  }
  noted.accepted = settled.accepted;
  noted.lastMs = settled.lastMs;
  return noted;
}

interface Point {
  startTime: [number, number];
  endTime: [number, number];
  attributes: Plain;
  sum: Sum;
  exemplars?: Exemplar[];
}

function exemplified({ exemplar }: Series, point: Point): Point {
  if (exemplar === undefined) return point;
  const { ms, ...rest } = exemplar;
  return { ...point, exemplars: [{ time: hrTime(ms), ...rest }] };
}

const point = (series: Series, sum: Sum, startMs: number, timeMs: number): Point => ({
  startTime: hrTime(startMs),
  endTime: hrTime(timeMs),
  attributes: series.attributes,
  sum,
});

const valueTypeOf = (metric: MetricId): ValueType =>
  (metrics[metric] as MetricName).fractional ? ValueType.DOUBLE : ValueType.INT;

function dataOf(metric: MetricId, points: Point[], temporality: Temporality): MetricData {
  const { name, unit, description } = metrics[metric];
  const bounds = boundsOf(metric);
  // A level is cumulative for every temporality preference of the standard.
  const aggregationTemporality =
    temporality === 'delta' && !isLevel(metric) ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
  if (isGauge(metric)) {
    return {
      descriptor: { name, unit, description, valueType: valueTypeOf(metric) },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE,
      dataPoints: points.map(({ sum, ...rest }) => ({ ...rest, value: sum.sum })),
    };
  }
  if (bounds === undefined) {
    return {
      descriptor: { name, unit, description, valueType: valueTypeOf(metric) },
      aggregationTemporality,
      dataPointType: DataPointType.SUM,
      isMonotonic: !isLevel(metric),
      dataPoints: points.map(({ sum, ...rest }) => ({ ...rest, value: sum.sum })),
    };
  }
  return {
    descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
    aggregationTemporality,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: points.map(({ sum, ...rest }) => ({
      ...rest,
      value: { buckets: { boundaries: [...bounds], counts: sum.buckets ?? [] }, sum: sum.sum, count: sum.count },
    })),
  };
}
