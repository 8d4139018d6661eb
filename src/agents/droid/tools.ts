/** The tools of Droid, by the names that hooks and transcripts share. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, own, text } from '../../lib/read.ts';
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

/** How a call ended, as the block of its result states it. */
export interface Ending {
  readonly result: { readonly success: boolean; readonly exit_code: number | undefined };
  readonly errorType: string | undefined;
  readonly denied: boolean;
  readonly interrupted: true | undefined;
  /** The user stopped the turn. No row tells whether the call ran, or Droid was asking for a permission. */
  readonly cancelled: boolean;
}

/** Droid's messages for a call that its level of autonomy does not permit. */
const REFUSED = /^Error: (?:Tool \S{1,128} is not permitted in this|Exec ended early: insufficient permission)/;
const CANCELLED = /^Tool execution cancelled by user/;
const SIGNALLED = /^Error: Command terminated by signal: SIG/;
/** The line that Droid appends to the output of a command. */
const EXITED = /(?:^|\n)\[Process exited with code (-?\d{1,10})\]\s*$/;

export function endingOf(tool: string, block: Fields): Ending {
  const output = outputOf(block);
  const exited = tool === 'Execute' ? EXITED.exec(output.slice(-200))?.[1] : undefined;
  const exitCode = exited === undefined ? undefined : Number(exited);
  const success = block.is_error !== true && (exitCode ?? 0) === 0;
  const denied = !success && REFUSED.test(output);
  const cancelled = !success && CANCELLED.test(output);
  const interrupted = cancelled || (!success && SIGNALLED.test(output)) ? true : undefined;
  return {
    result: { success, exit_code: exitCode },
    errorType: success || denied || interrupted ? undefined : exitCode === undefined ? 'tool_error' : 'exit_code',
    denied,
    interrupted,
    cancelled,
  };
}

export function outputOf({ content }: Fields): string {
  if (!Array.isArray(content)) return text(content) ?? '';
  return content.flatMap(block => text(fieldsOf(block).text) ?? []).join('\n');
}
