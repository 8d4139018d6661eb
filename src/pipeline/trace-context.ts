/**
 * The trace context for the commands that an agent starts, computed from the stored state of the session and from its
 * events that wait in the inbox. It is a guess about spans that are not sent yet: later events can change the segment.
 */

import type { Agent } from '../agents/contract/contract.ts';
import { memoryOver } from '../agents/shared/memory.ts';
import { opensWork } from '../assemble/current-event.ts';
import { mainTrace } from '../assemble/keys.ts';
import type { Event, Fields } from '../event/event.ts';
import { isFields, own } from '../lib/read.ts';
import type { Pinned } from '../session/session-state.ts';
import { type SessionState, sessionKey } from '../session/session-state.ts';
import type { Store } from '../store/store.ts';
import { wireSpanId, wireTraceId } from '../telemetry/spans.ts';
import { recalled } from './rebuild.ts';
import { isSampled } from './sampling.ts';

export interface Asked {
  agent: Pick<Agent, 'id' | 'events' | 'eventName' | 'session'>;
  /** The session of the agent; a subagent may have one of its own. */
  session: string;
  /** The action whose command starts. Without it, the context is that of the session. */
  call?: string | undefined;
  /** The hook that asks: its payload, and when its process started. */
  hook?: { payload: Fields; atMs: number } | undefined;
}

type Readable = Pick<Store, 'session' | 'sessions' | 'take' | 'ledger' | 'restart'>;

/** The most sessions in which a subagent is looked for. */
const MOST_SEARCHED = 64;

/** If more waits, the stored state alone decides. */
const MOST_WAITING = { fragments: 500, bytes: 8 * 1024 * 1024 };

/** The agent starts all hooks of one event at the same moment. A busy machine runs some of them later. */
const TOGETHER_MS = 2_000;

/**
 * Returns a `traceparent` of W3C Trace Context; undefined if the span would be in no trace. `pinned`: the configuration
 * of a session that is not stored yet.
 */
export function traceContextOf(
  store: Readable | undefined,
  { agent, session, call, hook }: Asked,
  pinned: Pick<Pinned, 'sampler' | 'caller' | 'shape' | 'turns'>,
): string | undefined {
  const { state, waiting } = store === undefined ? nothing : knownOf(store, agent, session);
  const { fold } = state ?? {};
  const root = fold?.session ?? session;
  const own = state?.pinned ?? pinned;
  // The trace of a turn does not exist before the turn.
  if (own.shape === 'turn' && (call === undefined || fold?.turn === undefined)) return undefined;
  const run = runNow(fold, waiting, hook && { atMs: hook.atMs, readings: readingsIn(agent, hook.payload) });
  const segment = run?.segment ?? 0;
  const usual = { agent: agent.id, session: root, segment };
  const trace = fold !== undefined && call !== undefined && own.shape === 'turn' ? mainTrace(fold) : usual;
  const key =
    call === undefined
      ? ({ kind: 'session', session: root, parts: [String(segment)] } as const)
      : ({ kind: 'action', session, parts: [call] } as const);
  const facts = { agent: agent.id, caller: own.caller, turns: own.turns };
  const flags = isSampled(own.sampler, { agent: agent.id, session: root }) ? '01' : '00';
  return `00-${wireTraceId(trace, facts)}-${wireSpanId(key, trace, facts)}-${flags}`;
}

interface Known {
  state: SessionState | undefined;
  waiting: Moment[];
}

/** One hook: its events, and when it arrived. */
interface Moment {
  readings: Reading[];
  atMs: number;
}

type Reading = Pick<Event, 'event_type' | 'data'>;

const nothing: Known = { state: undefined, waiting: [] };

/** Reads the state of the root session and its waiting hooks again if a round was committed meanwhile. */
function knownOf(store: Readable, agent: Asked['agent'], session: string): Known {
  for (let tries = 0; ; tries += 1) {
    const { n } = store.ledger();
    const state = stateOf(store, agent.id, session);
    const waiting = waitingOf(store, agent, state?.fold.session ?? session);
    if (store.ledger().n === n || tries === 2) return { state, waiting };
    // Fragments that were taken once are not offered again otherwise.
    store.restart();
  }
}

function waitingOf(store: Readable, agent: Asked['agent'], session: string): Moment[] {
  const { fragments, more } = store.take(MOST_WAITING);
  if (more) return [];
  return fragments.flatMap(({ header, payload: bytes, atMs }) => {
    const payload = header.tool === agent.id ? fieldsOf(bytes) : undefined;
    if (payload === undefined || agent.session(payload, { cwd: header.cwd }) !== session) return [];
    return [{ readings: readingsIn(agent, payload), atMs }];
  });
}

function fieldsOf(bytes: Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
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

function readingsIn({ events, eventName }: Asked['agent'], payload: Fields): Reading[] {
  const event = own(events, eventName(payload) ?? '');
  const memory = memoryOver({}, () => '');
  return [...(event?.read(payload, memory) ?? [])] as Reading[];
}

/** The part of a session from one start to its end, which is one segment or more. */
interface Run {
  segment: number;
  startMs: number;
  startReason: string | undefined;
  isOver: boolean;
}

/** The run after the stored events, the waiting ones, and the event of the hook that asks (`begin` in segments.ts). */
function runNow(fold: SessionState['fold'] | undefined, waiting: Moment[], asked: Moment | undefined): Run | undefined {
  let run: Run | undefined = fold?.segment && {
    segment: fold.segment.number,
    startMs: fold.segment.startMs,
    startReason: fold.segment.startReason,
    isOver: fold.endedMs !== undefined,
  };
  for (const moment of waiting) run = after(run, moment);
  if (asked === undefined) return run;
  const start = startIn(asked);
  // The hook that records the same event was faster.
  const isRecorded =
    start !== undefined &&
    run?.isOver === false &&
    run.startReason === start.reason &&
    run.startMs >= asked.atMs - TOGETHER_MS;
  return isRecorded ? run : after(run, asked);
}

function after(run: Run | undefined, moment: Moment): Run | undefined {
  const { readings, atMs } = moment;
  const start = startIn(moment);
  const isAwake = start !== undefined || readings.some(reading => opensWork(reading as Event));
  if (run === undefined || (run.isOver ? isAwake : start !== undefined && start.reason !== 'new'))
    run = {
      segment: run === undefined ? 0 : run.segment + 1,
      startMs: atMs,
      startReason: start?.reason,
      isOver: false,
    };
  return readings.some(({ event_type: type }) => type === 'Session.End') ? { ...run, isOver: true } : run;
}

function startIn({ readings }: Moment): { reason: string | undefined } | undefined {
  for (const reading of readings as Event[])
    if (reading.event_type === 'Session.Start') return { reason: reading.data.start_reason };
  return undefined;
}
