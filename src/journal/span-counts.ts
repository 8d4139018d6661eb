/** Counts that lists, reports and the page show. The page runs in a browser, so this file imports nothing. */

/** A number of tokens or dollars is absent if no span states it. */
export interface SpanCounts {
  turns: number;
  actions: number;
  failed: number;
  denied: number;
  asked: number;
  /** Actions of high or critical risk. */
  risky: number;
  subagents: number;
  responses: number;
  loops: number;
  /** The time in which actions waited for the answer of a person. */
  waitMs: number;
  input?: number | undefined;
  output?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  reasoning?: number | undefined;
  /** The cost by price lists, and the tokens without a price. */
  costUsd?: number | undefined;
  unpricedTokens?: number | undefined;
  /** The cost that the agent states. */
  statedCostUsd?: number | undefined;
}

export const noCounts = (): SpanCounts => ({
  turns: 0,
  actions: 0,
  failed: 0,
  denied: 0,
  asked: 0,
  risky: 0,
  subagents: 0,
  responses: 0,
  loops: 0,
  waitMs: 0,
});

/** Returns the sum of several counts. */
export function sumOf(all: readonly SpanCounts[]): SpanCounts {
  const sum = noCounts();
  for (const counts of all) {
    for (const name of names) add(sum, name, counts[name]);
  }
  return sum;
}

/** The compiler demands every name. */
const names = Object.keys({
  ...noCounts(),
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  costUsd: 0,
  unpricedTokens: 0,
  statedCostUsd: 0,
} satisfies Required<SpanCounts>) as (keyof SpanCounts)[];

export function add(counts: SpanCounts, name: keyof SpanCounts, value: number | undefined): void {
  if (value !== undefined) counts[name] = (counts[name] ?? 0) + value;
}

/** Returns the counts under the names that the JSON of commands has. */
export const namedCounts = (counts: SpanCounts) => ({
  turns: counts.turns,
  actions: counts.actions,
  failed: counts.failed,
  denied: counts.denied,
  asked: counts.asked,
  risky: counts.risky,
  loops: counts.loops,
  responses: counts.responses,
  input_tokens: counts.input,
  output_tokens: counts.output,
  cache_read_tokens: counts.cacheRead,
  cache_write_tokens: counts.cacheWrite,
  reasoning_tokens: counts.reasoning,
  cost_usd: rounded(counts.costUsd),
  unpriced_tokens: counts.unpricedTokens,
  stated_cost_usd: rounded(counts.statedCostUsd),
});

/** Rounds to a millionth of a dollar; smaller digits come from binary fractions. */
const rounded = (usd: number | undefined): number | undefined =>
  usd === undefined ? undefined : Number(usd.toFixed(6));
