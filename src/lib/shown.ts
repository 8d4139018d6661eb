/** Texts of strangers, as a person may look at them. */

/** One line: letters, digits and signs as they are, whatever could hide or move a part of it as its number. */
export const asShown = (text: string): string =>
  text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, character => `\\u{${character.codePointAt(0)?.toString(16)}}`);
