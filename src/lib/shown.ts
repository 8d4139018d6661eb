/** Makes untrusted texts safe to display. */

/** Returns one line. Characters that could hide or move text are replaced by their code. */
export const asShown = (text: string): string =>
  text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, character => `\\u{${character.codePointAt(0)?.toString(16)}}`);
