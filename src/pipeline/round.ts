/**
 * One round, as a value: fragments in; journal lines, session states, bodies and books out. The store commits it whole or
 * not at all, so nothing here needs to be undone.
 */

import { isAbsent } from '../agents/contract/contract.ts';
import { agentNamed, agents, formerNameOf } from '../agents/index.ts';
import { providerOfModel } from '../agents/shared/providers.ts';
import { awaited, isOpen, REPOSITORY, step, unread } from '../assemble/assemble.ts';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import { isFold } from '../assemble/state.ts';
import type { Destination, Target } from '../config/destinations.ts';
import { destinationDocument } from '../deliver/known-destinations.ts';
import { type Event, FACTS, factsOf, SETTLED } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { enrichments, failedOddity } from '../identify/enrichers.ts';
import { idsIn } from '../identify/event-ids.ts';
import { conclude } from '../identify/identify.ts';
import { keyedHash } from '../lib/hash.ts';
import { own } from '../lib/read.ts';
import { wildcards } from '../lib/wildcard.ts';
import { newMark, openHookDocument } from '../openhook/mark.ts';
import type { Problem } from '../problems/problem.ts';
import { drain } from '../receive/drain.ts';
import { begun, notePrevious, PROCESSES_DOCUMENT, type Processes } from '../receive/previous.ts';
import type { Opening } from '../receive/receive.ts';
import { keeperOf } from '../session/own-content.ts';
import { judgeRisk } from '../session/own-rules.ts';
import { type Pin, pin, type Surroundings } from '../session/pin.ts';
import { priceOf } from '../session/prices.ts';
import { movedSince, repositoryAt } from '../session/repository.ts';
import {
  newSession,
  noTranscripts,
  type Pinned,
  SEEN_IDS,
  type SessionState,
  sessionKey,
} from '../session/session-state.ts';
import { accountsOf, type DestinationAccounts, increase, type Ledger } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';
import { encode, locator, sliced, type Yield } from '../telemetry/batch.ts';
import { type Increment, incrementsOf } from '../telemetry/increments.ts';
import { isOfWeight } from '../telemetry/logs.ts';
import { addTo, type MetricState, metricsDocument, noMetrics } from '../telemetry/metric-state.ts';
import { leavingSpans, type SpanContextFacts } from '../telemetry/spans.ts';
import { type Eyes, whyUnread } from '../transcripts/eyes.ts';
import {
  ownersIn,
  patient,
  readerOf,
  type SessionReader,
  type TranscriptBooks,
  type TranscriptWorld,
  type Waits,
} from '../transcripts/session-reader.ts';
import { eventsOf } from '../view/journals.ts';
import { eventsIn, foldFrom } from '../view/replay.ts';

/** A session without a sign of life for so long is over; nobody will say so any more. */
export const SILENCE_MS = 3_600_000;
/** An ended session is remembered so long, for what may still come late. */
const TOMBSTONE_MS = 7 * 24 * 3_600_000;

export interface RoundWorld extends Surroundings {
  nowMs: number;
  /** Without eyes no transcript is read; what waits for one goes on waiting. */
  eyes?: Eyes | undefined;
  waits?: Waits | undefined;
  /** Where the Python package of this name may have noted what it sent. */
  formerStates?: readonly string[] | undefined;
}

/** Sessions to look at beside those of the fragments. */
export interface Due {
  silent?: readonly string[];
  /** Something of them waits for its transcript. */
  waiting?: readonly string[];
  /** A mistake in the configuration kept them from all destinations: it may be mended. */
  undecided?: readonly string[];
}

/** One round reads on at most so much of transcripts; the rest is the next round's. */
const TRANSCRIPT_BYTES = 16 * 1024 * 1024;

/** What one session gains in this round. */
export interface Gain {
  state: SessionState;
  lines: string;
  count: number;
  events: Event[];
  spans: FinishedSpan[];
  records: FinishedRecord[];
}

