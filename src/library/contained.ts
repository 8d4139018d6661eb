/**
 * Imports the price list and the engine for patterns, so that the bundler of an application includes them. The commands
 * load them only when they need them.
 */
import { calcPrice } from '@pydantic/genai-prices';
import { RE2JS } from 're2js';
import { usePriceTable } from '../session/prices.ts';
import { useEngine } from '../session/re2.ts';

export function useContained(): void {
  usePriceTable({ calcPrice });
  useEngine({ RE2JS });
}
