/**
 * Continues to read the transcripts of a session: from the last offset of each file, in the order of time over all
 * files, up to a given time. The offsets are part of the session's state and are committed with it, so the round that
 * records a row also moves the offset.
 */
import {
  type DocumentReader,
  type LineReader,
  type Reader,
  type ReadFile,
  readerFor,
  type Transcript,
  type TranscriptEntry,
  type TranscriptFile,
} from '../agents/contract/contract.ts';
import { memoryOver } from '../agents/shared/memory.ts';
import type { Fields } from '../event/event.ts';
import { versionOf } from '../identify/identify.ts';
import { isDiskError } from '../lib/disk-error.ts';
import { hexDigestOf } from '../lib/hash.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { own, put } from '../lib/read.ts';
import type { FileState, TranscriptState } from '../session/session-state.ts';
import type { Eyes, FileStat } from './eyes.ts';
import { type Oddity, type Row, type Rows, rowsFrom } from './lines.ts';

export interface ReadingOn {
  transcript: Transcript;
  state: TranscriptState;
  session: string;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  eyes: Eyes;
  hash: (content: string) => string;
  /** Later rows are read in a later call. */
  untilMs: number;
  /** True if results of actions are kept. Then their rows are read as a whole. */
  keepsResults: boolean;
  /** The files of the session, if `readOn` has listed them in this round. */
  files?: readonly TranscriptFile[] | undefined;
  /** The number of bytes that may still be read. Changed in place. */
  budget: { bytes: number };
  /** The first offset to read: the Python package sent everything before it. */
  begin?: ((path: string) => number) | undefined;
  listener: TranscriptListener;
}

/** Receives the rows. */
export interface TranscriptListener {
  report(entry: TranscriptEntry, from: Origin): void;
  /** The id of a main file's first row. */
  origin(id: string): void;
  odd(kind: Oddity | 'reader_failed' | 'row_failed' | 'large_document' | 'large_file'): void;
}

export interface Origin {
  atMs: number | undefined;
  subagent: string | undefined;
  /** True if the file was rewritten, or is read as a whole each time. Then ids are also compared with the journal. */
  isAgain: boolean;
  /** The version of the agent, as the file states it. */
  version?: string | undefined;
}

export interface ReadOn {
  /** True if the budget was used up before the end of the files. */
  isMore: boolean;
  /** True if at least one file exists. */
  isThere: boolean;
  /** Modification time of the newest file. */
  writtenMs: number;
  files: readonly TranscriptFile[];
}

const LARGEST_DOCUMENT = 64 * 1024 * 1024;
/** The largest number of values in a document, whose parsed form can be thirty times as large as its text. */
export const MOST_VALUES = 4_000_000;
const LARGEST_FILE = 4 * 1024 * 1024 * 1024;
/** A database empties its log at about 4 MB, unless another program keeps it open for reading. */
const LARGEST_COMPANION = 64 * 1024 * 1024;
const MOST_FILES = 2_000;

export function readOn(readingOn: ReadingOn): ReadOn {
  const { state, eyes, transcript } = readingOn;
  const files = filesOf(readingOn);
  const result: ReadOn = { isMore: false, isThere: false, writtenMs: 0, files };
  const cursors: Cursor[] = [];
  for (const file of files) {
    const read = readerFor(transcript, file.path);
    const stat = eyes.stat(file.path);
    if (stat === undefined) continue;
    result.isThere = true;
    result.writtenMs = Math.max(result.writtenMs, stat.writtenMs);
    const name = file.session === undefined ? file.path : `${file.path}#${file.session}`;
    const known = own(state.files, name) ?? firstLook(readingOn, read, file.path);
    put(state.files, name, known);
    if (read.format === 'lines' && stat.sizeBytes > LARGEST_FILE) {
      // The file is larger than that of any session, so it is skipped.
      if (known.version === undefined) readingOn.listener.odd('large_file');
      known.version = 'large';
      continue;
    }
    if (read.format === 'document') readDocument(readingOn, read, file, known, stat);
    else if (stat.sizeBytes !== known.at || known.at === 0) {
      const cursor = cursorAt(readingOn, read, file, known, stat);
      if (cursor !== undefined) cursors.push(cursor);
    }
  }
  result.isMore = merge(readingOn, cursors);
  return result;
}

function firstLook({ state, eyes, begin }: ReadingOn, { format }: Reader, path: string): FileState {
  const at = format === 'lines' ? (begin?.(path) ?? 0) : 0;
  const mark = at === 0 ? undefined : markOf(eyes, path, at);
  return { at, mark, memory: {}, again: state.isAgain && Number.MAX_SAFE_INTEGER };
}

