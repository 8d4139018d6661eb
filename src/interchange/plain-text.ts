/** Plain text on standard output, which some agents add to their context at some events. In the format it is an error. */
import type { Loss } from './losses.ts';
import { type Manifest, nameOf } from './manifest.ts';
import type { Provider, Target } from './provider.ts';

/** Returns the losses of hooks of one provider at a target; `undefined` stands for the format itself. */
export function plainTextLosses({ hooks }: Manifest, source: Provider, target: Target | undefined): Loss[] {
  return hooks.flatMap((hook, index): Loss[] => {
    const { event } = hook;
    const isLost = takes(source, event) && !(target && takes(target.provider, event)) && isThere(event, target);
    if (!isLost || hook.handler.type !== 'command') return [];
    const there =
      target === undefined ? 'for the format it is an error of the hook' : `${target.provider.title} drops it`;
    const message = `plain text that the hook prints at ${event} is context for ${source.title}; ${there}`;
    const name = nameOf(hook, index);
    return [
      { hook: index + 1, name, kind: 'semantic_approximation', severity: 'warning', field: 'handler.command', message },
    ];
  });
}

const takes = ({ plainContext }: Provider, event: string): boolean => plainContext?.includes(event) === true;

/** A hook whose event the target lacks has a loss already. */
const isThere = (event: string, target: Target | undefined): boolean =>
  target === undefined || (target.facts.events[event]?.length ?? 0) > 0;
