import { own } from '../lib/read.ts';
import type { At } from './current-event.ts';
import type { SpanKey, Sums, TraceKey, TurnSpan } from './finished.ts';
import { heldSpan, heldTurn } from './holding.ts';
import { mainKey, mainTrace, segmentTrace, sessionKey, subagentKey, turnKey, turnTrace } from './keys.ts';
import type { FoldState, OpenTurn } from './state.ts';

/** The turn of an event: the running one or, for a late event, the held one. */
export function turnOf(state: FoldState, { late }: At): OpenTurn | TurnSpan | undefined {
  if (late === undefined) return state.turn;
  return late.turn && heldTurn(state, turnKey(state, late.turn.key, late.turn.ordinal));
}

export const isCurrent = (state: FoldState, { facts }: At): boolean =>
  facts.turn === undefined || facts.turn === state.turn?.key;

interface Holder {
  usage: Sums;
  startMs: number;
  endMs?: number;
}

interface Home {
  trace: TraceKey;
  key: SpanKey;
  /** The open or held span whose sums include the event. */
  holder: Holder | undefined;
}

/** The parent of an event: the turn or subagent that it names, even if that has ended. */
export function homeOf(state: FoldState, at: At): Home {
  if (at.facts.sum === 'session') return { trace: segmentTrace(state), key: sessionKey(state), holder: undefined };
  if (at.subagent !== undefined) {
    const place = placeOf(state, at);
    return { ...place, holder: own(state.subagents, at.subagent) ?? heldSpan(state, place.key) };
  }
  if (at.late === undefined) return { trace: mainTrace(state), key: mainKey(state), holder: state.turn };
  const { turn } = at.late;
  if (turn === undefined) return { trace: segmentTrace(state), key: sessionKey(state), holder: undefined };
  const key = turnKey(state, turn.key, turn.ordinal);
  return { trace: turnTrace(state, turn), key, holder: heldSpan(state, key) };
}

export function sessionHolder(state: FoldState, trace: TraceKey): Holder | undefined {
  if (state.segment?.number === trace.segment && state.endedMs === undefined) return state.segment;
  return heldSpan(state, { ...sessionKey(state), parts: [String(trace.segment)] });
}

/** Trace and span of an event. */
interface Place {
  trace: TraceKey;
  key: SpanKey;
}

/** The place of an event of this moment: its subagent, else the running turn, else the session. */
export function placeOf(state: FoldState, at: At): Place {
  if (at.subagent !== undefined) {
    const open = own(state.subagents, at.subagent);
    const [, runs = 1, , trace] = state.subagentRuns.find(([id]) => id === at.subagent) ?? [];
    const key = subagentKey(state, at.subagent, open?.ordinal ?? Math.max(0, runs - 1));
    return { trace: (open ? open.trace : trace) ?? mainTrace(state), key };
  }
  if (at.late === undefined && isCurrent(state, at)) return { trace: mainTrace(state), key: mainKey(state) };
  // A late event belongs to the turn that it names.
  const turn = at.late ? at.late.turn : state.turns.findLast(({ key }) => key === at.facts.turn);
  if (at.late === undefined && turn === undefined) return { trace: mainTrace(state), key: mainKey(state) };
  return turn?.segment === state.segment?.number && turn
    ? { trace: turnTrace(state, turn), key: turnKey(state, turn.key, turn.ordinal) }
    : { trace: segmentTrace(state), key: sessionKey(state) };
}
