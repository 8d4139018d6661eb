/**
 * Limits of the number of metric series: of the values of each attribute that users, servers or agents choose, and of all
 * series of a resource. Values beyond a limit are counted under `other`, and the overflow is counted as well.
 */
import { errorClasses } from './error-classes.ts';
import { development, type MetricId, type MetricName, metrics, ours, stable } from './names.ts';
import type { Plain } from './resource.ts';

/** Series as Prometheus counts them, per machine and agent. */
export const MOST_SERIES = 2_000;
/** Reserved for series whose attributes are closed sets. */
const RESERVE = 300;

/**
 * Most values of an attribute that users, servers or agents choose. Session ids are bounded by the number of series
 * only. Values of a closed set are always admitted and do not count.
 */
const free: readonly (readonly [name: string, most: number, closed?: ReadonlySet<string>])[] = [
  [development.requestModel, 50],
  [development.providerName, 50],
  [development.system, 50],
  [development.toolName, 100],
  [ours.actionName, 100],
  [development.agentName, 50],
  [ours.mcpServer, 50],
  [development.repositoryName, 50],
  [development.repositoryBranch, 50],
  [ours.agentMode, 10],
  [stable.errorType, 24, errorClasses],
  [development.sessionId, Number.POSITIVE_INFINITY],
];

export const OTHER = 'other';
/** Returns the word for other values. The conventions define a separate one for errors. */
const otherOf = (name: string): string => (name === stable.errorType ? '_OTHER' : OTHER);

export interface Census {
  /** One set per open attribute. */
  values: readonly Set<string>[];
  series: number;
}

/** A histogram has a series for each bucket, its sum and its count. */
const seriesOf = (metric: MetricId): number => {
  const { bounds }: MetricName = metrics[metric];
  return bounds === undefined ? 1 : bounds.length + 3;
};

export function censusOf(all: Iterable<{ metric: MetricId; attributes: Plain }>): Census {
  const census: Census = { values: free.map(() => new Set<string>()), series: 0 };
  for (const { metric, attributes } of all) admit(census, metric, attributes);
  return census;
}

/** Counts a new series. */
export function admit(census: Census, metric: MetricId, attributes: Plain): void {
  census.series += seriesOf(metric);
  for (const [i, [name, , closed]] of free.entries()) {
    const value = attributes[name];
    if (value !== undefined && !closed?.has(value)) census.values[i]?.add(value);
  }
}

/** The attributes under which a new series is admitted, and the attributes that were over their limit. */
export function bounded(
  census: Census,
  metric: MetricId,
  given: Plain,
  most: number,
): { attributes: Plain; over: readonly string[] } {
  let attributes = given;
  const over: string[] = [];
  const isFull = census.series + seriesOf(metric) > most - RESERVE;
  for (const [i, [name, mostValues, closed]] of free.entries()) {
    const value = given[name];
    const values = census.values[i];
    const other = otherOf(name);
    if (value === undefined || value === other || values === undefined) continue;
    if (!isFull && (closed?.has(value) || values.has(value) || values.size < mostValues)) continue;
    attributes = { ...attributes, [name]: other };
    over.push(isFull ? 'series' : name);
  }
  return { attributes, over: [...new Set(over)] };
}
