/**
 * Prices of models, by the settings of each session: the user's own prices first, then the built-in price list. The list is
 * a file of its own that is loaded with the first response with tokens. Nothing is fetched. The result names the list,
 * because prices change.
 */
import type { calcPrice } from '@pydantic/genai-prices';
import { agentNamed } from '../agents/index.ts';
import { listedAs } from '../agents/shared/providers.ts';
import type { Config } from '../config/config.ts';
import { costOf, type Rates, upperBoundOf } from '../enrich/cost.ts';
import type { Priced, PriceOf } from '../identify/enrichers.ts';
import { besideUs } from '../lib/beside.ts';
import { hexDigest } from '../lib/hash.ts';
import { own } from '../lib/read.ts';
import type { CostSettings } from './session-state.ts';

/** The path of the table, which the build inserts; when run from source, the package. */
declare const __PRICES__: readonly string[] | undefined;

/** The name of the price list on spans. */
export const TABLE = 'genai-prices 0.1.8';

export const priceOf: PriceOf = ({ agent, pinned: { cost } }, priced) => {
  if (cost?.enabled === false) return undefined;
  const { rates, prices } = ratesFor({ ...priced, provider: priced.provider ?? agentNamed(agent)?.provider }, cost);
  if (priced.isBound) return { upper_usd: rates && upperBoundOf(priced.used, rates), prices };
  const usd = rates && costOf(priced.used, rates, priced.isSum);
  return usd === undefined ? { prices } : { usd, prices };
};

/** Undefined when nothing is set. */
export function costSettings({ values }: Pick<Config, 'values'>): CostSettings | undefined {
  const enabled = values['cost.enabled'] ?? true;
  const prices = values['cost.prices'] ?? {};
  return enabled && Object.keys(prices).length === 0 ? undefined : { enabled, prices };
}

interface Found {
  rates: Rates | undefined;
  prices: string;
}

function ratesFor(priced: Priced, cost: CostSettings | undefined): Found {
  const { model, provider } = priced;
  const set = cost && setFor(cost.prices, provider, model);
  if (typeof set === 'object') {
    return { rates: set, prices: `config ${hexDigest(JSON.stringify(cost?.prices)).slice(0, 8)}` };
  }
  return { rates: listed(model, set ?? provider, priced.atMs), prices: TABLE };
}

/** The most specific name wins: with provider before without, exact before prefix, longer prefix before shorter. */
function setFor(
  prices: CostSettings['prices'],
  provider: string | undefined,
  model: string | undefined,
): Rates | string | undefined {
  if (model === undefined) return undefined;
  const names = provider === undefined ? [model] : [`${provider}/${model}`, model];
  for (const name of names) {
    const exact = own(prices, name);
    if (exact !== undefined) return exact;
  }
  const begun = Object.keys(prices)
    .filter(name => name.endsWith('*') && names.some(each => each.startsWith(name.slice(0, -1))))
    .sort((a, b) => b.length - a.length);
  return begun[0] === undefined ? undefined : prices[begun[0]];
}

/** Some prices depend on the date or on the hour, in steps of half an hour. */
const SPAN_MS = 1_800_000;
const MOST_LISTED = 500;
const known = new Map<string, Rates | undefined>();

/** Looks a model up, cached by half hour. Without a provider, the name of the model decides. */
function listed(model: string | undefined, provider: string | undefined, atMs: number): Rates | undefined {
  if (model === undefined) return undefined;
  const key = `${provider ?? ''}\0${model}\0${Math.floor(atMs / SPAN_MS)}`;
  if (known.has(key)) return known.get(key);
  const found = lookUp(model, provider && listedAs(provider), new Date(atMs));
  if (known.size >= MOST_LISTED) known.clear();
  known.set(key, found);
  return found;
}

function lookUp(model: string, providerId: string | undefined, timestamp: Date): Rates | undefined {
  try {
    const nothing = { input_tokens: 0, output_tokens: 0 };
    const of = { timestamp, ...(providerId === undefined ? {} : { providerId }) };
    const found = tableThere()?.calcPrice(nothing, model, of);
    // A price per request cannot be computed from tokens.
    return found == null || 'requests_kcount' in found.model_price ? undefined : found.model_price;
  } catch {
    // A contradictory entry of the table has no price.
    return undefined;
  }
}

interface PriceTable {
  calcPrice: typeof calcPrice;
}

let table: PriceTable | undefined | 'asked';

/** Sets the table, for programs that contain it. A bundler of an application does not find a file beside the program. */
export function usePriceTable(given: PriceTable): void {
  table = given;
}

/** Undefined when the table is missing: then nothing has a price. */
function tableThere(): PriceTable | undefined {
  if (table === 'asked') return undefined;
  const places = typeof __PRICES__ === 'undefined' ? ['@pydantic/genai-prices'] : __PRICES__;
  table ??= besideUs(places) ?? 'asked';
  return table === 'asked' ? undefined : table;
}
