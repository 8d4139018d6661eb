/** The knowledge about its sessions. Checked 2026-11-19 against the sources of the readers in this folder. */
import { derived, exact, type Truth } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('in its transcript, for each response'),
  cacheRead: exact('in its transcript, for each response'),
  cacheWrite: exact('in its transcript, for each response; writes for an hour apart'),
  output: exact('in its transcript, for each response'),
  reasoning: exact('for each response, in versions that write it'),
  cost: exact(
    'since 2.1.327 for each model, in its transcript, when a run ends; the sum of the session so far, with `enable --status-line`',
  ),
  latency: derived('from the row that a response answers to the last row of the response'),
  decisions: exact(
    'since 2.1.327 the transcript states each decision with its source, kind of reason and settings; in older versions hooks report questions and refusals by its classifier, the transcript reports refusals by a user, and a call that ran after a question was allowed by the user, any other call by the mode (`bypassPermissions`, `auto`, and `acceptEdits` for edits) or by the configuration',
  ),
  subagents: exact('hooks and transcripts carry their ids, and the launching call names them'),
  context: exact('before and after a compaction; at any time with `enable --status-line`'),
};
