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
  failedResponses: number;
  /** Turns that ended with an error, such as that of a failed response. */
  failedTurns: number;
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
  failedResponses: 0,
  failedTurns: 0,
  loops: 0,
  waitMs: 0,
});

/** Counts without those that are 0, as the index stores them. An absent number of tokens or dollars is not 0. */
export type StoredCounts = Partial<SpanCounts>;

export function storedCounts(counts: SpanCounts): StoredCounts {
  const stored: StoredCounts = {};
  for (const name of countNames) {
    const value = counts[name];
    if (value !== undefined && (value !== 0 || !always.has(name))) stored[name] = value;
  }
  return stored;
}

const always: ReadonlySet<string> = new Set(Object.keys(noCounts()));

/** Returns the sum of several counts. All sums have the same names in the same order, which keeps long lists fast. */
export function sumOf(all: readonly StoredCounts[]): SpanCounts {
  const sum: SpanCounts = { ...unknownCounts, ...noCounts() };
  for (const counts of all) {
    for (const name of countNames) add(sum, name, counts[name]);
  }
  return sum;
}

const unknownCounts = {
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheWrite: undefined,
  reasoning: undefined,
  costUsd: undefined,
  unpricedTokens: undefined,
  statedCostUsd: undefined,
};

/** The compiler demands every name. */
export const countNames = Object.keys({ ...noCounts(), ...unknownCounts } satisfies {
  [name in keyof Required<SpanCounts>]: unknown;
}) as (keyof SpanCounts)[];

export function add(counts: SpanCounts, name: keyof SpanCounts, value: number | undefined): void {
  if (value !== undefined) counts[name] = (counts[name] ?? 0) + value;
}

/**
 * Failed actions and responses. An agent can report that a turn failed without naming a response, so that failed turns
 * count if no failed response is known.
 */
export const failuresOf = ({ failed, failedResponses, failedTurns }: SpanCounts): number =>
  failed + (failedResponses || failedTurns);

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
  failed_responses: counts.failedResponses,
  failed_turns: counts.failedTurns,
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
