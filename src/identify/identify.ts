import type { Reading, TranscriptReading } from '../agents/contract/contract.ts';
import { providerNamed } from '../agents/shared/providers.ts';
import { executableOf, skillOf } from '../enrich/action-facts.ts';
import { chosenOf, type Keeper, keepsHash, outputText, textInMode, withContent } from '../enrich/content.ts';
import { editsKept, writtenBy } from '../enrich/edits.ts';
import { type Hash, keyed, redact, token, word } from '../enrich/redact.ts';
import { holdsSecret } from '../enrich/secrets.ts';
import { defaultModes } from '../event/content-classes.ts';
import {
  type Action,
  type Actor,
  type Body,
  type Event,
  FACTS,
  type Facts,
  FILE_WRITE,
  type Risk,
  SPEC_VERSION,
  type TimeSource,
} from '../event/event.ts';
import { hexDigest, keyedHash } from '../lib/hash.ts';
import { fieldsOf, isFields } from '../lib/read.ts';
import { timestampOf } from '../lib/timestamp.ts';
import { turnNamed } from '../receive/foreign.ts';
import type { SessionState } from '../session/session-state.ts';
import type { ForeignReading } from '../standards/foreign-event.ts';
import { enriched, type Odd, type PriceOf, priced } from './enrichers.ts';
import { boundId, eventId, isId, numberedId, remember, seenBy, shortOf } from './event-ids.ts';

/** The correction of a known event by a transcript. Once per event, then undefined. */
export function amend(state: SessionState, reading: TranscriptReading, of: string, type: string): Event | undefined {
  const { subagent, facts, atMs } = reading;
  return identify(
    state,
    {
      event_type: type,
      key: of,
      data: { of, type: reading.event_type },
      subagent,
      atMs,
      actor: 'system',
      facts,
    } as TranscriptReading,
    { native: undefined, source: 'transcript', atMs: atMs ?? 0, traceparent: undefined },
    { seen: seenBy(state), hash: String },
  );
}

/** An event that the session concludes itself: silence, settlement, its repository. */
export function conclude(state: SessionState, body: Body, key: string, atMs: number): Event {
  state.seq += 1;
  return {
    spec_version: SPEC_VERSION,
    event_id: eventId(state, state.session, body.event_type, key),
    event_type: body.event_type,
    timestamp: timestampOf(atMs),
    source: { tool: state.agent },
    session_id: state.session,
    actor: { type: 'system' },
    data: body.data,
    metadata: { [FACTS]: { v: 1, seq: state.seq, time: 'arrival' } },
  } as Event;
}

/** The name of an unknown event, if it has the form of a name. */
export const plainName = (native: string): string => (/^[A-Za-z0-9_.:-]{1,64}$/.test(native) ? native : 'unnamed');

export interface Circumstances {
  /** The agent's name of the hook. */
  native: string | undefined;
  /** The source of a time that the reading states. */
  source: TimeSource;
  atMs: number;
  traceparent: string | undefined;
  /** The id that came with the event, and whether otel-hooks computed it. */
  id?: string | undefined;
  ours?: true | undefined;
  cwd?: string | undefined;
  address?: string | undefined;
  version?: string | undefined;
}

/** The session's part in an event: ids that it remembers, keys, enrichments. */
export interface Means {
  seen: Set<string>;
  hash: Hash;
  risk?: Risk | undefined;
  odd?: Odd | undefined;
  price?: PriceOf | undefined;
  keep?: Keeper | undefined;
}

/** Parts of a reading that only standards have. */
type Addition = Pick<ForeignReading, 'actorId' | 'metadata'>;

