import { type Pinning, withProblems } from '../problems/noted-problems.ts';
import type { Problem } from '../problems/problem.ts';
import { changeOf, type DocumentChange } from '../store/document.ts';
import type { Store } from '../store/store.ts';
import { documents } from './documents.ts';

/**
 * Returns the change that stores these problems for `status` and removes problems that later sessions do not have any
 * more.
 */
export function noted(
  store: Pick<Store, 'read'>,
  problems: readonly Problem[],
  nowMs: number,
  pinnings: readonly Pinning[] = [],
): DocumentChange[] {
  const known = store.read(documents.problems) ?? {};
  if (problems.length === 0 && (pinnings.length === 0 || Object.keys(known).length === 0)) return [];
  return [changeOf(documents.problems, withProblems(known, problems, nowMs, pinnings))];
}
