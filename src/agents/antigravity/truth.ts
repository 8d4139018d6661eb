/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: unknown('it counts no tokens anywhere'),
  cacheRead: unknown('it counts no tokens anywhere'),
  cacheWrite: unknown('it counts no tokens anywhere'),
  output: unknown('it counts no tokens anywhere'),
  reasoning: unknown('it counts no tokens anywhere'),
  cost: unknown('neither hooks nor transcripts name a price'),
  latency: unknown('a response has one time, in whole seconds'),
  decisions: unknown('no hook and no row tells of them'),
  subagents: derived('a subagent is a conversation of its own; the call that launches it names it'),
  context: unknown('it tells nothing of it'),
};
