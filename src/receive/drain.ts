/**
 * From a fragment to journal events: recognize, normalize, enrich, redact, identify. Pure and total: an odd payload costs
 * itself, with a reason, and nothing else. State and memory of the session are handed in and changed in place.
 */
import {
  type Agent,
  isAbsent,
  type Reading,
  type ToldFiles,
  type TranscriptReading,
} from '../agents/contract/contract.ts';
import { toldEvent, toldMetric } from '../agents/shared/extras.ts';
import { memoryOver } from '../agents/shared/memory.ts';
import { providerNamed } from '../agents/shared/providers.ts';
import { executableOf, skillOf } from '../enrich/action-facts.ts';
import { chosenOf, defaultModes, type Keeper, outputText, saidAs, withContent } from '../enrich/content.ts';
import type { Used } from '../enrich/cost.ts';
import { type Hash, keyed, redact, token, word } from '../enrich/redact.ts';
import type { Looked } from '../enrich/risk/risk.ts';
import { holdsSecret } from '../enrich/secrets.ts';
import { type Alike, type Noted, noWatch, usualLoops, watch } from '../enrich/watch.ts';
import {
  type Action,
  type Actor,
  type Body,
  type Cost,
  type DataOf,
  type Event,
  FACTS,
  type Facts,
  type Fields,
  factsOf,
  modelOf,
  type Risk,
  SPEC_VERSION,
  type TimeSource,
} from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { canonicalJson, hexDigest, hexDigestOf, keyedHash, uuidOf } from '../lib/hash.ts';
import { isFields, own } from '../lib/read.ts';
import {
  noTranscripts,
  ORDINALS,
  RECENT_PAYLOADS,
  SEEN_IDS,
  type SessionState,
  sessionKey,
} from '../session/session-state.ts';
import { UUID } from '../standards/agent-hooks/schema.ts';
import type { ToldReading } from '../standards/told.ts';
import {
  HOOKS,
  insideOf,
  isToldByAnother,
  isToldByStandard,
  nameTurn,
  readingsOf,
  turnNamed,
  type Who,
  whoTold,
} from './foreign.ts';
import { type Bad, type Item, itemsIn, textOf, type Unread } from './items.ts';
import { recognize, SURE } from './recognize.ts';

export type Reject = Unread | 'bad-session-id' | 'no-event-name';

export interface Opening {
  agent: Pick<Agent, 'id' | 'settles'>;
  session: string;
  key: string;
  cwd: string | undefined;
  /** Who works with the agent, where its first event says so. */
  user?: string | undefined;
}

/** Counts something unusual by its name. */
export type Odd = (kind: string) => void;

export type Judge = (state: SessionState, looked: Looked, odd?: Odd) => Risk | undefined;

/** What is added to an event beside what its source says. A fault in one of them costs the event that one alone. */
export const enrichments = ['risk', 'cost', 'content', 'watch'] as const;
export type Enrichment = (typeof enrichments)[number];
export const failedOddity = (enrichment: Enrichment): string => `${enrichment}_failed`;

function enriched<T>(enrichment: Enrichment, odd: Odd | undefined, make: () => T): T | undefined {
  try {
    return make();
  } catch {
    // Counted, and told as a problem: the event itself must not be lost for it.
    odd?.(failedOddity(enrichment));
    return undefined;
  }
}

/** What the tokens of a response cost, or of a whole session. */
export interface Priced {
  model: string | undefined;
  provider: string | undefined;
  used: Used;
  /** Of several requests together. */
  isSum: boolean;
  atMs: number;
}
export type PriceOf = (state: SessionState, priced: Priced) => Cost | undefined;
/** What content stays of a session; none by default. */
export type Keep = (pinned: SessionState['pinned']) => Keeper | undefined;

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

/** Whose item it is, which session's, and how it is read. */
interface ItemSource {
  who: Who;
  session: string;
  native: string;
  cwd: string | undefined;
  /** Where the agent works, if that is no folder. */
  address?: string | undefined;
  certainty: number;
  odd: readonly string[];
  /** Who tells it: the agent's hooks, or a standard. */
  teller: string;
  /** What an envelope says where its inside says nothing. */
  atMs: number | undefined;
  id: string | undefined;
  user?: string | undefined;
  /** The agent's. */
  version: string | undefined;
  /** What it says of the session's transcripts. */
  files: ToldFiles | undefined;
  isEdge: boolean;
  read(state: SessionState, hash: Hash): ToldReading[];
}

