/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { derived, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: unknown('no tokens are counted'),
  cacheRead: unknown('no tokens are counted'),
  cacheWrite: unknown('no tokens are counted'),
  output: unknown('no tokens are counted'),
  reasoning: unknown('no tokens are counted'),
  cost: unknown('neither hooks nor transcripts state a price'),
  latency: unknown('a response has one time, in whole seconds'),
  decisions: unknown('neither hooks nor rows report them'),
  subagents: derived('a subagent is a separate conversation, and the call that launches it has its id'),
  context: unknown('not reported'),
};
