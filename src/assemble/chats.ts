import { type DataOf, type Facts, metadataOf, modelOf, type Usage } from '../event/event.ts';
import { dollars } from '../lib/dollars.ts';
import { own, put } from '../lib/read.ts';
import { type At, begunBy, ends, LONGEST_ACTION_MS, odd, originOf } from './current-event.ts';
import type { ChatSpan, FinishedSpan, Sums } from './finished.ts';
import { weigh } from './holding.ts';
import { chatKey } from './keys.ts';
import { homeOf, placeOf, sessionHolder } from './places.ts';
import type { AskedModel, FoldState, OpenRequests } from './state.ts';
import { noteSpent } from './stated-totals.ts';

/**
 * Returns the start of a response's request, if exactly one request is open and both times come from the same clock.
 */
function requestedMs(state: FoldState, { event, facts, late, atMs }: At): number | undefined {
  const open = state.requests && own(state.requests, event.session_id);
  if (state.requests === undefined || open === undefined || late !== undefined || facts.sum !== undefined)
    return undefined;
  const isSure = open.count === 1 && !open.isMixed && open.time === (facts.time ?? 'arrival') && open.ms <= atMs;
  const rest: OpenRequests = { ...open, count: open.count - 1, isMixed: true, asked: open.asked?.slice(1) };
  if (open.count > 1) put(state.requests, event.session_id, rest);
  else delete state.requests[event.session_id];
  return isSure && atMs - open.ms <= LONGEST_ACTION_MS ? open.ms : undefined;
}

/** Stores a request to a model until its response arrives. */
export function openRequest(state: FoldState, at: At): void {
  if (at.late !== undefined) return;
  state.requests ??= {};
  const session = at.event.session_id;
  const known = own(state.requests, session);
  put(state.requests, session, {
    ms: at.atMs,
    time: at.facts.time ?? 'arrival',
    count: (known?.count ?? 0) + 1,
    isMixed: known?.isMixed,
    asked: [...(known?.asked ?? []), askedBy(state, at)].slice(0, ASKED),
  });
}

/** The number of waiting requests that the state stores individually. */
const ASKED = 16;

function askedBy(state: FoldState, at: At): AskedModel {
  const { event, facts, atMs } = at;
  const place = placeOf(state, at);
  return {
    id: event.event_id,
    ms: atMs,
    model: event.event_type === 'Model.Requested' ? modelOf(event.data, facts) : facts.model,
    provider: facts.provider,
    agent: facts.agent,
    ...originOf(event),
    trace: place.trace,
    parent: place.key,
  };
}

/**
 * Closes the requests without a response when their turn, subagent or session ends. If it ended well, the requests were
 * answered, but no response was observed. If responses come from a transcript, the requests are not closed here.
 */
export function closeRequests(state: FoldState, at: At, session: string, endMs: number, wentWell: boolean): void {
  const open = state.requests && own(state.requests, session);
  if (state.requests === undefined || open === undefined) return;
  delete state.requests[session];
  if (state.settles.turn === 'transcript') return;
  if (wentWell) {
    odd(at.out, 'response_untold');
    return;
  }
  for (const asked of open.asked ?? []) {
    const span = abandoned(asked, session === state.session ? undefined : session, session, endMs, at);
    weigh(state, span);
    at.out.spans.push(span);
  }
}

function abandoned(
  { id, ms, model, provider, agent, trace, parent, ...origin }: AskedModel,
  subagent: string | undefined,
  session: string,
  endMs: number,
  at: At,
): FinishedSpan {
  return {
    ...noResponse,
    kind: 'chat',
    trace,
    key: chatKey(session, id),
    parent,
    ...ends(ms, endMs),
    duration: 'events',
    links: [],
    errorType: 'abandoned',
    ...begunBy(origin),
    risk: undefined,
    closedBy: at.event.event_id,
    subagent,
    agent,
    model,
    provider,
  };
}

const noResponse = {
  response: undefined,
  request: undefined,
  finish: undefined,
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheWrite: undefined,
  cacheWrite1h: undefined,
  reasoning: undefined,
  costUsd: undefined,
  pricedUsd: undefined,
  prices: undefined,
  unpricedTokens: undefined,
  retries: undefined,
  sum: undefined,
} as const;

/** Returns true if this response is the first one after a compaction. */
function isCompacted(state: FoldState, { event, facts, atMs }: At): boolean {
  const compaction = state.compactions && own(state.compactions, event.session_id);
  if (compaction === undefined || compaction.isTold || facts.sum !== undefined || atMs < compaction.ms) return false;
  compaction.isTold = true;
  return true;
}

/** The error class that a failure states: the reader's own class first, then the word of the sender. */
export const modelError = ({ error_type }: DataOf<'Model.Failed'>, facts: Partial<Facts>): string =>
  facts.error_type ?? error_type ?? 'model_error';

