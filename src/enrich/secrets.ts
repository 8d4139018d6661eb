/**
 * Finds secrets in texts. One table serves risk, which reports that an action holds a secret, and redaction, which
 * removes it.
 */
import { hintsIn } from './secrets/hints.ts';
import { isStart, START, secretKinds } from './secrets/kinds.ts';
import { type Layer, layerOf } from './secrets/layers.ts';
import { HARMLESS, isPlace, markedKinds } from './secrets/marked.ts';

/** The user's settings: further secrets, and texts that look like secrets but are not. */
export interface OwnSecrets {
  /** Positions of further secrets. */
  find(text: string): readonly (readonly [from: number, to: number])[];
  isAllowed(secret: string): boolean;
}

/** A part of a text to remove. If parts overlap, the one with the lowest rank gives the name. */
interface Found {
  from: number;
  to: number;
  id: string;
  rank: number;
}

/** An anchored pattern begins with `START` and fixed letters: the start is checked after a match, which is faster. */
interface Rule {
  readonly id: string;
  readonly pattern: RegExp;
  readonly isAnchored: boolean;
}

function ruleOf(id: string, { source, flags }: Pick<RegExp, 'source' | 'flags'>): Rule {
  const group = source.startsWith(`(${START}`) ? '(' : '';
  const rest = source.startsWith(group + START) ? source.slice(group.length + START.length) : undefined;
  const isAnchored = rest !== undefined && !/^(?:\(\?[:=])*(?:\[[^\]]+\]|\\d)\{/.test(rest);
  return { id, pattern: new RegExp(isAnchored ? group + rest : source, flags), isAnchored };
}

const kinds = secretKinds.map(({ id, pattern }) =>
  ruleOf(id, { source: pattern.startsWith('\\b') ? START + pattern.slice(2) : pattern, flags: 'g' }),
);
const marked = markedKinds.map(kind => ({ ...kind, ...ruleOf(kind.id, kind.pattern) }));

/** Kinds of secrets with a fixed string that the text contains. */
const hinted = hintsIn(secretKinds);

/** Versions of packages (`left-pad@1.3.0`), images (`logo@2x.png`) and common accounts are not e-mail addresses. */
const EMAIL = new RegExp(
  `${START}(?!(?:git|hg|svn|noreply)@)[A-Za-z0-9._%+-]{1,64}@(?![1-4]x\\.|[vV=^~]?\\d{1,9}\\.(?:\\d|x\\b))[A-Za-z0-9-]{1,63}(?:\\.[A-Za-z0-9-]{1,63}){0,5}\\.[A-Za-z][A-Za-z0-9-]{1,62}(?![A-Za-z0-9_])`,
  'g',
);
const HOME = /(?:\/(?:home|Users)\/|\b[A-Za-z]:\\{1,2}Users\\{1,2})[^/\\\s"'`:;,<>|]{1,64}/g;
const LONG = /[A-Za-z0-9+_=-]{24,}/g;
/** The length of a secret key of AWS, whose alphabet contains the slash. */
const WITH_SLASHES = /(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_.-])/g;
/** Digests of packages, images, public keys and certificates look random but are not secret. */
const NO_RANDOM = new RegExp(
  `${START}(?:${[
    'sha(?:1|256|384|512)-[A-Za-z0-9+/]{27,88}={0,2}',
    'h1:[A-Za-z0-9+/]{43}=',
    'SHA256:[A-Za-z0-9+/]{43}',
    'data:[a-z]{1,20}/[\\w.+-]{1,60}(?:;[\\w=-]{1,40}){0,3};base64,(?:[A-Za-z0-9+/]|%[23][BDFbdf]){1,200000}={0,2}',
    '(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\\d{3}|sk-[a-z0-9-]{1,40}@openssh\\.com)[ +]AAAA[A-Za-z0-9+/]{20,4000}={0,2}',
    '-----BEGIN (?:CERTIFICATE(?: REQUEST)?|(?:[A-Z]{2,10} )?PUBLIC KEY(?: BLOCK)?|X509 CRL|(?:PGP|SSH) SIGNATURE)-----[^-]{0,20000}',
    '/nix/store/[a-z0-9]{32}-',
  ].join('|')})`,
  'g',
);

const email = ruleOf('email', EMAIL);
const home = ruleOf('home', HOME);
const long = ruleOf('random', LONG);
const withSlashes = ruleOf('random', WITH_SLASHES);
const digest = ruleOf('digest', NO_RANDOM);

/** All patterns, for the test that each is fast. */
export const secretRules: readonly { id: string; pattern: RegExp }[] = [
  ...kinds,
  ...marked,
  ...markedKinds.flatMap(({ id, within }) => (within === undefined ? [] : [{ id, pattern: within }])),
  ...[email, home, long, withSlashes, digest],
];

/**
 * Replaces secrets, e-mail addresses and names of home folders; the replacement names the kind. An encoded text is
 * searched in its encoded form, and after each layer of decoding.
 */
export function withoutSecrets(text: string, own?: OwnSecrets): string {
  const found: Found[] = [];
  const layers: Layer[] = [];
  for (let current: string | undefined = text; current !== undefined; ) {
    const inner: Layer | undefined = layers.length < MOST_LAYERS ? layerOf(current) : undefined;
    for (const each of secretsIn(current, own)) {
      if (inner !== undefined && !isWhole(each, current, inner)) continue;
      for (const outer of layers) {
        each.from = outer.from(each.from);
        each.to = outer.to(each.to);
      }
      found.push(each);
    }
    if (inner !== undefined) layers.unshift(inner);
    current = inner?.text;
  }
  return found.length === 0 ? text : cut(text, found);
}

/** Enough for JSON in JSON in JSON with an address in it. */
const MOST_LAYERS = 4;

/**
 * Widens a found part to whole escapes, so that a quoted text stays valid. A part that is known only by its length or
 * its sign `@` may begin with the letter of an escape: the next layer, without that letter, decides.
 */
function isWhole(found: Found, text: string, inner: Layer): boolean {
  const from = inner.after(found.from);
  const isInside = from !== found.from || text[from - 1] === '\\';
  if (isInside && (found.id === 'random' || found.id === 'email')) return false;
  found.from = from;
  found.to = Math.max(from, inner.before(found.to));
  return true;
}

function cut(text: string, all: Found[]): string {
  // Removed color codes join words: a random-looking part must not swallow the text before a known secret.
  const known = all.filter(each => each.id !== 'random');
  const found = all.filter(
    each => each.id !== 'random' || known.every(({ from, to }) => to <= each.from || from >= each.to),
  );
  found.sort((a, b) => a.from - b.from || b.to - a.to);
  let left = '';
  let at = 0;
  for (let i = 0; i < found.length; ) {
    const { from, id, rank } = found[i] as Found;
    const joined = { to: found[i]?.to ?? 0, id, rank };
    for (i += 1; i < found.length && (found[i] as Found).from < joined.to; i += 1) {
      const next = found[i] as Found;
      joined.to = Math.max(joined.to, next.to);
      if (next.rank < joined.rank) Object.assign(joined, { id: next.id, rank: next.rank });
    }
    if (joined.to <= from) continue;
    left += text.slice(at, from) + (joined.id === 'home' ? '~' : `[redacted:${joined.id}]`);
    at = joined.to;
  }
  return left + text.slice(at);
}

/** Replaces found characters, so that later rules find nothing there. It is neither a word character nor a blank. */
const MASK = '\uE000';

/** Replaces the found parts, which are in order, by masks of the same length. */
function maskedIn(text: string, found: readonly Found[]): string {
  let masked = '';
  for (const { from, to } of found) {
    const at = Math.max(from, masked.length);
    masked += text.slice(masked.length, at) + MASK.repeat(Math.max(0, to - at));
  }
  return masked + text.slice(masked.length);
}

function forEachMatch({ pattern, isAnchored }: Rule, text: string, each: (match: RegExpExecArray) => void): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (isAnchored && !isStart(text, match.index)) pattern.lastIndex = match.index + 1;
    else each(match);
  }
}

