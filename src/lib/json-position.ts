/**
 * Parses strict JSON (RFC 8259) with positions: the place of each value, duplicate keys, and the place of an error. The
 * parser keeps a stack of its own, so that a text with a million levels is a finding instead of a stack overflow.
 */

export interface Position {
  /** From 1. */
  line: number;
  /** From 1, in UTF-16 units as in editors; a byte order mark has no column. */
  column: number;
}

export interface ParseOptions {
  start?: number;
  /** The end of the text to read. */
  end?: number;
  maxDepth?: number;
  /** Records the place of each member for `placeOf`. Doubles the time. */
  places?: boolean;
}

/** The `kind` `end` of a failure means that the text ends before the value. */
export type Parsed =
  | { ok: true; value: unknown; start: number; end: number; duplicates: Duplicate[]; places: Places | undefined }
  | { ok: false; offset: number; why: string; kind: 'syntax' | 'depth' | 'end' };

/** A key that its object already has. `path` is the path of the second member; the parser keeps the second value. */
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
 * Reads one value from `start` and ignores the text after it. Objects have no prototype, so that `__proto__` is an
 * ordinary key.
 */
export const parseJson = (text: string, options: ParseOptions = {}): Parsed => new Parser(text, options).parse();

class Parser {
  readonly #text: string;
  readonly #start: number;
  readonly #end: number;
  readonly #maxDepth: number;
  readonly #places: Map<object, Map<string | number, number>> | undefined;
  readonly #duplicates: Duplicate[] = [];
  readonly #stack: Open[] = [];
  #at: number;
  /** The value that was read last. */
  #value: unknown;
  #failure: Parsed | undefined;

  constructor(text: string, { maxDepth = 512, start = 0, end = text.length, places }: ParseOptions) {
    this.#text = text;
    this.#end = end;
    this.#maxDepth = maxDepth;
    this.#places = places ? new Map() : undefined;
    this.#start = skipBlank(text, start, end);
    this.#at = this.#start;
  }

  parse(): Parsed {
    while (this.#failure === undefined) {
      if (this.#readValue() && this.#closeContainers()) {
        const [start, end, duplicates, places] = [this.#start, this.#at, this.#duplicates, this.#places];
        return { ok: true, value: this.#value, start, end, duplicates, places };
      }
    }
    return this.#failure;
  }

  /** Reads a scalar or an empty container, or opens a container. Returns whether a whole value was read. */
  #readValue(): boolean {
    const code = this.#code();
    if (code === OPEN_BRACE || code === OPEN_BRACKET) return this.#openContainer(code);
    const read = (code === QUOTE ? readString : readWord)(this.#text, this.#at, this.#end);
    if (!read.ok) return this.#fail(read.offset, read.why, read.kind);
    this.#value = read.value;
    this.#at = read.end;
    return true;
  }

  #openContainer(code: number): boolean {
    if (this.#stack.length >= this.#maxDepth)
      return this.#fail(this.#at, `nested deeper than ${this.#maxDepth} levels`, 'depth');
    const container = code === OPEN_BRACE ? Object.create(null) : [];
    const open: Open = { container, key: '', places: this.#places && new Map() };
    if (open.places) this.#places?.set(container, open.places);
    this.#stack.push(open);
    this.#skip(1);
    if (this.#code() === closing(open)) return this.#close(open);
    return this.#startMember(open);
  }

  /**
   * Adds the value to its container. Closes each container that ends here, and otherwise starts the next member.
   * Returns whether the outermost value is complete.
   */
  #closeContainers(): boolean {
    for (let open = this.#stack.at(-1); open !== undefined; open = this.#stack.at(-1)) {
      if (Array.isArray(open.container)) open.container.push(this.#value);
      else open.container[open.key] = this.#value;
      this.#skip(0);
      const next = this.#code();
      if (next === closing(open)) {
        this.#close(open);
        continue;
      }
      if (next !== COMMA) {
        const bracket = Array.isArray(open.container) ? ']' : '}';
        return this.#failHere(`where ',' or '${bracket}' is expected`);
      }
      this.#skip(1);
      if (this.#code() === closing(open)) return this.#fail(this.#at, 'a comma before the closing bracket');
      return this.#startMember(open);
    }
    return true;
  }

  #close({ container }: Open): true {
    this.#value = container;
    this.#stack.pop();
    this.#at++;
    return true;
  }

  /** Reads the `"key":` of a member of an object, and moves to the value. Always returns false. */
  #startMember(open: Open): false {
    if (!Array.isArray(open.container)) {
      if (this.#code() !== QUOTE) return this.#failHere('where a key in double quotes is expected');
      const read = readString(this.#text, this.#at, this.#end);
      if (!read.ok) return this.#fail(read.offset, read.why, read.kind);
      open.key = read.value;
      if (read.value in open.container && this.#duplicates.length < MAX_DUPLICATES)
        this.#duplicates.push({ offset: this.#at, path: this.#stack.map(placeKey) });
      this.#at = read.end;
      this.#skip(0);
      if (this.#code() !== COLON) return this.#failHere("where ':' is expected");
      this.#skip(1);
    }
    open.places?.set(placeKey(open), this.#at);
    return false;
  }

  /** The character at the current place; -1 at the end. */
  #code(): number {
    return this.#at < this.#end ? this.#text.charCodeAt(this.#at) : -1;
  }

  #skip(characters: number): void {
    this.#at = skipBlank(this.#text, this.#at + characters, this.#end);
  }

  #failHere(why: string): false {
    return this.#fail(this.#at, `${found(this.#text, this.#at, this.#end)} ${why}`);
  }

  #fail(offset: number, why: string, kind: 'syntax' | 'depth' | 'end' = 'syntax'): false {
    this.#failure = { ok: false, offset, why, kind: offset >= this.#end ? 'end' : kind };
    return false;
  }
}

/** Returns the offset of the value at `path`, or of the nearest container that exists. */
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

/**
 * Returns a function from offsets to lines and columns; `\n` ends a line. For ascending offsets, all calls together
 * read the text once.
 */
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

/** Returns a JSON Pointer (RFC 6901). */
export function jsonPointer(path: Path): string {
  return path.map(key => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Returns the offset of the next character that is not blank, or `end`. */
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

/** Returns one character as text that is safe on a terminal. */
function shown(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  const isPlain = code > 32 && code < 127;
  return isPlain ? `'${String.fromCodePoint(code)}'` : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
