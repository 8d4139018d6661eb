/**
 * The price list and the engine for patterns, which the commands load when they need them. The library imports them, so
 * that the bundler of an application includes them.
 */
import { calcPrice } from '@pydantic/genai-prices';
import { RE2JS } from 're2js';
import { usePriceTable } from '../session/prices.ts';
import { useEngine } from '../session/re2.ts';

export function useContained(): void {
  usePriceTable({ calcPrice });
  useEngine({ RE2JS });
}
