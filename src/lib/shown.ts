/** Texts of strangers, as a person may look at them. */

/** One line: letters, digits and signs as they are, whatever could hide or move a part of it as its number. */
export const asShown = (text: string): string =>
  text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, character => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** What draws: colours, ends of lines, and the line of how far something is. */
const DRAWN = String.raw`\u001b\[(?:0|2|3[1-3])m|\r\n|^\r(?:\u001b\[K)?`;
/** What a terminal obeys, and what turns the order of letters around. */
const OBEYED = String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]`;
const either = new RegExp(`${DRAWN}|${OBEYED}`, 'g');

/** A page that we drew: what others wrote into it is obeyed by no terminal. In JSON it means the same as before. */
export const harmless = (page: string): string =>
  page.replace(either, (found, at: number) =>
    found.length > 1 || (found === '\r' && at === 0)
      ? found
      : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
