/**
 * Limits the text that the rules process for one action. A command of a few KB can expand to gigabytes: by variables in
 * variables, by loops over them, by text that a shell executes again. Each character that is read, expanded, joined or
 * matched again is paid from one account. The account counts characters and not time, so that the same action always
 * has the same risk.
 */
export interface Work {
  left: number;
  /** The account for patterns of the user's own rules, whose engine is much slower. */
  ownPatterns: number;
  /** The account was empty before the end: the risk is that of the part that was processed. */
  isCut: boolean;
}

/** Twice the cost of the longest command that contains no expansion and is read a second time. */
const WHOLE = 524_288;
/** The approximate cost of a word, besides its characters. */
const PER_WORD = 16;

const OWN_PATTERNS = 4_194_304;

export const newWork = (): Work => ({ left: WHOLE, ownPatterns: OWN_PATTERNS, isCut: false });

/** Pays for one match of the user's own pattern; false if the account is empty. */
export function paidOwnPattern(work: Work, characters: number): boolean {
  work.ownPatterns -= characters + PER_WORD;
  if (work.ownPatterns < 0) work.isCut = true;
  return work.ownPatterns >= 0;
}

/** Pays for characters and words; false if the account is empty. */
export function paid(work: Work, characters: number, words = 1): boolean {
  work.left -= characters + words * PER_WORD;
  if (work.left < 0) work.isCut = true;
  return work.left >= 0;
}
