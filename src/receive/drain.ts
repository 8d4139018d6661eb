/**
 * From a fragment to journal events: recognize, normalize, enrich, redact, identify. Pure and total: an odd payload costs
 * itself, with a reason, and nothing else. State and memory of the session are handed in and changed in place.
 */
import { type Agent, isAbsent, type TranscriptReading } from '../agents/contract/contract.ts';
import type { Hash } from '../enrich/redact.ts';
import type { Event } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { type Judge, judged, type Keep, type Odd, type PriceOf } from '../identify/enrichers.ts';
import { boundId, eventId, seenBy, shortOf } from '../identify/event-ids.ts';
import { hashOf, identify } from '../identify/identify.ts';
import { watched } from '../identify/watch-notes.ts';
import { hexDigestOf } from '../lib/hash.ts';
import { isRepetition, noteFiles, settleClock } from '../session/arrival.ts';
import { inPlaceOf, isToldInPlace, MOST_IN_PLACE } from '../session/in-place.ts';
import { type SessionState, sessionKey } from '../session/session-state.ts';
import { UUID } from '../standards/agent-hooks/schema.ts';
import { HOOKS, isToldByAnother, isToldByStandard, nameTurn } from './foreign.ts';
import { type Bad, itemsIn, textOf } from './items.ts';
import { type ItemSource, type Opening, type Reject, sourceOf } from './receive.ts';
import { SURE } from './recognize.ts';

export interface Drain {
  agents: readonly Agent[];
  hash: Hash;
  /** How risky an action is, looked at as the agent said it; without it no risk is stated but what others state. */
  risk?: Judge | undefined;
  /** What tokens cost; without it nothing has a price. */
  price?: PriceOf | undefined;
  keep?: Keep | undefined;
  /** The session that a fragment belongs to; a new one is pinned to its configuration here. */
  session(opening: Opening, fragment: Fragment): SessionState;
  /** Before an edge hook's own events: what the session's transcripts tell up to here comes first. */
  before?(state: SessionState, agent: Agent, atMs: number): void;
}

/** Events of one session, in order. */
export interface Part {
  state: SessionState;
  events: Event[];
}

export type Drained =
  | {
      fate: 'journaled';
      /** One for an agent's hook; more where a list held events of several sessions. */
      parts: Part[];
      duplicates: number;
      /** Items of a list that could not be read; their neighbours could. */
      bad: Bad<Reject>[];
      odd: string[];
      certainty: number;
    }
  | { fate: 'duplicate'; parts: Part[] }
  | { fate: 'rejected'; reason: Reject };

export function drain(fragment: Fragment, deps: Drain): Drained {
  const read = itemsIn(fragment.payload);
  if ('reason' in read) return { fate: 'rejected', reason: read.reason };
  const parts: Part[] = [];
  const bad: Bad<Reject>[] = [...read.bad];
  const odd: string[] = read.isCut ? ['payload_cut'] : [];
  let duplicates = 0;
  let certainty = 1;
  for (const item of read.items) {
    const source = sourceOf(item, fragment, deps.agents);
    if (typeof source === 'string') {
      bad.push({ reason: source, text: textOf(item.fields) });
      continue;
    }
    certainty = Math.min(certainty, source.certainty);
    odd.push(...source.odd);
    const { who, session, cwd, user } = source;
    const state = deps.session({ agent: who, session, key: sessionKey(who.id, session), cwd, user }, fragment);
    const known = parts.find(part => part.state === state);
    if (known === undefined && isRepetition(state, hexDigestOf(fragment.payload), fragment)) {
      parts.push({ state, events: [] });
      duplicates += 1;
      continue;
    }
    const part = known ?? { state, events: [] };
    if (known === undefined) parts.push(part);
    duplicates += addTo(part, source, fragment, deps, kind => odd.push(kind));
  }
  const [first] = bad;
  if (parts.length === 0 && first !== undefined) return { fate: 'rejected', reason: first.reason };
  if (certainty < SURE) odd.push('unsure_agent');
  if (duplicates > 0 && bad.length === 0 && parts.every(part => part.events.length === 0)) {
    return { fate: 'duplicate', parts };
  }
  return { fate: 'journaled', parts, duplicates, bad, odd, certainty };
}

