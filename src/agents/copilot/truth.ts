/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact(
    'for each model when the program ends, and for each compaction; the chat agent of VS Code counts nothing',
  ),
  cacheRead: exact('for each model when the program ends, and for each compaction'),
  cacheWrite: exact('for each model when the program ends, and for each compaction'),
  output: exact('for each response'),
  reasoning: exact('for each model when the program ends'),
  cost: unknown('it counts units of its own, which are no currency'),
  latency: derived('from the row that a response answers to the response'),
  decisions: derived(
    'hooks report questions; the event log reports refusals by rules (`config`), by a content policy (`policy`), by a user, and where no user could be asked (`mode`); a call that ran was allowed, but by an unknown source, because rules apply before a user is asked; in a session with hooks, a refusal by a user is concluded when nothing follows a question',
  ),
  subagents: derived(
    'the event log names the call; hooks carry no ids, so in a session with hooks the call is found by kind and time',
  ),
  context: exact('before and after a compaction, and at no other time'),
};
