/**
 * Checks the options of the bridge and turns them into the configuration of sessions. `settingOf` has the setting of
 * the command for each option that has one. The schema of that setting then checks the value.
 */
import { limitsOf } from '../config/config.ts';
import { parsePairs } from '../config/pairs.ts';
import { factsOf, type Key, type Values } from '../config/schema.ts';
import { nearest } from '../lib/nearest.ts';
import { isFields, own } from '../lib/read.ts';
import { contentSettings } from '../session/own-content.ts';
import { riskSettings } from '../session/own-rules.ts';
import { userAndHost, watchSettings } from '../session/pin.ts';
import { costSettings } from '../session/prices.ts';
import type { Pinned } from '../session/session-state.ts';
import { resourceAttributes } from '../telemetry/resource.ts';
import type { BridgeOptions } from './bridge-options.ts';

/** The options that are settings of the command as well. */
const settingOf = {
  'content.prompt': 'content.prompt',
  'content.response': 'content.response',
  'content.arguments': 'content.arguments',
  'content.results': 'content.results',
  'content.paths': 'content.paths',
  'content.commands': 'content.commands',
  'content.user': 'content.user',
  'content.host': 'content.host',
  'content.on': 'content.on',
  'content.maxChars': 'max_chars',
  'content.hashKey': 'content.hash_key',
  'content.metadata': 'metadata.include',
  'content.redact': 'redaction.patterns',
  'content.allow': 'redaction.allow',
  'limits.attributeCount': 'limits.attribute_count',
  'limits.attributeValueLength': 'limits.attribute_value_length',
  'limits.linkCount': 'limits.span_link_count',
  'risk.enabled': 'risk.enabled',
  'risk.rules': 'risk.rules',
  'risk.overrides': 'risk.overrides',
  'cost.enabled': 'cost.enabled',
  'cost.prices': 'cost.prices',
  'loops.failing': 'loops.failing',
  'loops.unchanged': 'loops.unchanged',
  'loops.minutes': 'loops.minutes',
  'budget.sessionTokens': 'budget.session_tokens',
  'budget.turnTokens': 'budget.turn_tokens',
  'budget.sessionUsd': 'budget.session_usd',
  'budget.turnUsd': 'budget.turn_usd',
  'logs.level': 'logs.level',
  'metrics.include': 'metrics.include',
  shape: 'trace.shape',
  turns: 'trace.turns',
  denyAsError: 'trace.deny_as_error',
  semconv: 'semconv',
} as const satisfies { [option: string]: Key };

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;
const isFunction = (value: unknown): boolean => typeof value === 'function';
const has = (value: unknown, method: string): boolean =>
  typeof value === 'object' && value !== null && isFunction((value as { [name: string]: unknown })[method]);
const isLate = (method: string) => (value: unknown) => value === false || isFunction(value) || has(value, method);
const isListOf = (method: string) => (value: unknown) => Array.isArray(value) && value.every(each => has(each, method));
const isOneOf =
  (...words: unknown[]) =>
  (value: unknown) =>
    words.includes(value);
const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** The options that only the library has: the check of the value, and its description. */
const ownOptions: { readonly [option: string]: readonly [check: (value: unknown) => boolean, wanted: string] } = {
  tracerProvider: [isLate('getTracer'), 'a tracer provider, a function that returns one, or false'],
  spanProcessors: [isListOf('onEnd'), 'a list of span processors'],
  spanExporters: [isListOf('export'), 'a list of span exporters'],
  loggerProvider: [isLate('getLogger'), 'a logger provider, a function that returns one, or false'],
  meterProvider: [isLate('getMeter'), 'a meter provider, a function that returns one, or false'],
  resource: [value => isFields(value) && isFields(value.attributes), 'a resource, or an object with `attributes`'],
  sampler: [value => has(value, 'shouldSample'), 'a sampler'],
  parent: [isOneOf('link', 'parent', 'none'), 'link, parent or none'],
  idScope: [isOneOf('process', 'session'), 'process or session'],
  onError: [isFunction, 'a function'],
  onSpan: [isFunction, 'a function'],
  transcripts: [isOneOf(true, false), 'true or false'],
  repository: [isOneOf(true, false), 'true or false'],
  installation: [isText, 'a text'],
  'limits.queue': [isCount, 'an integer above 0'],
  'limits.openSessions': [isCount, 'an integer above 0'],
  'limits.silenceMs': [isCount, 'an integer above 0'],
  'limits.endedMs': [isCount, 'an integer above 0'],
  'limits.exportTimeoutMs': [isCount, 'an integer above 0'],
};

