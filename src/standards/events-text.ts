/**
 * Reads a text of events for a validator: one event, an array of events, or a stream of one event per line.
 *
 * Made for texts from strangers, of any length. A text comes in pieces and is judged as it comes: what was judged is
 * dropped, so that memory holds one piece, one event of at most MAX_EVENT_CHARACTERS, the first MAX_FINDINGS findings, and
 * what a standard's judge remembers, which it bounds itself. Nothing recurses with the depth of the text.
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

/** The rules of texts themselves: every standard of events has them. */
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
  /** What is wrong with one value, in no order. One that is the whole text is an example and stands in no stream. */
  event(value: unknown, at: Position, inStream: boolean): Remark<Id>[];
  /** The text is one value, whatever it looks like. */
  isOneValue?: boolean;
  /** What only the whole text shows. */
  end?(): {
    found: readonly (Remark<Id> & { at: Position })[];
    levels?: Report['levels'];
    /** Where the judge knows better what the text is. */
    format?: Report['format'];
  };
}

type About = Pick<Standard, 'version' | 'rules'> & { readonly id: string };

export function eventsValidation(about: About, name: string, asked: Asked, judge: EventJudge<string>): Validation {
  const report: Omit<Report, 'format' | 'ok'> = {
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
  let format: Report['format'] | undefined = /\.(jsonl|ndjson)$/i.test(name)
    ? 'jsonl'
    : judge.isOneValue
      ? 'json'
      : undefined;
  let isFirst = true;
  /** What is not judged yet, where it stands in the text, and how long it must get before it is worth another look. */
  let text = '';
  let base: Position = { line: 1, column: 1 };
  let wait = 0;
  let inWindow = positionsIn(text);
  /** Of an array: what comes next. Of a line: nothing more of it is read. `over`: nothing of the text. */
  let next: 'start' | 'first' | 'element' | 'comma' | 'after' | 'rest of line' | 'over' = 'start';

  return {
    write(piece) {
      text += piece;
      if (text.length >= wait) look(false);
    },
    end() {
      look(true);
      if (report.events === 0 && report.errors === 0)
        finding('stream/empty', { line: 1, column: 1 }, [], 'holds no event');
      const whole = judge.end?.();
      for (const { rule, at, path, why } of whole?.found ?? []) finding(rule, at, path, why);
      report.findings.sort((a, b) => a.line - b.line || a.column - b.column);
      const { levels } = whole ?? {};
      return {
        ...report,
        format: whole?.format ?? format ?? 'json',
        ok: report.errors === 0,
        ...(levels && { levels }),
      };
    },
  };

  function look(isWhole: boolean): void {
    if (isFirst && (text.length > 0 || isWhole)) {
      isFirst = false;
      if (text.charCodeAt(0) === BOM) {
        finding('json/bom', base, [], 'starts with a byte order mark; it was skipped');
        text = text.slice(1);
      }
    }
    inWindow = positionsIn(text);
    format ??= formatOf(text, isWhole);
    if (format === undefined) wait = text.length * 2;
    else if (format === 'jsonl') judgeLines(isWhole);
    else if (format === 'json-array') judgeArray(isWhole);
    else judgeDocument(isWhole);
  }

  function drop(upTo: number): void {
    base = position(upTo);
    text = text.slice(upTo);
    inWindow = positionsIn(text);
  }

  function judgeLines(isWhole: boolean): void {
    let start = 0;
    while (start < text.length) {
      const newline = text.indexOf('\n', start);
      const isCut = newline === -1 && !isWhole;
      if (next === 'rest of line') {
        if (newline === -1) start = text.length;
        else next = 'start';
      } else if (isCut && text.length - start <= MAX_EVENT_CHARACTERS) break;
      else {
        judgeLine(start, newline === -1 ? text.length : newline);
        if (isCut) next = 'rest of line';
      }
      start = newline === -1 ? text.length : newline + 1;
    }
    drop(start);
    wait = text.length * 2;
  }

  function judgeLine(start: number, lineEnd: number): void {
    const from = skipBlank(text, start, lineEnd);
    if (from === lineEnd) return;
    const end = event(from, lineEnd);
    const rest = typeof end === 'number' ? skipBlank(text, end, lineEnd) : lineEnd;
    if (rest < lineEnd) finding('json/syntax', position(rest), [], 'more text after the event of this line');
  }

  function judgeArray(isWhole: boolean): void {
    let at = 0;
    for (;;) {
      at = next === 'over' ? text.length : skipBlank(text, at);
      const found = text[at];
      if (found === undefined && !(isWhole && next !== 'over' && next !== 'after')) break;
      if (next === 'start') {
        next = 'first';
        at += 1;
      } else if ((next === 'first' || next === 'comma') && found === ']') {
        next = 'after';
        at += 1;
      } else if (next === 'comma' && found === ',') {
        next = 'element';
        at += 1;
      } else if (next === 'comma') {
        const what = found === undefined ? 'the end of the text' : 'something else';
        finding('json/syntax', position(at), [], `${what} where ',' or ']' is expected`);
        next = 'over';
      } else if (next === 'after') {
        finding('json/syntax', position(at), [], 'more text after the array');
        next = 'over';
      } else {
        const end = event(at, text.length, !isWhole);
        if (end === 'cut') break;
        // Without its end an element cannot be told from the next one.
        next = end === undefined ? 'over' : 'comma';
        at = end ?? text.length;
      }
    }
    drop(at);
    wait = text.length * 2;
  }

  function judgeDocument(isWhole: boolean): void {
    if (next === 'over') {
      text = '';
      return;
    }
    if (!isWhole && text.length <= MAX_EVENT_CHARACTERS) {
      wait = MAX_EVENT_CHARACTERS + 1;
      return;
    }
    next = 'over';
    const end = event(0, text.length);
    if (typeof end !== 'number') return;
    const rest = skipBlank(text, end);
    if (rest < text.length)
      finding('json/syntax', position(rest), [], 'more text after the event; a stream has one event per line');
  }

  /**
   * Where the event that starts at `from` ends; undefined when that cannot be known, `cut` when more of it is to come.
   */
  function event(from: number, end: number, mayGoOn = false): number | 'cut' | undefined {
    const limit = Math.min(end, from + MAX_EVENT_CHARACTERS);
    const parsed = parseJson(text, { start: from, end: limit, maxDepth: MAX_DEPTH });
    const isCut = parsed.ok ? parsed.end === end : parsed.kind === 'end' && limit === end;
    if (mayGoOn && isCut) return 'cut';
    report.events++;
    if (!parsed.ok) {
      if (parsed.kind === 'depth') finding('limit/depth', position(parsed.offset), [], parsed.why);
      else if (parsed.kind === 'end' && limit < end)
        finding('limit/size', position(from), [], `longer than ${MAX_EVENT_CHARACTERS} characters`);
      else finding('json/syntax', position(parsed.offset), [], parsed.why);
      return undefined;
    }
    const remarks = judge.event(parsed.value, position(parsed.start), format !== 'json');
    if (!remarks.some(({ rule }) => levelOf(rule) === 'error')) report.valid++;
    place(parsed, remarks, from, limit);
    return parsed.end;
  }

  /** Only an event that gave cause is read again for its places. */
  function place(parsed: Parsed & { ok: true }, remarks: Remark[], start: number, end: number): void {
    if (remarks.length === 0 && parsed.duplicates.length === 0) return;
    const placed =
      report.findings.length < MAX_FINDINGS
        ? parseJson(text, { start, end, maxDepth: MAX_DEPTH, places: true })
        : parsed;
    const offsetOf = (path: Path) => (placed.ok ? placeOf(placed, path) : start);
    const found = [
      ...remarks.map(remark => ({ ...remark, offset: offsetOf(remark.path) })),
      ...parsed.duplicates.map(({ offset, path }) => ({
        rule: 'json/duplicate-key',
        offset,
        path,
        why: `${shown(path.at(-1))} stands twice in this object; the last one was judged`,
      })),
    ];
    found.sort((a, b) => a.offset - b.offset);
    for (const { rule, offset, path, why } of found) finding(rule, position(offset), path, why);
  }

  function position(offset: number): Position {
    const { line, column } = inWindow(offset);
    return { line: base.line + line - 1, column: line === 1 ? base.column + column - 1 : column };
  }

  function levelOf(rule: string): Level {
    const level = about.rules[rule]?.level ?? 'error';
    return asked.strict && level === 'warning' ? 'error' : level;
  }

  function finding(rule: string, { line, column }: Position, path: Path, why: string): void {
    const level = levelOf(rule);
    if (level === 'error') report.errors++;
    else if (level === 'warning') report.warnings++;
    else report.notes++;
    if (report.findings.length >= MAX_FINDINGS) {
      report.omitted++;
      return;
    }
    report.findings.push({ level, rule, line, column, field: plain(jsonPointer(path), 200), why } satisfies Finding);
  }
}

/**
 * Two lines that both begin with a brace in the first column can be no single JSON text, so they are a stream. Undefined
 * while the beginning does not show it yet.
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
