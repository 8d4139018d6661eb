/** Pins a session to its configuration at its first event: the files for its folder, then the variables of its hook. */
import { hostname, userInfo } from 'node:os';
import type { Config } from '../config/config.ts';
import type { Destination } from '../config/destinations.ts';
import { addressKeys, destinationsFor, keepsFromDestinations } from '../config/destinations.ts';
import { type LoadedConfig, loadConfig } from '../config/files.ts';
import { honouredVariables } from '../config/variables.ts';
import { textInMode } from '../enrich/content.ts';
import { keyed } from '../enrich/redact.ts';
import type { ContentMode } from '../event/content-classes.ts';
import { usualLoops } from '../event/loop-limits.ts';
import type { Fragment } from '../hook/fragment.ts';
import { digest, keyedHash } from '../lib/hash.ts';
import type { Problem } from '../problems/problem.ts';
import type { Opening } from '../receive/receive.ts';
import { MOST_SERIES } from '../telemetry/cardinality.ts';
import { resourceAttributes } from '../telemetry/resource.ts';
import { contentSettings, keeperOf } from './own-content.ts';
import { riskSettings } from './own-rules.ts';
import { costSettings } from './prices.ts';
import type { ContentSettings, MetricSettings, Pinned } from './session-state.ts';

export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  platform: NodeJS.Platform;
  /** True for a command: its own variables count below those of the hook. A kicked process ignores its variables. */
  ownVariables: boolean;
  /**
   * For a command the value of `--config`, which overrides the hook's variable. Otherwise the file for hooks that name
   * none.
   */
  configFile: string | undefined;
  installation: string;
  /** The installation's key for hashes of content. */
  hashKey: string;
}

/**
 * Baggage of commands that OpenHook dispatches. A session that an agent begins in there is not dispatched again, which
 * would be a loop.
 */
export const DISPATCHED = 'otel-hooks.dispatched=1';

export interface Pin {
  pinned: Pinned;
  destinations: Destination[];
  /** Events go to the commands of the project's `.openhook.json` that the user trusts. */
  isDispatched: boolean;
  /** The named configuration file. */
  named: string | undefined;
  /** The setting of a project's file that keeps the session's spans on this machine. */
  silencedBy: LoadedConfig['silencedBy'];
  problems: Problem[];
}

const TELEMETRY = /^(OTEL_|AGENT_HOOKS_LOG$)/;
/** Variables of back ends, of which an agent's environment may have others than that of this process. */
const isTelemetry = (name: string): boolean => TELEMETRY.test(name) || honouredVariables.includes(name);

/** Pins a session. `wasUndecided`: a broken configuration kept the session from all destinations before. */
export function pin(
  opening: Pick<Opening, 'cwd' | 'user'> & { agent: Pick<Opening['agent'], 'id'> },
  fragment: Pick<Fragment, 'header'>,
  where: Surroundings,
  wasUndecided = false,
): Pin {
  const { config, file, env } = configFor(opening, fragment, where);
  const { provider, TRACEPARENT: traceparent, BAGGAGE: baggage } = fragment.header;
  const { destinations, problems } = configuredIn(config, opening.cwd ?? where.home, provider);
  const { values, silencedBy, projectFile = '' } = config;
  if (silencedBy !== undefined) problems.push({ code: 'session-silenced', key: silencedBy, file: projectFile });
  // There are no destinations although no setting turns them off, so the configuration has an error.
  const isKept = destinations.length === 0 && values.enabled !== false;
  const isUndecided = isKept && (wasUndecided || [...config.problems, ...problems].some(keepsFromDestinations));
  const isUserTold = opening.user === undefined ? undefined : true;
  const { settings, problems: more } = settingsIn(config, opening, where);
  const pinned: Pinned = {
    destinations: destinations.map(destination => destination.id),
    ...(provider === undefined ? {} : { providers: [provider] }),
    ...(isUndecided ? { undecided: { cwd: opening.cwd, header: fragment.header, isUserTold } } : {}),
    caller: callerOf(traceparent, values['trace.traceparent']),
    ...settings,
  };
  return {
    pinned,
    destinations,
    isDispatched: values['openhook.enabled'] === true && !baggage?.includes(DISPATCHED),
    named: file === undefined && !env.OTEL_HOOKS_CONFIG ? undefined : config.globalFile,
    silencedBy,
    problems: [...config.problems, ...problems, ...more],
  };
}

/** The configuration of the session's folder, with the variables of its first hook. */
function configFor(
  { cwd }: Pick<Opening, 'cwd'>,
  { header }: Pick<Fragment, 'header'>,
  where: Surroundings,
): { config: LoadedConfig; file: string | undefined; env: Surroundings['env'] } {
  const given = Object.entries(header).filter(([name]) => isTelemetry(name));
  const own = Object.entries(where.env).filter(([name]) => where.ownVariables || !isTelemetry(name));
  const env = { ...Object.fromEntries(own), ...Object.fromEntries(given) };
  // The flag of a hook comes from the user. The variable is checked when it is read, because a project may have set it.
  const { config: flag, OTEL_HOOKS_CONFIG: variable } = header;
  const file = where.ownVariables ? (where.configFile ?? flag) : (flag ?? (variable ? undefined : where.configFile));
  const { home, platform } = where;
  return { config: loadConfig({ env, home, platform, cwd: cwd ?? home, hookCwd: header.cwd, file }), file, env };
}

