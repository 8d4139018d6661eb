import type { Dialect } from '../contract/dialect.ts';
import { type ToolRows, updatedInput } from '../shared/dialect.ts';
import { heardAsFormat } from '../shared/format-answers.ts';
import { oneToolDialect } from '../shared/one-tool-dialect.ts';

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

const events = {
  'tool.execute.before': 'before_tool_execute',
  'tool.execute.after': 'after_tool_execute',
  'session.created': 'session_start',
  'session.deleted': 'session_end',
  'session.idle': 'agent_stop',
  'session.error': 'error_occurred',
  'permission.asked': 'permission_request',
  'experimental.session.compacting': 'before_compact',
  'file.edited': 'file_changed',
};

/** The payloads and answers of the plugin that `convert` writes: OpenCode itself calls functions. */
export const dialect: Dialect = {
  slug: 'opencode',
  title: 'OpenCode',
  ...oneToolDialect({ events, rows, mcp, fields, keys: ['tool', 'tool_input'] }),
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
