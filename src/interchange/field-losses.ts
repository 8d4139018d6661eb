/** The losses of fields beside the handler that a native file cannot hold. */
import { isObject, shown, type Values } from '../standards/wording.ts';
import type { AddLoss } from './losses.ts';
import type { Hook } from './manifest.ts';
import type { Provider } from './provider.ts';
import { OWN } from './runtime-command.ts';
import { capabilityNames } from './vocabulary.ts';

export function addFieldLosses(hook: Hook, { slug, title }: Provider, addLoss: AddLoss): void {
  for (const [other, data] of Object.entries(hook.provider_data ?? {}))
    if (other !== slug && other !== OWN) addDataLosses(hook, other, data, title, addLoss);
  for (const field of Object.keys(hook))
    if (!hookFields.includes(field))
      addLoss({
        kind: 'field_dropped',
        severity: 'info',
        field,
        message: `${field} is not a field of the format: not carried over`,
      });
  for (const word of Object.keys(hook.degradation ?? {}))
    if (!(capabilityNames as readonly string[]).includes(word))
      addLoss({
        kind: 'field_dropped',
        severity: 'info',
        field: `degradation.${word}`,
        message: `${word} is an unknown capability: its fallback was not checked`,
      });
}

const hookFields = [
  ...['name', 'event', 'matcher', 'handler', 'blocking', 'degradation', 'provider_data', 'capabilities'],
];

/** Keys that hold the spelling of a native file. They have no meaning on another target. */
const spellings = ['event', 'spelling', 'type', 'file', 'dialect'];

/** Keys of `provider_data` that limit when a hook runs. On another target, the hook runs without these limits. */
const narrowing = ['matcher', 'patterns', 'toolTypes', 'if', 'commandRegex'];

/** Keys that change how a hook runs, with the behaviour on another target. */
const behaviour: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  failClosed: value => (value === true ? 'a hook that fails lets the action go on' : undefined),
  env: () => 'its variables are not set',
  shell: () => 'the shell of the target runs its command',
  once: value => (value === true ? 'it runs every time' : undefined),
  sequential: value => (value === true ? 'it may run beside other hooks' : undefined),
  enabled: value => (value === false ? 'it runs, although it was switched off' : undefined),
  disableAllHooks: value => (value === true ? 'it runs, although hooks were switched off' : undefined),
  asyncRewake: value => (value === true ? 'it does not wake the agent' : undefined),
  async: value => (value === true ? 'it is waited for' : undefined),
  statusMessage: () => 'no message is shown while it runs',
};

/** Adds losses for the data of another provider, one for each key that changes when or how the hook runs. */
function addDataLosses({ handler }: Hook, other: string, data: Values, title: string, addLoss: AddLoss): void {
  const { only } = data;
  const lost = namesIn(data);
  if (lost.length > 0)
    addLoss({
      kind: 'field_dropped',
      severity: 'info',
      field: `provider_data.${other}`,
      message: `provider_data.${other} is not for ${title}: ${lost.join(', ')}`,
    });
  for (const [key, value] of Object.entries({ ...data, ...(isObject(data.file) ? data.file : {}) })) {
    const effect = Object.hasOwn(behaviour, key) ? behaviour[key]?.(value) : undefined;
    if (effect !== undefined)
      addLoss({
        kind: 'field_dropped',
        severity: 'warning',
        field: `provider_data.${other}.${key}`,
        message: `${key} of ${other} (${shown(value)}) is not carried over: ${effect}`,
      });
  }
  for (const key of narrowing)
    if (data[key] !== undefined && data[key] !== '')
      addLoss({
        kind: 'matcher_not_honoured',
        severity: 'warning',
        field: `provider_data.${other}.${key}`,
        message: `its ${key} at ${other} (${shown(data[key])}) does not concern tools: on ${title} the hook runs without it`,
      });
  if (typeof only === 'string' && only !== 'command')
    addLoss({
      kind: 'semantic_approximation',
      severity: 'warning',
      field: `provider_data.${other}.only`,
      message: `${handler.command} was written only for ${only}`,
    });
}

/** Returns the keys that have a meaning; those of a group or a file have its name before them. */
function namesIn(data: Values): string[] {
  return Object.entries(data).flatMap(([key, value]) => {
    if ((key === 'group' || key === 'file') && isObject(value)) return Object.keys(value).map(each => `${key}.${each}`);
    return spellings.includes(key) ? [] : [key];
  });
}
