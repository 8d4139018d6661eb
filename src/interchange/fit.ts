/**
 * A manifest as a target can carry it: what each hook needs is held against what there is, and what its author, or the safe
 * default, wants done about a gap is done. What comes out is what is written; nothing is lost without being told.
 */
import { isObject, shown, type Values } from '../standards/wording.ts';
import { capabilitiesOf, has, onlyBlocks, supportOf } from './hook-capabilities.ts';
import { type Loss, type Tell, teller } from './losses.ts';
import { type Handler, type Hook, type Manifest, nameOf } from './manifest.ts';
import { ownData, type Place, placesOf } from './native-places.ts';
import type { Target } from './provider.ts';
import { blocking as blockingCommand, request, softened } from './replacement-commands.ts';
import { type Capability, capabilities, capabilityNames, defaultStrategy, type Strategy } from './vocabulary.ts';

export interface Fitted {
  /** Its place in the manifest. */
  readonly index: number;
  /** As it is written there. */
  readonly hook: Hook;
  readonly outcome: 'keep' | 'block';
  readonly places: readonly Place[];
}

export interface Fit {
  readonly hooks: readonly Fitted[];
  readonly losses: readonly Loss[];
  /** At least one hook is left. */
  readonly isConvertible: boolean;
}

export function fittedTo(manifest: Manifest, target: Target): Fit {
  const losses: Loss[] = [];
  const hooks = manifest.hooks.flatMap((hook, index): Fitted[] => {
    const fitted = fitHook(hook, target, teller(losses, index + 1, nameOf(hook, index)));
    return fitted === undefined ? [] : [{ index, ...fitted }];
  });
  const path = pathLoss(hooks, target);
  if (path !== undefined) losses.push(path);
  return { hooks, losses, isConvertible: hooks.length > 0 };
}

/** A script beside the manifest has to be found from where the target runs it: that is for whoever installs it. */
function pathLoss(hooks: readonly Fitted[], { provider }: Target): Loss | undefined {
  const scripts = hooks.flatMap(({ hook: { handler } }) =>
    handler.command !== undefined && /^\.{1,2}\/\S*$/.test(handler.command) ? [handler.command] : [],
  );
  if (scripts.length === 0) return undefined;
  const message = `${[...new Set(scripts)].join(', ')}: seen from the folder of the manifest, while ${provider.title} has a folder of its own for what it runs`;
  const suggestion = 'Put absolute paths there, or the variable that it has for the project.';
  return { kind: 'semantic_approximation', severity: 'info', field: 'handler.command', message, suggestion };
}

function fitHook(hook: Hook, target: Target, tell: Tell): Omit<Fitted, 'index'> | undefined {
  const places = placesOf(hook, target, tell);
  if (places.length === 0) return undefined;
  const strategy = strategyFor(hook, target, tell);
  tellOthers(hook, target, tell);
  if (strategy === 'exclude') return undefined;
  if (strategy === 'block') return blocked(hook, places, target, tell);
  tellOfBlocking(hook, places, target, tell);
  tellOfAnswers(hook, target, tell);
  const carried = fittedHandler(hook, target, tell);
  if (carried === undefined) return undefined;
  const mayBlock = hook.blocking !== true && places.some(({ effect }) => effect === 'prevent');
  const handler = mayBlock && target.softens ? withSoft(carried) : carried;
  return { hook: { ...hook, handler }, outcome: 'keep', places };
}

function withSoft(handler: Handler): Handler {
  const { command, platform } = handler;
  if (command === undefined) return handler;
  // Windows has no such shell.
  const systems = Object.entries(platform ?? {}).map(([system, each]) => [
    system,
    system === 'windows' ? each : softened(each),
  ]);
  return { ...handler, command: softened(command), ...(platform ? { platform: Object.fromEntries(systems) } : {}) };
}

const strictest: readonly Strategy[] = ['block', 'exclude', 'warn'];

