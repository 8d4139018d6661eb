/**
 * The one owner of the state folder. What lies where:
 *
 *     version                       format of all this
 *     inbox/                        fragments (inbox.ts)
 *     quarantine/<reason>.<name>    what could not be read, for a day (quarantine.ts)
 *     rounds/  ledger.json          how it changes (rounds.ts)
 *     journal/<key>.jsonl           events of a root session; only the committed part counts (journal.ts)
 *     sessions/<key>.json           { v, n, journalBytes, state }
 *     documents/<name>.json         { v, n, value }: whatever else must survive
 *     outbox/<destination>/         bodies that wait for a collector (outbox.ts)
 *     lock  lock.wanted             who delivers (lock.ts)
 *     reserve                       room for the next round on a full disk (reserve.ts)
 *     problems/                     signs of the front ends
 *     processing                    fragments that a round is being computed from (processing.ts)
 *
 * An owner's view begins with a ledger; all that it reads and decides belongs to that ledger's number until a commit
 * replaces it. When a commit is lost, or throws, the view is dropped, and so must be all that was computed from it.
 */
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { type Books, readBooks } from './books.ts';
import { at, type Clock, type Disk, exists, names, readBytes, type StoreFs } from './files.ts';
import { checkName, openFolder } from './folder.ts';
import { createInbox, type Inbox, type Taken } from './inbox.ts';
import {
  type JournalFile,
  journalKey,
  journalPath,
  listJournals,
  lstat,
  placeToAppend,
  readJournal,
  readJournalFrom,
  readJournalTail,
} from './journal.ts';
import { increase, type Ledger, readLedger, type Signal } from './ledger.ts';
import {
  bookExcess,
  CALENDAR_DOCUMENT,
  type Excess,
  excessOf,
  type IsUnderWay,
  LEFT_ALONE_DOCUMENT,
  type Limits,
  readCalendar,
  turnPage,
} from './limits.ts';
import { type BodyFile, bodyFile, bodyName, byName, listBodies, parseBodyName } from './outbox.ts';
import { createProcessing } from './processing.ts';
import {
  emptyQuarantine,
  limitQuarantine,
  type Purged,
  type QuarantineLimits,
  type QuarantineSize,
  quarantineLimits,
  quarantinePath,
} from './quarantine.ts';
import { createReserve } from './reserve.ts';
import { adoptLedger, commitRound, type Effect, readPending } from './rounds.ts';

export interface StoreOptions {
  folder: string;
  /** `read` changes nothing, not even what a killed owner left half applied. */
  access: 'own' | 'read';
  fsync?: boolean;
  quarantine?: QuarantineLimits;
  clock?: Clock;
  /** 16 hex characters that never come twice. */
  nonce?: () => string;
  reserveBytes?: number;
  fs?: StoreFs;
}

