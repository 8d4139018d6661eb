/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact(
    'of a turn as a whole, in the card of a CLI 2.x session; most cards have none, and later sessions count no tokens',
  ),
  cacheRead: unknown('it does not count them'),
  cacheWrite: unknown('it does not count them'),
  output: exact(
    'of a turn as a whole, in the card of a CLI 2.x session; most cards have none, and later sessions count no tokens',
  ),
  reasoning: unknown('it does not count it'),
  cost: unknown('it counts in credits, which are told as they are and are no money'),
  latency: unknown('no session file tells of a request'),
  decisions: unknown('no hook and no session file tells of them'),
  subagents: unknown('that one is called is told, not what it does'),
  context: exact('at the end of each turn, in per cent'),
};
