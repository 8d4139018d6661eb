import type { Strategy } from './vocabulary.ts';

/**
 * A part of a hook that a conversion dropped or changed. The kinds are stable, so that scripts can compare them.
 */
export interface Loss {
  /** Number of the hook, from 1; undefined for a loss of the whole file. */
  readonly hook?: number | undefined;
  readonly name?: string | undefined;
  readonly kind: LossKind;
  /** `error`: a guard no longer works. `info`: the loss does not change when or how the hook runs. */
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
  | 'odd_input'
  | 'runs_twice'
  | 'registry_differs'
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

/** A loss before it belongs to a hook. */
export type NewLoss = Omit<Loss, 'hook' | 'name'>;
export type AddLoss = (loss: NewLoss) => void;

/** Adds the same loss once per hook, also if the hook becomes several entries. */
export function lossAdder(losses: Loss[], hook: number, name: string): AddLoss {
  const added = new Set<string>();
  return loss => {
    const key = `${loss.kind} ${loss.message}`;
    if (added.has(key)) return;
    added.add(key);
    losses.push({ hook, name, ...loss });
  };
}
