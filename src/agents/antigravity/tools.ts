/** The tools of Antigravity, by the names that hooks and transcripts share. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, own, word } from '../../lib/read.ts';
import type { Reading } from '../contract/contract.ts';

/** Built-in tools with their Agent Hooks names. */
export const actions = {
  ask_permission: 'ask_permission',
  ask_question: 'ask_user_question',
  browser_subagent: 'browser_subagent',
  command_status: 'command_status',
  find_by_name: 'find_by_name',
  grep_search: 'grep_search',
  invoke_subagent: 'agent',
  list_dir: 'list_dir',
  multi_replace_file_content: 'code_edit',
  read_url_content: 'web_search',
  replace_file_content: 'code_edit',
  run_command: 'shell',
  search_web: 'web_search',
  send_message: 'send_message',
  view_file: 'read_file',
  write_to_file: 'write_file',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

/** The prefix of an MCP server is not documented; this form was seen. */
const MCP = /^mcp_([^_]+)_(.+)$/s;

export function actionName(tool: string): string {
  const mcp = MCP.exec(tool);
  return mcp ? `mcp:${mcp[2]}` : (own(actionNames, tool) ?? tool);
}

export function toolFacts(tool: string): NonNullable<Reading['facts']> {
  const mcp = MCP.exec(tool);
  return mcp ? { tool: mcp[2], mcp: { server: mcp[1] ?? 'unknown' } } : { tool };
}

export function inputOf(args: unknown): Fields {
  const input = fieldsOf(args);
  const command = word(input.CommandLine);
  return command === undefined ? input : { ...input, command };
}

/** Returns the kind of the subagent that a call launches; several subagents have no common kind. */
export function launchedBy(tool: string, args: unknown): { id?: string; agent?: string | undefined } | undefined {
  if (tool !== 'invoke_subagent') return undefined;
  const { Subagents: subagents } = fieldsOf(args);
  const list = typeof subagents === 'string' ? parsed(subagents) : subagents;
  const [only, ...more] = Array.isArray(list) ? list : [];
  return { agent: more.length === 0 ? word(fieldsOf(only).TypeName) : undefined };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // A list that cannot be parsed states no kind.
    return undefined;
  }
}
