/** Calls of a transcript and their results. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, own, text, word } from '../../lib/read.ts';
import type { TranscriptEntry } from '../contract/contract.ts';
import { ended, entryAt, isInterrupt, type Place } from './place.ts';
import { actionName, launchedBy, toolFacts } from './tools.ts';

export function calls(block: Fields, call: string, at: Place): TranscriptEntry[] {
  const fields = { tool_name: text(block.name) ?? 'unknown', tool_input: fieldsOf(block.input) };
  at.memory.remember('calls', call, fields.tool_name);
  const kind = launchedBy(fields);
  return [
    entryAt(at, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: actionName(fields), input: fields.tool_input } },
      facts: { ...toolFacts(fields), call, launches: kind },
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

const denials: Readonly<Record<string, 'user' | 'classifier'>> = {
  'user-rejected': 'user',
  'automode-unavailable': 'classifier',
};

export function result(block: Fields, call: string, row: Fields, at: Place): TranscriptEntry[] {
  const tool = at.memory.recall('calls', call) ?? 'unknown';
  at.memory.forget('calls', call);
  const fields = { tool_name: tool };
  const response = fieldsOf(row.toolUseResult);
  const failure = block.is_error === true;
  const message = failure ? resultText(block) : '';
  const exitCode = failure ? /^(?:Error: )?Exit code (\d{1,3})\b/.exec(message)?.[1] : undefined;
  const denial =
    word(row.toolDenialKind) ?? (row.toolUseResult === 'User rejected tool use' ? 'user-rejected' : undefined);
  const interrupted = denial === undefined && (response.interrupted === true || isInterrupt(message));
  const subagent = word(response.agentId);
  const entries: TranscriptEntry[] = [
    entryAt(at, {
      event_type: 'Action.After',
      key: call,
      data: {
        action: {
          name: actionName(fields),
          result:
            denial === undefined
              ? { success: !failure, exit_code: exitCode === undefined ? undefined : Number(exitCode) }
              : undefined,
        },
        decision: denial === undefined ? undefined : { outcome: 'deny' },
      },
      output: block.content,
      facts: {
        ...toolFacts(fields),
        call,
        interrupted: interrupted || undefined,
        error_type: failure && denial === undefined ? errorTypeOf(interrupted, exitCode) : undefined,
        decision: denial === undefined ? undefined : { source: own(denials, denial) ?? 'unknown', basis: 'observed' },
        launches: subagent === undefined ? undefined : { id: subagent, agent: word(response.agentType) },
      },
    }),
  ];
  if (tool === 'ExitPlanMode' && !failure) {
    entries.push(entryAt(at, { event_type: 'Agent.Plan.End', key: call, data: { plan_type: 'plan' } }));
  }
  // The result of a call that waited for its subagent proves that the subagent is over, whatever its own file shows.
  if (subagent !== undefined && response.status === 'completed') {
    entries.push(ended(at, subagent), { over: 'subagent', id: subagent, atMs: at.atMs });
  }
  return entries;
}

const errorTypeOf = (interrupted: boolean, exitCode: string | undefined): string =>
  interrupted ? 'interrupted' : exitCode === undefined ? 'tool_error' : 'exit_code';

function resultText(block: Fields): string {
  if (typeof block.content === 'string') return block.content;
  const [first] = Array.isArray(block.content) ? block.content : [];
  return text(fieldsOf(first).text) ?? '';
}
