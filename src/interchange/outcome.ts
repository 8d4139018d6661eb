/** Computes the result of a hook from its exit code, its output, and whether it timed out. */
import { isObject } from '../standards/wording.ts';

/**
 * A hook that has run: its exit code, its output, and whether it was stopped.
 *
 * @example
 * ```ts
 * const run: HookRun = { blocking: true, timedOut: true, timeoutAction: 'block' };
 * ```
 */
export interface Run {
  /** The manifest allows the hook to block. */
  readonly blocking: boolean;
  /** Undefined if the process was killed. */
  readonly exitCode?: number | undefined;
  readonly stdout?: string | undefined;
  /** A person can answer questions. */
  readonly interactive?: boolean | undefined;
  readonly timedOut?: boolean | undefined;
  readonly timeoutAction?: 'warn' | 'block' | undefined;
}

/**
 * The result of a hook that has run.
 *
 * @example
 * ```ts
 * const stops = ({ result }: HookResult): boolean => result === 'block';
 * ```
 */
export interface HookResult {
  /** `warn_allow`: the hook failed, and the action continues. */
  readonly result: 'allow' | 'block' | 'ask' | 'warn_allow';
  /** False: the agent must stop after this event. */
  readonly continue: boolean;
  readonly reason?: string | undefined;
  readonly context?: string | undefined;
  readonly updatedInput?: { readonly [key: string]: unknown } | undefined;
  readonly suppressOutput?: boolean | undefined;
  readonly systemMessage?: string | undefined;
}

const failed: HookResult = { result: 'warn_allow', continue: true };
const BLOCKS = 2;

/**
 * Returns the result of a hook of the Hook Interchange Format.
 *
 * @example
 * ```ts
 * const { result } = hookInterchangeOutcome({ blocking: true, exitCode: 0, stdout: '{"decision":"ask"}' });
 * ```
 */
export function outcomeOf(run: Run): HookResult {
  const code = run.timedOut === true ? (run.timeoutAction === 'block' ? BLOCKS : 1) : (run.exitCode ?? 1);
  if (code === BLOCKS) return run.blocking ? { result: 'block', continue: true } : failed;
  if (code !== 0) return failed;
  const answer = answerIn(run.stdout ?? '');
  if (answer === undefined) return failed;
  const { decision = 'allow', reason, context, updated_input: input } = answer;
  if (decision !== 'allow' && decision !== 'deny' && decision !== 'ask') return failed;
  const asks = decision === 'ask' ? (run.interactive === true ? 'ask' : 'block') : undefined;
  return {
    result: asks ?? (decision === 'deny' ? 'block' : 'allow'),
    continue: answer.continue !== false,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof context === 'string' ? { context } : {}),
    ...(isObject(input) ? { updatedInput: input } : {}),
    ...(typeof answer.suppress_output === 'boolean' ? { suppressOutput: answer.suppress_output } : {}),
    ...(typeof answer.system_message === 'string' ? { systemMessage: answer.system_message } : {}),
  };
}

function answerIn(stdout: string): { readonly [key: string]: unknown } | undefined {
  if (stdout.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(stdout);
    return isObject(value) ? value : undefined;
  } catch {
    // Output that is not JSON is an error of the hook.
    return undefined;
  }
}
