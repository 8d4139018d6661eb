/**
 * How risky an action is, by rules alone: no clock, no model, no network. It is looked at before redaction; only the score, the level
 * and the factors stay. No rule holds: no risk is stated, since nothing is known of it.
 */
import type { Action, Fields, Risk, RiskLevel } from '../../event/event.ts';
import type { Field, SubjectKind } from '../../event/risk-words.ts';
import { fitted } from '../../lib/fitted.ts';
import { isFields, own } from '../../lib/read.ts';
import { pathFields } from '../action-facts.ts';
import { urlFields } from './address.ts';
import { secretsIn } from './named.ts';
import { placesOf, plainPath } from './places.ts';
import { statementsOf } from './programs/sql.ts';
import { type Rule, rules, type Want } from './rules.ts';
import { subjectsOfShell } from './runs.ts';
import type { Subject } from './subject.ts';
import { newWork, paid, paidOwnPattern, type Work } from './work.ts';

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
  /** The patterns are a person's own: each look is paid for. */
  isOwn: boolean;
}

export type RuleSet = {
  readonly [on in SubjectKind]?: { always: readonly Ready[]; byProgram: ReadonlyMap<string, readonly Ready[]> };
};

/** A rule's own pattern is as it was written; where it is somebody else's, `compile` is an engine that cannot hang. */
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
 * The programs' names that a pattern of a line begins with, each whole and in small letters: `^git `, `^(?:kubectl|oc) `,
 * `^(?:(?:apt|dnf) remove|halt)(?: |$)`. Undefined: it begins with something else, or with a part of a name.
 */
function leadsOf(pattern: string): string[] | undefined {
  const [, body] = /^\/\^([\s\S]+)\/i?$/.exec(pattern) ?? [];
  return body === undefined ? undefined : leadsIn(body, '');
}

/** Of the branches of a part of a pattern, and what follows it. */
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

/** What is one of several outside of all groups. */
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