/** Adds the item's events to its session; answers how many of them the session has had. */
function addTo(part: Part, source: ItemSource, fragment: Fragment, deps: Drain, odd: Odd): number {
  const { before, risk, price } = deps;
  const { state, events } = part;
  const hash = hashOf(state, deps.hash);
  const keep = deps.keep?.(state.pinned);
  const { native, teller, who } = source;
  const atMs = settleClock(state, fragment);
  if (who.agent && !isAbsent(who.agent.transcript)) {
    noteFiles(state, source.files, source.cwd);
    if (teller === HOOKS && (state.hookedMs === undefined || atMs < state.hookedMs)) state.hookedMs = atMs;
    if (source.isEdge) before?.(state, who.agent, atMs);
  }
  const seen = seenBy(state);
  let duplicates = 0;
  for (const reading of source.read(state, hash)) {
    const id = reading.id ?? source.id;
    if (!reading.ours && isToldByAnother(state, reading, teller)) {
      if (reading.event_type === 'Prompt.Submitted' && teller === HOOKS) nameTurn(state, { name: reading.facts?.turn });
      duplicates += 1;
      continue;
    }
    if (teller === HOOKS && isToldInPlace(state, reading, seen)) {
      duplicates += 1;
      continue;
    }
    // An agent's hook outside of any envelope says all there is itself, and hooks are many: no copies.
    const isPlain = id === undefined && source.atMs === undefined;
    const whole = isPlain
      ? reading
      : {
          ...reading,
          atMs: reading.atMs ?? source.atMs,
          key: reading.key ?? (id === undefined ? undefined : `${teller}:${id}`),
        };
    const event = identify(state, whole, {
      native,
      source: 'native',
      atMs,
      seen,
      hash,
      traceparent: fragment.header.TRACEPARENT,
      id: teller === 'agent-hooks' && UUID.test(id ?? '') ? id?.toLowerCase() : undefined,
      ours: reading.ours,
      risk: reading.risk ?? judged(state, reading, risk, source.cwd, odd),
      odd,
      price,
      keep,
      cwd: source.cwd,
      address: source.address,
      version: source.version,
    });
    if (event === undefined) {
      duplicates += 1;
      continue;
    }
    events.push(event, ...watched(state, event, reading, hash, odd));
    const isUnnamed = event.event_type === 'Prompt.Submitted' && reading.facts?.turn === undefined;
    if (isUnnamed && teller !== HOOKS) nameTurn(state, { announced: event.event_id });
  }
  state.arrivedMs = Math.max(state.arrivedMs, fragment.atMs);
  return duplicates;
}

/** A row is written, with whole seconds at times, before the hook that tells of the same has arrived. */
const HOOK_LAG_MS = 2_000;

export interface Telling {
  /** The time of a reading without one. */
  atMs: number;
  hash: Hash;
  risk?: Judge | undefined;
  price?: PriceOf | undefined;
  keep?: Keep | undefined;
  /** The agent's. */
  version?: string | undefined;
  odd?: Odd | undefined;
  /** Ids beyond those that the state remembers, where a file is read once more. */
  journaled?: ReadonlySet<string> | undefined;
}

/** What a transcript's reading becomes: an event and what follows from it, or the id of the one that is known already. */
export function tellTranscript(
  state: SessionState,
  reading: TranscriptReading,
  { atMs, hash, risk, price, keep, journaled, version, odd }: Telling,
): { events: Event[] } | { known: string } {
  const session = boundId(reading.subagent) ?? state.session;
  const id = eventId(state, session, reading.event_type, reading.key);
  const known = { known: id };
  const seen = seenBy(state);
  const isHooked = state.hookedMs !== undefined && (reading.atMs ?? atMs) >= state.hookedMs - HOOK_LAG_MS;
  if (reading.unless === 'hooked' && isHooked) return known;
  if (isToldByStandard(state, reading)) {
    if (reading.event_type === 'Prompt.Submitted') nameTurn(state, { name: reading.facts?.turn });
    return known;
  }
  // Before anything is hashed: what hooks have told comes by once more with each row of a call.
  if (seen.has(shortOf(id)) || journaled?.has(shortOf(id))) return known;
  const event = identify(state, reading, {
    native: undefined,
    source: 'transcript',
    atMs,
    seen,
    hash: hashOf(state, hash),
    traceparent: undefined,
    id,
    ours: true,
    risk: judged(state, reading, risk, undefined, odd),
    odd,
    price,
    keep: keep?.(state.pinned),
    version,
  });
  if (event === undefined) return known;
  if (reading.unless === 'hooked') state.inPlace = [...(state.inPlace ?? []), inPlaceOf(reading)].slice(-MOST_IN_PLACE);
  return { events: [event, ...watched(state, event, reading, hash, odd)] };
}
