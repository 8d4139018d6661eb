/**
 * Reads the text of a shell as words: quotes, pipes, substitutions, redirections and heredocs. It is not a complete
 * grammar, but it finds out which word is the name of a program and which word is only text.
 *
 * The reader looks at each character once per level of nesting, and the levels are limited, so the time is linear. An
 * incomplete text, or a text in another language, still gives words. The reader never throws.
 */
import { own } from '../../lib/read.ts';

export interface Word {
  /**
   * The argument that the program gets, as far as known: without quotes, variables as `$NAME`, a home as `~`, an output
   * as `$()`.
   */
  text: string;
  /** Names of the variables in it. */
  variables: string[];
  /** Commands whose output is in it. */
  inner: Script[];
  quoted: boolean;
}

export interface Redirection {
  /** `<`, `>`, `>>`, `>&`, `<<` (the target is the text of the heredoc), `<<<` ... */
  operator: string;
  target: Word;
  /** The number before the operator: 2 in `2>`. */
  from: string;
}

export interface Command {
  assignments: Word[];
  words: Word[];
  redirections: Redirection[];
  /** Commands in parentheses or braces; such a command has no words. */
  group?: Script | undefined;
}

export interface Script {
  pipelines: Command[][];
  /** Names of functions that it defines. */
  functions: string[];
}

/** The reader ignores the rest of a longer text. */
export const LONGEST_SCRIPT = 65_536;
const DEEPEST = 16;

export function readShell(text: string): Script {
  return readScript({ text: text.slice(0, LONGEST_SCRIPT), at: 0, pending: [] }, '', 0);
}

interface Cursor {
  readonly text: string;
  at: number;
  /** Heredocs whose text begins on the next line. */
  pending: { word: Word; delimiter: string; isLiteral: boolean; isIndented: boolean }[];
}

const blank = (): Command => ({ assignments: [], words: [], redirections: [] });
const emptyWord = (): Word => ({ text: '', variables: [], inner: [], quoted: false });

const KEYWORDS = new Set([
  'if',
  'then',
  'else',
  'elif',
  'fi',
  'while',
  'until',
  'do',
  'done',
  'esac',
  '!',
  'time',
  '}',
]);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/;
const OPERATORS = ['<<<', '<<-', '&>>', '<<', '<&', '<>', '>>', '>&', '>|', '&>', '<', '>'];

/** A script while it is read. */
interface Draft {
  readonly script: Script;
  pipeline: Command[];
  command: Command;
}

function endCommand(draft: Draft): void {
  const { words, assignments, redirections, group } = draft.command;
  if (words.length + assignments.length + redirections.length > 0 || group) draft.pipeline.push(draft.command);
  draft.command = blank();
}

function endPipeline(draft: Draft): void {
  endCommand(draft);
  if (draft.pipeline.length > 0) draft.script.pipelines.push(draft.pipeline);
  draft.pipeline = [];
}

type Closing = ')' | '}' | '';

function readScript(from: Cursor, closing: Closing, depth: number): Script {
  const draft: Draft = { script: { pipelines: [], functions: [] }, pipeline: [], command: blank() };
  let isClosed = false;
  while (!isClosed && from.at < from.text.length) isClosed = readPart(from, draft, closing, depth);
  endPipeline(draft);
  return draft.script;
}

/** Reads a separator, a group or a word. Returns true at the closing mark of the script. */
function readPart(from: Cursor, draft: Draft, closing: Closing, depth: number): boolean {
  const { text } = from;
  const next = text[from.at + 1];
  switch (text[from.at]) {
    case ' ':
    case '\t':
    case '\r':
      from.at += 1;
      return false;
    case '\n':
      from.at += 1;
      endPipeline(draft);
      readBodies(from, depth);
      return false;
    case '#': {
      const end = text.indexOf('\n', from.at);
      from.at = end < 0 ? text.length : end;
      return false;
    }
    case ';':
      from.at += 1;
      endPipeline(draft);
      return false;
    case '|':
      from.at += next === '|' || next === '&' ? 2 : 1;
      if (next === '|') endPipeline(draft);
      else endCommand(draft);
      return false;
    case '(':
      readParenthesis(from, draft, depth);
      return false;
    case ')':
      from.at += 1;
      endPipeline(draft);
      return closing === ')';
    case '&':
      if (next === '>') break;
      from.at += next === '&' ? 2 : 1;
      endPipeline(draft);
      return false;
    case '\\':
      if (next !== '\n') break;
      from.at += 2;
      return false;
  }
  return readWordOrRedirection(from, draft, closing, depth);
}

/** A parenthesis after a word defines a function; otherwise it begins a group. */
function readParenthesis(from: Cursor, draft: Draft, depth: number): void {
  from.at += 1;
  const name = draft.command.words.at(-1);
  if (name !== undefined && from.text[skipBlanks(from.text, from.at)] === ')') {
    from.at = skipBlanks(from.text, from.at) + 1;
    draft.script.functions.push(name.text);
    draft.command = blank();
  } else if (draft.command.words.length === 0 && depth < DEEPEST)
    draft.command.group = readScript(from, ')', depth + 1);
}

