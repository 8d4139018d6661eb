/** Writes the line of `otel-hooks status --short`, as part of the round whose spans change it. */
import { isOpen } from '../assemble/assemble.ts';
import type { FinishedSpan } from '../assemble/finished.ts';
import type { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import type { IndexReader } from '../journal/session-index.ts';
import { type LastSession, shortLine, spansSince, withSpans } from '../journal/short-status.ts';
import { localDay, midnightBefore } from '../lib/local-day.ts';
import type { SessionState } from '../session/session-state.ts';
import type { SessionInRound } from './session-in-round.ts';

/** The part of a session's output that changes the line. */
export interface Spent {
  lastMs: number;
  last: LastSession;
  /** The spans that began since midnight. */
  spans: FinishedSpan[];
}

export function spentIn(all: readonly SessionInRound[], nowMs: number): Spent[] {
  const midnightMs = midnightBefore(nowMs);
  return all.flatMap(({ state, lines, spans }) => {
    if (lines === '') return [];
    const last = isOpen(state.fold) ? lastOf(state) : {};
    return { lastMs: state.fold.lastMs, last, spans: spans.filter(({ startMs }) => startMs >= midnightMs) };
  });
}

export function noteSpent(
  all: readonly Spent[],
  changed: ChangedDocuments,
  { store, nowMs }: { store: IndexReader; nowMs: number },
): void {
  const [first, ...others] = all;
  if (first === undefined) return;
  const day = localDay(nowMs);
  const midnightMs = midnightBefore(nowMs);
  const known = changed.read(documents.short);
  const before = known?.day === day ? known : withSpans({ day }, spansSince(store, midnightMs), midnightMs);
  const spent = withSpans(
    before,
    all.flatMap(({ spans }) => spans),
    midnightMs,
  );
  const { last } = others.reduce((a, b) => (b.lastMs >= a.lastMs ? b : a), first);
  const line = shortLine(spent, last);
  if (known?.line === line && known.costUsd === spent.costUsd && known.tokens === spent.tokens) return;
  changed.write(documents.short, { line, ...spent });
}

/** The budget in dollars comes first, because it is the one that a person pays. */
function lastOf({ fold, watch, pinned }: SessionState): LastSession {
  const { used, limit, share } = fold.segment?.context ?? {};
  const computed = used === undefined || limit === undefined || limit <= 0 ? undefined : used / limit;
  const { sessionUsd, sessionTokens } = pinned.watch?.budget ?? {};
  const budget: LastSession['budget'] =
    sessionUsd !== undefined
      ? { used: watch?.spent.usd ?? 0, limit: sessionUsd, unit: 'usd' }
      : sessionTokens !== undefined
        ? { used: watch?.spent.tokens ?? 0, limit: sessionTokens, unit: 'tokens' }
        : undefined;
  return { context: share ?? computed, budget };
}
