/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('for a turn as a whole; not in headless runs and not for stopped turns'),
  cacheRead: exact('for a turn as a whole, as above'),
  cacheWrite: exact('for a turn as a whole, as above'),
  output: exact('for a turn as a whole, as above'),
  reasoning: unknown('not counted'),
  cost: unknown('neither hooks nor transcripts state a price'),
  latency: unknown('no hook reports single responses'),
  decisions: derived(
    'hooks report that a call was refused, but not the source of the refusal, and they report no questions; a call that ran in the sandbox was allowed by the sandbox',
  ),
  subagents: derived(
    'their start names the call; their end names kind and task only, and their own hooks name a conversation',
  ),
  context: exact('only before a compaction'),
};
