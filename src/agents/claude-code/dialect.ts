import type { Dialect } from '../contract/dialect.ts';
import {
  heardInJson,
  jsonReply,
  nativeEvent,
  oneCall,
  plainFields,
  rewrittenInput,
  type ToolRows,
  toolPayload,
} from '../shared/dialect.ts';

export const rows: ToolRows = {
  Bash: { tool: 'shell', fields: { command: 'command' } },
  Read: { tool: 'file_read', fields: { path: 'file_path' } },
  Write: { tool: 'file_write', fields: { path: 'file_path', content: 'content' } },
  Edit: { tool: 'file_edit', fields: { path: 'file_path', old_text: 'old_string', new_text: 'new_string' } },
  Grep: { tool: 'search', fields: { pattern: 'pattern', path: 'path' } },
  Glob: { tool: 'find', fields: { pattern: 'pattern', path: 'path' } },
  WebSearch: { tool: 'web_search', fields: { query: 'query' } },
  WebFetch: { tool: 'web_fetch', fields: { url: 'url' } },
  Agent: { tool: 'agent', fields: { prompt: 'prompt' } },
  Task: { tool: 'agent', fields: { prompt: 'prompt' } },
};
export const mcp = { before: 'mcp__', between: '__' };

/** The fields of Claude Code's payloads, which other agents took over. */
export const fields: Dialect['fields'] = {
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

export const dialect: Dialect = {
  slug: 'claude-code',
  title: 'Claude Code',
  projectVariable: 'CLAUDE_PROJECT_DIR',
  events: {
    PreToolUse: 'before_tool_execute',
    PostToolUse: 'after_tool_execute',
    PostToolUseFailure: 'tool_use_failure',
    SessionStart: 'session_start',
    SessionEnd: 'session_end',
    UserPromptSubmit: 'before_prompt',
    Stop: 'agent_stop',
    PreCompact: 'before_compact',
    Notification: 'notification',
    StopFailure: 'error_occurred',
    SubagentStart: 'subagent_start',
    SubagentStop: 'subagent_stop',
    PermissionRequest: 'permission_request',
    ConfigChange: 'config_change',
  },
  eventFields: ['hook_event_name'],
  fields,
  calls: payload => oneCall(payload, rows, mcp, ['tool_name', 'tool_input']),
  rewritten: (payload, _native, [input]) => claudeInput(payload, input, rows),
  payload: document => ({
    ...plainFields(document, fields),
    hook_event_name: nativeEvent(document, dialect.events),
    ...toolPayload(document, rows, mcp, ['tool_name', 'tool_input']),
  }),
  heard: (ended, document) => heardInJson(ended, document, rows),
  takes: {
    before_tool_execute: ['deny', 'ask', 'allow', 'reason', 'context', 'updated_input', 'continue', 'system_message'],
    after_tool_execute: ['deny', 'reason', 'context', 'continue', 'system_message'],
    tool_use_failure: ['context', 'system_message'],
    session_start: ['context', 'continue', 'system_message'],
    before_prompt: ['deny', 'reason', 'context', 'continue', 'system_message'],
    agent_stop: ['deny', 'reason', 'continue', 'system_message'],
    subagent_start: ['context', 'system_message'],
    subagent_stop: ['deny', 'reason', 'continue', 'system_message'],
    permission_request: ['deny', 'allow', 'reason', 'updated_input'],
    before_compact: ['deny', 'reason', 'system_message'],
    config_change: ['deny', 'reason', 'system_message'],
  },
  reply: jsonReply,
};

import type { Fields } from '../../event/event.ts';

/** The whole input of a call, in payloads with `tool_name` and `tool_input`. */
export const claudeInput = (payload: Fields, input: Fields | undefined, table: ToolRows): Fields | undefined =>
  input === undefined
    ? undefined
    : rewrittenInput(String(payload.tool_name), (payload.tool_input ?? {}) as Fields, input, table);