/** Reports the readings that wait in the readers' memories for further rows. */
export function reportRest(readingOn: ReadingOn): void {
  const { transcript, state } = readingOn;
  for (const file of readingOn.files ?? filesOf(readingOn)) {
    const read = readerFor(transcript, file.path);
    const known = own(state.files, file.path);
    if (read.format !== 'lines' || read.rest === undefined || known === undefined) continue;
    const atMs = known.lastMs ?? Math.floor(readingOn.eyes.stat(file.path)?.writtenMs ?? 0);
    const entries = guarded(readingOn, () =>
      read.rest?.(memoryOver(known.memory, readingOn.hash), opened(readingOn, file)),
    );
    const version = known.agentVersion;
    for (const each of entries) report(readingOn, each, { atMs, subagent: file.subagent, isAgain: false, version });
  }
}

function filesOf(readingOn: ReadingOn): TranscriptFile[] {
  const { transcript, state, session, home, env, eyes } = readingOn;
  const place = { session, cwd: state.cwd, home, env, main: state.main, subagents: state.subagents };
  try {
    return transcript.files(place, eyes).slice(0, MOST_FILES);
  } catch (error) {
    if (isDiskError(error)) throw error;
    readingOn.listener.odd('reader_failed');
    return [];
  }
}

function opened({ session, eyes }: ReadingOn, file: TranscriptFile): ReadFile {
  const companions = (file.beside ?? []).map(path => {
    const stat = eyes.stat(path);
    return stat === undefined || stat.sizeBytes > LARGEST_COMPANION ? undefined : eyes.read(path, 0, stat.sizeBytes);
  });
  return { ...file, root: session, companions };
}

/** Returns undefined if the reader fails. The failure is counted when the row is read. */
function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Reports a row. A row that fails is counted and skipped, so that the rows after it are read. */
function report(readingOn: ReadingOn, entry: TranscriptEntry, from: Origin): void {
  try {
    readingOn.listener.report(entry, from);
  } catch (error) {
    // Disk errors are temporary: the row is read again later.
    if (isDiskError(error)) throw error;
    readingOn.listener.odd('row_failed');
  }
}

/** Readers never throw. If one does, only this row is lost, and it is counted. */
function guarded(readingOn: ReadingOn, read: () => TranscriptEntry[] | undefined): TranscriptEntry[] {
  try {
    return read() ?? [];
  } catch {
    readingOn.listener.odd('reader_failed');
    return [];
  }
}

// ---------------------------------------------------------------- lines

interface Cursor {
  reader: LineReader;
  file: ReadFile;
  known: FileState;
  rows: Rows;
  memory: ReturnType<typeof memoryOver>;
  /** The time of rows if neither the row nor an earlier row has a time. */
  writtenMs: number;
  /** The next row with its time, which is never before the time of the previous row. */
  next: { row: Row; atMs: number | undefined; orderMs: number } | undefined;
}

function cursorAt(
  readingOn: ReadingOn,
  reader: LineReader,
  file: TranscriptFile,
  known: FileState,
  stat: FileStat,
): Cursor | undefined {
  const { eyes } = readingOn;
  const isAnew = stat.sizeBytes < known.at || (known.at > 0 && markOf(eyes, file.path, known.at) !== known.mark);
  if (isAnew) {
    known.again = Math.max(known.again ?? 0, known.at);
    known.at = 0;
    known.mark = undefined;
    known.memory = {};
    known.lastMs = undefined;
  }
  if (stat.sizeBytes === known.at) return undefined;
  const forms = { isBrief: readingOn.keepsResults ? undefined : reader.isBrief, skips: reader.skips };
  const cursor: Cursor = {
    reader,
    file: opened(readingOn, file),
    known,
    rows: rowsFrom(eyes, file.path, known.at, stat.sizeBytes, kind => readingOn.listener.odd(kind), forms),
    memory: memoryOver(known.memory, readingOn.hash),
    writtenMs: Math.floor(stat.writtenMs),
    next: undefined,
  };
  advance(cursor);
  return cursor;
}

const MARK_BYTES = 256;

function markOf(eyes: Eyes, path: string, at: number): string {
  const from = Math.max(0, at - MARK_BYTES);
  return hexDigestOf(eyes.read(path, from, at - from)).slice(0, 16);
}

function advance(cursor: Cursor): void {
  const row = cursor.rows.peek();
  if (row === undefined) {
    cursor.next = undefined;
    return;
  }
  const atMs = timeOf(row.fields, cursor.reader);
  cursor.next = { row, atMs, orderMs: Math.max(atMs ?? 0, cursor.known.lastMs ?? 0) };
}

