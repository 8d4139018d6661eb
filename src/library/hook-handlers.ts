/** Ready-made handlers for the runner of hooks. Each one has one concern, and answers only to events that concern it. */
import { ALTERNATIONS, type Swing, swung } from '../enrich/alternation.ts';
import { withoutSecretsOf } from '../enrich/secrets.ts';
import { signatureOf } from '../enrich/signature.ts';
import { EXCEEDED, WARNING } from '../enrich/thresholds.ts';
import { canonicalJson, hexDigest } from '../lib/hash.ts';
import { put } from '../lib/read.ts';
import type { HookPoint } from '../standards/base-coat/hook-points.ts';
import type { HookEvent, HookHandler } from './hook-runner.ts';

/**
 * Options of `budgetGuard`.
 *
 * @example
 * ```ts
 * const options: BudgetGuardOptions = { warnAt: 0.6, allow: ['save_handoff'] };
 * ```
 */
export interface BudgetGuardOptions {
  /** The share of `effectiveLimit` from which on the guard warns. Default: 0.7. */
  warnAt?: number | undefined;
  /** The share from which on the guard blocks. Default: 0.8. */
  blockAt?: number | undefined;
  /** Tools that are never blocked, such as those that save the state before a rotation. */
  allow?: readonly string[] | undefined;
}

/** Only work that has not begun can be blocked. The end of a session and compactions must stay possible. */
const beginnings: readonly HookPoint[] = ['UserPromptSubmitted', 'PreToolUse', 'SubagentStart', 'OnBudgetExceeded'];

/**
 * Creates a handler that warns and later blocks when the `budget` of an event is nearly used up.
 *
 * @example
 * ```ts
 * hooks.register('PreToolUse', budgetGuard({ allow: ['save_handoff'] }), { priority: 20, id: 'budget' });
 * ```
 */
export function budgetGuard(options: BudgetGuardOptions = {}): HookHandler {
  const { warnAt = WARNING, blockAt = EXCEEDED, allow = [] } = options;
  for (const [name, share] of Object.entries({ warnAt, blockAt }))
    if (!(share > 0 && Number.isFinite(share))) throw new TypeError(`${name} is no share above 0`);
  return ({ hook, budget, tool }) => {
    const { usedTokens, effectiveLimit } = budget ?? {};
    if (usedTokens === undefined || effectiveLimit === undefined || !(effectiveLimit > 0)) return undefined;
    const share = usedTokens / effectiveLimit;
    const used = `${Math.floor(share * 100)}% of the token budget is used (${usedTokens} of ${effectiveLimit})`;
    const isAllowed = tool !== undefined && allow.includes(tool.name);
    if (share >= blockAt && !isAllowed && beginnings.includes(hook))
      return { action: 'block', reason: `${used}. Save the state and rotate the session.` };
    return share >= warnAt ? { action: 'passThrough', warnings: [used] } : undefined;
  };
}

/**
 * Options of `loopGuard`.
 *
 * @example
 * ```ts
 * const options: LoopGuardOptions = { failures: 5, minutes: 10 };
 * ```
 */
export interface LoopGuardOptions {
  /** The number of equal failures that make a loop. Default: 3. */
  failures?: number | undefined;
  /** The longest time between the first failure and the last one, in minutes. Default: 30. */
  minutes?: number | undefined;
}

interface Failures {
  result: string;
  times: number;
  firstMs: number;
}

/** The memory of a session: the failures of each call, and calls that alternate. */
interface Ends {
  failing: Map<string, Failures>;
  swings: Swing[];
}

const MOST_SESSIONS = 1_000;

const MOST_CALLS = 64;

const MINUTE_MS = 60_000;

/**
 * Creates a handler for `PostToolUse` that blocks when a session repeats itself: one call fails several times with the
 * same error, or two calls alternate four times with the same results. Times, durations, addresses, temporary paths and
 * counters do not make two errors different.
 *
 * @example
 * ```ts
 * hooks.register('PostToolUse', loopGuard({ failures: 3 }), { priority: 80, id: 'loops' });
 * ```
 */
