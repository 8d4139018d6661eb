/**
 * Transcripts that exist already, with their true times. They go the way of all others: through the reader of their
 * agent, the journal, the fold, in rounds that commit; so what was imported once, or told by hooks, is known by its ids.
 */

import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type Agent,
  isAbsent,
  type Places,
  readerFor,
  type Transcript,
  type TranscriptFile,
} from '../agents/contract/contract.ts';
import { awaited, isOpen } from '../assemble/assemble.ts';
import { destinationDocument } from '../deliver/known-destinations.ts';
import type { Event, Fields } from '../event/event.ts';
import { conclude } from '../identify/identify.ts';
import { isDiskError } from '../lib/disk-error.ts';
import { keyedHash } from '../lib/hash.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import type { Problem } from '../problems/problem.ts';
import { keeperOf as keep } from '../session/own-content.ts';
import { judgeRisk as risk } from '../session/own-rules.ts';
import { pin } from '../session/pin.ts';
import { priceOf as price } from '../session/prices.ts';
import { newSession, noTranscripts, type SessionState, sessionKey } from '../session/session-state.ts';
import { increase } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';
import { type Eyes, plainName, whyUnread } from '../transcripts/eyes.ts';
import { rowsFrom } from '../transcripts/lines.ts';
import { MOST_VALUES } from '../transcripts/read-on.ts';
import { impatient, ownersIn, readerOf, type TranscriptBooks } from '../transcripts/session-reader.ts';
import {
  addBooks,
  failureProblems,
  follow,
  type Gain,
  type Leaving,
  leaving,
  type RoundWorld,
  recalled,
  remade,
  SILENCE_MS,
} from './round.ts';

/** A session that somebody wrote down. */
export interface Found {
  agent: Agent;
  session: string;
  file: TranscriptFile;
  cwd: string | undefined;
  /** The newest time that is known of it. */
  atMs: number;
  /** All its files. */
  sizeBytes: number;
}

export interface Search {
  agents: readonly Agent[];
  /** Files and folders; none: wherever the agents keep them. */
  paths: readonly string[];
  places: Places;
  eyes: Eyes;
  sinceMs: number;
}

/** Transcripts that are known as such and not read. */
export interface PassedOver {
  /** Where the form says whose it is. */
  agent: string | undefined;
  why: string;
  files: number;
  /** One of them. */
  path: string;
}

/** A file that was named and has no session of its own, such as a subagent's: it is read with the session's main file. */
export interface Part {
  path: string;
  session: string;
  main: string;
}

export interface FoundSessions {
  /** The oldest first, each once. */
  found: Found[];
  /** Named paths in which there was none. */
  without: string[];
  parts: Part[];
  /** What is known and not read. */
  passed: PassedOver[];
}

