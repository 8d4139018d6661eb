/** The result of a check. */
import { explain, isNote, type Problem } from '../problems/problem.ts';

export type Check = 'program' | 'configuration' | 'folders' | 'agents' | 'hook' | 'delivery' | 'endpoint' | 'read back';

/** `unknown`: the check could not decide, which is not an error of the setup. */
export type Finding = { check: Check; of?: string | undefined } & (
  | { state: 'fine' | 'unknown'; says: string; next?: string | undefined }
  | { state: 'problem'; problem: Problem; mend?: Mend | undefined }
);

/** The repair of `--fix`. */
export interface Mend {
  /** The changes as text. Several repairs can make the same change. */
  diffs: readonly string[];
  /** Applies the repair and returns the error, if there is one. */
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

/** Returns the sentence and the next step of a finding in any state. */
export function wordsOfFinding(finding: Finding): { says: string; next?: string | undefined } {
  if (finding.state !== 'problem') return { says: finding.says, next: finding.next };
  const { what, next } = explain(finding.problem);
  return { says: what, next };
}
