import { withProblems } from '../problems/noted-problems.ts';
import type { Problem } from '../problems/problem.ts';
import { changeOf, type DocumentChange } from '../store/document.ts';
import type { Store } from '../store/store.ts';
import { documents } from './documents.ts';

/** The change that notes these problems for `status`. */
export function noted(store: Pick<Store, 'read'>, problems: readonly Problem[], nowMs: number): DocumentChange[] {
  if (problems.length === 0) return [];
  return [changeOf(documents.problems, withProblems(store.read(documents.problems) ?? {}, problems, nowMs))];
}