/** Why this would be set aside, for a mouth that can still tell its sender. */
export function refusalOf(
  item: Item,
  fragment: Pick<Fragment, 'header' | 'boot'>,
  agents: readonly Agent[],
): Reject | undefined {
  const source = sourceOf(item, fragment, agents);
  return typeof source === 'string' ? source : undefined;
}

function sourceOf(
  item: Item,
  fragment: Pick<Fragment, 'header' | 'boot'>,
  agents: readonly Agent[],
): ItemSource | Reject {
  const { header } = fragment;
  const { fields, event, wrapped } = item;
  const word = { flag: header.tool, variable: header.OTEL_HOOKS_SOURCE_TOOL };
  if (event !== undefined) {
    const inside = insideOf(event, agents);
    if (!isId(event.session)) return 'bad-session-id';
    const who = inside
      ? { id: inside.agent.id, settles: inside.agent.settles, agent: inside.agent }
      : whoTold(event, word.flag ?? word.variable, agents);
    const native = inside?.agent.eventName(inside.fields);
    return {
      who,
      session: event.session,
      native: native ?? event.native,
      cwd: event.cwd ?? header.cwd,
      address: event.address,
      certainty: 1,
      odd: event.odd ?? [],
      teller: inside && native !== undefined ? HOOKS : event.standard,
      atMs: event.atMs ?? wrapped?.atMs,
      id: wrapped?.id,
      user: event.user,
      version: event.version ?? inside?.agent.version?.(inside.fields),
      files: event.transcript === undefined ? undefined : { main: event.transcript },
      isEdge: event.says.some(said => said.event_type === 'Session.End'),
      read: (state, hash) =>
        inside && native !== undefined
          ? normalize(inside.agent, native, inside.fields, state, hash)
          : readingsOf(event, who, state, memoryOver(state.memory, hash)),
    };
  }
  const recognized = recognize(fields, word, agents);
  if (recognized === undefined) return 'unknown-agent';
  const { agent, certainty } = recognized;
  const metric = toldMetric(fields);
  const session = metric?.session ?? agent.session(fields, { cwd: header.cwd, ppid: header.ppid, boot: fragment.boot });
  if (session === undefined) return 'no-session-id';
  if (!isId(session)) return 'bad-session-id';
  const native =
    metric?.native ?? agent.eventName(fields) ?? header.event ?? toldEvent(fields) ?? agent.eventByShape?.(fields);
  if (native === undefined) return 'no-event-name';
  return {
    who: { id: agent.id, settles: agent.settles, agent },
    session,
    native,
    cwd: agent.cwd(fields) ?? header.cwd,
    certainty,
    odd: [],
    teller: HOOKS,
    atMs: wrapped?.atMs,
    id: wrapped?.id,
    version: agent.version?.(fields),
    files: isAbsent(agent.transcript) ? undefined : agent.transcript.told?.(fields),
    isEdge: own(agent.events, native)?.edge === true,
    read: (state, hash) =>
      metric?.read
        ? [metric.read(agent.actions, memoryOver(state.memory, hash))]
        : normalize(agent, native, fields, state, hash),
  };
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

const MOST_IN_PLACE = 256;
const inPlaceOf = ({ event_type: type, subagent, facts }: Reading): string =>
  subagent === undefined ? `${type}|${facts?.turn ?? ''}` : `${type}/${boundId(subagent)}`;

/**
 * Hooks that come late, of a session whose transcript was there before them (it was imported, or a recording is played):
 * what both tell without an id that both share is one thing. They are matched by subagent or turn; where one of the two
 * names no turn, in their order, if these hooks tell of the whole session: others tell how it went on.
 */
function isToldInPlace(state: SessionState, reading: Reading, seen: ReadonlySet<string>): boolean {
  const { event_type: type, key, data, subagent, facts } = reading;
  const isMain = subagent === undefined;
  if (type === 'Session.Start' && isMain && data.start_reason === 'new') state.isHookedWhole = true;
  const { inPlace = [] } = state;
  if (inPlace.length === 0) return false;
  // Told under an id that both share, so what waits here is another.
  if (key !== undefined && seen.has(shortOf(eventId(state, boundId(subagent) ?? state.session, type, key))))
    return true;
  const isNamed = !isMain || facts?.turn !== undefined;
  let at = isNamed ? inPlace.indexOf(inPlaceOf(reading)) : -1;
  if (at < 0 && isMain && state.isHookedWhole)
    at = isNamed ? inPlace.indexOf(`${type}|`) : inPlace.findIndex(each => each.startsWith(`${type}|`));
  if (at >= 0) inPlace.splice(at, 1);
  return at >= 0;
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

/** What a transcript knows better about an event that was told before. Once for each event; then undefined. */
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
    {
      native: undefined,
      source: 'transcript',
      atMs: atMs ?? 0,
      seen: seenBy(state),
      hash: String,
      traceparent: undefined,
    },
  );
}

