import type { SpanKey, TraceKey } from './finished.ts';
import type { FoldState, KnownTurn, OpenTurn, Segment } from './state.ts';

export const sameKey = (one: SpanKey, other: SpanKey): boolean =>
  one.session === other.session && one.parts.join('\0') === other.parts.join('\0');

export const mainKey = (state: FoldState): SpanKey =>
  state.turn ? turnKey(state, state.turn.key, state.turn.ordinal) : sessionKey(state);

export const segmentTrace = (state: FoldState): TraceKey => ({
  agent: state.agent,
  session: state.session,
  segment: state.segment?.number ?? 0,
});

export const turnTrace = (
  state: FoldState,
  { segment, key, ordinal }: Pick<KnownTurn, 'segment' | 'key' | 'ordinal'>,
): TraceKey =>
  state.shape === 'turn'
    ? { agent: state.agent, session: state.session, segment, turn: `${key}\0${ordinal}` }
    : { agent: state.agent, session: state.session, segment };

/** The trace of the main agent's present work. */
export const mainTrace = (state: FoldState): TraceKey =>
  state.turn ? turnTrace(state, runningTurn(state.turn, state.segment)) : segmentTrace(state);

export const runningTurn = ({ key, ordinal }: OpenTurn, segment: Segment | undefined) => ({
  key,
  ordinal,
  segment: segment?.number ?? 0,
});

export const sameTrace = (one: TraceKey, other: TraceKey): boolean =>
  one.session === other.session && one.segment === other.segment && one.turn === other.turn;

export const sessionKey = (state: FoldState): SpanKey => ({
  kind: 'session',
  session: state.session,
  parts: [String(state.segment?.number ?? 0)],
});

export const chatKey = (session: string, id: string): SpanKey => ({ kind: 'chat', session, parts: [id] });

export const turnKey = (state: FoldState, key: string, ordinal: number): SpanKey => ({
  kind: 'turn',
  session: state.session,
  parts: [key, String(ordinal)],
});

export const subagentKey = (state: FoldState, id: string, ordinal: number): SpanKey => ({
  kind: 'subagent',
  session: state.session,
  parts: [id, String(ordinal)],
});
