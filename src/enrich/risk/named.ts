/**
 * Finds secrets in a text: of a known kind, or marked by a name. Placeholders are not secrets.
 */
import { holdsSecret } from '../secrets.ts';
import { SECRET_NAME } from './subject.ts';

/** The kinds of secrets in a text, as rules name them. */
export function secretsIn(text: string): string[] {
  const found: string[] = [];
  if (holdsSecret(text) && holdsSecret(text.replace(IN_ITS_PLACE, ''))) found.push('secret');
  if (holdsNamed(text)) found.push('named-secret');
  return found;
}

/** Placeholders: one repeated letter, the alphabet, and words such as `your_key`. */
const IN_ITS_PLACE =
  /([A-Za-z0-9*.])\1{7,}|(?:0?123456789|abcdefgh|ABCDEFGH)\w{0,64}|(?:your[-_]|placeholder|changeme|redacted|dummy|insert[-_])[\w-]{0,64}/gi;

const NAME =
  '(?:passw(?:or)?d|passphrase|passwort|(?<![a-z])pass|pwd|secret|(?:api|access|secret|private|auth|signing|encryption|master)[_-]?key|secret[_-]?key[_-]?base|(?<!page[_-]?|next[_-]?|continuation[_-]?|csrf[_-]?|xsrf[_-]?|sync[_-]?|resume[_-]?)token)';
const NEAR = /pass|pwd|secret|key|token|bearer|basic |:\/\//i;
/**
 * A value after its name: quoted, joined by one character, at the end of a line or of a header, or in a sentence. Or a
 * password in an address, or a token in a header.
 */
const NAMED = new RegExp(
  [
    `${NAME}(?:\\\\?["'\\]]{0,2}\\s{0,3}(?:=>|:=|[:=])\\s{0,3}\\\\?(["'\`])([^"'\`\\s\\\\]{8,128})\\\\?\\1` +
      `|=([^\\s"'\`,;&<>(){}|\\\\=]{8,128}={0,2})(?=$|[\\s"'\`,;&|\\\\])` +
      `|["']?:[ \\t]{1,3}([^\\s"'\`,;&<>(){}|\\\\]{8,128})(?=$|[\\s"'\`,;])` +
      `|(?: is:?|(?<=login \\S{1,64} password)) {1,2}([^\\s"'\`,;&<>(){}|\\\\]{8,128})(?=$|[\\s"'\`,;]))`,
    `:\\/\\/[^/:@\\s"']{1,64}:([^@\\s"'/$<{]{6,128})@(?!localhost|127\\.|0\\.0)`,
    `\\b(?:bearer|basic) ([A-Za-z0-9._~+/=-]{16,256})(?=$|[\\s"'\`])`,
  ].join('|'),
  'gi',
);
const MOST_NAMED = 64;
/** The rest of a longer text is ignored: named secrets are in settings, which are short. */
const LONGEST_TEXT = 16_384;

function holdsNamed(text: string): boolean {
  if (!NEAR.test(text)) return false;
  let left = MOST_NAMED;
  for (const [, , quoted, joined, ended, stated, address, header] of text.slice(0, LONGEST_TEXT).matchAll(NAMED)) {
    const value = quoted ?? joined ?? ended ?? stated ?? address ?? header ?? '';
    if (isSecretive(value, quoted !== undefined || header !== undefined)) return true;
    left -= 1;
    if (left === 0) return false;
  }
  return false;
}

/** Values of examples, references to a value elsewhere, and words of programs. */
const NO_SECRET =
  /your|example|test|demo|1234|qwerty|letmein|hunter|abc1|s3cr|admin|guest|foobar|change.?(?:me|it)|dummy|placeholder|redacted|fake|sample|xxx|\*\*|\.\.\.|^[$%{<[/~.]|:\/\/|process\.|os\.|env\.|config\.|this\.|self\.|req\.|token|secret|pass|p@ss|p4ss|key|field|label|header|param|string|number|^sha\d|^v?\d+(?:\.\d+)+/i;
/** `authV2`, `Base64Of`. */
const IDENTIFIER = /^[A-Za-z][a-z]*\d{0,2}(?:[A-Z][a-z]+\d{0,2}|[A-Z]\d{0,2})*$/;

function isSecretive(value: string, isQuoted: boolean): boolean {
  if (NO_SECRET.test(value) || /(.)\1{4,}/.test(value)) return false;
  if (!isQuoted && IDENTIFIER.test(value)) return false;
  if (isQuoted && /^[a-z]+\d{0,2}(?:[A-Z][a-z]*\d{0,2})*$/.test(value)) return false;
  const digits = value.replace(/\D/g, '').length;
  if (digits === 0) return false;
  const isMixed = /[a-z]/.test(value) && /[A-Z]/.test(value);
  const isLong =
    value.length >= 24 && digits >= 4 && /[a-z]{1}/i.test(value) && !/^[\da-f]{8}-[\da-f]{4}-/i.test(value);
  const isMarked = /[a-z]/i.test(value) && /[!@#%^&*+]/.test(value);
  return isMixed || isLong || isMarked;
}

const secretName = new RegExp(SECRET_NAME, 'i');
/** Returns true if the name of a variable indicates that its value is a secret. */
export const isSecretName = (name: string): boolean => secretName.test(name);
