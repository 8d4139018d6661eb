/**
 * `config get`, `set` and `unset` of named destinations: `destinations.NAME.MEMBER`, `destinations.NAME.content.CLASS`, and
 * `destinations.NAME` for a whole one.
 */
import { type Config, resolve } from '../config/config.ts';
import type { LoadedConfig } from '../config/files.ts';
import { shownTables } from '../config/named-destinations.ts';
import { shownValue, writtenValue } from '../config/shown.ts';
import { fieldsOf, own } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import { type Planned, planConfig } from '../setup/setup.ts';
import { UsageError } from './command.ts';
import type { Folders } from './place.ts';

const PREFIX = 'destinations.';

export interface DestinationKey {
  /** As it was typed. */
  word: string;
  name: string;
  /** Below the destination: a member, a class of `content`, or nothing for the whole. */
  parts: readonly string[];
}

/** Undefined if the word is another key. Names may contain dots, so the known names count first. */
export function destinationKeyOf(word: string | undefined, { named }: LoadedConfig): DestinationKey | undefined {
  if (word === undefined || !word.startsWith(PREFIX)) return undefined;
  const rest = word.slice(PREFIX.length);
  const known = named
    .map(({ name }) => name)
    .filter(name => rest === name || rest.startsWith(`${name}.`))
    .sort((a, b) => b.length - a.length)[0];
  if (known !== undefined) {
    const below = rest.slice(known.length + 1);
    return { word, name: known, parts: below === '' ? [] : partsOf(below.split('.')) };
  }
  const words = rest.split('.');
  const count = words.at(-2) === 'content' && words.length > 2 ? 2 : words.length > 1 ? 1 : 0;
  return { word, name: words.slice(0, words.length - count).join('.'), parts: words.slice(words.length - count) };
}

/** A member has no dot in its name; `content` has classes below it. */
const partsOf = (words: string[]): string[] => (words[0] === 'content' ? words : [words.join('.')]);

/** Returns the value in the form that `config` shows, and the layer that has it. */
export function shownDestination(config: LoadedConfig, { name, parts }: DestinationKey) {
  const origin = config.named.find(each => each.name === name)?.origin;
  const table = own(fieldsOf(writtenValue(config, 'destinations')), name);
  const shown = table === undefined ? undefined : own(shownTables({ [name]: table }, shownValue), name);
  const value = parts.reduce<unknown>((each, part) => own(fieldsOf(each), part), shown);
  return { value, origin: value === undefined ? undefined : origin };
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Plans the change of the file. Throws if the destination would have a mistake that it does not have now. */
export function planDestination(
  { word, name, parts }: DestinationKey,
  text: string | undefined,
  { config, data }: Folders,
): Planned {
  const path = ['destinations', name, ...parts];
  const before = mistakesIn(config, name, config.problems);
  let mistake: string | undefined;
  // JSON counts first: a number, a switch, a list or a table. All other values are texts.
  for (const value of text === undefined ? [undefined] : [parsedJson(text), text]) {
    if (text !== undefined && value === undefined) continue;
    const planned = planConfig(config.globalFile, [[path, value]], data);
    if (!planned.ok) return planned;
    const after = planned.plan.changes[0]?.after;
    const found = after === undefined ? [] : mistakesIn(config, name, ofFile(config.globalFile, after).problems);
    mistake = found.find(each => !before.includes(each));
    if (mistake === undefined) return planned;
  }
  throw new UsageError(`${text === undefined ? `${word} cannot be removed` : 'the value was not written'}: ${mistake}`);
}

/** The texts of problems with this destination in the user's file. */
function mistakesIn({ globalFile }: LoadedConfig, name: string, problems: readonly Problem[]): string[] {
  return problems.flatMap(problem => {
    if (problem.code !== 'config-value' || problem.file !== globalFile) return [];
    const { key, why } = problem;
    return key === `${PREFIX}${name}` || key.startsWith(`${PREFIX}${name}.`) ? [`${key} ${why}`] : [];
  });
}

/** The configuration of this file alone. References are not read: their values are checked when they are used. */
export function ofFile(file: string, text: string): Config {
  const lookup = () => () => ({ text: 'x' });
  return resolve({ global: { file, text }, env: {}, home: '/', cwd: '/', lookup });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A plain text.
    return undefined;
  }
}
