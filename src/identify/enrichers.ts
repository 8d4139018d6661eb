import type { Reading } from '../agents/contract/contract.ts';
import type { Keeper } from '../enrich/content.ts';
import type { Used } from '../enrich/cost.ts';
import type { JudgedAction } from '../enrich/risk/subjects.ts';
import { type Body, type Cost, type DataOf, type Facts, modelOf, type Risk } from '../event/event.ts';
import { isFields } from '../lib/read.ts';
import type { SessionState } from '../session/session-state.ts';

/** Counts an oddity by its name. */
export type Odd = (kind: string) => void;

export type Judge = (state: SessionState, looked: JudgedAction, odd?: Odd) => Risk | undefined;

/** Additions to an event. If one of them fails, the event lacks only this addition. */
export const enrichments = ['risk', 'cost', 'content', 'watch'] as const;

export type Enrichment = (typeof enrichments)[number];

export const failedOddity = (enrichment: Enrichment): string => `${enrichment}_failed`;

export function enriched<T>(enrichment: Enrichment, odd: Odd | undefined, make: () => T): T | undefined {
  try {
    return make();
  } catch {
    // The failure is counted and reported as a problem. The event must not be lost.
    odd?.(failedOddity(enrichment));
    return undefined;
  }
}

/** The tokens of a response, or of a whole session, that have a price. */
export interface Priced {
  model: string | undefined;
  provider: string | undefined;
  used: Used;
  /** A sum over several requests. */
  isSum: boolean;
  /** Only the most that the tokens can have cost is known. */
  isBound?: boolean | undefined;
  atMs: number;
}

export type PriceOf = (state: SessionState, priced: Priced) => Cost | undefined;

/** The content that a session keeps. None by default. */
export type Keep = (pinned: SessionState['pinned']) => Keeper | undefined;

/** The cost of an event's tokens. Ids do not depend on it, because prices change. */
export function priced(state: SessionState, body: Body, facts: Facts, atMs: number, price: PriceOf): Cost | undefined {
  const isResponse = body.event_type === 'Model.Responded';
  const stated: Used | undefined = isResponse ? (body.data as DataOf<'Model.Responded'>) : facts.totals;
  if (stated === undefined || (stated.input_tokens === undefined && stated.output_tokens === undefined))
    return undefined;
  // Without the cached tokens, the sum of a session has no price, only an upper bound.
  const isBound = !isResponse && stated.cache_read_tokens === undefined;
  const used = isResponse ? { ...facts.usage, ...stated } : stated;
  const model = isResponse ? modelOf(body.data as DataOf<'Model.Responded'>, facts) : facts.model;
  const { provider } = facts;
  return price(state, { model, provider, used, isSum: !isResponse || facts.sum !== undefined, isBound, atMs });
}

/** The risk of an action, judged before redaction. Other events have no risk. */
export function judged(
  state: SessionState,
  { event_type, data, facts }: Reading,
  judge: Judge | undefined,
  cwd: string | undefined,
  odd: Odd | undefined,
): Risk | undefined {
  if (judge === undefined || event_type.startsWith('vendor.') || !('action' in data) || !isFields(data.action)) return;
  const { action } = data;
  const looked = {
    action,
    cwd: cwd ?? state.transcripts?.cwd,
    mode: facts?.permission_mode,
    server: facts?.mcp?.server,
  };
  return enriched('risk', odd, () => judge(state, looked, odd));
}

/** What a session adds to its events. Without one of them, that part is absent. */
export interface Enrichers {
  risk?: Judge | undefined;
  price?: PriceOf | undefined;
  keep?: Keep | undefined;
}
