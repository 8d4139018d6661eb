/** The tools of Gemini CLI, and the parts of their answers that are read. */
import { own, word } from '../../lib/read.ts';

export const actions = {
  activate_skill: 'skill',
  ask_user: 'ask_user_question',
  complete_task: 'complete_task',
  enter_plan_mode: 'enter_plan_mode',
  exit_plan_mode: 'exit_plan_mode',
  get_internal_docs: 'get_internal_docs',
  glob: 'glob',
  google_web_search: 'web_search',
  grep_search: 'grep',
  invoke_agent: 'agent',
  list_directory: 'list_directory',
  list_mcp_resources: 'list_mcp_resources',
  read_file: 'read_file',
  read_many_files: 'read_file',
  read_mcp_resource: 'read_mcp_resource',
  replace: 'code_edit',
  run_shell_command: 'shell',
  save_memory: 'save_memory',
  search_file_content: 'grep',
  update_topic: 'update_topic',
  web_fetch: 'web_search',
  write_file: 'write_file',
  write_todos: 'todo_write',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

export const actionName = (tool: unknown): string =>
  own(actionNames, word(tool) ?? 'unknown') ?? word(tool) ?? 'unknown';

/** Reads how a command ended: the output names the exit code only if it is not 0. */
export function exitCodeOf(output: string | undefined): number | undefined {
  const code = /^Exit Code: (\d{1,3})$/m.exec(output ?? '')?.[1];
  return code === undefined ? undefined : Number(code);
}
