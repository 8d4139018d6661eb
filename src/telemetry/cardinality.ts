/**
 * How many series there may be. Names that people, servers and agents choose are let in up to a number of each, and all series of
 * a resource together up to another; what is beyond is counted under `other`, and that it was is counted as well.
 */
import { development, type MetricId, type MetricName, metrics, ours, stable } from './names.ts';
import type { Plain } from './resource.ts';

/** As Prometheus counts them, for a machine and an agent. */
export const MOST_SERIES = 2_000;
/** Kept for series of closed sets alone. */
const RESERVE = 300;

/** How many values of a name that is not ours to choose. A session's id is bounded by all series alone. */
const free: readonly (readonly [name: string, most: number])[] = [
  [development.requestModel, 50],
  [development.providerName, 50],
  [development.system, 50],
  [development.toolName, 100],
  [development.agentName, 50],
  [ours.mcpServer, 50],
  [ours.agentMode, 10],
  [stable.errorType, 24],
  [development.sessionId, Number.POSITIVE_INFINITY],
];

export const OTHER = 'other';
/** The conventions have a word of their own for errors. */
const otherOf = (name: string): string => (name === stable.errorType ? '_OTHER' : OTHER);

export interface Census {
  /** As many sets as there are free names. */
  values: readonly Set<string>[];
  series: number;
}

/** A histogram has one for each bucket, its sum and its count. */
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
  for (const [i, [name]] of free.entries()) {
    const value = attributes[name];
    if (value !== undefined) census.values[i]?.add(value);
  }
}

/** The attributes under which a new series is let in, and what there was too much of. */
export function bounded(
  census: Census,
  metric: MetricId,
  given: Plain,
  most: number,
): { attributes: Plain; over: readonly string[] } {
  let attributes = given;
  const over: string[] = [];
  const isFull = census.series + seriesOf(metric) > most - RESERVE;
  for (const [i, [name, mostValues]] of free.entries()) {
    const value = given[name];
    const values = census.values[i];
    const other = otherOf(name);
    if (value === undefined || value === other || values === undefined) continue;
    if (!isFull && (values.has(value) || values.size < mostValues)) continue;
    attributes = { ...attributes, [name]: other };
    over.push(isFull ? 'series' : name);
  }
  return { attributes, over: [...new Set(over)] };
}