/** Emits a response at once, and adds its usage to its turn, subagent and session as long as they are open or held. */
export function chat(
  state: FoldState,
  at: At,
  data: DataOf<'Model.Responded' | 'Model.Failed'>,
  errorType?: string,
): void {
  const { facts, event, atMs } = at;
  const usage: Usage = facts.usage ?? {};
  const home = homeOf(state, at);
  const began = beganAt(state, at, data.latency_ms, errorType);
  const { duration } = began;
  const startMs = withinLaunch(at, home.holder?.startMs, began.startMs);
  const sums: Sums = {
    calls: facts.sum === undefined && errorType === undefined ? 1 : 0,
    input: data.input_tokens,
    output: data.output_tokens,
    cacheRead: usage.cache_read_tokens,
    cacheWrite: usage.cache_write_tokens,
    reasoning: usage.reasoning_tokens,
    costUsd: facts.cost_usd,
    ...pricedBy(facts, data),
  };
  const span: ChatSpan = {
    kind: 'chat',
    trace: home.trace,
    key: chatKey(at.subagent ?? state.session, event.event_id),
    parent: home.key,
    ...ends(startMs, atMs),
    duration,
    links: [],
    errorType,
    mode: event.agent_mode,
    actor: event.actor,
    metadata: metadataOf(event),
    version: event.source.version,
    risk: undefined,
    closedBy: event.event_id,
    subagent: at.subagent,
    agent: facts.agent,
    model: modelOf(data, facts),
    provider: facts.provider,
    response: facts.response,
    request: facts.request,
    finish: facts.finish,
    input: sums.input,
    output: sums.output,
    cacheRead: sums.cacheRead,
    cacheWrite: sums.cacheWrite,
    cacheWrite1h: usage.cache_write_1h_tokens,
    reasoning: sums.reasoning,
    costUsd: sums.costUsd,
    pricedUsd: sums.pricedUsd,
    prices: sums.pricedUsd === undefined ? undefined : facts.cost?.prices,
    unpricedTokens: sums.unpricedTokens,
    retries: data.retry_count,
    compacted: errorType === undefined && isCompacted(state, at) ? true : undefined,
    sum: facts.sum,
  };
  weigh(state, span);
  at.out.spans.push(span);
  if (errorType === undefined && facts.sum === undefined) noteSpent(state, span);
  for (const holder of [home.holder, sessionHolder(state, home.trace)]) {
    if (holder === undefined) continue;
    add(holder.usage, sums);
    // A holder starts no later than its response, and a held one ends no earlier.
    holder.startMs = Math.min(holder.startMs, startMs);
    if (holder.endMs !== undefined) holder.endMs = Math.max(holder.endMs, atMs);
  }
}

/** The first row of a subagent may be a moment older than the hook about its start. */
const SAME_START_MS = 1_000;

const withinLaunch = ({ subagent }: At, holderMs: number | undefined, startMs: number): number =>
  subagent !== undefined && holderMs !== undefined && holderMs - startMs < SAME_START_MS
    ? Math.max(holderMs, startMs)
    : startMs;

/** The start of a request, from the best source of it. */
function beganAt(
  state: FoldState,
  at: At,
  latencyMs: number | undefined,
  errorType: string | undefined,
): Pick<ChatSpan, 'startMs' | 'duration'> {
  const { facts, atMs } = at;
  const askedMs = requestedMs(state, at);
  if (latencyMs !== undefined && latencyMs >= 0 && latencyMs <= LONGEST_ACTION_MS)
    return { startMs: atMs - latencyMs, duration: 'native' };
  const { started_ms: startedMs } = facts;
  if (startedMs !== undefined && atMs - startedMs <= LONGEST_ACTION_MS)
    return { startMs: startedMs, duration: 'transcript' };
  // A failed request of the main agent began after the last event before it, if nothing states its start.
  const isFailed = errorType !== undefined && at.late === undefined && at.subagent === undefined;
  const startMs = askedMs ?? (isFailed ? lastOf(state, atMs) : undefined);
  return startMs === undefined ? { startMs: atMs, duration: 'none' } : { startMs, duration: 'events' };
}

/** The last event, if it belongs to the running turn. */
const lastOf = ({ turn, lastMs }: FoldState, atMs: number): number | undefined =>
  turn !== undefined && lastMs >= turn.startMs && lastMs <= atMs ? lastMs : undefined;

export function pricedBy(
  { cost }: Partial<Facts>,
  {
    input_tokens: input = 0,
    output_tokens: output = 0,
  }: { input_tokens?: number | undefined; output_tokens?: number | undefined },
): Pick<Sums, 'pricedUsd' | 'unpricedTokens'> {
  if (cost === undefined) return {};
  return cost.usd === undefined ? { unpricedTokens: input + output } : { pricedUsd: cost.usd };
}

function add(to: Sums, more: Sums): void {
  for (const name of Object.keys(more) as (keyof Sums)[]) {
    const count = more[name];
    if (count === undefined) continue;
    const sum = (to[name] ?? 0) + count;
    // A sum of floating-point numbers depends on the order, so each sum is rounded.
    to[name] = name === 'costUsd' || name === 'pricedUsd' ? dollars(sum) : sum;
  }
}
