/** Problems of sessions and deliveries, stored for `status`: each once, the newest last. */
import { fieldsOf, isFields } from '../lib/read.ts';
import type { Problem } from './problem.ts';

export interface NotedProblem {
  problem: Problem;
  count: number;
  firstMs: number;
  lastMs: number;
  /** A hash of the folder of the session whose configuration had the problem. */
  from?: string | undefined;
}

/** A session was pinned to its configuration, with these problems. */
export interface Pinning {
  from: string;
  problems: readonly Problem[];
}

/** By the JSON of the problem. */
export type NotedProblems = Readonly<Record<string, NotedProblem>>;

export const MOST_PROBLEMS = 64;

export const parseNoted = (value: unknown): NotedProblems | undefined =>
  isFields(value)
    ? Object.fromEntries(
        Object.entries(value).filter((entry): entry is [string, NotedProblem] => isFields(fieldsOf(entry[1]).problem)),
      )
    : undefined;

/** A problem of an earlier session is solved if a later session from the same folder does not have it. */
export function withProblems(
  known: NotedProblems,
  problems: readonly Problem[],
  nowMs: number,
  pinnings: readonly Pinning[] = [],
): NotedProblems {
  const noted = new Map(Object.entries(known));
  const places = new Map<string, string>();
  for (const { from, problems: found } of pinnings) {
    const keys = new Set(found.map(problem => JSON.stringify(problem)));
    for (const [key, each] of noted) if (each.from === from && !keys.has(key)) noted.delete(key);
    for (const key of keys) places.set(key, from);
  }
  for (const problem of problems) {
    const key = JSON.stringify(problem);
    const { count, firstMs } = noted.get(key) ?? { count: 0, firstMs: nowMs };
    noted.delete(key);
    const from = places.get(key);
    noted.set(key, { problem, count: count + 1, firstMs, lastMs: nowMs, ...(from === undefined ? {} : { from }) });
  }
  return Object.fromEntries([...noted].slice(-MOST_PROBLEMS));
}
