/** The rows of a file from an offset on, one after the other; what is no row is counted and passed over. */
import type { Fields } from '../event/event.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { beginnings, prune } from '../lib/prune.ts';
import { isFields } from '../lib/read.ts';
import type { Eyes } from './eyes.ts';

/** Beyond this a line is walked through, not parsed. */
const LONGEST_PARSED = 8 * 1024 * 1024;
/** A line that holds more is walked through, too: parsed it would be many times as large as its text. */
const MOST_VALUES = 1_000_000;
/** From here on a line is first read with its long texts cut, if its reader may be content with that. */
const LONG = 8 * 1024;
/** Beyond this it is passed over. */
const LONGEST_READ = 128 * 1024 * 1024;
const STEP_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export interface Row {
  fields: Fields;
  /** Where the next row begins. */
  end: number;
}

export interface Rows {
  /** The row that comes next, again and again until it is taken. */
  peek(): Row | undefined;
  take(): void;
  /** When there is no row: up to where there was nothing left to read, a torn end apart. */
  reached(): number;
}

export type Oddity = 'giant_line' | 'long_line' | 'bad_line';

export function rowsFrom(
  eyes: Eyes,
  path: string,
  start: number,
  size: number,
  odd: (kind: Oddity) => void,
  isBrief?: (row: Fields) => boolean,
): Rows {
  let chunk: Buffer = Buffer.alloc(0);
  /** Place of the chunk's first byte in the file. */
  let base = start;
  let at = start;
  let next: Row | undefined;

  /** The bytes of the next line; undefined at the end. */
  const line = (): Buffer | undefined => {
    for (;;) {
      const newline = chunk.indexOf(NEWLINE, at - base);
      if (newline >= 0) {
        const found = chunk.subarray(at - base, newline);
        at = base + newline + 1;
        return found;
      }
      const read = base + chunk.length;
      if (read >= size) {
        // A last line without its end: whole, or not written yet.
        const rest = chunk.subarray(at - base);
        if (rest[rest.length - 1] !== 0x7d || !isWhole(rest)) return undefined;
        at = read;
        return rest;
      }
      const rest = chunk.subarray(at - base);
      if (rest.length > LONGEST_READ) {
        const end = findNewline(eyes, path, read, size);
        if (end === undefined) return undefined;
        odd('long_line');
        at = end;
        base = end;
        chunk = Buffer.alloc(0);
        continue;
      }
      // A line longer than a step is gathered in ever longer ones, so that it is copied a few times only.
      const step = eyes.read(path, read, Math.min(Math.max(STEP_BYTES, rest.length), size - read));
      if (step.length === 0) return undefined;
      chunk = rest.length === 0 ? step : Buffer.concat([rest, step]);
      base = at;
    }
  };

  return {
    peek() {
      while (next === undefined) {
        const bytes = line();
        if (bytes === undefined) return undefined;
        const fields = rowOf(bytes, odd, isBrief);
        if (fields !== undefined) next = { fields, end: at };
      }
      return next;
    },
    take() {
      next = undefined;
    },
    reached: () => at,
  };
}

function rowOf(
  bytes: Buffer,
  odd: (kind: Oddity) => void,
  isBrief: ((row: Fields) => boolean) | undefined,
): Fields | undefined {
  if (bytes.length < 2) return undefined;
  if (bytes.length > LONGEST_PARSED) {
    odd('giant_line');
    return prune(bytes);
  }
  if (isBrief !== undefined && bytes.length > LONG) {
    const row = beginnings(bytes);
    if (row !== undefined && isBriefFor(isBrief, row)) return row;
  }
  const text = bytes.toString('utf8');
  if (hasMoreValues(text, MOST_VALUES)) {
    odd('giant_line');
    return prune(bytes);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isFields(value)) return value;
  } catch {
    // Torn, or never JSON: counted below.
  }
  odd('bad_line');
  return undefined;
}

/** A reader that cannot bear the row gets it whole. */
function isBriefFor(isBrief: (row: Fields) => boolean, row: Fields): boolean {
  try {
    return isBrief(row);
  } catch {
    return false;
  }
}

function isWhole(bytes: Buffer): boolean {
  if (bytes.length > LONGEST_PARSED) return prune(bytes) !== undefined;
  const text = bytes.toString('utf8');
  if (hasMoreValues(text, MOST_VALUES)) return prune(bytes) !== undefined;
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