function secretsIn(text: string, own: OwnSecrets | undefined): Found[] {
  const found: Found[] = [];
  let left = text;
  let rank = 0;
  const add = (from: number, to: number, id: string): void => {
    // An earlier rule, which is more specific, has found it.
    if (to <= from || left.charCodeAt(from) !== text.charCodeAt(from)) return;
    if (own?.isAllowed(text.slice(from, to))) return;
    found.push({ from, to, id, rank });
  };
  const mask = (since: number): void => {
    left = maskedIn(left, found.slice(since));
  };
  const look = (rule: Rule, each: (match: RegExpExecArray) => void): void => {
    const since = found.length;
    rank += 1;
    forEachMatch(rule, left, each);
    if (found.length > since) mask(since);
  };

  for (const [from, to] of own?.find(text) ?? []) add(from, to, 'own');
  mask(0);
  for (const i of hinted(left) ?? []) {
    const rule = kinds[i] as Rule;
    rank = i;
    look(rule, ({ index, 0: whole }) => add(index, index + whole.length, rule.id));
  }
  rank = kinds.length;
  let near: RegExp | undefined;
  let isThere = false;
  for (const rule of marked) {
    const { id, isNear, within, isNone } = rule;
    // Neighbours in the table share this pattern: it is tested once for them.
    if (isNear !== near) isThere = isNear.test(left);
    near = isNear;
    if (!isThere) continue;
    const check = (from: number, before: string, secret: string): void => {
      const next = left.slice(from + secret.length, from + secret.length + 2);
      if (HARMLESS.test(secret) || isPlace(before, secret) || isNone?.(secret, next)) return;
      add(from, from + secret.length, id);
    };
    look(rule, match => {
      const before = match[1] ?? '';
      const secret = match[match.length - 1] ?? '';
      const from = match.index + before.length;
      if (within === undefined) check(from, before, secret);
      else
        for (const part of secret.matchAll(within))
          check(from + part.index + (part[1] ?? '').length, part[1] ?? '', part[2] ?? '');
    });
  }
  if (left.includes('@')) look(email, ({ index, 0: whole }) => add(index, index + whole.length, 'email'));
  look(home, ({ index, 0: whole }) => add(index, index + whole.length, 'home'));
  findRandom();
  return found;

  function findRandom(): void {
    if (left.search(long.pattern) < 0) return;
    const named: Found[] = [];
    forEachMatch(digest, left, ({ index, 0: whole }) =>
      named.push({ from: index, to: index + whole.length, id: '', rank }),
    );
    left = maskedIn(left, named);
    for (const rule of [withSlashes, long])
      look(rule, ({ index, 0: token }) => isRandom(token) && add(index, index + token.length, 'random'));
  }
}

