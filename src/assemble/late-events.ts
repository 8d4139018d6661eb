import { own } from '../lib/read.ts';
import { leftBy } from './actions.ts';
import { type At, opensWork } from './current-event.ts';
import type { FoldState, KnownTurn } from './state.ts';
import { unendedTurn } from './turns.ts';

/**
 * Returns the turn, if known, of an event that arrived late; undefined for other events. A late event opens no span.
 */
export function lateness(state: FoldState, at: At): At['late'] {
  const { event, facts, atMs } = at;
  if (state.segment === undefined || !opensWork(event)) return undefined;
  if (facts.time !== 'transcript') return overtaken(state, at);
  const isLeft = isEndOfLeft(state, at);
  if (at.subagent !== undefined)
    return isLeft || isSubagentOver(state, at.subagent, atMs) ? { turn: undefined } : undefined;
  if (
    facts.turn !== undefined &&
    facts.turn === state.turn?.key &&
    (state.turn.ordinal === 0 || atMs >= state.turn.startMs)
  )
    return undefined;
  const turn = facts.turn === undefined ? turnAround(state, atMs) : partOf(state, facts.turn, atMs);
  if (isAfterEnd(state, at)) return { turn: turn ?? state.turns.at(-1) };
  const isOver =
    isLeft ||
    (state.endedMs !== undefined && atMs <= state.endedMs) ||
    (turn?.endMs !== undefined && (event.event_type === 'Prompt.Submitted' ? atMs < turn.endMs : atMs <= turn.endMs)) ||
    (facts.turn !== undefined && state.turn !== undefined && atMs < state.turn.startMs);
  return isOver ? { turn } : undefined;
}

/** Returns true if the event ends an action that has already ended with its turn or subagent. It opens no span. */
const isEndOfLeft = (state: FoldState, { event, facts }: At): boolean =>
  event.event_type === 'Action.After' && leftBy(state).has(facts.call ?? event.event_id);

/**
 * Some agents write rows shortly after their last hook. Such a row belongs to the ended session. Only a prompt or the
 * start of the session opens the session again.
 */
const isAfterEnd = ({ endedMs }: FoldState, { event: { event_type: type }, atMs }: At): boolean =>
  endedMs !== undefined && atMs > endedMs && type !== 'Prompt.Submitted' && type !== 'Session.Start';

/**
 * Handles a hook that arrived after a later hook. It belongs to the turn that the later hook closed. Without such a
 * turn, it opens a turn.
 */
function overtaken(state: FoldState, at: At): At['late'] {
  const { event, facts, atMs, subagent } = at;
  const hasEnded = state.endedMs !== undefined;
  const isRunning =
    subagent === undefined
      ? !hasEnded && (facts.turn === undefined || facts.turn === state.turn?.key)
      : own(state.subagents, subagent) !== undefined;
  if (isRunning) return undefined;
  const isLeft = isEndOfLeft(state, at);
  if (subagent !== undefined) return isLeft ? { turn: undefined } : undefined;
  const turn = facts.turn === undefined ? turnAround(state, atMs) : partOf(state, facts.turn, atMs);
  if (isLeft) return { turn };
  if (turn === undefined || (facts.turn === undefined && event.event_type === 'Prompt.Submitted')) return undefined;
  const isBefore =
    (state.endedMs !== undefined && atMs < state.endedMs) ||
    (turn.endMs !== undefined && atMs < turn.endMs) ||
    (state.turn !== undefined && atMs < state.turn.startMs);
  // A late final response alone opens no turn, neither after a turn without an observed end nor after the session.
  const isItsEnd =
    event.event_type === 'Agent.Response' && event.data.final && (hasEnded || unendedTurn(state, turn) !== undefined);
  return isBefore || isItsEnd ? { turn } : undefined;
}

/** Returns true if the subagent has ended before this row. A held subagent takes all rows of its transcript. */
function isSubagentOver(state: FoldState, id: string, atMs: number): boolean {
  if (state.endedMs !== undefined && atMs <= state.endedMs) return true;
  if (own(state.subagents, id) !== undefined) return false;
  const endMs = state.subagentRuns.find(([known]) => known === id)?.[2];
  return (
    (endMs !== undefined && atMs <= endMs) ||
    state.held.some(({ unread, span }) => unread && span.kind === 'subagent' && span.id === id)
  );
}

/** Returns the part of a continued turn that ran at that time. */
function partOf({ turns }: FoldState, key: string, atMs: number): KnownTurn | undefined {
  const parts = turns.filter(known => known.key === key);
  return parts.findLast(({ startMs = atMs }) => startMs <= atMs) ?? parts[0];
}

/** Returns the turn that ran at that time, for agents without turn ids. */
function turnAround(state: FoldState, atMs: number): KnownTurn | undefined {
  if (state.turn !== undefined && atMs >= state.turn.startMs) return undefined;
  return state.turns.findLast(
    ({ startMs, endMs }) => startMs !== undefined && startMs <= atMs && endMs !== undefined && atMs <= endMs,
  );
}
