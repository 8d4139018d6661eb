/**
 * What is known of its sessions, and how well. Checked 2026-11-18 against what the readers beside it were checked
 * against.
 */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact("for each model when the program ends, and of each compaction; VS Code's own chat agent counts nothing"),
  cacheRead: exact('for each model when the program ends, and of each compaction'),
  cacheWrite: exact('for each model when the program ends, and of each compaction'),
  output: exact('of each response'),
  reasoning: exact('for each model when the program ends'),
  cost: unknown('it counts in units of its own, which are no money'),
  latency: derived('from the row that a response answers to the response'),
  decisions: derived(
    "a refusal by a rule is told; beside hooks, a person's is concluded when nothing follows a question",
  ),
  subagents: derived('the event log names the call; beside hooks, which have no ids, it is found by kind and time'),
  context: exact('before and after a compaction; nothing in between'),
};
