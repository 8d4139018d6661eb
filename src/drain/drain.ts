/**
 * From a fragment to journal events: recognize, normalize, enrich, redact, identify. Pure and total: an odd payload costs
 * itself, with a reason, and nothing else. State and memory of the session are handed in and changed in place.
 */
import type { Agent, Reading } from '../agents/contract.ts';
import { memoryOver } from '../agents/memory.ts';
import { executableOf } from '../enrich/action-facts.ts';
import { type Hash, redact } from '../enrich/redact.ts';
import { type Body, type Event, FACTS, type Facts, type Fields, SPEC_VERSION } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { digest, digestBytes, uuidOf } from '../lib/hash.ts';
import { isFields } from '../lib/read.ts';
import { recognize } from './recognize.ts';
import { ORDINALS, RECENT_PAYLOADS, SEEN_IDS, type SessionState, sessionKey } from './session.ts';

export type Reject =
  | 'empty'
  | 'not-json'
  | 'not-an-object'
  | 'unknown-agent'
  | 'no-session-id'
  | 'bad-session-id'
  | 'no-event-name';

export interface Opening {
  agent: Agent;
  session: string;
  key: string;
  cwd: string | undefined;
}

export interface Drain {
  agents: readonly Agent[];
  hash: Hash;
  /** The session that a fragment belongs to; a new one is pinned to its configuration here. */
  session(opening: Opening, fragment: Fragment): SessionState;
}

export type Drained =
  | { fate: 'journaled'; state: SessionState; events: Event[]; duplicates: number; certainty: number }
  | { fate: 'duplicate'; state: SessionState }
  | { fate: 'rejected'; reason: Reject };

export function drain(fragment: Fragment, deps: Drain): Drained {
  const parsed = parse(fragment.payload);
  if ('reason' in parsed) return { fate: 'rejected', reason: parsed.reason };
  const { fields } = parsed;
  const recognized = recognize(fields, fragment.header.tool, deps.agents);
  if (recognized === undefined) return { fate: 'rejected', reason: 'unknown-agent' };
  const { agent, certainty } = recognized;
  const session = agent.session(fields);
  if (session === undefined) return { fate: 'rejected', reason: 'no-session-id' };
  if (!isId(session)) return { fate: 'rejected', reason: 'bad-session-id' };
  const native = agent.eventName(fields) ?? fragment.header.event;
  if (native === undefined) return { fate: 'rejected', reason: 'no-event-name' };

  const cwd = agent.cwd(fields) ?? fragment.header.cwd;
  const state = deps.session({ agent, session, key: sessionKey(agent.id, session), cwd }, fragment);
  const payloadHash = digestBytes(fragment.payload).toString('hex', 0, 16);
  if (isRepetition(state, payloadHash, fragment)) return { fate: 'duplicate', state };

  const atMs = settleClock(state, fragment);
  const readings = normalize(agent, native, fields, state, deps.hash);
  const seen = seenBy(state);
  const events: Event[] = [];
  let duplicates = 0;
  for (const reading of readings) {
    const event = identify(state, reading, {
      native,
      atMs,
      seen,
      hash: deps.hash,
      traceparent: fragment.header.TRACEPARENT,
    });
    if (event === undefined) duplicates += 1;
    else events.push(event);
  }
  state.arrivedMs = Math.max(state.arrivedMs, fragment.atMs);
  if (events.length === 0 && duplicates > 0) return { fate: 'duplicate', state };
  return { fate: 'journaled', state, events, duplicates, certainty };
}

/** An event that no fragment told: what the drain itself concludes (silence, settlement). */
export function conclude(state: SessionState, body: Body, key: string, atMs: number): Event {
  state.seq += 1;
  return {
    spec_version: SPEC_VERSION,
    event_id: eventId(state, state.session, body.event_type, key),
    event_type: body.event_type,
    timestamp: new Date(atMs).toISOString(),
    source: { tool: state.agent },
    session_id: state.session,
    actor: { type: 'system' },
    data: body.data,
    metadata: { [FACTS]: { v: 1, seq: state.seq, time: 'arrival' } },
  } as Event;
}

function parse(payload: Buffer): { fields: Fields } | { reason: Reject } {
  const text = payload.toString('utf8').replace(/^\uFEFF/, '');
  if (text.trim() === '') return { reason: 'empty' };
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? { fields: value } : { reason: 'not-an-object' };
  } catch {
    // Whatever the parser dislikes, and an input too deep for it: the fragment says so in quarantine.
    return { reason: 'not-json' };
  }
}

const LONGEST_ID = 256;
const isId = (id: string): boolean => id.length <= LONGEST_ID && !/[\u0000-\u001f\u007f]/.test(id);

/** A native id as it may stand in keys: a monstrous one is replaced by its hash, and stays one and the same. */
const boundId = (id: string | undefined): string | undefined =>
  id === undefined || isId(id) ? id : `hash-${digest(id).toString('hex', 0, 16)}`;

/** Two registrations of the same hook: same bytes, same parent process, same moment. */
function isRepetition(state: SessionState, hash: string, fragment: Fragment): boolean {
  const parent = fragment.header.ppid ?? '';
  const twice = state.recent.some(
    ([known, by, atMs]) => known === hash && by === parent && parent !== '' && Math.abs(fragment.atMs - atMs) <= 1_000,
  );
  if (!twice) {
    state.recent.push([hash, parent, fragment.atMs]);
    if (state.recent.length > RECENT_PAYLOADS) state.recent.shift();
  }
  return twice;
}

/**
 * The time of arrival on a clock that does not jump within the session: the wall clock, as long as it goes with the boot
 * clock of the same boot; else the boot clock, carried on from where both agreed.
 */
