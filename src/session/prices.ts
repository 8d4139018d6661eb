/**
 * What models cost, by the settings of each session: people's own prices first, then the table that ships. The table is a file of its
 * own, loaded with the first response that has tokens; nothing is fetched. Who asks gets the name of what answered, since prices change.
 */
import type { calcPrice } from '@pydantic/genai-prices';
import { agentNamed } from '../agents/index.ts';
import { listedAs } from '../agents/shared/providers.ts';
import type { Config } from '../config/config.ts';
import { costOf, type Rates } from '../enrich/cost.ts';
import type { Priced, PriceOf } from '../identify/enrichers.ts';
import { besideUs } from '../lib/beside.ts';
import { hexDigest } from '../lib/hash.ts';
import { own } from '../lib/read.ts';
import type { CostSettings } from './session-state.ts';

/** Where the table lies: put in by the build; the package itself when run from source. */
declare const __PRICES__: readonly string[] | undefined;

/** What answers stand under that come from it. */
export const TABLE = 'genai-prices 0.1.8';

export const priceOf: PriceOf = ({ agent, pinned: { cost } }, priced) => {
  if (cost?.enabled === false) return undefined;
  const { rates, prices } = ratesFor({ ...priced, provider: priced.provider ?? agentNamed(agent)?.provider }, cost);
  const usd = rates && costOf(priced.used, rates, priced.isSum);
  return usd === undefined ? { prices } : { usd, prices };
};

/** Nothing is set: undefined. */
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

/** The most exact name counts: with its provider before without, whole before its beginning, a longer one before a shorter. */
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

/** Some prices hold from a day on, some for hours of the day, to the half hour. */
const SPAN_MS = 1_800_000;
const MOST_LISTED = 500;
const known = new Map<string, Rates | undefined>();

/** Of a model without provider it is asked whose name it bears. */
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
    // What costs something for each request costs more than its tokens.
    return found == null || 'requests_kcount' in found.model_price ? undefined : found.model_price;
  } catch {
    // An entry of the table that contradicts itself has no price.
    return undefined;
  }
}

let table: { calcPrice: typeof calcPrice } | undefined | 'asked';

/** Without it nothing has a price, and all else is as it was. */
function tableThere(): { calcPrice: typeof calcPrice } | undefined {
  if (table === 'asked') return undefined;
  const places = typeof __PRICES__ === 'undefined' ? ['@pydantic/genai-prices'] : __PRICES__;
  table ??= besideUs(places) ?? 'asked';
  return table === 'asked' ? undefined : table;
}
