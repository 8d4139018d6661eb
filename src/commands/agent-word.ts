import type { Agent } from '../agents/contract/contract.ts';
import { agentNamed, agents } from '../agents/index.ts';
import { nearest } from '../lib/nearest.ts';
import { UsageError } from './command.ts';

/** Returns the agent that a word on the command line names. */
export function agentOf(name: string): Agent {
  const agent = agentNamed(name);
  if (agent) return agent;
  const meant = nearest(
    name,
    agents.flatMap(each => [each.id, ...(each.aliases ?? [])]),
  );
  throw new UsageError(
    `unknown agent ${name}${meant ? `; did you mean ${meant}?` : `; known: ${agents.map(each => each.id).join(', ')}`}`,
  );
}
