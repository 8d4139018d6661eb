/** Computes destinations from settings. A destination is complete: sending to it needs no further settings. */
import { type ContentClass, type ContentMode, contentModes, defaultModes } from '../event/content-classes.ts';
import { digest } from '../lib/hash.ts';
import { nearest } from '../lib/nearest.ts';
import type { Problem } from '../problems/problem.ts';
import { type Config, credentialKeys, exportersOf, type Sampler, shareIn } from './config.ts';
import {
  type Credentials,
  changingCredentials,
  changingKeys,
  changingKeysOf,
  withoutCredentials,
} from './credentials.ts';
import { badHeader } from './headers.ts';
import { alone, type NamedDestination, placed, placeOfKey } from './named-destinations.ts';
import { decoded, parsePairs } from './pairs.ts';
import { isPreset, type PresetName, presetNamed, presetNames } from './presets.ts';
import { type Key, type OtlpSignal, type Protocol, signals, type Values, wordsOf } from './schema.ts';
import { shownEndpoint } from './shown.ts';

/** The content of an outbox: OTLP requests by signal, or events as lines. */
export type Signal = OtlpSignal | 'events';
/** The protocol of a signal. */
export type Way = 'otlp' | 'console' | 'file' | 'agent-hooks-log' | 'agent-hooks-http';
export type Provider = Way | PresetName;
export const wayOf = (provider: Provider): Way => (isPreset(provider) ? 'otlp' : provider);

/** Each destination costs a folder, metrics and a line in every account, and each request writes the accounts again. */
export const MOST_DESTINATIONS = 256;

export interface Destination {
  v: 1;
  /** Folder name of its outbox: the same for the same provider, addresses, credentials and temporality. */
  id: string;
  provider: Provider;
  /** The address for people, without credentials. */
  endpoint: string;
  /** The signals that it accepts; a missing signal is not sent to it. */
  signals: { readonly [S in Signal]?: Target };
  temporality: 'cumulative' | 'delta';
  /** Shortest time between two sends of metrics. */
  metricIntervalMs: number;
  /**
   * The places of its address and its credentials in the configuration. A change of their values does not change these
   * places.
   */
  source?: string | undefined;
  /** Its name in the configuration. Its id then depends on the name and the file only. */
  name?: string | undefined;
  /** The id that it would have without its name. It changes with its addresses and credentials. */
  stamp?: string | undefined;
  /** Its own content settings. The narrower one of these and of the session's counts. */
  content?: { readonly [of in ContentClass]?: ContentMode } | undefined;
  /** Its own share of traces. */
  sampler?: Sampler | undefined;
  /** When a session was last pinned to it. */
  pinnedMs?: number | undefined;
}

export interface Target {
  /** For the providers otlp and agent-hooks-http. */
  url?: string | undefined;
  /** For file and agent-hooks-log. */
  path?: string | undefined;
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  gzip: boolean;
  protocol: Protocol;
  /** The types of events, if not all. */
  types?: readonly string[] | undefined;
  /** The file of the key with which requests are signed. */
  sign?: string | undefined;
  tls: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined };
  /** The source of headers that change. */
  credentials?: Credentials | undefined;
}

const localhost = (protocol: Protocol): string => `http://localhost:${protocol === 'grpc' ? GRPC_PORT : '4318'}`;
const GRPC_PORT = '4317';

export const providers: readonly Provider[] = ['otlp', 'console', 'file', ...presetNames];

export function destinationsOf(config: Config): { destinations: Destination[]; problems: Problem[] } {
  if (config.values.enabled === false) return { destinations: [], problems: [] };
  const found = [shortForm(config), ...config.named.map(each => namedDestination(config, each))];
  return {
    destinations: found.flatMap(({ destinations }) => destinations),
    problems: found.flatMap(({ problems }) => problems),
  };
}

/**
 * The destination of an entry of `destinations`. Its identity is its name in its file: files of two projects may use
 * the same name for different servers.
 */
