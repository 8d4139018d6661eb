/**
 * Decides whether a converted hook runs through `otel-hooks run-hook`. A command speaks the dialect of the agent that it
 * was written for. An agent with another dialect ignores its answers, so the runtime translates them.
 */
import { isObject } from '../standards/wording.ts';
import type { AddLoss } from './losses.ts';
import type { Handler, Hook, Manifest } from './manifest.ts';
import type { Provider, Target } from './provider.ts';
import { quoted } from './replacement-commands.ts';

/** The key in `provider_data` for facts about a hook that belong to no agent. */
export const OWN = 'otel-hooks';
export const FORMAT = 'hook-interchange';
const PROGRAM = 'otel-hooks run-hook';
/** Where the command cannot be started, killed or answered for, a guard must not let an action pass. */
const OR_DENY = ' || exit 2';

const DEFAULT_TIMEOUT_S = 30;
/** The runtime decides before the agent ends it. */
const MARGIN_S = 5;

/** The dialect of the command of a hook. */
export function dialectOf({ provider_data: data }: Hook): string {
  const dialect = data?.[OWN]?.dialect;
  return typeof dialect === 'string' ? dialect : FORMAT;
}

/** Notes the dialect of commands that were read from the file of an agent. */
export function withDialect(manifest: Manifest, slug: string): Manifest {
  const hooks = manifest.hooks.map(hook =>
    hasNote(hook) || hook.handler.type !== 'command' ? hook : noted(hook, slug),
  );
  return { ...manifest, hooks };
}

const hasNote = ({ provider_data: data }: Hook): boolean => data?.[OWN]?.dialect !== undefined;

const noted = (hook: Hook, dialect: string, failsClosed = false): Hook => ({
  ...hook,
  provider_data: {
    ...hook.provider_data,
    [OWN]: { ...hook.provider_data?.[OWN], dialect, ...(failsClosed ? { fail: 'closed' } : {}) },
  },
});

/** Returns true if the command speaks another dialect than the target. */
const isForeign = (hook: Hook, { provider }: Target): boolean =>
  hook.handler.type === 'command' && dialectOf(hook) !== provider.slug;

const usesRuntime = (hook: Hook, target: Target): boolean => target.commands === 'runtime' && isForeign(hook, target);

/** The target as this hook meets it: the runtime supports more than the agent. */
export const translated = (hook: Hook, target: Target): Target =>
  usesRuntime(hook, target) ? { ...target, isTranslated: true } : target;

/** Adds a loss for a guard whose bare command speaks another dialect. */
export function addPlainLoss(hook: Hook, target: Target, addLoss: AddLoss): void {
  if (target.commands !== 'plain' || hook.blocking !== true || !isForeign(hook, target)) return;
  const { title } = target.provider;
  const from = dialectOf(hook) === FORMAT ? 'the format' : dialectOf(hook);
  addLoss({
    kind: 'semantic_approximation',
    severity: 'warning',
    field: 'handler.command',
    message: `the command answers in the words of ${from}, which ${title} does not read: it may not block there`,
    suggestion: 'without --plain, otel-hooks run-hook translates its answers.',
  });
}

/** Returns the handler of a native entry: the hook's own, or the command of the runtime. */
export function runtimeHandler(hook: Hook, native: string, target: Target): Handler {
  if (!usesRuntime(hook, target)) return hook.handler;
  const { type, command = '', timeout, status_message: message, platform, async } = hook.handler;
  const isPatient = target.layout.fields.timeout !== undefined;
  const words = flagsOf(hook, native, target.provider);
  const line = (quote: (text: string) => string, end: string): string =>
    `${PROGRAM} ${words.map(word => (/^[\w./=:-]+$/.test(word) ? word : quote(word))).join(' ')} -- ${quote(command)}${end}`;
  const windows = target.layout.fields.platform?.windows;
  return {
    type,
    command: line(quoted, hook.blocking === true ? OR_DENY : ''),
    ...(windows === undefined || platform?.windows === undefined
      ? {}
      : { platform: { windows: line(forWindows, '') } }),
    ...(isPatient ? { timeout: Math.ceil(timeout || DEFAULT_TIMEOUT_S) + MARGIN_S } : {}),
    ...(message === undefined ? {} : { status_message: message }),
    ...(async === true && target.layout.fields.async !== undefined ? { async } : {}),
  };
}

/** Programs on Windows read `\"` as a quote inside quotes. */
const forWindows = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;

