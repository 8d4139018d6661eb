/** The knowledge about its sessions. Checked 2026-11-19 against the sources of the readers in this folder. */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact(
    'for each response; before 1.0.102 for each model when the program ends; the chat agent of VS Code counts nothing',
  ),
  cacheRead: exact('for each response; before 1.0.102 for each model when the program ends'),
  cacheWrite: exact('for each response; before 1.0.102 for each model when the program ends'),
  output: exact('for each response'),
  reasoning: exact('for each response; before 1.0.102 for each model when the program ends'),
  cost: unknown('it counts its own units, which are not a currency'),
  latency: exact('the duration of each request; before 1.0.102 from the row that a response answers to the response'),
  decisions: derived(
    'the event log reports questions, and refusals by rules (`config`), by a content policy (`policy`), by a user, and where no user could be asked (`mode`); a call that ran was allowed, but by an unknown source, because rules apply before a user is asked',
  ),
  subagents: exact('the event log names the call that launched it'),
  context: exact('before and after a compaction, and only then'),
};
