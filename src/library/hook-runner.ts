/**
 * A runner of Base Coat's hooks, for runtimes with a middleware of their own: handlers are registered for the eleven
 * hook points and asked in the order of their priorities, equal ones as they were registered. Whatever a handler does,
 * `run` gives an answer.
 *
 * Observers see each event and what was answered to it, also after a block, and answer nothing. Our own telemetry is
 * one.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isFields } from '../lib/read.ts';
import type { BaseCoatEvent, BaseCoatResponse } from '../standards/base-coat/envelope.ts';
import { type HookPoint, hookPointOf, hookPoints } from '../standards/base-coat/hook-points.ts';
import { responseSchema } from '../standards/base-coat/schema.ts';

/**
 * An event of the runtime: an envelope, and the values that `modify` may change.
 *
 * @example
 * ```ts
 * const event: HookEvent = { hook: 'PreToolUse', sessionId: 'run-1', tool: { name: 'deploy' }, input: { to: 'prod' } };
 * ```
 */
export interface HookEvent extends Omit<BaseCoatEvent, 'timestamp'> {
  /** Now, without it. */
  timestamp?: string | undefined;
  input?: unknown;
  output?: unknown;
}

/**
 * Of all handlers together.
 *
 * @example
 * ```ts
 * const outcome: HookOutcome = await hooks.run({ hook: 'SessionStart', sessionId: 'run-1' });
 * ```
 */
export interface HookOutcome extends BaseCoatResponse {
  additionalContext: string[];
  warnings: string[];
  metadata: {
    /** The handler that blocked. */
    hookId?: string | undefined;
    /** The handlers that changed input or output, in order. */
    modifiedBy: string[];
    /** Of handlers that were passed over, and of those that called hooks themselves. */
    failures: HookFailure[];
  };
}

/**
 * A handler that failed, and how.
 *
 * @example
 * ```ts
 * const textOf = ({ hookId, why }: HookFailure): string => `${hookId}: ${why}`;
 * ```
 */
export interface HookFailure {
  hookId: string;
  why: 'threw' | 'overran' | 'invalid' | 'recursed';
}

/**
 * The event that an observer gets, without input and output.
 *
 * @example
 * ```ts
 * const wasBlocked = ({ response }: ObservedEvent): boolean => response.action === 'block';
 * ```
 */
export interface ObservedEvent extends BaseCoatEvent {
  response: Omit<HookOutcome, 'modifiedInput' | 'modifiedOutput'>;
}

/**
 * The second argument of a handler.
 *
 * @example
 * ```ts
 * const handler: HookHandler = async (_event, { signal }: HookContext) => {
 *   await fetch('http://127.0.0.1:9000/policy', { signal });
 *   return undefined;
 * };
 * ```
 */
export interface HookContext {
  /** Aborted when the handler's time is up. */
  signal: AbortSignal;
}

/**
 * A function that is asked at a hook point. It returns nothing, or a response.
 *
 * @example
 * ```ts
 * const handler: HookHandler = ({ tool }) => (tool?.name === 'deploy' ? { action: 'block', reason: 'by hand' } : undefined);
 * ```
 */
export type HookHandler = (
  event: HookEvent & BaseCoatEvent,
  context: HookContext,
) => BaseCoatResponse | undefined | Promise<BaseCoatResponse | undefined>;

/**
 * A function that gets every event with its response, and answers nothing.
 *
 * @example
 * ```ts
 * const observer: HookObserver = event => bridge.ingest(event, { tool: 'my-runtime' });
 * ```
 */
export type HookObserver = (event: ObservedEvent, context: HookContext) => unknown;

/**
 * Options of a handler or an observer.
 *
 * @example
 * ```ts
 * const options: HookOptions = { priority: 10, id: 'no-deploys', timeoutMs: 500 };
 * ```
 */
export interface HookOptions {
  /** The lowest comes first: 50 without it, 90 for observers. */
  priority?: number | undefined;
  /** Its name in warnings and metadata; without it that of the function. */
  id?: string | undefined;
  /** How long it may take; without it as long as the runner says. */
  timeoutMs?: number | undefined;
}

