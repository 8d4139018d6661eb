/**
 * What a response cost, from what its tokens cost. Pure: rates are handed in, and an amount that cannot be known for
 * sure is none. Amounts are decimal fractions of a dollar, so that a sum is the same in whatever order it is drawn.
 */
import type { Usage } from '../event/event.ts';
import { dollars } from '../lib/dollars.ts';

/** Dollars for a million tokens; by the size of the request's input, where that matters. */
export type Rate = number | { base: number; tiers: readonly { start: number; price: number }[] };

/** By the names of the price table. A class without a rate costs what the class costs that it is part of. */
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
 * Undefined where it is not known. Input that nobody split into classes counts as new: an agent that says nothing of a
 * cache had none, as far as anybody knows. A sum of several requests has a price while none of them can have reached a
 * tier.
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
  // Less than any single token costs is cut off.
  return dollars(millionths / 1e6);
}

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
