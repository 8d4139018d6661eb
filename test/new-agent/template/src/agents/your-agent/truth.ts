/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { derived, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: unknown('no tokens are counted'),
  cacheRead: unknown('no tokens are counted'),
  cacheWrite: unknown('no tokens are counted'),
  output: unknown('no tokens are counted'),
  reasoning: unknown('no tokens are counted'),
  cost: unknown('hooks state no price'),
  latency: unknown('no hook reports single responses'),
  decisions: unknown('no hook reports questions or answers'),
  subagents: derived('it has no subagents: every call is a call of the session'),
  context: unknown('not reported'),
};
