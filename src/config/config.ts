/**
 * Layers of settings, lowest first: defaults, global file, project file, environment (the standard's variables, then
 * ours), flags. Texts are the input; values with their origins are the output, with one problem for each value that
 * could not be used.
 *
 * A project's file comes with a clone, so its author is untrusted. Without consent it may reduce and label the data
 * that leaves the machine, but never decide where data goes or which files are read. Credentials are sent only to the
 * hosts for which they were set (`bound`).
 */
import { dirname, isAbsolute, join, resolve as resolvePath } from 'node:path';
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { boundPassed } from '../lib/json-bounds.ts';
import { nearest } from '../lib/nearest.ts';
import type { Problem } from '../problems/problem.ts';
import { type NamedDestination, readNamed } from './named-destinations.ts';
import { parsePairs } from './pairs.ts';
import { expanded, hasReference, type Lookup, withoutVariables } from './references.ts';
import { factsOf, isAddress, isKey, type Key, keys, type OtlpSignal, type Values, wordsOf } from './schema.ts';
import { shownValue } from './shown.ts';
import { readVariables } from './variables.ts';

export interface ConfigInput {
  global?: { file: string; text: string } | undefined;
  project?: { file: string; text: string; trusted: boolean } | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Values of flags by key, as the command read them. */
  flags?: { readonly [K in Key]?: string | number | boolean | undefined } | undefined;
  home: string;
  cwd: string;
  /** Reads the references in a value. Without it, a value with a reference is a problem. */
  lookup?: ((base: string) => Lookup) | undefined;
}

export type Origin = 'default' | 'global file' | 'project file' | `environment ${string}` | `flag ${string}`;

export interface Config {
  values: Values;
  /** The origins of all keys with a value. */
  origins: { [K in Key]?: Origin };
  /** The values with references, as they are written: a reference may stand for a secret. */
  written: { [K in Key]?: unknown };
  sampler: Sampler;
  limits: Limits;
  /** Resource attributes of all layers together. */
  attributes: Readonly<Record<string, string>>;
  /** The named destinations of all layers. */
  named: readonly NamedDestination[];
  /** For each credential: scheme, host and port of the endpoints that its layer or a lower one named. Empty: any. */
  bound: { [K in Key]?: readonly string[] };
  /** The settings of a project's file that need consent, whether or not consent was given. */
  beyond: Beyond[];
  /** The key of the project's file that keeps spans on this machine. */
  silencedBy: Key | undefined;
  problems: Problem[];
}

export interface Beyond {
  /** `attributes.NAME` for a single attribute. */
  key: string;
  line: number | undefined;
  /** The value without secrets. */
  value: string;
  /** A path as an absolute path, relative to the place of the file. */
  path?: string | undefined;
}

/** The share of traces that is sent. Parents of other traces are not known here, so `parentbased_` changes nothing. */
export interface Sampler {
  kind: 'always_on' | 'always_off' | 'traceidratio';
  ratio: number;
  /** A project's file set it, so no destination gets a larger share. */
  ofProject?: true;
}

export interface Limits {
  span: { attributes: number; valueLength?: number | undefined; events: number; links: number };
  spanEvent: { attributes: number };
  spanLink: { attributes: number };
  log: { attributes: number; valueLength?: number | undefined };
}

export function resolve(input: ConfigInput): Config {
  const problems: Problem[] = [];
  const beyond: Beyond[] = [];
  const taken = new TakenValues(input);
  for (const layer of layersOf(input, problems, beyond)) taken.take(layer);
  const { values, origins, attributes, bound } = taken;
  // Each value was checked by its own schema.
  const resolved = values as Values;
  if (wordsOf(resolved.provider).includes('datadog')) labelForDatadog(resolved, origins, attributes);
  if (Object.keys(attributes).length > 0) resolved.attributes = attributes;
  problems.push(...taken.bad.map(each => badValue(each, values)), ...taken.problems);
  const sampler = samplerOf(resolved, origins);
  return {
    values: resolved,
    origins,
    written: taken.written,
    beyond,
    silencedBy: silencedBy(resolved, origins, sampler),
    sampler,
    limits: limitsOf(resolved),
    attributes,
    named: [...taken.named.values()],
    bound,
    problems,
  };
}

