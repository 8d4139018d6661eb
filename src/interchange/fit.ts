/**
 * Fits a manifest to a target. For each capability that a hook needs and the target lacks, the strategy of the hook's
 * author (or the safe default) is applied. The result is written without further changes, and each difference is a
 * loss.
 */
import { isObject, type Values } from '../standards/wording.ts';
import { addFieldLosses } from './field-losses.ts';
import { capabilitiesOf, has, onlyBlocks, supportOf } from './hook-capabilities.ts';
import { type AddLoss, type Loss, lossAdder, type NewLoss } from './losses.ts';
import { type Handler, type Hook, type Manifest, nameOf } from './manifest.ts';
import { ownData, type Place, placesOf } from './native-places.ts';
import { withProjectVariables } from './project-variables.ts';
import type { Provider, Target } from './provider.ts';
import { blocking as blockingCommand, request, softened } from './replacement-commands.ts';
import { addPlainLoss, translated } from './runtime-command.ts';
import { type Capability, capabilities, defaultStrategy, type Strategy } from './vocabulary.ts';

export interface Fitted {
  /** The hook's place in the manifest. */
  readonly index: number;
  /** The hook that is written. */
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
    const fitted = fitHook(hook, target, lossAdder(losses, index + 1, nameOf(hook, index)));
    return fitted === undefined ? [] : [{ index, ...fitted }];
  });
  const path = pathLoss(hooks, target);
  if (path !== undefined) losses.push(path);
  return { hooks, losses, isConvertible: hooks.length > 0 };
}

/** A relative path of a script depends on the folder in which the target runs commands, so the user must replace it. */
function pathLoss(hooks: readonly Fitted[], { provider }: Target): Loss | undefined {
  const scripts = hooks.flatMap(({ hook: { handler } }) =>
    handler.command !== undefined && /^\.{1,2}\/\S*$/.test(handler.command) ? [handler.command] : [],
  );
  if (scripts.length === 0) return undefined;
  const message = `${[...new Set(scripts)].join(', ')}: relative to the folder of the manifest, while ${provider.title} runs hooks in a folder of its own`;
  const suggestion = 'Put absolute paths there, or the variable that it has for the project.';
  return { kind: 'semantic_approximation', severity: 'info', field: 'handler.command', message, suggestion };
}

function fitHook(given: Hook, asked: Target, addLoss: AddLoss): Omit<Fitted, 'index'> | undefined {
  const places = placesOf(given, asked, addLoss);
  if (places.length === 0) return undefined;
  const target = translated(given, asked);
  // The runtime sets the variables that a command names.
  const hook = target.isTranslated ? given : withProjectVariables(given, target.provider, addLoss);
  const strategy = strategyFor(hook, target, addLoss);
  addFieldLosses(hook, target.provider, addLoss);
  if (strategy === 'exclude') return undefined;
  if (strategy === 'block') return blocked(hook, places, target, addLoss);
  addBlockingLosses(hook, places, target, addLoss);
  if (target.commands === undefined) addAnswerLoss(hook, target, addLoss);
  addPlainLoss(hook, target, addLoss);
  const carried = fittedHandler(hook, target, addLoss);
  if (carried === undefined) return undefined;
  const mayBlock = hook.blocking !== true && places.some(({ effect }) => effect === 'prevent');
  const handler = mayBlock && target.softens && !target.isTranslated ? withSoft(carried) : carried;
  return { hook: { ...hook, handler }, outcome: 'keep', places };
}

function withSoft(handler: Handler): Handler {
  const { command, platform } = handler;
  if (command === undefined) return handler;
  // The softened command needs a POSIX shell.
  const systems = Object.entries(platform ?? {}).map(([system, each]) => [
    system,
    system === 'windows' ? each : softened(each),
  ]);
  return { ...handler, command: softened(command), ...(platform ? { platform: Object.fromEntries(systems) } : {}) };
}

const strictest: readonly Strategy[] = ['block', 'exclude', 'warn'];