export interface Store {
  readonly folder: string;
  /** Grows each time the view was dropped. What was computed under another epoch must not be committed. */
  readonly epoch: number;
  /**
   * Complete fragments in order. Each must be `eaten` or quarantined by a round, or is offered again to the next owner.
   */
  take(limit: { fragments: number; bytes: number }): Taken;
  /**
   * These fragments are about to be processed: if the process dies over one of them, the next owner knows. A commit ends it.
   * True when one of them was processed at a death: then nothing else belongs into that round.
   */
  process(names: readonly string[]): boolean;
  /** The state is a copy: changing it changes nothing. */
  session(key: string): Session | undefined;
  sessions(): string[];
  /** Bytes of each session's file. */
  sessionSizes(): ReadonlyMap<string, number>;
  document(name: string): unknown;
  documents(): string[];
  journal(key: string): string | undefined;
  journalTail(key: string, lines: number): string | undefined;
  /**
   * Whole lines from its beginning, also such as are not committed yet: enough to know whose it is, and nothing else is
   * read for it.
   */
  journalHead(key: string, mostBytes: number): string | undefined;
  /** What came behind `from`, whole lines, and where the next ones begin. */
  journalFrom(key: string, from: number, mostBytes: number): { lines: string; endBytes: number } | undefined;
  journals(): string[];
  /** Bytes of each journal's file, which may hold more than is committed. */
  journalSizes(): Map<string, number>;
  /** `lost`: another owner's round took effect instead; begin again from the disk. So, too, after an error. */
  commit(round: Round): 'committed' | 'lost';
  /** Oldest first. */
  next(destination: string): readonly BodyFile[];
  /** Undefined when it is gone or damaged; then it is to be settled as dropped. */
  body(destination: string, name: string): Buffer | undefined;
  /** Whether there is room to note what a destination takes; without it nothing is to be sent. */
  canSettle(): boolean;
  /** Those that have, or once had, bodies. */
  destinations(): string[];
  ledger(): Ledger;
  books(): Books;
  emptyQuarantine(): QuarantineSize;
  /**
   * What brings inbox, outbox and journal within their limits, and the round that does it; undefined when there is nothing
   * to do. What `isUnderWay` stays. The quarantine is kept within its own by each commit that adds to it, and here.
   */
  within(limits: Limits, isUnderWay?: IsUnderWay): { excess: Excess; round: Round } | undefined;
  /** What front ends could not do, when that was last, and how often where it is known. */
  hookProblems(): { code: string; atMs: number; times?: number }[];
  /** Drops the view and whatever was taken and not committed. */
  restart(): void;
  close(): void;
}

export interface Session {
  state: unknown;
  journalBytes: number;
}

export interface Round {
  /** What the round was computed under; given, a commit under another epoch is lost. */
  epoch?: number | undefined;
  /** Whole lines. */
  journal?: { key: string; lines: string }[];
  /** `undefined` removes it; the journal stays. */
  sessions?: { key: string; state: unknown }[];
  documents?: { name: string; value: unknown }[];
  /** `inPlaceOf`: a part of a body that this round settles keeps its place in line. */
  bodies?: {
    destination: string;
    signal: Signal;
    items: number;
    bytes: Uint8Array;
    isSkeleton?: boolean | undefined;
    inPlaceOf?: string | undefined;
  }[];
  /** Fragments that met their fate; the tally says which. */
  eaten?: string[];
  /** Fragments to set aside, and items cut out of a body. */
  quarantine?: ({ name: string; reason: string } | { bytes: Uint8Array; reason: string; label: string })[];
  settled?: { destination: string; name: string }[];
  /** Journals that go; sessions that are known stay so. */
  prune?: string[];
  /** It makes room, or notes what a destination took: it may spend the reserve. */
  isUrgent?: boolean | undefined;
  /** The caller's increments. `fragments.received` and `fragments.quarantined` are the store's. */
  tally?: (ledger: Ledger) => void;
}

export function openStore(options: StoreOptions): Store {
  const disk: Disk = {
    fs: options.fs ?? nodeFs,
    folder: options.folder,
    fsync: options.fsync ?? false,
    clock: options.clock ?? systemClock,
    nonce: options.nonce ?? (() => randomBytes(8).toString('hex')),
  };
  openFolder(disk, options.access);
  return options.access === 'own' ? ownStore(disk, options) : readStore(disk);
}

const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now(), sinceBoot };

/** Undefined where the kernel tells no such thing; there no fragment's name does either. */
function sinceBoot(): { boot: string; upMs: number } | undefined {
  try {
    const read = (name: string): string => nodeFs.readFileSync(`/proc/${name}`, 'latin1');
    return { boot: read('sys/kernel/random/boot_id').slice(0, 8), upMs: Number.parseFloat(read('uptime')) * 1_000 };
  } catch {
    return undefined;
  }
}

const MOST_CACHED = 512;
/** A session of thousands of events has a state of some 100 KB. */
const MOST_CACHED_CHARACTERS = 16 * 1024 * 1024;
const LOOK_AT_QUARANTINE_MS = 600_000;