/** The short form of the id that the reading has, or would have, in another session. */
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

/** What an event's tokens cost. Not part of what ids are computed from: prices change. */
function priced(state: SessionState, body: Body, facts: Facts, atMs: number, price: PriceOf): Cost | undefined {
  const isResponse = body.event_type === 'Model.Responded';
  const told: Used | undefined = isResponse ? (body.data as DataOf<'Model.Responded'>) : facts.totals;
  if (told === undefined || (told.input_tokens === undefined && told.output_tokens === undefined)) return undefined;
  // The end of a session states a sum, of several models perhaps: without a word of caches nobody knows what it costs.
  const isPlainSum = !isResponse && told.cache_read_tokens === undefined;
  const used = isResponse ? { ...facts.usage, ...told } : isPlainSum ? {} : told;
  const model = isResponse ? modelOf(body.data as DataOf<'Model.Responded'>, facts) : facts.model;
  const { provider } = facts;
  return price(state, { model, provider, used, isSum: !isResponse || facts.sum !== undefined, atMs });
}

/** The risk of an action, before anything of it is left out; other events have none. */
function judged(
  state: SessionState,
  { event_type, data, facts }: Reading,
  judge: Judge | undefined,
  cwd: string | undefined,
  odd: Odd | undefined,
): Risk | undefined {
  if (judge === undefined || event_type.startsWith('vendor.') || !('action' in data) || !isFields(data.action)) return;
  const { action } = data;
  const looked = {
    action,
    cwd: cwd ?? state.transcripts?.cwd,
    mode: facts?.permission_mode,
    server: facts?.mcp?.server,
  };
  return enriched('risk', odd, () => judge(state, looked, odd));
}

/** The last word on a session's files counts: a resumed session may go on in another one. */
function noteFiles(state: SessionState, told: ToldFiles | undefined, cwd: string | undefined): void {
  state.transcripts ??= noTranscripts();
  const { transcripts } = state;
  const { main, subagent } = told ?? {};
  if (main !== undefined && main !== '' && main.length <= LONGEST_PATH) transcripts.main = main;
  transcripts.cwd ??= cwd;
  if (subagent === undefined || subagent.path.length > LONGEST_PATH || !isId(subagent.id)) return;
  if (transcripts.subagents.some(known => known.path === subagent.path)) return;
  transcripts.subagents.push(subagent);
  if (transcripts.subagents.length > MOST_SUBAGENT_FILES) transcripts.subagents.shift();
}

const LONGEST_PATH = 4_096;
const MOST_SUBAGENT_FILES = 256;

/** What follows from an event together with those before it. */
function watched(
  state: SessionState,
  event: Event,
  { data, output }: Reading,
  hash: Hash,
  odd: Odd | undefined,
): Event[] {
  state.watch ??= noWatch();
  const seen = state.watch;
  const settings = state.pinned.watch ?? { loops: usualLoops };
  const noted = enriched('watch', odd, () =>
    watch(seen, event, alikeIn(data, output, factsOf(event)?.content, hash), settings),
  );
  return (noted ?? []).flatMap(each => noteOf(state, event, each) ?? []);
}

/** Its own hashes, where the event is not to have any. */
function alikeIn(data: Body['data'], output: unknown, content: Facts['content'], hash: Hash): Alike {
  if (!('action' in data) || !isFields(data.action)) return {};
  const { input, result } = data.action as Action;
  return {
    input:
      content?.input?.hash ??
      (input === undefined || Object.keys(input).length === 0 ? undefined : hash(canonicalJson(input))),
    result:
      content?.error_message?.hash ??
      content?.output?.hash ??
      outputHash(result?.error_message ?? result?.output ?? output, hash),
  };
}

