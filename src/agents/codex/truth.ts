/** The knowledge about its sessions. Checked 2026-11-19 against the sources of the readers in this folder. */
import { derived, exact, type Truth, unknown } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('the amount that a response adds to the total of its thread'),
  cacheRead: exact('the amount that a response adds to the total of its thread'),
  cacheWrite: exact('in versions that count it'),
  output: exact('the amount that a response adds to the total of its thread'),
  reasoning: exact('the amount that a response adds to the total of its thread'),
  cost: unknown('its rollouts state no price'),
  latency: derived('from the row that a response answers to the row with its tokens'),
  decisions: derived(
    'hooks report questions; the rollout reports refusals by a rule (`config`), a hook, the sandbox and the approval policy (`mode`); an interruption while the user is asked is a refusal; a call that ran after a question was allowed by the user, any other call by the mode (`bypassPermissions`) or by the configuration',
  ),
  subagents: exact('a thread names the thread that spawned it'),
  context: exact('with each count of tokens: the used tokens and the size of the window'),
};
