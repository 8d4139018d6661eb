/** The tools of Kiro over its contracts, and the parts of their answers that are read. */
import { own } from '../../lib/read.ts';
import type { Reading } from '../contract/contract.ts';

export const actions = {
  aws: 'use_aws',
  execute_bash: 'shell',
  fs_append: 'write_file',
  fs_read: 'read_file',
  fs_write: 'write_file',
  glob: 'glob',
  grep: 'grep',
  introspect: 'introspect',
  knowledge: 'knowledge',
  read: 'read_file',
  report_issue: 'report_issue',
  shell: 'shell',
  str_replace: 'code_edit',
  thinking: 'thinking',
  todo_list: 'todo_write',
  use_aws: 'use_aws',
  use_subagent: 'agent',
  web_fetch: 'web_search',
  web_search: 'web_search',
  write: 'write_file',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

const MCP = /^@([^/]+)\/(.+)$/s;

export function actionName(tool: string): string {
  const mcp = MCP.exec(tool);
  if (mcp) return `mcp:${mcp[2]}`;
  return own(actionNames, tool) ?? (tool.startsWith('subagent_') ? 'agent' : tool);
}

export function toolFacts(tool: string): NonNullable<Reading['facts']> {
  const mcp = MCP.exec(tool);
  return mcp ? { tool: mcp[2], mcp: { server: mcp[1] ?? 'unknown' } } : { tool };
}

/** Returns the exit code in the words of a status: its last number. */
export function exitCodeOf(status: unknown): number | undefined {
  const [code] = /-?\d{1,10}(?!.*\d)/s.exec(String(status ?? '')) ?? [];
  return code === undefined ? undefined : Number(code);
}

/** Returns true for an answer that is only an exit status. Numbers in any other text are not exit codes. */
export const isExitStatus = (text: string): boolean => /^exit (?:code|status):? -?\d{1,10}$/.test(text);
