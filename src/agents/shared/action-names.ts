/** Names of actions that do not come from an agent's own table: from senders of the open standards. */
import { standardActions } from '../../event/action-names.ts';
import { own } from '../../lib/read.ts';
import type { Agent } from '../contract/contract.ts';

export interface ActionName {
  /** The standard's name, otherwise the name as the sender wrote it. */
  name: string;
  /** The name as the agent spells it; of an MCP action only the tool. */
  tool: string;
  mcp?: { server: string } | undefined;
}

const MCP = /^mcp__(.+?)__(.+)$/s;
const MCP_NAME = /^mcp:(.+)$/s;

/**
 * Returns the standard's name for the name that a sender gave to an action. `adapter` is the agent that the sender
 * names. The tables of all agents decide for another sender, if they agree.
 */
export function actionNamed(given: string, adapter: Agent | undefined, all: readonly Agent[]): ActionName {
  const [, server, tool] = MCP.exec(given) ?? [];
  if (server !== undefined && tool !== undefined) return { name: `mcp:${tool}`, tool, mcp: { server } };
  const [, called] = MCP_NAME.exec(given) ?? [];
  if (called !== undefined || given === 'mcp')
    return { name: given, tool: called ?? given, mcp: { server: 'unknown' } };
  const native = own(adapter?.actions ?? {}, given);
  if (native !== undefined) return { name: native, tool: given };
  const spelled = given
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[- ]/g, '_')
    .toLowerCase();
  if (standardActions.has(spelled)) return { name: spelled, tool: given };
  return { name: nativeOfAny(given, all) ?? given, tool: given };
}

/** Returns the name in the tables of the agents with this tool; undefined if no table has it, or if they disagree. */
function nativeOfAny(given: string, all: readonly Agent[]): string | undefined {
  const found = new Set(all.flatMap(({ actions }) => own(actions, given) ?? []));
  return found.size === 1 ? [...found][0] : undefined;
}

/** Returns true for the name of a built-in tool of any agent, or of its action. Metrics carry these names. */
export const isNameOfAgents = (name: string, all: readonly Agent[]): boolean =>
  all.some(({ actions }) => Object.hasOwn(actions, name) || Object.values(actions).includes(name));
