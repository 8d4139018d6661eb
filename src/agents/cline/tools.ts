/** The tools of Cline, by the names that hooks and files share. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, own, text, word } from '../../lib/read.ts';

/** Built-in tools of both generations with their Agent Hooks names. */
export const actions = {
  access_mcp_resource: 'access_mcp_resource',
  act_mode_respond: 'act_mode_respond',
  apply_patch: 'code_edit',
  ask_followup_question: 'ask_user_question',
  ask_question: 'ask_user_question',
  attempt_completion: 'attempt_completion',
  browser_action: 'browser_action',
  condense: 'condense',
  editor: 'code_edit',
  execute_command: 'shell',
  fetch_web_content: 'web_search',
  focus_chain: 'focus_chain',
  list_code_definition_names: 'list_code_definition_names',
  list_files: 'list_files',
  load_mcp_documentation: 'load_mcp_documentation',
  new_task: 'new_task',
  plan_mode_respond: 'plan_mode_respond',
  read_file: 'read_file',
  read_files: 'read_file',
  replace_in_file: 'code_edit',
  run_commands: 'shell',
  search_codebase: 'search_codebase',
  search_files: 'search_files',
  skills: 'skill',
  spawn_agent: 'agent',
  submit_and_exit: 'submit_and_exit',
  summarize_task: 'summarize_task',
  use_mcp_tool: 'mcp',
  use_skill: 'skill',
  use_subagents: 'agent',
  web_fetch: 'web_search',
  web_search: 'web_search',
  write_to_file: 'write_file',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

export interface ToolUse {
  tool: string;
  action: string;
  mcp: { server: string } | undefined;
}

const MCP = /^(.+?)__(.+)$/s;

/** The extension uses one name for all tools of MCP servers; the SDK uses `<server>__<tool>`. */
export function useOfTool(name: string, input: Fields): ToolUse {
  const [, server, tool] =
    name === 'use_mcp_tool' ? [name, word(input.server_name), word(input.tool_name)] : (MCP.exec(name) ?? []);
  if (server === undefined) return { tool: name, action: own(actionNames, name) ?? name, mcp: undefined };
  return { tool: tool ?? 'unknown', action: `mcp:${tool ?? 'unknown'}`, mcp: { server } };
}

/** `run_commands` takes a list of texts or of programs with arguments; a list of one command is that command. */
export function oneCommand(input: Fields): Fields {
  const [first, ...more] = Array.isArray(input.commands) ? input.commands : [input.commands];
  const { command, args } = fieldsOf(first);
  const only = text(first) ?? [command, ...(Array.isArray(args) ? args : [])].filter(each => text(each)).join(' ');
  return only === '' || more.length > 0 ? input : { ...input, command: only };
}

/**
 * Returns true if a part of a call failed: each command, search or file has a result, and failures are not thrown. An
 * edit has one result, which the file of a session holds as text.
 */
export const hasFailed = (output: unknown): boolean =>
  (Array.isArray(output) ? output : [resultIn(output)]).some(each => fieldsOf(each).success === false);

/** Returns the error of a call that did not run: Cline puts it into the place of the output. */
export const errorIn = (output: unknown): string | undefined => text(resultIn(output).error);

function resultIn(output: unknown): Fields {
  const json = text(output);
  if (json === undefined) return fieldsOf(output);
  try {
    return json.startsWith('{') ? fieldsOf(JSON.parse(json)) : {};
  } catch {
    // The output of a tool that only looks like JSON.
    return {};
  }
}

/** The exit code of a call's only command, if it failed. */
export function exitCodeIn(output: unknown): number | undefined {
  const [only, ...more] = Array.isArray(output) ? output : [];
  const code = /^Command exited with code (\d{1,3})$/.exec(text(fieldsOf(only).error) ?? '')?.[1];
  return code === undefined || more.length > 0 ? undefined : Number(code);
}

/** Without a person at a terminal, Cline refuses each call that needs an approval. */
export const isRefused = (error: string | undefined): boolean =>
  /^Tool "[^"]{1,128}" requires (?:approval in a TTY|an interactive) session/.test(error ?? '');

export const errorKind = (failed: boolean, exitCode: number | undefined): string | undefined =>
  failed ? (exitCode === undefined ? 'tool_error' : 'exit_code') : undefined;
