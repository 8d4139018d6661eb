import { fieldsOf } from '../../lib/read.ts';
import type { Dialect } from '../contract/dialect.ts';
import { oneCall, plainFields, rewrittenInput, type ToolRows, toolPayload, updatedInput } from '../shared/dialect.ts';
import { heardAsFormat } from '../shared/format-answers.ts';

const rows: ToolRows = {
  bash: { tool: 'shell', fields: { command: 'command' } },
  read: { tool: 'file_read', fields: { path: 'filePath' } },
  write: { tool: 'file_write', fields: { path: 'filePath', content: 'content' } },
  edit: { tool: 'file_edit', fields: { path: 'filePath', old_text: 'oldString', new_text: 'newString' } },
  grep: { tool: 'search', fields: { pattern: 'pattern', path: 'path' } },
  glob: { tool: 'find', fields: { pattern: 'pattern', path: 'path' } },
  websearch: { tool: 'web_search', fields: { query: 'query' } },
  webfetch: { tool: 'web_fetch', fields: { url: 'url' } },
  task: { tool: 'agent', fields: { prompt: 'prompt' } },
};
const mcp = { before: '', between: '_' };
const fields: Dialect['fields'] = {
  session_id: ['sessionID'],
  cwd: ['directory'],
  tool_use_id: ['callID'],
  tool_output: ['tool_output'],
};

/** The payloads and answers of the plugin that `convert` writes: OpenCode itself calls functions. */
export const dialect: Dialect = {
  slug: 'opencode',
  title: 'OpenCode',
  events: {
    'tool.execute.before': 'before_tool_execute',
    'tool.execute.after': 'after_tool_execute',
    'session.created': 'session_start',
    'session.deleted': 'session_end',
    'session.idle': 'agent_stop',
    'session.error': 'error_occurred',
    'permission.asked': 'permission_request',
    'experimental.session.compacting': 'before_compact',
    'file.edited': 'file_changed',
  },
  eventFields: ['hook_event_name'],
  fields,
  calls: payload => oneCall(payload, rows, mcp, ['tool', 'tool_input']),
  rewritten: (payload, _native, [input]) =>
    input && rewrittenInput(String(payload.tool), fieldsOf(payload.tool_input), input, rows),
  payload: document => ({
    hook_event_name:
      Object.keys(dialect.events).find(name => dialect.events[name] === document.event) ?? document.native_event,
    ...plainFields(document, fields),
    ...toolPayload(document, rows, mcp, ['tool', 'tool_input']),
  }),
  heard(ended, document) {
    const heard = heardAsFormat(ended);
    if (heard.kind !== 'answer') return heard;
    const changes = updatedInput(heard.answer.updated_input, document, rows);
    // Its changes are merged into the arguments.
    return changes === undefined
      ? heard
      : { ...heard, answer: { ...heard.answer, updated_input: { ...document.tool_input, ...changes } } };
  },
  takes: {
    before_tool_execute: ['deny', 'reason', 'updated_input'],
  },
  reply({ decision, reason, updatedInput: input }) {
    if (decision === 'deny') return { stdout: { decision, reason: reason ?? 'A hook denied this.' } };
    return input === undefined ? {} : { stdout: { updated_input: input } };
  },
};
