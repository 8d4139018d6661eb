/**
 * Secrets in texts: a text without them, and whether it holds one. One table for both that look for secrets: risk,
 * which reports that an action holds one, and redaction, which takes it out of what may stay.
 */
import { hintsIn } from './secrets/hints.ts';
import { isStart, START, secretKinds } from './secrets/kinds.ts';
import { type Layer, layerOf } from './secrets/layers.ts';
import { HARMLESS, isPlace, toldKinds } from './secrets/told.ts';

/** What people add: more that goes, and what stays although it looks like a secret. */
export interface OwnSecrets {
  /** Places of what else is to go. */
  find(text: string): readonly (readonly [from: number, to: number])[];
  isAllowed(secret: string): boolean;
}

/** What of a text is to go; the lowest rank names what several found. */
interface Found {
  from: number;
  to: number;
  id: string;
  rank: number;
}

/** Where a pattern begins with `START` and then with fixed letters, the place is asked about when it was found. */
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
const told = toldKinds.map(kind => ({ ...kind, ...ruleOf(kind.id, kind.pattern) }));

/** Kinds of which a fixed string stands in the text. */
const hinted = hintsIn(secretKinds);

/**
 * Versions of packages (`left-pad@1.3.0`), images (`logo@2x.png`) and accounts that every service has are no addresses
 * of people.
 */
const EMAIL = new RegExp(
  `${START}(?!(?:git|hg|svn|noreply)@)[A-Za-z0-9._%+-]{1,64}@(?![1-4]x\\.|[vV=^~]?\\d{1,9}\\.(?:\\d|x\\b))[A-Za-z0-9-]{1,63}(?:\\.[A-Za-z0-9-]{1,63}){0,5}\\.[A-Za-z][A-Za-z0-9-]{1,62}(?![A-Za-z0-9_])`,
  'g',
);
const HOME = /(?:\/(?:home|Users)\/|\b[A-Za-z]:\\{1,2}Users\\{1,2})[^/\\\s"'`:;,<>|]{1,64}/g;
const LONG = /[A-Za-z0-9+_=-]{24,}/g;
/** As long as a secret key of AWS, in whose alphabet a slash is a digit. */
const WITH_SLASHES = /(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_.-])/g;
/** Digests of packages, images, public keys and certificates look as if drawn by lot as well, and open nothing. */
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

/** Every pattern that a text meets, for whoever has to know that all of them are fast. */
export const secretRules: readonly { id: string; pattern: RegExp }[] = [
  ...kinds,
  ...told,
  ...toldKinds.flatMap(({ id, within }) => (within === undefined ? [] : [{ id, pattern: within }])),
  ...[email, home, long, withSlashes, digest],
];

/**
 * The text without secrets, e-mail addresses and names of home folders. What went says of which kind it was. An encoded
 * text is read as it is and as each layer of its encoding says.
 */
export function withoutSecrets(text: string, own?: OwnSecrets): string {
  const found: Found[] = [];
  const layers: Layer[] = [];
  for (let said: string | undefined = text; said !== undefined; ) {
    const inner: Layer | undefined = layers.length < MOST_LAYERS ? layerOf(said) : undefined;
    for (const each of secretsIn(said, own)) {
      if (inner !== undefined && !isWhole(each, said, inner)) continue;
      for (const outer of layers) {
        each.from = outer.from(each.from);
        each.to = outer.to(each.to);
      }
      found.push(each);
    }
    if (inner !== undefined) layers.unshift(inner);
    said = inner?.text;
  }
  return found.length === 0 ? text : cut(text, found);
}

/** JSON in JSON in JSON, and an address in it. */
const MOST_LAYERS = 4;

/**
 * No half of an escape goes, so that a quoted text stays one. What has no look but its length, and began with the
 * letter of an escape, is left to the next layer, which reads it without that letter.
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
  // A text without its colours joins words: what only looks as if drawn by lot does not take along what stands before a
  // token.
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

/** Stands where something was found, so that nothing else is found there: part of no word, and no blank. */
const MASK = '\uE000';

/** The text with as many signs in place of what was found, which is in order. */
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
    // Found before: by a rule that knows better what it is.
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
  for (const rule of told) {
    const { id, isNear, within, isNone } = rule;
    // Neighbours have one in common, which is looked for once.
    if (isNear !== near) isThere = isNear.test(left);
    near = isNear;
    if (!isThere) continue;
    const tell = (from: number, before: string, secret: string): void => {
      const next = left.slice(from + secret.length, from + secret.length + 2);
      if (HARMLESS.test(secret) || isPlace(before, secret) || isNone?.(secret, next)) return;
      add(from, from + secret.length, id);
    };
    look(rule, match => {
      const before = match[1] ?? '';
      const secret = match[match.length - 1] ?? '';
      const from = match.index + before.length;
      if (within === undefined) tell(from, before, secret);
      else
        for (const part of secret.matchAll(within))
          tell(from + part.index + (part[1] ?? '').length, part[1] ?? '', part[2] ?? '');
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

/** Of a field: its name may say that all of it is a secret. */
export const withoutSecretsOf = (name: string | undefined, text: string, own?: OwnSecrets): string =>
  name !== undefined && SECRET_FIELD.test(name) && text.length >= 4 && !isNoSecret(name, text) && !own?.isAllowed(text)
    ? '[redacted:secret]'
    : withoutSecrets(text, own);

const isNoSecret = (name: string, text: string): boolean => HARMLESS.test(text) || isPlace(name, text);

const SECRET_FIELD =
  /(?:secret|token|passw(?:or[dt]|d)|passphrase|passcode|(?:^|_)(?:pass|pwd|pw)|api[_-]?key|(?:private|access|secret|encryption|master|signing|session|service|auth|hmac)[_-]?key|credentials?|authorization|cookie)$/i;

/** Whether one of a known kind stands in it. Most texts are short, and need no look. */
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
/** Digests, commits and UUIDs name things; they open nothing. */
const NAMES_A_THING =
  /^(?:[a-f0-9]{24,40}|[a-f0-9]{56}|[a-f0-9]{64}|[a-f0-9]{96}|[a-f0-9]{128}|[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12})$/i;

/** What a name is put together of: words, numbers and digests. */
const PART = /^(?:[A-Za-z]*\d{0,4}|(?:0x)?[a-f0-9]{1,64})$/;
/** A hash of a few characters in a name is none that opens something. */
const SHORTEST_DRAWN = 12;

/** Words go over to digits and to large letters now and then; what was drawn by lot does so all the time. */
function isRandom(token: string): boolean {
  if (NAMES_A_THING.test(token)) return false;
  const drawn = token.split(/[-_]/).reduce((sum, part) => (PART.test(part) ? sum : sum + part.length), 0);
  if (drawn < SHORTEST_DRAWN) return false;
  const length = Math.min(token.length, LONGEST_MEASURED);
  const counts = new Map<number, number>();
  let changes = 0;
  let digits = 0;
  let before = OTHER;
  for (let at = 0; at < length; at += 1) {
    const code = token.charCodeAt(at);
    const kind = code >= 97 ? SMALL : code >= 65 && code <= 90 ? LARGE : code >= 48 && code <= 57 ? DIGIT : OTHER;
    if (kind === DIGIT) digits += 1;
    const isHump = before === LARGE && kind === SMALL;
    if (kind !== OTHER && before !== OTHER && kind !== before && !isHump) changes += 1;
    if (kind !== OTHER) before = kind;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  if (digits === 0 || changes / length < 0.3) return false;
  let bits = 0;
  for (const count of counts.values()) bits -= (count / length) * Math.log2(count / length);
  return bits >= 3.6;
}
