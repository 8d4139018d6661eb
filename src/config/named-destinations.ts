/**
 * Named destinations: a table of the configuration with one entry for each. An entry has the settings of one provider
 * and nothing of other entries or of the short form, so no key of one back end is sent to another one.
 */

import { type ContentClass, type ContentMode, contentClasses, contentModes } from '../event/content-classes.ts';
import { nearest } from '../lib/nearest.ts';
import { isFields } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import type { Config, Origin } from './config.ts';
import {
  commonMembers,
  DESTINATION_NAME,
  type DestinationProvider,
  type DestinationTables,
  destinationProviders,
  factsOf,
  isAddress,
  type Key,
  keyOfMember,
  keys,
  membersOf,
  type OtlpSignal,
  signals,
  type Value,
  type Values,
} from './schema.ts';

export interface NamedDestination {
  name: string;
  /** The file that defines it. */
  file: string;
  origin: Origin;
  provider: DestinationProvider;
  /** Its settings, by the keys of the short form. */
  values: Values;
  signals?: readonly OtlpSignal[] | undefined;
  content?: { readonly [of in ContentClass]?: ContentMode } | undefined;
}

/** The entry of a file: where it is, and the lines of its members by `name` and `name.member`. */
export interface Tables {
  value: unknown;
  file: string;
  origin: Origin;
  lineOf(place: string): number | undefined;
}

/** Checks the value of a setting as the layer does. */
export type Accept = (key: Key, value: unknown) => { value: unknown } | { why: string };

/**
 * Reads the destinations of a file. An entry with any mistake is left out: without a misspelled content setting, for
 * example, the destination would get more than the user wants.
 */
export function readNamed(tables: Tables, accept: Accept): { named: NamedDestination[]; problems: Problem[] } {
  const problems: Problem[] = [];
  const { value, file } = tables;
  if (!isFields(value)) {
    const line = tables.lineOf('');
    problems.push({
      ...{ code: 'config-value', key: 'destinations', file, line },
      ...{ why: 'is not an object of destinations by name', used: 'no named destination' },
    });
    return { named: [], problems };
  }
  const named = Object.entries(value).flatMap(([name, table]): NamedDestination[] => {
    const entry = new Entry(name, tables, accept);
    const read = entry.read(table);
    problems.push(...entry.problems);
    return read === undefined ? [] : [read];
  });
  return { named, problems };
}

class Entry {
  readonly problems: Problem[] = [];
  private readonly name: string;
  private readonly tables: Tables;
  private readonly accept: Accept;

  constructor(name: string, tables: Tables, accept: Accept) {
    this.name = name;
    this.tables = tables;
    this.accept = accept;
  }

  read(table: unknown): NamedDestination | undefined {
    const { name, tables } = this;
    if (!DESTINATION_NAME.test(name) || isProvider(name)) {
      const shown = JSON.stringify(name).slice(0, 70);
      this.bad(
        '',
        `has the name ${shown}, which ${isProvider(name) ? 'is a provider' : 'is not made of lower-case letters, digits, ".", "_" and "-"'}`,
      );
      return undefined;
    }
    if (!isFields(table)) {
      this.bad('', 'is not an object');
      return undefined;
    }
    const { provider = 'otlp' } = table;
    if (typeof provider !== 'string' || !isProvider(provider)) {
      const meant = typeof provider === 'string' ? nearest(provider, destinationProviders) : undefined;
      this.bad('provider', `is none of ${destinationProviders.join(', ')}${hint(meant)}`);
      return undefined;
    }
    const values: { [key: string]: unknown } = {};
    for (const [member, value] of Object.entries(table)) {
      if (member === 'provider' || member === 'signals' || member === 'content') continue;
      const key = keyFor(provider, member);
      if (key === undefined) this.unknown(provider, member);
      else this.take(values, member, key, value);
    }
    const read = {
      ...{ name, file: tables.file, origin: tables.origin, provider, values: values as Values },
      signals: this.checked('signals', table.signals) as OtlpSignal[] | undefined,
      content: this.checked('content', table.content) as NamedDestination['content'],
    };
    return this.problems.length === 0 ? read : undefined;
  }

  private take(values: { [key: string]: unknown }, member: string, key: Key, value: unknown): void {
    const accepted = this.accept(key, value);
    if ('why' in accepted) this.bad(member, accepted.why, isShowable(key) ? value : undefined);
    else values[key] = accepted.value;
  }

