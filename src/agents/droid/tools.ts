/** The tools of Droid, by the names that hooks and transcripts share. */
import { own } from '../../lib/read.ts';
import type { Reading } from '../contract/contract.ts';

/** Built-in tools with their Agent Hooks names. */
export const actions = {
  ApplyPatch: 'code_edit',
  Create: 'write_file',
  Edit: 'code_edit',
  Execute: 'shell',
  FetchUrl: 'web_search',
  Glob: 'glob',
  Grep: 'grep',
  LS: 'list_files',
  MultiEdit: 'code_edit',
  Read: 'read_file',
  Skill: 'skill',
  Task: 'agent',
  TodoWrite: 'todo_write',
  WebSearch: 'web_search',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

const MCP = /^mcp__(.+?)__(.+)$/s;

export function actionName(tool: string): string {
  const mcp = MCP.exec(tool);
  return mcp ? `mcp:${mcp[2]}` : (own(actionNames, tool) ?? tool);
}

export function toolFacts(tool: string): NonNullable<Reading['facts']> {
  const mcp = MCP.exec(tool);
  return mcp ? { tool: mcp[2], mcp: { server: mcp[1] ?? 'unknown' } } : { tool };
}
