/**
 * Text edits of a user's TOML file: tables are appended at the end and removed, and all other bytes stay.
 *
 * An addition is always a line end and then the table. This leaves a blank line after a file that ends with a line end,
 * and none after another file. A removal takes the line end before the table, so it restores both byte for byte. A file
 * that begins with our table was created for it.
 */
import { parse, TomlError } from 'smol-toml';
import type { Fields } from '../../event/event.ts';
import { fieldsOf } from '../../lib/read.ts';
import type { Refusal } from './json-edit.ts';

/** A table in the text, from its header to its last value. */
export interface Table {
  path: string[];
  isArray: boolean;
  start: number;
  end: number;
  /** Its values, without the tables below it. */
  value: Fields;
}

/** `value` is the parsed file. */
export type TomlText = { ok: true; value: Fields; tables: Table[] } | Refusal;

export function readToml(text: string): TomlText {
  try {
    const value = fieldsOf(parse(withoutBom(text)));
    return { ok: true, value, tables: tablesIn(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) return { ok: false, line: 1, column: 1, why: 'not valid TOML' };
    const [why = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    return { ok: false, line: error.line, column: error.column, why: `not valid TOML: ${why}` };
  }
}

/** `lines`: the header, then the values. */
export function appendTable(text: string | undefined, lines: readonly string[]): string {
  const eol = /\r?\n/.exec(text ?? '')?.[0] ?? '\n';
  const table = lines.map(line => line + eol).join('');
  return text === undefined ? table : text + eol + table;
}

/** Returns undefined if the file was created for the table and is empty without it. */
export function cutTable(text: string, { start, end }: Table): string | undefined {
  const before = text.slice(0, start).replace(/\r?\n$/, '');
  const rest = before + text.slice(end);
  return rest === '' && start === 0 ? undefined : rest;
}

/** Returns headers and the ends of their values. It is called only for text that a parser has accepted. */
function tablesIn(text: string): Table[] {
  const found: Pick<Table, 'start' | 'end'>[] = [];
  let at = text.length - withoutBom(text).length;
  while (at < text.length) {
    const first = /[^ \t]/.exec(text.slice(at, at + 1000))?.[0] ?? '';
    const isHeader = first === '[';
    const isValue = !isHeader && !/^[#\r\n]?$/.test(first);
    const end = endOfLine(text, at, isHeader);
    if (isHeader) found.push({ start: at, end });
    const last = found.at(-1);
    if (isValue && last) last.end = end;
    at = end;
  }
  return found.map(({ start, end }) => {
    const value = fieldsOf(parse(text.slice(start, end)));
    const isArray = /^[ \t]*\[\[/.test(text.slice(start, end));
    const path = pathOf(parse(text.slice(start, endOfLine(text, start, true))));
    return { path, isArray, start, end, value: heldAt(value, path) };
  });
}

/**
 * Returns the offset behind the line end of the expression at `from`: values span lines inside brackets and strings.
 */
function endOfLine(text: string, from: number, isHeader: boolean): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const char = text[at] ?? '';
    if (char === '\n' && depth <= 0) return at + 1;
    if (char === '#') {
      const newline = text.indexOf('\n', at);
      at = newline === -1 ? text.length : newline;
      continue;
    }
    if (char === '"' || char === "'") {
      at = endOfString(text, at, char);
      continue;
    }
    if (!isHeader && (char === '[' || char === '{')) depth++;
    if (!isHeader && (char === ']' || char === '}')) depth--;
    at++;
  }
  return at;
}

function endOfString(text: string, from: number, quote: string): number {
  const isLong = text.startsWith(quote.repeat(3), from);
  const close = isLong ? quote.repeat(3) : quote;
  let at = from + close.length;
  while (at < text.length && !text.startsWith(close, at)) at += quote === '"' && text[at] === '\\' ? 2 : 1;
  at += close.length;
  // The content of a long string may end with one or two quotes.
  while (isLong && text[at] === quote) at++;
  return at;
}

/** Parses a header; its path has one key per level. */
function pathOf(header: unknown): string[] {
  const value = Array.isArray(header) ? header[0] : header;
  const [key] = Object.keys(fieldsOf(value));
  return key === undefined ? [] : [key, ...pathOf(fieldsOf(value)[key])];
}

function heldAt(value: Fields, path: readonly string[]): Fields {
  return path.reduce((held, key) => {
    const next = held[key];
    return fieldsOf(Array.isArray(next) ? next[0] : next);
  }, value);
}

const withoutBom = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