  private checked(member: 'signals' | 'content', value: unknown): unknown {
    if (value === undefined) return undefined;
    const checked = commonMembers[member].safeParse(value);
    if (checked.success) return checked.data;
    const [place, text] = member === 'content' ? (wrongContent(value) ?? [member, '']) : [member, ''];
    const known = member === 'signals' ? signals : contentModes;
    this.bad(place, text === '' ? `does not fit (${known.join(', ')})` : text, value);
    return undefined;
  }

  private unknown(provider: DestinationProvider, member: string): void {
    const known = [...membersOf(provider), ...Object.keys(commonMembers)];
    const shown = member.length > 60 ? `${member.slice(0, 60)}…` : member;
    this.bad(shown, `is no setting of a destination with the provider ${provider}${hint(nearest(member, known))}`);
  }

  private bad(member: string, why: string, value?: unknown): void {
    const place = member === '' ? this.name : `${this.name}.${member}`;
    const { file } = this.tables;
    const shown =
      value === undefined ? undefined : `"${(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 60)}"`;
    this.problems.push({
      ...{ code: 'config-value', key: `destinations.${place.slice(0, 140)}`, file },
      ...{ line: this.tables.lineOf(place) ?? this.tables.lineOf(this.name), value: shown, why },
      used: 'nothing (the destination is left out)',
    });
  }
}

const isProvider = (word: string): word is DestinationProvider =>
  (destinationProviders as readonly string[]).includes(word);

const hint = (meant: string | undefined): string => (meant === undefined ? '' : `; did you mean ${meant}?`);

const isShowable = (key: Key): boolean => !factsOf(key).secret && !isAddress(key);

function keyFor(provider: DestinationProvider, member: string): Key | undefined {
  if (member === 'sampler' || member === 'sampler_arg') return `trace.${member}`;
  return keyOfMember(provider, member);
}

/** Returns the place and the reason of the first wrong part. */
function wrongContent(value: unknown): [place: string, why: string] | undefined {
  if (!isFields(value)) return undefined;
  const classes = Object.keys(contentClasses);
  for (const [of, mode] of Object.entries(value)) {
    if (!classes.includes(of))
      return [`content.${of.slice(0, 60)}`, `is no class of content${hint(nearest(of, classes))}`];
    if (!contentModes.includes(mode as ContentMode)) return [`content.${of}`, `is none of ${contentModes.join(', ')}`];
  }
  return undefined;
}

/** Returns the table without secrets, and with addresses as they are shown. */
export function shownTables(value: unknown, shown: (key: Key, value: unknown) => string): DestinationTables {
  if (!isFields(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, table]) => {
      if (!isFields(table)) return [name, {}];
      const given = table.provider;
      const provider = typeof given === 'string' && isProvider(given) ? given : 'otlp';
      const members = Object.entries(table).map(([member, each]): [string, unknown] => {
        if (Object.hasOwn(commonMembers, member)) return [member, each];
        const key = keyFor(provider, member);
        // An unknown member may be a misspelled key.
        return [member, key === undefined ? '***' : isShowable(key) ? each : shown(key, each)];
      });
      return [name, Object.fromEntries(members)];
    }),
  );
}

/** Returns the configuration of a named destination alone, in the short form. */
export function alone(config: Config, named: NamedDestination): Config {
  const values: { [key: string]: unknown } = {};
  for (const key of keys) {
    const value = factsOf(key).default;
    if (value !== undefined) values[key] = value;
  }
  const silent = (signal: OtlpSignal): boolean =>
    named.signals?.includes(signal) === false || isNone(config.values[`exporters.${signal}`]);
  for (const signal of signals) if (silent(signal)) values[`exporters.${signal}`] = 'none';
  values['metrics.interval_ms'] = config.values['metrics.interval_ms'];
  Object.assign(values, named.values, { provider: named.provider, enabled: true });
  const origins = Object.fromEntries(Object.keys(named.values).map(key => [key, named.origin]));
  return { ...config, values: values as Values, origins, bound: {}, named: [], problems: [] };
}

const isNone = (exporters: Value<'exporters.traces'> | undefined): boolean =>
  exporters !== undefined && [exporters].flat().every(word => word.trim().toLowerCase() === 'none');

/** The name of a setting in the table of a named destination. */
export function placeOfKey({ name, provider }: Pick<NamedDestination, 'name' | 'provider'>, key: string): string {
  const member = membersOf(provider).find(each => keyOfMember(provider, each) === key);
  return member === undefined ? key : `destinations.${name}.${member}`;
}

/** Returns a problem of the short form with the place of the setting in the table. */
export function placed(problem: Problem, named: NamedDestination): Problem {
  if (!('key' in problem)) return problem;
  const key = problem.key
    .split(/( or | and )/)
    .map(part => placeOfKey(named, part))
    .join('');
  return { ...problem, key } as Problem;
}
