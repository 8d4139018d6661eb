import { calcPrice } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf, type Rates } from '../../src/enrich/cost.ts';
import { dollars } from '../../src/lib/dollars.ts';

const rates: Rates = {
  input_mtok: { base: 3, tiers: [{ start: 200_000, price: 6 }] },
  cache_read_mtok: 0.3,
  cache_write_mtok: 3.75,
  cache_write_1h_mtok: 6,
  output_mtok: 15,
};

describe('the cost of a response', () => {
  it('is the sum of the costs of its classes of tokens', () => {
    const used = {
      input_tokens: 100_000,
      cache_read_tokens: 80_000,
      cache_write_tokens: 10_000,
      cache_write_1h_tokens: 4_000,
      output_tokens: 2_000,
    };
    // 10,000 new at 3, 80,000 read at 0.3, 6,000 written at 3.75, 4,000 for an hour at 6, 2,000 given at 15.
    expect(costOf(used, rates, false)).toBe(0.03 + 0.024 + 0.0225 + 0.024 + 0.03);
  });

  it('uses the tier that the whole input reaches', () => {
    expect(costOf({ input_tokens: 200_000, output_tokens: 0 }, rates, false)).toBe(0.6);
    expect(costOf({ input_tokens: 200_001, output_tokens: 0 }, rates, false)).toBe(1.200006);
  });

  it('is unknown if a part of the tokens is unknown or has no rate', () => {
    expect(costOf({ output_tokens: 5 }, rates, false)).toBeUndefined();
    expect(costOf({ input_tokens: 5 }, rates, false)).toBeUndefined();
    expect(costOf({ input_tokens: 5, output_tokens: 5 }, { input_mtok: 3 }, false)).toBeUndefined();
    expect(costOf({ input_tokens: 5, output_tokens: 5 }, {}, false)).toBeUndefined();
  });

  it('is unknown if the parts exceed the whole or are not numbers', () => {
    expect(costOf({ input_tokens: 5, output_tokens: 1, cache_read_tokens: 6 }, rates, false)).toBeUndefined();
    expect(costOf({ input_tokens: 5, output_tokens: 1, reasoning_tokens: 2 }, rates, false)).toBeUndefined();
    expect(costOf({ input_tokens: -1, output_tokens: 1 }, rates, false)).toBeUndefined();
    expect(costOf({ input_tokens: Number.NaN, output_tokens: 1 }, rates, false)).toBeUndefined();
  });

  it('is 0 for a free model', () => {
    expect(costOf({ input_tokens: 5, output_tokens: 5 }, { input_mtok: 0, output_mtok: 0 }, false)).toBe(0);
  });

  it('is known for a sum of requests if no request can have reached a tier', () => {
    expect(costOf({ input_tokens: 200_000, output_tokens: 10 }, rates, true)).toBe(0.60015);
    expect(costOf({ input_tokens: 200_001, output_tokens: 10 }, rates, true)).toBeUndefined();
    expect(costOf({ input_tokens: 900_000, output_tokens: 0 }, { input_mtok: 1, output_mtok: 1 }, true)).toBe(0.9);
  });

  it('has the same sum in any order', () => {
    const costs = fc.array(
      fc.nat(10_000_000).map(n => dollars(n / 1e9)),
      { maxLength: 60 },
    );
    const sum = (all: number[]): number => all.reduce((total, cost) => dollars(total + cost), 0);
    fc.assert(fc.property(costs, all => sum([...all].reverse()) === sum(all)));
  });

  it.each([
    ['anthropic', 'claude-sonnet-4-5'],
    ['anthropic', 'claude-opus-4-7'],
    ['openai', 'gpt-5.5'],
    ['openai', 'gpt-5.1-codex'],
    ['google', 'gemini-3-pro-preview'],
    ['google', 'gemini-2.5-flash'],
    ['x-ai', 'grok-4'],
    ['deepseek', 'deepseek-chat'],
    ['aws', 'anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ])('equals the price in the table for %s %s', (providerId, model) => {
    const timestamp = new Date('2026-10-01T00:00:00Z');
    const some = fc.nat(400_000);
    fc.assert(
      fc.property(some, some, some, some, fc.nat(90_000), (plain, read, write, hour, output) => {
        const used = {
          input_tokens: plain + read + write + hour,
          cache_read_tokens: read,
          cache_write_tokens: write + hour,
          cache_write_1h_tokens: hour,
          output_tokens: output,
        };
        const table = calcPrice(used, model, { providerId, timestamp });
        expect(table).not.toBeNull();
        if (table) expect(costOf(used, table.model_price, false)).toBeCloseTo(table.total_price, 8);
      }),
      { numRuns: 50 },
    );
  });
});
