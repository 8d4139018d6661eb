/** Closes the turn, the subagent or the session that an event ends. */
import { own } from '../lib/read.ts';
import { modelError } from './chats.ts';
import type { At } from './current-event.ts';
import { release } from './holding.ts';
import { closeLeftovers, closeSegment } from './segments.ts';
import type { FoldState } from './state.ts';
import { closeSubagent, completeHeld } from './subagents.ts';
import { closeTurn, endHeld, endOfTurn } from './turns.ts';

/** Runs after the event was recorded, because the record needs its span to be open. */
export function closeEnded(state: FoldState, at: At): void {
  const { event_type: type } = at.event;
  if (at.late !== undefined) closeLate(state, at);
  else if (type === 'Session.End' || type === 'Session.Abort') closeSession(state, at, type === 'Session.Abort');
  else closeMainTurn(state, at);
  release(state, at.out);
}

/** A late final response or a late failure is the end of a turn that was held without one. */
function closeLate(state: FoldState, at: At): void {
  const { event, facts, subagent } = at;
  if (event.event_type === 'Model.Failed' && subagent === undefined && !facts.is_attempt)
    endHeld(state, at, { outcome: 'failed', errorType: modelError(event.data, facts) });
  if (event.event_type !== 'Agent.Response') return;
  const isEnd = event.data.final !== false && subagent === undefined;
  if (isEnd || facts.interrupted) endHeld(state, at, endOfTurn(facts));
}

function closeMainTurn(state: FoldState, at: At): void {
  const { event, facts, atMs } = at;
  if (event.event_type === 'Prompt.Submitted') {
    if (event.data.decision?.outcome === 'deny') closeTurn(state, at, 'denied', undefined, atMs);
  } else if (at.subagent !== undefined) return;
  // The standard describes this type as the final answer of the turn, so a missing `final` is true.
  else if (event.event_type === 'Agent.Response' && event.data.final !== false) {
    const { outcome, errorType } = endOfTurn(facts);
    closeTurn(state, at, outcome, errorType, atMs);
  } else if (event.event_type === 'Model.Failed') {
    const errorType = modelError(event.data, facts);
    if (!facts.is_attempt) closeTurn(state, at, 'failed', errorType, atMs);
    else if (state.turn) state.turn.attempt = { errorType, ms: atMs };
  } else if (state.turn && goesOn.has(event.event_type)) {
    delete state.turn.attempt;
  }
}

/** Event types that show that the agent continues after a failed attempt. */
const goesOn: ReadonlySet<string> = new Set([
  'Retry.Triggered',
  'Model.Requested',
  'Model.Responded',
  'Action.Before',
  'Action.After',
  'Agent.Plan.Start',
]);

function closeSession(state: FoldState, at: At, isAborted: boolean): void {
  const { event, atMs } = at;
  if (at.subagent !== undefined) {
    const subagent = own(state.subagents, at.subagent);
    if (subagent) closeSubagent(state, at, subagent, isAborted ? 'abandoned' : 'completed', atMs);
    else if (!isAborted) completeHeld(state, at, at.subagent);
    return;
  }
  if (state.endedMs !== undefined) {
    closeLeftovers(state, at, state.lastMs);
    return;
  }
  const isEnd = event.event_type === 'Session.End' || event.event_type === 'Session.Abort';
  const endReason = (isEnd ? event.data.end_reason : undefined) ?? (isAborted ? 'abandoned' : undefined);
  // A silent session has no observed end. Its last event is its end.
  const endMs = isAborted ? Math.max(state.lastMs, state.segment?.startMs ?? 0) : atMs;
  closeSegment(state, at, endReason, isAborted ? 'abandoned' : undefined, endMs);
  state.endedMs = atMs;
}
