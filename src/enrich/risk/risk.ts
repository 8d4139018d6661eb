/**
 * The risk of an action, from rules alone: without a clock, a model or the network. It is computed before redaction;
 * only score, level and factors are kept. An action for which no rule applies is low. An action without a text in its
 * input, or with more text than the limit of work allows, has no risk unless a rule applies: the result is undefined and
 * not 0.
 */
import type { Risk, RiskLevel } from '../../event/event.ts';
import type { Field, SubjectKind } from '../../event/risk-words.ts';
import { type Rule, rules, type Want } from './rules.ts';
import type { Subject } from './subject.ts';
import { type JudgedAction, subjectsOf } from './subjects.ts';
import { newWork, paidOwnPattern, type Work } from './work.ts';

/** Returns true if the pattern matches somewhere in the text. */
export type Pattern = (text: string) => boolean;

/** A rule with compiled patterns. */
interface Ready {
  rule: Rule;
  when: Check[];
  unless: Check[];
}
interface Check {
  field: Field;
  words: ReadonlySet<string>;
  patterns: readonly Pattern[];
  /** A pattern of the user's own rules: each use is paid for. */
  isOwn: boolean;
}

export type RuleSet = {
  readonly [on in SubjectKind]?: { always: readonly Ready[]; byProgram: ReadonlyMap<string, readonly Ready[]> };
};

/** For rules of the user, `compile` is an engine that cannot hang. */
export function ruleSet(
  from: readonly Rule[],
  compile: (pattern: string, flags: string) => Pattern,
  isOwn = false,
): RuleSet {
  const set: { [on in SubjectKind]?: { always: Ready[]; byProgram: Map<string, Ready[]> } } = {};
  for (const rule of from) {
    const checks = (wants: Rule['when']): Check[] => checksOf(wants, compile, isOwn);
    const ready: Ready = { rule, when: checks(rule.when), unless: checks(rule.unless) };
    const here = set[rule.on] ?? { always: [], byProgram: new Map<string, Ready[]>() };
    set[rule.on] = here;
    const programs = programsOf(rule.when);
    if (programs === undefined) here.always.push(ready);
    else for (const name of programs) here.byProgram.set(name, [...(here.byProgram.get(name) ?? []), ready]);
  }
  return set;
}

/**
 * The names of programs with which a pattern of a line begins, in small letters: `^git `, `^(?:kubectl|oc) `,
 * `^(?:(?:apt|dnf) remove|halt)(?: |$)`. Undefined: the pattern begins differently, or with a part of a name.
 */
function leadsOf(pattern: string): string[] | undefined {
  const [, body] = /^\/\^([\s\S]+)\/i?$/.exec(pattern) ?? [];
  return body === undefined ? undefined : leadsIn(body, '');
}

/** The names in the branches of a part of a pattern; `after` is the pattern after this part. */
function leadsIn(body: string, after: string): string[] | undefined {
  const names: string[] = [];
  for (const branch of branchesOf(body)) {
    if (branch.startsWith('(?:')) {
      const end = endOfGroup(branch);
      const rest = branch.slice(end + 1);
      const inner = /^[?*+{]/.test(rest) ? undefined : leadsIn(branch.slice(3, end), rest + after);
      if (inner === undefined) return undefined;
      names.push(...inner);
      continue;
    }
    const [name = ''] = /^(?:[\w-]|\\\.)+/.exec(branch) ?? [];
    if (name === '' || !CLOSED.test(branch.slice(name.length) + after)) return undefined;
    names.push(name.replaceAll('\\', '').toLowerCase());
  }
  return names;
}

/** A name ends here. */
const CLOSED = /^(?: |\$|\(\?: \|\$\))/;

/** The alternatives outside of all groups. */
function branchesOf(text: string): string[] {
  const branches: string[] = [];
  let start = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at = next(text, at)) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    else if (text[at] === '|' && depth === 0) {
      branches.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...branches, text.slice(start)];
}

function endOfGroup(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at = next(text, at)) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}