function ownStore(disk: Disk, { quarantine: limits = quarantineLimits, reserveBytes }: StoreOptions): Store {
  const processing = createProcessing(disk);
  const inbox = createInbox(disk, undefined, processing);
  const reserve = createReserve(disk, reserveBytes);
  let base: Ledger | undefined = reserve.spend(() => adoptLedger(disk, true));
  let epoch = 0;
  let isClosed = false;
  // As text: what callers do to a state that they read must not reach the next one who reads it.
  const texts = new Map<string, string | undefined>();
  let characters = 0;
  const outbox = new Map<string, BodyFile[]>();
  /** Files that could not be read: the next round counts them. */
  const damaged = new Set<string>();
  /** Thrown out of the quarantine: the next round counts them. */
  let purged: Purged = {};
  let journals: Map<string, JournalFile> | undefined;
  let sizes: Map<string, number> | undefined;
  limitQuarantine(disk, limits, purged);
  let quarantineSeenMs = disk.clock.monotonicMs();

  const view = (): Ledger => {
    if (isClosed) throw new TypeError('the store is closed');
    base ??= reserve.spend(() => adoptLedger(disk, false));
    return base;
  };
  const restart = (): void => {
    base = undefined;
    epoch++;
    texts.clear();
    characters = 0;
    outbox.clear();
    journals = undefined;
    sizes = undefined;
    inbox.restart();
    processing.end();
  };
  const textOf = (path: string): string | undefined => {
    view();
    if (!texts.has(path)) remember(path, readBytes(disk, path)?.toString());
    return texts.get(path);
  };
  const remember = (path: string, text: string | undefined): void => {
    characters += (text?.length ?? 0) - (texts.get(path)?.length ?? 0);
    if (texts.size >= MOST_CACHED || characters > MOST_CACHED_CHARACTERS) {
      texts.clear();
      characters = text?.length ?? 0;
    }
    texts.set(path, text);
  };
  const session = (key: string): Session | undefined => noting(sessionPath(key), parseSession);
  const noting = <T>(path: string, parse: (text: string | undefined) => T | undefined): T | undefined => {
    const text = textOf(path);
    const value = parse(text);
    if (text !== undefined && value === undefined) damaged.add(path);
    return value;
  };
  const bodies = (destination: string): BodyFile[] => {
    view();
    const known = outbox.get(destination) ?? listBodies(disk, checkName(destination));
    outbox.set(destination, known);
    return known;
  };

  const commit = (round: Round): 'committed' | 'lost' => {
    const names = namesIn(round);
    if (names.length > 0) processing.end(names);
    const ledger = view();
    const isStale = round.epoch !== undefined && round.epoch !== epoch;
    const effect = isStale ? undefined : effectOf(disk, round, ledger, inbox, session);
    for (const path of damaged)
      if (effect !== undefined) increase(effect.ledger.counters, `damaged.${path.split('/')[0]}`);
    if (effect !== undefined)
      for (const [reason, count] of Object.entries(purged))
        increase(effect.ledger.counters, `dropped.quarantine.${reason}`, count);
    // Committed and then out of room, the second time finds the first one's round and is lost: the disk has it.
    const outcome =
      effect === undefined
        ? 'lost'
        : round.isUrgent
          ? reserve.spend(() => commitRound(disk, effect))
          : commitRound(disk, effect);
    if (effect === undefined || outcome !== 'done') {
      restart();
      return outcome === 'overtaken' ? 'committed' : 'lost';
    }
    base = effect.ledger;
    damaged.clear();
    purged = {};
    for (const { path, bytes } of effect.files)
      if (isCachedPath(path)) remember(path, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    for (const path of effect.gone) if (isCachedPath(path)) remember(path, undefined);
    updateOutbox(outbox, effect);
    if (journals !== undefined) updateJournals(journals, effect, disk.clock.nowMs());
    if (sizes !== undefined) updateSizes(sizes, effect);
    inbox.settle(names);
    return 'committed';
  };

  return {
    folder: disk.folder,
    get epoch() {
      return epoch;
    },
    take(limit) {
      view();
      let result: Taken | undefined;
      try {
        result = inbox.take(limit);
      } finally {
        // What was taken before the error reached nobody.
        if (result === undefined) restart();
      }
      return result;
    },
    process: names => processing.begin(names),
    session,
    sessions: () => keysIn(disk, 'sessions', '.json'),
    sessionSizes() {
      view();
      sizes ??= sessionSizes(disk);
      return sizes;
    },
    document: name => noting(documentPath(name), parseDocument)?.value,
    documents: () => keysIn(disk, 'documents', '.json'),
    journal: key => readJournal(disk, checkName(key), session(key)?.journalBytes),
    journalTail: (key, lines) => readJournalTail(disk, checkName(key), session(key)?.journalBytes, lines),
    journalHead: (key, most) => readJournalFrom(disk, checkName(key), undefined, 0, most)?.lines,
    journalFrom: (key, from, most) => readJournalFrom(disk, checkName(key), session(key)?.journalBytes, from, most),
    journals: () => keysIn(disk, 'journal', '.jsonl'),
    journalSizes: () => journalSizes(disk),
    commit(round) {
      let outcome: 'committed' | 'lost' | undefined;
      try {
        outcome = commit(round);
      } finally {
        // The round may have been committed before the error; only the disk knows.
        if (outcome === undefined) restart();
      }
      if (outcome === 'committed' && (round.quarantine?.length ?? 0) > 0) limitQuarantine(disk, limits, purged);
      return outcome;
    },
    next: bodies,
    body: (destination, name) => readBody(disk, destination, name),
    canSettle: reserve.isThere,
    destinations: () => names(disk, 'outbox'),
    ledger: () => structuredClone(view()),
    books: () => readBooks(disk),
    emptyQuarantine: () => emptyQuarantine(disk, purged),
    within(places, isUnderWay = () => false) {
      const ledger = view();
      if (disk.clock.monotonicMs() - quarantineSeenMs >= LOOK_AT_QUARANTINE_MS) {
        quarantineSeenMs = disk.clock.monotonicMs();
        limitQuarantine(disk, limits, purged);
      }
      const calendar = readCalendar(noting(documentPath(CALENDAR_DOCUMENT), parseDocument)?.value);
      const turned = turnPage(calendar, ledger.n, disk.clock.nowMs());
      journals ??= listJournals(disk);
      let known: Set<string> | undefined;
      const isKnown = (key: string): boolean => {
        known ??= new Set(keysIn(disk, 'sessions', '.json'));
        return known.has(key);
      };
      const excess = excessOf(places, {
        outbox: new Map(names(disk, 'outbox').map(id => [id, bodies(id)])),
        isUnderWay,
        leftAlone: inbox.leftAlone(),
        journals,
        isKnown,
        calendar: turned ?? calendar,
      });
      const isNothing = Object.values(excess).every(list => list.length === 0) && Object.keys(purged).length === 0;
      const leftAlone = inbox.leftAlone().length - excess.fragments.length;
      const documents: Round['documents'] = [];
      if (turned !== undefined) documents.push({ name: CALENDAR_DOCUMENT, value: turned });
      if (leftAlone !== (noting(documentPath(LEFT_ALONE_DOCUMENT), parseDocument)?.value ?? 0))
        documents.push({ name: LEFT_ALONE_DOCUMENT, value: leftAlone });
      if (isNothing && documents.length === 0) return undefined;
      const round: Round = {
        epoch,
        documents,
        settled: excess.bodies.map(({ destination, name }) => ({ destination, name })),
        eaten: excess.fragments.map(({ name }) => name),
        prune: excess.journals.map(({ key }) => key),
        tally: next => bookExcess(next, excess),
      };
      return { excess, round };
    },
    hookProblems: () => readHookProblems(disk),
    restart,
    close() {
      restart();
      isClosed = true;
    },
  };
}

/** The fragments that meet their fate in it. */
const namesIn = ({ eaten = [], quarantine = [] }: Round): string[] => [
  ...eaten,
  ...quarantine.flatMap(set => ('name' in set ? [set.name] : [])),
];

const journalSizes = (disk: Disk): Map<string, number> =>
  new Map([...listJournals(disk).values()].map(({ key, sizeBytes }) => [key, sizeBytes]));

const sessionSizes = (disk: Disk): Map<string, number> =>
  new Map(
    keysIn(disk, 'sessions', '.json').flatMap(key => {
      const stats = lstat(disk, sessionPath(key));
      return stats === undefined ? [] : [[key, stats.size] as const];
    }),
  );

function readStore(disk: Disk): Store {
  const inbox = createInbox(disk);
  const refuse = (): never => {
    throw new TypeError('the store was opened for reading');
  };
  const session = (key: string): Session | undefined => parseSession(readBytes(disk, sessionPath(key))?.toString());
  // A journal without a session's file is committed as a whole, but for what a round is adding just now.
  const committedBytes = (key: string): number | undefined => {
    const pending = readPending(disk, readLedger(disk).n + 1);
    const adding =
      typeof pending === 'object' ? pending.manifest.lines.find(({ path }) => path === journalPath(key)) : undefined;
    return session(key)?.journalBytes ?? adding?.offset;
  };
  return {
    folder: disk.folder,
    epoch: 0,
    // Looks alone: nothing is moved, and the next owner is offered the same.
    take: limit => inbox.take(limit),
    process: refuse,
    session,
    sessions: () => keysIn(disk, 'sessions', '.json'),
    sessionSizes: () => sessionSizes(disk),
    document: name => parseDocument(readBytes(disk, documentPath(name))?.toString())?.value,
    documents: () => keysIn(disk, 'documents', '.json'),
    journal: key => readJournal(disk, checkName(key), committedBytes(key)),
    journalTail: (key, lines) => readJournalTail(disk, checkName(key), committedBytes(key), lines),
    journalHead: (key, most) => readJournalFrom(disk, checkName(key), undefined, 0, most)?.lines,
    journalFrom: (key, from, most) => readJournalFrom(disk, checkName(key), committedBytes(key), from, most),
    journals: () => keysIn(disk, 'journal', '.jsonl'),
    journalSizes: () => journalSizes(disk),
    commit: refuse,
    next: destination => listBodies(disk, checkName(destination)),
    body: (destination, name) => readBody(disk, destination, name),
    canSettle: () => false,
    destinations: () => names(disk, 'outbox'),
    ledger: () => readLedger(disk),
    books: () => readBooks(disk),
    emptyQuarantine: refuse,
    within: refuse,
    hookProblems: () => readHookProblems(disk),
    restart() {},
    close() {},
  };
}

const sessionPath = (key: string): string => `sessions/${checkName(key)}.json`;
const documentPath = (name: string): string => `documents/${checkName(name)}.json`;
const isCachedPath = (path: string): boolean => path.startsWith('sessions/') || path.startsWith('documents/');

/**
 * What the round does to the disk; undefined when it speaks of things that are no longer there. Makes the next ledger of the
 * one that is given: a copy of all accounts for each answer of a destination would cost the square of their number. Unless
 * the round is committed, the caller must read the ledger anew.
 */
function effectOf(
  disk: Disk,
  round: Round,
  ledger: Ledger,
  inbox: Inbox,
  session: (key: string) => Session | undefined,
): Effect | undefined {
  ledger.n += 1;
  ledger.nonce = disk.nonce();
  const effect: Effect = { ledger, lines: [], files: [], gone: [], quarantine: [], settled: [], eaten: [] };
  const { n } = ledger;
  checkOnce(round.eaten ?? []);
  checkOnce((round.settled ?? []).map(({ destination, name }) => `${destination}/${name}`));

  for (const name of round.eaten ?? []) {
    const place = inbox.placeOf(name);
    if (place === undefined) return undefined;
    effect.eaten.push(place.path);
    if (place.isQuarantined) ledger.fragments.quarantined--;
    else ledger.fragments.received++;
  }
  for (const [i, aside] of (round.quarantine ?? []).entries()) {
    if ('bytes' in aside) {
      effect.files.push({
        path: quarantinePath(aside.reason, `${checkName(aside.label)}-${n}-${i}`),
        bytes: aside.bytes,
      });
      continue;
    }
    const place = inbox.placeOf(aside.name);
    if (place === undefined) return undefined;
    effect.quarantine.push({ from: place.path, to: quarantinePath(aside.reason, aside.name), isOdd: place.isOdd });
    if (place.isQuarantined) continue;
    ledger.fragments.received++;
    ledger.fragments.quarantined++;
  }
  for (const { destination, name } of round.settled ?? []) {
    const path = bodyPath(destination, name);
    if (path === undefined || !exists(disk, path)) return undefined;
    effect.settled.push(path);
  }

  const written = addJournals(disk, effect, round, session);
  for (const { key, state } of round.sessions ?? []) {
    const path = sessionPath(key);
    if (state === undefined) effect.gone.push(path);
    else written.set(key, { state, journalBytes: written.get(key)?.journalBytes ?? committedOf(disk, key, session) });
  }
  // A session may go on saying how long its journal was: the next one begins at 0, because there is none.
  for (const key of round.prune ?? []) effect.gone.push(journalPath(key));
  for (const [key, { state, journalBytes }] of written) {
    if (state === undefined || effect.gone.includes(sessionPath(key))) continue;
    effect.files.push({ path: sessionPath(key), bytes: jsonBytes({ v: 1, n, journalBytes, state }) });
  }
  for (const { name, value } of round.documents ?? []) {
    if (value === undefined) effect.gone.push(documentPath(name));
    else effect.files.push({ path: documentPath(name), bytes: jsonBytes({ v: 1, n, value }) });
  }
  for (const [i, body] of (round.bodies ?? []).entries()) {
    const name = bodyName({ ...body, sizeBytes: body.bytes.length }, n, i);
    effect.files.push({ path: `outbox/${checkName(body.destination)}/${name}`, bytes: body.bytes });
  }
  round.tally?.(ledger);
  return effect;
}

/** What is named twice would be counted twice. */
function checkOnce(names: string[]): void {
  if (new Set(names).size !== names.length) throw new TypeError('a round names the same thing twice');
}

/** Adds the journals' bytes; answers with the sessions as they are then, as far as they were touched. */
function addJournals(
  disk: Disk,
  effect: Effect,
  round: Round,
  session: (key: string) => Session | undefined,
): Map<string, Session> {
  const lines = new Map<string, Buffer[]>();
  for (const { key, lines: text } of round.journal ?? []) {
    if (!text.endsWith('\n')) throw new TypeError('a journal is made of whole lines');
    lines.set(key, [...(lines.get(key) ?? []), Buffer.from(text)]);
  }
  const sessions = new Map<string, Session>();
  for (const [key, parts] of lines) {
    const known = session(key);
    const append = placeToAppend(disk, key, known?.journalBytes);
    const bytes = Buffer.concat(parts);
    const path = journalPath(key);
    if ('rewrite' in append) {
      increase(effect.ledger.counters, 'damaged.journal');
      effect.files.push({ path, bytes: Buffer.concat([append.rewrite, bytes]) });
    } else effect.lines.push({ path, offset: append.offset, bytes });
    sessions.set(key, { state: known?.state, journalBytes: append.offset + bytes.length });
  }
  return sessions;
}

function committedOf(disk: Disk, key: string, session: (key: string) => Session | undefined): number {
  const known = session(key);
  return known?.journalBytes ?? placeToAppend(disk, key, undefined).offset;
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A file that a power cut damaged counts as missing: a session begins again, its journal is still there. */
function parseSession(text: string | undefined): Session | undefined {
  const file = parse(text);
  return typeof file?.journalBytes === 'number' ? { state: file.state, journalBytes: file.journalBytes } : undefined;
}

const parseDocument = (text: string | undefined): { value?: unknown } | undefined => parse(text);

function parse(text: string | undefined): { [key: string]: unknown } | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'v' in value && value.v === 1 ? { ...value } : undefined;
  } catch {
    // As above: damaged is missing.
    return undefined;
  }
}

