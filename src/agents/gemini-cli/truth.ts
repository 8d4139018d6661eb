/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('of each answer, in its chat'),
  cacheRead: exact('of each answer, in its chat'),
  cacheWrite: unknown('it does not count them'),
  output: exact('of each answer, in its chat'),
  reasoning: exact('of each answer, in its chat'),
  cost: unknown('its chats name no price'),
  latency: derived('from the message that an answer follows to the answer'),
  decisions: derived(
    'that a dialog opens is told, its answer is not; a call without an end was refused, cancelled or blocked',
  ),
  subagents: derived('each has a chat of its own; beside hooks its call is found by kind and time'),
  context: unknown('that it is compressed is told, but not by how much'),
};
