/**
 * What the numbers about an agent's sessions rest on. Each agent fills the whole table, so nothing is silently missing, and
 * docs/agents.md is written from it.
 */
export const facts = {
  input: 'input tokens',
  cacheRead: 'of them read from a cache',
  cacheWrite: 'of them written to a cache',
  output: 'output tokens',
  reasoning: 'of them reasoning',
  cost: 'cost',
  latency: 'latency of a response',
  decisions: 'who allowed or refused',
  subagents: 'subagents and what launched them',
  context: 'how full the context is',
} as const;

export type Fact = keyof typeof facts;

/** The agent says so itself; it is concluded from what the agent says; nobody says. */
export interface Knowledge {
  readonly known: 'exact' | 'derived' | 'unknown';
  readonly how: string;
}
export const exact = (how: string): Knowledge => ({ known: 'exact', how });
export const derived = (how: string): Knowledge => ({ known: 'derived', how });
export const unknown = (why: string): Knowledge => ({ known: 'unknown', how: why });

export type Truth = Readonly<Record<Fact, Knowledge>>;
