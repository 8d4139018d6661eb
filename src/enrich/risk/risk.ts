/**
 * How risky an action is, by rules alone: no clock, no model, no network. It is looked at before redaction; only the score, the level
 * and the factors stay. No rule holds: no risk is stated, since nothing is known of it.
 */
import type { Action, Fields, Risk, RiskLevel } from '../../event/event.ts';
import { isFields } from '../../lib/read.ts';
import { pathFields } from '../action-facts.ts';
import { holdsSecret } from '../secrets.ts';
import { placesOf, plainPath } from './places.ts';
import { type Rule, rules, type Want } from './rules.ts';
import { statementsOf, subjectsOfShell, urlFields } from './runs.ts';
import type { Field, Subject, SubjectKind } from './subject.ts';

/** Whether a pattern is somewhere in a text. */
export type Pattern = (text: string) => boolean;

/** A rule made ready: patterns are compiled. */
interface Ready {
  rule: Rule;
  when: Check[];
  unless: Check[];
}
interface Check {
  field: Field;
  words: ReadonlySet<string>;
  patterns: readonly Pattern[];
}

export type RuleSet = {
  readonly [on in SubjectKind]?: { always: readonly Ready[]; byProgram: ReadonlyMap<string, readonly Ready[]> };
};

/** A rule's own pattern is as it was written; where it is somebody else's, `compile` is an engine that cannot hang. */
export function ruleSet(from: readonly Rule[], compile: (pattern: string, flags: string) => Pattern): RuleSet {
  const set: { [on in SubjectKind]?: { always: Ready[]; byProgram: Map<string, Ready[]> } } = {};
  for (const rule of from) {
    const ready: Ready = { rule, when: checksOf(rule.when, compile), unless: checksOf(rule.unless, compile) };
    const here = set[rule.on] ?? { always: [], byProgram: new Map<string, Ready[]>() };
    set[rule.on] = here;
    const programs = programsOf(rule.when);
    if (programs === undefined) here.always.push(ready);
    else for (const name of programs) here.byProgram.set(name, [...(here.byProgram.get(name) ?? []), ready]);
  }
  return set;
}

/**
 * The programs' names that a pattern of a line begins with, each whole: `^git `, `^(?:kubectl|oc) `, `^(?:ufw reset|halt)(?: |$)`. Undefined:
 * it begins with something else, or with a part of a name.
 */
function leadsOf(pattern: string): string[] | undefined {
  const [, body] = /^\/\^([\s\S]+)\/$/.exec(pattern) ?? [];
  if (body === undefined) return undefined;
  const { branches, tail } = body.startsWith('(?:') ? firstGroup(body) : { branches: [body], tail: '' };
  if (isBranched(tail === '' ? (branches[0] ?? '') : tail)) return undefined;
  const isClosed = /^(?: |\(\?: \|\$\)|\$)/.test(tail);
  const leads = branches.map(branch => {
    const [, name, rest = ''] = /^([\w-]+)([\s\S]*)$/.exec(branch) ?? [];
    return rest.startsWith(' ') || (rest === '' && isClosed) ? name : undefined;
  });
  return leads.every(lead => lead !== undefined) ? leads : undefined;
}

/** Whether a text is one of several outside of all groups: then its beginning says nothing of the others. */
function isBranched(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    else if (char === '|' && depth === 0) return true;
  }
  return false;
}

/** The branches of the group that a pattern begins with, and what follows it. */
function firstGroup(body: string): { branches: string[]; tail: string } {
  const branches: string[] = [];
  let start = 3;
  let depth = 0;
  for (let at = 3; at < body.length; at += 1) {
    const char = body[at];
    if (char === '\\') at += 1;
    // A class may hold a bracket that opens nothing: such a pattern is looked at always.
    else if (char === '[') break;
    else if (char === '(') depth += 1;
    else if (depth === 0 && (char === '|' || char === ')')) {
      branches.push(body.slice(start, at));
      start = at + 1;
      if (char === ')') return { branches, tail: body.slice(start) };
    } else if (char === ')') depth -= 1;
  }
  return { branches: [''], tail: '' };
}

