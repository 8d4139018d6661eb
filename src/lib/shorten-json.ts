/**
 * Shortens lines that are too long to parse: long texts such as images, files and dumps are left out, ids and numbers
 * stay. The line is read once, from quote to quote, and only the kept part is parsed as JSON. `beginnings` keeps the
 * beginnings of long texts and is for lines of usual length.
 */
import { hexDigestOf } from './hash.ts';
import { isFields } from './read.ts';

const LONGEST_TEXT = 1_024;
const LONGEST_LIST = 1_000;
const MOST_KEPT = 8 * 1024 * 1024;
const DEEPEST = 512;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes that stay of a long text; fewer if an escape comes earlier. */
const BEGINNING = 256;

/**
 * Returns the object of a line with its long texts cut to their beginnings. A hash of the whole text follows each
 * beginning, so that texts that differ later stay different. Undefined if the line is not an object or is incomplete.
 */
export function beginnings(line: Buffer): { readonly [key: string]: unknown } | undefined {
  // Latin-1 has one character per byte, so offsets stay the same; searching a string is faster than searching bytes.
  const all = line.toString('latin1');
  let kept = '';
  let from = 0;
  let end = -1;
  for (let start = all.indexOf('"'); start >= 0; start = all.indexOf('"', end + 1)) {
    end = all.indexOf('"', start + 1);
    while (end >= 0 && all.charCodeAt(end - 1) === BACKSLASH && isEscaped(all, end)) end = all.indexOf('"', end + 1);
    if (end < 0) return undefined;
    if (end - start <= LONGEST_TEXT) continue;
    kept += `${all.slice(from, endOfBeginning(all, start + 1))} ${hexDigestOf(line.subarray(start + 1, end))}`;
    from = end;
  }
  kept += all.slice(from);
  return objectIn(/[\x80-\xff]/.test(kept) ? Buffer.from(kept, 'latin1').toString() : kept);
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
  return slashes % 2 === 1;
}

/** Returns an end that splits no escape and no character of several bytes. */
function endOfBeginning(text: string, start: number): number {
  let end = start + BEGINNING;
  const backslash = text.slice(start, end).indexOf('\\');
  if (backslash >= 0) return start + backslash;
  while ((text.charCodeAt(end) & 0xc0) === 0x80) end -= 1;
  return end;
}

/**
 * Returns the object of a line, with long texts replaced by empty ones and with long lists cut. Undefined if the line
 * is not a JSON object or holds too much besides.
 */
export const pruned = (line: Buffer): { readonly [key: string]: unknown } | undefined => new Pruning(line).result();

class Pruning {
  readonly #line: Buffer;
  readonly #kept: string[] = [];
  #keptLength = 0;
  /** The start of the part that is neither kept nor left out yet. */
  #from = 0;
  /** The number of items in each open list; an object counts none. */
  readonly #counts: number[] = [];
  /** The depth of the list whose further items are left out. */
  #cutDepth: number | undefined;

  constructor(line: Buffer) {
    this.#line = line;
  }

  result(): { readonly [key: string]: unknown } | undefined {
    const { length } = this.#line;
    for (let i = 0; i < length; i += 1) {
      const byte = this.#line[i];
      if (byte === QUOTE) {
        const end = endOfText(this.#line, i);
        if (end === undefined) return undefined;
        if (end - i > LONGEST_TEXT && this.#cutDepth === undefined) this.#leaveOutText(i, end);
        i = end;
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#open(byte);
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#close(i);
      else if (byte === COMMA && this.#cutDepth === undefined && this.#counts.length > 0) this.#nextItem(i);
      if (this.#keptLength > MOST_KEPT || this.#counts.length > DEEPEST) return undefined;
    }
    if (this.#cutDepth !== undefined) return undefined;
    this.#keepUpTo(length);
    return this.#keptLength > MOST_KEPT ? undefined : objectIn(this.#kept.join(''));
  }

  #leaveOutText(start: number, end: number): void {
    this.#keepUpTo(start);
    this.#kept.push('""');
    this.#from = end + 1;
  }

  #open(byte: number): void {
    this.#counts.push(byte === OPEN_LIST ? 0 : Number.NEGATIVE_INFINITY);
  }

  #close(at: number): void {
    if (this.#cutDepth === this.#counts.length) {
      this.#cutDepth = undefined;
      this.#from = at;
    }
    this.#counts.pop();
  }

  #nextItem(at: number): void {
    const count = (this.#counts[this.#counts.length - 1] ?? 0) + 1;
    this.#counts[this.#counts.length - 1] = count;
    if (count < LONGEST_LIST) return;
    this.#keepUpTo(at);
    this.#cutDepth = this.#counts.length;
  }

  #keepUpTo(end: number): void {
    if (end <= this.#from) return;
    this.#kept.push(this.#line.toString('utf8', this.#from, end));
    this.#keptLength += end - this.#from;
  }
}

/** A line that is not JSON even when it is shortened is not JSON: undefined. */
function objectIn(text: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function endOfText(line: Buffer, start: number): number | undefined {
  for (let end = line.indexOf(QUOTE, start + 1); end >= 0; end = line.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (line[end - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return undefined;
}