export interface RoundResult {
  round: Round;
  problems: Problem[];
  journaled: number;
  /** Of the sessions of this round, those that wait for their transcripts. */
  waiting: string[];
  /** Sessions that were looked at. */
  looked: string[];
  /** More of a transcript is there than one round reads. */
  isMore: boolean;
  /** A session that was undecided is not any more. */
  isDecided: boolean;
}

export function roundOf(
  store: Store,
  taken: { fragments: readonly Fragment[]; rejects: readonly { name: string; reason: string }[] },
  due: Due,
  world: RoundWorld,
): RoundResult {
  const { epoch } = store;
  const gains = new Map<string, Gain>();
  const oddities: { [kind: string]: number } = {};
  const problems: Problem[] = [];
  const documents = new Map<string, unknown>();
  const quarantine = taken.rejects.map(({ name, reason }) => ({ name, reason }));
  /** Bad items of lists whose other items could be read. */
  const cut: { bytes: Uint8Array; reason: string; label: string }[] = [];
  const badEvents: { [reason: string]: number } = {};
  const eaten: string[] = [];
  let journaled = 0;
  let duplicates = 0;
  let isDecided = false;

  const gainOf = (state: SessionState): Gain => {
    const known = gains.get(state.key) ?? { state, lines: '', count: 0, events: [], spans: [], records: [] };
    if (!gains.has(state.key) && state.pinned.undecided) decide(state, state.pinned.undecided);
    gains.set(state.key, known);
    return known;
  };
  const open = (key: string): SessionState | undefined => gains.get(key)?.state ?? recalled(store, key);
  const hash = (content: string): string => keyedHash(world.hashKey, content);
  const books: TranscriptBooks = { read: 0, journaled: 0, duplicate: 0, odd: oddities };
  /** Agents whose transcripts had rows that failed. */
  const failing = new Set<string>();
  const owners = ownersIn(name => store.document(name));
  const knows = (key: string): boolean => open(key) !== undefined || store.journal(key) !== undefined;
  const transcripts = transcriptWorld(store, world, hash, { owner: owners.owner, knows });
  const readers = new Map<string, SessionReader | undefined>();
  const readerFor = (state: SessionState): SessionReader | undefined => {
    const agent = agentNamed(state.agent);
    if (!readers.has(state.key) && transcripts && agent) {
      const emit = (event: Event): void => follow(gainOf(state), event, oddities);
      const failed = (): unknown => failing.add(agent.title);
      readers.set(state.key, readerOf(state, agent, transcripts, emit, books, failed));
    }
    return readers.get(state.key);
  };
  /** Sessions that began just now, and the folders that they work in. */
  const opened = new Map<string, string>();
  /** Of these, more is there than one round reads. */
  const more = new Set<string>();

  const findPrevious = (fragment: Fragment, event: Event, agent: string): void => {
    const known = (documents.get(PROCESSES_DOCUMENT) ?? store.document(PROCESSES_DOCUMENT) ?? []) as Processes;
    const found = begun(known, fragment, event, agent);
    if (found !== undefined) documents.set(PROCESSES_DOCUMENT, found.processes);
    notePrevious(event, found?.previous, session => open(sessionKey(agent, session))?.fold.segment?.number);
  };

  const openRepository = (gain: Gain): void => {
    const cwd = opened.get(gain.state.key);
    if (cwd === undefined) return;
    findRepository(gain, cwd, world.eyes, oddities);
    opened.delete(gain.state.key);
  };

  const pinnedTo = (...[opening, fragment, , wasUndecided]: Parameters<typeof pin>): Pin => {
    const made = pin(opening, fragment, world, wasUndecided);
    problems.push(...made.problems);
    for (const destination of made.destinations)
      documents.set(destinationDocument(destination.id), { ...destination, pinnedMs: world.nowMs });
    return made;
  };

  /** What left before these destinations were its own, for them alone. */
  const early: ReturnType<typeof leaving> = { bodies: [], tallies: [] };
  const catchUp = (state: SessionState, destinations: string[]): void => {
    for (const gain of gainedBefore(store, state, destinations)) {
      const { bodies, tallies } = leaving(store, [gain], documents, world.nowMs);
      early.bodies.push(...bodies);
      early.tallies.push(...tallies);
    }
  };

  /** With a configuration that can be read now it is as if it had begun under it. */
  const decide = (state: SessionState, { cwd, header, isUserTold }: NonNullable<Pinned['undecided']>): void => {
    const { providers } = state.pinned;
    const said = providers === undefined ? header : { ...header, provider: providers.join(',') };
    const { pinned } = pinnedTo(
      // Whom its first event named was not kept; who is logged in here is another.
      { agent: { id: state.agent }, cwd, user: isUserTold && '' },
      { header: said },
      world,
      true,
    );
    if (pinned.undecided) return;
    isDecided = true;
    state.pinned = { ...pinned, ...(providers === undefined ? {} : { providers }) };
    if (pinned.repository === false) delete state.repository;
    // Its shape, or the repository, may change what the fold holds.
    for (const { state: before } of gainedBefore(store, state, [])) state.fold = before.fold;
    catchUp(state, pinned.destinations);
  };

  for (const fragment of taken.fragments) {
    let asked: Opening | undefined;
    const told = drain(fragment, {
      agents,
      hash,
      risk: judgeRisk,
      price: priceOf,
      keep: keeperOf,
      before(state, _agent, atMs) {
        if (readerFor(state)?.read(atMs).isMore) more.add(state.key);
      },
      session(opening) {
        asked = opening;
        const known = open(opening.key);
        if (known) return gainOf(known).state;
        const { pinned, isDispatched, named } = pinnedTo(opening, fragment, world);
        const mark = openHookDocument(opening.key);
        // A session whose state was damaged begins again; what was dispatched of it was.
        if (isDispatched && opening.cwd !== undefined && store.document(mark) === undefined)
          documents.set(mark, newMark(opening.cwd, named, fragment.atMs));
        if (opening.cwd !== undefined && pinned.repository !== false) opened.set(opening.key, opening.cwd);
        const state = newSession(opening, pinned);
        remade(state, store.journal(opening.key));
        return gainOf(state).state;
      },
    });
    if (told.fate === 'rejected') {
      quarantine.push({ name: fragment.name, reason: told.reason });
      continue;
    }
    eaten.push(fragment.name);
    if (told.fate === 'duplicate') {
      duplicates += 1;
      // The Python package registered a command for each provider: both are meant. Once: a session stays with what it has.
      const { provider } = fragment.header;
      for (const { state } of told.parts) {
        const { pinned } = state;
        if (asked === undefined || provider === undefined || pinned.providers?.includes(provider)) continue;
        const named = pinnedTo(asked, fragment, world).pinned.destinations;
        const added = named.filter(id => !pinned.destinations.includes(id));
        pinned.providers = [...(pinned.providers ?? []), provider];
        pinned.destinations = [...pinned.destinations, ...added];
        if (added.length === 0) continue;
        // It has one now, and is asked no more: what it gets here would come again.
        delete pinned.undecided;
        catchUp(state, added);
      }
      continue;
    }
    journaled += 1;
    for (const { state, events } of told.parts) {
      const gain = gainOf(state);
      for (const event of events) {
        if (event.event_type === 'Session.Start') findPrevious(fragment, event, state.agent);
        if (isMilestone(event)) lookAtRepository(gain, world.eyes, oddities);
        follow(gain, event, oddities);
        // At once: the same list may hold its end.
        openRepository(gain);
      }
      openRepository(gain);
    }
    for (const kind of told.odd) oddities[kind] = (oddities[kind] ?? 0) + 1;
    for (const { reason } of told.bad) increase(badEvents, reason);
    cut.push(...setAside(told.bad));
  }

  for (const key of due.silent ?? []) {
    const state = open(key);
    if (state) fallSilent(gainOf(state), readerFor(state), world, oddities);
  }
  for (const key of [...(due.waiting ?? []), ...(due.undecided ?? [])]) {
    const state = open(key);
    if (state) gainOf(state);
  }
  const isDue = (key: string): boolean => more.has(key) || (due.waiting ?? []).includes(key);
  for (const { state } of gains.values()) {
    if (awaited(state.fold).length === 0 && !isDue(state.key)) continue;
    const reader = readerFor(state);
    if (reader === undefined) continue;
    const followed = reader.read(Number.POSITIVE_INFINITY);
    if (followed.isMore) more.add(state.key);
    else more.delete(state.key);
    reader.settle(followed);
  }

  const all = [...gains.values()];
  const { bodies, tallies } = leaving(store, all, documents, world.nowMs);
  return {
    problems: [...problems, ...failureProblems(oddities, failing), ...(world.eyes ? unreadProblems(world.eyes) : [])],
    journaled,
    waiting: all.flatMap(({ state }) => (awaited(state.fold).length > 0 || more.has(state.key) ? [state.key] : [])),
    looked: all.map(({ state }) => state.key),
    isMore: more.size > 0,
    isDecided,
    round: {
      epoch,
      journal: all.flatMap(({ state, lines }) => (lines === '' ? [] : [{ key: state.key, lines }])),
      sessions: all.map(({ state }) => ({
        key: state.key,
        state: isForgotten(state, world.nowMs) ? undefined : state,
      })),
      documents: [
        ...[...documents].map(([name, value]) => ({ name, value })),
        ...owners.documents(),
        ...all.flatMap(({ state }) =>
          isForgotten(state, world.nowMs) && store.document(openHookDocument(state.key)) !== undefined
            ? [{ name: openHookDocument(state.key), value: undefined }]
            : [],
        ),
      ],
      bodies: [...early.bodies, ...bodies],
      eaten,
      quarantine: [...quarantine, ...cut],
      tally(ledger) {
        ledger.fragments.journaled += journaled;
        addBooks(ledger, books);
        if (duplicates > 0) increase(ledger.fragments.dropped, 'duplicate', duplicates);
        for (const { reason } of quarantine) increase(ledger.counters, `quarantined.${reason}`);
        for (const [reason, count] of Object.entries(badEvents))
          increase(ledger.counters, `bad-events.${reason}`, count);
        for (const [kind, count] of Object.entries(oddities)) increase(ledger.counters, `odd.${kind}`, count);
        for (const tally of [...early.tallies, ...tallies]) tally(ledger);
      },
    },
  };
}