/**
 * Options of `createHookRunner`.
 *
 * @example
 * ```ts
 * const options: HookRunnerOptions = { timeoutMs: 500 };
 * ```
 */
export interface HookRunnerOptions {
  /** How long each handler may take: 2,000 without it. */
  timeoutMs?: number | undefined;
}

/**
 * A runner of `createHookRunner`.
 *
 * @example
 * ```ts
 * const hooks: HookRunner = createHookRunner();
 * hooks.observe(event => bridge.ingest(event, { tool: 'my-runtime' }));
 * ```
 */
export interface HookRunner {
  /** Returns what takes it away again. */
  register(hook: HookPoint, handler: HookHandler, options?: HookOptions): () => void;
  /** For all hook points. */
  observe(observer: HookObserver, options?: HookOptions): () => void;
  /** Never rejects. */
  run(event: HookEvent): Promise<HookOutcome>;
}

interface Registered {
  id: string;
  priority: number;
  timeoutMs: number;
  ask(event: Told, outcome: HookOutcome, context: HookContext): unknown;
  isObserver: boolean;
}

type Told = Parameters<HookHandler>[0];

/** One event that is being processed, and the handler that has it now. */
interface Chain {
  outcome: HookOutcome;
  asked: string | undefined;
}

/**
 * Makes a runner of Base Coat's hooks.
 *
 * @example
 * ```ts
 * const hooks = createHookRunner({ timeoutMs: 500 });
 * hooks.register('PreToolUse', ({ tool }) => (tool?.name === 'deploy' ? { action: 'block', reason: 'by hand' } : undefined));
 * ```
 */
export function createHookRunner({ timeoutMs: mostMs = 2_000 }: HookRunnerOptions = {}): HookRunner {
  const registered = new Map<HookPoint, readonly Registered[]>();
  const within = new AsyncLocalStorage<Chain>();

  function add(hook: HookPoint, entry: Registered): () => void {
    if (!Number.isFinite(entry.priority)) throw new TypeError(`the priority of ${entry.id} is no number`);
    if (!(entry.timeoutMs > 0 && entry.timeoutMs <= LONGEST_MS))
      throw new TypeError(`the time of ${entry.id} is not between 0 and ${LONGEST_MS} ms`);
    const others = (): readonly Registered[] => (registered.get(hook) ?? []).filter(other => other !== entry);
    // The sort is stable: equal ones stay as they came.
    registered.set(
      hook,
      [...others(), entry].sort((a, b) => a.priority - b.priority),
    );
    return () => registered.set(hook, others());
  }

  return {
    register(hook, handler, { priority = 50, id = handler.name, timeoutMs = mostMs } = {}) {
      if (!isHookPoint(hook)) throw new TypeError(strange(hook));
      const ask: Registered['ask'] = (event, _, context) => handler(event, context);
      return add(hook, { id: id || `of ${hook}`, priority, timeoutMs, ask, isObserver: false });
    },
    observe(observer, { priority = 90, id = observer.name, timeoutMs = mostMs } = {}) {
      const ask: Registered['ask'] = ({ input: _, output: __, ...event }, outcome, context) => {
        const { modifiedInput: ___, modifiedOutput: ____, ...response } = outcome;
        return observer({ ...event, response: structuredClone(response) }, context);
      };
      const entry = { id: id || 'that observes', priority, timeoutMs, ask, isObserver: true };
      const removals = hookPoints.map(hook => add(hook, entry));
      return () => {
        for (const remove of removals) remove();
      };
    },
    async run(event) {
      const chain: Chain = { outcome: nothing(), asked: undefined };
      const { outcome } = chain;
      const outer = within.getStore();
      if (outer?.asked !== undefined) {
        // The hook waits for this answer; that it asked is told of the event that it was asked about.
        fail(outer.outcome, outer.asked, 'recursed', `called the hooks of ${event.hook}, which were not run`);
        outcome.warnings.push(`hooks do not run within a hook (${outer.asked})`);
      } else if (!isHookPoint(event.hook)) outcome.warnings.push(strange(event.hook));
      else {
        const told = { ...event, timestamp: event.timestamp ?? new Date().toISOString() };
        await within.run(chain, () => runAll(registered.get(event.hook) ?? [], told, chain));
      }
      return outcome;
    },
  };
}