export function findSessions(search: Search): FoundSessions {
  const { agents, paths, places, eyes, sinceMs } = search;
  const found = new Map<string, Found>();
  const passed = new Map<string, PassedOver>();
  const pass = (agent: string | undefined, why: string, path: string): void => {
    const known = passed.get(`${agent} ${why}`);
    passed.set(`${agent} ${why}`, { agent, why, path: known?.path ?? path, files: (known?.files ?? 0) + 1 });
  };
  /** Is it known why it is not read? */
  const isPassed = (path: string, among: readonly Agent[]): boolean => {
    const packed = eyes.unread.get(path);
    if (packed !== undefined) pass(among.length === 1 ? among[0]?.id : undefined, whyUnread[packed], `${path}.zst`);
    else
      for (const { id, transcript } of among) {
        const form = isAbsent(transcript) ? undefined : transcript.unread?.find(each => each.fits(path));
        if (form === undefined) continue;
        pass(id, form.why, path);
        return true;
      }
    return packed !== undefined;
  };
  /** Files of sessions that were found: a subagent's has no session of its own. */
  const parts = new Map<string, Found>();
  const start = startsOf(eyes);
  const add = (agent: Agent, file: TranscriptFile, beginning = USUAL): boolean => {
    const sessions = sessionsIn(agent, file, eyes, places, (path, size) => start(path, size, beginning));
    for (const each of sessions) {
      for (const path of each.files) parts.set(path, each);
      const key = `${agent.id} ${each.session}`;
      const known = found.get(key);
      if (known === undefined || known.atMs < each.atMs) found.set(key, each);
    }
    return sessions.length > 0;
  };
  /** A document was looked at as a whole. */
  const isWorthMore = (path: string): boolean => path.endsWith('.jsonl') && !parts.has(path);
  /** The session whose files this one is among: its main file lies beside it, or one or two folders above. */
  const ownerOf = (path: string): Found | undefined => {
    let folder = path;
    for (let above = 0; above < 3; above += 1) {
      folder = dirname(folder);
      const beside = eyes.names(folder).filter(name => name.endsWith('.jsonl'));
      for (const name of beside.slice(0, MOST_BESIDE)) {
        const file = { path: join(folder, name) };
        for (const agent of agents) {
          const sessions = sessionsIn(agent, file, eyes, places, (at, size) => start(at, size, USUAL));
          if (sessions.some(each => each.files.includes(path)) && add(agent, file)) return parts.get(path);
        }
      }
    }
    return undefined;
  };
  const unread: { path: string; files: readonly string[] }[] = [];
  for (const path of paths) {
    const files = filesBelow(plainName(path), eyes);
    const rest = files.filter(each => !agents.some(agent => add(agent, { path: each })) && !isPassed(each, agents));
    const unknown = rest.filter(each => !isWorthMore(each) || !agents.some(agent => add(agent, { path: each }, LONG)));
    if (unknown.length === files.length) unread.push({ path, files });
  }
  const named = unread.map(({ path, files }) => {
    const of = files.slice(0, MOST_PARTS).flatMap(file => parts.get(file) ?? ownerOf(file) ?? []);
    return { path, of: [...new Set(of)] };
  });
  if (paths.length === 0) {
    for (const agent of agents) {
      if (isAbsent(agent.transcript)) continue;
      const { installed, unread = [] } = agent.transcript;
      const rest = installed(places, eyes).filter(file => !add(agent, file) && !isPassed(file.path, [agent]));
      for (const file of rest) if (isWorthMore(file.path)) add(agent, file, LONG);
      for (const { why, installed: lie } of unread) for (const path of lie(places, eyes)) pass(agent.id, why, path);
    }
  }
  const all = [...found.values()].filter(each => each.atMs >= sinceMs).sort((a, b) => a.atMs - b.atMs);
  return {
    found: all,
    without: named.flatMap(({ path, of }) => (of.length === 0 ? [path] : [])),
    parts: named.flatMap(({ path, of }) => of.map(({ session, file }) => ({ path, session, main: file.path }))),
    passed: [...passed.values()],
  };
}

/** So many files of a named folder are looked at for the session that they belong to. */
const MOST_PARTS = 50;
/** So many files of a folder may be the main file. */
const MOST_BESIDE = 1_000;

/** How much of a file of rows is looked at to tell whose it is. */
interface Beginning {
  bytes: number;
  rows: number;
}
type Start = (path: string, size: number) => readonly Fields[];
const USUAL: Beginning = { bytes: 512 * 1024, rows: 64 };
/** Where that says nothing: a first prompt may hold a picture, and rows about other sessions may stand before it. */
const LONG: Beginning = { bytes: 32 * 1024 * 1024, rows: 1_024 };
const LARGEST_DOCUMENT = 64 * 1024 * 1024;

function sessionsIn(
  agent: Agent,
  file: TranscriptFile,
  eyes: Eyes,
  { home, env }: Places,
  start: Start,
): (Found & { files: readonly string[] })[] {
  const { transcript } = agent;
  const stat = eyes.stat(file.path);
  if (isAbsent(transcript) || stat === undefined) return [];
  return foundIn(transcript, file, eyes, stat.sizeBytes, start).map(({ session, cwd, atMs }) => {
    const place = { session, cwd, home, env, main: file.path, subagents: [] };
    const files = transcript.files(place, eyes).map(({ path }) => path);
    const sizeBytes = files.reduce((sum, path) => sum + (eyes.stat(path)?.sizeBytes ?? 0), 0) || stat.sizeBytes;
    return { agent, session, file, cwd, atMs: atMs ?? stat.writtenMs, sizeBytes, files };
  });
}