/** What its journal holds, as if it came now and for these destinations, in parts that memory holds. */
function* gainedBefore(store: Store, state: SessionState, destinations: string[]): Generator<Gain, undefined> {
  const pinned = { ...state.pinned, destinations };
  let { former = 0 } = state;
  let fold: SessionState['fold'] | undefined;
  for (const journaled of eventsOf(store, state.key)) {
    const [first] = journaled;
    if (first === undefined) continue;
    fold ??= foldFrom(first, pinned.shape).fold;
    const gain: Gain = { state: { ...state, pinned, fold }, lines: '', count: 0, events: [], spans: [], records: [] };
    for (const event of journaled) {
      const hasLeft = former > 0;
      if (hasLeft) former -= 1;
      // It was told while nobody could say that it is not to be.
      if (event.event_type === REPOSITORY && pinned.repository === false) continue;
      const { spans, records } = step(fold, event);
      if (hasLeft) continue;
      gain.lines += `${JSON.stringify(event)}\n`;
      gain.count += 1;
      gain.events.push(event);
      for (const span of spans) gain.spans.push(span);
      for (const each of records) gain.records.push(each);
    }
    yield gain;
  }
}

/** Of a session that was forgotten the journal knows all: the same fold over it gives the same state. */
export function remade(state: SessionState, journal: string | undefined): void {
  const events = eventsIn(journal ?? '');
  if (journal === undefined || events.length === 0) return;
  for (const event of events) {
    step(state.fold, event);
    state.seq = Math.max(state.seq + 1, factsOf(event)?.seq ?? 0);
    const isHook = event.metadata?.[FACTS]?.native !== undefined;
    const atMs = Date.parse(event.timestamp);
    if (isHook && atMs < (state.hookedMs ?? Number.POSITIVE_INFINITY)) state.hookedMs = atMs;
  }
  state.former = events.length;
  state.seen = [...idsIn(journal)].slice(-SEEN_IDS);
  state.transcripts = { ...noTranscripts(), isAgain: true };
}

