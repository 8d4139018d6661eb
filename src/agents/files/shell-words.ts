/** Splits shell commands into words, if they need no expansion by a shell. */

/**
 * Returns the words of each simple command; undefined if the text needs a shell (substitutions, groups, a quote without its
 * end) or writes to a file. A backslash is an ordinary character unless it protects a character that is special to a
 * shell: paths of Windows have many backslashes.
 */
export function simpleCommands(text: string): string[][] | undefined {
  const commands: string[][] = [[]];
  let word: string | undefined;
  const endWord = () => {
    if (word !== undefined) commands.at(-1)?.push(word);
    word = undefined;
  };
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at, word);
    if (token === undefined) return undefined;
    if (token.kind === 'text') word = (word ?? '') + token.text;
    else endWord();
    if (token.kind === 'end of command') commands.push([]);
    at = token.end;
  }
  endWord();
  return withoutRedirections(commands);
}

type Token =
  | { kind: 'text'; text: string; end: number }
  | { kind: 'end of word'; end: number }
  | { kind: 'end of command'; end: number };

/** `word`: the characters of the current word so far. */
function tokenAt(text: string, at: number, word: string | undefined): Token | undefined {
  const char = text[at] ?? '';
  const next = text[at + 1] ?? '';
  if (char === "'") return singleQuoted(text, at + 1);
  if (char === '"') return doubleQuoted(text, at + 1);
  if (char === '\\' && /[\s'"$&;|]/.test(next)) return { kind: 'text', text: next, end: at + 2 };
  if (/[`(){}]/.test(char)) return undefined;
  if (char === '&' && word?.endsWith('>')) return { kind: 'text', text: char, end: at + 1 };
  if (/[;&|\n]/.test(char)) return { kind: 'end of command', end: at + 1 };
  if (/\s/.test(char)) return { kind: 'end of word', end: at + 1 };
  return { kind: 'text', text: char, end: at + 1 };
}

function singleQuoted(text: string, from: number): Token | undefined {
  const close = text.indexOf("'", from);
  return close === -1 ? undefined : { kind: 'text', text: text.slice(from, close), end: close + 1 };
}

function doubleQuoted(text: string, from: number): Token | undefined {
  let quoted = '';
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    const next = text[at + 1] ?? '';
    if (char === '"') return { kind: 'text', text: quoted, end: at + 1 };
    if (char === '`' || (char === '$' && next === '(')) return undefined;
    if (char === '\\' && /["$`]/.test(next)) at++;
    quoted += text[at];
  }
  return undefined;
}

/** Our commands redirect only to `/dev/null` and to another descriptor. */
function withoutRedirections(commands: readonly string[][]): string[][] | undefined {
  const isRedirection = (word: string): boolean => /^\d?[<>]/.test(word);
  const isHarmless = (word: string): boolean => /^\d?>(?:\/dev\/null|&\d)$/.test(word);
  if (commands.flat().some(word => isRedirection(word) && !isHarmless(word))) return undefined;
  return commands.map(words => words.filter(word => !isRedirection(word)));
}
