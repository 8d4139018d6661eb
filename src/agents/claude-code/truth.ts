/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, exact, type Truth } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('of each response, in its transcript'),
  cacheRead: exact('of each response, in its transcript'),
  cacheWrite: exact('of each response, in its transcript, those that last an hour apart'),
  output: exact('of each response, in its transcript'),
  reasoning: exact('of each response, where its version writes it down'),
  cost: exact('of the session so far, where what its status line is given is handed on; transcripts name no price'),
  latency: derived('from the row that a response answers to its own last one'),
  decisions: derived('refusals are told; a call that a person was asked about and that ran was allowed'),
  subagents: exact('hooks and transcripts carry their ids, and the launching call names them'),
  context: exact('before and after a compaction; at any time, where what its status line is given is handed on'),
};