/** Each file is one, but where no file can be read it is one for all. */
export const unreadProblems = ({ unread }: Pick<Eyes, 'unread'>): Problem[] => {
  const problems = [...unread].map(
    ([file, why]): Problem => ({
      code: 'transcripts-packed',
      file: why === 'old-node' ? undefined : file,
      why: whyUnread[why],
    }),
  );
  return [...new Map(problems.map(problem => [JSON.stringify(problem), problem])).values()];
};

/** What failed inside of this program, so that a person hears of it. `agents`: whose transcripts had rows that failed. */
export function failureProblems(oddities: { readonly [kind: string]: number }, agents: Iterable<string>): Problem[] {
  return [
    ...enrichments
      .filter(enrichment => own(oddities, failedOddity(enrichment)) !== undefined)
      .map((enrichment): Problem => ({ code: 'enrichment-failed', enrichment })),
    ...[...new Set(agents)].map((agent): Problem => ({ code: 'transcript-failed', agent, why: 'row' })),
  ];
}

/** One file for each reason, one item to a line. */
function setAside(
  bad: readonly { reason: string; text: string }[],
): { bytes: Uint8Array; reason: string; label: string }[] {
  const lines = new Map<string, string[]>();
  for (const { reason, text } of bad) lines.set(reason, [...(lines.get(reason) ?? []), text]);
  return [...lines].map(([reason, texts]) => ({ bytes: Buffer.from(`${texts.join('\n')}\n`), reason, label: 'event' }));
}

