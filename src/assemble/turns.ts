import type { Facts } from '../event/event.ts';
import { closeActions } from './actions.ts';
import { refused } from './amendments.ts';
import { closeRequests } from './chats.ts';
import { type At, begunBy, clockFor, clockOf, ends, higher, opensWork, originOf } from './current-event.ts';
import type { ActionSpan, Link, TurnSpan } from './finished.ts';
import { heldSession, heldTurn, hold, release } from './holding.ts';
import { runningTurn, sameKey, sessionKey, turnKey, turnTrace } from './keys.ts';
import { closePlan } from './plans.ts';
import { CUT_WITHIN, closeSegment, cutSegment, isLarge, openSegment, previousSegment } from './segments.ts';
import type { FoldState, KnownTurn, OpenTurn } from './state.ts';

const KNOWN_TURNS = 64;

/** Opens, continues or changes the turn of the main agent. */
export function moveTurn(state: FoldState, at: At): void {
  const { event, facts } = at;
  if (state.endedMs !== undefined || !opensWork(event)) return;
  const prompt = event.event_type === 'Prompt.Submitted';
  if (facts.turn === undefined && !prompt) {
    cutTurn(state, at);
    return;
  }
  const key = facts.turn ?? event.event_id;
  if (state.turn?.key === key) {
    // Another hook of the same moment may have arrived before the prompt.
    if (prompt && facts.time !== 'transcript' && at.atMs < state.turn.startMs) beganAt(state, state.turn, at);
    cutTurn(state, at);
    return;
  }
  // The end of the turn was not observed, so the time of its last event is its end.
  closeTurn(state, at, 'unfinished', undefined, Math.max(state.lastMs, state.turn?.startMs ?? 0));
  cutSegment(state, at);
  openTurn(state, at, key);
}

function beganAt(state: FoldState, turn: OpenTurn, { atMs, event }: At): void {
  turn.startMs = atMs;
  turn.mode = event.agent_mode;
  const known = state.turns.findLast(({ key }) => key === turn.key);
  if (known) known.startMs = atMs;
}

function openTurn(state: FoldState, at: At, key: string): void {
  const segment = state.segment;
  const known = state.turns.findLast(turn => turn.key === key);
  const links: Link[] = [];
  if (known) {
    links.push({ trace: turnTrace(state, known), span: turnKey(state, key, known.ordinal), type: 'continued_turn' });
  }
  const before = state.turns.at(-1);
  if (state.shape === 'turn' && before !== undefined && before !== known)
    links.push({
      trace: turnTrace(state, before),
      span: turnKey(state, before.key, before.ordinal),
      type: 'previous_turn',
    });
  const ordinal = known ? known.ordinal + 1 : 0;
  state.turns.push({ key, ordinal, segment: segment?.number ?? 0, startMs: at.atMs, endMs: undefined });
  if (state.turns.length > KNOWN_TURNS) state.turns.shift();
  state.turn = {
    key,
    ordinal,
    startMs: at.atMs,
    time: clockOf(at),
    prompts: 0,
    promptLength: undefined,
    actions: 0,
    denied: 0,
    failed: 0,
    usage: { calls: 0 },
    waitMs: 0,
    risk: undefined,
    ...originOf(at.event),
    links,
  };
}

/**
 * Continues a turn in the next segment if the turn is too large for one trace and none of its actions is open. Only
 * events of hooks cut a turn: events of a transcript are late and join the turn that they name.
 */
function cutTurn(state: FoldState, at: At): void {
  const { segment, turn } = state;
  const isBeginning = at.event.event_type === 'Action.Before' && at.facts.time !== 'transcript';
  if (
    segment === undefined ||
    turn === undefined ||
    state.shape === 'turn' ||
    !isBeginning ||
    !isLarge(segment, CUT_WITHIN)
  )
    return;
  if (Object.keys(state.actions).length > 0 || Object.keys(state.subagents).length > 0) return;
  closeTurn(state, at, 'continued', undefined, Math.max(state.lastMs, turn.startMs));
  const startReason = segment.startReason;
  closeSegment(state, at, 'segment', undefined, Math.max(state.lastMs, segment.startMs));
  state.segment = openSegment(state, segment.number + 1, at, startReason, [previousSegment(state)]);
  openTurn(state, at, turn.key);
}

/** How a turn ended whose end was not observed. */
function unobservedEnd({ attempt, isEndless }: OpenTurn): Partial<TurnSpan> {
  if (attempt !== undefined) return { outcome: 'failed', errorType: attempt.errorType, endMs: attempt.ms };
  return { outcome: isEndless ? undefined : 'unfinished' };
}

