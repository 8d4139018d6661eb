/**
 * How well each fact about an agent's sessions is known. Each agent fills in the whole table, so nothing is silently
 * missing. docs/agents.md is generated from it.
 */
export const facts = {
  input: 'input tokens',
  cacheRead: 'of them read from a cache',
  cacheWrite: 'of them written to a cache',
  output: 'output tokens',
  reasoning: 'of them reasoning',
  cost: 'cost',
  latency: 'latency of a response',
  decisions: 'the source of permissions and refusals',
  subagents: 'subagents and the actions that launched them',
  context: 'how full the context is',
} as const;

export type Fact = keyof typeof facts;

/**
 * `exact`: the agent states it. `derived`: otel-hooks derives it from other facts. `unknown`: no source states it.
 */
export interface Knowledge {
  readonly known: 'exact' | 'derived' | 'unknown';
  readonly how: string;
}
export const exact = (how: string): Knowledge => ({ known: 'exact', how });
export const derived = (how: string): Knowledge => ({ known: 'derived', how });
export const unknown = (why: string): Knowledge => ({ known: 'unknown', how: why });

export type Truth = Readonly<Record<Fact, Knowledge>>;