/** Cleans the text of a field. The name of the field may mark the whole text as a secret. */
export const withoutSecretsOf = (name: string | undefined, text: string, own?: OwnSecrets): string =>
  name !== undefined && SECRET_FIELD.test(name) && text.length >= 4 && !isNoSecret(name, text) && !own?.isAllowed(text)
    ? '[redacted:secret]'
    : withoutSecrets(text, own);

const isNoSecret = (name: string, text: string): boolean => HARMLESS.test(text) || isPlace(name, text);

const SECRET_FIELD =
  /(?:secret|token|passw(?:or[dt]|d)|passphrase|passcode|(?:^|_)(?:pass|pwd|pw)|api[_-]?key|(?:private|access|secret|encryption|master|signing|session|service|auth|hmac)[_-]?key|credentials?|authorization|cookie)$/i;

/** Returns true if the text holds a secret of a known kind. Most texts are too short for one. */
export const holdsSecret = (text: string): boolean =>
  text.length >= SHORTEST && (hinted(text)?.some(i => isIn(kinds[i] as Rule, text)) ?? false);

function isIn(rule: Rule, text: string): boolean {
  const { pattern, isAnchored } = rule;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (!isAnchored || isStart(text, match.index)) return true;
    pattern.lastIndex = match.index + 1;
  }
  return false;
}

const SHORTEST = 16;
const LONGEST_MEASURED = 512;
const SMALL = 0;
const LARGE = 1;
const DIGIT = 2;
const OTHER = 3;
/** Digests, commits and UUIDs are names, not secrets. */
const IDENTIFIER =
  /^(?:[a-f0-9]{24,40}|[a-f0-9]{56}|[a-f0-9]{64}|[a-f0-9]{96}|[a-f0-9]{128}|[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12})$/i;

/** A part of a name: a word, a number or a digest. */
const PART = /^(?:[A-Za-z]*\d{0,4}|(?:0x)?[a-f0-9]{1,64})$/;
/** A shorter random part of a name is a hash and not a secret. */
const SHORTEST_RANDOM = 12;

/** In words, letters change to digits or capital letters sometimes; in a random text they do so all the time. */
function isRandom(token: string): boolean {
  if (IDENTIFIER.test(token)) return false;
  const random = token.split(/[-_]/).reduce((sum, part) => (PART.test(part) ? sum : sum + part.length), 0);
  if (random < SHORTEST_RANDOM) return false;
  const measured = token.slice(0, LONGEST_MEASURED);
  return hasDigit.test(measured) && changesIn(measured) / measured.length >= 0.3 && entropyOf(measured) >= 3.6;
}

const hasDigit = /[0-9]/;

const kindOf = (code: number): number =>
  code >= 97 ? SMALL : code >= 65 && code <= 90 ? LARGE : code >= 48 && code <= 57 ? DIGIT : OTHER;

/** Changes between small letters, capital letters and digits; a capital letter before small ones begins a word. */
function changesIn(token: string): number {
  let changes = 0;
  let before = OTHER;
  for (let at = 0; at < token.length; at += 1) {
    const kind = kindOf(token.charCodeAt(at));
    if (kind === OTHER) continue;
    const isWordStart = before === LARGE && kind === SMALL;
    if (before !== OTHER && kind !== before && !isWordStart) changes += 1;
    before = kind;
  }
  return changes;
}

/** Bits per character. */
function entropyOf(token: string): number {
  const counts = new Map<number, number>();
  for (let at = 0; at < token.length; at += 1) {
    const code = token.charCodeAt(at);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  let bits = 0;
  for (const count of counts.values()) bits -= (count / token.length) * Math.log2(count / token.length);
  return bits;
}
