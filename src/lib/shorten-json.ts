/**
 * A line too long to be parsed whole, with its long texts left out: images, files and dumps go, ids and numbers stay.
 * It is walked once, from quote to quote; what is kept is parsed as JSON. `beginnings` does the like for lines of common
 * length, whose results nobody reads to the end.
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

/** How much of a long text is left of it, or less: up to its first escape. */
const BEGINNING = 256;

/**
 * A line with its long texts cut to their beginnings, each with a hash of the whole behind it, so that two that differ further on
 * are not taken for the same. Undefined where it is no object, or torn.
 */
export function beginnings(line: Buffer): { readonly [key: string]: unknown } | undefined {
  // One character for each byte: places stay the same, and a text is searched faster than bytes are.
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
  try {
    const value: unknown = JSON.parse(/[\x80-\xff]/.test(kept) ? Buffer.from(kept, 'latin1').toString() : kept);
    return isFields(value) ? value : undefined;
  } catch {
    // What is no JSON short is none long.
    return undefined;
  }
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
  return slashes % 2 === 1;
}

/** No escape and no character of several bytes is cut in two. */
function endOfBeginning(text: string, start: number): number {
  let end = start + BEGINNING;
  const backslash = text.slice(start, end).indexOf('\\');
  if (backslash >= 0) return start + backslash;
  while ((text.charCodeAt(end) & 0xc0) === 0x80) end -= 1;
  return end;
}

/** Undefined where it is no object. */
export function prune(line: Buffer): { readonly [key: string]: unknown } | undefined {
  const kept: string[] = [];
  let keptLength = 0;
  let from = 0;
  const keepUpTo = (end: number): void => {
    if (end > from) {
      kept.push(line.toString('utf8', from, end));
      keptLength += end - from;
    }
  };
  /** Items of the lists around this place; an object counts none. */
  const counts: number[] = [];
  let muted: number | undefined;
  for (let i = 0; i < line.length; i += 1) {
    const byte = line[i];
    if (byte === QUOTE) {
      const end = endOfText(line, i);
      if (end === undefined) return undefined;
      if (muted === undefined && end - i > LONGEST_TEXT) {
        keepUpTo(i);
        kept.push('""');
        from = end + 1;
      }
      i = end;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      counts.push(byte === OPEN_LIST ? 0 : Number.NEGATIVE_INFINITY);
      if (counts.length > DEEPEST) return undefined;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (muted === counts.length) {
        muted = undefined;
        from = i;
      }
      counts.pop();
    } else if (byte === COMMA && muted === undefined && counts.length > 0) {
      const count = (counts[counts.length - 1] ?? 0) + 1;
      counts[counts.length - 1] = count;
      if (count < LONGEST_LIST) continue;
      keepUpTo(i);
      muted = counts.length;
    }
    if (keptLength > MOST_KEPT) return undefined;
  }
  if (muted !== undefined) return undefined;
  keepUpTo(line.length);
  if (keptLength > MOST_KEPT) return undefined;
  try {
    const value: unknown = JSON.parse(kept.join(''));
    return isFields(value) ? value : undefined;
  } catch {
    // What is no JSON short is none long.
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