function foundIn(transcript: Transcript, file: TranscriptFile, eyes: Eyes, size: number, start: Start) {
  try {
    if (readerFor(transcript, file.path).format === 'lines')
      return transcript.sessions(file, { rows: start(file.path, size), document: undefined }, eyes);
    return transcript.sessions(file, { rows: [], document: documentOf(eyes, file.path, size) }, eyes);
  } catch {
    // A reader that cannot bear a stranger's file does not claim it.
    return [];
  }
}

/** The first rows of a file; of the last one they are kept, since every agent is asked. */
function startsOf(eyes: Eyes) {
  let last: { path: string; beginning: Beginning; rows: readonly Fields[] } | undefined;
  return (path: string, size: number, beginning: Beginning): readonly Fields[] => {
    if (last?.path === path && last.beginning === beginning) return last.rows;
    const rows: Fields[] = [];
    const reader = rowsFrom(eyes, path, 0, Math.min(size, beginning.bytes), () => undefined);
    for (let row = reader.peek(); row !== undefined && rows.length < beginning.rows; row = reader.peek()) {
      rows.push(row.fields);
      reader.take();
    }
    last = { path, beginning, rows };
    return rows;
  };
}

const documentOf = (eyes: Eyes, path: string, sizeBytes: number) => ({
  sizeBytes,
  slice: (at: number, length: number): Buffer => eyes.read(path, at, Math.min(length, LARGEST_DOCUMENT)),
  json(): unknown {
    if (sizeBytes > LARGEST_DOCUMENT) return undefined;
    try {
      const text = eyes.read(path, 0, sizeBytes).toString('utf8');
      return hasMoreValues(text, MOST_VALUES) ? undefined : JSON.parse(text);
    } catch {
      // No JSON: whoever asks is told so.
      return undefined;
    }
  },
});

const DEEPEST_FOLDER = 8;
const MOST_FILES = 100_000;

/** A file is itself; a folder all files below it, as far as folders go. */
function filesBelow(path: string, eyes: Eyes): string[] {
  const files: string[] = [];
  const walk = (at: string, depth: number): void => {
    if (files.length >= MOST_FILES) return;
    if (!isFolder(at)) {
      if (eyes.stat(at) !== undefined || eyes.unread.has(at)) files.push(at);
    } else if (depth < DEEPEST_FOLDER) {
      for (const name of eyes.names(at)) walk(join(at, name), depth + 1);
    }
  };
  walk(path, 0);
  return files;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Not there: neither a folder nor a file.
    return false;
  }
}

export type ImportStore = Pick<Store, 'epoch' | 'session' | 'journal' | 'document'>;

/** A folder that is not there yet: for a look at what would come of it. */
export const emptyStore: ImportStore = {
  epoch: 0,
  session: () => undefined,
  journal: () => undefined,
  document: () => undefined,
};

/** What one round of an import did. */
export interface ImportRound {
  round: Round;
  problems: Problem[];
  gains: readonly Gain[];
  books: TranscriptBooks;
  /** How many of the sessions are done; the next round begins with the one after. */
  done: number;
  bytes: number;
}