/** The programs that a rule can hold for at all, where it says so: most rules need not be looked at for most commands. */
function programsOf(when: Rule['when']): ReadonlySet<string> | undefined {
  const { program, line } = when ?? {};
  const names = listed(program ?? []);
  if (names.length > 0 && names.every(name => !name.startsWith('/'))) return new Set(names);
  const led = listed(line ?? []).map(leadsOf);
  return led.length === 0 || led.includes(undefined) ? undefined : new Set(led.flatMap(names => names ?? []));
}

function checksOf(wants: Rule['when'], compile: (pattern: string, flags: string) => Pattern): Check[] {
  return Object.entries(wants ?? {}).flatMap(([field, want]) => {
    if (want === undefined) return [];
    const words = new Set<string>();
    const sources: { [flags: string]: string[] } = {};
    for (const each of listed(want)) {
      const [, pattern, flags = ''] = /^\/([\s\S]+)\/(i?)$/.exec(each) ?? [];
      if (pattern === undefined) words.add(each);
      else sources[flags] = [...(sources[flags] ?? []), pattern];
    }
    // One pattern goes over a text faster than many do.
    const patterns = Object.entries(sources).map(([flags, all]) => compile(oneOf(all), flags));
    return [{ field: field as Field, words, patterns }];
  });
}

const oneOf = (patterns: readonly string[]): string =>
  patterns.length === 1 ? (patterns[0] ?? '') : patterns.map(pattern => `(?:${pattern})`).join('|');

const listed = (want: Want): readonly string[] => (typeof want === 'string' ? [want] : want);

/** What ships here is known not to hang. */
const native = (pattern: string, flags: string): Pattern => {
  const compiled = new RegExp(pattern, flags);
  return text => compiled.test(text);
};

let shipped: RuleSet | undefined;

/** Made when it is first asked for: a process that has nothing to look at need not pay for it. */
export function builtIn(): RuleSet {
  shipped ??= ruleSet(rules, native);
  return shipped;
}

/** The rules that ship, with other scores or without some of them. */
export const builtInWith = (overrides: { readonly [id: string]: number | 'off' }): RuleSet =>
  ruleSet(
    rules.flatMap(rule => {
      const score = Object.hasOwn(overrides, rule.id) ? overrides[rule.id] : undefined;
      return score === 'off' ? [] : [{ ...rule, score: score ?? rule.score }];
    }),
    native,
  );

export interface Looked {
  action: Action;
  /** Where the agent works. */
  cwd?: string | undefined;
  mode?: string | undefined;
  server?: string | undefined;
}

