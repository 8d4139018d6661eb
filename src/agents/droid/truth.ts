/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('for the session as a whole, in the file beside its transcript'),
  cacheRead: exact('for the session as a whole, in the file beside its transcript'),
  cacheWrite: exact('for the session as a whole, in the file beside its transcript'),
  output: exact('for the session as a whole, in the file beside its transcript'),
  reasoning: exact('for the session as a whole, in the file beside its transcript'),
  cost: unknown('neither hooks nor files state a price'),
  latency: unknown('only one end of a response has a time'),
  decisions: unknown('no hook reports questions or answers'),
  subagents: derived(
    'from the launching call to its end; the actions of a subagent are reported as actions of the session',
  ),
  context: unknown('a compaction is announced without its size'),
};
