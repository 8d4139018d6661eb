import type { DataOf } from '../event/event.ts';
import { own } from '../lib/read.ts';
import { endByFacts, endOf, isRefusal, waitedFor } from './action-outcome.ts';
import { decided, decisionOf } from './actions.ts';
import { AMENDED } from './assemble.ts';
import { contentWith } from './content.ts';
import { type At, ends, higher, LONGEST_ACTION_MS } from './current-event.ts';
import type { ActionSpan } from './finished.ts';
import { heldAction, heldSpan, heldTurn, release } from './holding.ts';
import { sameKey, sessionKey, turnKey } from './keys.ts';
import { linkLaunch } from './launches.ts';
import { record } from './records.ts';
import type { FoldState, OpenAction } from './state.ts';

/** Applies the transcript's version of a known event to its action, if the action is open or held. */
export function amend(state: FoldState, at: At): void {
  const { facts } = at;
  const open = facts.call === undefined ? undefined : own(state.actions, facts.call);
  if (open !== undefined && at.event.event_type === AMENDED && at.event.data.type === 'Action.Before') {
    open.beforeMs = at.atMs;
    open.time = facts.time ?? open.time;
    return;
  }
  linkNamed(state, at, open);
  if (facts.call !== undefined && correct(state, at, facts.call)) release(state, at.out);
  else record(state, at);
}

/** A transcript may name the subagent of a call that a hook closed without naming it. */
function linkNamed(state: FoldState, at: At, open: OpenAction | undefined): void {
  const { launches, call } = at.facts;
  if (launches?.id === undefined || call === undefined) return;
  const span = open ?? heldAction(state, call)?.span;
  if (span === undefined) return;
  if ('kind' in span && span.kind !== 'action') return;
  linkLaunch(state, at, call, launches.id, launches.agent, span);
}

/** Corrects the held span of an action with a later event of this action. Returns false if no span is held. */
export function correct(state: FoldState, at: At, call: string): boolean {
  const held = heldAction(state, call);
  const span = held?.span;
  if (held === undefined || span?.kind !== 'action') return false;
  const { event, facts, atMs } = at;
  const type = event.event_type === AMENDED ? event.data.type : event.event_type;
  if (span.tool === 'unknown' && facts.tool !== undefined) {
    // Some hooks report the end of a call without its name.
    span.tool = facts.tool;
    span.mcpServer = facts.mcp?.server;
    if (event.event_type === 'Action.Before') span.name = event.data.action.name ?? span.name;
  }
  if (type === 'Action.Before') {
    Object.assign(span, ends(atMs, Math.max(atMs, span.endMs)));
    return true;
  }
  if (event.event_type === 'Action.After') correctOutcome(state, span, at, event.data);
  else completeOutcome(state, span, facts);
  correctTimes(state, span, at);
  // The span waited for this row of the transcript.
  if (facts.time === 'transcript') held.unread = false;
  return true;
}

/** Replaces an inferred outcome by the one that the closing event states. */
function correctOutcome(state: FoldState, span: ActionSpan, at: At, data: DataOf<'Action.After'>): void {
  const { event, facts, atMs } = at;
  const { outcome: supposed } = span;
  const end = endOf(data, facts);
  const isRefused = isRefusal(end.outcome, span, facts);
  Object.assign(span, isRefused ? { ...end, outcome: 'denied', errorType: undefined } : end);
  recount(state, span, supposed);
  span.content = contentWith(span.content, event, facts);
  span.risk = higher(span.risk, event.risk);
  const wasSupposed = supposed === 'denied' && span.decision?.basis === 'inferred';
  if (span.outcome === 'denied') span.decision = decisionOf('deny', facts);
  // The denial was inferred because the agent went on. The action ran, so the person allowed it.
  else if (wasSupposed) span.decision = { outcome: 'allow', source: 'user', basis: 'inferred' };
  else span.decision = decided(span.decision, data, facts);
  if (span.askedMs !== undefined && span.outcome === 'denied') {
    const refusal = { outcome: 'denied', endMs: atMs, time: facts.time ?? 'arrival' } as const;
    span.waitMs = waitedFor(span.askedMs, { decision: span.decision }, refusal);
  }
  span.closedBy = event.event_id;
}

