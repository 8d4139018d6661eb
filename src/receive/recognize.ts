/**
 * Finds the agent of a payload. The flag `--tool` comes first, then a name inside the payload, then the variable. Some
 * agents run hooks from the settings of another agent, so the flag may name that other agent: a payload that clearly
 * matches another agent overrides the flag.
 *
 * Without a name, the payload decides. Agents share names of events and fields. So if two agents have almost the same
 * certainty, the result is unsure, and below a minimum there is no result. An unknown agent is better than a guess.
 */
import type { Agent } from '../agents/contract/contract.ts';
import type { Fields } from '../event/event.ts';
import { statedAgent } from '../python/payload-fields.ts';

export interface Recognized {
  agent: Agent;
  /** 0 to 1. */
  certainty: number;
}

/** Names of the agent from outside the payload. */
export interface Word {
  /** `--tool`. */
  flag?: string | undefined;
  /** OTEL_HOOKS_SOURCE_TOOL. */
  variable?: string | undefined;
}

const CERTAIN_ENOUGH = 0.4;
/** From this certainty on, the result counts as sure. */
export const SURE = 0.75;
/** A payload that clearly matches another agent overrides the flag: at least this certainty, with this lead. */
const OWN_AT_MOST = 0.85;
const OTHER_AT_LEAST = 0.9;
/** With a smaller lead over the next agent, the result is unsure. */
const LEAD = 0.15;
const UNDECIDED = 0.5;

export function recognize(fields: Fields, word: Word, agents: readonly Agent[]): Recognized | undefined {
  const named = agentNamedBy(fields, word, agents);
  if (named === 'unknown') return undefined;
  const own = named?.signs(fields) ?? 0;
  if (named !== undefined && own > OWN_AT_MOST) return { agent: named, certainty: 1 };
  const { best, second } = ranked(fields, agents);
  if (named !== undefined) {
    const contradicts = best && best.certainty >= OTHER_AT_LEAST && best.certainty - own >= LEAD;
    return contradicts ? best : { agent: named, certainty: 1 };
  }
  if (best === undefined || best.certainty < CERTAIN_ENOUGH) return undefined;
  return best.certainty - second < LEAD ? { ...best, certainty: Math.min(best.certainty, UNDECIDED) } : best;
}

/** An unknown flag is an error and gives no agent. Other unknown names leave the decision to the payload. */
function agentNamedBy(
  fields: Fields,
  { flag, variable }: Word,
  agents: readonly Agent[],
): Agent | 'unknown' | undefined {
  if (flag !== undefined) return find(flag, agents) ?? 'unknown';
  const stated = statedAgent(fields);
  return (stated === undefined ? undefined : find(stated, agents)) ?? (variable ? find(variable, agents) : undefined);
}

/** By id or alias. */
export const find = (name: string, agents: readonly Agent[]): Agent | undefined =>
  agents.find(known => known.id === name || known.aliases?.includes(name));

function ranked(fields: Fields, agents: readonly Agent[]): { best: Recognized | undefined; second: number } {
  let best: Recognized | undefined;
  let second = 0;
  for (const agent of agents) {
    const certainty = agent.signs(fields);
    if (certainty > (best?.certainty ?? 0)) {
      second = best?.certainty ?? 0;
      best = { agent, certainty };
    } else if (certainty > second) {
      second = certainty;
    }
  }
  return { best, second };
}