function keysIn(disk: Disk, folder: string, ending: string): string[] {
  return names(disk, folder)
    .filter(name => name.endsWith(ending))
    .map(name => name.slice(0, -ending.length));
}

function bodyPath(destination: string, name: string): string | undefined {
  return parseBodyName(name) === undefined ? undefined : `outbox/${checkName(destination)}/${name}`;
}

function readBody(disk: Disk, destination: string, name: string): Buffer | undefined {
  const path = bodyPath(destination, name);
  const bytes = path === undefined ? undefined : readBytes(disk, path);
  return bytes?.length === parseBodyName(name)?.sizeBytes ? bytes : undefined;
}

/** Listings that were read stay true without being read again. */
function updateOutbox(outbox: Map<string, BodyFile[]>, effect: Effect): void {
  const settled = new Set(effect.settled);
  const isTouched = (id: string) =>
    effect.settled.some(path => path.startsWith(`outbox/${id}/`)) ||
    effect.files.some(file => file.path.startsWith(`outbox/${id}/`));
  for (const [id, bodies] of outbox) {
    if (!isTouched(id)) continue;
    const added = effect.files
      .filter(file => file.path.startsWith(`outbox/${id}/`))
      .flatMap(file => bodyFile(file.path.slice(`outbox/${id}/`.length)) ?? []);
    const kept = bodies.filter(body => !settled.has(`outbox/${id}/${body.name}`));
    outbox.set(id, [...kept, ...added].sort(byName));
  }
}

