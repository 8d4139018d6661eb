/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('of a turn as a whole; not in headless runs, nor of turns that were stopped'),
  cacheRead: exact('of a turn as a whole, as above'),
  cacheWrite: exact('of a turn as a whole, as above'),
  output: exact('of a turn as a whole, as above'),
  reasoning: unknown('it does not count it'),
  cost: unknown('neither hooks nor transcripts name a price'),
  latency: unknown('no hook tells of single responses'),
  decisions: derived('that a call was refused is told, but not by whom; that a person was asked is not'),
  subagents: derived(
    'their beginning names the call; their end names kind and task alone, and their own hooks a conversation',
  ),
  context: exact('before a compaction; nothing in between'),
};