/** Adds a loss for each gap and returns the strictest strategy; undefined if there is no gap. */
function strategyFor(hook: Hook, target: Target, addLoss: AddLoss): Strategy | undefined {
  const { title } = target.provider;
  if (isNative(hook, target)) return undefined;
  const strategies: Strategy[] = [];
  for (const capability of capabilitiesOf(hook)) {
    const support = supportOf(capability, target);
    const strategy = hook.degradation?.[capability] ?? defaultStrategy(capability);
    const about = { kind: `capability:${capability}`, capability, strategy } as const;
    const { what } = capabilities[capability];
    const isHint = capability === 'structured_output' && onlyBlocks(hook);
    if (support === 'partly' && capability === 'structured_output')
      addLoss({ ...about, severity: 'info', message: `${title} supports only a part of ${what} (${capability})` });
    if (has(capability, target)) continue;
    if (isHint) {
      addLoss({ ...about, severity: 'info', message: `${title} reads exit codes, but not ${what} (${capability})` });
      continue;
    }
    strategies.push(strategy);
    addLoss({
      ...about,
      severity: isGuardLost(capability, strategy, hook) ? 'error' : 'warning',
      message: gapMessage(capability, strategy, title, what, hook),
    });
  }
  if (isUnknownType(hook.handler.type)) {
    const message = `${title} has no handler of type ${hook.handler.type}: left out`;
    addLoss({ kind: 'field_dropped', severity: hook.blocking ? 'error' : 'warning', field: 'handler.type', message });
    return 'exclude';
  }
  return strictest.find(each => strategies.includes(each));
}

const isGuardLost = (capability: Capability, strategy: Strategy, { blocking }: Hook): boolean =>
  (capability === 'input_rewrite' && strategy === 'warn') || (blocking === true && strategy === 'exclude');

/** A conversion moves the command but not the format of its output. */
function addAnswerLoss(hook: Hook, target: Target, addLoss: AddLoss): void {
  const { provider } = target;
  if (provider.answers === undefined || onlyBlocks(hook) || !has('structured_output', target)) return;
  const message = `what the hook prints is read by ${provider.title} in its own words: ${provider.answers}`;
  addLoss({ kind: 'semantic_approximation', severity: 'warning', field: 'handler.command', message });
}

/** A handler type that was read from the target's own file is valid there. */
const isNative = (hook: Hook, target: Target): boolean =>
  hook.handler.type !== 'command' && ownData(hook, target).type === hook.handler.type;

const isUnknownType = (type: string): boolean => !['command', 'http', 'prompt', 'agent'].includes(type);

