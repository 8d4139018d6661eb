/**
 * Filters of events of files. The format has expressions (`{pattern}`) and plain texts, which are taken for globs; an
 * agent has one of the two.
 */

/** Returns the glob that matches the same paths as an expression; undefined if there is none. */
export function globOf(expression: string): string | undefined {
  const isOpen = !expression.startsWith('^');
  const isOpenAtEnd = !/(?:^|[^\\])(?:\\\\)*\$$/.test(expression);
  const body = expression.slice(isOpen ? 0 : 1, isOpenAtEnd ? undefined : -1);
  // An expression without ends matches a part of a path.
  const tokens = [...(isOpen ? ['.*'] : []), ...pieces(body), ...(isOpenAtEnd ? ['.*'] : [])];
  let glob = '';
  for (const [i, token] of tokens.entries()) {
    if (token === '.*' && tokens[i - 1] === '.*') continue;
    const part = token === '.*' ? anyPath(glob) : globPart(token);
    if (part === undefined) return undefined;
    glob += part;
  }
  return glob;
}

/** A glob has a word for any path only after a slash or at its beginning. */
const anyPath = (before: string): string | undefined => (before === '' || before.endsWith('/') ? '**/*' : undefined);

function globPart(token: string): string | undefined {
  if (token === '[^/]*' || token === '[^/]+') return token === '[^/]*' ? '*' : '?*';
  if (token === '[^/]') return '?';
  const choice = /^\((?:\?:)?((?:[\w./|-]|\\[.-])+)\)$/.exec(token)?.[1];
  if (choice !== undefined)
    return /(?:^|[^\\])\./.test(choice) ? undefined : `{${choice.replace(/\\(.)/g, '$1').replaceAll('|', ',')}}`;
  const literal = token.startsWith('\\') ? token.slice(1) : token;
  return /^[\w./ @-]$/.test(literal) && token !== '.' && !/^\\\w/.test(token) ? literal : undefined;
}

const pieces = (expression: string): string[] =>
  expression.match(/\.\*|\[\^\/\][*+]?|\((?:\\.|[^()\\])*\)|\\[\s\S]|[\s\S]/g) ?? [];

/** Returns the expression that matches the same paths as a glob. */
export function expressionOf(glob: string): string {
  const body = glob.replace(/\*\*\/|\*\*|\*|\?|\{[^{}]*\}|[\s\S]/g, part => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    if (part.length > 1) return `(?:${part.slice(1, -1).split(',').map(plain).join('|')})`;
    return plain(part);
  });
  return `^${body}$`;
}

const plain = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