function settleClock(state: SessionState, fragment: Fragment): number {
  const atMs = Math.floor(fragment.atMs);
  if (fragment.boot === undefined || fragment.upMs === undefined) return atMs;
  const offsetMs = atMs - fragment.upMs;
  const { clock } = state;
  if (clock !== undefined && clock.boot === fragment.boot && Math.abs(offsetMs - clock.offsetMs) > 2_000) {
    return Math.floor(clock.offsetMs + fragment.upMs);
  }
  state.clock = { boot: fragment.boot, offsetMs };
  return atMs;
}

function normalize(agent: Agent, native: string, fields: Fields, state: SessionState, hash: Hash): Reading[] {
  const known = Object.hasOwn(agent.events, native) ? agent.events[native] : undefined;
  if (known) return known.read(fields, memoryOver(state.memory, hash));
  return [{ event_type: `vendor.${agent.id}.${plainName(native)}`, data: {} }];
}

/** An unknown event's name, as far as it is one. */
const plainName = (native: string): string => (/^[A-Za-z0-9_.:-]{1,64}$/.test(native) ? native : 'unnamed');

interface Circumstances {
  native: string;
  atMs: number;
  seen: Set<string>;
  hash: Hash;
  traceparent: string | undefined;
}

/** Gives a reading its envelope and its id; none when the session has had it. */
function identify(state: SessionState, reading: Reading, at: Circumstances): Event | undefined {
  const subagent = boundId(reading.subagent);
  const session = subagent ?? state.session;
  const { key, facts: told, actor, subagent: _subagent, mode, atMs, ...body } = reading;
  const { body: kept, content } = redact(body as Body, at.hash);
  const facts = {
    native: plainName(at.native),
    root: subagent === undefined ? undefined : state.session,
    ...boundFacts(told),
    executable: 'action' in body.data && isFields(body.data.action) ? executableOf(body.data.action) : undefined,
    content,
  };
  const id =
    key === undefined
      ? numberedId(state, session, { ...kept, facts }, at.seen)
      : eventId(state, session, reading.event_type, key);
  if (key !== undefined && at.seen.has(shortOf(id))) return undefined;
  remember(state, at.seen, shortOf(id));
  state.seq += 1;
  const known: Facts = {
    v: 1,
    seq: state.seq,
    time: atMs === undefined ? 'arrival' : 'native',
    ...facts,
    traceparent: state.seq === 1 ? at.traceparent?.slice(0, 64) : undefined,
  };
  return {
    spec_version: SPEC_VERSION,
    event_id: id,
    event_type: kept.event_type,
    timestamp: new Date(atMs ?? at.atMs).toISOString(),
    source: { tool: state.agent },
    session_id: session,
    parent_session_id: subagent === undefined ? undefined : state.session,
    actor: { type: actor ?? 'ai_agent' },
    agent_mode: mode,
    data: kept.data,
    metadata: { [FACTS]: known },
  } as Event;
}

/** What an agent's reader says beside the standard, with every name and id of bounded length. */
function boundFacts(told: Reading['facts']): NonNullable<Reading['facts']> {
  if (told === undefined) return {};
  return {
    ...told,
    turn: boundId(told.turn),
    call: boundId(told.call),
    agent: boundId(told.agent),
    tool: boundId(told.tool),
    model: boundId(told.model),
    provider: boundId(told.provider),
    permission_mode: boundId(told.permission_mode),
    error_type: boundId(told.error_type),
    mcp: told.mcp && { server: boundId(told.mcp.server) ?? '' },
    over: told.over?.map(call => boundId(call) ?? call),
    launches: told.launches && { id: boundId(told.launches.id), agent: boundId(told.launches.agent) },
  };
}

/**
 * Without a native id: what is left of the event after redaction, and its number among equals, so that two equal
 * notifications stay two. Not the payload's hash: the id leaves, and whoever knows the rest of a payload could try out
 * short prompts on it.
 */
function numberedId(state: SessionState, session: string, rest: object, seen: Set<string>): string {
  const likeness = digest(JSON.stringify(rest, withoutHashes)).toString('hex', 0, 8);
  const type = 'event_type' in rest ? String(rest.event_type) : '';
  for (let ordinal = state.ordinals[likeness] ?? 0; ; ordinal += 1) {
    const id = eventId(state, session, type, `${likeness}#${ordinal}`);
    if (seen.has(shortOf(id))) continue;
    state.ordinals[likeness] = ordinal + 1;
    const [oldest, ...others] = Object.keys(state.ordinals);
    if (others.length >= ORDINALS && oldest !== undefined) delete state.ordinals[oldest];
    return id;
  }
}

/** Keyed hashes differ from installation to installation; ids do not. */
const withoutHashes = (name: string, value: unknown): unknown =>
  name === 'hash' || name.endsWith('_hash') ? undefined : value;

const eventId = (state: SessionState, session: string, type: string, key: string): string =>
  uuidOf('otel-hooks/event/1', state.agent, state.session, session, type, key);

/** The ids as a set, for as long as the state itself lives. */
const seenSets = new WeakMap<SessionState, Set<string>>();

function seenBy(state: SessionState): Set<string> {
  const known = seenSets.get(state) ?? new Set(state.seen);
  seenSets.set(state, known);
  return known;
}

function remember(state: SessionState, seen: Set<string>, short: string): void {
  state.seen.push(short);
  seen.add(short);
  const oldest = state.seen.length > SEEN_IDS ? state.seen.shift() : undefined;
  if (oldest !== undefined) seen.delete(oldest);
}

const shortOf = (id: string): string => id.replaceAll('-', '').slice(0, 16);
