/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('in its chat, for each answer'),
  cacheRead: exact('in its chat, for each answer'),
  cacheWrite: unknown('not counted'),
  output: exact('in its chat, for each answer'),
  reasoning: exact('in its chat, for each answer'),
  cost: unknown('its chats state no price'),
  latency: derived('from the message before an answer to the answer'),
  decisions: derived(
    'hooks report questions, but not their answers; a call that ran after a question was allowed by the user; a call without an end was refused, cancelled or blocked',
  ),
  subagents: derived('each has a chat of its own; in a session with hooks, its call is found by kind and time'),
  context: unknown('a compression is reported without its size'),
};
