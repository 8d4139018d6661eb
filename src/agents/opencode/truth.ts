/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('of each response'),
  cacheRead: exact('of each response'),
  cacheWrite: exact('of each response'),
  output: exact('of each response'),
  reasoning: exact('of each response'),
  cost: exact('of each response, as it reckons itself'),
  latency: exact(
    'in V2, from the request to the end of its stream; V1 tells no more than when a message and its calls were done',
  ),
  decisions: exact('question and answer are events'),
  subagents: exact('a child session names its parent, and the call of it names the child'),
  context: unknown('that it is compacted is told, but not by how much'),
};
