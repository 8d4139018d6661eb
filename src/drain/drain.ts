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
import { hexDigest, hexDigestOf, uuidOf } from '../lib/hash.ts';
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
  const { cwd: sentFrom, ppid } = fragment.header;
  const session = agent.session(fields, { cwd: sentFrom, ppid, boot: fragment.boot });
  if (session === undefined) return { fate: 'rejected', reason: 'no-session-id' };
  if (!isId(session)) return { fate: 'rejected', reason: 'bad-session-id' };
  const native = agent.eventName(fields) ?? fragment.header.event ?? agent.eventByShape?.(fields);
  if (native === undefined) return { fate: 'rejected', reason: 'no-event-name' };

  const cwd = agent.cwd(fields) ?? fragment.header.cwd;
  const state = deps.session({ agent, session, key: sessionKey(agent.id, session), cwd }, fragment);
  const payloadHash = hexDigestOf(fragment.payload).slice(0, 32);
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
  const marked = payload.toString('utf8');
  const text = marked.startsWith('\uFEFF') ? marked.slice(1) : marked;
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
  id === undefined || isId(id) ? id : `hash-${hexDigest(id).slice(0, 32)}`;

/** Two registrations of the same hook: same bytes, same parent process, same moment. */
function isRepetition(state: SessionState, hash: string, fragment: Fragment): boolean {
  const parent = fragment.header.ppid ?? '';
  const twice = state.recent.some(
    each => each[0] === hash && each[1] === parent && parent !== '' && Math.abs(fragment.atMs - each[2]) <= 1_000,
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
  const { key, mode, actor } = reading;
  const atMs = isTime(reading.atMs) ? reading.atMs : undefined;
  const subagent = boundId(reading.subagent);
  const session = subagent ?? state.session;
  const { body, content } = redact(reading, at.hash);
  const facts: Facts = {
    v: 1,
    seq: state.seq + 1,
    time: atMs === undefined ? 'arrival' : 'native',
    native: plainName(at.native),
    root: subagent === undefined ? undefined : state.session,
    ...reading.facts,
  };
  bound(facts);
  facts.executable =
    'action' in reading.data && isFields(reading.data.action) ? executableOf(reading.data.action) : undefined;
  facts.content = content;
  const id =
    key === undefined
      ? numberedId(state, session, body, facts, at.seen)
      : eventId(state, session, reading.event_type, key);
  const short = shortOf(id);
  if (key !== undefined && at.seen.has(short)) return undefined;
  remember(state, at.seen, short);
  state.seq += 1;
  facts.traceparent = state.seq === 1 ? at.traceparent?.slice(0, 64) : undefined;
  return {
    spec_version: SPEC_VERSION,
    event_id: id,
    event_type: body.event_type,
    timestamp: new Date(atMs ?? at.atMs).toISOString(),
    source: { tool: state.agent },
    session_id: session,
    parent_session_id: subagent === undefined ? undefined : state.session,
    actor: { type: actor ?? 'ai_agent' },
    agent_mode: mode,
    data: body.data,
    metadata: { [FACTS]: facts },
  } as Event;
}

/** Some payloads state their time as a number, and a number can be anything. */
const isTime = (atMs: number | undefined): boolean => atMs !== undefined && atMs >= 0 && atMs < Date.UTC(10_000, 0);

const named = ['turn', 'call', 'agent', 'tool', 'model', 'provider', 'permission_mode', 'error_type'] as const;

/** Every name and id that an agent's reader says beside the standard is of bounded length; changed in place. */
function bound(facts: Facts): void {
  for (const name of named) {
    const value = facts[name];
    if (value !== undefined && !isId(value)) facts[name] = boundId(value);
  }
  const { mcp, over, launches } = facts;
  if (mcp) facts.mcp = { server: boundId(mcp.server) ?? '' };
  if (over) facts.over = over.map(call => boundId(call) ?? call);
  if (launches) facts.launches = { id: boundId(launches.id), agent: boundId(launches.agent) };
}

/**
 * Without a native id: what is left of the event after redaction, and its number among equals, so that two equal
 * notifications stay two. Not the payload's hash: the id leaves, and whoever knows the rest of a payload could try out
 * short prompts on it.
 */
function numberedId(state: SessionState, session: string, body: Body, facts: Facts, seen: Set<string>): string {
  const { v: _v, seq: _seq, time: _time, ...said } = facts;
  const { event_type: type, data } = body;
  const likeness = hexDigest(JSON.stringify(withoutHashes({ event_type: type, data, facts: said }))).slice(0, 16);
  for (let ordinal = state.ordinals[likeness] ?? 0; ; ordinal += 1) {
    const id = eventId(state, session, type, `${likeness}#${ordinal}`);
    if (seen.has(shortOf(id))) continue;
    count(state.ordinals, likeness, ordinal + 1);
    return id;
  }
}

/** Keys in order of age, for as long as the table itself lives: listing them costs more than all else here. */
const ages = new WeakMap<SessionState['ordinals'], string[]>();

function count(ordinals: SessionState['ordinals'], likeness: string, next: number): void {
  const keys = ages.get(ordinals) ?? Object.keys(ordinals);
  ages.set(ordinals, keys);
  if (ordinals[likeness] === undefined) keys.push(likeness);
  ordinals[likeness] = next;
  const oldest = keys.length > ORDINALS ? keys.shift() : undefined;
  if (oldest !== undefined) delete ordinals[oldest];
}

/** Keyed hashes differ from installation to installation; ids do not. */
function withoutHashes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHashes);
  if (!isFields(value)) return value;
  const kept: { [name: string]: unknown } = {};
  for (const name in value) {
    if (name !== 'hash' && !name.endsWith('_hash')) kept[name] = withoutHashes(value[name]);
  }
  return kept;
}

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

const shortOf = (id: string): string => id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18);
