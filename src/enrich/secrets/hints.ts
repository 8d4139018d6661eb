/**
 * Finds which of many short strings a text contains, in one pass: a search for each string would cost more than all
 * other work of redaction. At each position, the first three characters are looked up.
 */

/** The numbers of the entries with at least one string in the text, ascending; undefined without any. */
export function hintsIn(
  entries: readonly { readonly hints: readonly string[] }[],
): (text: string) => number[] | undefined {
  const mayBegin = new Uint8Array(SIZE);
  const beginning = new Map<number, [number, string][]>();
  for (const [entry, { hints }] of entries.entries()) {
    for (const hint of hints) {
      // A string of two characters matches with any third one.
      const thirds = hint.length > 2 ? [hint.charCodeAt(2)] : Array.from({ length: 128 }, (_, code) => code);
      for (const third of thirds) {
        const key = (hint.charCodeAt(0) << 14) | (hint.charCodeAt(1) << 7) | third;
        mayBegin[slotOf(key)] = 1;
        beginning.set(key, [...(beginning.get(key) ?? []), [entry, hint]]);
      }
    }
  }
  return text => {
    let found: Set<number> | undefined;
    let key = 0;
    // The loop visits one position more, because the text may end with a string of two characters.
    for (let at = 0; at < text.length + 1; at += 1) {
      const code = at < text.length ? text.charCodeAt(at) : 0;
      key = ((key << 7) | (code < 128 ? code : 0)) & KEY;
      if (mayBegin[slotOf(key)] === 0) continue;
      for (const [entry, hint] of beginning.get(key) ?? [])
        if (text.startsWith(hint, at - 2)) {
          found ??= new Set();
          found.add(entry);
        }
    }
    return found && [...found].sort((a, b) => a - b);
  };
}

const KEY = (1 << 21) - 1;
const SIZE = 1 << 15;
/** The keys of texts are unevenly distributed: the multiplication spreads them. */
const slotOf = (key: number): number => Math.imul(key, 0x9e3779b1) >>> 17;
