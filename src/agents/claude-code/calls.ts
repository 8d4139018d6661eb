/** Calls of a transcript and their results. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, text, word } from '../../lib/read.ts';
import type { TranscriptEntry } from '../contract/contract.ts';
import { decisionIn, isInterruption } from './decisions.ts';
import { editsIn } from './edits.ts';
import { optionsOf } from './options.ts';
import { ended, entryAt, isInterrupt, type Place } from './place.ts';
import { actionName, launchedBy, toolFacts } from './tools.ts';

export function calls(block: Fields, call: string, at: Place): TranscriptEntry[] {
  const fields = { tool_name: text(block.name) ?? 'unknown', tool_input: fieldsOf(block.input) };
  at.memory.remember('calls', call, fields.tool_name);
  if (at.turn !== undefined) at.memory.remember('turns', call, at.turn);
  const kind = launchedBy(fields);
  return [
    entryAt(at, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: actionName(fields), input: fields.tool_input } },
      facts: { ...toolFacts(fields), call, options: optionsOf(fields), launches: kind },
    }),
    ...(fields.tool_name === 'EnterPlanMode'
      ? [
          entryAt(at, {
            event_type: 'Agent.Plan.Start',
            key: call,
            data: { plan_type: 'plan' },
          }),
        ]
      : []),
  ];
}

export function result(block: Fields, call: string, row: Fields, place: Place): TranscriptEntry[] {
  const at = isLost(block) ? beforeRestart(call, place) : place;
  const tool = at.memory.recall('calls', call) ?? 'unknown';
  at.memory.forget('calls', call);
  at.memory.forget('turns', call);
  const fields = { tool_name: tool };
  const response = fieldsOf(row.toolUseResult);
  const failure = block.is_error === true;
  const message = failure ? resultText(block) : '';
  const exitCode = failure ? /^(?:Error: )?Exit code (\d{1,3})\b/.exec(message)?.[1] : undefined;
  const stated = decisionIn(row);
  const isDenied = stated?.outcome === 'deny';
  const interrupted = !isDenied && (response.interrupted === true || isInterrupt(message) || isInterruption(row));
  const subagent = word(response.agentId);
  const entries: TranscriptEntry[] = [
    ...(stated === undefined
      ? []
      : [
          entryAt(at, {
            event_type: 'Agent.Decision',
            key: `decision:${call}`,
            data: { decision: { outcome: stated.outcome }, action_name: actionName(fields) },
            actor: stated.origin.source === 'user' ? 'user' : 'system',
            facts: { ...toolFacts(fields), call, decision: stated.origin },
          }),
        ]),
    entryAt(at, {
      event_type: 'Action.After',
      key: call,
      data: {
        action: {
          name: actionName(fields),
          result: isDenied
            ? undefined
            : { success: !failure, exit_code: exitCode === undefined ? undefined : Number(exitCode) },
        },
        decision: stated && { outcome: stated.outcome },
      },
      output: block.content,
      edits: failure ? undefined : editsIn(tool, response),
      facts: {
        ...toolFacts(fields),
        call,
        interrupted: interrupted || undefined,
        error_type: failure && !isDenied ? errorTypeOf(interrupted, exitCode) : undefined,
        decision: stated?.origin,
        launches: subagent === undefined ? undefined : { id: subagent, agent: word(response.agentType) },
      },
    }),
  ];
  if (tool === 'ExitPlanMode' && !failure) {
    entries.push(entryAt(at, { event_type: 'Agent.Plan.End', key: call, data: { plan_type: 'plan' } }));
  }
  // The call waited for its subagent, so its result proves that the subagent is over, even if its file has no end.
  if (subagent !== undefined && response.status === 'completed') {
    entries.push(ended(at, subagent), { over: 'subagent', id: subagent, atMs: at.atMs });
  }
  return entries;
}

/** The process ended during the call. A later run of the program writes the missing result into its own first turn. */
const isLost = (block: Fields): boolean =>
  block.is_error === true && resultText(block).startsWith('[Tool call interrupted');

/** Returns the place of a lost call: its own turn, at the time of the last row of that turn. */
const beforeRestart = (call: string, at: Place): Place => ({
  ...at,
  turn: at.memory.recall('turns', call) ?? at.turn,
  atMs: Number(at.memory.recall('place', 'last') ?? at.atMs),
});

const errorTypeOf = (interrupted: boolean, exitCode: string | undefined): string =>
  interrupted ? 'interrupted' : exitCode === undefined ? 'tool_error' : 'exit_code';

function resultText(block: Fields): string {
  if (typeof block.content === 'string') return block.content;
  const [first] = Array.isArray(block.content) ? block.content : [];
  return text(fieldsOf(first).text) ?? '';
}