/** Gives a reading its envelope and its id. Undefined when the session has the event already. */
export function identify(
  state: SessionState,
  reading: Reading & Addition,
  at: Circumstances,
  means: Means,
): Event | undefined {
  const atMs = isTime(reading.atMs) ? reading.atMs : undefined;
  const subagent = boundId(reading.subagent);
  const session = subagent ?? state.session;
  const { body, content } = redact(reading, means.hash);
  const action = 'action' in reading.data && isFields(reading.data.action) ? reading.data.action : {};
  const facts = factsAbout(state, reading, at, { atMs, subagent });
  facts.executable = executableOf(action);
  facts.content = content;
  const id = newId(state, session, { body, facts, key: reading.key }, at, means.seen);
  if (id === undefined) return undefined;
  state.seq += 1;
  const { price, keep, odd } = means;
  facts.cost ??= price && enriched('cost', odd, () => priced(state, body, facts, atMs ?? at.atMs, price));
  facts.traceparent = state.seq === 1 ? at.traceparent?.slice(0, 64) : undefined;
  if (skillOf(action) !== undefined) facts.skill = 'custom';
  // After the id was made, so that no id is made of content.
  facts.edits = editsAbout(state, reading, at, means);
  const kept =
    (keep && enriched('content', odd, () => keepContent(reading, body, facts, at, { keep, hash: means.hash }))) ?? body;
  const version = versionOf(at.version);
  return {
    spec_version: SPEC_VERSION,
    event_id: id,
    event_type: body.event_type,
    timestamp: timestampOf(atMs ?? at.atMs),
    source: version === undefined ? { tool: state.agent } : { tool: state.agent, version },
    session_id: session,
    parent_session_id: subagent === undefined ? undefined : state.session,
    actor: actorOf(reading, means),
    agent_mode: reading.mode,
    risk: means.risk,
    user: state.pinned.user === undefined ? undefined : { id: state.pinned.user },
    data: kept.data,
    metadata: metadataWith(facts, reading.metadata, means),
  } as Event;
}

function factsAbout(
  state: SessionState,
  reading: Reading,
  at: Circumstances,
  { atMs, subagent }: { atMs: number | undefined; subagent: string | undefined },
): Facts {
  const facts: Facts = {
    v: 1,
    seq: state.seq + 1,
    time: atMs === undefined ? 'arrival' : at.source,
    native: at.native === undefined ? undefined : plainName(at.native),
    root: subagent === undefined ? undefined : state.session,
    ...reading.facts,
  };
  bound(facts);
  if (state.turnNames !== undefined) facts.turn = turnNamed(state, facts.turn);
  return facts;
}

/** The event's id, which the session remembers from now on. Undefined when it remembers the id already. */
function newId(
  state: SessionState,
  session: string,
  { body, facts, key }: { body: Body; facts: Facts; key: string | undefined },
  at: Circumstances,
  seen: Set<string>,
): string | undefined {
  const stated = at.id ?? (key === undefined ? undefined : eventId(state, session, body.event_type, key));
  // Ids from other programs may share a prefix: a time, or zeros. Our journals hold such ids as well. Ours are version 8.
  const isForeign = at.id !== undefined && !(at.ours && at.id.charAt(14) === '8');
  const known = stated && (isForeign ? hexDigest(stated).slice(0, 16) : shortOf(stated));
  if (known !== undefined && seen.has(known)) return undefined;
  const id = stated ?? numberedId(state, session, body, facts, seen);
  remember(state, seen, known ?? shortOf(id));
  return id;
}

function actorOf({ actor = 'ai_agent', actorId: id }: Reading & Addition, means: Means): Actor {
  return id === undefined ? { type: actor } : { type: actor, id: actorId(actor, id, means) };
}

/** Metadata of vendors stays where the configuration names it. */
function metadataWith(facts: Facts, vendor: Addition['metadata'], { keep, odd }: Means): Event['metadata'] {
  if (keep === undefined || vendor === undefined) return { [FACTS]: facts };
  return { [FACTS]: facts, ...enriched('content', odd, () => chosenOf(vendor, keep)) };
}

/** The last version that was checked. Every row of a transcript repeats it, and a cache of one needs no owner. */
let asked: { stated: string; is: string | undefined } | undefined;

export function versionOf(stated: string | undefined): string | undefined {
  if (stated === undefined) return undefined;
  if (asked?.stated !== stated) asked = { stated, is: token(stated) };
  return asked.is;
}