/** The next character that means something: not what is escaped, nor what stands in a class. */
function next(text: string, at: number): number {
  if (text[at] === '\\') return at + 2;
  if (text[at] !== '[') return at + 1;
  let end = at + 1;
  while (end < text.length && text[end] !== ']') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/**
 * The programs that a rule can hold for at all, where it says so: most rules need not be looked at for most commands.
 */
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
    // One pattern goes over a text faster than many do.
    const patterns = Object.entries(sources).map(([flags, all]) => compile(oneOf(all), flags));
    return [{ field: field as Field, words, patterns, isOwn }];
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
export function rulesOf(looked: Looked, sets: readonly RuleSet[] = [builtIn()], work: Work = newWork()): Rule[] {
  const found = new Map<string, Rule>();
  for (const subject of subjectsOf(looked, work)) {
    for (const set of sets) {
      const here = set[subject.on];
      if (here === undefined) continue;
      for (const ready of here.always) if (holds(ready, subject, work)) found.set(ready.rule.id, ready.rule);
      for (const program of here.byProgram.size > 0 ? (subject.fields.program ?? []) : []) {
        for (const ready of here.byProgram.get(program.toLowerCase()) ?? []) {
          if (holds(ready, subject, work)) found.set(ready.rule.id, ready.rule);
        }
      }
    }
  }
  return [...found.values()].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

/** Each further factor adds so much to the highest score. */
const FURTHER = 5;

export function riskOf(looked: Looked, sets?: readonly RuleSet[], work?: Work): Risk | undefined {
  const held = rulesOf(looked, sets, work).filter(rule => rule.score > 0);
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

function holds({ when, unless }: Ready, subject: Subject, work: Work): boolean {
  for (const check of when) if (!isSaid(check, subject, work)) return false;
  for (const check of unless) if (isSaid(check, subject, work)) return false;
  return true;
}

function isSaid({ field, words, patterns, isOwn }: Check, { fields, places, holds }: Subject, work: Work): boolean {
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

// ---------------------------------------------------------------- what an action does

const STATEMENTS = ['sql', 'query', 'statement', 'statements', 'queries'];
/** Texts beyond are not looked at: a file that is written may be long. */
const LONGEST_TEXT = 65_536;
const MOST_TEXTS = 64;
const MOST_WRITTEN = 4;

function subjectsOf({ action, cwd, mode, server }: Looked, work: Work): Subject[] {
  const name = typeof action.name === 'string' ? action.name : '';
  const input = isFields(action.input) ? action.input : {};
  const subjects: Subject[] = [];
  const command = name === 'shell' ? commandOf(input) : undefined;
  if (command !== undefined) for (const each of subjectsOfShell(command, cwd, work)) subjects.push(each);
  const isMcp = name.startsWith('mcp:');
  const tool = isMcp ? plainTool(name.slice(4)) : '';
  if (isMcp) {
    const said = Object.entries(input)
      .slice(0, MOST_TEXTS)
      .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(fitted(value, BRIEF))}`);
    subjects.push({
      on: 'mcp',
      fields: {
        tool: [tool],
        server: server === undefined ? [] : [server],
        text: said.map(each => each.slice(0, 256)),
      },
    });
    for (const text of textsAt(input, STATEMENTS))
      if (paid(work, text.length)) for (const each of statementsOf(text)) subjects.push(each);
    const run = RUNS.test(tool) ? commandOf(input) : undefined;
    if (run !== undefined) for (const each of subjectsOfShell(run, cwd, work)) subjects.push(each);
  }
  const does = name === 'grep' || isMcp ? doingOf(tool, isMcp) : own(DOES, name);
  const paths = does === undefined ? [] : pathsOf(input).slice(0, MOST_TEXTS);
  // What is written is held against the rules once for each place that it is written to.
  const written = does === 'write' ? textsAt(input, ['content', 'new_string', 'text']).slice(0, MOST_WRITTEN) : [];
  const writtenLength = written.reduce((sum, each) => sum + each.length, 0);
  // An account of their own: what a command makes run must not keep its own text from being looked at.
  const reading = newWork();
  for (const path of paths) {
    const text = paid(reading, writtenLength) ? written : [];
    const fields = {
      path: [plainPath(path, cwd)],
      place: placesOf(path, cwd, cwd),
      program: ['action'],
      by: ['action'],
    };
    if (does === 'write') subjects.push({ on: 'write', fields: { ...fields, how: ['replace'], text } });
    else if (does === 'delete') subjects.push({ on: 'delete', fields: { ...fields, how: ['single'] } });
    else if (does === 'send') {
      if (fields.place.includes('secret'))
        subjects.push({ on: 'send', fields: { ...fields, what: ['secret'], where: ['remote'] } });
    } else subjects.push({ on: 'read', fields });
  }
  if (name !== 'shell') {
    const urls = textsAt(input, ['url', 'urls', 'uri']);
    // Some are asked in a sentence to fetch what is named there.
    if (urls.length === 0 && name === 'web_search') urls.push(...textsAt(input, ['prompt']).flatMap(urlsIn));
    for (const url of urls) {
      if (/^[a-z]+:\/\//i.test(url) && !url.startsWith('file:'))
        subjects.push({ on: 'url', fields: urlFields(url, 'action') });
    }
  }
  const by = [name === 'shell' ? 'shell' : 'action'];
  for (const text of textsIn(input)) {
    if (!paid(reading, text.length)) break;
    subjects.push({ on: 'text', fields: { text: [text], path: paths, by }, holds: once(() => secretsIn(text)) });
  }
  if (reading.isCut) work.isCut = true;
  // A mode is no risk by itself, where nothing is done.
  if (mode !== undefined) subjects.push({ on: 'mode', fields: { mode: [mode] } });
  return subjects;
}

/** More than one rule asks for it. */
function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** What actions do with the files that they name. */
type Doing = 'read' | 'write' | 'delete' | 'send';
const DOES: { readonly [name: string]: Doing } = {
  read_file: 'read',
  read_code: 'read',
  write_file: 'write',
  code_edit: 'write',
  write_code: 'write',
  delete_file: 'delete',
};
/** Tools of servers that are given a line for a shell. */
const RUNS = /(?:^|_)(?:exec\w*|run|shell|bash|sh|terminal|command|cmd|process|ssh|powershell)(?:_|$)/;

function doingOf(tool: string, isMcp: boolean): Doing | undefined {
  if (!isMcp) return 'read';
  if (/(?:^|_)(?:write|edit|create|append|update|patch|save|replace|insert)_(?:\w+_)?files?(?:_|$)/.test(tool))
    return 'write';
  if (/(?:^|_)(?:delete|remove|unlink)_(?:\w+_)?(?:files?|director(?:y|ies)|folders?|path)(?:_|$)/.test(tool))
    return 'delete';
  if (/(?:^|_)(?:upload|send|share|attach|post|publish)(?:_|$)/.test(tool)) return 'send';
  if (
    /(?:^|_)(?:read|get|view|open|fetch|load|cat|show|download)_(?:\w+_)?files?(?:_contents?|_text|_content)?(?:_|$)(?!info|metadata|tree|list|stat)/.test(
      tool,
    )
  )
    return 'read';
  return undefined;
}

const FILES = [...pathFields, 'paths', 'files', 'attachments', 'glob', 'include'];

const pathsOf = (input: Fields): string[] => textsAt(input, FILES);

const urlsIn = (text: string): string[] =>
  [...text.slice(0, 4_096).matchAll(/\bhttps?:\/\/[^\s'"<>]{1,1024}/gi)].slice(0, MOST_TEXTS).map(([url]) => url);

/** As much of a value as a rule of a tool's arguments gets to see. */
const BRIEF = { bytes: 512, leaves: 64 };

/** A line for a shell; or the words of a program, which need none. */
function commandOf(input: Fields): string | undefined {
  const said = input.command ?? input.cmd ?? input.script;
  if (typeof said === 'string') return said;
  if (!Array.isArray(said)) return undefined;
  return said
    .slice(0, MOST_ARGUMENTS)
    .map(word => `'${(typeof word === 'string' ? word : '').replaceAll("'", "'\\''")}'`)
    .join(' ');
}

const MOST_ARGUMENTS = 4_096;

const TELLING = /key|token|secret|passw|pwd|authorization|credential/i;

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
      let left = MOST_TEXTS;
      for (const key in value) {
        if (left === 0) break;
        left -= 1;
        const part: unknown = value[key as keyof typeof value];
        queue.push(part);
        // The name alone may say what it is.
        if (typeof part === 'string' && part.length <= 256 && TELLING.test(key)) found.push(`${key}="${part}"`);
      }
    }
  }
  return found;
}
