import { own } from '../lib/read.ts';
import { leftBy } from './actions.ts';
import { type At, opensWork } from './current-event.ts';
import type { FoldState, KnownTurn } from './state.ts';
import { unendedTurn } from './turns.ts';

/** Is a time told of that is over? Then nothing begins or ends by it. */
export function lateness(state: FoldState, at: At): At['late'] {
  const { event, facts, atMs } = at;
  if (state.segment === undefined || !opensWork(event)) return undefined;
  if (facts.time !== 'transcript') return overtaken(state, at);
  if (at.subagent !== undefined) return isSubagentOver(state, at.subagent, atMs) ? { turn: undefined } : undefined;
  if (
    facts.turn !== undefined &&
    facts.turn === state.turn?.key &&
    (state.turn.ordinal === 0 || atMs >= state.turn.startMs)
  )
    return undefined;
  const turn = facts.turn === undefined ? turnAround(state, atMs) : partOf(state, facts.turn, atMs);
  const isOver =
    (state.endedMs !== undefined && atMs <= state.endedMs) ||
    (turn?.endMs !== undefined && (event.event_type === 'Prompt.Submitted' ? atMs < turn.endMs : atMs <= turn.endMs)) ||
    (facts.turn !== undefined && state.turn !== undefined && atMs < state.turn.startMs);
  return isOver ? { turn } : undefined;
}

/**
 * A hook that another one overtook, though it began earlier: what it tells is part of what that one closed. Without such
 * a part it begins one.
 */
function overtaken(state: FoldState, at: At): At['late'] {
  const { event, facts, atMs, subagent } = at;
  const hasEnded = state.endedMs !== undefined;
  const isRunning =
    subagent === undefined
      ? !hasEnded && (facts.turn === undefined || facts.turn === state.turn?.key)
      : own(state.subagents, subagent) !== undefined;
  if (isRunning) return undefined;
  const isLeft = event.event_type === 'Action.After' && leftBy(state).has(facts.call ?? event.event_id);
  if (subagent !== undefined) return isLeft ? { turn: undefined } : undefined;
  const turn = facts.turn === undefined ? turnAround(state, atMs) : partOf(state, facts.turn, atMs);
  if (isLeft) return { turn };
  if (turn === undefined || (facts.turn === undefined && event.event_type === 'Prompt.Submitted')) return undefined;
  const isBefore =
    (state.endedMs !== undefined && atMs < state.endedMs) ||
    (turn.endMs !== undefined && atMs < turn.endMs) ||
    (state.turn !== undefined && atMs < state.turn.startMs);
  // Alone it is no work of its own, neither in a turn that nobody saw end nor in a session that has.
  const isItsEnd =
    event.event_type === 'Agent.Response' && event.data.final && (hasEnded || unendedTurn(state, turn) !== undefined);
  return isBefore || isItsEnd ? { turn } : undefined;
}

/** It has ended, and its transcript tells of the time before; what still waits for its transcript is told it all. */
function isSubagentOver(state: FoldState, id: string, atMs: number): boolean {
  if (state.endedMs !== undefined && atMs <= state.endedMs) return true;
  if (own(state.subagents, id) !== undefined) return false;
  const endMs = state.subagentRuns.find(([known]) => known === id)?.[2];
  return (
    (endMs !== undefined && atMs <= endMs) ||
    state.held.some(({ unread, span }) => unread && span.kind === 'subagent' && span.id === id)
  );
}

/** Of a turn that went on in another part, the part that ran then. */
function partOf({ turns }: FoldState, key: string, atMs: number): KnownTurn | undefined {
  const parts = turns.filter(known => known.key === key);
  return parts.findLast(({ startMs = atMs }) => startMs <= atMs) ?? parts[0];
}

/** Where an agent has no ids of turns, what its transcript tells belongs to the turn that ran then. */
function turnAround(state: FoldState, atMs: number): KnownTurn | undefined {
  if (state.turn !== undefined && atMs >= state.turn.startMs) return undefined;
  return state.turns.findLast(
    ({ startMs, endMs }) => startMs !== undefined && startMs <= atMs && endMs !== undefined && atMs <= endMs,
  );
}
