/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('for each response'),
  cacheRead: exact('for each response'),
  cacheWrite: exact('for each response'),
  output: exact('for each response'),
  reasoning: exact('for each response'),
  cost: exact('for each response, as OpenCode computes it'),
  latency: exact('from the request to the end of its stream; of V1, the newest part of the stream'),
  decisions: exact(
    'question and answer are events; a call that succeeded without a question was allowed by the configuration',
  ),
  subagents: exact('a child session names its parent, and its call names the child'),
  context: unknown('a compaction is reported without its size'),
};
