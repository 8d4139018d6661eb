/** Finds the transcripts that agents have written: below the given paths, or in the folders of the agents. */

import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type Agent,
  type FirstRows,
  isAbsent,
  type Places,
  readerFor,
  type Transcript,
  type TranscriptFile,
} from '../agents/contract/contract.ts';
import type { Fields } from '../event/event.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { type Eyes, plainName, whyUnread } from '../transcripts/eyes.ts';
import { rowsFrom } from '../transcripts/lines.ts';
import { MOST_VALUES } from '../transcripts/read-on.ts';

/** The transcript of one session. */
export interface FoundTranscript {
  agent: Agent;
  session: string;
  file: TranscriptFile;
  cwd: string | undefined;
  /** The newest known time of the session. */
  atMs: number;
  /** Size of all its files. */
  sizeBytes: number;
}

export interface Search {
  agents: readonly Agent[];
  /** Files and folders. Empty: the folders of the agents. */
  paths: readonly string[];
  places: Places;
  eyes: Eyes;
  sinceMs: number;
}

/** Transcripts in a known format that otel-hooks does not read. */
export interface PassedOver {
  /** The agent, if the format names it. */
  agent: string | undefined;
  why: string;
  files: number;
  /** One of the files, as an example. */
  path: string;
}

/**
 * A given path that is not the main file of a session, such as a subagent's file. It is read with the main file.
 */
export interface Part {
  path: string;
  session: string;
  main: string;
}

export interface FoundSessions {
  /** The oldest first, each once. */
  found: FoundTranscript[];
  /** Given paths without a transcript. */
  without: string[];
  parts: Part[];
  /** Transcripts in formats that otel-hooks does not read. */
  passed: PassedOver[];
}

export function findSessions(search: Search): FoundSessions {
  const { agents, paths, places, eyes, sinceMs } = search;
  const found = new Map<string, FoundTranscript>();
  const passed = new Map<string, PassedOver>();
  const pass = (agent: string | undefined, why: string, path: string): void => {
    const known = passed.get(`${agent} ${why}`);
    passed.set(`${agent} ${why}`, { agent, why, path: known?.path ?? path, files: (known?.files ?? 0) + 1 });
  };
  /** Returns true, and records the reason, if otel-hooks is known not to read this file. */
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
  /** All files of the found sessions, with files of subagents. */
  const parts = new Map<string, FoundTranscript>();
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
  /** Only line files are read a second time: a document was read as a whole. */
  const isWorthMore = (path: string): boolean => path.endsWith('.jsonl') && !parts.has(path);
  /**
   * Returns the session that this file belongs to. Its main file is in the same folder, or one or two folders above.
   */
  const ownerOf = (path: string): FoundTranscript | undefined => {
    let folder = path;
    for (let above = 0; above < 3; above += 1) {
      folder = dirname(folder);
      // A document is read as a whole to find out its session.
      const ending = path.endsWith('.jsonl') ? '.jsonl' : '.json';
      const most = ending === '.jsonl' ? MOST_BESIDE : MOST_DOCUMENTS_BESIDE;
      const beside = eyes.names(folder).filter(name => name.endsWith(ending));
      for (const name of beside.slice(0, most)) {
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

/** The number of files in a given folder for which the session is searched. */
const MOST_PARTS = 50;
/** The number of files in a folder that are tried as the main file. */
const MOST_BESIDE = 1_000;
const MOST_DOCUMENTS_BESIDE = 100;

/** The part of a file that is read to find out its agent and session. */
interface Beginning {
  bytes: number;
  rows: number;
}
type Start = (path: string, size: number) => FirstRows;
const USUAL: Beginning = { bytes: 512 * 1024, rows: 64 };
/** The limits of a second, longer read: the first prompt may contain an image, or follow rows of other sessions. */
const LONG: Beginning = { bytes: 32 * 1024 * 1024, rows: 1_024 };
/** The first step of reading a beginning. */
const FIRST_BYTES = 32 * 1024;
const LARGEST_DOCUMENT = 64 * 1024 * 1024;

function sessionsIn(
  agent: Agent,
  file: TranscriptFile,
  eyes: Eyes,
  { home, env }: Places,
  start: Start,
): (FoundTranscript & { files: readonly string[] })[] {
  const { transcript } = agent;
  const stat = eyes.stat(file.path);
  if (isAbsent(transcript) || stat === undefined) return [];
  return foundIn(transcript, file, eyes, stat.sizeBytes, start).map(({ session, cwd, atMs }) => {
    const place = { session, cwd, home, env, main: file.path, subagents: [] };
    const own = transcript.files(place, eyes);
    const sizeBytes = own.reduce((sum, { path }) => sum + (eyes.stat(path)?.sizeBytes ?? 0), 0) || stat.sizeBytes;
    const files = own.flatMap(({ path, beside = [] }) => [path, ...beside]);
    return { agent, session, file, cwd, atMs: atMs ?? stat.writtenMs, sizeBytes, files };
  });
}

function foundIn(transcript: Transcript, file: TranscriptFile, eyes: Eyes, size: number, start: Start) {
  try {
    if (readerFor(transcript, file.path).format === 'lines')
      return transcript.sessions(file, { rows: start(file.path, size), document: undefined }, eyes);
    return transcript.sessions(file, { rows: [], document: documentOf(eyes, file.path, size) }, eyes);
  } catch {
    // If the reader of an agent fails on a file, the file does not belong to the agent.
    return [];
  }
}

/** Returns the first rows of a file. The rows of the last file are cached, because every agent reads them. */
function startsOf(eyes: Eyes) {
  let last: { path: string; beginning: Beginning; rows: FirstRows & { leave(): void } } | undefined;
  return (path: string, size: number, beginning: Beginning): FirstRows => {
    if (last?.path === path && last.beginning === beginning) return last.rows;
    last?.rows.leave();
    const rows = firstRows(eyes, path, Math.min(size, beginning.bytes), beginning.rows);
    last = { path, beginning, rows };
    return rows;
  };
}

/** Most agents know the session after a few rows, so the others are not read. */
function firstRows(eyes: Eyes, path: string, size: number, most: number): FirstRows & { leave(): void } {
  const known: Fields[] = [];
  const reader = rowsFrom(eyes, path, 0, size, () => undefined, { stepBytes: FIRST_BYTES });
  const at = (index: number): Fields | undefined => {
    if (index < known.length || index >= most) return known[index];
    const row = reader.peek();
    if (row === undefined) return undefined;
    reader.take();
    known.push(row.fields);
    return row.fields;
  };
  function* each(): Generator<Fields, undefined> {
    let index = 0;
    for (let row = at(index); row !== undefined; row = at(index)) {
      yield row;
      index += 1;
    }
  }
  const find: FirstRows['find'] = is => {
    for (const row of each()) if (is(row)) return row;
    return undefined;
  };
  return { find, some: is => find(is) !== undefined, [Symbol.iterator]: each, leave: () => reader.leave() };
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
      // Not JSON: the caller gets undefined.
      return undefined;
    }
  },
  beside(ending: string): Buffer | undefined {
    const stat = eyes.stat(`${path}${ending}`);
    if (stat === undefined || stat.sizeBytes > LARGEST_DOCUMENT) return undefined;
    return eyes.read(`${path}${ending}`, 0, stat.sizeBytes);
  },
});

const DEEPEST_FOLDER = 8;
const MOST_FILES = 100_000;

/** A file itself, or all files below a folder, down to the deepest level. */
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
    // The path does not exist.
    return false;
  }
}