/** The values of the layers so far, over the defaults. */
class TakenValues {
  readonly values: { [key: string]: unknown } = {};
  readonly origins: { [K in Key]?: Origin } = {};
  readonly bound: { [K in Key]?: readonly string[] } = {};
  readonly written: { [K in Key]?: unknown } = {};
  readonly attributes: Record<string, string> = {};
  readonly bad: BadValue[] = [];
  readonly named = new Map<string, NamedDestination>();
  readonly problems: Problem[] = [];
  readonly #hosts = new Map<string, Set<string>>();
  readonly #input: ConfigInput;
  readonly #writtenAttributes: Record<string, string> = {};

  constructor(input: ConfigInput) {
    this.#input = input;
    for (const key of keys) {
      const value = factsOf(key).default;
      if (value === undefined) continue;
      this.values[key] = value;
      this.origins[key] = 'default';
      // A variable may come from a project, so a user's key in the file is not sent to an address of a variable.
      if (isAddress(key) && typeof value === 'string') this.#addHost(key, value);
    }
  }

  take(layer: Layer): void {
    const accepted = layer.entries.flatMap(entry => this.#takeEntry(entry, layer));
    for (const key of accepted) {
      const value = this.values[key];
      if (!isAddress(key) || typeof value !== 'string') continue;
      this.#addHost(key, value);
    }
    for (const key of accepted) if (isCredential(key)) this.bound[key] = [...(this.#hosts.get(groupOf(key)) ?? [])];
  }

  #addHost(key: Key, address: string): void {
    const group = groupOf(key);
    this.#hosts.set(group, (this.#hosts.get(group) ?? new Set()).add(new URL(address).origin));
  }

  /** Returns the key, unless the value is bad. */
  #takeEntry(entry: Entry, layer: Layer): Key[] {
    if (entry.key === 'destinations') return this.#takeNamed(entry, layer);
    const accepted = accept(entry, layer, this.#input);
    if ('why' in accepted) {
      this.bad.push({ ...entry, why: accepted.why });
      return [];
    }
    const isAttributes = entry.key === 'attributes';
    if (isAttributes) Object.assign(this.attributes, accepted.value);
    if (isAttributes) Object.assign(this.#writtenAttributes, pairsOf(entry.value));
    const written = isAttributes ? this.#writtenAttributes : entry.value;
    if (hasReference(written)) this.written[entry.key] = written;
    else delete this.written[entry.key];
    this.values[entry.key] = accepted.value;
    this.origins[entry.key] = originOf(layer, entry);
    return [entry.key];
  }

  #takeNamed(entry: Entry, layer: Layer): Key[] {
    const origin = originOf(layer, entry);
    const tables = {
      ...{ value: entry.value, file: entry.file ?? '', origin },
      lineOf: (place: string) => entry.lineOf?.(place) ?? entry.line,
    };
    const read = readNamed(tables, (key, value) => accept({ key, value }, layer, this.#input));
    this.problems.push(...read.problems);
    if (read.named.length === 0) return [];
    for (const each of read.named) this.named.set(each.name, each);
    const given = entry.value as { readonly [name: string]: unknown };
    const shown = Object.fromEntries(read.named.map(({ name }) => [name, given[name]]));
    this.values.destinations = { ...(this.values.destinations as object | undefined), ...shown };
    this.origins.destinations = origin;
    return ['destinations'];
  }
}

/** Datadog's names of attributes of OpenTelemetry. The names of OpenTelemetry win. */
function labelForDatadog(values: Values, origins: Config['origins'], attributes: Record<string, string>): void {
  const { 'datadog.service': service, 'datadog.env': environment } = values;
  if (service !== undefined && values.service_name === undefined) {
    values.service_name = service;
    if (origins['datadog.service'] !== undefined) origins.service_name = origins['datadog.service'];
  }
  if (environment !== undefined) attributes['deployment.environment.name'] ??= environment;
}

interface Entry {
  key: Key;
  value: unknown;
  /** A value that is not a text. */
  unreadable?: string | undefined;
  file?: string | undefined;
  line?: number | undefined;
  variable?: string | undefined;
  flag?: string | undefined;
  /** The line of a member of the value. */
  lineOf?: ((place: string) => number | undefined) | undefined;
}
type BadValue = Entry & { why: string };

interface Layer {
  /** The user wrote it or agreed to it, so references in it are expanded. */
  isOfUser: boolean;
  origin: 'global file' | 'project file' | 'environment' | 'flag';
  /** Relative paths start here. */
  base: string;
  entries: Entry[];
}

function layersOf(input: ConfigInput, problems: Problem[], beyond: Beyond[]): Layer[] {
  const { global, project, env, flags = {}, cwd } = input;
  const layers: Layer[] = [];
  if (global) {
    const entries = readFile(global, problems);
    layers.push({ isOfUser: true, origin: 'global file', base: dirname(global.file), entries });
  }
  const below = new Map(layers.flatMap(layer => layer.entries).map(entry => [entry.key, entry.value]));
  if (project) {
    const read = readFile(project, problems);
    const rights = rightsOver(below, read);
    const refuse = (entry: Entry, key: string, value: unknown, used: string): void => {
      const path =
        factsOf(entry.key).text === 'path' ? pathOf(String(value), dirname(project.file), input.home) : undefined;
      beyond.push({ key, line: entry.line, value: shownValue(entry.key, value), path });
      if (project.trusted) return;
      problems.push({ code: 'config-untrusted', key, file: project.file, line: entry.line, used });
    };
    const entries = read.flatMap((entry): Entry[] => {
      if (entry.key === 'attributes') return [withoutTaken(entry, below, project.trusted, refuse)];
      if (rights(entry)) return [entry];
      refuse(entry, entry.key, entry.value, shownValue(entry.key, below.get(entry.key) ?? factsOf(entry.key).default));
      return project.trusted ? [entry] : [];
    });
    for (const entry of entries.filter(each => hasReference(each.value))) {
      const { key, value, line } = entry;
      if (!beyond.some(each => each.key === key)) beyond.push({ key, line, value: shownValue(key, value) });
      if (!project.trusted) problems.push({ code: 'config-reference', key, file: project.file, line });
    }
    layers.push({ isOfUser: project.trusted, origin: 'project file', base: dirname(project.file), entries });
  }
  const variables = readVariables(env);
  problems.push(...variables.problems);
  layers.push({
    isOfUser: false,
    origin: 'environment',
    base: cwd,
    entries: variables.settings.map(({ key, variable, reading }) => ({
      key,
      variable,
      value: 'value' in reading ? reading.value : env[variable],
      unreadable: 'bad' in reading ? reading.bad : undefined,
    })),
  });
  const given = keys.filter(key => flags[key] !== undefined);
  layers.push({
    isOfUser: true,
    origin: 'flag',
    base: cwd,
    entries: given.map(key => ({ key, value: flags[key], flag: factsOf(key).flag ?? `--${key}` })),
  });
  return layers;
}

/** The settings that a project's file may set without consent, over the values of the layers below. */
function rightsOver(below: ReadonlyMap<Key, unknown>, read: readonly Entry[]): (entry: Entry) => boolean {
  const settingOf = (key: Key): unknown => below.get(key) ?? factsOf(key).default;
  const isSilent = new Map(read.map(({ key, value }) => [key, value]));
  const share = shareOf(settingOf('trace.sampler'), settingOf('trace.sampler_arg'));
  const wanted = shareOf(
    isSilent.get('trace.sampler') ?? settingOf('trace.sampler'),
    isSilent.get('trace.sampler_arg') ?? settingOf('trace.sampler_arg'),
  );
  const maySilence = settingOf('projects.may_silence') !== false;
  return entry => {
    if (entry.key === 'trace.sampler' || entry.key === 'trace.sampler_arg') {
      return wanted === share || (wanted < share && maySilence);
    }
    if (entry.key === 'enabled' && entry.value === false) return maySilence;
    // A name that the user chose stays.
    if (entry.key === 'service_name') return below.get(entry.key) === undefined;
    return isHarmless(entry, settingOf(entry.key));
  };
}

function shareOf(sampler: unknown, ratio: unknown): number {
  if (typeof sampler !== 'string') return 1;
  const kind = sampler.replace('parentbased_', '');
  if (kind === 'always_off') return 0;
  return kind === 'traceidratio' && typeof ratio === 'number' ? ratio : 1;
}

/** The person, the place and the program. A project must not set these attributes. */
const IDENTITY =
  /^(service\.(name|instance\.id)$|(enduser|user|host|os|device|process|telemetry|otel|otel_hooks|agent_hooks|gen_ai)\.)/;

/** Returns the attributes that a project's file adds. An attribute that would replace an existing one is refused. */
function withoutTaken(
  entry: Entry,
  below: ReadonlyMap<Key, unknown>,
  isTrusted: boolean,
  refuse: (entry: Entry, key: string, value: unknown, used: string) => void,
): Entry {
  const checked = factsOf('attributes').schema.safeParse(entry.value);
  // A value that does not fit is a problem of its own, and sets nothing.
  if (!checked.success) return entry;
  const taken = pairsOf(below.get('attributes'));
  const kept = Object.entries(pairsOf(checked.data)).filter(([name, value]) => {
    const used = Object.hasOwn(taken, name) ? taken[name] : undefined;
    if (used === undefined && !IDENTITY.test(name)) return true;
    refuse(entry, `attributes.${name}`, value, used === undefined ? 'not set' : used);
    return isTrusted;
  });
  return { ...entry, value: Object.fromEntries(kept) };
}

function pairsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value === 'string') return parsePairs(value) ?? {};
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}

function silencedBy(values: Values, origins: Config['origins'], { kind, ratio }: Sampler): Key | undefined {
  if (values.enabled === false && origins.enabled === 'project file') return 'enabled';
  const isOff = kind === 'always_off' || (kind === 'traceidratio' && ratio === 0);
  return isOff && origins['trace.sampler'] === 'project file' ? 'trace.sampler' : undefined;
}

/**
 * A project may switch otel-hooks off, but not on again. It may reduce the data that leaves the machine, but never add
 * to it.
 */
function isHarmless({ key, value }: Entry, own: unknown): boolean {
  const { project } = factsOf(key);
  // A value that does not fit is a problem of its own, and sets nothing.
  if (project === 'part') return Array.isArray(value) && value.every(each => Array.isArray(own) && own.includes(each));
  return project === true || (Array.isArray(project) && project.indexOf(value) <= project.indexOf(own));
}

/**
 * The file comes with a clone, so its author is untrusted. Its size and depth are limited before the recursive parser
 * reads it.
 */
const BOUNDS = { depth: 32, parts: 10_000 };
/** Each unknown key is a problem with a suggestion. Above a limit, one problem states the number of keys. */
const MOST_UNKNOWN_KEYS = 20;
const LONGEST_KEY = 100;

/**
 * Returns the file's settings, each with its line. Comments and trailing commas are allowed. If a key is repeated, the
 * last value counts.
 */
function readFile({ file, text }: { file: string; text: string }, problems: Problem[]): Entry[] {
  const plain = text.replace(/^\uFEFF/, '');
  const lines = lineStarts(plain);
  const read = objectIn(plain);
  if ('why' in read) {
    problems.push({ code: 'config-json', file, ...placeOf(lines, read.at), why: read.why });
    return [];
  }
  let unknown = 0;
  const members = membersOf(read.tree, '', (key, node) => {
    unknown += 1;
    if (unknown > MOST_UNKNOWN_KEYS) return;
    const { line } = placeOf(lines, node.offset);
    const shown = key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY)}…` : key;
    problems.push({ code: 'config-key', key: shown, file, line, nearest: nearestKey(key) });
  });
  if (unknown > MOST_UNKNOWN_KEYS) problems.push({ code: 'config-keys', file, more: unknown - MOST_UNKNOWN_KEYS });
  return [...new Map(members.map(member => [member.key, member])).values()].map(({ key, node, at }) => ({
    key,
    value: getNodeValue(node),
    file,
    line: placeOf(lines, at).line,
    lineOf: place => {
      const found = findNodeAtLocation(node, place === '' ? [] : pathsOf(place));
      return found === undefined ? undefined : placeOf(lines, found.offset).line;
    },
  }));
}

/** The name of a destination may contain dots, so its members are the last parts. */
const pathsOf = (place: string): string[] => {
  const [name = '', ...members] = place.split(/\.(?=content\.\w+$|\w+$)/);
  return [name, ...members];
};

function objectIn(text: string): { tree: Node } | { at: number; why: string } {
  const passed = boundPassed(text, BOUNDS);
  if (passed !== undefined) return passed;
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) return { at: first.offset, why: sentence(printParseErrorCode(first.error)) };
  return tree?.type === 'object' ? { tree } : { at: tree?.offset ?? 0, why: 'it is not an object' };
}

function membersOf(
  object: Node,
  above: string,
  unknown: (key: string, node: Node) => void,
): { key: Key; node: Node; at: number }[] {
  return (object.children ?? []).flatMap(property => {
    const [name, node] = property.children ?? [];
    if (name === undefined || node === undefined) return [];
    const key = `${above}${String(name.value)}`;
    if (key === '$schema') return [];
    if (isKey(key)) return [{ key, node, at: name.offset }];
    const isGroup = keys.some(each => each.startsWith(`${key}.`));
    if (isGroup && node.type === 'object') return membersOf(node, `${key}.`, unknown);
    unknown(key, name);
    return [];
  });
}

const groups = [
  ...new Set(
    keys.flatMap(key =>
      key
        .split('.')
        .slice(0, -1)
        .map((_, i, all) => all.slice(0, i + 1).join('.')),
    ),
  ),
];

/** Returns the key or group that the user probably meant: the key has a typing error, or lacks its group. */
function nearestKey(key: string): string | undefined {
  const meant = nearest(
    key,
    [...keys, ...groups].filter(each => each !== key),
  );
  if (meant !== undefined) return meant;
  const inGroups = keys.filter(each => each.endsWith(`.${key}`));
  return inGroups.find(each => each.startsWith('otlp.')) ?? (inGroups.length === 1 ? inGroups[0] : undefined);
}

/** `InvalidSymbol` becomes `invalid symbol`. */
const sentence = (code: string): string => code.replace(/(?!^)([A-Z])/g, ' $1').toLowerCase();

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function placeOf(starts: readonly number[], offset: number): { line: number; column: number } {
  const index = starts.findLastIndex(start => start <= offset);
  return { line: index + 1, column: offset - (starts[index] ?? 0) + 1 };
}

function accept(entry: Entry, layer: Layer, { home, lookup }: ConfigInput): { value: unknown } | { why: string } {
  if (entry.unreadable !== undefined) return { why: entry.unreadable };
  const facts = factsOf(entry.key);
  const read = layer.isOfUser ? expandedIn(entry, layer.base, lookup) : entry;
  if ('why' in read) return read;
  const checked = facts.schema.safeParse(read.value);
  if (!checked.success) return { why: whyOf(checked.error.issues[0], entry.key) };
  if (facts.text === 'path') return { value: pathOf(String(checked.data), layer.base, home) };
  if (facts.text === 'pairs' && typeof checked.data === 'string') return { value: parsePairs(checked.data) };
  return { value: checked.data };
}

function expandedIn(
  { key, value }: Entry,
  base: string,
  lookup: ConfigInput['lookup'],
): { value: unknown } | { why: string } {
  // The members of a named destination are expanded one by one.
  if (key === 'destinations' || !hasReference(value)) return { value };
  const found: Lookup = lookup?.(base) ?? (() => ({ why: 'no reference is read here' }));
  return expanded(value, isAddress(key) ? withoutVariables(found) : found);
}

function whyOf(issue: { message: string; code?: string | undefined } | undefined, key: Key): string {
  if (issue?.message.startsWith('is ') || issue?.message.startsWith('names ')) return issue.message;
  const expected = /expected .*$/i.exec(issue?.message ?? '')?.[0].replace(/, received.*$/, '');
  if (expected !== undefined && issue?.code !== 'invalid_union') return `does not fit (${expected})`;
  return factsOf(key).text === 'pairs' ? 'is not a list of name=value or an object of texts' : 'does not fit';
}

function pathOf(text: string, base: string, home: string): string {
  if (text === '~') return home;
  if (text.startsWith('~/')) return join(home, text.slice(2));
  return isAbsolute(text) ? text : resolvePath(base, text);
}

function originOf(layer: Layer, entry: Entry): Origin {
  if (entry.variable !== undefined) return `environment ${entry.variable}`;
  if (entry.flag !== undefined) return `flag ${entry.flag}`;
  return layer.origin === 'project file' ? 'project file' : 'global file';
}

function badValue({ key, value, file, line, variable, flag, why }: BadValue, values: object): Problem {
  // A secret or an address may hold credentials, and so may a value of the wrong type.
  const isShowable = !factsOf(key).secret && !isAddress(key);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return {
    code: 'config-value',
    key,
    file,
    line,
    variable,
    flag,
    value: isShowable && text !== undefined ? `"${text.slice(0, 60)}"` : undefined,
    why,
    used: shownValue(key, (values as Values)[key]),
  };
}

const groupOf = (key: Key): string => key.slice(0, key.indexOf('.'));

const isCredential = (key: Key): boolean =>
  /(^|[._])(headers|headers_command|client_key|client_certificate)$/.test(key) || (factsOf(key).secret ?? false);

/** The credential keys for a signal: the general one and the signal's own. */
export const credentialKeys = (signal: OtlpSignal): Key[] => [
  'otlp.headers',
  `otlp.${signal}_headers`,
  'otlp.client_certificate',
  `otlp.${signal}_client_certificate`,
  'otlp.client_key',
  `otlp.${signal}_client_key`,
];

function samplerOf(values: Values, origins: Config['origins']): Sampler {
  const isOfProject = origins['trace.sampler'] === 'project file' || origins['trace.sampler_arg'] === 'project file';
  return { ...shareIn(values), ...(isOfProject ? { ofProject: true } : {}) };
}

export function shareIn(values: Values): Sampler {
  const kind = (values['trace.sampler'] ?? 'always_on').replace('parentbased_', '');
  if (kind === 'always_off') return { kind: 'always_off', ratio: 0 };
  if (kind === 'traceidratio') return { kind: 'traceidratio', ratio: values['trace.sampler_arg'] ?? 1 };
  return { kind: 'always_on', ratio: 1 };
}

export function limitsOf(values: Values): Limits {
  const count = values['limits.attribute_count'] ?? 128;
  const length = values['limits.attribute_value_length'];
  return {
    span: {
      attributes: values['limits.span_attribute_count'] ?? count,
      valueLength: values['limits.span_attribute_value_length'] ?? length,
      events: values['limits.span_event_count'] ?? 128,
      links: values['limits.span_link_count'] ?? 128,
    },
    spanEvent: { attributes: values['limits.event_attribute_count'] ?? 128 },
    spanLink: { attributes: values['limits.link_attribute_count'] ?? 128 },
    log: {
      attributes: values['limits.log_attribute_count'] ?? count,
      valueLength: values['limits.log_attribute_value_length'] ?? length,
    },
  };
}

/** Returns the named exporters of a signal. Undefined: none is named, so every provider gets the signal. */
export function exportersOf(values: Values, signal: OtlpSignal): string[] | undefined {
  const named = values[`exporters.${signal}`];
  return named === undefined ? undefined : wordsOf(named);
}