/** The id of a person follows the mode of `content.user`. The id of another actor is a word. */
function actorId(actor: Actor['type'], id: string, { keep, hash }: Means): string | undefined {
  if (actor !== 'user') return token(id);
  const { modes } = keep ?? { modes: defaultModes };
  return modes.user === 'hash' ? keyed(id, hash) : keep && textInMode(modes.user, id, keep);
}

/** The files that the event writes. A path that is a keyed hash already stays as it is. */
function editsAbout(state: SessionState, reading: Reading, at: Circumstances, { keep, hash }: Means): Facts['edits'] {
  const { event_type: type, data, facts } = reading;
  if (type !== 'Action.Before' && type !== 'Action.After' && type !== FILE_WRITE) return undefined;
  const action = fieldsOf(fieldsOf(data).action) as Action;
  const files =
    reading.edits ?? writtenBy(type === FILE_WRITE ? { ...action, name: 'write_file' } : action, facts?.tool);
  return editsKept(
    files,
    state.transcripts?.cwd ?? at.cwd,
    path => keyed(path, hash) ?? '',
    path => keep && textInMode(keep.modes.paths, path, keep),
  );
}

function keepContent(
  reading: Reading,
  redacted: Body,
  facts: Facts,
  { cwd, address }: Circumstances,
  { keep, hash }: { keep: Keeper; hash: Hash },
): Body {
  const kept = withContent(redacted, keep.modes.results === 'off' ? reading : withOutput(reading, keep), keep, hash);
  facts.path = kept.facts.path ?? textInMode(keep.modes.paths, reading.path, keep);
  if (reading.path !== undefined && keepsHash('paths', keep))
    facts.content = { ...facts.content, path: { length: reading.path.length, hash: hash(reading.path) } };
  facts.command = kept.facts.command;
  facts.skill = kept.facts.skill ?? facts.skill;
  if (redacted.event_type === 'Session.Start') {
    facts.cwd = textInMode(keep.modes.paths, cwd, keep);
    facts.context_uri = textInMode(keep.modes.paths, address, keep);
  }
  if (Object.keys(kept.facts.content).length > 0) facts.content = { ...facts.content, ...kept.facts.content };
  return kept.body;
}

/** The output of an action as the text field of Agent Hooks. */
function withOutput(reading: Reading, keep: Keeper): Body {
  if (reading.output === undefined || reading.event_type !== 'Action.After') return reading;
  const { action } = reading.data;
  const output = outputText(reading.output, keep);
  return { ...reading, data: { ...reading.data, action: { ...action, result: { ...action.result, output } } } };
}

/** A configured key makes hashes of several machines comparable. */
export function hashOf({ pinned: { content } }: SessionState, hash: Hash): Hash {
  const { hashKey } = content ?? {};
  return hashKey === undefined ? hash : text => keyedHash(hashKey, text);
}

/** Some payloads state their time as a number, which may be any number. */
const isTime = (atMs: number | undefined): boolean => atMs !== undefined && atMs >= 0 && atMs < Date.UTC(10_000, 0);

const ids = ['turn', 'call', 'launched_by', 'response', 'request', 'trace_record'] as const;

const names = ['agent', 'tool', 'model', 'provider'] as const;

const words = ['permission_mode', 'error_type', 'finish'] as const;

const boundName = (value: string | undefined): string | undefined =>
  boundId(value !== undefined && holdsSecret(value) ? '[redacted]' : value);

/** Bounds the names, ids and words among the facts. Changes them in place. */
function bound(facts: Facts): void {
  for (const name of words) if (facts[name] !== undefined) facts[name] = word(facts[name]);
  for (const id of ids) {
    const value = facts[id];
    if (value !== undefined && !isId(value)) facts[id] = boundId(value);
  }
  for (const each of names) if (facts[each] !== undefined) facts[each] = boundName(facts[each]);
  if (facts.provider !== undefined) facts.provider = providerNamed(facts.provider);
  const { mcp, over, launches, previous } = facts;
  if (mcp) facts.mcp = { server: boundName(mcp.server) ?? '' };
  if (previous) facts.previous = { session: boundId(previous.session) };
  if (over) facts.over = over.map(call => boundId(call) ?? call);
  if (launches) facts.launches = { id: boundId(launches.id), agent: boundName(launches.agent) };
}