/** A hook may report the end of a call without its outcome. The facts of a later event supply the outcome. */
function completeOutcome(state: FoldState, span: ActionSpan, facts: At['facts']): void {
  span.exitCode = facts.exit_code ?? span.exitCode;
  if (span.outcome !== 'unknown') return;
  const { outcome = span.outcome, errorType } = endByFacts(facts);
  Object.assign(span, { outcome, errorType });
  recount(state, span, 'unknown');
}

/**
 * A transcript may record the end of a call late. So the earlier of two ends counts: the one that the span has, or this
 * one. If no event stated the end, the call ended with its turn, and its start is computed from its duration.
 */
function correctTimes(state: FoldState, span: ActionSpan, { event, facts, atMs }: At): void {
  const { duration_ms: durationMs } = facts;
  const wasOpen = event.event_type === 'Action.After';
  const native = durationMs !== undefined && durationMs >= 0 && durationMs <= LONGEST_ACTION_MS;
  // The last event of an interrupted call may be older than the event that closed the call.
  if (!native && span.outcome === 'interrupted' && atMs <= span.endMs) return;
  const endMs = Math.min(span.endMs, atMs);
  const ownMs = native ? (wasOpen ? atMs : endMs) - durationMs : span.startMs;
  const startMs = Math.min(ownMs, endMs);
  Object.assign(span, ends(startMs, endMs));
  const isWhole = native && endMs - startMs === durationMs;
  span.duration = isWhole ? 'native' : facts.time === 'transcript' ? 'transcript' : span.duration;
  if (!native || span.askedMs === undefined || span.decision?.outcome !== 'allow') return;
  const waitMs = Math.max(0, startMs - span.askedMs);
  const turn = span.parent && heldTurn(state, span.parent);
  if (turn) turn.waitMs += waitMs - (span.waitMs ?? 0);
  span.waitMs = waitMs;
}

/** Corrects the sums of the turn and the segment, which counted the action under its former outcome. */
function recount(
  state: FoldState,
  { parent, subagent, trace, outcome }: ActionSpan,
  before: ActionSpan['outcome'],
): void {
  if (outcome === before) return;
  const { turn, segment } = state;
  const isOpen =
    turn !== undefined && parent?.kind === 'turn' && sameKey(turnKey(state, turn.key, turn.ordinal), parent);
  const holder = isOpen ? turn : parent && subagent === undefined ? heldSpan(state, parent) : undefined;
  const session =
    segment?.number === trace.segment && state.endedMs === undefined
      ? segment
      : heldSpan(state, { ...sessionKey(state), parts: [String(trace.segment)] });
  const counted = { failure: 'failed', denied: 'denied' } as const;
  for (const each of [holder, session]) {
    if (each === undefined || !('failed' in each)) continue;
    if (before === 'failure' || before === 'denied') each[counted[before]] -= 1;
    if (outcome === 'failure' || outcome === 'denied') each[counted[outcome]] += 1;
  }
}

/** A decision that the transcript states about a call whose hook has ended it. */
export function decidedLate(state: FoldState, at: At, call: string, outcome: 'allow' | 'deny'): void {
  const held = heldAction(state, call);
  if (held?.span.kind !== 'action' || at.facts.decision?.basis !== 'observed') return;
  held.span.decision = decisionOf(outcome, at.facts);
  // The span waited for this decision.
  held.unread = false;
  release(state, at.out);
}

/** A question to a person that arrived after the end of the turn. */
export function askedLate(state: FoldState, at: At, call: string): void {
  const span = heldAction(state, call)?.span;
  if (span?.kind !== 'action' || span.outcome !== 'abandoned') return;
  span.askedMs ??= at.atMs;
  span.decision = decisionOf('ask', at.facts);
  if (span.parent && heldTurn(state, span.parent)?.outcome === 'completed') refused(state, span);
}

export function refused(state: FoldState, span: ActionSpan): void {
  Object.assign(span, { outcome: 'denied', errorType: undefined });
  span.decision = { outcome: 'deny', source: 'user', basis: 'inferred' };
  recount(state, span, 'abandoned');
}
