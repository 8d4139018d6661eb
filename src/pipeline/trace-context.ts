/**
 * The trace context for the commands that an agent starts, computed from the stored state of the session. It is a guess
 * about spans that are not sent yet: events that are not delivered can change the segment. The trace id is that of the
 * session in any case.
 */

import type { Agent } from '../agents/contract/contract.ts';
import { memoryOver } from '../agents/shared/memory.ts';
import { mainTrace, segmentTrace } from '../assemble/keys.ts';
import type { Fields } from '../event/event.ts';
import { own } from '../lib/read.ts';
import type { Pinned } from '../session/session-state.ts';
import { type SessionState, sessionKey } from '../session/session-state.ts';
import type { Store } from '../store/store.ts';
import { wireSpanId, wireTraceId } from '../telemetry/spans.ts';
import { recalled } from './rebuild.ts';
import { isSampled } from './sampling.ts';

export interface Asked {
  agent: Pick<Agent, 'id' | 'events' | 'eventName'>;
  /** The session of the agent; a subagent may have one of its own. */
  session: string;
  /** The action whose command starts. Without it, the context is that of the session. */
  call?: string | undefined;
  /** The payload of the hook that asks. */
  payload?: Fields | undefined;
}

/** The most sessions in which a subagent is looked for. */
const MOST_SEARCHED = 64;

/**
 * Returns a `traceparent` of W3C Trace Context; undefined if the span would be in no trace. `pinned`: the configuration
 * of a session that is not stored yet.
 */
export function traceContextOf(
  store: Pick<Store, 'session' | 'sessions'> | undefined,
  { agent, session, call, payload }: Asked,
  pinned: Pick<Pinned, 'sampler' | 'caller' | 'shape' | 'turns'>,
): string | undefined {
  const known = store === undefined ? undefined : stateOf(store, agent.id, session);
  const { fold } = known ?? {};
  const root = fold?.session ?? session;
  const own = known?.pinned ?? pinned;
  // The trace of a turn does not exist before the turn.
  if (own.shape === 'turn' && (call === undefined || fold?.turn === undefined)) return undefined;
  const segment = segmentAfter(fold, payload === undefined ? undefined : startIn(agent, payload));
  const usual = { agent: agent.id, session: root, segment };
  const trace =
    fold === undefined || call === undefined ? usual : own.shape === 'turn' ? mainTrace(fold) : segmentTrace(fold);
  const key =
    call === undefined
      ? ({ kind: 'session', session: root, parts: [String(segment)] } as const)
      : ({ kind: 'action', session, parts: [call] } as const);
  const facts = { agent: agent.id, caller: own.caller, turns: own.turns };
  const flags = isSampled(own.sampler, { agent: agent.id, session: root }) ? '01' : '00';
  return `00-${wireTraceId(trace, facts)}-${wireSpanId(key, trace, facts)}-${flags}`;
}

/** Returns the state of the root session. */
function stateOf(store: Pick<Store, 'session' | 'sessions'>, agent: string, session: string): SessionState | undefined {
  const known = recalled(store, sessionKey(agent, session));
  if (known !== undefined) return known;
  for (const key of store.sessions().slice(-MOST_SEARCHED)) {
    const state = recalled(store, key);
    if (state?.agent === agent && own(state.fold.subagents, session) !== undefined) return state;
  }
  return undefined;
}

/** The reason with which a session starts, if the payload reports a start. */
function startIn({ events, eventName }: Asked['agent'], payload: Fields): { reason: string | undefined } | undefined {
  const event = own(events, eventName(payload) ?? '');
  for (const reading of event?.read(
    payload,
    memoryOver({}, () => ''),
  ) ?? [])
    if (reading.event_type === 'Session.Start') return { reason: reading.data.start_reason };
  return undefined;
}

/** The segment after the event that the state does not have yet (`begin` in assemble/segments.ts). */
function segmentAfter(
  fold: SessionState['fold'] | undefined,
  start: { reason: string | undefined } | undefined,
): number {
  if (fold?.segment === undefined) return 0;
  const { number } = fold.segment;
  if (start === undefined) return number;
  return fold.endedMs === undefined && start.reason === 'new' ? number : number + 1;
}