/** Every gap is told; the strictest word about one is done. Undefined: there is nothing to be done. */
function strategyFor(hook: Hook, target: Target, tell: Tell): Strategy | undefined {
  const { title } = target.provider;
  if (isNative(hook, target)) return undefined;
  const words: Strategy[] = [];
  for (const capability of capabilitiesOf(hook)) {
    const support = supportOf(capability, target);
    const strategy = hook.degradation?.[capability] ?? defaultStrategy(capability);
    const about = { kind: `capability:${capability}`, capability, strategy } as const;
    const { what } = capabilities[capability];
    const isHint = capability === 'structured_output' && onlyBlocks(hook);
    if (support === 'partly' && capability === 'structured_output')
      tell({ ...about, severity: 'info', message: `${title} takes a part of ${what} only (${capability})` });
    if (has(capability, target)) continue;
    if (isHint) {
      tell({ ...about, severity: 'info', message: `${title} reads exit codes, and not ${what} (${capability})` });
      continue;
    }
    words.push(strategy);
    tell({
      ...about,
      severity: isGuardLost(capability, strategy, hook) ? 'error' : 'warning',
      message: gapMessage(capability, strategy, title, what, hook),
    });
  }
  if (isUnknownType(hook.handler.type)) {
    const message = `${title} has no handler of type ${hook.handler.type}: left out`;
    tell({ kind: 'field_dropped', severity: hook.blocking ? 'error' : 'warning', field: 'handler.type', message });
    return 'exclude';
  }
  return strictest.find(each => words.includes(each));
}

const isGuardLost = (capability: Capability, strategy: Strategy, { blocking }: Hook): boolean =>
  (capability === 'input_rewrite' && strategy === 'warn') || (blocking === true && strategy === 'exclude');

/** A conversion moves what is run; what that prints stays what it is. */
function tellOfAnswers(hook: Hook, target: Target, tell: Tell): void {
  const { provider } = target;
  if (provider.answers === undefined || onlyBlocks(hook) || !has('structured_output', target)) return;
  const message = `what the hook prints is read by ${provider.title} in its own words: ${provider.answers}`;
  tell({ kind: 'semantic_approximation', severity: 'warning', field: 'handler.command', message });
}

/** A type of handler that was read off the target's own file is known there. */
const isNative = (hook: Hook, target: Target): boolean =>
  hook.handler.type !== 'command' && ownData(hook, target).type === hook.handler.type;

const isUnknownType = (type: string): boolean => !['command', 'http', 'prompt', 'agent'].includes(type);

const gaps: Readonly<Record<Capability, string>> = {
  structured_output: 'its answer in JSON is not read',
  input_rewrite: 'what it rewrites is run as it was',
  llm_evaluated: 'no model is asked',
  http_handler: 'a command makes the request',
  async_execution: 'it is waited for, which may slow the agent down',
  platform_commands: 'its command runs on every system',
  custom_env: 'its variables are not set',
  configurable_cwd: 'it runs in the folder that the target chooses',
};

function gapMessage(capability: Capability, strategy: Strategy, title: string, what: string, hook: Hook): string {
  const lacks = `${title} lacks ${what} (${capability})`;
  if (strategy === 'block') return `${lacks}: the hook is replaced by one that always blocks`;
  if (strategy === 'exclude') return `${lacks}: the hook is left out`;
  const isLost = capability === 'llm_evaluated' || (capability === 'http_handler' && hook.handler.url === undefined);
  return `${lacks}: ${isLost ? 'the hook is left out' : gaps[capability]}`;
}