function readWordOrRedirection(from: Cursor, draft: Draft, closing: Closing, depth: number): boolean {
  const { command } = draft;
  const redirection = readRedirection(from, depth);
  if (redirection) {
    command.redirections.push(redirection);
    return false;
  }
  const word = readWord(from, depth);
  const isFirst = command.words.length === 0;
  if (isFirst && !word.quoted) {
    if (word.text === '}' && closing === '}') return true;
    if (word.text === '{' && depth < DEEPEST) {
      command.group = readScript(from, '}', depth + 1);
      return false;
    }
    if (KEYWORDS.has(word.text)) return false;
  }
  if (isFirst && ASSIGNMENT.test(word.text)) command.assignments.push(word);
  else command.words.push(word);
  return false;
}

function skipBlanks(text: string, at: number): number {
  let to = at;
  while (text[to] === ' ' || text[to] === '\t') to += 1;
  return to;
}

function readRedirection(from: Cursor, depth: number): Redirection | undefined {
  const { text } = from;
  let start = from.at;
  while (start - from.at < 3 && /[0-9]/.test(text[start] ?? '')) start += 1;
  const operator = OPERATORS.find(each => text.startsWith(each, start));
  if (operator === undefined || (text[start + 1] === '(' && operator.length === 1)) return undefined;
  const number = text.slice(from.at, start);
  from.at = skipBlanks(text, start + operator.length);
  const target = readWord(from, depth);
  if (operator !== '<<' && operator !== '<<-') return { operator, target, from: number };
  const word = emptyWord();
  from.pending.push({ word, delimiter: target.text, isLiteral: target.quoted, isIndented: operator === '<<-' });
  return { operator: '<<', target: word, from: number };
}

/** Reads the texts of heredocs, which follow the line with their operators. */
function readBodies(from: Cursor, depth: number): void {
  for (const { word, delimiter, isLiteral, isIndented } of from.pending.splice(0)) {
    const start = from.at;
    let end = from.text.length;
    while (from.at < from.text.length) {
      const newline = from.text.indexOf('\n', from.at);
      const lineEnd = newline < 0 ? from.text.length : newline;
      const line = from.text.slice(from.at, lineEnd);
      const lineStart = from.at;
      from.at = lineEnd + 1;
      if ((isIndented ? line.replace(/^\t+/, '') : line) === delimiter) {
        end = lineStart;
        break;
      }
    }
    const body = from.text.slice(start, end);
    if (isLiteral || depth >= DEEPEST) word.text = body;
    else readExpanded({ text: body, at: 0, pending: [] }, word, '', depth + 1);
  }
}

