/**
 * Counts the values of a JSON text without parsing it, because a value can need thirty times as much memory as its
 * text.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * Whether the text has more lists, objects and items than this number. Reads each character at most once and stops as
 * soon as the answer is known.
 */
export function hasMoreValues(text: string, most: number): boolean {
  if (text.length <= most) return false;
  let left = most;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if (code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT) {
      left -= 1;
      if (left < 0) return true;
    }
  }
  return false;
}

function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === 0x5c) before -= 1;
    if ((end - 1 - before) % 2 === 0) return end;
  }
  return text.length;
}