function namedDestination(
  config: Config,
  named: NamedDestination,
): { destinations: Destination[]; problems: Problem[] } {
  const { name, file, provider, values, content } = named;
  const endpoints = ['endpoint', ...signals.map(signal => `${signal}_endpoint`)];
  if (provider === 'otlp' && endpoints.every(member => values[`otlp.${member}` as Key] === undefined)) {
    return {
      destinations: [],
      problems: [{ code: 'provider-incomplete', provider, key: `destinations.${name}.endpoint` }],
    };
  }
  const { destinations, problems } = shortForm(alone(config, named));
  const own = ownSampler(values);
  return {
    destinations: destinations.map(({ id, ...each }) => ({
      ...each,
      id: digest('otel-hooks/destination/2', name, file).toString('hex', 0, 8),
      name,
      stamp: id,
      ...(content === undefined ? {} : { content }),
      ...(own === undefined ? {} : { sampler: own }),
    })),
    problems: [...problems.map(each => placed(each, named)), ...widerContent(config, named)],
  };
}

const ownSampler = (values: Values): Sampler | undefined =>
  values['trace.sampler'] === undefined && values['trace.sampler_arg'] === undefined
    ? undefined
    : shareIn({ 'trace.sampler': 'traceidratio', ...values });

/** A class that a project's file narrows causes no problem here. */
function widerContent({ values, origins }: Config, { name, file, content = {} }: NamedDestination): Problem[] {
  return Object.entries(content).flatMap(([of, mode]): Problem[] => {
    const key = `content.${of}` as `content.${ContentClass}`;
    const most = values[key] ?? defaultModes[of as ContentClass];
    const isWider = contentModes.indexOf(mode) > contentModes.indexOf(most);
    if (!isWider || origins[key] === 'project file') return [];
    const why = `is wider than ${key}, which holds for all destinations`;
    return [{ code: 'config-value', key: `destinations.${name}.${key}`, file, value: `"${mode}"`, why, used: most }];
  });
}

function shortForm(config: Config): { destinations: Destination[]; problems: Problem[] } {
  const { values } = config;
  const problems: Problem[] = [];
  const destinations: Destination[] = [];
  const named = namedProviders(config, problems);

  const add = (provider: Provider, endpoint: string, targets: Targets): void => {
    if (Object.keys(targets).length > 0) destinations.push(complete(values, provider, endpoint, targets));
  };

  if (named.has('otlp')) {
    const targets = otlpTargets(config, problems);
    const base = baseOf(values)?.base ?? (hasOwnEndpoint(values) ? ownAddress(targets) : undefined);
    add('otlp', shownEndpoint(base ?? localhost(protocolOf(values, 'traces'))), targets);
  }
  for (const name of presetNames) {
    if (!named.has(name)) continue;
    const targets = presetTargets(config, name, problems);
    const [first] = signals.flatMap(signal => targets[signal]?.url ?? []);
    if (first !== undefined) add(name, shownEndpoint(new URL('/', first).href), targets);
  }
  if (named.has('console')) add('console', 'stdout', localTargets(values, 'console', {}));
  if (named.has('file')) {
    const path = values['file.path'];
    if (path === undefined) problems.push({ code: 'provider-incomplete', provider: 'file', key: 'file.path' });
    else add('file', path, localTargets(values, 'file', { path }));
  }
  const log = values.agent_hooks_log;
  if (log !== undefined) add('agent-hooks-log', log, { events: { ...local, path: log } });
  const { 'hooks.output': output, 'hooks.endpoint': hook } = values;
  const types = typesOf(values);
  // Events that this file gets already are not written to it twice.
  if (output !== undefined && output !== log)
    add('agent-hooks-log', output, { events: { ...local, ...types, path: output } });
  if (hook !== undefined)
    add('agent-hooks-http', shownEndpoint(hook), { events: { ...eventsTarget(config, hook, problems), ...types } });
  return { destinations, problems };
}

function typesOf(values: Values): Pick<Target, 'types'> {
  const types = wordsOf(values['hooks.event']);
  return types.includes('*') ? {} : { types };
}

/** The settings with the address and the credentials of a provider. */
export function addressKeys(provider: Provider): Key[] {
  if (isPreset(provider)) {
    const { endpoint, needs, secrets } = presetNamed(provider);
    return [endpoint, ...needs, ...secrets];
  }
  if (provider === 'agent-hooks-http') return ['hooks.endpoint', 'hooks.headers'];
  if (wayOf(provider) !== 'otlp') return [];
  return [
    'otlp.endpoint',
    ...changingKeys,
    ...signals.flatMap((signal): Key[] => [`otlp.${signal}_endpoint`, ...credentialKeys(signal)]),
  ];
}

