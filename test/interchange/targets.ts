/** Targets, manifests and losses for the tests of conversions. */
import { providerNamed } from '../../src/agents/interchange.ts';
import type { Loss } from '../../src/interchange/losses.ts';
import { type Hook, type Manifest, SPEC } from '../../src/interchange/manifest.ts';
import { type Choice, type Target, targetOf } from '../../src/interchange/provider.ts';

/** A provider as today's product behaves; with `registry`, as that registry describes it. */
export function targetNamed(slug: string, choice: Choice = {}): Target {
  const provider = providerNamed(slug);
  const found = provider && targetOf(provider, { products: choice.registry === undefined, ...choice });
  if (found === undefined || 'why' in found) throw new Error(`no target ${slug}`);
  return found;
}

export const manifestOf = (...hooks: Hook[]): Manifest => ({ spec: SPEC, hooks });

/** A hook that runs a command before a tool. */
export const guard = (command: string, more: Partial<Hook> = {}): Hook => ({
  event: 'before_tool_execute',
  handler: { type: 'command', command },
  blocking: true,
  ...more,
});

export const lossLines = (losses: readonly Loss[]): string[] =>
  losses.map(({ hook = 0, severity, kind, message }) => `${hook} ${severity} ${kind}: ${message}`);
