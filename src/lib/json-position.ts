/**
 * Strict JSON (RFC 8259) with places: where each value stands, which keys come twice, and where the text breaks.
 * One loop with its own stack, so that a text a million levels deep is a finding and no stack overflow.
 */

export interface Position {
  /** From 1. */
  line: number;
  /** From 1, in UTF-16 units, as editors count; a byte order mark has no column. */
  column: number;
}

export interface ParseOptions {
  start?: number;
  /** Values are read up to here. */
  end?: number;
  maxDepth?: number;
  /** Remember where members stand, for `placeOf`. Costs about as much again. */
  places?: boolean;
}

/** `kind` of a failure: `end` means that the text is over before the value is. */
export type Parsed =
  | { ok: true; value: unknown; start: number; end: number; duplicates: Duplicate[]; places: Places | undefined }
  | { ok: false; offset: number; why: string; kind: 'syntax' | 'depth' | 'end' };

/** A key that its object already has. `path` is that of the second member, whose value wins. */
export interface Duplicate {
  offset: number;
  path: Path;
}
export type Path = readonly (string | number)[];
/** Offsets of each container's members by key or index. */
export type Places = ReadonlyMap<object, ReadonlyMap<string | number, number>>;

const MAX_DUPLICATES = 20;

interface Open {
  container: { [key: string]: unknown } | unknown[];
  key: string;
  places: Map<string | number, number> | undefined;
}

/**
 * Reads one value from `start`; what follows it is the caller's. Objects have no prototype, so `__proto__` is a key
 * like any other.
 */
export function parseJson(text: string, options: ParseOptions = {}): Parsed {
  const { maxDepth = 512, end = text.length } = options;
  const places = options.places ? new Map<object, Map<string | number, number>>() : undefined;
  const duplicates: Duplicate[] = [];
  const stack: Open[] = [];
  const start = skipBlank(text, options.start ?? 0, end);
  let at = start;
  let value: unknown;

  const stop = (offset: number, why: string, kind: 'syntax' | 'depth' | 'end' = 'syntax'): Parsed => ({
    ok: false,
    offset,
    why,
    kind: offset >= end ? 'end' : kind,
  });

  for (;;) {
    // At the start of a value.
    const code = at < end ? text.charCodeAt(at) : -1;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (stack.length >= maxDepth) return stop(at, `nested deeper than ${maxDepth} levels`, 'depth');
      const container = code === OPEN_BRACE ? Object.create(null) : [];
      const open: Open = { container, key: '', places: places && new Map() };
      if (places && open.places) places.set(container, open.places);
      stack.push(open);
      at = skipBlank(text, at + 1, end);
      if (text.charCodeAt(at) === closing(open) && at < end) {
        value = container;
        stack.pop();
        at++;
      } else {
        if (code === OPEN_BRACE) {
          const failed = readKey(open);
          if (failed) return failed;
        }
        open.places?.set(placeKey(open), at);
        continue;
      }
    } else if (code === QUOTE) {
      const read = readString(text, at, end);
      if (!read.ok) return stop(read.offset, read.why, read.kind);
      value = read.value;
      at = read.end;
    } else {
      const read = readWord(text, at, end);
      if (!read.ok) return stop(read.offset, read.why, read.kind);
      value = read.value;
      at = read.end;
    }

    // After a value: give it to its container, close what closes.
    for (;;) {
      const open = stack.at(-1);
      if (!open) return { ok: true, value, start, end: at, duplicates, places };
      if (Array.isArray(open.container)) open.container.push(value);
      else open.container[open.key] = value;

      at = skipBlank(text, at, end);
      const next = at < end ? text.charCodeAt(at) : -1;
      if (next === closing(open)) {
        value = open.container;
        stack.pop();
        at++;
        continue;
      }
      const isArray = Array.isArray(open.container);
      if (next !== COMMA) return stop(at, `${found(text, at, end)} where ',' or '${isArray ? ']' : '}'}' is expected`);
      at = skipBlank(text, at + 1, end);
      if (text.charCodeAt(at) === closing(open) && at < end) return stop(at, 'a comma before the closing bracket');
      if (!isArray) {
        const failed = readKey(open);
        if (failed) return failed;
      }
      open.places?.set(placeKey(open), at);
      break;
    }
  }

  /** Reads `"key":` and leaves `at` at the value. */
  function readKey(open: Open): Parsed | undefined {
    if (at >= end || text.charCodeAt(at) !== QUOTE) {
      return stop(at, `${found(text, at, end)} where a key in double quotes is expected`);
    }
    const read = readString(text, at, end);
    if (!read.ok) return stop(read.offset, read.why, read.kind);
    open.key = read.value;
    if (read.value in open.container && duplicates.length < MAX_DUPLICATES) {
      duplicates.push({ offset: at, path: stack.map(placeKey) });
    }
    at = skipBlank(text, read.end, end);
    if (at >= end || text.charCodeAt(at) !== COLON) return stop(at, `${found(text, at, end)} where ':' is expected`);
    at = skipBlank(text, at + 1, end);
    return undefined;
  }
}