/** Whether a mistake may be the reason why there is no destination. */
export function keepsFromDestinations(problem: Problem): boolean {
  switch (problem.code) {
    case 'config-json':
    case 'config-unreadable':
    case 'provider-unknown':
    case 'provider-incomplete':
    case 'endpoint-missing':
      return true;
    case 'config-value':
      return placeKeys.has(problem.key) || problem.key.startsWith('destinations.');
    default:
      return false;
  }
}

/** Returns the settings that decide where data goes. */
const placeKeys: ReadonlySet<string> = new Set([
  'provider',
  'file.path',
  'agent_hooks_log',
  'hooks.output',
  ...[...providers, 'agent-hooks-http' as const].flatMap(addressKeys),
]);

/** The settings with the credentials of a destination. */
export function openingKeys({
  provider,
  name,
  signals: targets,
}: Pick<Destination, 'provider' | 'name'> & Partial<Pick<Destination, 'signals'>>): string[] {
  const changing = Object.values(targets ?? {}).find(({ credentials }) => credentials !== undefined)?.credentials;
  const keys = changing === undefined ? openingKeysOf(provider) : changingKeysOf(changing);
  return name === undefined || provider === 'agent-hooks-http' || provider === 'agent-hooks-log'
    ? keys
    : keys.map(key => placeOfKey({ name, provider }, key));
}

function openingKeysOf(provider: Provider): Key[] {
  if (provider === 'agent-hooks-http') return ['hooks.headers'];
  if (!isPreset(provider)) return ['otlp.headers'];
  const { endpoint, needs, secrets } = presetNamed(provider);
  const keys = [...new Set([...needs, ...secrets])].filter(key => key !== endpoint);
  return keys.length > 0 ? keys : [endpoint];
}

/**
 * `--provider`: the configured providers that were named. A configuration without a provider leaves the choice to the
 * hooks, like that of the Python package of the same name. The events' file is no provider and stays.
 */
export function destinationsFor(
  config: Config,
  provider: string | undefined,
): { destinations: Destination[]; problems: Problem[] } {
  if (provider === undefined || config.values.enabled === false) return destinationsOf(config);
  const asked = wordsOf(provider);
  const isOpen = config.values.provider === undefined;
  const isNamed = (word: string): boolean => config.named.some(each => each.name === word || each.provider === word);
  const opened = asked.filter(word => isProvider(word) && !isNamed(word));
  const named = isOpen && opened.length > 0 ? { ...config, values: { ...config.values, provider: opened } } : config;
  const { destinations, problems } = destinationsOf(named);
  const isAsked = ({ provider: kind, name = kind }: Destination): boolean =>
    asked.includes(kind) || asked.includes(name);
  const missing = asked.filter(word => !isNamed(word) && !destinations.some(each => each.provider === word));
  const lacks = (word: string): boolean =>
    problems.some(each => each.code === 'provider-incomplete' && each.provider === word);
  return {
    destinations: destinations.filter(each => each.provider === 'agent-hooks-log' || isAsked(each)),
    problems: [
      ...problems,
      ...missing.flatMap((word): Problem[] => {
        if (!isProvider(word)) return [unknownProvider(word, '--provider')];
        return isOpen || lacks(word) ? [] : [{ code: 'provider-not-configured', provider: word }];
      }),
    ],
  };
}

/** The providers of the configuration and of the hooks: all destinations that sessions of this machine may have. */
export function destinationsInUse(
  config: Config,
  named: readonly (string | undefined)[],
): { destinations: Destination[]; problems: Problem[] } {
  const found = [...new Set([undefined, ...named])].map(provider => destinationsFor(config, provider));
  const destinations = new Map(found.flatMap(each => each.destinations.map(one => [one.id, one])));
  const problems = new Map(found.flatMap(each => each.problems.map(one => [JSON.stringify(one), one])));
  return { destinations: [...destinations.values()], problems: [...problems.values()] };
}

const isProvider = (word: string): boolean => (providers as readonly string[]).includes(word);

