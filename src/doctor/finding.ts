/** What a check found, as data. */
import { explain, isNote, type Problem } from '../problems/problem.ts';

export type Check = 'program' | 'configuration' | 'folders' | 'agents' | 'hook' | 'delivery' | 'endpoint' | 'read back';

/** `unknown`: it could not be found out, which is no fault of the set-up. */
export type Finding = { check: Check; of?: string | undefined } & (
  | { state: 'fine' | 'unknown'; says: string; next?: string | undefined }
  | { state: 'problem'; problem: Problem; mend?: Mend | undefined }
);

/** What `--fix` does about it. */
export interface Mend {
  /** What would change, for a person to read; several may change the same. */
  diffs: readonly string[];
  /** What went wrong, if anything. */
  apply(): Problem | undefined;
}

export const fine = (check: Check, of: string | undefined, says: string): Finding => ({
  check,
  of,
  state: 'fine',
  says,
});
export const unknown = (check: Check, of: string | undefined, says: string, next?: string): Finding => ({
  check,
  of,
  state: 'unknown',
  says,
  next,
});
export function problem(check: Check, of: string | undefined, found: Problem, mend?: Mend): Finding {
  const { what, next } = explain(found);
  return isNote(found) ? unknown(check, of, what, next) : { check, of, state: 'problem', problem: found, mend };
}

/** The sentence and the next step, whatever the state. */
export function wordsOfFinding(finding: Finding): { says: string; next?: string | undefined } {
  if (finding.state !== 'problem') return { says: finding.says, next: finding.next };
  const { what, next } = explain(finding.problem);
  return { says: what, next };
}
