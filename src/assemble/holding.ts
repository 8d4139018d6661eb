import type { At } from './current-event.ts';
import type { Finished, FinishedSpan, SessionSpan, SpanKey, TurnSpan } from './finished.ts';
import { sameKey, sessionKey } from './keys.ts';
import type { FoldState, Held } from './state.ts';
import { settleTotals } from './stated-totals.ts';

export function heldSpan(
  state: FoldState,
  key: SpanKey,
): Exclude<FinishedSpan, { kind: 'action' | 'chat' | 'plan' }> | undefined {
  for (const { span } of state.held) {
    if (span.kind === 'action' || span.kind === 'chat' || span.kind === 'plan' || span.kind !== key.kind) continue;
    if (sameKey(span.key, key)) return span;
  }
  return undefined;
}

export function heldTurn(state: FoldState, key: SpanKey): TurnSpan | undefined {
  const span = heldSpan(state, key);
  return span?.kind === 'turn' ? span : undefined;
}

export function heldSession(state: FoldState, segment: number): SessionSpan | undefined {
  const span = heldSpan(state, { ...sessionKey(state), parts: [String(segment)] });
  return span?.kind === 'session' ? span : undefined;
}

/** A call that is asked for has usually just closed, so the search begins with the newest span. */
export function heldAction({ held }: FoldState, call: string): Held | undefined {
  const of = `action:${call}`;
  for (let n = held.length - 1; n >= 0; n--) if (held[n]?.of === of) return held[n];
  return undefined;
}

export function hold(state: FoldState, at: At, held: Held): void {
  held.span.version = held.span.kind === 'action' ? at.event.source.version : state.segment?.version;
  weigh(state, held.span);
  if (held.unread || held.unlinked) state.held.push(held);
  else at.out.spans.push(completed(state, held.span));
}

/** Completes the agent's version: an action has that of its closing event, all other spans that of their segment. */
function completed({ segment }: FoldState, span: FinishedSpan): FinishedSpan {
  if (span.kind !== 'action' && segment?.number === span.trace.segment) span.version ??= segment.version;
  return withOneUsage(span);
}

/** The stated usage of a session counts only when no response has any. */
export function withOneUsage(span: FinishedSpan): FinishedSpan {
  if (span.kind !== 'session' || span.stated === undefined) return span;
  const { calls, input, output } = span.usage;
  const hasUsage = calls > 0 || input !== undefined || output !== undefined;
  return hasUsage ? { ...span, stated: undefined } : { ...span, usage: span.stated.usage };
}

/** Bytes of a span on the wire besides its texts and numbers: names, ids, times. */
const SPAN_BYTES = 400;

export function weigh({ segment }: FoldState, span: FinishedSpan): void {
  if (segment === undefined) return;
  segment.spans += 1;
  segment.bytes = (segment.bytes ?? 0) + SPAN_BYTES + 2 * span.trace.session.length + weightOf(span);
}

function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : 8;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const part of value) if (part !== undefined) sum += 24 + weightOf(part);
    return sum;
  }
  // This runs for every span, so it makes no list of the parts.
  for (const name in value) {
    const part: unknown = value[name as keyof typeof value];
    if (part !== undefined) sum += 24 + weightOf(part);
  }
  return sum;
}

export function settle(state: FoldState, of: string, tooLate: boolean, out: Finished): void {
  for (const held of state.held) {
    if (held.of !== of) continue;
    held.unread = false;
    if (held.span.kind === 'session') settleTotals(state, held.span, out);
    if (tooLate && 'complete' in held.span) held.span.complete = false;
  }
  release(state, out);
}

/** Releases the closed spans of an ended session, for a reader of the journal that does not wait for transcripts. */
export function releaseEnded(state: FoldState, out: Finished): void {
  if (state.segment !== undefined && state.endedMs === undefined) return;
  for (const held of state.held) {
    held.unread = false;
    held.unlinked = false;
  }
  release(state, out);
}

const isReady = ({ unread, unlinked }: Held): boolean => !unread && !unlinked;

export function release(state: FoldState, out: Finished): void {
  if (!state.held.some(isReady)) return;
  const kept: Held[] = [];
  for (const held of state.held) {
    if (isReady(held)) out.spans.push(completed(state, held.span));
    else kept.push(held);
  }
  state.held = kept;
}
