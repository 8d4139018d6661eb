/**
 * The names of tools in three spellings: those of the runtime, those of Claude Code (in hooks that are configured under
 * Claude Code's event names), and those of the chat agent in VS Code. The sets are open.
 */
import type { Facts, Fields } from '../../event/event.ts';
import { isFields, own, text, word } from '../../lib/read.ts';

export const actions = {
  // Names of the runtime.
  apply_patch: 'code_edit',
  ask_user: 'ask_user_question',
  bash: 'shell',
  codeql_checker: 'codeql_checker',
  code_review: 'code_review',
  create: 'write_file',
  edit: 'code_edit',
  glob: 'glob',
  grep: 'grep',
  powershell: 'shell',
  read_agent: 'read_agent',
  report_progress: 'report_progress',
  rg: 'grep',
  str_replace_editor: 'code_edit',
  task: 'agent',
  task_complete: 'task_complete',
  update_todo: 'todo_write',
  view: 'read_file',
  web_fetch: 'web_search',
  web_search: 'web_search',
  write_agent: 'write_agent',
  // Names in hooks under Claude Code's event names.
  Agent: 'agent',
  AskUserQuestion: 'ask_user_question',
  Bash: 'shell',
  Edit: 'code_edit',
  Glob: 'glob',
  Grep: 'grep',
  Read: 'read_file',
  TodoWrite: 'todo_write',
  WebFetch: 'web_search',
  WebSearch: 'web_search',
  Write: 'write_file',
  // Names of VS Code.
  await_terminal: 'await_terminal',
  copilot_createDirectory: 'create_directory',
  copilot_createFile: 'write_file',
  copilot_fetchWebPage: 'web_search',
  copilot_findTextInFiles: 'grep',
  copilot_listDirectory: 'list_directory',
  copilot_multiReplaceString: 'code_edit',
  copilot_readFile: 'read_file',
  copilot_replaceString: 'code_edit',
  editFiles: 'code_edit',
  get_terminal_output: 'get_terminal_output',
  insert_edit_into_file: 'code_edit',
  kill_terminal: 'kill_terminal',
  manage_todo_list: 'todo_write',
  readFile: 'read_file',
  read_file: 'read_file',
  replace_string_in_file: 'code_edit',
  runInTerminal: 'shell',
  run_in_terminal: 'shell',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

/** VS Code cuts `mcp_<server>` at 17 characters, so the end of a long server's name is unknown. */
const MCP = /^mcp_([^_]{1,13})_(.+)$/s;

export interface Tool {
  /** The Agent Hooks name of the action. */
  action: string;
  facts: Pick<Facts, 'tool' | 'mcp'>;
}

export function toolOf(name: string, mcp?: { server: string | undefined; tool: string | undefined }): Tool {
  const [, server, tool] = MCP.exec(name) ?? [];
  const called = mcp?.tool ?? tool;
  if (called === undefined) return { action: own(actionNames, name) ?? name, facts: { tool: name } };
  return { action: `mcp:${called}`, facts: { tool: called, mcp: { server: mcp?.server ?? server ?? 'unknown' } } };
}

/** Some builds send arguments as an object, others as JSON text. A patch is plain text. */
export function inputOf(value: unknown): Fields {
  if (isFields(value)) return value;
  if (typeof value !== 'string' || value === '') return {};
  try {
    const parsed: unknown = JSON.parse(value);
    return isFields(parsed) ? parsed : { raw: value };
  } catch {
    // Not JSON: the text itself is the input.
    return { raw: value };
  }
}

export function launchedBy(action: string, input: Fields): Facts['launches'] {
  return action === 'agent' ? { agent: word(input.agent_type) ?? word(input.subagent_type) } : undefined;
}

/** Reads the exit code from the end of a shell's result. The rest of the result is never read. */
export function exitCodeOf(action: string, result: unknown): number | undefined {
  if (action !== 'shell') return undefined;
  const code = /<(?:exited|shellId: [\w-]{1,40} completed) with exit code (\d{1,3})>\s*$/.exec(
    (text(result) ?? '').slice(-128),
  )?.[1];
  return code === undefined ? undefined : Number(code);
}