function updateJournals(journals: Map<string, JournalFile>, effect: Effect, nowMs: number): void {
  const grown = effect.lines.map(({ path, offset, bytes }) => ({ path, sizeBytes: offset + bytes.length }));
  const anew = effect.files.map(({ path, bytes }) => ({ path, sizeBytes: bytes.length }));
  for (const { path, sizeBytes } of [...grown, ...anew]) {
    const key = journalKey(path);
    if (key !== undefined) journals.set(key, { key, sizeBytes, writtenMs: nowMs });
  }
  for (const path of effect.gone) journals.delete(journalKey(path) ?? '');
}

function updateSizes(sizes: Map<string, number>, effect: Effect): void {
  const keyOf = (path: string): string => path.slice('sessions/'.length, -'.json'.length);
  for (const { path, bytes } of effect.files) if (path.startsWith('sessions/')) sizes.set(keyOf(path), bytes.length);
  for (const path of effect.gone) if (path.startsWith('sessions/')) sizes.delete(keyOf(path));
}

function readHookProblems(disk: Disk): { code: string; atMs: number; times?: number }[] {
  return names(disk, 'problems').map(code => {
    const { mtimeMs } = disk.fs.lstatSync(at(disk, `problems/${code}`));
    const [, times] = /^(\d{1,9})\n$/.exec(readBytes(disk, `problems/${code}`)?.toString('latin1', 0, 16) ?? '') ?? [];
    return { code, atMs: mtimeMs, ...(times === undefined ? {} : { times: Number(times) }) };
  });
}
