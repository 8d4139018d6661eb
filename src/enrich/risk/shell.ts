/**
 * A shell's text as words: what is quoted, what is piped, what is put in by a substitution, what a heredoc holds. Neither a grammar
 * nor a search for substrings: enough to know which word is a program's name and which is only text.
 *
 * Reads each character once for each level of nesting, and nesting is bounded, so the time is linear; what is torn or
 * no shell at all still gives words. Never throws.
 */

import { own } from '../../lib/read.ts';

export interface Word {
  /**
   * As the program gets it, as far as that can be known: quotes are gone, `$NAME` is a variable, `~` a home, `$()` an
   * output.
   */
  text: string;
  /** Names of the variables that stand in it. */
  variables: string[];
  /** Commands whose output stands in it. */
  inner: Script[];
  quoted: boolean;
}

export interface Redirection {
  /** `<`, `>`, `>>`, `>&`, `<<` (the target is the text that follows), `<<<` ... */
  operator: string;
  target: Word;
  /** The number before it, where one is: `2>`. */
  from: string;
}

export interface Command {
  assignments: Word[];
  words: Word[];
  redirections: Redirection[];
  /** What stands in parentheses or braces instead of words. */
  group?: Script | undefined;
}

export interface Script {
  pipelines: Command[][];
  /** Names of functions that it defines. */
  functions: string[];
}

/** What is longer is read up to here: an agent's command is no data file. */
export const LONGEST_SCRIPT = 65_536;
const DEEPEST = 16;

export function readShell(text: string): Script {
  return readScript({ text: text.slice(0, LONGEST_SCRIPT), at: 0, pending: [] }, '', 0);
}

