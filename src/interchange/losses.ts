import type { Strategy } from './vocabulary.ts';

/** What a conversion could not carry over, or not as it was. The kinds are stable: scripts may compare them. */
export interface Loss {
  /** From 1; none for what is true of a whole file. */
  readonly hook?: number | undefined;
  readonly name?: string | undefined;
  readonly kind: LossKind;
  /** `error`: something that was guarded is no longer. `info`: nothing that anybody would miss. */
  readonly severity: 'info' | 'warning' | 'error';
  readonly capability?: string | undefined;
  readonly field?: string | undefined;
  readonly strategy?: Strategy | undefined;
  readonly message: string;
  readonly suggestion?: string | undefined;
}

export type LossKind =
  | `capability:${string}`
  | 'event_unsupported'
  | 'event_unknown'
  | 'blocking_not_honoured'
  | 'blocking_may_not_work'
  | 'timing_shift'
  | 'matcher_not_honoured'
  | 'matcher_split'
  | 'unknown_matcher_name'
  | 'tool_unsupported'
  | 'field_dropped'
  | 'semantic_approximation';

export type Tell = (loss: Omit<Loss, 'hook' | 'name'>) => void;

/** Said once for each hook, however many entries it becomes. */
export function teller(losses: Loss[], hook: number, name: string): Tell {
  const said = new Set<string>();
  return loss => {
    const key = `${loss.kind} ${loss.message}`;
    if (said.has(key)) return;
    said.add(key);
    losses.push({ hook, name, ...loss });
  };
}