/** The part of the configuration that a session keeps. A default is left out, so that states stay small. */
function settingsIn(
  config: LoadedConfig,
  opening: Pick<Opening, 'user'> & { agent: Pick<Opening['agent'], 'id'> },
  where: Surroundings,
): { settings: Omit<Pinned, 'destinations' | 'caller'>; problems: Problem[] } {
  const { values } = config;
  const risk = riskSettings(config);
  const content = contentSettings(config);
  const { user, host } = userAndHost(content.settings, where.hashKey, opening.user);
  const { semconv = 'latest', 'logs.level': level = 'debug' } = values;
  const isTurnShaped = values['trace.shape'] === 'turn';
  const unusual: Partial<Pinned> = {
    shape: isTurnShaped ? 'turn' : undefined,
    turns: values['trace.turns'] === 'off' && !isTurnShaped ? 'off' : undefined,
    repository: values['trace.repository'] === false ? false : undefined,
    semconv: semconv === 'latest' ? undefined : semconv,
    spanNames: values['compat.span_names'] === 'v0' ? 'v0' : undefined,
    risk: risk.settings,
    cost: costSettings(config),
    metrics: metricSettings(config),
    content: content.settings,
    level: level === 'debug' ? undefined : level,
    levels: values['logs.levels'],
    keep: values['trace.keep'],
    user,
  };
  const settings = {
    resource: resourceAttributes({
      agent: opening.agent.id,
      serviceName: values.service_name,
      attributes: config.attributes,
      installation: where.installation,
      hostName: host,
    }),
    denyAsError: values['trace.deny_as_error'] ?? false,
    sampler: config.sampler,
    limits: config.limits,
    ...Object.fromEntries(Object.entries(unusual).filter(([, value]) => value !== undefined)),
    watch: watchSettings(config),
  };
  return { settings, problems: [...risk.problems, ...content.problems] };
}

export const watchSettings = ({ values }: Pick<Config, 'values'>): NonNullable<Pinned['watch']> => ({
  loops: {
    failing: values['loops.failing'] ?? usualLoops.failing,
    unchanged: values['loops.unchanged'] ?? usualLoops.unchanged,
    minutes: values['loops.minutes'] ?? usualLoops.minutes,
  },
  budget: {
    sessionTokens: values['budget.session_tokens'],
    turnTokens: values['budget.turn_tokens'],
    sessionUsd: values['budget.session_usd'],
    turnUsd: values['budget.turn_usd'],
  },
});

/** The destinations of a configuration that was read for a folder. `provider`: those that hooks name alone. */
export function configuredIn(
  config: LoadedConfig,
  cwd: string,
  provider?: string,
): { destinations: Destination[]; problems: Problem[] } {
  const { destinations, problems } = destinationsFor(config, provider);
  return { destinations: destinations.map(each => ({ ...each, source: sourceOf(each, config, cwd) })), problems };
}

/** The source of a value: the path of a file or, for variables, the folder of the session. */
function sourceOf({ provider, name, id }: Destination, config: LoadedConfig, cwd: string): string | undefined {
  if (name !== undefined) return digest('otel-hooks/source/2', id).toString('hex', 0, 8);
  const places = addressKeys(provider).flatMap(key => {
    const origin = config.origins[key];
    if (origin === undefined || origin === 'default') return [];
    if (origin === 'global file') return config.globalFile;
    return origin === 'project file' ? (config.projectFile ?? []) : `variables in ${cwd}`;
  });
  const all = [...new Set(places)].sort();
  return all.length === 0 ? undefined : digest('otel-hooks/source/1', ...all).toString('hex', 0, 8);
}

/**
 * The user and the machine, as configured: the user that a standard's event names, otherwise the user who is logged in.
 */
export function userAndHost(
  content: ContentSettings | undefined,
  key: string,
  statedUser: string | undefined,
): { user?: string | undefined; host?: string | undefined } {
  const keeper = keeperOf({ content });
  if (content === undefined || keeper === undefined) return {};
  const { modes, hashKey = key } = content;
  const shown = (mode: ContentMode, text: string): string | undefined =>
    mode === 'hash' ? keyed(text, each => keyedHash(hashKey, each)) : textInMode(mode, text, keeper);
  const name = statedUser ?? userName();
  return { user: name === '' ? undefined : shown(modes.user, name), host: shown(modes.host, hostname()) };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // The uid has no name on this system.
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** Undefined when nothing is set. */
function metricSettings({ values }: Config): MetricSettings | undefined {
  const include = values['metrics.include'] ?? [];
  const { 'metrics.series': series = MOST_SERIES, 'metrics.exemplars': exemplars = true } = values;
  if (include.length === 0 && series === MOST_SERIES && exemplars) return undefined;
  return { include, series, exemplars };
}

/**
 * The trace that the agent was started in, in the W3C format. It is a link by default: an interactive shell may carry a
 * stale trace, and all sessions of a day would share it.
 */
export function callerOf(traceparent: string | undefined, policy: string | undefined): Pinned['caller'] {
  const [, traceId = '', spanId = ''] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(traceparent ?? '') ?? [];
  if (policy === 'ignore' || !/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId)) return undefined;
  return { policy: policy === 'parent' ? 'parent' : 'link', traceId, spanId };
}
