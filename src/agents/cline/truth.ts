/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('of each response, in the files of its task'),
  cacheRead: exact('of each response, in the files of its task'),
  cacheWrite: exact('of each response, in the files of its task'),
  output: exact('of each response, in the files of its task'),
  reasoning: exact('of each response of the SDK, where its provider says so; the extension does not count it apart'),
  cost: exact('of each response, as it reckons itself'),
  latency: unknown('only one end of a response has a time'),
  decisions: unknown('no hook tells of questions or answers'),
  subagents: derived('the SDK names parent and child, but not the call: it is the open one'),
  context: exact('before a compaction of the extension: what the last request held'),
};