export function closeTurn(
  state: FoldState,
  at: At,
  stated: TurnSpan['outcome'],
  statedError: string | undefined,
  lastMs: number,
): void {
  const turn = state.turn;
  const segment = state.segment;
  if (turn === undefined || segment === undefined) return;
  const unobserved = stated === 'unfinished' ? unobservedEnd(turn) : { outcome: stated };
  const { outcome, errorType = statedError, endMs = lastMs } = unobserved;
  // The agent continued or finished without the action about which a person was asked, so the person denied it.
  const wentOn = outcome === 'completed' || at.event.event_type === 'Prompt.Submitted' || opensWork(at.event);
  closeActions(state, at, action => action.subagent === undefined, endMs, wentOn);
  closePlan(state, at, state.session, endMs);
  closeRequests(state, at, state.session, endMs, outcome === 'completed' || outcome === 'continued');
  for (const held of state.held) {
    if (held.span.kind === 'subagent' && held.unlinked) held.unlinked = false;
  }
  state.turn = undefined;
  const known = state.turns.findLast(each => each.key === turn.key);
  if (known) known.endMs = Math.max(endMs, turn.startMs);
  segment.turns += 1;
  segment.risk = higher(segment.risk, turn.risk);
  hold(state, at, {
    of: `turn:${turn.key}:${turn.ordinal}`,
    unread: state.settles.turn === 'transcript',
    unlinked: false,
    span: {
      kind: 'turn',
      trace: turnTrace(state, runningTurn(turn, segment)),
      key: turnKey(state, turn.key, turn.ordinal),
      // With `trace.shape: turn` the turn is the root of its trace.
      parent: state.shape === 'turn' ? undefined : sessionKey(state),
      ...ends(turn.startMs, endMs),
      duration: clockFor(state, at, turn.time, endMs),
      links: turn.links,
      // A completed turn has recovered from its error.
      errorType: errorType ?? (outcome === 'completed' ? undefined : turn.errorType),
      ...begunBy(turn),
      risk: turn.risk,
      closedBy: at.event.event_id,
      outcome,
      turn: turn.key,
      ordinal: turn.ordinal,
      number: segment.turns,
      prompts: turn.prompts,
      promptLength: turn.promptLength,
      isFollowup: turn.isFollowup,
      content: turn.content,
      actions: turn.actions,
      denied: turn.denied,
      failed: turn.failed,
      usage: turn.usage,
      complete: true,
      waitMs: turn.waitMs,
      retries: turn.retries,
      loop: turn.loop,
      budget: turn.budget,
      context: turn.context,
      agent: turn.agent,
      decision:
        outcome === 'denied'
          ? { outcome: 'deny', source: at.facts.decision?.source ?? 'unknown', basis: 'observed' }
          : undefined,
    },
  });
  release(state, at.out);
}

/**
 * Opens a turn whose prompt was written after the end of its session was reported, and holds it. Returns undefined for
 * other events.
 */
export function heldLateTurn(state: FoldState, at: At): KnownTurn | undefined {
  const { event, facts, atMs, subagent } = at;
  const { segment, endedMs } = state;
  if (event.event_type !== 'Prompt.Submitted' || subagent !== undefined || facts.time !== 'transcript')
    return undefined;
  if (segment === undefined || endedMs === undefined || atMs < segment.startMs || atMs > endedMs) return undefined;
  const session = heldSession(state, segment.number);
  if (session === undefined || state.settles.turn !== 'transcript' || state.shape === 'turn') return undefined;
  openTurn(state, at, facts.turn ?? event.event_id);
  closeTurn(state, at, 'unfinished', undefined, endedMs);
  session.turns = segment.turns;
  return state.turns.at(-1);
}

/** A held turn whose end was not observed. */
export function unendedTurn(state: FoldState, turn: KnownTurn): TurnSpan | undefined {
  const span = heldTurn(state, turnKey(state, turn.key, turn.ordinal));
  return (span?.outcome ?? 'unfinished') === 'unfinished' ? span : undefined;
}

/** Ends a held turn by a late event that states how the turn ended. */
export function endHeld(state: FoldState, at: At, end: Pick<TurnSpan, 'outcome' | 'errorType'>): void {
  const turn = at.late?.turn;
  const span = turn && unendedTurn(state, turn);
  if (turn === undefined || span === undefined) return;
  for (const { span: left } of state.held) {
    if (left.kind !== 'action' || left.closedBy !== span.closedBy || left.parent === undefined) continue;
    if (sameKey(left.parent, span.key)) endWith(state, left, at, end.outcome === 'completed');
  }
  span.outcome = end.outcome;
  span.errorType = end.errorType;
  span.closedBy = at.event.event_id;
  Object.assign(span, ends(span.startMs, at.atMs));
  turn.endMs = span.endMs;
  if (span.duration !== clockOf(at)) span.duration = 'arrival';
}

/**
 * Ends an action that was open at the end of its turn together with the turn. If a person was asked and the turn
 * completed, the person denied the action.
 */
function endWith(state: FoldState, span: ActionSpan, { event, atMs }: At, wentWell: boolean): void {
  Object.assign(span, ends(span.startMs, atMs));
  span.closedBy = event.event_id;
  if (span.askedMs !== undefined && span.outcome === 'abandoned' && wentWell) refused(state, span);
}

/** The outcome of a turn, as its final response states it. */
export function endOfTurn({ interrupted, error_type }: Partial<Facts>): Pick<TurnSpan, 'outcome' | 'errorType'> {
  const errorType = interrupted ? 'interrupted' : error_type;
  return { outcome: interrupted ? 'interrupted' : errorType === undefined ? 'completed' : 'failed', errorType };
}
