/**
 * Whose payload is it? The word of whoever registered the hook comes first: the flag, then what the payload itself was
 * given to say, then the variable. But one program runs hooks out of another's settings, and the flag in them names that
 * other: a payload that does not look like the named agent's, and surely is somebody else's, is somebody else's.
 *
 * Without a word the payload decides. Agents share names of events and fields, so a lead that is small makes the answer
 * unsure, and below a floor there is none: a guess would be worse than not knowing.
 */
import type { Agent } from '../agents/contract/contract.ts';
import { toldAgent } from '../agents/shared/extras.ts';
import type { Fields } from '../event/event.ts';

export interface Recognized {
  agent: Agent;
  /** 0 to 1. */
  certainty: number;
}

/** Who says whose the payload is. */
export interface Word {
  /** `--tool`. */
  flag?: string | undefined;
  /** OTEL_HOOKS_SOURCE_TOOL. */
  variable?: string | undefined;
}

const CERTAIN_ENOUGH = 0.4;
/** From here on an answer counts as sure. */
export const SURE = 0.75;
/** A payload contradicts the name that it came under: it looks like another's, surely and by a lead. */
const OWN_AT_MOST = 0.85;
const OTHER_AT_LEAST = 0.9;
/** Two agents that are so near to each other cannot both be right. */
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

/** An unknown flag is somebody's mistake and is said; unknown words of the other kinds leave it to the payload. */
function agentNamedBy(
  fields: Fields,
  { flag, variable }: Word,
  agents: readonly Agent[],
): Agent | 'unknown' | undefined {
  if (flag !== undefined) return find(flag, agents) ?? 'unknown';
  const told = toldAgent(fields);
  return (told === undefined ? undefined : find(told, agents)) ?? (variable ? find(variable, agents) : undefined);
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
