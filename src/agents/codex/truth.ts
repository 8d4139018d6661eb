/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('what a response adds to the total of its thread'),
  cacheRead: exact('what a response adds to the total of its thread'),
  cacheWrite: exact('where its version counts them'),
  output: exact('what a response adds to the total of its thread'),
  reasoning: exact('what a response adds to the total of its thread'),
  cost: unknown('its rollouts name no price'),
  latency: derived('from the row that a response answers to the count of its tokens'),
  decisions: derived('a question is told, a refusal stands in the rollout; what ran after a question was allowed'),
  subagents: exact('a thread names the one that spawned it'),
  context: exact('with each count of tokens: what is used, and the size of the window'),
};