const gaps: Readonly<Record<Capability, string>> = {
  structured_output: 'its answer in JSON is not read',
  input_rewrite: 'its changes of the input have no effect',
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

/** Replaces the hook by a command that blocks the action and prints the reason. */
function blocked(
  hook: Hook,
  places: readonly Place[],
  target: Target,
  addLoss: AddLoss,
): Omit<Fitted, 'index'> | undefined {
  const { provider } = target;
  const stopping = places.filter(({ effect }) => effect === 'prevent');
  for (const { native, effect } of places)
    if (effect !== 'prevent')
      addLoss({
        kind: 'blocking_not_honoured',
        severity: 'error',
        message: `${native} of ${provider.title} cannot be blocked, so a blocking hook cannot replace this hook: left out`,
      });
  if (stopping.length === 0) return undefined;
  const lacking = capabilitiesOf(hook).filter(
    each => !has(each, target) && (hook.degradation?.[each] ?? defaultStrategy(each)) === 'block',
  );
  const { command = hook.handler.url ?? hook.handler.prompt ?? hook.handler.type } = hook.handler;
  const timeout = fittedTimeout(hook.handler, target, addLoss);
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

function addBlockingLosses(hook: Hook, places: readonly Place[], target: Target, addLoss: AddLoss): void {
  const { provider } = target;
  const { event } = hook;
  const remark = provider.remarks && Object.hasOwn(provider.remarks, event) ? provider.remarks[event] : undefined;
  if (remark?.kind === 'semantic_approximation') addLoss({ ...remark, severity: 'warning' });
  for (const { native, effect, event: placed } of places) {
    if (hook.blocking !== true && effect === 'prevent' && !target.softens && !target.isTranslated)
      addLoss({
        kind: 'semantic_approximation',
        severity: 'info',
        message: `${native} of ${provider.title} is blocked by exit code 2, although the hook must not block`,
        suggestion: 'otel-hooks convert --soften makes an error of that code.',
      });
    // For a hook that runs too late, `placesOf` has added a loss already.
    if (hook.blocking !== true || effect !== 'observe' || placed !== event) continue;
    addLoss({
      kind: 'blocking_not_honoured',
      severity: 'error',
      message: `${native} of ${provider.title} cannot be blocked: the hook can only observe it`,
    });
  }
  const mayBlock = hook.blocking === true && places.some(({ effect }) => effect !== 'observe');
  if (mayBlock && remark?.kind === 'blocking_may_not_work') addLoss({ ...remark, severity: 'warning' });
  if (mayBlock && hook.handler.async === true && has('async_execution', target))
    addLoss({
      kind: 'blocking_not_honoured',
      severity: 'error',
      field: 'handler.async',
      message: `${provider.title} does not wait for a hook with async: it cannot block`,
    });
}

/** Returns the handler with the fields that the target can hold; undefined if the target cannot run it. */
function fittedHandler(hook: Hook, target: Target, addLoss: AddLoss): Handler | undefined {
  const { provider, layout } = target;
  const { handler } = hook;
  const { fields } = layout;
  if (isNative(hook, target)) return handler;
  const isCommand = handler.type === 'command';
  const ofType = fields.types && Object.hasOwn(fields.types, handler.type) ? fields.types[handler.type] : undefined;
  const isCarried =
    ofType !== undefined && has(isCommand || handler.type === 'http' ? 'http_handler' : 'llm_evaluated', target);
  const loss = handlerLoss(hook, target, isCarried);
  if (loss !== undefined) {
    addLoss(loss);
    return undefined;
  }
  const kept: Record<string, unknown> = { type: isCommand || isCarried ? handler.type : 'command' };
  if (isCommand) kept.command = handler.command;
  else if (!isCarried) kept.command = request(handler);
  else for (const field of Object.keys(ofType)) if (handler[field] !== undefined) kept[field] = handler[field];

  const timeout = fittedTimeout(handler, target, addLoss);
  if (timeout !== undefined) kept.timeout = timeout;
  Object.assign(kept, timeoutAction(handler, target, addLoss));
  if (handler.status_message !== undefined) {
    const message = `${provider.title} shows no message while a hook runs: status_message is not carried over`;
    if (fields.status_message) kept.status_message = handler.status_message;
    else addLoss({ kind: 'field_dropped', severity: 'info', field: 'handler.status_message', message });
  }
  if (isCommand || !isCarried) Object.assign(kept, commandFields(handler, target, addLoss));
  addUnknownFields(handler, addLoss);
  return kept as unknown as Handler;
}

function timeoutAction({ timeout_action: action }: Handler, target: Target, addLoss: AddLoss): Partial<Handler> {
  if (action !== 'block') return {};
  if (target.isTranslated) return { timeout_action: action };
  addLoss({
    kind: 'field_dropped',
    severity: 'warning',
    field: 'handler.timeout_action',
    message: `${target.provider.title} continues an action when its hook times out: timeout_action is not carried over`,
  });
  return {};
}

function addUnknownFields(handler: Handler, addLoss: AddLoss): void {
  for (const field of Object.keys(handler))
    if (!known.includes(field))
      addLoss({
        kind: 'field_dropped',
        severity: 'info',
        field: `handler.${field}`,
        message: `${field} of the handler is not a field of the format: not carried over`,
      });
}

/** Returns the loss of a handler that the target cannot run; undefined if the target can run it. */
function handlerLoss({ handler, blocking }: Hook, { provider }: Target, isCarried: boolean): NewLoss | undefined {
  const { type } = handler;
  const severity = blocking === true ? 'error' : 'warning';
  const kind = 'field_dropped';
  if (type === 'http' && !(typeof handler.url === 'string' && /^https:\/\//i.test(handler.url))) {
    const message = `a request to ${handler.url ?? 'no address'} is not made: only https is; left out`;
    return { kind, severity: 'error', field: 'handler.url', message };
  }
  if (type === 'prompt' && handler.prompt === undefined)
    return { kind, severity, field: 'handler.prompt', message: 'the handler has no prompt for a model: left out' };
  if (type === 'command' || type === 'http' || isCarried) return undefined;
  return {
    kind,
    severity,
    field: 'handler.type',
    message: `${provider.title} does not run handlers of type ${type}: left out`,
  };
}

/** Returns the fields of commands that the target can hold. */
function commandFields(handler: Handler, target: Target, addLoss: AddLoss): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  if (handler.cwd !== undefined && has('configurable_cwd', target)) kept.cwd = handler.cwd;
  if (handler.env !== undefined && has('custom_env', target)) kept.env = handler.env;
  if (handler.async === true && has('async_execution', target)) kept.async = true;
  if (handler.platform !== undefined && target.isTranslated) kept.platform = handler.platform;
  else if (handler.platform !== undefined && has('platform_commands', target))
    Object.assign(kept, platformThere(handler, target, addLoss));
  return kept;
}

const known = [
  ...['type', 'command', 'platform', 'cwd', 'env', 'timeout', 'timeout_action', 'async', 'status_message'],
  ...['url', 'headers', 'allowed_env_vars', 'prompt', 'model', 'agent'],
];

function fittedTimeout(
  { timeout: seconds }: Handler,
  { provider, layout, isTranslated }: Target,
  addLoss: AddLoss,
): number | undefined {
  const { timeout } = layout.fields;
  if (seconds === undefined || seconds === 0) return undefined;
  if (isTranslated) return seconds;
  if (timeout === undefined) {
    const message = `${provider.title} has no timeout for a hook: ${seconds} s are not carried over`;
    addLoss({ kind: 'field_dropped', severity: 'warning', field: 'handler.timeout', message });
    return undefined;
  }
  const { unit } = timeout;
  if (unit === 's' && !timeout.isWhole) return seconds;
  const scale = unit === 'ms' ? 1000 : 1;
  const exact = Number((seconds * scale).toFixed(6));
  // A timeout of 0 would mean no limit.
  const whole = Math.max(1, Math.ceil(exact));
  if (whole !== exact)
    addLoss({
      kind: 'semantic_approximation',
      severity: 'warning',
      field: 'handler.timeout',
      message: `${provider.title} counts timeouts in whole ${unit}: ${seconds} s become ${whole} ${unit}`,
    });
  return whole / scale;
}

/**
 * Returns the commands of systems that the target has fields for. Systems that share a field must have the same
 * command.
 */
function platformThere({ command, platform = {} }: Handler, target: Target, addLoss: AddLoss): Partial<Handler> {
  const { provider, layout } = target;
  const places = layout.fields.platform ?? {};
  const kept = Object.fromEntries(
    Object.entries(platform).filter(([system]) => Object.hasOwn(places, system)),
  ) as Record<string, string>;
  const others = Object.keys(platform).filter(system => !Object.hasOwn(kept, system));
  const { linux, darwin } = platform;
  // On this target, all systems except Windows run the general command.
  const isShared = others.length === 2 && linux !== undefined && linux === darwin && 'windows' in places;
  if (!isShared)
    for (const system of others)
      if (platform[system] !== command)
        addLoss({
          kind: 'capability:platform_commands',
          severity: 'warning',
          capability: 'platform_commands',
          field: `handler.platform.${system}`,
          message: `${provider.title} has no separate command for ${system}: the general command runs there`,
        });
  return {
    ...(isShared ? { command: linux } : {}),
    ...(Object.keys(kept).length === 0 ? {} : { platform: kept }),
  };
}

/** Returns the provider's own keys that may be written. Adds a loss for each key that is left out or suspicious. */
export function rendered(
  hook: Hook,
  target: Target,
  addLoss: AddLoss,
): { handler: Values; group: Values; file: Values } {
  const { provider, layout } = target;
  const own = ownData(hook, target);
  const native = isNative(hook, target);
  const handler: Record<string, unknown> = {};
  const group: Record<string, unknown> = isObject(own.group) ? { ...own.group } : {};
  for (const [key, value] of Object.entries(own)) {
    if (ours.includes(key) || key.startsWith('_') || value === undefined) continue;
    const field = `provider_data.${provider.slug}.${key}`;
    const wanted = provider.data && Object.hasOwn(provider.data, key) ? provider.data[key] : undefined;
    const why = whyUnwritten(key, value, wanted, native);
    if (why !== undefined) {
      addLoss({ kind: 'field_dropped', severity: 'warning', field, message: `${field} is not written: ${why}` });
      continue;
    }
    if (wanted === 'path' && /^([/\\]|[A-Za-z]:|~)/.test(String(value)))
      addLoss({
        kind: 'semantic_approximation',
        severity: 'warning',
        field,
        message: `${key} is ${String(value)}, a folder outside of the project`,
      });
    if (layout.groupKeys?.includes(key)) group[key] = value;
    else handler[key] = value;
  }
  const file = isObject(own.file) ? own.file : {};
  const known = Object.entries(file).filter(([key]) => layout.fileKeys?.includes(key));
  return { handler, group, file: Object.fromEntries(known) };
}

/** Returns the reason why a key of `provider_data` is left out. */
function whyUnwritten(
  key: string,
  value: unknown,
  wanted: NonNullable<Provider['data']>[string] | undefined,
  isNativeType: boolean,
): string | undefined {
  if (wanted === undefined)
    return !isNativeType && guarded.test(key) ? 'it would change the action or the decision' : undefined;
  const type = wanted === 'path' || wanted === 'command' ? 'string' : wanted;
  return value !== null && typeof value !== type ? `it is no ${type}` : undefined;
}

/** Keys in which `decode` keeps the spelling of a native file. */
const ours = ['event', 'matcher', 'spelling', 'type', 'only', 'group', 'file', 'timeout_behavior'];
const guarded = /^(command|hooks|url|headers|permissions?.*|.*allow.*|trust.*)$/i;
