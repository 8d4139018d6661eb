/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('of the session as a whole, in the file beside its transcript'),
  cacheRead: exact('of the session as a whole, in the file beside its transcript'),
  cacheWrite: exact('of the session as a whole, in the file beside its transcript'),
  output: exact('of the session as a whole, in the file beside its transcript'),
  reasoning: exact('of the session as a whole, in the file beside its transcript'),
  cost: unknown('neither hooks nor files name a price'),
  latency: unknown('only one end of a response has a time'),
  decisions: unknown('no hook tells of questions or answers'),
  subagents: derived('from the call that launches one to its end; what it does between is told of the session'),
  context: unknown('a compaction is announced without its size'),
};
