/** Reads the rows of a file from an offset on. A line that is not a row is counted and skipped. */
import type { Fields } from '../event/event.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { isFields } from '../lib/read.ts';
import { beginnings, pruned } from '../lib/shorten-json.ts';
import type { Eyes } from './eyes.ts';

/** A longer line is scanned, not parsed. */
const LONGEST_PARSED = 8 * 1024 * 1024;
/** A line with more values is scanned, because its parsed form would be many times as large as its text. */
const MOST_VALUES = 1_000_000;
/**
 * A longer line is first read with its long texts cut. If the reader needs the texts, the line is read again as a
 * whole.
 */
const LONG = 8 * 1024;
/** A longer line is skipped. */
const LONGEST_READ = 128 * 1024 * 1024;
const STEP_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export interface Row {
  fields: Fields;
  /** The offset at which the next row begins. */
  end: number;
}

export interface Rows {
  /** The next row. The same row is returned until `take` is called. */
  peek(): Row | undefined;
  take(): void;
  /** Returns the end of the complete lines, if there is no next row. */
  reached(): number;
  /** Leaves its memory to the next file. A later `peek` reads the file again, from the next row on. */
  leave(): void;
}

/** Rows that are read in another form than the whole row. */
export interface Forms {
  isBrief?: ((row: Fields) => boolean) | undefined;
  skips?: readonly string[] | undefined;
  /** The bytes that are read at once. */
  stepBytes?: number | undefined;
}

export type Oddity = 'giant_line' | 'long_line' | 'bad_line';

export function rowsFrom(
  eyes: Eyes,
  path: string,
  start: number,
  size: number,
  odd: (kind: Oddity) => void,
  { isBrief, skips = [], stepBytes = STEP_BYTES }: Forms = {},
): Rows {
  const lines = new Lines(eyes, path, start, size, odd, stepBytes);
  let next: Row | undefined;
  return {
    peek() {
      while (next === undefined) {
        const bytes = lines.next();
        if (bytes === undefined) {
          lines.leave();
          return undefined;
        }
        if (skips.length > 0 && isSkipped(bytes, skips)) continue;
        const fields = rowOf(bytes, odd, isBrief);
        if (fields !== undefined) next = { fields, end: lines.at };
      }
      return next;
    },
    take() {
      next = undefined;
    },
    reached: () => lines.at,
    leave: () => lines.leave(),
  };
}

/** Memory that no file uses now. An import reads thousands of files, whose garbage would take hundreds of MB. */
let freeRoom: Buffer | undefined;

function roomFor(bytes: number): Buffer {
  if (bytes > STEP_BYTES) return Buffer.allocUnsafeSlow(bytes);
  const room = freeRoom ?? Buffer.allocUnsafeSlow(STEP_BYTES);
  freeRoom = undefined;
  return room;
}

/** The lines of a part of a file, read in steps. A line is valid until the next one is read. */
class Lines {
  /** The offset at which the next line begins. */
  at: number;
  private chunk: Buffer = Buffer.alloc(0);
  /** The memory of the chunk. */
  private room: Buffer | undefined;
  /** The place of the chunk's first byte in the file. */
  private base: number;
  private readonly eyes: Eyes;
  private readonly path: string;
  private readonly size: number;
  private readonly odd: (kind: Oddity) => void;
  private readonly stepBytes: number;

  constructor(eyes: Eyes, path: string, start: number, size: number, odd: (kind: Oddity) => void, stepBytes: number) {
    this.stepBytes = stepBytes;
    this.eyes = eyes;
    this.path = path;
    this.at = start;
    this.base = start;
    this.size = size;
    this.odd = odd;
  }

  /** Returns the next line; undefined at the end, and before an incomplete last line. */
  next(): Buffer | undefined {
    for (;;) {
      const newline = this.chunk.indexOf(NEWLINE, this.at - this.base);
      if (newline >= 0) {
        const found = this.chunk.subarray(this.at - this.base, newline);
        this.at = this.base + newline + 1;
        return found;
      }
      const read = this.base + this.chunk.length;
      const rest = this.chunk.subarray(this.at - this.base);
      if (read >= this.size) return this.last(rest, read);
      const hasMore = rest.length > LONGEST_READ ? this.skip(read) : this.readOn(rest, read);
      if (!hasMore) return undefined;
    }
  }

  /** Returns a last line without a newline if it is complete, and not still being written. */
  private last(rest: Buffer, read: number): Buffer | undefined {
    if (rest[rest.length - 1] !== 0x7d || !isWhole(rest)) return undefined;
    this.at = read;
    return rest;
  }

