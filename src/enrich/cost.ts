/**
 * The cost of a response, from its tokens and their rates. If the cost is not certain, there is no amount. Amounts are
 * rounded decimal fractions of a dollar, so that a sum does not depend on the order.
 */
import type { Usage } from '../event/event.ts';
import { dollars } from '../lib/dollars.ts';

/** Dollars for a million tokens; some rates depend on the size of the input. */
export type Rate = number | { base: number; tiers: readonly { start: number; price: number }[] };

/** Rates under the names of the price table. A class without a rate has the rate of the class that contains it. */
export interface Rates {
  input_mtok?: Rate | undefined;
  cache_read_mtok?: Rate | undefined;
  cache_write_mtok?: Rate | undefined;
  cache_write_1h_mtok?: Rate | undefined;
  output_mtok?: Rate | undefined;
  output_reasoning_mtok?: Rate | undefined;
}

export interface Used extends Usage {
  input_tokens?: number | undefined;
  output_tokens?: number | undefined;
}

/**
 * Undefined if the cost is unknown. Input without classes counts as new: an agent that reports no cache has none. A sum
 * of several requests has a cost only if none of them can have reached a tier.
 */
export function costOf(used: Used, rates: Rates, isSum: boolean): number | undefined {
  const { input_tokens: input, output_tokens: output } = used;
  const { cache_read_tokens: read = 0, cache_write_tokens: write = 0, reasoning_tokens: reasoning = 0 } = used;
  const hour = used.cache_write_1h_tokens ?? 0;
  if (input === undefined || output === undefined) return undefined;
  const plain = input - read - write;
  const counts = [plain, read, write, hour, write - hour, output, reasoning, output - reasoning];
  if (!counts.every(count => Number.isFinite(count) && count >= 0)) return undefined;
  if (isSum && Object.values(rates).some(rate => reaches(rate, input))) return undefined;
  const perInput = rates.input_mtok;
  const perWrite = rates.cache_write_mtok ?? perInput;
  const perOutput = rates.output_mtok;
  const parts: [tokens: number, rate: Rate | undefined][] = [
    [plain, perInput],
    [read, rates.cache_read_mtok ?? perInput],
    [write - hour, perWrite],
    [hour, rates.cache_write_1h_mtok ?? perWrite],
    [output - reasoning, perOutput],
    [reasoning, rates.output_reasoning_mtok ?? perOutput],
  ];
  let millionths = 0;
  for (const [tokens, rate] of parts) {
    if (tokens === 0) continue;
    if (rate === undefined) return undefined;
    millionths += tokens * rateAt(rate, input);
  }
  // The rest is less than the cost of one token.
  return dollars(millionths / 1e6);
}

/**
 * Returns the most that input and output can have cost: every token at the highest rate of its direction, caches and
 * tiers included. Undefined if the list has no rate for one of them.
 */
export function upperBoundOf({ input_tokens: input, output_tokens: output }: Used, rates: Rates): number | undefined {
  if (input === undefined || output === undefined) return undefined;
  const { input_mtok, cache_read_mtok, cache_write_mtok, cache_write_1h_mtok, output_mtok, output_reasoning_mtok } =
    rates;
  const perInput = highest([input_mtok, cache_read_mtok, cache_write_mtok, cache_write_1h_mtok]);
  const perOutput = highest([output_mtok, output_reasoning_mtok]);
  if (input_mtok === undefined || output_mtok === undefined) return undefined;
  return dollars((input * perInput + output * perOutput) / 1e6);
}

const highest = (rates: readonly (Rate | undefined)[]): number =>
  Math.max(
    ...rates.flatMap(rate =>
      typeof rate === 'object' ? [rate.base, ...rate.tiers.map(({ price }) => price)] : (rate ?? 0),
    ),
  );

const reaches = (rate: Rate | undefined, input: number): boolean =>
  typeof rate === 'object' && rate.tiers.some(({ start }) => input > start);

function rateAt(rate: Rate, input: number): number {
  if (typeof rate === 'number') return rate;
  let price = rate.base;
  let from = Number.NEGATIVE_INFINITY;
  for (const tier of rate.tiers) {
    if (input <= tier.start || tier.start < from) continue;
    price = tier.price;
    from = tier.start;
  }
  return price;
}