export function addBooks({ transcripts }: Ledger, { read, journaled, duplicate }: TranscriptBooks): void {
  transcripts.read += read;
  transcripts.journaled += journaled;
  transcripts.duplicate += duplicate;
}

function transcriptWorld(
  store: Store,
  world: RoundWorld,
  hash: (content: string) => string,
  others: Pick<TranscriptWorld, 'owner' | 'knows'>,
): TranscriptWorld | undefined {
  const { eyes, home, env, nowMs, waits = patient, formerStates } = world;
  if (eyes === undefined) return undefined;
  return {
    eyes,
    home,
    env,
    hash,
    risk: judgeRisk,
    price: priceOf,
    keep: keeperOf,
    nowMs,
    waits,
    formerStates,
    budget: { bytes: TRANSCRIPT_BYTES },
    journal: key => store.journal(key),
    ...others,
  };
}

/**
 * Sessions to look at without a fragment of theirs. Silent: open and without a sign of life, or a tombstone whose time is
 * over. Waiting: with spans that wait for their transcripts.
 */
export function dueSessions(store: Store, nowMs: number): { [D in keyof Due]-?: string[] } {
  const due = { silent: [] as string[], waiting: [] as string[], undecided: [] as string[] };
  for (const key of store.sessions()) {
    const state = recalled(store, key);
    if (state === undefined) continue;
    const isLeft = isLeftToImport(state);
    const isSilent = isOpen(state.fold) && nowMs - state.arrivedMs > SILENCE_MS;
    if (isLeft ? nowMs - state.arrivedMs > LEFT_MS : isForgotten(state, nowMs) || isSilent) due.silent.push(key);
    if (!isLeft && awaited(state.fold).length > 0) due.waiting.push(key);
    if (state.pinned.undecided) due.undecided.push(key);
  }
  return due;
}

