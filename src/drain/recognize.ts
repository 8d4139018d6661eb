/** Whose payload is it? The caller's word first, then the payload itself. */
import type { Agent } from '../agents/contract.ts';
import type { Fields } from '../event/event.ts';

export interface Recognized {
  agent: Agent;
  certainty: number;
}

/** Below this a guess would be worse than not knowing. */
const CERTAIN_ENOUGH = 0.4;

export function recognize(fields: Fields, named: string | undefined, agents: readonly Agent[]): Recognized | undefined {
  if (named !== undefined) {
    const agent = agents.find(known => known.id === named || known.aliases?.includes(named));
    return agent && { agent, certainty: 1 };
  }
  let best: Recognized | undefined;
  for (const agent of agents) {
    const certainty = agent.signs(fields);
    if (certainty > (best?.certainty ?? 0)) best = { agent, certainty };
  }
  return best && best.certainty >= CERTAIN_ENOUGH ? best : undefined;
}
