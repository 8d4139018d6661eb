/** The tools of Codex by the names in hooks, with their names in rollouts. */
import type { Fields } from '../../event/event.ts';
import { own, word } from '../../lib/read.ts';
import type { Reading } from '../contract/contract.ts';

/** Metrics may carry all of them. */
export const actions = {
  Bash: 'shell',
  apply_patch: 'write_file',
  close_agent: 'close_agent',
  exec: 'exec',
  followup_task: 'send_message',
  get_goal: 'get_goal',
  list_agents: 'list_agents',
  read_mcp_resource: 'read_mcp_resource',
  request_user_input: 'ask_user_question',
  resume_agent: 'resume_agent',
  send_input: 'send_message',
  send_message: 'send_message',
  spawn_agent: 'agent',
  update_goal: 'update_goal',
  update_plan: 'update_plan',
  view_image: 'view_image',
  wait: 'wait_agent',
  wait_agent: 'wait_agent',
  web_search: 'web_search',
  write_stdin: 'write_stdin',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

/** The model's names for a shell, over the versions; hooks name all of them Bash. */
const shells = new Set(['exec_command', 'shell', 'shell_command', 'local_shell', 'container.exec']);

/** Tools of subagents have a namespace, which hooks since 0.169 put in front of the name. */
const NAMESPACE = /^(?:multi_agent_v\d+|collaboration)_*(?=[a-z])/;

/** Returns the plain name of a tool that a hook names. */
export function plainTool(name: string): string {
  const rest = name.replace(NAMESPACE, '');
  return Object.hasOwn(actions, rest) ? rest : name;
}

/** Returns the name in hooks for a tool of the rollout. */
export function hookName(call: Fields): string {
  const name = word(call.name) ?? 'unknown';
  const namespace = word(call.namespace);
  if (namespace?.startsWith('mcp__')) return `${namespace.replace(/_+$/, '')}__${name}`;
  return shells.has(name) ? 'Bash' : name;
}

/** Returns true for a tool that Codex itself answers, except for commands, patches and scripts. */
export const isOwnTool = (tool: string): boolean =>
  Object.hasOwn(actions, tool) && tool !== 'Bash' && tool !== 'apply_patch' && !isUnasked(tool);

/** Returns true for a tool that needs no permission and that hooks do not report. */
export const isUnasked = (tool: string): boolean => ['exec', 'web_search', 'write_stdin'].includes(tool);

const MCP = /^mcp__(.+?)__(.+)$/s;

const mcpOf = (tool: string): RegExpExecArray | null => (tool.startsWith('mcp__') ? MCP.exec(tool) : null);

export function actionName(tool: string): string {
  const mcp = mcpOf(tool);
  return mcp ? `mcp:${mcp[2]}` : (own(actionNames, tool) ?? tool);
}

export function toolFacts(tool: string): NonNullable<Reading['facts']> {
  const mcp = mcpOf(tool);
  return mcp ? { tool: mcp[2], mcp: { server: mcp[1] ?? 'unknown' } } : { tool };
}

export function launchedBy(tool: string, input: Fields, id?: string): NonNullable<Reading['facts']>['launches'] {
  if (tool !== 'spawn_agent') return undefined;
  return { id, agent: word(input.agent_type) ?? word(input.agent_role) ?? 'default' };
}

/** Returns the id of the thread that a call spawned. Only this id is read from the answer. */
export const spawnedThread = (answer: string): string | undefined =>
  /"agent_id"\s*:\s*"([0-9a-zA-Z-]{1,64})"/.exec(answer.slice(0, 4_096))?.[1];

/** Keys that hooks, `notify` and the rollout share for one turn: its answer, and the run of a subagent. */
export const answerKey = (turn: string): string => `answer:${turn}`;
export const startKey = (turn: string): string => `start:${turn}`;
export const endKey = (turn: string): string => `end:${turn}`;
