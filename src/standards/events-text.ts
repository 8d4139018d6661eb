/**
 * Reads a text of events for a validator: one event, an array of events, or a stream of one event per line.
 *
 * The texts are untrusted and of any length. The validator judges each piece as it arrives and then drops it, so that
 * memory holds one piece, one event of at most MAX_EVENT_CHARACTERS, the first MAX_FINDINGS findings, and the bounded
 * state of the standard's judge. No function recurses with the depth of the text.
 */
import {
  BOM,
  jsonPointer,
  type Parsed,
  type Path,
  type Position,
  parseJson,
  placeOf,
  positionsIn,
  skipBlank,
} from '../lib/json-position.ts';
import {
  type Asked,
  type Finding,
  type Level,
  MAX_FINDINGS,
  type Report,
  type Standard,
  type Validation,
} from './validation.ts';
import { plain, shown } from './wording.ts';

const MAX_DEPTH = 512;
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

/** The rules of JSON texts and streams, which all standards of events share. */
export const textRules = {
  'json/syntax': {
    level: 'error',
    asks: 'an event is a JSON text, and a stream has one per line',
    clause: 'RFC 8259',
  },
  'json/bom': {
    level: 'warning',
    asks: 'a JSON text starts without a byte order mark',
    clause: 'RFC 8259 section 8.1',
  },
  'json/duplicate-key': {
    level: 'warning',
    asks: 'the keys of an object differ; readers disagree about which of two equal ones counts',
    clause: 'RFC 8259 section 4',
  },
  'limit/depth': {
    level: 'error',
    asks: 'an event is nested at most 512 levels deep to be judged',
    clause: 'limit of this validator',
  },
  'limit/size': {
    level: 'error',
    asks: 'an event is at most 16,777,216 characters long to be judged',
    clause: 'limit of this validator',
  },
  'stream/empty': { level: 'warning', asks: 'a stream holds events', clause: 'limit of this validator' },
} as const;

export interface Remark<Id extends string = string> {
  rule: Id;
  path: Path;
  why: string;
}

/** Judges the events of one text, one after the other. */
export interface EventJudge<Id extends string> {
  /** Returns remarks about one value, in any order. `inStream` is false if the value is the whole text. */
  event(value: unknown, at: Position, inStream: boolean): Remark<Id>[];
  /** The judge reads the whole text as one value. */
  isOneValue?: boolean;
  /** Returns findings that need all events of the text. */
  end?(): {
    found: readonly (Remark<Id> & { at: Position })[];
    levels?: Report['levels'];
    /** Replaces the format that the validator detected. */
    format?: Report['format'];
  };
}

type About = Pick<Standard, 'version' | 'rules'> & { readonly id: string };

export const eventsValidation = (about: About, name: string, asked: Asked, judge: EventJudge<string>): Validation =>
  new EventsValidation(about, name, asked, judge);

/**
 * The part that the validator expects at the current place. In an array: `start` to `after`. In a line that is too
 * long: `rest of line` skips to its end. `over`: the validator skips the rest of the text.
 */
type Expected = 'start' | 'first' | 'element' | 'comma' | 'after' | 'rest of line' | 'over';

class EventsValidation implements Validation {
  readonly #about: About;
  readonly #asked: Asked;
  readonly #judge: EventJudge<string>;
  readonly #report: Omit<Report, 'format' | 'ok'>;
  #format: Report['format'] | undefined;
  #isFirst = true;
  /** The part of the text that is not judged yet, and its position in the text. */
  #text = '';
  #base: Position = { line: 1, column: 1 };
  #positionInWindow = positionsIn('');
  /** The length that `#text` must reach before the validator looks at it again. */
  #wait = 0;
  #expected: Expected = 'start';