/** So long an import that was stopped may go on; then nobody comes back for the rest. */
const LEFT_MS = 24 * 3_600_000;

const isLeftToImport = ({ transcripts, hookedMs }: SessionState): boolean =>
  transcripts?.isPart === true && hookedMs === undefined;

/** Whether its agent's transcripts are ever read, and whether its record is wanted. */
interface Following {
  isTranscriptRead?: boolean;
  isRecorded?: boolean;
}

/** An event is journaled, folded, and with it whatever it settles: all, where no transcript is ever read. */
export function follow(
  gain: Gain,
  event: Event,
  oddities: { [kind: string]: number },
  { isTranscriptRead = true, isRecorded = true }: Following = {},
): void {
  const { state } = gain;
  // The fold comes first: an event that it cannot bear must not stand in the journal, where each reader would meet it again.
  const { spans, records, oddities: odd } = step(state.fold, event, isRecorded);
  gain.lines += `${JSON.stringify(event)}\n`;
  gain.count += 1;
  gain.events.push(event);
  for (const kind in odd) oddities[kind] = (oddities[kind] ?? 0) + (odd[kind] ?? 0);
  for (const span of spans) gain.spans.push(span);
  for (const each of records) gain.records.push(each);
  const agent = agentNamed(state.agent);
  if (isTranscriptRead && (agent === undefined || !isAbsent(agent.transcript))) return;
  for (const of of unread(state.fold)) {
    const settled = { event_type: SETTLED, data: { of, reason: 'absent' } } as const;
    follow(gain, conclude(state, settled, of, Date.parse(event.timestamp)), oddities, { isTranscriptRead, isRecorded });
  }
}

/** When commits are looked for: an agent has finished something. */
const isMilestone = ({ event_type: type, parent_session_id: parent }: Event): boolean =>
  parent === undefined && (type === 'Agent.Response' || type === 'Session.End' || type === 'Session.Abort');

function findRepository(gain: Gain, cwd: string, eyes: Eyes | undefined, oddities: { [kind: string]: number }): void {
  const found = eyes && repositoryAt(cwd, eyes);
  if (found === undefined) return;
  const { state } = gain;
  state.repository = { cwd, revision: found.revision };
  const body = { event_type: REPOSITORY, data: { ...found } } as const;
  const key = state.former === undefined ? 'repository' : `repository:${state.seq}`;
  follow(gain, conclude(state, body, key, state.fold.lastMs), oddities);
}

function lookAtRepository(gain: Gain, eyes: Eyes | undefined, oddities: { [kind: string]: number }): void {
  const { state } = gain;
  const { repository } = state;
  const moved = repository && eyes && movedSince(repository.cwd, repository.revision, eyes);
  if (repository === undefined || !moved) return;
  repository.revision = moved.revision;
  const body = { event_type: REPOSITORY, data: { ...moved } } as const;
  follow(gain, conclude(state, body, `repository:${state.seq}`, state.fold.lastMs), oddities);
}

function fallSilent(
  gain: Gain,
  reader: SessionReader | undefined,
  { nowMs, eyes }: Pick<RoundWorld, 'nowMs' | 'eyes'>,
  oddities: { [kind: string]: number },
): void {
  const { state } = gain;
  if (isLeftToImport(state)) {
    if (nowMs - state.arrivedMs > LEFT_MS) leaveUnread(gain, oddities);
    return;
  }
  if (!isOpen(state.fold) || nowMs - state.arrivedMs <= SILENCE_MS) return;
  // What it wrote down may tell of its last hours, or that it is at work still.
  const followed = reader?.read(Number.POSITIVE_INFINITY);
  if (followed?.isMore) return;
  if (followed?.isThere && nowMs - Math.max(state.fold.lastMs, followed.writtenMs) <= SILENCE_MS) return;
  lookAtRepository(gain, eyes, oddities);
  const body = { event_type: 'Session.Abort' as const, data: { end_reason: 'idle_timeout' as const } };
  const segment = state.fold.segment?.number ?? 0;
  follow(gain, conclude(state, body, `silence:${segment}:${state.seq}`, state.arrivedMs + SILENCE_MS), oddities);
  if (followed) reader?.settle(followed, true);
}

