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

/**
 * Reads the exit code of a command. Gemini CLI adds a line with the code after the output, but only if it is not 0.
 * `shown` is the output without that line. It prevents that a line of the output is mistaken for the code.
 */
export function exitCodeOf(output: string | undefined, shown?: string): number | undefined {
  const text = output ?? '';
  const at = shown === undefined || shown === '' ? -1 : text.indexOf(shown);
  const added = at < 0 ? text : text.slice(at + (shown ?? '').length);
  const code = added.match(/^Exit Code: \d{1,3}$/gm)?.at(-1);
  return code === undefined ? undefined : Number(code.slice('Exit Code: '.length));
}
