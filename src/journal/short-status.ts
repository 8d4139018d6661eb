/**
 * The line of `otel-hooks status --short`: the cost of the day, and how much of its budget and its context the last
 * active session has used. Rounds write it into a document, so that a prompt of a shell can show it without a program.
 *
 * Shells, prompts and status bars expand `$`, `%`, `#`, backquotes and backslashes, so the line consists of letters,
 * digits, spaces and `.:,/+-` only, and contains no name that a session chooses.
 */
import { step } from '../assemble/assemble.ts';
import type { FinishedSpan } from '../assemble/finished.ts';
import { fieldsOf, number, text } from '../lib/read.ts';
import { documentNamed } from '../store/document.ts';
import { countSpan } from './count-spans.ts';
import { eventsOf, foldFrom } from './journal-events.ts';
import { type IndexReader, sessionIndex } from './session-index.ts';
import { noCounts, type SpanCounts } from './span-counts.ts';

export interface ShortStatus {
  /** The first key, because shells search for it. */
  line: string;
  /** The local day of the amounts, `2026-09-21`. */
  day: string;
  tokens?: number | undefined;
  costUsd?: number | undefined;
  unpricedTokens?: number | undefined;
}

export const shortDocument = documentNamed('short', 1, (value): ShortStatus | undefined => {
  const { line, day, tokens, costUsd, unpricedTokens } = fieldsOf(value);
  const [own, date] = [text(line), text(day)];
  if (own === undefined || date === undefined || !isPlain(own)) return undefined;
  return {
    line: own,
    day: date,
    tokens: number(tokens),
    costUsd: number(costUsd),
    unpricedTokens: number(unpricedTokens),
  };
});

const isPlain = (line: string): boolean => /^[\w .:,/+-]*$/.test(line);

export interface LastSession {
  /** A full context is 1. */
  context?: number | undefined;
  budget?: { used: number; limit: number; unit: 'usd' | 'tokens' } | undefined;
}

/** Returns the status after spans of the day were added; a span belongs to the day on which it began. */
export function withSpans(
  before: Omit<ShortStatus, 'line'>,
  spans: Iterable<FinishedSpan>,
  fromMs: number,
): Omit<ShortStatus, 'line'> {
  const counts = noCounts();
  for (const span of spans) if (span.startMs >= fromMs) countSpan(counts, span);
  const sum = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
  const { day, tokens, costUsd, unpricedTokens } = before;
  return {
    day,
    tokens: sum(tokens, tokensOf(counts)),
    costUsd: sum(costUsd, counts.costUsd ?? counts.statedCostUsd),
    unpricedTokens: sum(unpricedTokens, counts.unpricedTokens),
  };
}

const tokensOf = ({ input, output }: SpanCounts): number | undefined =>
  input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0);

/** Yields the spans of the journals that have events since then, for a day of which no status is stored. */
export function* spansSince(store: IndexReader, fromMs: number): Generator<FinishedSpan> {
  for (const [key, { lastMs }] of sessionIndex(store)) {
    if (lastMs < fromMs) continue;
    let fold: ReturnType<typeof foldFrom>['fold'] | undefined;
    for (const events of eventsOf(store, key)) {
      for (const event of events) {
        fold ??= foldFrom(event).fold;
        yield* step(fold, event).spans;
      }
    }
  }
}

/** `4.21 USD on 11-19, session 1.20 of 20 USD, context 43/100` */
export function shortLine({ day, tokens, costUsd, unpricedTokens }: Omit<ShortStatus, 'line'>, last: LastSession) {
  const date = day.slice(5);
  const plus = (unpricedTokens ?? 0) > 0 ? '+' : '';
  const spent =
    costUsd !== undefined
      ? `${costUsd.toFixed(2)}${plus} USD on ${date}`
      : tokens !== undefined
        ? `${amount(tokens)} tokens on ${date}`
        : `no cost on ${date}`;
  const { budget, context } = last;
  const parts = [spent];
  if (budget?.unit === 'usd') parts.push(`session ${budget.used.toFixed(2)} of ${round(budget.limit)} USD`);
  if (budget?.unit === 'tokens') parts.push(`session ${amount(budget.used)} of ${amount(budget.limit)} tokens`);
  if (context !== undefined) parts.push(`context ${Math.round(context * 100)}/100`);
  return parts.join(', ');
}

const round = (value: number): string => String(Math.round(value * 100) / 100);

function amount(tokens: number): string {
  if (tokens < 10_000) return String(Math.round(tokens));
  return tokens < 10_000_000 ? `${Math.round(tokens / 1_000)}k` : `${Math.round(tokens / 1_000_000)}M`;
}