  private skip(read: number): boolean {
    const end = findNewline(this.eyes, this.path, read, this.size);
    if (end === undefined) return false;
    this.odd('long_line');
    this.at = end;
    this.base = end;
    this.chunk = Buffer.alloc(0);
    return true;
  }

  /** Continues a line that is longer than a step. The steps grow, so that its bytes are copied only a few times. */
  private readOn(rest: Buffer, read: number): boolean {
    const length = Math.min(Math.max(this.stepBytes, rest.length), this.size - read);
    const needed = rest.length + length;
    const room = this.room !== undefined && this.room.length >= needed ? this.room : roomFor(needed);
    // Both may be the same memory.
    rest.copy(room);
    const step = this.eyes.read(this.path, read, length, room.subarray(rest.length, needed));
    if (step.length === 0) return false;
    this.room = room;
    this.chunk = room.subarray(0, rest.length + step.length);
    this.base = this.at;
    return true;
  }

  /** Leaves the memory to the next file. The lines that were returned must not be used any more. */
  leave(): void {
    if (this.room?.length === STEP_BYTES) freeRoom = this.room;
    this.room = undefined;
    this.chunk = Buffer.alloc(0);
    this.base = this.at;
  }
}

/** The bytes in which the first member of a row is searched. Types are short. */
const FIRST_MEMBER_BYTES = 256;
const CANONICAL = /^\{"(?:type":"([^"\\]*)"|(?!type")[^"\\]*")/;
const ANY_FORM = /^[ \t\r]*\{[ \t\r]*("(?:[^"\\]|\\.)*")[ \t\r]*:[ \t\r]*("(?:[^"\\]|\\.)*")/;

/**
 * Returns true if the first member of the row is `type`, and its value begins with one of the words. Only the beginning
 * of the line is read, so a row that holds a request of 1 MB costs as much as a short one.
 */
export function isSkipped(line: Buffer, words: readonly string[]): boolean {
  const start = line.toString('latin1', 0, FIRST_MEMBER_BYTES);
  const usual = CANONICAL.exec(start);
  const type = usual === null ? firstTypeIn(start) : usual[1];
  return type !== undefined && words.some(word => type.startsWith(word));
}

/** Reads spaces and escapes as JSON does. No program is known that writes them here. */
function firstTypeIn(start: string): string | undefined {
  const [, name = '""', value = '""'] = ANY_FORM.exec(start) ?? [];
  try {
    return JSON.parse(name) === 'type' ? String(JSON.parse(value)) : undefined;
  } catch {
    // Not JSON: the row is read, and counted as a bad line.
    return undefined;
  }
}

function rowOf(
  bytes: Buffer,
  odd: (kind: Oddity) => void,
  isBrief: ((row: Fields) => boolean) | undefined,
): Fields | undefined {
  if (bytes.length < 2) return undefined;
  if (bytes.length > LONGEST_PARSED) {
    odd('giant_line');
    return pruned(bytes);
  }
  if (isBrief !== undefined && bytes.length > LONG) {
    const row = beginnings(bytes);
    if (row !== undefined && isBriefFor(isBrief, row)) return row;
  }
  const text = bytes.toString('utf8');
  if (hasMoreValues(text, MOST_VALUES)) {
    odd('giant_line');
    return pruned(bytes);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isFields(value)) return value;
  } catch {
    // Incomplete or not JSON: counted below.
  }
  odd('bad_line');
  return undefined;
}

/** A reader that fails on the cut row gets the whole row. */
function isBriefFor(isBrief: (row: Fields) => boolean, row: Fields): boolean {
  try {
    return isBrief(row);
  } catch {
    return false;
  }
}

function isWhole(bytes: Buffer): boolean {
  if (bytes.length > LONGEST_PARSED) return pruned(bytes) !== undefined;
  const text = bytes.toString('utf8');
  if (hasMoreValues(text, MOST_VALUES)) return pruned(bytes) !== undefined;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The rest is not written yet.
    return false;
  }
}

function findNewline(eyes: Eyes, path: string, from: number, size: number): number | undefined {
  for (let at = from; at < size; at += STEP_BYTES) {
    const step = eyes.read(path, at, Math.min(STEP_BYTES, size - at));
    const newline = step.indexOf(NEWLINE);
    if (newline >= 0) return at + newline + 1;
    if (step.length === 0) return undefined;
  }
  return undefined;
}