/** The offset of the value at `path`, or of the nearest container that exists. */
export function placeOf(parsed: Parsed & { ok: true }, path: Path): number {
  let offset = parsed.start;
  let value = parsed.value;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) break;
    const place = parsed.places?.get(value)?.get(key);
    if (place === undefined) break;
    offset = place;
    value = Array.isArray(value) ? value[Number(key)] : (value as { [key: string]: unknown })[key];
  }
  return offset;
}

/** Lines and columns of a text's offsets; `\n` ends a line. Costs one pass in all as long as the offsets ascend. */
export function positionsIn(text: string): (offset: number) => Position {
  let line = 1;
  let lineStart = 0;
  return offset => {
    if (offset < lineStart) {
      line = 1;
      lineStart = 0;
    }
    for (;;) {
      const lineEnd = text.indexOf('\n', lineStart);
      if (lineEnd === -1 || lineEnd >= offset) break;
      line++;
      lineStart = lineEnd + 1;
    }
    const first = lineStart === 0 && text.charCodeAt(0) === BOM ? 1 : lineStart;
    return { line, column: Math.max(0, offset - first) + 1 };
  };
}

/** RFC 6901. */
export function jsonPointer(path: Path): string {
  return path.map(key => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** A character that is no blank, or `end`. */
export function skipBlank(text: string, from: number, end = text.length): number {
  let at = from;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) break;
    at++;
  }
  return at;
}

export const BOM = 0xfeff;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

function closing(open: Open): number {
  return Array.isArray(open.container) ? CLOSE_BRACKET : CLOSE_BRACE;
}

function placeKey(open: Open): string | number {
  return Array.isArray(open.container) ? open.container.length : open.key;
}

type Read<T> =
  | { ok: true; value: T; end: number }
  | { ok: false; offset: number; why: string; kind?: 'end' | undefined };

function readString(text: string, start: number, end: number): Read<string> {
  let escaped = false;
  for (let at = start + 1; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const value = escaped ? (JSON.parse(text.slice(start, at + 1)) as string) : text.slice(start + 1, at);
      return { ok: true, value, end: at + 1 };
    }
    if (code === BACKSLASH) {
      escaped = true;
      ESCAPE.lastIndex = at;
      const known = ESCAPE.exec(text);
      if (!known || at + known[0].length > end)
        return {
          ok: false,
          offset: at,
          why: 'an escape that JSON does not know',
          kind: end - at < 6 ? 'end' : undefined,
        };
      at += known[0].length - 1;
    } else if (code < 32) {
      return { ok: false, offset: at, why: `${shown(text, at)} inside a string, which must be escaped` };
    }
  }
  return { ok: false, offset: start, why: 'a string without its closing quote', kind: 'end' };
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[A-Za-z0-9_$.+-]+/y;
const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

function readWord(text: string, start: number, end: number): Read<unknown> {
  WORD.lastIndex = start;
  const word = start < end ? WORD.exec(text)?.[0].slice(0, end - start) : undefined;
  if (word === undefined)
    return { ok: false, offset: start, why: `${found(text, start, end)} where a value is expected` };
  const stop = start + word.length;
  if (Object.hasOwn(words, word)) return { ok: true, value: words[word], end: stop };
  NUMBER.lastIndex = start;
  if (NUMBER.exec(text)?.[0] === word) return { ok: true, value: Number(word), end: stop };
  const cut = word.length > 20 ? `${word.slice(0, 20)}…` : word;
  return { ok: false, offset: start, why: `'${cut}' is no JSON value`, kind: stop === end ? 'end' : undefined };
}

function found(text: string, at: number, end: number): string {
  return at >= end ? 'the end of the text' : shown(text, at);
}

/** One character, safe for a terminal. */
function shown(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  const isPlain = code > 32 && code < 127;
  return isPlain ? `'${String.fromCodePoint(code)}'` : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