function unknownProvider(provider: string, from: string): Problem {
  return { code: 'provider-unknown', provider, from, known: providers, nearest: nearest(provider, providers) };
}

function namedProviders(config: Config, problems: Problem[]): Set<string> {
  const { values, origins } = config;
  const named = new Set<string>();
  for (const word of wordsOf(values.provider)) {
    if (isProvider(word)) named.add(word);
    else problems.push(unknownProvider(word, origins.provider ?? 'provider'));
  }
  if (values.provider === undefined && hasEndpoint(values)) named.add('otlp');
  // An exporter that is named counts as a named provider.
  for (const signal of signals) {
    for (const word of exportersOf(values, signal) ?? []) if (word !== 'none') named.add(word);
  }
  return named;
}

const hasOwnEndpoint = (values: Values): boolean =>
  signals.some(signal => values[`otlp.${signal}_endpoint`] !== undefined);
const hasEndpoint = (values: Values): boolean => values['otlp.endpoint'] !== undefined || hasOwnEndpoint(values);

const protocolOf = (values: Values, signal: OtlpSignal): Protocol =>
  values[`otlp.${signal}_protocol`] ?? values['otlp.protocol'] ?? 'http/protobuf';

type Targets = { -readonly [S in Signal]?: Target };

/** The address of the first signal, for people. The path of a service of gRPC is not configured, so it is left out. */
function ownAddress(targets: Targets): string | undefined {
  const { url, protocol } = targets.traces ?? targets.metrics ?? targets.logs ?? {};
  return url !== undefined && protocol === 'grpc' ? new URL('/', url).href : url;
}

function otlpTargets(config: Config, problems: Problem[]): Targets {
  const { values, origins } = config;
  const general = baseOf(values);
  const origin = origins['otlp.endpoint'] ?? 'default';
  if (general?.signalPath) {
    const endpoint = shownEndpoint(values['otlp.endpoint'] ?? '');
    problems.push({ code: 'endpoint-signal-path', endpoint, used: shownEndpoint(general.base), from: origin });
  }
  const isMistaken = config.problems.some(each => each.code === 'config-value' && each.key === 'otlp.endpoint');
  const targets: Targets = {};
  const without: OtlpSignal[] = [];
  for (const signal of signals) {
    const exporters = exportersOf(values, signal);
    if (exporters !== undefined && !exporters.includes('otlp')) continue;
    const own = values[`otlp.${signal}_endpoint`];
    // If only one signal has an address, the standard sends the others to localhost. There they would wait for ever, so
    // their exporters must be named. An invalid address counts as an address of its signal.
    const isMeant = hasEndpoint(values) && exporters === undefined;
    const protocol = protocolOf(values, signal);
    const fallback = isMeant || isMistaken ? undefined : localhost(protocol);
    const base = own ?? general?.base ?? fallback;
    if (base === undefined) {
      without.push(signal);
      continue;
    }
    const from = own === undefined ? origin : (origins[`otlp.${signal}_endpoint`] ?? 'default');
    addressProblems(base, { from, isGrpc: protocol === 'grpc', isOwn: own !== undefined }, problems);
    const isWhole = own !== undefined && protocol !== 'grpc';
    targets[signal] = otlpTarget(
      config,
      signal,
      isWhole ? new URL(own).href : signalUrl(base, signal, protocol),
      problems,
    );
  }
  if (without.length > 0) {
    const key = `otlp.endpoint or ${without.map(signal => `otlp.${signal}_endpoint`).join(' and ')}`;
    problems.push({ code: 'endpoint-missing', signals: without, key });
  }
  return targets;
}

/** The port or the path of an address contradicts the protocol. */
function addressProblems(
  base: string,
  { from, isGrpc, isOwn }: { from: string; isGrpc: boolean; isOwn: boolean },
  problems: Problem[],
): void {
  const { port, pathname } = new URL(base);
  const endpoint = shownEndpoint(base);
  if (!isGrpc && !isOwn && port === GRPC_PORT) push({ code: 'endpoint-grpc-port', endpoint, from });
  if (isGrpc && pathname !== '/')
    push({ code: 'endpoint-grpc-path', endpoint, used: new URL('/', endpoint).origin, from });

  function push(problem: Problem): void {
    if (!problems.some(each => JSON.stringify(each) === JSON.stringify(problem))) problems.push(problem);
  }
}