function flagsOf(
  { name, handler, blocking, degradation, provider_data: data }: Hook,
  native: string,
  { slug }: Provider,
): string[] {
  const dialect = data?.[OWN]?.dialect;
  const strategies = Object.entries(degradation ?? {}).map(([capability, strategy]) => `${capability}=${strategy}`);
  return [
    ...['--as', slug, '--event', native],
    ...(name === undefined ? [] : ['--hook', name]),
    ...(typeof dialect === 'string' && dialect !== FORMAT ? ['--from', dialect] : []),
    ...(blocking === true ? ['--blocking'] : []),
    ...(data?.[OWN]?.fail === 'closed' || isStrict(data) ? ['--fail', 'closed'] : []),
    ...(handler.timeout === undefined || handler.timeout === 0 ? [] : ['--timeout', String(handler.timeout)]),
    ...(handler.timeout_action === 'block' ? ['--timeout-action', 'block'] : []),
    ...(strategies.length === 0 ? [] : ['--degrade', strategies.join(',')]),
    ...(handler.cwd === undefined ? [] : ['--cwd', handler.cwd]),
    ...Object.entries(handler.env ?? {}).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
    ...Object.entries(handler.platform ?? {}).flatMap(([system, command]) => [`--${system}`, command]),
  ];
}

/** Some agents let an author say that a failing hook denies. */
const isStrict = (data: Hook['provider_data']): boolean =>
  Object.values(data ?? {}).some(each => isObject(each) && (each.failClosed === true || each.onFailure === 'block'));

/** A hook that was read from the command of the runtime. */
export interface Unwrapped {
  readonly handler: Partial<Handler>;
  readonly blocking: boolean;
  readonly name?: string | undefined;
  readonly dialect: string;
  readonly degradation: Hook['degradation'];
  readonly failsClosed: boolean;
}

/** Reads a command that this converter wrote. Returns undefined for any other command. */
export function unwrapped(command: unknown): Unwrapped | undefined {
  if (typeof command !== 'string' || !command.startsWith(`${PROGRAM} `)) return undefined;
  const line = command.endsWith(OR_DENY) ? command.slice(0, -OR_DENY.length) : command;
  const words = wordsIn(line.slice(PROGRAM.length));
  const end = words?.indexOf('--') ?? -1;
  const bare = words?.[end + 1];
  if (words === undefined || end < 0 || bare === undefined || words.length !== end + 2) return undefined;
  const found: { env: Record<string, string>; platform: Record<string, string>; flags: Record<string, string> } = {
    env: {},
    platform: {},
    flags: {},
  };
  for (let i = 0; i < end; i += 1) {
    const name = (words[i] ?? '').slice(2);
    if (name === 'blocking') {
      found.flags.blocking = 'true';
      continue;
    }
    i += 1;
    const value = words[i] ?? '';
    if (name === 'env') found.env[value.slice(0, value.indexOf('='))] = value.slice(value.indexOf('=') + 1);
    else if (['windows', 'linux', 'darwin'].includes(name)) found.platform[name] = value;
    else found.flags[name] = value;
  }
  const { flags, env, platform } = found;
  const strategies = (flags.degrade ?? '').split(',').filter(each => each !== '');
  return {
    handler: {
      command: bare,
      timeout: flags.timeout === undefined ? undefined : Number(flags.timeout),
      ...(flags['timeout-action'] === 'block' ? { timeout_action: 'block' as const } : {}),
      ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }),
      ...(Object.keys(env).length === 0 ? {} : { env }),
      ...(Object.keys(platform).length === 0 ? {} : { platform }),
    },
    blocking: flags.blocking === 'true',
    name: flags.hook,
    dialect: flags.from ?? FORMAT,
    failsClosed: flags.fail === 'closed',
    degradation:
      strategies.length === 0
        ? undefined
        : (Object.fromEntries(strategies.map(each => each.split('='))) as Hook['degradation']),
  };
}

/** Returns the words of a line of this converter; undefined if it has other quotes or operators. */
function wordsIn(line: string): string[] | undefined {
  const words: string[] = [];
  for (const [, word = ''] of line.matchAll(/\s+((?:'[^']*'|\\'|[\w./=:-])+)|(\S)/g)) {
    if (word === '') return undefined;
    words.push(
      word.replace(/'([^']*)'|\\'/g, (whole, inner: string | undefined) => (whole === "\\'" ? "'" : (inner ?? ''))),
    );
  }
  return words;
}

/** Puts the facts of the runtime's command into a hook. */
export function withUnwrapped(
  hook: Hook,
  { handler, blocking, name, dialect, degradation, failsClosed }: Unwrapped,
): Hook {
  const merged = { ...hook.handler, ...handler };
  if (handler.timeout === undefined) delete merged.timeout;
  const { platform: _, ...rest } = merged;
  const found: Hook = {
    ...(name === undefined ? {} : { name }),
    ...hook,
    handler: handler.platform === undefined ? rest : merged,
    blocking,
    ...(degradation === undefined ? {} : { degradation }),
  };
  return noted(found, dialect, failsClosed);
}
