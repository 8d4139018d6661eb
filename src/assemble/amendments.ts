import { own } from '../lib/read.ts';
import { endByFacts, endOf, waitedFor } from './action-outcome.ts';
import { decided, decisionOf } from './actions.ts';
import { AMENDED } from './assemble.ts';
import { contentWith } from './content.ts';
import { type At, ends, higher, LONGEST_ACTION_MS } from './current-event.ts';
import type { ActionSpan } from './finished.ts';
import { heldSpan, heldTurn, release } from './holding.ts';
import { sameKey, sessionKey, turnKey } from './keys.ts';
import { record } from './records.ts';
import type { FoldState } from './state.ts';

/** The transcript's word on an event that was told before: it counts while the action is open or held. */
export function amend(state: FoldState, at: At): void {
  const { facts } = at;
  const open = facts.call === undefined ? undefined : own(state.actions, facts.call);
  if (open !== undefined && at.event.event_type === AMENDED && at.event.data.type === 'Action.Before') {
    open.beforeMs = at.atMs;
    open.time = facts.time ?? open.time;
    return;
  }
  if (facts.call !== undefined && correct(state, at, facts.call)) release(state, at.out);
  else record(state, at);
}

/** Changes the held span of an action by what is told now. */
export function correct(state: FoldState, at: At, call: string): boolean {
  const held = state.held.find(each => each.of === `action:${call}`);
  const span = held?.span;
  if (held === undefined || span?.kind !== 'action') return false;
  const { event, facts, atMs } = at;
  const type = event.event_type === AMENDED ? event.data.type : event.event_type;
  const source = facts.time ?? 'arrival';
  if (span.tool === 'unknown' && facts.tool !== undefined) {
    // Some hooks tell the end of a call without its name.
    span.tool = facts.tool;
    span.mcpServer = facts.mcp?.server;
    if (event.event_type === 'Action.Before') span.name = event.data.action.name ?? span.name;
  }
  if (type === 'Action.Before') {
    Object.assign(span, ends(atMs, Math.max(atMs, span.endMs)));
    return true;
  }
  if (event.event_type === 'Action.After') {
    const { outcome: supposed } = span;
    Object.assign(span, endOf(event.data, facts));
    recount(state, span, supposed);
    span.content = contentWith(span.content, event, facts);
    span.risk = higher(span.risk, event.risk);
    const wasSupposed = supposed === 'denied' && span.decision?.basis === 'inferred';
    if (span.outcome === 'denied') span.decision = decisionOf('deny', facts);
    // It was supposed to be refused, since the agent went on; it was not, so the person allowed it.
    else if (wasSupposed) span.decision = { outcome: 'allow', source: 'user', basis: 'inferred' };
    else span.decision = decided(span.decision, event.data, facts);
    if (span.askedMs !== undefined && span.outcome === 'denied')
      span.waitMs = waitedFor(
        span.askedMs,
        { decision: span.decision },
        { outcome: 'denied', endMs: atMs, time: source },
      );
    span.closedBy = event.event_id;
  } else {
    span.exitCode = facts.exit_code ?? span.exitCode;
    // A hook may tell that a call is over, and not how it ended.
    if (span.outcome === 'unknown') {
      const { outcome = span.outcome, errorType } = endByFacts(facts);
      Object.assign(span, { outcome, errorType });
      recount(state, span, 'unknown');
    }
  }
  const native = facts.duration_ms !== undefined && facts.duration_ms >= 0 && facts.duration_ms <= LONGEST_ACTION_MS;
  const startMs = native ? atMs - (facts.duration_ms ?? 0) : Math.min(span.startMs, atMs);
  Object.assign(span, ends(startMs, atMs));
  span.duration = native ? 'native' : source === 'transcript' ? 'transcript' : span.duration;
  if (native && span.askedMs !== undefined && span.decision?.outcome === 'allow') {
    const waitMs = Math.max(0, startMs - span.askedMs);
    const turn = span.parent && heldTurn(state, span.parent);
    if (turn) turn.waitMs += waitMs - (span.waitMs ?? 0);
    span.waitMs = waitMs;
  }
  // The transcript's own word on it is what it waited for.
  if (source === 'transcript') held.unread = false;
  return true;
}

/** What held an action when it closed has counted it already, and as something else. */
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

/** A person was asked about it, which was told after what came of its turn. */
export function askedLate(state: FoldState, at: At, call: string): void {
  const span = state.held.find(({ of }) => of === `action:${call}`)?.span;
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