function presetTargets(config: Config, name: PresetName, problems: Problem[]): Targets {
  const { values } = config;
  const preset = presetNamed(name);
  const missing = preset.needs.filter(key => values[key] === undefined);
  for (const key of missing) problems.push({ code: 'provider-incomplete', provider: name, key });
  if (missing.length > 0) return {};
  const targets: Targets = {};
  for (const signal of signals) {
    const exporters = exportersOf(values, signal);
    const url = exporters === undefined || exporters.includes('otlp') ? preset.url(values, signal) : undefined;
    if (url === undefined) continue;
    // Without its key the back end would refuse the signal, so the whole signal stays on this machine.
    if (!preset.secrets.every(key => isAllowed(config, key, new URL(url), problems, true))) continue;
    const headers = Object.entries(preset.headers(values, signal)).flatMap(([header, text]): [string, string][] => {
      if (text === undefined) return [];
      const why = badHeader(header, text);
      if (why === undefined) return [[header, text]];
      const key = preset.secrets[0] ?? preset.endpoint;
      problems.push({
        code: 'config-value',
        key,
        why: 'holds characters that no HTTP header may hold',
        used: 'nothing',
      });
      return [];
    });
    targets[signal] = {
      url,
      headers: Object.fromEntries(headers),
      timeoutMs: values[`otlp.${signal}_timeout_ms`] ?? values['otlp.timeout_ms'] ?? 10_000,
      gzip: (values[`otlp.${signal}_compression`] ?? values['otlp.compression']) !== 'none',
      // Some receivers do not accept JSON.
      protocol: 'http/protobuf',
      tls: {},
    };
  }
  return targets;
}

/**
 * The base address of all signals. The Python package wrote the address of one signal there, so such a path is removed.
 */
function baseOf(values: Values): { base: string; signalPath: boolean } | undefined {
  const endpoint = values['otlp.endpoint'];
  if (endpoint === undefined) return undefined;
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/v1\/(traces|metrics|logs)\/?$/, '');
  const signalPath = path !== url.pathname;
  url.pathname = path;
  return { base: url.href, signalPath };
}

const services: { readonly [S in OtlpSignal]: string } = {
  traces: 'trace.v1.TraceService',
  metrics: 'metrics.v1.MetricsService',
  logs: 'logs.v1.LogsService',
};

