import type { Dialect } from '../contract/dialect.ts';
import type { ToolRows } from '../shared/dialect.ts';
import { oneToolDialect } from '../shared/one-tool-dialect.ts';

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

const events = {
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
};

export const dialect: Dialect = {
  slug: 'claude-code',
  title: 'Claude Code',
  projectVariable: 'CLAUDE_PROJECT_DIR',
  ...oneToolDialect({ events, rows, mcp }),
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
};