/** In its place stands a command that stops the action, and says why. */
function blocked(hook: Hook, places: readonly Place[], target: Target, tell: Tell): Omit<Fitted, 'index'> | undefined {
  const { provider } = target;
  const stopping = places.filter(({ effect }) => effect === 'prevent');
  for (const { native, effect } of places)
    if (effect !== 'prevent')
      tell({
        kind: 'blocking_not_honoured',
        severity: 'error',
        message: `${native} of ${provider.title} cannot be stopped, so that the hook cannot be replaced there by one that blocks: left out`,
      });
  if (stopping.length === 0) return undefined;
  const lacking = capabilitiesOf(hook).filter(
    each => !has(each, target) && (hook.degradation?.[each] ?? defaultStrategy(each)) === 'block',
  );
  const { command = hook.handler.url ?? hook.handler.prompt ?? hook.handler.type } = hook.handler;
  const timeout = fittedTimeout(hook.handler, target, tell);
  const reason = `BLOCKED: this hook needs ${lacking.join(', ')}, which ${provider.title} does not have. Instead of it nothing is let through; it would have run: ${command}`;
  const stub = provider.stub?.(reason) ?? { command: blockingCommand(reason) };
  const { windows } = stub;
  const handler: Handler = {
    type: 'command',
    command: stub.command,
    ...(windows === undefined ? {} : { platform: { windows } }),
    ...(timeout === undefined ? {} : { timeout }),
  };
  return { hook: { ...hook, handler, blocking: true }, outcome: 'block', places: stopping };
}

function tellOfBlocking(hook: Hook, places: readonly Place[], target: Target, tell: Tell): void {
  const { provider } = target;
  const { event } = hook;
  const remark = provider.remarks && Object.hasOwn(provider.remarks, event) ? provider.remarks[event] : undefined;
  if (remark?.kind === 'semantic_approximation') tell({ ...remark, severity: 'warning' });
  for (const { native, effect, event: told } of places) {
    if (hook.blocking !== true && effect === 'prevent' && !target.softens)
      tell({
        kind: 'semantic_approximation',
        severity: 'info',
        message: `${native} of ${provider.title} is stopped by exit code 2, though the hook is not to block`,
        suggestion: 'otel-hooks convert --soften makes an error of that code.',
      });
    // Of one that comes too late more was said.
    if (hook.blocking !== true || effect !== 'observe' || told !== event) continue;
    tell({
      kind: 'blocking_not_honoured',
      severity: 'warning',
      message: `${native} of ${provider.title} can only be watched: the hook stops nothing there`,
    });
  }
  if (hook.blocking === true && remark?.kind === 'blocking_may_not_work') tell({ ...remark, severity: 'warning' });
}