function timeOf(fields: Fields, reader: LineReader): number | undefined {
  const time = reader.at === undefined ? fields.timestamp : safely(() => reader.at?.(fields));
  const atMs = typeof time === 'string' ? Date.parse(time) : typeof time === 'number' ? time : Number.NaN;
  return Number.isFinite(atMs) ? atMs : undefined;
}

/** Reads the rows of all files in the order of time. Returns true if the budget was used up before the end. */
function merge(readingOn: ReadingOn, cursors: Cursor[]): boolean {
  const { untilMs, budget, eyes } = readingOn;
  let isMore = false;
  for (;;) {
    const cursor = earliest(cursors);
    if (cursor?.next === undefined || cursor.next.orderMs > untilMs) break;
    if (budget.bytes <= 0) {
      isMore = true;
      break;
    }
    const { row, atMs, orderMs } = cursor.next;
    const { known, file, reader } = cursor;
    budget.bytes -= row.end - known.at;
    known.lastMs = orderMs === 0 ? undefined : orderMs;
    if (!known.isKnown && reader.origin && file.subagent === undefined) {
      const origin = safely(() => reader.origin?.(row.fields));
      if (origin !== undefined) {
        known.isKnown = true;
        readingOn.listener.origin(origin);
      }
    }
    known.agentVersion =
      safely(() => versionOf(reader.version?.(row.fields, known.agentVersion))) ?? known.agentVersion;
    const version = known.agentVersion;
    const entries = guarded(readingOn, () => reader.row(row.fields, cursor.memory, file));
    const isAgain = known.again !== undefined;
    const tellingMs = atMs ?? known.lastMs ?? cursor.writtenMs;
    for (const each of entries) report(readingOn, each, { atMs: tellingMs, subagent: file.subagent, isAgain, version });
    known.at = row.end;
    if (known.again !== undefined && known.at >= known.again) known.again = undefined;
    cursor.rows.take();
    advance(cursor);
  }
  for (const cursor of cursors) {
    if (cursor.next === undefined) cursor.known.at = Math.max(cursor.known.at, cursor.rows.reached());
    cursor.known.mark = markOf(eyes, cursor.file.path, cursor.known.at);
  }
  return isMore;
}

function earliest(cursors: readonly Cursor[]): Cursor | undefined {
  let first: Cursor | undefined;
  for (const cursor of cursors) {
    if (cursor.next === undefined) continue;
    if (first?.next === undefined || cursor.next.orderMs < first.next.orderMs) first = cursor;
  }
  return first;
}

// ---------------------------------------------------------------- documents

function readDocument(
  readingOn: ReadingOn,
  reader: DocumentReader,
  file: TranscriptFile,
  known: FileState,
  stat: FileStat,
): void {
  const version = `${stat.sizeBytes}:${stat.writtenMs}:${besideVersion(readingOn, file)}`;
  if (known.version === version) return;
  const { eyes, untilMs } = readingOn;
  if (stat.sizeBytes > LARGEST_DOCUMENT && stat.sizeBytes !== known.at) readingOn.listener.odd('large_document');
  const document = {
    sizeBytes: stat.sizeBytes,
    slice: (at: number, length: number): Buffer => eyes.read(file.path, at, Math.min(length, LARGEST_DOCUMENT)),
    json(): unknown {
      if (stat.sizeBytes > LARGEST_DOCUMENT) return undefined;
      try {
        const text = eyes.read(file.path, 0, stat.sizeBytes).toString('utf8');
        if (!hasMoreValues(text, MOST_VALUES)) return JSON.parse(text);
        readingOn.listener.odd('large_document');
        return undefined;
      } catch {
        // The document is incomplete. Its next version is read.
        return undefined;
      }
    },
  };
  const entries = guarded(readingOn, () => reader.document(document, opened(readingOn, file)));
  let isWhole = true;
  for (const each of entries) {
    const { atMs } = each;
    if (atMs !== undefined && atMs > untilMs) {
      isWhole = false;
      continue;
    }
    known.lastMs = atMs ?? known.lastMs;
    report(readingOn, each, {
      atMs: known.lastMs,
      subagent: file.subagent,
      isAgain: known.at > 0 || known.again !== undefined,
    });
  }
  readingOn.budget.bytes -= stat.sizeBytes;
  known.at = stat.sizeBytes;
  known.version = isWhole ? version : undefined;
}

function besideVersion({ eyes }: ReadingOn, file: TranscriptFile): string {
  return (file.beside ?? [])
    .map(path => {
      const stat = eyes.stat(path);
      return stat === undefined ? '' : `${stat.sizeBytes}:${stat.writtenMs}`;
    })
    .join(':');
}
