/**
 * Makes printed text safe for a terminal. Session ids, branches, file names and answers of servers are untrusted, and a
 * terminal obeys control characters: it renames its window, wipes lines, or shows letters in another order.
 *
 * Only our own styles become control sequences. They are written with a mark that is random in each process, so that no
 * text from outside can contain one.
 */
import { randomBytes } from 'node:crypto';

const STYLES = { dim: '2', red: '31', green: '32', yellow: '33' } as const;
export type Style = keyof typeof STYLES;

const MARK = `\u0000${randomBytes(12).toString('hex')}`;
const marked = (sequence: string): string => `${MARK}${sequence};`;

export const styled = (style: Style, text: string): string => `${marked(`[${STYLES[style]}m`)}${text}${marked('[0m')}`;
/** Returns to the start of the line, for progress that is redrawn. */
export const LINE_START = marked('');
/** Returns to the start of the line and clears it. */
export const LINE_CLEARED = marked('[K');
/** A screen of its own without a cursor, and the return to the former screen. */
export const SCREEN_ENTERED = `${marked('[?1049h')}${marked('[?25l')}`;
export const SCREEN_LEFT = `${marked('[?25h')}${marked('[?1049l')}`;
/** Goes to the first cell. Lines that are drawn over others end with LINE_REST_CLEARED. */
export const SCREEN_START = marked('[H');
export const LINE_REST_CLEARED = marked('[0K');
export const SCREEN_REST_CLEARED = marked('[J');

/**
 * The escaped characters:
 * - C0, DEL and C1, except tabs and line ends.
 * - Line and paragraph separators, and annotation marks.
 * - Bidirectional controls and invisible characters: zero-width characters, fillers, tags. Variation selectors stay,
 *   because symbols and emoji use them.
 */
const OBEYED =
  /\r(?!\n)|(?![\ufe00-\ufe0f])[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns the text with each such character as `\uXXXX`, which means the same in JSON. */
const escaped = (text: string): string => text.replace(OBEYED, asUnits);

function asUnits(character: string): string {
  let units = '';
  for (let at = 0; at < character.length; at += 1)
    units += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return units;
}

/** Returns a page with our styles as control sequences and all other control characters escaped. */
export function forTerminal(page: string): string {
  const [first = '', ...others] = page.split(MARK);
  return escaped(first) + others.map(afterMark).join('');
}

function afterMark(text: string): string {
  const end = text.indexOf(';');
  const sequence = text.slice(0, end);
  const control = sequence === '' ? '\r' : sequence === '[K' ? '\r\u001b[K' : `\u001b${sequence}`;
  return control + escaped(text.slice(end + 1));
}
