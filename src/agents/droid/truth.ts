/** The knowledge about its sessions. Checked 2026-11-19 against the sources of the readers in this folder. */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('for the session as a whole, in the file beside its transcript'),
  cacheRead: exact('for the session as a whole, in the file beside its transcript'),
  cacheWrite: exact('for the session as a whole, in the file beside its transcript'),
  output: exact('for the session as a whole, in the file beside its transcript'),
  reasoning: exact('for the session as a whole, in the file beside its transcript'),
  cost: unknown('neither hooks nor files state a price'),
  latency: derived('from the row before the request to the row of the response'),
  decisions: derived(
    'the transcript quotes the message of Droid when its level of autonomy refused a call; the user is not named',
  ),
  subagents: exact('the file of a subagent names the session and the call that launched it'),
  context: unknown('a compaction is recorded without its size'),
};