/** The position after the character at `at`, after its escape, or after a character class. */
function next(text: string, at: number): number {
  if (text[at] === '\\') return at + 2;
  if (text[at] !== '[') return at + 1;
  let end = at + 1;
  while (end < text.length && text[end] !== ']') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/** The programs that a rule names; undefined: any. Most rules can be skipped for most commands. */
function programsOf(when: Rule['when']): ReadonlySet<string> | undefined {
  const { program, line } = when ?? {};
  const names = listed(program ?? []);
  if (names.length > 0 && names.every(name => !name.startsWith('/')))
    return new Set(names.map(name => name.toLowerCase()));
  const led = listed(line ?? []).map(leadsOf);
  return led.length === 0 || led.includes(undefined) ? undefined : new Set(led.flatMap(names => names ?? []));
}

function checksOf(wants: Rule['when'], compile: (pattern: string, flags: string) => Pattern, isOwn: boolean): Check[] {
  return Object.entries(wants ?? {}).flatMap(([field, want]) => {
    if (want === undefined) return [];
    const words = new Set<string>();
    const sources: { [flags: string]: string[] } = {};
    for (const each of listed(want)) {
      const [, pattern, flags = ''] = /^\/([\s\S]+)\/(i?)$/.exec(each) ?? [];
      if (pattern === undefined) words.add(each);
      else sources[flags] = [...(sources[flags] ?? []), pattern];
    }
    // One pattern is faster than many.
    const patterns = Object.entries(sources).map(([flags, all]) => compile(oneOf(all), flags));
    return [{ field: field as Field, words, patterns, isOwn }];
  });
}

const oneOf = (patterns: readonly string[]): string =>
  patterns.length === 1 ? (patterns[0] ?? '') : patterns.map(pattern => `(?:${pattern})`).join('|');

const listed = (want: Want): readonly string[] => (typeof want === 'string' ? [want] : want);

/** The rules of this project are tested not to hang. */
const native = (pattern: string, flags: string): Pattern => {
  const compiled = new RegExp(pattern, flags);
  return text => compiled.test(text);
};

let shipped: RuleSet | undefined;

/** Compiled at the first use: a process without actions does not pay for it. It is a cache and never changes. */
export function builtIn(): RuleSet {
  shipped ??= ruleSet(rules, native);
  return shipped;
}

/** The built-in rules with other scores, or without some of them. */
export const builtInWith = (overrides: { readonly [id: string]: number | 'off' }): RuleSet =>
  ruleSet(
    rules.flatMap(rule => {
      const score = Object.hasOwn(overrides, rule.id) ? overrides[rule.id] : undefined;
      return score === 'off' ? [] : [{ ...rule, score: score ?? rule.score }];
    }),
    native,
  );

/** The rules that hold, highest score first. */
export const rulesOf = (looked: JudgedAction, sets: readonly RuleSet[] = [builtIn()], work: Work = newWork()): Rule[] =>
  rulesFound(subjectsOf(looked, work), sets, work);

function rulesFound(subjects: readonly Subject[], sets: readonly RuleSet[], work: Work): Rule[] {
  const found = new Map<string, Rule>();
  for (const subject of subjects) {
    for (const set of sets) {
      for (const ready of rulesFor(subject, set)) if (holds(ready, subject, work)) found.set(ready.rule.id, ready.rule);
    }
  }
  return [...found.values()].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

/** The rules that can hold for a subject: those for all programs, and those for its program. */
function* rulesFor({ on, fields }: Subject, set: RuleSet): Generator<Ready> {
  const here = set[on];
  if (here === undefined) return;
  yield* here.always;
  if (here.byProgram.size === 0) return;
  for (const program of fields.program ?? []) yield* here.byProgram.get(program.toLowerCase()) ?? [];
}

/** The amount that each further factor adds to the highest score. */
const FURTHER = 5;
/** The lowest score of a rule whose factor adds to the highest score: below it, little is at stake. */
const ADDING = 20;
/** The score of an action for which no rule applies: the score of `ls` in the examples of Agent Hooks. */
const ORDINARY = 5;

export function riskOf(
  looked: JudgedAction,
  sets: readonly RuleSet[] = [builtIn()],
  work: Work = newWork(),
): Risk | undefined {
  const subjects = subjectsOf(looked, work);
  const held = rulesFound(subjects, sets, work).filter(rule => rule.score > 0);
  const [highest] = held;
  if (highest === undefined) {
    // The mode describes the agent and not the action. A part that was not read may be of any risk.
    const isJudged = !work.isCut && subjects.some(({ on }) => on !== 'mode');
    return isJudged ? { score: ORDINARY, level: levelOf(ORDINARY) } : undefined;
  }
  const factors = [...new Set(held.map(rule => rule.factor))];
  const adding = new Set(held.filter(rule => rule.score >= ADDING).map(rule => rule.factor));
  const score = Math.min(100, highest.score + FURTHER * Math.max(0, adding.size - 1));
  return { score, level: levelOf(score), factors: factors.slice(0, MOST_FACTORS) };
}

const MOST_FACTORS = 16;

/** The lowest score of each level. */
export const levels: readonly (readonly [level: RiskLevel, from: number])[] = [
  ['critical', 85],
  ['high', 60],
  ['medium', 30],
  ['low', 0],
];

export const levelOf = (score: number): RiskLevel => levels.find(([, from]) => score >= from)?.[0] ?? 'low';

function holds({ when, unless }: Ready, subject: Subject, work: Work): boolean {
  for (const check of when) if (!matches(check, subject, work)) return false;
  for (const check of unless) if (matches(check, subject, work)) return false;
  return true;
}

function matches({ field, words, patterns, isOwn }: Check, { fields, places, holds }: Subject, work: Work): boolean {
  const values = fields[field] ?? (field === 'place' ? places?.() : field === 'holds' ? holds?.() : undefined);
  if (values === undefined) return false;
  for (const value of values) {
    if (words.has(value)) return true;
    for (const pattern of patterns) {
      if (isOwn && !paidOwnPattern(work, value.length)) return false;
      if (pattern(value)) return true;
    }
  }
  return false;
}
