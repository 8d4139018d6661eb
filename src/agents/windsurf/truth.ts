/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: unknown('it counts no tokens anywhere'),
  cacheRead: unknown('it counts no tokens anywhere'),
  cacheWrite: unknown('it counts no tokens anywhere'),
  output: unknown('it counts no tokens anywhere'),
  reasoning: unknown('it counts no tokens anywhere'),
  cost: unknown('neither hooks nor transcripts name a price'),
  latency: unknown('no hook tells of single responses'),
  decisions: unknown(
    'a call without an end was refused, cancelled or failed; only a transcript without hooks tells which',
  ),
  subagents: unknown('it tells of none'),
  context: unknown('it tells nothing of it'),
};