/** The rest of its transcript stays unread: what is told of it ends with its last row, and its sums say that they are not whole. */
function leaveUnread(gain: Gain, oddities: { [kind: string]: number }): void {
  const { state } = gain;
  delete state.transcripts?.isPart;
  const { lastMs, segment } = state.fold;
  if (isOpen(state.fold) && state.fold.endedMs === undefined) {
    const body = { event_type: 'Session.End' as const, data: { end_reason: 'idle_timeout' as const } };
    follow(gain, conclude(state, body, `left:${segment?.number ?? 0}:${lastMs}`, lastMs), oddities);
  }
  for (const { of } of awaited(state.fold)) {
    const settled = { event_type: SETTLED, data: { of, reason: 'timeout' } } as const;
    follow(gain, conclude(state, settled, of, lastMs), oddities);
  }
  // As of an import: nothing of it counts today.
  gain.events.length = 0;
  gain.records.length = 0;
}

const isForgotten = (state: SessionState, nowMs: number): boolean =>
  !isOpen(state.fold) && nowMs - state.arrivedMs > TOMBSTONE_MS;

/** What of it leaves: of things long past, counters would jump today, and back ends take no logs. */
export interface Leaving {
  metrics: boolean;
  logsSinceMs: number;
}

/** Bodies, metric states and their books, for each destination what its sessions yield. */
export function leaving(
  store: Pick<Store, 'document'>,
  gains: readonly Gain[],
  documents: Map<string, unknown>,
  nowMs: number,
  { metrics, logsSinceMs }: Leaving = { metrics: true, logsSinceMs: Number.NEGATIVE_INFINITY },
): { bodies: NonNullable<Round['bodies']>; tallies: ((ledger: Ledger) => void)[] } {
  const bodies: NonNullable<Round['bodies']> = [];
  const tallies: ((ledger: Ledger) => void)[] = [];
  for (const id of new Set(gains.flatMap(gain => gain.state.pinned.destinations))) {
    const name = destinationDocument(id);
    const destination = (documents.get(name) ?? store.document(name)) as Destination | undefined;
    if (destination === undefined) continue;
    const here = gains.filter(gain => gain.state.pinned.destinations.includes(id));
    const account = (ledger: Ledger): DestinationAccounts => accountsOf(ledger, id, destination);

    if (destination.signals.events) {
      const parts = linesFor(here, destination.signals.events).filter(({ items }) => items > 0);
      for (const { items, lines } of parts)
        bodies.push({ destination: id, signal: 'events', items, bytes: Buffer.from(lines) });
      tallies.push(ledger => {
        for (const { items } of parts) account(ledger).events.produced += items;
      });
    }
    const { batches, unsampled } = encode(here.map(gain => yieldOf(gain, destination, logsSinceMs)));
    for (const batch of batches) bodies.push({ destination: id, ...batch });
    tallies.push(ledger => {
      const books = account(ledger);
      for (const { signal, items } of batches) books[signal].produced += items;
      books.traces.produced += unsampled.traces;
      if (unsampled.traces > 0) increase(books.traces.dropped, 'sampled', unsampled.traces);
    });

    if (destination.signals.metrics && metrics) {
      const known = documents.get(metricsDocument(id)) ?? store.document(metricsDocument(id));
      const state = (known as MetricState | undefined) ?? noMetrics();
      const before = state.version;
      for (const gain of here) {
        const { resource, sampler, metrics: set } = gain.state.pinned;
        const isExemplified = destination.signals.traces && set?.exemplars !== false;
        addTo(state, resource, incrementsIn(gain), nowMs, {
          mostSeries: set?.series,
          locate: isExemplified ? locator(spanFactsOf(gain.state), sampler) : undefined,
        });
      }
      const versions = state.version - before;
      if (versions > 0) documents.set(metricsDocument(id), state);
      tallies.push(ledger => {
        account(ledger).metrics.produced += versions;
      });
    }
  }
  return { bodies, tallies };
}