const WINDOWS_PATH = /^(?:[A-Za-z]:|HK[A-Z]{1,3}:?|\.{1,2}|~|\$\w{1,64}|%\w{1,64}%)(?:\\|$)/;
const PLAIN = /[^\s'"\\$`;&|<>()]+/y;

/** Reads at least one character. */
function readWord(from: Cursor, depth: number): Word {
  const word = emptyWord();
  const start = from.at;
  while (from.at < from.text.length && readWordPart(from, word, depth));
  if (from.at === start) from.at += 1;
  return word;
}

/** Reads a quoted text, a substitution or plain characters. Returns false at the end of the word. */
function readWordPart(from: Cursor, word: Word, depth: number): boolean {
  const next = from.text[from.at + 1];
  switch (from.text[from.at]) {
    case "'":
      readLiteral(from, word);
      return true;
    case '"':
      from.at += 1;
      word.quoted = true;
      readExpanded(from, word, '"', depth);
      return true;
    case '\\':
      readBackslash(from, word);
      return true;
    case '`':
      readBackticks(from, word, depth);
      return true;
    case '$':
      if (next === "'") readEscaped(from, word);
      else if (next === '"') from.at += 1;
      else readSubstitution(from, word, depth);
      return true;
    case '<':
    case '>':
      if (next !== '(') return false;
      from.at += 2;
      if (depth >= DEEPEST) return true;
      word.inner.push(readScript(from, ')', depth + 1));
      word.text += '$()';
      return true;
  }
  PLAIN.lastIndex = from.at;
  const plain = PLAIN.exec(from.text)?.[0];
  if (plain === undefined) return false;
  word.text += plain;
  from.at += plain.length;
  return true;
}

function readLiteral(from: Cursor, word: Word): void {
  const end = from.text.indexOf("'", from.at + 1);
  word.text += from.text.slice(from.at + 1, end < 0 ? from.text.length : end);
  word.quoted = true;
  from.at = end < 0 ? from.text.length : end + 1;
}

/** In a path of Windows a backslash separates folders; elsewhere it escapes the next character. */
function readBackslash(from: Cursor, word: Word): void {
  if (WINDOWS_PATH.test(word.text)) {
    word.text += '\\';
    from.at += 1;
    return;
  }
  const next = from.text[from.at + 1];
  if (next !== '\n') word.text += next ?? '';
  from.at += 2;
}

const INSIDE = /[^"\\$`}]+/y;

/** Reads text with variables and substitutions, up to the closing mark or to the end. */
function readExpanded(from: Cursor, word: Word, closing: '"' | '}' | '', depth: number): void {
  const { text } = from;
  while (from.at < text.length) {
    const char = text[from.at] ?? '';
    if (char === closing) {
      from.at += 1;
      return;
    }
    if (char === '\\') {
      const next = text[from.at + 1] ?? '';
      if (next !== '\n') word.text += '"\\$`'.includes(next) ? next : `\\${next}`;
      from.at += 2;
    } else if (char === '$' || char === '`') readSubstitution(from, word, depth);
    else {
      INSIDE.lastIndex = from.at;
      const plain = INSIDE.exec(text)?.[0] ?? char;
      word.text += plain;
      from.at += plain.length;
    }
  }
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]/y;

function readSubstitution(from: Cursor, word: Word, depth: number): void {
  const { text } = from;
  const next = text[from.at + 1];
  if (text[from.at] === '`') readBackticks(from, word, depth);
  else if (next === '(' && text[from.at + 2] === '(') readArithmetic(from, word);
  else if (next === '(' && depth < DEEPEST) {
    from.at += 2;
    word.inner.push(readScript(from, ')', depth + 1));
    word.text += '$()';
  } else if (next === '{' && depth < DEEPEST) readParameter(from, word, depth);
  else {
    NAME.lastIndex = from.at + 1;
    const name = NAME.exec(text)?.[0];
    from.at += 1 + (name?.length ?? 0);
    if (name === undefined) word.text += '$';
    else put(word, ofEnvironment(from, name));
  }
}

/** `$((1 + 2))` */
function readArithmetic(from: Cursor, word: Word): void {
  from.at += 3;
  for (let open = 2; open > 0 && from.at < from.text.length; from.at += 1) {
    if (from.text[from.at] === '(') open += 1;
    else if (from.text[from.at] === ')') open -= 1;
  }
  word.text += '$()';
}

/** `${NAME}`, `${NAME:-other}`, `${#NAME}` */
function readParameter(from: Cursor, word: Word, depth: number): void {
  const { text } = from;
  const mark = text[from.at + 2];
  NAME.lastIndex = mark === '!' || mark === '#' ? from.at + 3 : from.at + 2;
  const name = NAME.exec(text)?.[0];
  from.at = name === undefined ? from.at + 2 : NAME.lastIndex;
  const named = name === undefined ? undefined : ofEnvironment(from, name);
  // These two forms give the length of the value, or another word if there is a value: not the value itself.
  const isLength = mark === '#' && named !== undefined;
  const isOther = named !== undefined && /^:?\+/.test(text.slice(from.at, from.at + 2));
  const rest = emptyWord();
  readExpanded(from, rest, '}', depth + 1);
  if (isLength) word.text += '0';
  else if (isOther) word.text += rest.text.replace(/^:?\+/, '');
  else if (named !== undefined) put(word, named);
  word.variables.push(...rest.variables);
  word.inner.push(...rest.inner);
}

const OF_ENVIRONMENT = /:([A-Za-z_][A-Za-z0-9_]*)/y;

/** `$env:NAME` of PowerShell is the variable NAME. */
function ofEnvironment(from: Cursor, name: string): string {
  if (name.toLowerCase() !== 'env') return name;
  OF_ENVIRONMENT.lastIndex = from.at;
  const named = OF_ENVIRONMENT.exec(from.text)?.[1];
  if (named !== undefined) from.at = OF_ENVIRONMENT.lastIndex;
  return named ?? name;
}

function put(word: Word, name: string): void {
  word.variables.push(name);
  word.text += name === 'HOME' ? '~' : `$${name}`;
}

function readBackticks(from: Cursor, word: Word, depth: number): void {
  const { text } = from;
  let end = from.at + 1;
  while (end < text.length && text[end] !== '`') end += text[end] === '\\' ? 2 : 1;
  const body = text.slice(from.at + 1, end).replace(/\\([`\\$])/g, '$1');
  from.at = end + 1;
  word.text += '$()';
  if (depth < DEEPEST) word.inner.push(readScript({ text: body, at: 0, pending: [] }, '', depth + 1));
}

const ESCAPES: { readonly [letter: string]: string } = { n: '\n', t: '\t', r: '\r', a: '\u0007', e: '\u001b', 0: '\0' };

/** `$'...'`: escapes may hide the name of a program. */
function readEscaped(from: Cursor, word: Word): void {
  const { text } = from;
  from.at += 2;
  word.quoted = true;
  while (from.at < text.length && text[from.at] !== "'") {
    if (text[from.at] !== '\\') {
      word.text += text[from.at];
      from.at += 1;
      continue;
    }
    const number = /^\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3}))/.exec(text.slice(from.at, from.at + 6));
    if (number) {
      const [all, byte, unit, octal] = number;
      word.text += String.fromCharCode(
        octal === undefined ? Number.parseInt(byte ?? unit ?? '0', 16) : Number.parseInt(octal, 8),
      );
      from.at += all.length;
    } else {
      const letter = text[from.at + 1] ?? '';
      word.text += own(ESCAPES, letter) ?? letter;
      from.at += 2;
    }
  }
  from.at += 1;
}
