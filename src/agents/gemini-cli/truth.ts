/** The knowledge about its sessions. Checked 2026-11-19 against the sources of the readers in this folder. */
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
    'hooks report questions, but not their answers; the chat quotes the refusal by a policy (`config`) and marks a call that a person cancelled',
  ),
  subagents: exact('the chat names the chat of the subagent that a call launched'),
  context: unknown('a compression is reported without its size'),
};
