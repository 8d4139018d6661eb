/**
 * Handles the totals that the agent states at the end of a run. If they exceed the usage of the known responses, the
 * request of a compaction used the rest, because the transcript has no row for it. The rest is counted once, when the
 * span of the run settles.
 */
import type { Usage } from '../event/event.ts';
import { dollars } from '../lib/dollars.ts';
import { own, put } from '../lib/read.ts';
import { type At, begunBy, ends } from './current-event.ts';
import type { ChatSpan, Finished, SessionSpan } from './finished.ts';
import { weigh } from './holding.ts';
import { chatKey } from './keys.ts';
import type { Compacting, FoldState, Spent, StatedTotals } from './state.ts';

const MOST_STATED = 64;

const classes = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h', 'reasoning'] as const;

export function noteTotals(state: FoldState, { facts }: At): void {
  const { totals = {}, model = '', cost_usd: costUsd, previous } = facts;
  const stated: StatedTotals = {
    model,
    segment: state.segment?.number ?? 0,
    used: spentBy({ ...totals, input: totals.input_tokens, output: totals.output_tokens }),
    costUsd,
    isContinued: previous !== undefined || undefined,
  };
  state.stated = [...(state.stated ?? []), stated].slice(-MOST_STATED);
}

const spentBy = (usage: Usage & { input?: number | undefined; output?: number | undefined }): Spent => ({
  input: usage.input ?? 0,
  output: usage.output ?? 0,
  cacheRead: usage.cache_read_tokens ?? 0,
  cacheWrite: usage.cache_write_tokens ?? 0,
  cacheWrite1h: usage.cache_write_1h_tokens ?? 0,
  reasoning: usage.reasoning_tokens ?? 0,
});

/** Adds a response to the known usage of its segment. */
export function noteSpent(state: FoldState, { trace, model = '', ...span }: ChatSpan): void {
  state.spent ??= {};
  const key = String(trace.segment);
  const ofSegment = own(state.spent, key) ?? {};
  const known = own(ofSegment, model);
  const sum = { ...known } as Spent;
  for (const name of classes) sum[name] = (known?.[name] ?? 0) + (span[name] ?? 0);
  put(ofSegment, model, sum);
  put(state.spent, key, ofSegment);
}

export function noteCompaction(state: FoldState, { facts: { phase }, atMs }: At): void {
  const { segment } = state;
  if (segment === undefined) return;
  segment.compactions ??= [];
  const open = segment.compactions.findLast(each => each.endMs === undefined);
  if (phase === 'after' && open !== undefined) open.endMs = atMs;
  else if (phase === 'after') segment.compactions.push({ startMs: atMs, endMs: atMs });
  else segment.compactions.push({ startMs: atMs });
}

/** Completes the span of a run by the totals that were stated at its end. */
export function settleTotals(state: FoldState, span: SessionSpan, out: Finished): void {
  const spent = (state.spent && own(state.spent, String(span.trace.segment))) ?? {};
  if (state.spent) delete state.spent[String(span.trace.segment)];
  const isDue = ({ segment }: StatedTotals): boolean => segment === span.trace.segment;
  const newest = new Map((state.stated ?? []).filter(isDue).map(each => [each.model, each]));
  state.stated = state.stated?.filter(each => !isDue(each));
  for (const [model, { used, costUsd, isContinued }] of newest) {
    const base = state.statedBase && own(state.statedBase, model);
    state.statedBase ??= {};
    put(state.statedBase, model, { used, costUsd });
    // The first totals of a fork include the totals of its parent, which are not known here.
    if (base === undefined && (isContinued || span.isContinued)) continue;
    if (costUsd !== undefined) {
      const usd = dollars(Math.max(0, costUsd - (base?.costUsd ?? 0)));
      span.usage.costUsd = dollars((span.usage.costUsd ?? 0) + usd);
      span.statedCosts = [...(span.statedCosts ?? []), { model, usd }];
    }
    const known = own(spent, model);
    const rest = {} as Spent;
    for (const name of classes) rest[name] = Math.max(0, used[name] - (base?.used[name] ?? 0) - (known?.[name] ?? 0));
    if (rest.input + rest.output > 0) addUntold(state, span, model, rest, out);
  }
}

function addUntold(state: FoldState, span: SessionSpan, model: string, rest: Spent, out: Finished): void {
  const { usage, compactions = [] } = span;
  for (const name of ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const)
    usage[name] = (usage[name] ?? 0) + rest[name];
  const [only, ...others] = compactions;
  const place = others.length === 0 ? only : undefined;
  if (place !== undefined) usage.calls += 1;
  const chat = inferredChat(span, model, rest, place);
  weigh(state, chat);
  out.spans.push(chat);
}

function inferredChat(span: SessionSpan, model: string, rest: Spent, place: Compacting | undefined): ChatSpan {
  const startMs = Math.max(span.startMs, place?.startMs ?? span.endMs);
  const endMs = Math.min(span.endMs, Math.max(startMs, place?.endMs ?? span.endMs));
  return {
    kind: 'chat',
    trace: span.trace,
    key: chatKey(span.key.session, `untold:${span.trace.segment}:${model}`),
    parent: span.key,
    ...ends(startMs, endMs),
    duration: place === undefined ? 'none' : 'events',
    links: [],
    errorType: undefined,
    ...begunBy({ actor: { type: 'system' } }),
    risk: undefined,
    version: span.version,
    closedBy: span.closedBy,
    subagent: undefined,
    agent: undefined,
    model: model === '' ? undefined : model,
    provider: undefined,
    response: undefined,
    request: undefined,
    finish: undefined,
    ...rest,
    costUsd: undefined,
    pricedUsd: undefined,
    prices: undefined,
    unpricedTokens: undefined,
    retries: undefined,
    sum: undefined,
    untold: place === undefined ? 'several' : 'compaction',
  };
}
