/** What comes of a hook that has run: its exit code, what it said, and whether it was in time. */
import { isObject } from '../standards/wording.ts';

export interface Run {
  /** Whether the manifest lets it block. */
  readonly blocking: boolean;
  /** Undefined where it was stopped. */
  readonly exitCode?: number | undefined;
  readonly stdout?: string | undefined;
  /** A person is there who can answer. */
  readonly interactive?: boolean | undefined;
  readonly timedOut?: boolean | undefined;
  readonly timeoutAction?: 'warn' | 'block' | undefined;
}

export interface HookResult {
  /** `warn_allow`: the hook failed, and the action goes on. */
  readonly result: 'allow' | 'block' | 'ask' | 'warn_allow';
  /** False: the agent is to stop after this. */
  readonly continue: boolean;
  readonly reason?: string | undefined;
  readonly context?: string | undefined;
  readonly updatedInput?: { readonly [key: string]: unknown } | undefined;
  readonly suppressOutput?: boolean | undefined;
  readonly systemMessage?: string | undefined;
}

const failed: HookResult = { result: 'warn_allow', continue: true };
const BLOCKS = 2;

export function outcomeOf(run: Run): HookResult {
  const code = run.timedOut === true ? (run.timeoutAction === 'block' ? BLOCKS : 1) : (run.exitCode ?? 1);
  if (code === BLOCKS) return run.blocking ? { result: 'block', continue: true } : failed;
  if (code !== 0) return failed;
  const said = answerIn(run.stdout ?? '');
  if (said === undefined) return failed;
  const { decision = 'allow', reason, context, updated_input: input } = said;
  if (decision !== 'allow' && decision !== 'deny' && decision !== 'ask') return failed;
  const asks = decision === 'ask' ? (run.interactive === true ? 'ask' : 'block') : undefined;
  return {
    result: asks ?? (decision === 'deny' ? 'block' : 'allow'),
    continue: said.continue !== false,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof context === 'string' ? { context } : {}),
    ...(isObject(input) ? { updatedInput: input } : {}),
    ...(typeof said.suppress_output === 'boolean' ? { suppressOutput: said.suppress_output } : {}),
    ...(typeof said.system_message === 'string' ? { systemMessage: said.system_message } : {}),
  };
}

function answerIn(stdout: string): { readonly [key: string]: unknown } | undefined {
  if (stdout.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(stdout);
    return isObject(value) ? value : undefined;
  } catch {
    // Not JSON: an error of the hook, as the caller is told.
    return undefined;
  }
}
