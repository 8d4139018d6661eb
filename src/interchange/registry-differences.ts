/** Differences between a registry of the format and today's product, for the hooks of a manifest. */
import type { AddLoss } from './losses.ts';
import type { Hook } from './manifest.ts';
import { placesOf } from './native-places.ts';
import type { Target } from './provider.ts';

/** Adds a loss if the registry has other events, matchers or effects for a hook than today's product. */
export function addRegistryLoss(hook: Hook, target: Target, addLoss: AddLoss): void {
  const { registry, version, provider } = target;
  if (registry === undefined) return;
  const there = placesIn(hook, registry);
  const here = placesIn(hook, target);
  if (there === here) return;
  addLoss({
    kind: 'registry_differs',
    severity: 'info',
    message: `the registry ${version} has ${there} of ${provider.title}; today's product has ${here}`,
    suggestion: `--registry ${version} writes the former.`,
  });
}

function placesIn(hook: Hook, target: Target): string {
  const places = placesOf(hook, target, () => {});
  if (places.length === 0) return 'no event for it';
  return places
    .map(({ native, matcher, effect }) => {
      const blocks = hook.blocking === true ? ` (${effects[effect]})` : '';
      return `${native}${matcher === undefined ? '' : ` ${JSON.stringify(matcher)}`}${blocks}`;
    })
    .join(', ');
}

const effects = { prevent: 'can be stopped', retry: 'continues when blocked', observe: 'cannot be stopped' };
