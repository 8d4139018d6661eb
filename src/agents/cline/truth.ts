/** The knowledge about its sessions. Checked 2026-11-18 against the sources of the readers in this folder. */
import { derived, exact, type Truth } from '../shared/truth.ts';

export const truth: Truth = {
  input: exact('for each response, in the files of its task'),
  cacheRead: exact('for each response, in the files of its task'),
  cacheWrite: exact('for each response, in the files of its task'),
  output: exact('for each response, in the files of its task'),
  reasoning: exact(
    'for each response of the SDK, if its provider states it; the extension does not count it separately',
  ),
  cost: exact('for each response, as Cline computes it'),
  latency: derived('from the message before a response to the response; only one end has a time in the extension'),
  decisions: derived(
    'no hook reports questions or answers; the CLI says that it refused a call because no person was there',
  ),
  subagents: derived('the SDK names parent and child, but not the call: the open call is taken'),
  context: exact('before a compaction of the extension: the size of the last request'),
};
