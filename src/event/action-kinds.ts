/** The kinds of actions: a family, an operation and a subtype for each name, all of closed sets. */
import { own } from '../lib/read.ts';

export interface ActionKind {
  family: 'explore' | 'file' | 'terminal' | 'coordination';
  operation: string;
  subtype: string;
}

const kinds: Readonly<Record<string, readonly [ActionKind['family'], operation: string, subtype: string]>> = {
  agent: ['coordination', 'delegate', 'delegate_agent'],
  ask_user_question: ['coordination', 'ask', 'ask_user'],
  code_edit: ['file', 'modify', 'edit_file'],
  create_directory: ['file', 'modify', 'create_directory'],
  delete_file: ['file', 'modify', 'delete_file'],
  enter_plan_mode: ['coordination', 'plan', 'plan'],
  exit_plan_mode: ['coordination', 'plan', 'plan'],
  glob: ['explore', 'search', 'find_files'],
  grep: ['explore', 'search', 'grep_code'],
  list_directory: ['explore', 'read', 'list_directory'],
  lsp: ['explore', 'search', 'grep_code'],
  monitor: ['terminal', 'monitor', 'monitor'],
  read_file: ['explore', 'read', 'read_file'],
  send_message: ['coordination', 'delegate', 'send_message'],
  shell: ['terminal', 'execute', 'run_command'],
  skill: ['coordination', 'invoke', 'invoke_skill'],
  task_create: ['coordination', 'plan', 'track_task'],
  task_update: ['coordination', 'plan', 'track_task'],
  todo_write: ['coordination', 'plan', 'track_task'],
  tool_search: ['explore', 'search', 'find_tools'],
  update_plan: ['coordination', 'plan', 'track_task'],
  web_search: ['explore', 'search', 'search_web'],
  write_file: ['file', 'modify', 'write_file'],
};

/** Programs with one purpose. A program that can do several things is only a command. */
const programs: Readonly<Record<string, string>> = {
  biome: 'run_lint',
  cmake: 'run_build',
  ctest: 'run_test',
  eslint: 'run_lint',
  jest: 'run_test',
  make: 'run_build',
  ninja: 'run_build',
  phpunit: 'run_test',
  pytest: 'run_test',
  rspec: 'run_test',
  ruff: 'run_lint',
  tsc: 'run_build',
  vitest: 'run_test',
};

/** Undefined for a name that the agent or a user made up. */
export function kindOfAction(name: string, executable?: string, lsp?: string): ActionKind | undefined {
  if (name.startsWith('mcp:')) return { family: 'coordination', operation: 'invoke', subtype: 'mcp_call' };
  const known = own(kinds, name);
  if (known === undefined) return undefined;
  const [family, operation, subtype] = known;
  const run = name === 'shell' && executable !== undefined ? own(programs, executable) : undefined;
  return {
    family,
    operation: name === 'lsp' && lsp !== undefined ? `lsp_${lsp}` : operation,
    subtype: run ?? subtype,
  };
}