const known = [...Object.keys(settingOf), ...Object.keys(ownOptions)];
const groups = new Set(known.filter(name => name.includes('.')).map(name => name.split('.')[0]));

/** Checks the options. Returns the settings among them. Throws a TypeError that names the first bad option. */
export function settingsOf(options: BridgeOptions): Values {
  if (!isFields(options)) throw new TypeError('otel-hooks: the options of createBridge are an object');
  const values: { [key: string]: unknown } = {};
  for (const [name, value] of entriesOf(options)) {
    const check = own(ownOptions, name);
    if (check !== undefined) {
      if (!check[0](value)) throw new TypeError(`otel-hooks: the option ${name} is ${check[1]}`);
      continue;
    }
    const key = own<Key>(settingOf, name);
    if (key === undefined) throw unknownOption(name);
    const checked = factsOf(key).schema.safeParse(value);
    if (!checked.success) throw new TypeError(`otel-hooks: the option ${name}: ${checked.error.issues[0]?.message}`);
    values[key] = checked.data;
  }
  return values as Values;
}

function unknownOption(name: string): TypeError {
  const like = nearest(
    name,
    [...known, ...groups].filter(each => each !== undefined),
  );
  return new TypeError(
    `otel-hooks: there is no option ${name}${like === undefined ? '' : `; there is an option ${like}`}`,
  );
}

/** All options that are set, with the names of their groups. */
function entriesOf(options: object): [string, unknown][] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (!groups.has(name)) return [[name, value]];
    if (!isFields(value)) throw new TypeError(`otel-hooks: the option ${name} is an object`);
    return Object.entries(value).flatMap(([part, inner]): [string, unknown][] =>
      inner === undefined ? [] : [[`${name}.${part}`, inner]],
    );
  });
}

/** The number of cached configurations. It is limited, because events of standards may name any agent. */
const MOST_AGENTS = 64;

type Env = Readonly<Record<string, string | undefined>>;

export const isDisabled = (env: Env): boolean => env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';

/** The parts of a session's configuration that do not depend on its agent, and the problems of the options. */
export function pinnedOf(
  options: BridgeOptions,
  values: Values,
  { installation, hashKey, env }: { installation: string; hashKey: string; env: Env },
): { pinnedFor(agent: string): Pinned; problems: string[] } {
  const content = contentSettings({ values, named: [] });
  const risk = riskSettings({ values });
  const { user, host } = userAndHost(content.settings, hashKey, undefined);
  const { semconv = 'latest', 'logs.level': level = 'debug', 'metrics.include': include = [] } = values;
  const isTurnShaped = values['trace.shape'] === 'turn';
  const attributes = textsOf({
    ...parsePairs(env.OTEL_RESOURCE_ATTRIBUTES ?? ''),
    ...(isText(env.OTEL_SERVICE_NAME) ? { 'service.name': env.OTEL_SERVICE_NAME } : {}),
    ...options.resource?.attributes,
  });
  const makePinned = (agent: string): Pinned => ({
    destinations: [],
    resource: resourceAttributes({ agent, serviceName: undefined, attributes, installation, hostName: host }),
    denyAsError: values['trace.deny_as_error'] ?? false,
    shape: isTurnShaped ? 'turn' : undefined,
    turns: values['trace.turns'] === 'off' && !isTurnShaped ? 'off' : undefined,
    caller: undefined,
    sampler: { kind: 'always_on', ratio: 1 },
    limits: limitsOf(values),
    semconv: semconv === 'latest' ? undefined : semconv,
    risk: risk.settings,
    watch: watchSettings({ values }),
    metrics: include.length === 0 ? undefined : { include },
    cost: costSettings({ values }),
    content: content.settings,
    level: level === 'debug' ? undefined : level,
    user,
  });
  const made = new Map<string, Pinned>();
  const pinnedFor = (agent: string): Pinned => {
    const pinned = made.get(agent) ?? makePinned(agent);
    if (made.size < MOST_AGENTS) made.set(agent, pinned);
    return pinned;
  };
  const problems = [...content.problems, ...risk.problems].map(problem =>
    'value' in problem && 'why' in problem ? `${problem.value}: ${problem.why}` : problem.code,
  );
  return { pinnedFor, problems };
}

/** Converts the attributes of a resource to texts. Values that are still pending in the SDK are left out. */
function textsOf(attributes: { readonly [name: string]: unknown }): Record<string, string> {
  const given = Object.entries(attributes).filter(
    ([name, value]) => ['string', 'number', 'boolean'].includes(typeof value) && !name.startsWith('telemetry.sdk.'),
  );
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}
