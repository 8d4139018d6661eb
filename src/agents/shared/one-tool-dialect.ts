/** The dialect of agents whose payload names one tool and its input, as Claude Code's does, and reads JSON as answers. */
import { fieldsOf } from '../../lib/read.ts';
import type { Dialect } from '../contract/dialect.ts';
import {
  heardInJson,
  jsonReply,
  type McpName,
  nativeEvent,
  oneCall,
  plainFields,
  rewrittenInput,
  type ToolRows,
  toolPayload,
} from './dialect.ts';

/** The plain fields of Claude Code's payloads, which other agents took over. */
export const claudeFields: Dialect['fields'] = {
  session_id: ['session_id'],
  cwd: ['cwd'],
  transcript_path: ['transcript_path'],
  tool_use_id: ['tool_use_id'],
  tool_output: ['tool_response'],
  error: ['error'],
  prompt: ['prompt'],
  response: ['last_assistant_message'],
  message: ['message'],
  cause: ['source', 'reason', 'trigger'],
  stop_hook_active: ['stop_hook_active'],
  subagent_id: ['agent_id'],
  subagent_type: ['agent_type'],
};

interface Tables {
  readonly events: Dialect['events'];
  readonly rows: ToolRows;
  readonly mcp: McpName;
  readonly fields?: Dialect['fields'];
  /** The fields of the tool and of its input. */
  readonly keys?: readonly [string, string];
}

export function oneToolDialect({
  events,
  rows,
  mcp,
  fields = claudeFields,
  keys = ['tool_name', 'tool_input'],
}: Tables) {
  const [name, input] = keys;
  return {
    events,
    eventFields: ['hook_event_name'],
    fields,
    calls: payload => oneCall(payload, rows, mcp, keys),
    rewritten: (payload, _native, [changed]) =>
      changed && rewrittenInput(String(payload[name]), fieldsOf(payload[input]), changed, rows),
    payload: document => ({
      ...plainFields(document, fields),
      hook_event_name: nativeEvent(document, events),
      ...toolPayload(document, rows, mcp, keys),
    }),
    heard: (ended, document) => heardInJson(ended, document, rows),
    reply: jsonReply,
  } satisfies Partial<Dialect>;
}
