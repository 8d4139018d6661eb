/** Capabilities that a hook uses, and whether a target supports them. */
import type { Hook } from './manifest.ts';
import type { Support, Target } from './provider.ts';
import { type Capability, capabilityNames } from './vocabulary.ts';

/**
 * Returns the capabilities that a hook uses. Two of them are visible only in the output of the hook, so the author's
 * list adds capabilities, and never removes one. A strategy for a missing `input_rewrite` does not mean that the hook
 * uses it.
 */
export function capabilitiesOf({ handler, blocking, degradation, capabilities }: Hook): Capability[] {
  const isListed = (capability: Capability): boolean => capabilities?.includes(capability) === true;
  const uses: Record<Capability, boolean> = {
    structured_output:
      blocking === true ||
      isListed('structured_output') ||
      isListed('input_rewrite') ||
      Object.keys(degradation ?? {}).some(each => each === 'structured_output' || each === 'input_rewrite'),
    input_rewrite: isListed('input_rewrite'),
    llm_evaluated: handler.type === 'prompt' || handler.type === 'agent',
    http_handler: handler.type === 'http',
    async_execution: handler.async === true,
    platform_commands: handler.platform !== undefined,
    custom_env: handler.env !== undefined,
    configurable_cwd: handler.cwd !== undefined,
  };
  return capabilityNames.filter(capability => uses[capability]);
}

/** A hook that only blocks needs an exit code; a JSON answer is optional. */
export const onlyBlocks = (hook: Hook): boolean =>
  !capabilitiesOf({ ...hook, blocking: false }).includes('structured_output');

/** Capabilities of the runtime: it applies the fields, and translates the answer or denies. */
const ofRuntime: readonly Capability[] = [
  'structured_output',
  'input_rewrite',
  'platform_commands',
  'custom_env',
  'configurable_cwd',
];

/**
 * Returns the support of a target. A capability without a field in the native file is not supported, even if the
 * registry lists it.
 */
export function supportOf(capability: Capability, { facts, layout, isTranslated }: Target): Support {
  if (isTranslated && ofRuntime.includes(capability)) return 'yes';
  const support = facts.supports[capability];
  const { fields } = layout;
  const types = Object.keys(fields.types ?? {});
  const places: Partial<Record<Capability, boolean>> = {
    structured_output: fields.isDeaf !== true,
    input_rewrite: fields.isDeaf !== true,
    llm_evaluated: types.includes('prompt') || types.includes('agent'),
    http_handler: types.includes('http'),
    async_execution: fields.async !== undefined,
    platform_commands: fields.platform !== undefined,
    custom_env: fields.env !== undefined,
    configurable_cwd: fields.cwd !== undefined,
  };
  return places[capability] === false ? 'no' : support;
}

export const has = (capability: Capability, target: Target): boolean =>
  ['yes', 'partly', 'plugin'].includes(supportOf(capability, target));

/** Returns the level of the format that an implementation needs for a hook. */
export function levelOf(hook: Hook, isCoreEvent: boolean, isExclusive: boolean): 'core' | 'extended' | 'full' {
  const uses = capabilitiesOf(hook);
  const inferred = ['structured_output', 'input_rewrite', 'platform_commands'];
  if (isExclusive || hook.provider_data !== undefined || uses.some(each => !inferred.includes(each))) return 'full';
  const isPlain = hook.matcher === undefined || typeof hook.matcher === 'string';
  const isExtended = !isCoreEvent || !isPlain || !onlyBlocks(hook) || uses.includes('platform_commands');
  return isExtended ? 'extended' : 'core';
}
