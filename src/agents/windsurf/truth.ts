/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: unknown('no tokens are counted'),
  cacheRead: unknown('no tokens are counted'),
  cacheWrite: unknown('no tokens are counted'),
  output: unknown('no tokens are counted'),
  reasoning: unknown('no tokens are counted'),
  cost: unknown('neither hooks nor transcripts state a price'),
  latency: unknown('no hook reports single responses'),
  decisions: unknown(
    'a call without an end was refused, cancelled or failed; only the transcript of a session without hooks reports a refusal by a user',
  ),
  subagents: unknown('none are reported'),
  context: unknown('not reported'),
};
