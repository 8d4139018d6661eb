/** Hooks that an agent runs twice, because it reads the files of another agent, too. */
import type { Loss } from './losses.ts';
import { type Hook, type Manifest, nameOf } from './manifest.ts';
import type { Target } from './provider.ts';

export interface Other {
  readonly title: string;
  /** `undefined`: the same hooks. */
  readonly hooks: readonly Hook[] | undefined;
}

/** Returns a loss for each hook that another file, which the target reads, has for the same event. */
export function doubledLosses({ hooks }: Manifest, { provider, facts }: Target, others: readonly Other[]): Loss[] {
  return others.flatMap(({ title, hooks: theirs = hooks }) =>
    hooks.flatMap((hook, index): Loss[] => {
      const isThere = (facts.events[hook.event]?.length ?? 0) > 0;
      if (!isThere || !theirs.some(each => isSame(each, hook))) return [];
      return [
        {
          hook: index + 1,
          name: nameOf(hook, index),
          kind: 'runs_twice',
          severity: 'warning',
          message: `${provider.title} reads the hooks of ${title}, too: with both files, it runs this hook twice unless the commands are equal`,
          suggestion: `Keep the hook in one of the two files.`,
        },
      ];
    }),
  );
}

const isSame = (some: Hook, other: Hook): boolean => some.event === other.event && scriptOf(some) === scriptOf(other);

/** The name of the program, which stays when a conversion changes its path or wraps it. */
const scriptOf = ({ handler: { command = '' } }: Hook): string =>
  command.match(/[\w.-]+\.(?:sh|py|js|mjs|ts|rb|pl)\b/g)?.at(-1) ?? command;
