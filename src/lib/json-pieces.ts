/**
 * Cuts a stream of bytes into JSON texts without parsing them: one value in a line, values over several lines, and the
 * elements of a list. Memory holds one value at most.
 *
 * A damaged value must not affect its neighbours. So a line that begins with a brace always begins a value, and a list
 * with unbalanced brackets is cut at its lines. All other lines of a value must be indented, as all programs write
 * them.
 */

export interface Piece {
  /** Undefined: the value is longer than the limit. */
  bytes: Buffer | undefined;
  /** The start of the value; both count from 1. */
  line: number;
  column: number;
  /** The position after the value, from which the input can be read again. */
  end: Place;
  /** The input ended in the middle of the value. */
  isOpen?: true;
}

export interface Place {
  offset: number;
  line: number;
  /** The place is between two elements of a list. */
  isInList?: boolean | undefined;
}

export const START: Place = { offset: 0, line: 1 };

const [TAB, NEWLINE, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

export class JsonPieces {
  private readonly mostBytes: number;
  private place: Place;
  /** Bytes that were read and belong to no piece yet. They begin at `place`. */
  private rest: Buffer = Buffer.alloc(0);
  /** Bytes of `rest` that were searched without finding an end. */
  private searched = 0;
  /** The state of the search in the current element: its depth, and whether the position is in a string. */
  private depth = 0;
  private isInString = false;
  /** The value is longer than the limit: its bytes are dropped until it ends. */
  private tooLong: { line: number; column: number } | undefined;

  constructor(mostBytes: number, from: Place = START) {
    this.mostBytes = mostBytes;
    this.place = { ...from };
  }

  /** The complete pieces of the input so far. */
  *write(chunk: Buffer): Generator<Piece> {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    yield* this.cut(false);
  }

  /** Returns the rest at the end of the input. */
  *end(): Generator<Piece> {
    yield* this.cut(true);
  }

  private *cut(isEnd: boolean): Generator<Piece> {
    for (;;) {
      const piece = this.place.isInList ? this.nextElement(isEnd) : this.nextLine(isEnd);
      if (piece === 'more') return;
      if (piece !== undefined) yield piece;
    }
  }

  // ---------------------------------------------------------------- lines

  private nextLine(isEnd: boolean): Piece | undefined | 'more' {
    const first = this.tooLong === undefined ? this.skipBlank(isEnd) : 0;
    if (first === undefined) return 'more';
    if (this.tooLong === undefined && this.rest[0] === OPEN_BRACKET) {
      this.pass(1);
      this.place.isInList = true;
      return undefined;
    }
    const end = this.endOfLines(isEnd);
    if (end !== undefined) return this.take(end, isEnd && end === this.rest.length);
    return this.dropTooLong(this.rest.length);
  }

  /** The end of the value that begins at the first byte: of its line, or of the line that closes it. */
  private endOfLines(isEnd: boolean): number | undefined {
    const { rest } = this;
    for (let from = this.searched; ; ) {
      const newline = rest.indexOf(NEWLINE, from);
      if (newline < 0) {
        this.searched = from;
        return isEnd ? rest.length : undefined;
      }
      if (this.isClosed(newline)) return newline;
      // The next line belongs to the value unless it begins a value itself.
      const next = rest[newline + 1];
      if (next === undefined) {
        this.searched = from;
        return isEnd ? newline : undefined;
      }
      if (next === OPEN_BRACE || next === OPEN_BRACKET) return newline;
      from = newline + 1;
    }
  }

  /** Whether the value ends at this newline. A value that begins with a brace may have several lines. */
  private isClosed(newline: number): boolean {
    const { rest } = this;
    if (rest[0] !== OPEN_BRACE) return true;
    let last = newline - 1;
    while (isBlank(rest[last])) last -= 1;
    const start = rest.lastIndexOf(NEWLINE, last) + 1;
    return rest[last] === CLOSE_BRACE && (start === 0 || rest[start] === CLOSE_BRACE);
  }

  // ---------------------------------------------------------------- the elements of a list

  private nextElement(isEnd: boolean): Piece | undefined | 'more' {
    if (this.tooLong === undefined && this.searched === 0) {
      const first = this.skipBlank(isEnd);
      if (first === undefined) return 'more';
      if (first === COMMA || first === CLOSE_BRACKET) {
        this.pass(1);
        if (first === CLOSE_BRACKET) this.place.isInList = undefined;
        return undefined;
      }
    }
    const end = this.endOfElement();
    if (end !== undefined) return this.take(end, false);
    if (!isEnd) return this.dropTooLong(this.searched);
    return this.rest.length === 0 && this.tooLong === undefined ? 'more' : this.take(this.rest.length, true);
  }

  private endOfElement(): number | undefined {
    const { rest } = this;
    for (let at = this.searched; at < rest.length; at += 1) {
      if (this.isInString) {
        const quote = this.closingQuote(at);
        if (quote === undefined) return undefined;
        at = quote;
        continue;
      }
      const byte = rest[at];
      if (byte === QUOTE) this.isInString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.depth += 1;
      else if (byte === COMMA && this.depth === 0) return at;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (this.depth === 0) return at;
        this.depth -= 1;
        if (this.depth === 0) return at + 1;
      }
    }
    this.searched = rest.length;
    return undefined;
  }

  private closingQuote(from: number): number | undefined {
    const { rest } = this;
    for (let at = from; at < rest.length; at += 1) {
      if (rest[at] === QUOTE) {
        this.isInString = false;
        return at;
      }
      if (rest[at] !== BACKSLASH) continue;
      // The escaped byte may be in the next chunk.
      if (at + 1 === rest.length) {
        this.searched = at;
        return undefined;
      }
      at += 1;
    }
    this.searched = rest.length;
    return undefined;
  }

  // ---------------------------------------------------------------- the place in the input

  /** The column of the first byte of `rest`. */
  private column = 1;

  /** Skips blanks and a byte order mark. Returns the first other byte; undefined if it has not arrived yet. */
  private skipBlank(isEnd: boolean): number | undefined {
    const { rest } = this;
    if (this.place.offset === 0 && rest[0] === 0xef) {
      if (rest.length < 3 && !isEnd) return undefined;
      this.pass(3);
      this.column = 1;
      return this.skipBlank(isEnd);
    }
    let at = 0;
    while (at < rest.length && (isBlank(rest[at]) || rest[at] === NEWLINE)) at += 1;
    this.pass(at);
    return this.rest[0];
  }

  private pass(count: number): void {
    const { rest, place } = this;
    for (let at = rest.indexOf(NEWLINE); at >= 0 && at < count; at = rest.indexOf(NEWLINE, at + 1)) {
      place.line += 1;
      this.column = -at;
    }
    this.column += count;
    place.offset += count;
    this.rest = rest.subarray(count);
    this.searched = 0;
    this.depth = 0;
    this.isInString = false;
  }

  private take(end: number, isOpen: boolean): Piece {
    const { line } = this.place;
    const { column, tooLong } = this;
    const bytes = tooLong === undefined && end <= this.mostBytes ? Buffer.from(this.rest.subarray(0, end)) : undefined;
    this.pass(end);
    this.tooLong = undefined;
    return { bytes, ...(tooLong ?? { line, column }), end: { ...this.place }, ...(isOpen ? { isOpen } : {}) };
  }

  /** Drops searched bytes of a value that exceeds the limit, and keeps the state of the search. */
  private dropTooLong(count: number): 'more' {
    if (this.rest.length <= this.mostBytes) return 'more';
    const { depth, isInString, column, place } = this;
    this.tooLong ??= { line: place.line, column };
    this.pass(count);
    this.depth = depth;
    this.isInString = isInString;
    return 'more';
  }
}

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB || byte === RETURN;
