/**
 * How much text one action may make the rules look at. A command of some KB can expand to gigabytes: variables that
 * hold variables, loops over them, text that is given to a shell again. Each character that is read, expanded, joined
 * or matched again is paid for from one account. The account is counted in characters and not in time, so the same
 * action always has the same risk.
 */
export interface Work {
  left: number;
  /** For the patterns of a person's own rules, whose engine is slower by far. */
  ownPatterns: number;
  /** The account was empty before everything had been looked at: the risk is that of what was. */
  isCut: boolean;
}

/** Twice what the longest command costs that holds nothing but itself, and is read again once. */
const WHOLE = 524_288;
/** Each word costs about so much beside its characters. */
const PER_WORD = 16;

const OWN_PATTERNS = 4_194_304;

export const newWork = (): Work => ({ left: WHOLE, ownPatterns: OWN_PATTERNS, isCut: false });

/** Pays for one own pattern that goes over so many characters. */
export function paidOwnPattern(work: Work, characters: number): boolean {
  work.ownPatterns -= characters + PER_WORD;
  if (work.ownPatterns < 0) work.isCut = true;
  return work.ownPatterns >= 0;
}

/** Pays for so many characters in so many words; false when the account does not hold that much. */
export function paid(work: Work, characters: number, words = 1): boolean {
  work.left -= characters + words * PER_WORD;
  if (work.left < 0) work.isCut = true;
  return work.left >= 0;
}
