import type { TranscriptReading } from '../agents/contract/contract.ts';
import type { Body, Facts } from '../event/event.ts';
import { hexDigest, uuidOf } from '../lib/hash.ts';
import { isFields } from '../lib/read.ts';
import { ORDINALS, SEEN_IDS, type SessionState } from '../session/session-state.ts';

/** The short form of the id that the reading would have in another session. */
export function idElsewhere(agent: string, session: string, reading: TranscriptReading): string {
  const within = boundId(reading.subagent) ?? session;
  return shortOf(uuidOf('otel-hooks/event/1', agent, session, within, reading.event_type, reading.key));
}

/** The short forms of all ids that a journal holds. */
export function idsIn(journal: string): Set<string> {
  const found = new Set<string>();
  for (const [, id = ''] of journal.matchAll(/"event_id":"([0-9a-f-]{36})"/g)) found.add(shortOf(id));
  return found;
}

const LONGEST_ID = 256;

export const isId = (id: string): boolean => id.length <= LONGEST_ID && !/[\u0000-\u001f\u007f]/.test(id);

/** A native id for use in keys. An overlong id is replaced by its hash. */
export const boundId = (id: string | undefined): string | undefined =>
  id === undefined || isId(id) ? id : `hash-${hexDigest(id).slice(0, 32)}`;

/**
 * The id of an event without a native id: computed from the event after redaction and its number among equal events, so
 * that two equal notifications stay two. The payload's hash is not used, because the id leaves the machine and a short
 * prompt could be guessed from it.
 */
export function numberedId(state: SessionState, session: string, body: Body, facts: Facts, seen: Set<string>): string {
  const { v: _v, seq: _seq, time: _time, ...rest } = facts;
  const { event_type: type, data } = body;
  const likeness = hexDigest(JSON.stringify(withoutHashes({ event_type: type, data, facts: rest }))).slice(0, 16);
  for (let ordinal = state.ordinals[likeness] ?? 0; ; ordinal += 1) {
    const id = eventId(state, session, type, `${likeness}#${ordinal}`);
    if (seen.has(shortOf(id))) continue;
    count(state.ordinals, likeness, ordinal + 1);
    return id;
  }
}

/** The keys in order of age, cached as long as the table lives, because listing them is slow. */
const ages = new WeakMap<SessionState['ordinals'], string[]>();

function count(ordinals: SessionState['ordinals'], likeness: string, next: number): void {
  const keys = ages.get(ordinals) ?? Object.keys(ordinals);
  ages.set(ordinals, keys);
  if (ordinals[likeness] === undefined) keys.push(likeness);
  ordinals[likeness] = next;
  const oldest = keys.length > ORDINALS ? keys.shift() : undefined;
  if (oldest !== undefined) delete ordinals[oldest];
}

/** Removes keyed hashes: they differ between installations, and ids must not. */
function withoutHashes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHashes);
  if (!isFields(value)) return value;
  const kept: { [name: string]: unknown } = {};
  for (const name in value) {
    if (name !== 'hash' && !name.endsWith('_hash')) kept[name] = withoutHashes(value[name]);
  }
  return kept;
}

export const eventId = (state: SessionState, session: string, type: string, key: string): string =>
  uuidOf('otel-hooks/event/1', state.agent, state.session, session, type, key);

/** The remembered ids as a set. It lives as long as the state object. */
const seenSets = new WeakMap<SessionState, Set<string>>();

export function seenBy(state: SessionState): Set<string> {
  let known = seenSets.get(state);
  if (known === undefined) {
    known = new Set(state.seen);
    seenSets.set(state, known);
  }
  return known;
}

export function remember(state: SessionState, seen: Set<string>, short: string): void {
  state.seen.push(short);
  seen.add(short);
  const oldest = state.seen.length > SEEN_IDS ? state.seen.shift() : undefined;
  if (oldest !== undefined) seen.delete(oldest);
}

export const shortOf = (id: string): string => id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18);
