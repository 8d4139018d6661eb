/** Problems that sessions and deliveries ran into, kept for `status`: each once, the newest last. */
import { fieldsOf, isFields } from '../lib/read.ts';
import type { Problem } from './problem.ts';

export interface NotedProblem {
  problem: Problem;
  count: number;
  firstMs: number;
  lastMs: number;
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

export function withProblems(known: NotedProblems, problems: readonly Problem[], nowMs: number): NotedProblems {
  const noted = new Map(Object.entries(known));
  for (const problem of problems) {
    const key = JSON.stringify(problem);
    const { count, firstMs } = noted.get(key) ?? { count: 0, firstMs: nowMs };
    noted.delete(key);
    noted.set(key, { problem, count: count + 1, firstMs, lastMs: nowMs });
  }
  return Object.fromEntries([...noted].slice(-MOST_PROBLEMS));
}