/** Reads on in these sessions, one after the other, until so many bytes are read. */
export function importRound(
  store: ImportStore,
  sessions: readonly Found[],
  world: RoundWorld & { eyes: Eyes },
  bytes: number,
  which: Leaving,
): ImportRound {
  const { eyes, home, env, nowMs } = world;
  const hash = (content: string): string => keyedHash(world.hashKey, content);
  const books: TranscriptBooks = { read: 0, journaled: 0, duplicate: 0, odd: {} };
  const budget = { bytes };
  const owners = ownersIn(name => store.document(name));
  const gains: Gain[] = [];
  /** What this round adds to a journal counts for those that copy from it. */
  const journal = (key: string): string | undefined => {
    const gained = gains.find(gain => gain.state.key === key)?.lines ?? '';
    const kept = store.journal(key);
    return kept === undefined && gained === '' ? undefined : (kept ?? '') + gained;
  };
  const ours = new Set(sessions.map(each => sessionKey(each.agent.id, each.session)));
  const documents = new Map<string, unknown>();
  const problems: Problem[] = [];
  /** Agents whose transcripts had rows that failed. */
  const failing = new Set<string>();
  let done = 0;
  /** Reads on in one session; `isMore`: there is more than this round may read. */
  const readIn = (found: Found): { isMore: boolean } => {
    const { state, destinations, problems: more } = opened(store, found, world);
    problems.push(...more);
    for (const destination of destinations)
      documents.set(destinationDocument(destination.id), { ...destination, pinnedMs: world.nowMs });
    const gain: Gain = { state, lines: '', count: 0, events: [], spans: [], records: [] };
    gains.push(gain);
    const emit = (event: Event): void => {
      const isRecorded = Date.parse(event.timestamp) >= which.logsSinceMs;
      follow(gain, event, books.odd, { isRecorded });
      // What does not leave is not gathered: of a long past session that is most of it.
      if (!which.metrics) gain.events.length = 0;
    };
    const transcripts = {
      eyes,
      home,
      env,
      hash,
      risk,
      price,
      keep,
      nowMs,
      waits: impatient,
      budget,
      journal,
      owner: owners.owner,
      knows: (key: string): boolean => ours.has(key) || journal(key) !== undefined,
    };
    const reader = readerOf(state, found.agent, transcripts, emit, books, () => failing.add(found.agent.title));
    if (reader === undefined) return { isMore: false };
    const followed = reader.read(Number.POSITIVE_INFINITY);
    state.arrivedMs = Math.max(state.arrivedMs, nowMs);
    if (state.transcripts !== undefined) state.transcripts.isPart = followed.isMore || undefined;
    if (followed.isMore) return { isMore: true };
    const isPast = nowMs - state.fold.lastMs > SILENCE_MS;
    if (!isPast && state.hookedMs !== undefined) reader.settle(followed);
    if (!isPast) return { isMore: false };
    reader.finish();
    // No transcript says when its session ended: its last row is its last sign of life.
    if (isOpen(state.fold) && state.fold.endedMs === undefined && state.hookedMs === undefined) {
      const { lastMs, segment } = state.fold;
      const body = { event_type: 'Session.End' as const, data: { end_reason: 'idle_timeout' as const } };
      emit(conclude(state, body, `imported:${segment?.number ?? 0}:${lastMs}`, lastMs));
    }
    if (awaited(state.fold).length > 0) reader.settle(followed, true);
    return { isMore: false };
  };
  for (const found of sessions) {
    if (budget.bytes <= 0) break;
    const { read, journaled, duplicate } = books;
    const before = gains.length;
    try {
      if (readIn(found).isMore) break;
    } catch (error) {
      if (isDiskError(error)) throw error;
      // This session is left as it was; the others do not wait for it.
      Object.assign(books, { read, journaled, duplicate });
      gains.length = before;
      problems.push({ code: 'transcript-failed', agent: found.agent.title, why: 'file' });
    }
    done += 1;
  }
  const { bodies, tallies } = leaving(store, gains, documents, nowMs, which);
  return {
    problems: [...problems, ...failureProblems(books.odd, failing)],
    gains,
    books,
    done,
    bytes: bytes - budget.bytes,
    round: {
      epoch: store.epoch,
      journal: gains.flatMap(({ state, lines }) => (lines === '' ? [] : [{ key: state.key, lines }])),
      sessions: gains.map(({ state }) => ({ key: state.key, state })),
      documents: [...[...documents].map(([name, value]) => ({ name, value })), ...owners.documents()],
      bodies,
      tally(ledger) {
        addBooks(ledger, books);
        for (const [kind, count] of Object.entries(books.odd)) increase(ledger.counters, `odd.${kind}`, count);
        for (const tally of tallies) tally(ledger);
      },
    },
  };
}

function opened(
  store: Pick<Store, 'session' | 'journal'>,
  { agent, session, file, cwd }: Found,
  world: RoundWorld,
): Pick<ReturnType<typeof pin>, 'destinations' | 'problems'> & { state: SessionState } {
  const key = sessionKey(agent.id, session);
  const known = recalled(store, key);
  const pinned = known ? undefined : pin({ agent, cwd }, { header: {} }, world);
  // What is long past would leave as of the day of the correction.
  delete pinned?.pinned.undecided;
  const state = known ?? newSession({ agent, session, key }, (pinned as ReturnType<typeof pin>).pinned);
  if (known === undefined) remade(state, store.journal(key));
  state.transcripts ??= noTranscripts();
  state.transcripts.main = file.path;
  state.transcripts.cwd ??= cwd;
  return { state, destinations: pinned?.destinations ?? [], problems: pinned?.problems ?? [] };
}
