import { fieldsOf, isFields, text } from '../../lib/read.ts';
import type { Dialect } from '../contract/dialect.ts';
import { answered, answerOf, heardByCode, replyByCode, type ToolRows } from '../shared/dialect.ts';
import { oneToolDialect } from '../shared/one-tool-dialect.ts';

const rows: ToolRows = {
  execute_bash: { tool: 'shell', fields: { command: 'command', cwd: 'cwd' } },
  shell: { tool: 'shell', fields: { command: 'command' } },
  fs_write: { tool: 'file_write', fields: { path: 'path', content: 'content' } },
  write: { tool: 'file_write', fields: { path: 'path', content: 'content' } },
  str_replace: { tool: 'file_edit', fields: { path: 'path', old_text: 'oldStr', new_text: 'newStr' } },
  fs_read: { tool: 'file_read', fields: { path: 'path' } },
  read: { tool: 'file_read', fields: { path: 'path' } },
  grep: { tool: 'search', fields: { pattern: 'pattern', path: 'path' } },
  glob: { tool: 'find', fields: { pattern: 'pattern', path: 'path' } },
  web_search: { tool: 'web_search', fields: { query: 'query' } },
  web_fetch: { tool: 'web_fetch', fields: { url: 'url' } },
  use_subagent: { tool: 'agent', fields: { prompt: 'prompt' } },
};
const mcp = { before: '@', between: '/' };
const fields: Dialect['fields'] = {
  session_id: ['session_id'],
  cwd: ['cwd'],
  tool_output: ['tool_response'],
  prompt: ['prompt'],
  response: ['assistant_response'],
};

const events = {
  preToolUse: 'before_tool_execute',
  postToolUse: 'after_tool_execute',
  agentSpawn: 'session_start',
  userPromptSubmit: 'before_prompt',
  stop: 'agent_stop',
  PreToolUse: 'before_tool_execute',
  PostToolUse: 'after_tool_execute',
  SessionStart: 'session_start',
  UserPromptSubmit: 'before_prompt',
  Stop: 'agent_stop',
  PreTaskExec: 'before_task',
  PostTaskExec: 'after_task',
  PostFileCreate: 'file_created',
  PostFileSave: 'file_changed',
  PostFileDelete: 'file_deleted',
};
const form = oneToolDialect({ events, rows, mcp, fields });

export const dialect: Dialect = {
  slug: 'kiro',
  title: 'Kiro',
  ...form,
  rewritten: undefined,
  // A read of several places, and texts under older names.
  calls: payload =>
    form.calls(payload).flatMap(call => {
      const { operations, file_text: older, text: newer, ...rest } = call.input;
      if (call.tool === 'file_read' && Array.isArray(operations) && operations.length > 0)
        return operations.map(each => ({ ...call, input: { ...rest, ...fieldsOf(each) } }));
      const content = call.tool === 'file_write' ? (text(older) ?? text(newer)) : undefined;
      return [content === undefined ? call : { ...call, input: { ...rest, content } }];
    }),
  heard(ended, document) {
    const byCode = heardByCode(ended);
    if (byCode !== undefined) return byCode;
    const output = answerOf(ended.stdout);
    if (output === undefined) return answered({});
    if (document.event === 'agent_stop' && isFields(output) && output.decision === 'block')
      return answered({ decision: 'deny', reason: text(output.reason) });
    return answered(
      ['session_start', 'before_prompt'].includes(document.event) ? { context: ended.stdout.trim() } : {},
    );
  },
  takes: {
    before_tool_execute: ['deny', 'reason'],
    session_start: ['context'],
    userPromptSubmit: ['context'],
    UserPromptSubmit: ['deny', 'reason', 'context'],
    stop: ['deny', 'reason'],
    PreTaskExec: ['deny', 'reason'],
  },
  reply(verdict, { native }) {
    if (native === 'stop' && verdict.decision === 'deny')
      return { stdout: { decision: 'block', reason: verdict.reason } };
    return replyByCode(verdict);
  },
};
