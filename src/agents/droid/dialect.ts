import type { Dialect } from '../contract/dialect.ts';
import type { ToolRows } from '../shared/dialect.ts';
import { oneToolDialect } from '../shared/one-tool-dialect.ts';

const mcp = { before: '', between: '___' };
const rows: ToolRows = {
  Execute: { tool: 'shell', fields: { command: 'command' } },
  Read: { tool: 'file_read', fields: { path: 'file_path' } },
  Create: { tool: 'file_write', fields: { path: 'file_path', content: 'content' } },
  Edit: { tool: 'file_edit', fields: { path: 'file_path', old_text: 'old_str', new_text: 'new_str' } },
  Grep: { tool: 'search', fields: { pattern: 'pattern', path: 'path' } },
  Glob: { tool: 'find', fields: { pattern: 'patterns', path: 'folder' } },
  WebSearch: { tool: 'web_search', fields: { query: 'query' } },
  FetchUrl: { tool: 'web_fetch', fields: { url: 'url' } },
  Task: { tool: 'agent', fields: { prompt: 'prompt' } },
};

const events = {
  PreToolUse: 'before_tool_execute',
  PostToolUse: 'after_tool_execute',
  SessionStart: 'session_start',
  SessionEnd: 'session_end',
  UserPromptSubmit: 'before_prompt',
  Stop: 'agent_stop',
  PreCompact: 'before_compact',
  Notification: 'notification',
  SubagentStop: 'subagent_stop',
};

export const dialect: Dialect = {
  slug: 'factory-droid',
  aliases: ['droid'],
  title: 'Factory Droid',
  projectVariable: 'FACTORY_PROJECT_DIR',
  ...oneToolDialect({ events, rows, mcp }),
  takes: {
    // Where no person can answer, it lets an action pass that a hook asks about.
    before_tool_execute: ['deny', 'allow', 'reason', 'updated_input', 'continue', 'system_message'],
    after_tool_execute: ['deny', 'reason', 'context', 'continue', 'system_message'],
    session_start: ['context', 'continue', 'system_message'],
    before_prompt: ['deny', 'reason', 'context', 'continue', 'system_message'],
    agent_stop: ['deny', 'reason', 'continue', 'system_message'],
    subagent_stop: ['deny', 'reason', 'continue', 'system_message'],
  },
};