/** The longest time of a timer in Node. */
const LONGEST_MS = 2 ** 31 - 1;

const isHookPoint = (name: string): name is HookPoint => (hookPoints as readonly string[]).includes(name);

function strange(name: string): string {
  const meant = hookPointOf(name);
  return `${name} is no hook point${meant === undefined ? `: there are ${hookPoints.join(', ')}` : ` but a platform's name of ${meant}`}`;
}

const nothing = (): HookOutcome => ({
  action: 'passThrough',
  additionalContext: [],
  warnings: [],
  metadata: { modifiedBy: [], failures: [] },
});

function fail({ metadata, warnings }: HookOutcome, hookId: string, why: HookFailure['why'], how: string): void {
  metadata.failures.push({ hookId, why });
  warnings.push(`hook ${hookId} ${how}`);
}

/** Runs the handlers one after the other, and merges their responses into the outcome. */
async function runAll(entries: readonly Registered[], told: Told, chain: Chain): Promise<void> {
  const { outcome } = chain;
  let event = told;
  for (const entry of entries) {
    if (outcome.action === 'block' && !entry.isObserver) continue;
    chain.asked = entry.id;
    const response = await hear(entry, event, outcome);
    // Work that the handler left running may call hooks after this point.
    chain.asked = undefined;
    if (!entry.isObserver) event = heed(response, entry.id, event, outcome);
  }
}

const overran = Symbol('overran');

async function hear(entry: Registered, event: Told, outcome: HookOutcome): Promise<BaseCoatResponse> {
  const { id, timeoutMs } = entry;
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof overran>(resolve => {
    timer = setTimeout(resolve, timeoutMs, overran);
  });
  try {
    const said = await Promise.race([entry.ask(copyOf(event), outcome, { signal: stop.signal }), late]);
    if (said === overran) {
      fail(outcome, id, 'overran', `took longer than ${timeoutMs} ms; it was passed over`);
      stop.abort();
    } else if (!entry.isObserver && said !== undefined) {
      const read = responseSchema.safeParse(said);
      if (read.success) return read.data;
      fail(outcome, id, 'invalid', `answered what is no response (${read.error.issues[0]?.path.join('.')})`);
      // A slip in the rest of the answer must not let through what a policy stopped.
      if (isFields(said) && said.action === 'block') return { action: 'block' };
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : typeof error;
    fail(outcome, id, 'threw', `failed: ${message}; it was passed over`);
  } finally {
    clearTimeout(timer);
  }
  return { action: 'passThrough' };
}

/** Each handler gets a copy, so that its changes do not reach the others. */
function copyOf(event: Told): Told {
  try {
    return structuredClone(event);
  } catch {
    // Functions and the like cannot be copied, and are shared.
    return { ...event };
  }
}

/** The event as the next handler gets it. */
function heed(response: BaseCoatResponse, hookId: string, event: Told, outcome: HookOutcome): Told {
  const { action, additionalContext = [], warnings = [], reason, modifiedInput, modifiedOutput } = response;
  outcome.warnings.push(...warnings);
  if (action === 'passThrough') return event;
  outcome.additionalContext.push(...additionalContext);
  if (action === 'injectContext') {
    if (outcome.action === 'passThrough') outcome.action = action;
    return event;
  }
  outcome.action = action;
  if (action === 'block') {
    outcome.reason = reason ?? `blocked by hook ${hookId}`;
    outcome.metadata.hookId = hookId;
    delete outcome.modifiedInput;
    delete outcome.modifiedOutput;
    return event;
  }
  outcome.metadata.modifiedBy.push(hookId);
  const changed = { ...event };
  if (modifiedInput !== undefined) outcome.modifiedInput = changed.input = modifiedInput;
  if (modifiedOutput !== undefined) outcome.modifiedOutput = changed.output = modifiedOutput;
  return changed;
}