const LONGEST_LOOKED_AT = 16_384;

/** Its beginning and its length tell two outputs apart well enough. */
function outputHash(output: unknown, hash: Hash): string | undefined {
  if (output === undefined) return undefined;
  try {
    const said = typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
    return hash(`${said.length} ${said.slice(0, LONGEST_LOOKED_AT)}`);
  } catch {
    // Nested too deeply: nobody knows whether it is equal to another.
    return undefined;
  }
}

/** It happened where and when the event did that it follows from; by whose id it is known, too. */
function noteOf(state: SessionState, from: Event, { body, key, facts, risk, from: former }: Noted): Event | undefined {
  const { call, tool, mcp, agent, turn, root, time = 'arrival' }: Partial<Facts> = factsOf(from) ?? {};
  const id = eventId(state, from.session_id, body.event_type, `${former?.id ?? from.event_id}:${key}`);
  const seen = seenBy(state);
  if (seen.has(shortOf(id))) return undefined;
  remember(state, seen, shortOf(id));
  state.seq += 1;
  return {
    spec_version: SPEC_VERSION,
    event_id: id,
    event_type: body.event_type,
    timestamp: former?.timestamp ?? from.timestamp,
    source: from.source,
    session_id: from.session_id,
    parent_session_id: from.parent_session_id,
    actor: { type: 'system' },
    agent_mode: from.agent_mode,
    risk: state.pinned.risk?.enabled === false ? undefined : risk,
    data: body.data,
    metadata: { [FACTS]: { v: 1, seq: state.seq, time, root, call, tool, mcp, agent, turn, ...facts } },
  } as Event;
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

const LONGEST_ID = 256;
export const isId = (id: string): boolean => id.length <= LONGEST_ID && !/[\u0000-\u001f\u007f]/.test(id);

/** A native id as it may stand in keys: a monstrous one is replaced by its hash, and stays one and the same. */
const boundId = (id: string | undefined): string | undefined =>
  id === undefined || isId(id) ? id : `hash-${hexDigest(id).slice(0, 32)}`;

/** Two registrations of the same hook: same bytes, same parent process, same moment. */
function isRepetition(state: SessionState, hash: string, fragment: Fragment): boolean {
  const parent = fragment.header.ppid ?? '';
  // Whole hashes: a part of a string is compared the slow way, and each event is compared with all that are remembered.
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
  /** The agent's name of the hook. */
  native: string | undefined;
  /** Where a time that the reading itself states comes from. */
  source: TimeSource;
  atMs: number;
  seen: Set<string>;
  hash: Hash;
  traceparent: string | undefined;
  /** The id that an event came with, and whether it was computed here. */
  id?: string | undefined;
  ours?: true | undefined;
  risk?: Risk | undefined;
  odd?: Odd | undefined;
  price?: PriceOf | undefined;
  keep?: Keeper | undefined;
  cwd?: string | undefined;
  address?: string | undefined;
  version?: string | undefined;
}

/** What standards say of an event beyond what agents do. */
type Addition = Pick<ToldReading, 'actorId' | 'metadata'>;

/** Gives a reading its envelope and its id; none when the session has had it. */
function identify(state: SessionState, reading: Reading & Addition, at: Circumstances): Event | undefined {
  const { key, mode, actor = 'ai_agent' } = reading;
  const atMs = isTime(reading.atMs) ? reading.atMs : undefined;
  const subagent = boundId(reading.subagent);
  const session = subagent ?? state.session;
  const { body, content } = redact(reading, at.hash);
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
  const action = 'action' in reading.data && isFields(reading.data.action) ? reading.data.action : {};
  facts.executable = executableOf(action);
  facts.content = content;
  const stated = at.id ?? (key === undefined ? undefined : eventId(state, session, reading.event_type, key));
  // Ids of others may begin alike: with the time, with zeros.
  const isOthers = at.id !== undefined && !at.ours;
  const known = stated && (isOthers ? hexDigest(stated).slice(0, 16) : shortOf(stated));
  if (known !== undefined && at.seen.has(known)) return undefined;
  const id = stated ?? numberedId(state, session, body, facts, at.seen);
  remember(state, at.seen, known ?? shortOf(id));
  state.seq += 1;
  const { price, keep } = at;
  facts.cost ??= price && enriched('cost', at.odd, () => priced(state, body, facts, atMs ?? at.atMs, price));
  facts.traceparent = state.seq === 1 ? at.traceparent?.slice(0, 64) : undefined;
  if (skillOf(action) !== undefined) facts.skill = 'custom';
  // Only now: no id is made of content.
  const kept = (keep && enriched('content', at.odd, () => keepContent(reading, body, facts, keep, at))) ?? body;
  const version = versionOf(at.version);
  return {
    spec_version: SPEC_VERSION,
    event_id: id,
    event_type: body.event_type,
    timestamp: new Date(atMs ?? at.atMs).toISOString(),
    source: version === undefined ? { tool: state.agent } : { tool: state.agent, version },
    session_id: session,
    parent_session_id: subagent === undefined ? undefined : state.session,
    actor: reading.actorId === undefined ? { type: actor } : { type: actor, id: actorId(actor, reading.actorId, at) },
    agent_mode: mode,
    risk: at.risk,
    user: state.pinned.user === undefined ? undefined : { id: state.pinned.user },
    data: kept.data,
    metadata:
      keep === undefined || reading.metadata === undefined
        ? { [FACTS]: facts }
        : { [FACTS]: facts, ...enriched('content', at.odd, () => chosenOf(reading.metadata ?? {}, keep)) },
  } as Event;
}

/** What was asked last of versions: every row of a transcript states the same. */
let asked: { said: string; is: string | undefined } | undefined;

export function versionOf(said: string | undefined): string | undefined {
  if (said === undefined) return undefined;
  if (asked?.said !== said) asked = { said, is: token(said) };
  return asked.is;
}

/** A person's, as who works here is told; another's is a word that says which of them it was. */
function actorId(actor: Actor['type'], id: string, { keep, hash }: Circumstances): string | undefined {
  if (actor !== 'user') return token(id);
  const { modes } = keep ?? { modes: defaultModes };
  return modes.user === 'hash' ? keyed(id, hash) : keep && saidAs(modes.user, id, keep);
}

function keepContent(
  reading: Reading,
  redacted: Body,
  facts: Facts,
  keep: Keeper,
  { hash, cwd, address }: Circumstances,
): Body {
  const kept = withContent(redacted, keep.modes.results === 'off' ? reading : withOutput(reading, keep), keep, hash);
  facts.path = kept.facts.path;
  facts.command = kept.facts.command;
  facts.skill = kept.facts.skill ?? facts.skill;
  if (redacted.event_type === 'Session.Start') {
    facts.cwd = saidAs(keep.modes.paths, cwd, keep);
    facts.context_uri = saidAs(keep.modes.paths, address, keep);
  }
  if (Object.keys(kept.facts.content).length > 0) facts.content = { ...facts.content, ...kept.facts.content };
  return kept.body;
}

/** What an action gave back as the text that Agent Hooks has a place for. */
function withOutput(reading: Reading, keep: Keeper): Body {
  if (reading.output === undefined || reading.event_type !== 'Action.After') return reading;
  const { action } = reading.data;
  const output = outputText(reading.output, keep);
  return { ...reading, data: { ...reading.data, action: { ...action, result: { ...action.result, output } } } };
}

/** Where a key was set, hashes of several machines can be compared. */
function hashOf({ pinned: { content } }: SessionState, hash: Hash): Hash {
  const { hashKey } = content ?? {};
  return hashKey === undefined ? hash : said => keyedHash(hashKey, said);
}

/** Some payloads state their time as a number, and a number can be anything. */
const isTime = (atMs: number | undefined): boolean => atMs !== undefined && atMs >= 0 && atMs < Date.UTC(10_000, 0);

const ids = ['turn', 'call', 'launched_by', 'response', 'request', 'trace_record'] as const;
const names = ['agent', 'tool', 'model', 'provider'] as const;
const words = ['permission_mode', 'error_type', 'finish'] as const;

const boundName = (value: string | undefined): string | undefined =>
  boundId(value !== undefined && holdsSecret(value) ? '[redacted]' : value);

/** Every name and id that an agent's reader says beside the standard is bounded, every word is one; changed in place. */
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