function signalUrl(base: string, signal: OtlpSignal, protocol: Protocol): string {
  if (protocol === 'grpc') return new URL(`/opentelemetry.proto.collector.${services[signal]}/Export`, base).href;
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/${signal}`;
  return url.href;
}

function otlpTarget(config: Config, signal: OtlpSignal, address: string, problems: Problem[]): Target {
  const { values } = config;
  const url = new URL(address);
  const protocol = protocolOf(values, signal);
  const allowed = new Map(credentialKeys(signal).map(key => [key, isAllowed(config, key, url, problems)]));
  const given = (key: Key): Record<string, string> =>
    allowed.get(key) ? headersOf(config, key, problems, protocol === 'grpc') : {};
  const headers = { ...authorizationOf(url), ...given('otlp.headers'), ...given(`otlp.${signal}_headers`) };
  const pick = (key: 'client_certificate' | 'client_key'): string | undefined =>
    (allowed.get(`otlp.${signal}_${key}`) ? values[`otlp.${signal}_${key}`] : undefined) ??
    (allowed.get(`otlp.${key}`) ? values[`otlp.${key}`] : undefined);
  const credentials = changingCredentials(config, url, problems, isAllowed);
  return {
    url: withoutCredentials(url),
    headers,
    timeoutMs: values[`otlp.${signal}_timeout_ms`] ?? values['otlp.timeout_ms'] ?? 10_000,
    gzip: (values[`otlp.${signal}_compression`] ?? values['otlp.compression']) !== 'none',
    protocol,
    tls: {
      ca: values[`otlp.${signal}_certificate`] ?? values['otlp.certificate'],
      cert: pick('client_certificate'),
      key: pick('client_key'),
    },
    ...(credentials === undefined ? {} : { credentials }),
  };
}

function eventsTarget(config: Config, address: string, problems: Problem[]): Target {
  const { values } = config;
  const url = new URL(address);
  const allowed = isAllowed(config, 'hooks.headers', url, problems);
  const headers = { ...authorizationOf(url), ...(allowed ? headersOf(config, 'hooks.headers', problems) : {}) };
  const sign = values['hooks.sign_key'];
  return {
    ...local,
    url: withoutCredentials(url),
    headers,
    tls: { ca: values['hooks.certificate'] },
    ...(sign === undefined ? {} : { sign }),
  };
}

/** A credential is sent to the hosts that its layer or a lower one named, so that no higher layer can redirect it. */
function isAllowed(
  { values, origins, bound }: Config,
  key: Key,
  url: URL,
  problems: Problem[],
  isOptional = false,
): boolean {
  if (values[key] === undefined) return isOptional;
  const hosts = bound[key] ?? [];
  if (hosts.length === 0 || hosts.includes(url.origin)) return true;
  const problem: Problem = { code: 'credentials-withheld', key, from: origins[key] ?? 'default', endpoint: url.origin };
  if (!problems.some(each => JSON.stringify(each) === JSON.stringify(problem))) problems.push(problem);
  return false;
}

/** User name and password in an address are sent as a header. */
function authorizationOf(url: URL): Record<string, string> {
  if (url.username === '' && url.password === '') return {};
  const pair = `${decoded(url.username) ?? url.username}:${decoded(url.password) ?? url.password}`;
  return { authorization: `Basic ${Buffer.from(pair, 'utf8').toString('base64')}` };
}

function headersOf({ values, origins }: Config, key: Key, problems: Problem[], isGrpc = false): Record<string, string> {
  const value = values[key];
  const pairs = typeof value === 'string' ? parsePairs(value) : value;
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(pairs ?? {})) {
    const why = badHeader(name, text, isGrpc);
    // Names are not case-sensitive. In lower case, a later one replaces an earlier one.
    if (why === undefined) headers[name.toLowerCase()] = text;
    else {
      const shown = JSON.stringify(name).slice(0, 60);
      const problem: Problem = {
        code: 'config-value',
        key,
        why: `holds the header ${shown}, which ${why}`,
        used: 'no such header',
      };
      const variable = origins[key]?.startsWith('environment ') ? origins[key].slice('environment '.length) : undefined;
      const placed = { ...problem, variable };
      if (!problems.some(each => JSON.stringify(each) === JSON.stringify(placed))) problems.push(placed);
    }
  }
  return headers;
}

const local: Target = { headers: {}, timeoutMs: 10_000, gzip: false, protocol: 'http/json', tls: {} };

function localTargets(values: Values, provider: 'console' | 'file', where: { path?: string }): Targets {
  const targets: Targets = {};
  const isNamed = wordsOf(values.provider).includes(provider);
  for (const signal of signals) {
    const exporters = exportersOf(values, signal);
    const goes = exporters === undefined ? isNamed : goesLocal(exporters, provider, isNamed);
    if (goes) targets[signal] = { ...local, ...where };
  }
  return targets;
}

/** The standard has no word for a file: it gets all signals that are not `none`. */
function goesLocal(exporters: readonly string[], provider: 'console' | 'file', isNamed: boolean): boolean {
  return provider === 'file' ? isNamed && !exporters.includes('none') : exporters.includes('console');
}

function complete(values: Values, provider: Provider, endpoint: string, targets: Targets): Destination {
  const isDelta =
    values['otlp.temporality'] !== 'cumulative' || (isPreset(provider) && presetNamed(provider).temporality);
  const temporality = isDelta ? 'delta' : 'cumulative';
  const identity = Object.entries(targets).map(([signal, { url, path, headers, tls, types, credentials }]) => [
    signal,
    url,
    path,
    Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1)),
    tls,
    ...(types === undefined ? [] : [types]),
    ...(credentials === undefined ? [] : [credentials]),
  ]);
  return {
    v: 1,
    id: digest('otel-hooks/destination/1', provider, temporality, JSON.stringify(identity)).toString('hex', 0, 8),
    provider,
    endpoint,
    signals: targets,
    temporality: wayOf(provider) === 'otlp' ? temporality : 'cumulative',
    metricIntervalMs: values['metrics.interval_ms'] ?? 15_000,
  };
}
