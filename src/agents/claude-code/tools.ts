/**
 * The tools of Claude Code with their Agent Hooks names, and the facts of a call. Hooks and rows both have `tool_name`
 * and `tool_input`.
 */
import type { Facts, Fields } from '../../event/event.ts';
import { fieldsOf, own, text, word } from '../../lib/read.ts';

/**
 * Built-in tools with their Agent Hooks names: one of the five standard names if it fits, otherwise the tool's own name
 * in snake case.
 */
export const actions = {
  Agent: 'agent',
  AskUserQuestion: 'ask_user_question',
  Bash: 'shell',
  Edit: 'code_edit',
  EnterPlanMode: 'enter_plan_mode',
  ExitPlanMode: 'exit_plan_mode',
  Glob: 'glob',
  Grep: 'grep',
  LSP: 'lsp',
  Monitor: 'monitor',
  MultiEdit: 'code_edit',
  NotebookEdit: 'code_edit',
  PowerShell: 'shell',
  Read: 'read_file',
  REPL: 'repl',
  SendMessage: 'send_message',
  Skill: 'skill',
  Task: 'agent',
  TaskCreate: 'task_create',
  TaskGet: 'task_get',
  TaskList: 'task_list',
  TaskOutput: 'task_output',
  TaskStop: 'task_stop',
  TaskUpdate: 'task_update',
  TodoWrite: 'todo_write',
  ToolSearch: 'tool_search',
  WebFetch: 'web_search',
  WebSearch: 'web_search',
  Workflow: 'workflow',
  Write: 'write_file',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

const MCP = /^mcp__(.+?)__(.+)$/s;

export function actionName(fields: Fields): string {
  const tool = text(fields.tool_name) ?? 'unknown';
  const mcp = MCP.exec(tool);
  if (mcp) return `mcp:${mcp[2]}`;
  return own(actionNames, tool) ?? tool;
}

export function toolFacts(fields: Fields): Pick<Facts, 'tool' | 'mcp'> {
  const tool = text(fields.tool_name) ?? 'unknown';
  const mcp = MCP.exec(tool);
  if (!mcp) return { tool, mcp: undefined };
  return { tool: mcp[2], mcp: { server: word(fieldsOf(fields.mcp_server).name) ?? mcp[1] ?? 'unknown' } };
}

export function launchedBy(
  fields: Fields,
  id?: string,
): { id?: string | undefined; agent?: string | undefined } | undefined {
  if (fields.tool_name !== 'Agent' && fields.tool_name !== 'Task') return undefined;
  return { id, agent: word(fieldsOf(fields.tool_input).subagent_type) ?? 'general-purpose' };
}
