/** Counts spans. The index, reports and the page count in the same way because this file is the only one that counts. */
import type { ActionSpan, FinishedSpan, Sums } from '../assemble/finished.ts';
import { add, type SpanCounts } from './span-counts.ts';

/** Loops are not counted here: they have times of their own, which reports by day need. */
export function countSpan(counts: SpanCounts, span: FinishedSpan): void {
  if (span.kind === 'turn') {
    counts.turns += 1;
    if (span.errorType !== undefined) counts.failedTurns += 1;
  } else if (span.kind === 'subagent') counts.subagents += 1;
  else if (span.kind === 'action') countAction(counts, span);
  else if (span.kind === 'chat') {
    if (span.errorType !== undefined) counts.failedResponses += 1;
    else if (span.sum === undefined) counts.responses += 1;
    countUsage(counts, span);
  }
  // The totals at the end of a session are stated only if no single responses are known.
  else if (span.kind === 'session') countUsage(counts, span.stated?.usage);
}

/** What is known of an action that is still open; a finished action has more. */
export function countAction(
  counts: SpanCounts,
  {
    errorType,
    decision,
    askedMs,
    waitMs,
    risk,
  }: Partial<Pick<ActionSpan, 'errorType' | 'waitMs' | 'askedMs'>> & {
    decision?: { outcome?: string } | undefined;
    risk?: { level?: string } | undefined;
  },
): void {
  counts.actions += 1;
  // A denied action did not fail, even if its agent calls the denial an error.
  if (decision?.outcome === 'deny') counts.denied += 1;
  else if (errorType !== undefined) counts.failed += 1;
  if (decision?.outcome === 'ask' || waitMs !== undefined || askedMs !== undefined) counts.asked += 1;
  if (risk?.level === 'high' || risk?.level === 'critical') counts.risky += 1;
  counts.waitMs += waitMs ?? 0;
}

function countUsage(counts: SpanCounts, used: Partial<Sums> = {}): void {
  add(counts, 'input', used.input);
  add(counts, 'output', used.output);
  add(counts, 'cacheRead', used.cacheRead);
  add(counts, 'cacheWrite', used.cacheWrite);
  add(counts, 'reasoning', used.reasoning);
  add(counts, 'costUsd', used.pricedUsd);
  add(counts, 'unpricedTokens', used.unpricedTokens);
  add(counts, 'statedCostUsd', used.costUsd);
}

/** The model that answered: of a response, or of the totals at the end of a session. */
export const modelOf = (span: FinishedSpan): string | undefined =>
  span.kind === 'chat' ? span.model : span.kind === 'session' ? span.stated?.model : undefined;