interface Cursor {
  readonly text: string;
  at: number;
  /** Heredocs whose text begins at the next line. */
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

function readScript(from: Cursor, closing: ')' | '}' | '', depth: number): Script {
  const { text } = from;
  const script: Script = { pipelines: [], functions: [] };
  let pipeline: Command[] = [];
  let command = blank();
  const endCommand = (): void => {
    const { words, assignments, redirections, group } = command;
    if (words.length + assignments.length + redirections.length > 0 || group) pipeline.push(command);
    command = blank();
  };
  const endPipeline = (): void => {
    endCommand();
    if (pipeline.length > 0) script.pipelines.push(pipeline);
    pipeline = [];
  };
  while (from.at < text.length) {
    const char = text[from.at] ?? '';
    const next = text[from.at + 1];
    if (char === ' ' || char === '\t' || char === '\r') from.at += 1;
    else if (char === '\\' && next === '\n') from.at += 2;
    else if (char === '\n') {
      from.at += 1;
      endPipeline();
      readBodies(from, depth);
    } else if (char === '#') {
      const end = text.indexOf('\n', from.at);
      from.at = end < 0 ? text.length : end;
    } else if (char === ';') {
      from.at += 1;
      endPipeline();
    } else if (char === '&' && next !== '>') {
      from.at += next === '&' ? 2 : 1;
      endPipeline();
    } else if (char === '|') {
      from.at += next === '|' || next === '&' ? 2 : 1;
      if (next === '|') endPipeline();
      else endCommand();
    } else if (char === '(') {
      from.at += 1;
      const name = command.words.at(-1);
      const isDefinition = name !== undefined && text[skipBlanks(text, from.at)] === ')';
      if (isDefinition) {
        from.at = skipBlanks(text, from.at) + 1;
        script.functions.push(name.text);
        command = blank();
      } else if (command.words.length === 0 && depth < DEEPEST) command.group = readScript(from, ')', depth + 1);
    } else if (char === ')') {
      from.at += 1;
      endPipeline();
      if (closing === ')') return script;
    } else {
      const redirection = readRedirection(from, depth);
      if (redirection) {
        command.redirections.push(redirection);
        continue;
      }
      const word = readWord(from, depth);
      const isFirst = command.words.length === 0;
      if (isFirst && !word.quoted) {
        if (word.text === '}' && closing === '}') {
          endPipeline();
          return script;
        }
        if (word.text === '{' && depth < DEEPEST) {
          command.group = readScript(from, '}', depth + 1);
          continue;
        }
        if (KEYWORDS.has(word.text)) continue;
      }
      if (isFirst && ASSIGNMENT.test(word.text)) command.assignments.push(word);
      else command.words.push(word);
    }
  }
  endPipeline();
  return script;
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

/** The texts of heredocs stand below the line that names them. */
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
  const { text } = from;
  const word = emptyWord();
  const start = from.at;
  while (from.at < text.length) {
    const char = text[from.at] ?? '';
    const next = text[from.at + 1];
    if (char === "'") {
      const end = text.indexOf("'", from.at + 1);
      word.text += text.slice(from.at + 1, end < 0 ? text.length : end);
      word.quoted = true;
      from.at = end < 0 ? text.length : end + 1;
    } else if (char === '"') {
      from.at += 1;
      word.quoted = true;
      readExpanded(from, word, '"', depth);
    } else if (char === '\\' && WINDOWS_PATH.test(word.text)) {
      // Behind a drive's letter and what else a path of Windows begins with, it is a folder's mark.
      word.text += char;
      from.at += 1;
    } else if (char === '\\') {
      if (next !== '\n') word.text += next ?? '';
      from.at += 2;
    } else if (char === '$' && next === "'") readEscaped(from, word);
    else if (char === '$' && next === '"') from.at += 1;
    else if (char === '$' || char === '`') readSubstitution(from, word, depth);
    else if ((char === '<' || char === '>') && next === '(') {
      if (depth >= DEEPEST) {
        from.at += 2;
        continue;
      }
      from.at += 2;
      word.inner.push(readScript(from, ')', depth + 1));
      word.text += '$()';
    } else {
      PLAIN.lastIndex = from.at;
      const plain = PLAIN.exec(text)?.[0];
      if (plain === undefined) break;
      word.text += plain;
      from.at += plain.length;
    }
  }
  if (from.at === start) from.at += 1;
  return word;
}

const INSIDE = /[^"\\$`}]+/y;

/** Text in which variables and outputs are put in: up to the closing mark, or to the end. */
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
  if (text[from.at] === '`') {
    readBackticks(from, word, depth);
    return;
  }
  const next = text[from.at + 1];
  if (next === '(' && text[from.at + 2] === '(') {
    from.at += 3;
    for (let open = 2; open > 0 && from.at < text.length; from.at += 1) {
      if (text[from.at] === '(') open += 1;
      else if (text[from.at] === ')') open -= 1;
    }
    word.text += '$()';
  } else if (next === '(' && depth < DEEPEST) {
    from.at += 2;
    word.inner.push(readScript(from, ')', depth + 1));
    word.text += '$()';
  } else if (next === '{' && depth < DEEPEST) {
    const mark = text[from.at + 2];
    NAME.lastIndex = mark === '!' || mark === '#' ? from.at + 3 : from.at + 2;
    const name = NAME.exec(text)?.[0];
    from.at = name === undefined ? from.at + 2 : NAME.lastIndex;
    const named = name === undefined ? undefined : ofEnvironment(from, name);
    // Its length, or another word where it is set: the value does not stand there.
    const isLength = mark === '#' && named !== undefined;
    const isOther = named !== undefined && /^:?\+/.test(text.slice(from.at, from.at + 2));
    const rest = emptyWord();
    readExpanded(from, rest, '}', depth + 1);
    if (isLength) word.text += '0';
    else if (isOther) word.text += rest.text.replace(/^:?\+/, '');
    else if (named !== undefined) put(word, named);
    word.variables.push(...rest.variables);
    word.inner.push(...rest.inner);
  } else {
    NAME.lastIndex = from.at + 1;
    const name = NAME.exec(text)?.[0];
    from.at += 1 + (name?.length ?? 0);
    if (name === undefined) word.text += '$';
    else put(word, ofEnvironment(from, name));
  }
}

const OF_ENVIRONMENT = /:([A-Za-z_][A-Za-z0-9_]*)/y;

/** `$env:NAME` is the variable NAME. */
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

/** `$'...'`: letters may be written as numbers, and a program's name with them. */
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
