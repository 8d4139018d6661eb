/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact(
    'for a turn as a whole, in the card of a CLI 2.x session; most cards have no count, and later sessions count no tokens',
  ),
  cacheRead: unknown('not counted'),
  cacheWrite: unknown('not counted'),
  output: exact(
    'for a turn as a whole, in the card of a CLI 2.x session; most cards have no count, and later sessions count no tokens',
  ),
  reasoning: unknown('not counted'),
  cost: unknown('it counts credits, which are reported unchanged and are not a currency'),
  latency: unknown('no session file reports a request'),
  decisions: unknown('neither hooks nor session files report them'),
  subagents: unknown('their launch is reported, but not their actions'),
  context: exact('at the end of each turn, in per cent'),
};
