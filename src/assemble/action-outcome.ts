import type { DataOf, Facts, TimeSource } from '../event/event.ts';
import type { ActionSpan } from './finished.ts';
import type { OpenAction } from './state.ts';

/** The outcome of an action, as its closing event states it. */
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

/** Returns true if a person answered a question with an interrupt: the closing event names the user, but no outcome. */
export const isRefusal = (
  outcome: Closing['outcome'],
  { askedMs, decision }: Partial<Pick<OpenAction, 'askedMs' | 'decision'>>,
  facts: Partial<Facts>,
): boolean =>
  outcome === 'interrupted' &&
  askedMs !== undefined &&
  decision?.outcome === 'ask' &&
  facts.decision?.source === 'user';

/** The outcome of an action, as far as the facts of an event imply it. */
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
  /** The source of the end time. Absent when no closing event exists. */
  time?: TimeSource | undefined;
}

/** An error that the agent reported during the action is its outcome, unless the closing event states another one. */
export function withError(closing: Closing, { errorType }: OpenAction): Closing {
  const { outcome } = closing;
  if (errorType === undefined || (outcome !== 'unknown' && outcome !== 'abandoned')) return closing;
  return { ...closing, outcome: errorType === 'interrupted' ? errorType : 'failure', errorType };
}

/** Returns the time that a person took to answer, if the answer was observed: as a separate event, or as a denial. */
export function waitedFor(
  askedMs: number,
  { verdictMs, decision }: Pick<OpenAction, 'verdictMs' | 'decision'>,
  { outcome, endMs, time }: Closing,
): number | undefined {
  if (decision?.source !== 'user') return undefined;
  const answeredMs = verdictMs ?? (outcome === 'denied' && time !== undefined ? endMs : undefined);
  return answeredMs === undefined ? undefined : Math.max(0, answeredMs - askedMs);
}