/** The handler with what the target has a place for. */
function fittedHandler(hook: Hook, target: Target, tell: Tell): Handler | undefined {
  const { provider, layout } = target;
  const { handler } = hook;
  const { fields } = layout;
  const severity = hook.blocking === true ? 'error' : 'warning';
  if (isNative(hook, target)) return handler;
  if (handler.type === 'http' && !(typeof handler.url === 'string' && /^https:\/\//i.test(handler.url))) {
    const message = `a request to ${handler.url ?? 'no address'} is not made: only https is; left out`;
    tell({ kind: 'field_dropped', severity: 'error', field: 'handler.url', message });
    return undefined;
  }
  if (handler.type === 'prompt' && handler.prompt === undefined) {
    tell({
      kind: 'field_dropped',
      severity,
      field: 'handler.prompt',
      message: 'there is nothing to ask a model: left out',
    });
    return undefined;
  }
  const isCommand = handler.type === 'command';
  const ofType = fields.types && Object.hasOwn(fields.types, handler.type) ? fields.types[handler.type] : undefined;
  const isCarried =
    ofType !== undefined && has(isCommand || handler.type === 'http' ? 'http_handler' : 'llm_evaluated', target);
  if (!isCommand && !isCarried && handler.type !== 'http') {
    const message = `${provider.title} runs no handler of type ${handler.type}: left out`;
    tell({ kind: 'field_dropped', severity, field: 'handler.type', message });
    return undefined;
  }
  const kept: Record<string, unknown> = { type: isCommand || isCarried ? handler.type : 'command' };
  if (isCommand) kept.command = handler.command;
  else if (isCarried)
    for (const field of Object.keys(ofType)) if (handler[field] !== undefined) kept[field] = handler[field];
  if (!isCommand && !isCarried) kept.command = request(handler);

  const timeout = fittedTimeout(handler, target, tell);
  if (timeout !== undefined) kept.timeout = timeout;
  if (handler.timeout_action === 'block')
    tell({
      kind: 'field_dropped',
      severity: 'warning',
      field: 'handler.timeout_action',
      message: `${provider.title} lets an action go on when its hook takes too long: timeout_action is not carried over`,
    });
  if (handler.status_message !== undefined && fields.status_message) kept.status_message = handler.status_message;
  if (isCommand || !isCarried) {
    if (handler.cwd !== undefined && has('configurable_cwd', target)) kept.cwd = handler.cwd;
    if (handler.env !== undefined && has('custom_env', target)) kept.env = handler.env;
    if (handler.async === true && has('async_execution', target)) kept.async = true;
    if (handler.platform !== undefined && has('platform_commands', target))
      Object.assign(kept, platformThere(handler, target, tell));
  }
  for (const field of Object.keys(handler))
    if (!known.includes(field))
      tell({
        kind: 'field_dropped',
        severity: 'info',
        field: `handler.${field}`,
        message: `${field} of the handler is no field of the format: not carried over`,
      });
  return kept as unknown as Handler;
}

const known = [
  ...['type', 'command', 'platform', 'cwd', 'env', 'timeout', 'timeout_action', 'async', 'status_message'],
  ...['url', 'headers', 'allowed_env_vars', 'prompt', 'model', 'agent'],
];

function fittedTimeout({ timeout: seconds }: Handler, { provider, layout }: Target, tell: Tell): number | undefined {
  const { timeout } = layout.fields;
  if (seconds === undefined || seconds === 0) return undefined;
  if (timeout === undefined) {
    const message = `${provider.title} has no timeout for a hook: ${seconds} s are not carried over`;
    tell({ kind: 'field_dropped', severity: 'warning', field: 'handler.timeout', message });
    return undefined;
  }
  const { unit } = timeout;
  if (unit === 's' && !timeout.isWhole) return seconds;
  const scale = unit === 'ms' ? 1000 : 1;
  const exact = Number((seconds * scale).toFixed(6));
  // None would be no limit at all.
  const whole = Math.max(1, Math.ceil(exact));
  if (whole !== exact)
    tell({
      kind: 'semantic_approximation',
      severity: 'warning',
      field: 'handler.timeout',
      message: `${provider.title} counts timeouts in whole ${unit}: ${seconds} s become ${whole} ${unit}`,
    });
  return whole / scale;
}

/** Systems that have a place of their own there; two that share one must agree. */
function platformThere({ command, platform = {} }: Handler, target: Target, tell: Tell): Partial<Handler> {
  const { provider, layout } = target;
  const places = layout.fields.platform ?? {};
  const kept = Object.fromEntries(
    Object.entries(platform).filter(([system]) => Object.hasOwn(places, system)),
  ) as Record<string, string>;
  const others = Object.keys(platform).filter(system => !Object.hasOwn(kept, system));
  const { linux, darwin } = platform;
  // All that is not Windows runs the command itself there.
  const isShared = others.length === 2 && linux !== undefined && linux === darwin && 'windows' in places;
  if (!isShared)
    for (const system of others)
      if (platform[system] !== command)
        tell({
          kind: 'capability:platform_commands',
          severity: 'warning',
          capability: 'platform_commands',
          field: `handler.platform.${system}`,
          message: `${provider.title} has no command of its own for ${system}: the general one runs there`,
        });
  return {
    ...(isShared ? { command: linux } : {}),
    ...(Object.keys(kept).length === 0 ? {} : { platform: kept }),
  };
}

/** What stands beside the handler and has no place in a native file. */
function tellOthers(hook: Hook, target: Target, tell: Tell): void {
  const { slug, title } = target.provider;
  for (const [other, data] of Object.entries(hook.provider_data ?? {}))
    if (other !== slug && Object.keys(data).some(key => !['event', 'spelling'].includes(key)))
      tell({
        kind: 'field_dropped',
        severity: 'info',
        field: `provider_data.${other}`,
        message: `provider_data.${other} is not for ${title}`,
      });
  for (const [other, data] of Object.entries(hook.provider_data ?? {}))
    if (other !== slug) tellOfOthers(hook, other, data, title, tell);
  for (const field of Object.keys(hook))
    if (!hookFields.includes(field))
      tell({
        kind: 'field_dropped',
        severity: 'info',
        field,
        message: `${field} is no field of the format: not carried over`,
      });
  for (const word of Object.keys(hook.degradation ?? {}))
    if (!(capabilityNames as readonly string[]).includes(word))
      tell({
        kind: 'field_dropped',
        severity: 'info',
        field: `degradation.${word}`,
        message: `${word} is a capability that is not known: what is to be done without it was not looked at`,
      });
}

/** Own words of providers that say when a hook runs: for another one it runs without them. */
const narrowing = ['matcher', 'patterns', 'toolTypes', 'if', 'commandRegex'];

/** What of another provider's own words changes when the hook runs, and what. */
function tellOfOthers({ handler }: Hook, other: string, data: Values, title: string, tell: Tell): void {
  const { only } = data;
  for (const key of narrowing)
    if (data[key] !== undefined && data[key] !== '')
      tell({
        kind: 'matcher_not_honoured',
        severity: 'warning',
        field: `provider_data.${other}.${key}`,
        message: `its ${key} at ${other} (${shown(data[key])}) is about no tool: for ${title} the hook runs without it`,
      });
  if (typeof only === 'string' && only !== 'command')
    tell({
      kind: 'semantic_approximation',
      severity: 'warning',
      field: `provider_data.${other}.only`,
      message: `${handler.command} was written for ${only} alone`,
    });
}

const hookFields = [
  ...['name', 'event', 'matcher', 'handler', 'blocking', 'degradation', 'provider_data', 'capabilities'],
];

/** Whether keys of `provider_data` may be written there, and the rest of what is said of them. */
export function rendered(hook: Hook, target: Target, tell: Tell): { handler: Values; group: Values; file: Values } {
  const { provider, layout } = target;
  const own = ownData(hook, target);
  const native = isNative(hook, target);
  const handler: Record<string, unknown> = {};
  const group: Record<string, unknown> = isObject(own.group) ? { ...own.group } : {};
  for (const [key, value] of Object.entries(own)) {
    if (ours.includes(key) || key.startsWith('_') || value === undefined) continue;
    const wanted = provider.data && Object.hasOwn(provider.data, key) ? provider.data[key] : undefined;
    const type = wanted === 'path' || wanted === 'command' ? 'string' : wanted;
    const why =
      wanted === undefined && !native && guarded.test(key)
        ? 'it would change what is run or allowed'
        : type !== undefined && value !== null && typeof value !== type
          ? `it is no ${type}`
          : undefined;
    if (why !== undefined) {
      const message = `provider_data.${provider.slug}.${key} is not written: ${why}`;
      tell({ kind: 'field_dropped', severity: 'warning', field: `provider_data.${provider.slug}.${key}`, message });
      continue;
    }
    if (wanted === 'path' && /^([/\\]|[A-Za-z]:|~)/.test(String(value)))
      tell({
        kind: 'semantic_approximation',
        severity: 'warning',
        field: `provider_data.${provider.slug}.${key}`,
        message: `${key} is ${String(value)}, a folder outside of the project`,
      });
    if (layout.groupKeys?.includes(key)) group[key] = value;
    else handler[key] = value;
  }
  const file = isObject(own.file) ? own.file : {};
  const known = Object.entries(file).filter(([key]) => layout.fileKeys?.includes(key));
  return { handler, group, file: Object.fromEntries(known) };
}

/** What is kept there of how a file spelled something. */
const ours = ['event', 'matcher', 'spelling', 'type', 'only', 'group', 'file', 'timeout_behavior'];
const guarded = /^(command|hooks|url|headers|permissions?.*|.*allow.*|trust.*)$/i;
