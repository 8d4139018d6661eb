/**
 * Head sampling by session: the trace id of a session's first segment decides, so that all segments of a session share
 * the decision. On request, spans of a session that is not sampled are kept with all spans above them.
 *
 * A span is sent when it closes, often before the spans below it close: a turn may end while a subagent of it works. So
 * a closed span above an open one waits in the state of the session until the open one has closed.
 */
import type { FinishedSpan, SpanKey } from '../assemble/finished.ts';
import { isIn, launchKey } from '../assemble/launches.ts';
import type { FoldState, Keeping } from '../assemble/state.ts';
import type { Sampler } from '../config/config.ts';
import type { Kept } from '../config/words.ts';
import type { SessionState } from '../session/session-state.ts';
import { traceIdOf } from '../telemetry/ids.ts';
import { spansToSend } from '../telemetry/spans.ts';
import type { SessionOutput } from './session-in-round.ts';

/** The spans of one round in a session that is not sampled. */
export interface Choice {
  /** Names of spans that closed in this round. */
  kept: ReadonlySet<string>;
  /** Names of spans that wait for the spans below them. */
  undecided: ReadonlySet<string>;
  /** Spans that closed in an earlier round and were decided in this one. */
  earlier: readonly { span: FinishedSpan; isKept: boolean }[];
}

/** Limits of the state of a session. Beyond them, a kept span may lack the spans above it. */
const MOST_WAITING = 64;
const MOST_ABOVE = 512;

/** Decides as the ratio sampler of the standard does. */
export function isSampled({ ratio }: Sampler, { agent, session }: Pick<SessionState, 'agent' | 'session'>): boolean {
  if (ratio >= 1) return true;
  if (ratio <= 0) return false;
  const id = traceIdOf({ agent, session, segment: 0 });
  let sum = 0;
  for (let i = 0; i < 4; i += 1) sum = (sum ^ Number.parseInt(id.slice(i * 8, i * 8 + 8), 16)) >>> 0;
  return sum < Math.floor(ratio * 0xffffffff);
}

/** The spans of a session that a destination gets, and the number of those that it does not get. */
export function sampledSpans(
  { spans, choice, state: { agent, session, pinned } }: SessionOutput,
  sampler: Sampler,
): { spans: readonly FinishedSpan[]; unsampled: number } {
  const all = spansToSend(spans, pinned);
  if (isSampled(sampler, { agent, session })) return { spans: all, unsampled: 0 };
  if (choice === undefined) return { spans: [], unsampled: all.length };
  const earlier = choice.earlier.filter(({ span }) => spansToSend([span], pinned).length > 0);
  const late = earlier.flatMap(({ span, isKept }) => (isKept ? [span] : []));
  const kept = all.filter(({ key }) => choice.kept.has(nameOf(key)));
  const undecided = all.filter(({ key }) => choice.undecided.has(nameOf(key)));
  return {
    spans: [...late, ...kept],
    unsampled: all.length - kept.length - undecided.length + earlier.length - late.length,
  };
}

export const nameOf = ({ kind, session, parts }: SpanKey): string => JSON.stringify([kind, session, ...parts]);

/** Decides about the spans that a round closed, and notes in the fold what later rounds need. */
export function chosen(fold: FoldState, spans: readonly FinishedSpan[], keep: readonly Kept[]): Choice {
  const { above: before = [], closed: waited = [] } = fold.keeping ?? {};
  const closed = new Map([...waited, ...spans].map(span => [nameOf(span.key), span]));
  const above = new Set(before);
  for (const [name, span] of closed) if (above.has(name) || isKeptBy(span, keep)) markAbove(span, closed, above);
  const live = liveIn(fold, closed);
  const isKept = (name: string, span: FinishedSpan): boolean => above.has(name) || isKeptBy(span, keep);
  const waiting = [...closed].flatMap(([name, span]) => (!isKept(name, span) && live.has(name) ? [span] : []));
  const kept = waiting.slice(-MOST_WAITING);
  note(fold, { above: [...above].filter(name => !closed.has(name)).slice(-MOST_ABOVE), closed: kept });
  const undecided = new Set(kept.map(({ key }) => nameOf(key)));
  return {
    kept: new Set(spans.flatMap(span => (isKept(nameOf(span.key), span) ? [nameOf(span.key)] : []))),
    undecided,
    earlier: waited.flatMap(span => {
      const name = nameOf(span.key);
      return undecided.has(name) ? [] : [{ span, isKept: isKept(name, span) }];
    }),
  };
}

function note(fold: FoldState, keeping: Keeping): void {
  if (keeping.above.length + keeping.closed.length > 0) fold.keeping = keeping;
  else delete fold.keeping;
}

const kinds: { readonly [K in Kept]: (span: FinishedSpan) => boolean } = {
  denials: span => (span.kind === 'action' || span.kind === 'turn') && span.outcome === 'denied',
  failures: span =>
    span.errorType !== undefined ||
    (span.kind === 'action' && span.outcome === 'failure') ||
    (span.kind === 'turn' && span.outcome === 'failed'),
  risk: span => span.kind === 'action' && (span.risk?.level === 'high' || span.risk?.level === 'critical'),
};

const isKeptBy = (span: FinishedSpan, keep: readonly Kept[]): boolean => keep.some(kind => kinds[kind](span));

/** Marks the spans above, up to the first one that is open. An open span marks those above it when it closes. */
function markAbove(span: FinishedSpan, closed: ReadonlyMap<string, FinishedSpan>, above: Set<string>): void {
  for (let at: FinishedSpan | undefined = span; at?.parent !== undefined; ) {
    const name = nameOf(at.parent);
    if (above.has(name)) return;
    above.add(name);
    at = closed.get(name);
  }
}

/** Returns the names of the spans above those that are not closed, or closed and not settled. */
function liveIn(fold: FoldState, closed: ReadonlyMap<string, FinishedSpan>): Set<string> {
  const live = new Set<string>();
  const add = (parent: SpanKey | undefined): void => {
    for (let key = parent; key !== undefined; ) {
      const name = nameOf(key);
      if (live.has(name)) return;
      live.add(name);
      key = closed.get(name)?.parent;
    }
  };
  for (const { parent } of Object.values(fold.actions)) add(parent);
  for (const { span } of fold.held) add(span.parent);
  // A call may end before the subagent begins that it launched.
  const runs = new Set(fold.subagentRuns.map(([id]) => id));
  const launches = fold.launches.filter(({ subagent }) => !runs.has(subagent));
  if (fold.endedMs === undefined)
    for (const launch of [...launches, ...(fold.endedLaunches ?? [])]) add(launchKey(launch));
  for (const { launch, trace, fallback } of Object.values(fold.subagents)) {
    add(fallback);
    if (launch !== undefined && (trace === undefined || isIn(launch, trace))) add(launchKey(launch));
  }
  return live;
}
