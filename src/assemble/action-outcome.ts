import type { DataOf, Facts, TimeSource } from '../event/event.ts';
import type { ActionSpan } from './finished.ts';
import type { OpenAction } from './state.ts';

/** How an action ended, by what its closing event says. */
export function endOf(
  { action: { result }, decision }: DataOf<'Action.After'>,
  facts: Partial<Facts>,
): Pick<Closing, 'outcome' | 'exitCode' | 'errorType'> {
  const outcome: ActionSpan['outcome'] =
    decision?.outcome === 'deny'
      ? 'denied'
      : facts.interrupted
        ? 'interrupted'
        : result?.success === true
          ? 'success'
          : result?.success === false
            ? 'failure'
            : 'unknown';
  return {
    outcome,
    exitCode: result?.exit_code ?? facts.exit_code,
    errorType:
      outcome === 'failure'
        ? (facts.error_type ?? 'tool_error')
        : outcome === 'interrupted'
          ? 'interrupted'
          : undefined,
  };
}

/** How an action ended, as far as facts alone say so. */
export function endByFacts({
  interrupted,
  exit_code,
  error_type,
}: Partial<Facts>): Partial<Pick<Closing, 'outcome' | 'errorType'>> {
  if (interrupted) return { outcome: 'interrupted', errorType: 'interrupted' };
  if (exit_code === 0 && error_type === undefined) return { outcome: 'success' };
  if (exit_code === undefined && error_type === undefined) return {};
  return { outcome: 'failure', errorType: error_type ?? 'exit_code' };
}

export interface Closing {
  outcome: ActionSpan['outcome'];
  endMs: number;
  durationMs?: number | undefined;
  exitCode?: number | undefined;
  errorType?: string | undefined;
  seenBefore?: boolean;
  /** Where the end's time comes from; closed without a closing event it has none of its own. */
  time?: TimeSource | undefined;
}

/** An error that the agent told while it ran is how it ended, unless its end says otherwise. */
export function withError(closing: Closing, { errorType }: OpenAction): Closing {
  const { outcome } = closing;
  if (errorType === undefined || (outcome !== 'unknown' && outcome !== 'abandoned')) return closing;
  return { ...closing, outcome: errorType === 'interrupted' ? errorType : 'failure', errorType };
}

/** How long a person took to answer, where the answer is told: for itself, or as a refusal. */
export function waitedFor(
  askedMs: number,
  { verdictMs, decision }: Pick<OpenAction, 'verdictMs' | 'decision'>,
  { outcome, endMs, time }: Closing,
): number | undefined {
  if (decision?.source !== 'user') return undefined;
  const answeredMs = verdictMs ?? (outcome === 'denied' && time !== undefined ? endMs : undefined);
  return answeredMs === undefined ? undefined : Math.max(0, answeredMs - askedMs);
}