  constructor(about: About, name: string, asked: Asked, judge: EventJudge<string>) {
    this.#about = about;
    this.#asked = asked;
    this.#judge = judge;
    this.#report = {
      standard: about.id,
      version: about.version,
      name,
      events: 0,
      valid: 0,
      errors: 0,
      warnings: 0,
      notes: 0,
      findings: [],
      omitted: 0,
    };
    if (/\.(jsonl|ndjson)$/i.test(name)) this.#format = 'jsonl';
    else if (judge.isOneValue) this.#format = 'json';
  }

  write(piece: string): void {
    this.#text += piece;
    if (this.#text.length >= this.#wait) this.#look(false);
  }

  end(): Report {
    this.#look(true);
    const report = this.#report;
    if (report.events === 0 && report.errors === 0)
      this.#add('stream/empty', { line: 1, column: 1 }, [], 'holds no event');
    const whole = this.#judge.end?.();
    for (const { rule, at, path, why } of whole?.found ?? []) this.#add(rule, at, path, why);
    report.findings.sort((a, b) => a.line - b.line || a.column - b.column);
    const { levels } = whole ?? {};
    return {
      ...report,
      format: whole?.format ?? this.#format ?? 'json',
      ok: report.errors === 0,
      ...(levels && { levels }),
    };
  }

  #look(isWhole: boolean): void {
    if (this.#isFirst && (this.#text.length > 0 || isWhole)) {
      this.#isFirst = false;
      if (this.#text.charCodeAt(0) === BOM) {
        this.#add('json/bom', this.#base, [], 'starts with a byte order mark; it was skipped');
        this.#text = this.#text.slice(1);
      }
    }
    this.#positionInWindow = positionsIn(this.#text);
    this.#format ??= formatOf(this.#text, isWhole);
    if (this.#format === undefined) this.#wait = this.#text.length * 2;
    else if (this.#format === 'jsonl') this.#judgeLines(isWhole);
    else if (this.#format === 'json-array') this.#judgeArray(isWhole);
    else this.#judgeDocument(isWhole);
  }

  /** Drops the text up to this offset, and waits until the rest has doubled. */
  #drop(upTo: number): void {
    this.#base = this.#position(upTo);
    this.#text = this.#text.slice(upTo);
    this.#positionInWindow = positionsIn(this.#text);
    this.#wait = this.#text.length * 2;
  }

  #judgeLines(isWhole: boolean): void {
    const text = this.#text;
    let start = 0;
    while (start < text.length) {
      const newline = text.indexOf('\n', start);
      const isCut = newline === -1 && !isWhole;
      if (this.#expected === 'rest of line') {
        if (newline === -1) start = text.length;
        else this.#expected = 'start';
      } else if (isCut && text.length - start <= MAX_EVENT_CHARACTERS) break;
      else {
        this.#judgeLine(start, newline === -1 ? text.length : newline);
        if (isCut) this.#expected = 'rest of line';
      }
      start = newline === -1 ? text.length : newline + 1;
    }
    this.#drop(start);
  }

  #judgeLine(start: number, lineEnd: number): void {
    const from = skipBlank(this.#text, start, lineEnd);
    if (from === lineEnd) return;
    const end = this.#judgeEvent(from, lineEnd);
    const rest = typeof end === 'number' ? skipBlank(this.#text, end, lineEnd) : lineEnd;
    if (rest < lineEnd) this.#add('json/syntax', this.#position(rest), [], 'more text after the event of this line');
  }

  #judgeArray(isWhole: boolean): void {
    let at = 0;
    for (;;) {
      at = this.#expected === 'over' ? this.#text.length : skipBlank(this.#text, at);
      const isOpen = this.#expected !== 'over' && this.#expected !== 'after';
      if (at >= this.#text.length && !(isWhole && isOpen)) break;
      const end = this.#judgeArrayPart(at, isWhole);
      if (end === 'cut') break;
      at = end;
    }
    this.#drop(at);
  }

  /** Judges one bracket, comma or element of an array, and returns its end. */
  #judgeArrayPart(at: number, isWhole: boolean): number | 'cut' {
    const expected = this.#expected;
    const found = this.#text[at];
    if (expected === 'after' || (expected === 'comma' && found !== ',' && found !== ']')) {
      const what = found === undefined ? 'the end of the text' : 'something else';
      const why = expected === 'after' ? 'more text after the array' : `${what} where ',' or ']' is expected`;
      this.#add('json/syntax', this.#position(at), [], why);
      this.#expected = 'over';
      return at;
    }
    if (expected === 'start') this.#expected = 'first';
    else if (found === ']' && expected !== 'element') this.#expected = 'after';
    else if (expected === 'comma') this.#expected = 'element';
    else {
      const end = this.#judgeEvent(at, this.#text.length, !isWhole);
      // Without the end of an element, the start of the next element is unknown.
      if (end !== 'cut') this.#expected = end === undefined ? 'over' : 'comma';
      return end ?? this.#text.length;
    }
    return at + 1;
  }

  #judgeDocument(isWhole: boolean): void {
    const text = this.#text;
    if (this.#expected === 'over') {
      this.#text = '';
      return;
    }
    if (!isWhole && text.length <= MAX_EVENT_CHARACTERS) {
      this.#wait = MAX_EVENT_CHARACTERS + 1;
      return;
    }
    this.#expected = 'over';
    const end = this.#judgeEvent(0, text.length);
    if (typeof end !== 'number') return;
    const rest = skipBlank(text, end);
    if (rest < text.length)
      this.#add('json/syntax', this.#position(rest), [], 'more text after the event; a stream has one event per line');
  }

  /**
   * Returns the end of the event that starts at `from`; undefined if it has no end, `cut` if its rest is still to come.
   */
  #judgeEvent(from: number, end: number, mayContinue = false): number | 'cut' | undefined {
    const limit = Math.min(end, from + MAX_EVENT_CHARACTERS);
    const parsed = parseJson(this.#text, { start: from, end: limit, maxDepth: MAX_DEPTH });
    const isCut = parsed.ok ? parsed.end === end : parsed.kind === 'end' && limit === end;
    if (mayContinue && isCut) return 'cut';
    this.#report.events++;
    if (!parsed.ok) {
      if (parsed.kind === 'depth') this.#add('limit/depth', this.#position(parsed.offset), [], parsed.why);
      else if (parsed.kind === 'end' && limit < end)
        this.#add('limit/size', this.#position(from), [], `longer than ${MAX_EVENT_CHARACTERS} characters`);
      else this.#add('json/syntax', this.#position(parsed.offset), [], parsed.why);
      return undefined;
    }
    const remarks = this.#judge.event(parsed.value, this.#position(parsed.start), this.#format !== 'json');
    if (!remarks.some(({ rule }) => this.#levelOf(rule) === 'error')) this.#report.valid++;
    this.#addRemarks(parsed, remarks, from, limit);
    return parsed.end;
  }

  /** Parses an event a second time only if it has findings, because positions make parsing slow. */
  #addRemarks(parsed: Parsed & { ok: true }, remarks: Remark[], start: number, end: number): void {
    if (remarks.length === 0 && parsed.duplicates.length === 0) return;
    const placed =
      this.#report.findings.length < MAX_FINDINGS
        ? parseJson(this.#text, { start, end, maxDepth: MAX_DEPTH, places: true })
        : parsed;
    const offsetOf = (path: Path) => (placed.ok ? placeOf(placed, path) : start);
    const found = [
      ...remarks.map(remark => ({ ...remark, offset: offsetOf(remark.path) })),
      ...parsed.duplicates.map(({ offset, path }) => ({
        rule: 'json/duplicate-key',
        offset,
        path,
        why: `${shown(path.at(-1))} occurs twice in this object; the last one was judged`,
      })),
    ];
    found.sort((a, b) => a.offset - b.offset);
    for (const { rule, offset, path, why } of found) this.#add(rule, this.#position(offset), path, why);
  }

  #position(offset: number): Position {
    const { line, column } = this.#positionInWindow(offset);
    return { line: this.#base.line + line - 1, column: line === 1 ? this.#base.column + column - 1 : column };
  }

  #levelOf(rule: string): Level {
    const level = this.#about.rules[rule]?.level ?? 'error';
    return this.#asked.strict && level === 'warning' ? 'error' : level;
  }

  #add(rule: string, { line, column }: Position, path: Path, why: string): void {
    const level = this.#levelOf(rule);
    if (level === 'error') this.#report.errors++;
    else if (level === 'warning') this.#report.warnings++;
    else this.#report.notes++;
    if (this.#report.findings.length >= MAX_FINDINGS) {
      this.#report.omitted++;
      return;
    }
    const field = plain(jsonPointer(path), 200);
    this.#report.findings.push({ level, rule, line, column, field, why } satisfies Finding);
  }
}

/**
 * Detects the format. Two lines that both begin with a brace in the first column cannot be one JSON text, so they are a
 * stream. Undefined if the text is still too short to decide.
 */
function formatOf(text: string, isWhole: boolean): Report['format'] | undefined {
  const start = skipBlank(text, 0);
  if (text[start] === '[') return 'json-array';
  const unsure = isWhole || text.length > MAX_EVENT_CHARACTERS ? 'json' : undefined;
  if (start === text.length) return unsure;
  if (text[start] !== '{') return 'json';
  const lineEnd = text.indexOf('\n', start);
  if (lineEnd === -1) return unsure;
  let next = lineEnd + 1;
  while (text[next] === '\n' || text[next] === '\r') next++;
  if (next === text.length) return unsure;
  return text[next] === '{' ? 'jsonl' : 'json';
}