export function loopGuard({ failures = 3, minutes = 30 }: LoopGuardOptions = {}): HookHandler {
  if (!(Number.isInteger(failures) && failures > 1)) throw new TypeError('failures is no whole number above 1');
  if (!(minutes > 0)) throw new TypeError('minutes is no number above 0');
  const sessions = new Map<string, Ends>();
  return event => {
    const { hook, sessionId, tool, timestamp } = event;
    if (hook === 'SessionEnd') sessions.delete(sessionId);
    if (hook !== 'PostToolUse' || tool === undefined) return undefined;
    const ends = newest(sessions, sessionId, MOST_SESSIONS, { failing: new Map(), swings: [] });
    const like = hexDigest(tool.name, textOf(event.input));
    const result = hexDigest(String(tool.success), signatureOf(textOf(event.output)));
    const atMs = Date.parse(timestamp);
    const times = failed(ends, { like, result, atMs, isFailure: tool.success === false }, minutes * MINUTE_MS);
    if (times >= failures)
      return { action: 'block', reason: `Loop: ${tool.name} failed ${times} times with the same error. ${ADVICE}` };
    const swing = swung(ends.swings, { who: '', like, result, atMs, tokens: 0 }, minutes * MINUTE_MS);
    if (swing === undefined) return undefined;
    ends.swings = [];
    return { action: 'block', reason: `Loop: two calls alternated ${ALTERNATIONS} times without progress. ${ADVICE}` };
  };
}

const ADVICE = 'Change the approach or ask the user.';

/** Counts the equal failures of a call in sequence. A success or another error begins again. */
function failed(
  { failing }: Ends,
  { like, result, atMs, isFailure }: { like: string; result: string; atMs: number; isFailure: boolean },
  mostMs: number,
): number {
  if (!isFailure) {
    failing.delete(like);
    return 0;
  }
  const known = newest(failing, like, MOST_CALLS, { result, times: 0, firstMs: atMs });
  const isSame = known.result === result && atMs - known.firstMs <= mostMs;
  const next = isSame ? { ...known, times: known.times + 1 } : { result, times: 1, firstMs: atMs };
  failing.set(like, next);
  return next.times;
}

/** Returns the value of a key, which becomes the newest one. The oldest key is removed when there are too many. */
function newest<T>(map: Map<string, T>, key: string, most: number, fresh: T): T {
  const value = map.get(key) ?? fresh;
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > most) map.delete(oldest);
  return value;
}

function textOf(value: unknown): string {
  if (value === undefined || typeof value === 'string') return value ?? '';
  try {
    return canonicalJson(value);
  } catch {
    // The value has no JSON form, such as one that contains itself.
    return String(value);
  }
}

/**
 * Creates a handler that replaces secrets in the input and the output of an event, with the rules that protect the
 * telemetry of otel-hooks. It answers `modify` only if it replaced a secret.
 *
 * @example
 * ```ts
 * hooks.register('PostToolUse', redactor(), { priority: 15, id: 'redactor' });
 * ```
 */
export function redactor(): HookHandler {
  return ({ input, output }: HookEvent) => {
    const [cleanInput, cleanOutput] = [withoutSecretsIn(input), withoutSecretsIn(output)];
    if (!cleanInput.isChanged && !cleanOutput.isChanged) return undefined;
    return {
      action: 'modify',
      ...(cleanInput.isChanged ? { modifiedInput: cleanInput.value } : {}),
      ...(cleanOutput.isChanged ? { modifiedOutput: cleanOutput.value } : {}),
    };
  };
}

const DEEPEST = 64;

function withoutSecretsIn(value: unknown): { value: unknown; isChanged: boolean } {
  let isChanged = false;
  // Each object is visited once, so an object that contains itself does not take forever.
  const copies = new Map<object, unknown>();
  const clean = (inner: unknown, name: string | undefined, depth: number): unknown => {
    if (typeof inner === 'string') {
      const cleaned = withoutSecretsOf(name, inner);
      isChanged ||= cleaned !== inner;
      return cleaned;
    }
    if (typeof inner !== 'object' || inner === null) return inner;
    const known = copies.get(inner);
    if (known !== undefined) return known;
    if (depth >= DEEPEST) {
      // Deeper values are not searched, so they do not pass.
      isChanged = true;
      return '[redacted:depth]';
    }
    const prototype: unknown = Object.getPrototypeOf(inner);
    if (!Array.isArray(inner) && prototype !== Object.prototype && prototype !== null) return inner;
    const copy: { [name: string]: unknown } | unknown[] = Array.isArray(inner) ? [] : {};
    copies.set(inner, copy);
    if (Array.isArray(copy)) for (const each of inner as unknown[]) copy.push(clean(each, name, depth + 1));
    else for (const [key, each] of Object.entries(inner)) put(copy, key, clean(each, key, depth + 1));
    return copy;
  };
  return { value: clean(value, undefined, 0), isChanged };
}