/** The rules that hold, highest score first. */
export function rulesOf(looked: Looked, sets: readonly RuleSet[] = [builtIn()]): Rule[] {
  const found = new Map<string, Rule>();
  for (const subject of subjectsOf(looked)) {
    for (const set of sets) {
      const here = set[subject.on];
      if (here === undefined) continue;
      for (const ready of here.always) if (holds(ready, subject)) found.set(ready.rule.id, ready.rule);
      for (const program of here.byProgram.size > 0 ? (subject.fields.program ?? []) : []) {
        for (const ready of here.byProgram.get(program) ?? []) {
          if (holds(ready, subject)) found.set(ready.rule.id, ready.rule);
        }
      }
    }
  }
  return [...found.values()].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

/** Each further factor adds so much to the highest score. */
const FURTHER = 5;

export function riskOf(looked: Looked, sets?: readonly RuleSet[]): Risk | undefined {
  const held = rulesOf(looked, sets).filter(rule => rule.score > 0);
  const [highest] = held;
  if (highest === undefined) return undefined;
  const factors = [...new Set(held.map(rule => rule.factor))];
  const score = Math.min(100, highest.score + FURTHER * (factors.length - 1));
  return { score, level: levelOf(score), factors: factors.slice(0, MOST_FACTORS) };
}

const MOST_FACTORS = 16;

/** From which score on a level begins. */
export const levels: readonly (readonly [level: RiskLevel, from: number])[] = [
  ['critical', 85],
  ['high', 60],
  ['medium', 30],
  ['low', 0],
];

export const levelOf = (score: number): RiskLevel => levels.find(([, from]) => score >= from)?.[0] ?? 'low';

function holds({ when, unless }: Ready, subject: Subject): boolean {
  for (const check of when) if (!isSaid(check, subject)) return false;
  for (const check of unless) if (isSaid(check, subject)) return false;
  return true;
}

function isSaid({ field, words, patterns }: Check, { fields, places, holds }: Subject): boolean {
  const values = fields[field] ?? (field === 'place' ? places?.() : field === 'holds' ? holds?.() : undefined);
  if (values === undefined) return false;
  for (const value of values) {
    if (words.has(value)) return true;
    for (const pattern of patterns) if (pattern(value)) return true;
  }
  return false;
}

// ---------------------------------------------------------------- what an action does

const STATEMENTS = ['sql', 'query', 'statement', 'statements', 'queries'];
/** Texts beyond are not looked at: a file that is written may be long. */
const LONGEST_TEXT = 65_536;
const MOST_TEXTS = 64;

function subjectsOf({ action, cwd, mode, server }: Looked): Subject[] {
  const name = typeof action.name === 'string' ? action.name : '';
  const input = isFields(action.input) ? action.input : {};
  const subjects: Subject[] = [];
  const command = name === 'shell' ? commandOf(input) : undefined;
  if (command !== undefined) subjects.push(...subjectsOfShell(command, cwd));
  const isMcp = name.startsWith('mcp:');
  const tool = isMcp ? plainTool(name.slice(4)) : '';
  if (isMcp) {
    subjects.push({ on: 'mcp', fields: { tool: [tool], server: server === undefined ? [] : [server] } });
    for (const text of textsAt(input, STATEMENTS)) subjects.push(...statementsOf(text));
  }
  const isWrite =
    /^(?:write_file|code_edit|write_code)$/.test(name) || /(?:^|_)(?:write|edit|create|append)_file/.test(tool);
  const isRead = /^(?:read_file|read_code)$/.test(name) || /(?:^|_)(?:read|get)_(?:\w+_)?file/.test(tool);
  if (isRead || isWrite) {
    for (const path of textsAt(input, pathFields)) {
      const fields = {
        path: [plainPath(path, cwd)],
        place: placesOf(path, cwd, cwd),
        program: ['action'],
        by: ['action'],
      };
      subjects.push({ on: isWrite ? 'write' : 'read', fields: isWrite ? { ...fields, how: ['replace'] } : fields });
    }
  }
  if (name !== 'shell' && name !== 'web_search') {
    for (const url of textsAt(input, ['url', 'urls', 'uri'])) {
      if (/^[a-z]+:\/\//i.test(url) && !url.startsWith('file:'))
        subjects.push({ on: 'url', fields: urlFields(url, 'action') });
    }
  }
  for (const text of textsIn(input)) {
    subjects.push({ on: 'text', fields: { text: [text] }, holds: () => (holdsSecret(text) ? ['secret'] : []) });
  }
  // A mode is no risk by itself, where nothing is done.
  if (mode !== undefined) subjects.push({ on: 'mode', fields: { mode: [mode] } });
  return subjects;
}

/** A line for a shell; or the words of a program, which need none. */
function commandOf(input: Fields): string | undefined {
  const said = input.command ?? input.cmd ?? input.script;
  if (typeof said === 'string') return said;
  if (!Array.isArray(said)) return undefined;
  return said.map(word => `'${(typeof word === 'string' ? word : '').replaceAll("'", "'\\''")}'`).join(' ');
}

const plainTool = (tool: string): string =>
  tool
    .slice(0, 256)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();

function textsAt(input: Fields, keys: readonly string[]): string[] {
  return keys.flatMap(key => {
    const value = input[key];
    const texts = Array.isArray(value) ? value.slice(0, MOST_TEXTS) : [value];
    return texts.filter(text => typeof text === 'string').map(text => text.slice(0, LONGEST_TEXT));
  });
}

/** All texts, however deep, as far as there are not too many. */
function textsIn(input: Fields): string[] {
  const found: string[] = [];
  const queue: unknown[] = [input];
  for (let at = 0; at < queue.length && found.length < MOST_TEXTS; at += 1) {
    const value = queue[at];
    if (typeof value === 'string') found.push(value.slice(0, LONGEST_TEXT));
    else if (typeof value === 'object' && value !== null && queue.length < 1_000) {
      for (const part of Object.values(value).slice(0, MOST_TEXTS)) queue.push(part);
    }
  }
  return found;
}