/** A file gets the lines of a round at once; a request holds no more of them than of spans. */
function linesFor(here: readonly Gain[], { types, url }: Target): { items: number; lines: string }[] {
  const all = here.map(gain => gain.lines).join('');
  if (types === undefined && url === undefined)
    return [{ items: here.reduce((sum, gain) => sum + gain.count, 0), lines: all }];
  const isWanted = wildcards(types ?? ['*']);
  const lines = all.split(/(?<=\n)/).filter(line => line !== '' && isWanted(String(JSON.parse(line).event_type)));
  return sliced(lines).map(part => ({ items: part.length, lines: part.join('') }));
}

export const incrementsIn = ({
  state,
  events,
  spans,
  records,
}: Pick<Gain, 'state' | 'events' | 'spans'> & Partial<Pick<Gain, 'records'>>): Increment[] =>
  incrementsOf(
    events,
    spans,
    // Strangers may name themselves as they like; a series for each would grow without bound.
    agentNamed(state.agent)?.id ?? 'custom',
    tool => isBuiltIn(state.agent, tool),
    {
      provider: agentNamed(state.agent)?.provider,
      providerOf: providerOfModel,
      semconv: state.pinned.semconv,
      include: state.pinned.metrics?.include,
      session: state.session,
      knownSubagent: kind => agentNamed(state.agent)?.subagents?.includes(kind) ?? false,
      records,
    },
  );

const isBuiltIn = (agent: string, tool: string): boolean => Object.hasOwn(agentNamed(agent)?.actions ?? {}, tool);

function yieldOf({ state, spans, records }: Gain, destination: Destination, logsSinceMs: number): Yield {
  return {
    spans: destination.signals.traces ? leavingSpans(spans, state.pinned) : [],
    records: destination.signals.logs ? weighing(state.pinned.level, recordsSince(logsSinceMs, records)) : [],
    facts: spanFactsOf(state),
    resource: state.pinned.resource,
    sampler: state.pinned.sampler,
  };
}

export const spanFactsOf = (state: SessionState): SpanContextFacts => ({
  agent: state.agent,
  session: state.session,
  provider: agentNamed(state.agent)?.provider,
  providerOf: providerOfModel,
  denyAsError: state.pinned.denyAsError,
  semconv: state.pinned.semconv,
  formerName: state.pinned.spanNames && formerNameOf(state.agent),
  turns: state.pinned.turns,
  caller: state.pinned.caller,
  limits: state.pinned.limits,
  content: state.pinned.content,
  user: state.pinned.user,
});

/** Where all of them leave, nothing is asked of each. */
const recordsSince = (sinceMs: number, records: FinishedRecord[]): FinishedRecord[] =>
  sinceMs === Number.NEGATIVE_INFINITY
    ? records
    : records.filter(({ event }) => Date.parse(event.timestamp) >= sinceMs);

const weighing = (least: SessionState['pinned']['level'], records: FinishedRecord[]): FinishedRecord[] =>
  least === undefined ? records : records.filter(record => isOfWeight(record, least));

/** The store gives copies, so what a lost round changed is changed nowhere. */
export function recalled(store: Pick<Store, 'session'>, key: string): SessionState | undefined {
  const state = store.session(key)?.state as SessionState | undefined;
  return state !== undefined && isFold(state.fold) ? state : undefined;
}
