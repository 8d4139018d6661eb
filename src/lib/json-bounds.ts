/**
 * Checks bounds of a JSON text in one linear scan before a parser reads it. Parsers recurse: deeply nested brackets
 * cause a stack overflow, and millions of members cost seconds. The scan skips comments, as parsers of JSON with
 * comments do; a strict parser rejects comments anyway.
 */
export interface Bounds {
  depth: number;
  /** Members and elements together. */
  parts: number;
}

/** Returns the place and the name of the exceeded bound; undefined if a parser may read the text. */
export function boundPassed(
  text: string,
  { depth: deepest, parts: most }: Bounds,
): { at: number; why: string } | undefined {
  let depth = 0;
  let parts = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === '/') at = endOfComment(text, at);
    else if (char === '{' || char === '[') {
      depth += 1;
      parts += 1;
      if (depth > deepest) return { at, why: `nested deeper than ${deepest} levels` };
    } else if (char === '}' || char === ']') depth -= 1;
    else if (char === ',') parts += 1;
    if (parts > most) return { at, why: `longer than ${most} members` };
  }
  return undefined;
}

/** Returns the closing quote. A string ends at the end of its line at the latest, as in parsers. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === '"') return at;
    else if (char === '\n' || char === '\r') return at;
  }
  return text.length;
}

function endOfComment(text: string, start: number): number {
  if (text[start + 1] === '/') {
    let at = start + 2;
    while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at += 1;
    return at;
  }
  if (text[start + 1] !== '*') return start;
  const end = text.indexOf('*/', start + 2);
  return end === -1 ? text.length : end + 1;
}
