/**
 * A runner of Base Coat's hooks, for runtimes with their own middleware. Handlers are registered for the eleven hook
 * points and called in the order of their priorities, with equal priorities in the order of their registration. `run`
 * always returns an answer, even if a handler fails.
 *
 * Observers get each event with its answer, also after a block, and do not answer. Our own telemetry is an observer.
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
  /** The time of the event; now by default. */
  timestamp?: string | undefined;
  input?: unknown;
  output?: unknown;
}

/**
 * The merged result of all handlers.
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
    /** Each change of a handler, in order. Our telemetry records them as `vendor.base-coat.change`. */
    changes: HookChange[];
    /** Failures of skipped handlers, and of handlers that called hooks themselves. */
    failures: HookFailure[];
  };
}

/**
 * What a handler changed: input, output, or the contexts, which it extended or replaced.
 *
 * @example
 * ```ts
 * const textOf = ({ hookId, what }: HookChange): string => `${hookId} changed ${what}`;
 * ```
 */
export interface HookChange {
  hookId: string;
  what: 'input' | 'output' | 'context' | 'replaced_context';
}

/**
 * A handler that failed, with the kind of the failure.
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
 * The event that an observer gets, with input and output as the handlers left them.
 *
 * @example
 * ```ts
 * const wasBlocked = ({ response }: ObservedEvent): boolean => response.action === 'block';
 * ```
 */
export interface ObservedEvent extends BaseCoatEvent {
  input?: unknown;
  output?: unknown;
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
 * A function that is called at a hook point. It returns a response or undefined.
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
 * A function that gets every event with its response. Its result is ignored.
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
  /** The lowest priority comes first. Default: 50, for observers 90. */
  priority?: number | undefined;
  /** The name in warnings and metadata. Default: the name of the function. */
  id?: string | undefined;
  /** The time limit. Default: the time limit of the runner. */
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
  /** The time limit of each handler. Default: 2,000. */
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
  /** Registers a handler. Returns a function that removes it. */
  register(hook: HookPoint, handler: HookHandler, options?: HookOptions): () => void;
  /** Registers an observer for all hook points. Returns a function that removes it. */
  observe(observer: HookObserver, options?: HookOptions): () => void;
  /** Calls the handlers of an event. Never rejects. */
  run(event: HookEvent): Promise<HookOutcome>;
}

interface Registered {
  id: string;
  priority: number;
  timeoutMs: number;
  ask(event: TimedEvent, outcome: HookOutcome, context: HookContext): unknown;
  isObserver: boolean;
}

type TimedEvent = Parameters<HookHandler>[0];

/** One event that is being processed, and the handler that has it now. */
interface Chain {
  outcome: HookOutcome;
  /** The contexts of the outcome, with the priority of each. */
  contexts: { priority: number; text: string }[];
  asked: string | undefined;
}

/**
 * Creates a runner of Base Coat's hooks.
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
    // The sort is stable: handlers with equal priorities stay in the order of their registration.
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
      const ask: Registered['ask'] = (event, outcome, context) => {
        const { modifiedInput: _, modifiedOutput: __, ...response } = outcome;
        return observer({ ...event, response: structuredClone(response) }, context);
      };
      const entry = { id: id || 'of an observer', priority, timeoutMs, ask, isObserver: true };
      const removals = hookPoints.map(hook => add(hook, entry));
      return () => {
        for (const remove of removals) remove();
      };
    },
    async run(event) {
      const chain: Chain = { outcome: nothing(), contexts: [], asked: undefined };
      const { outcome } = chain;
      const outer = within.getStore();
      if (outer?.asked !== undefined) {
        // A handler has called `run`. Its hooks are not run, and the failure is added to the outcome of the outer
        // event.
        fail(outer.outcome, outer.asked, 'recursed', `called the hooks of ${event.hook}, which were not run`);
        outcome.warnings.push(`hooks do not run within a hook (${outer.asked})`);
      } else if (!isHookPoint(event.hook)) outcome.warnings.push(strange(event.hook));
      else {
        const timed = { ...event, timestamp: event.timestamp ?? new Date().toISOString() };
        await within.run(chain, () => runAll(registered.get(event.hook) ?? [], timed, chain));
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
  metadata: { modifiedBy: [], changes: [], failures: [] },
});

function fail({ metadata, warnings }: HookOutcome, hookId: string, why: HookFailure['why'], how: string): void {
  metadata.failures.push({ hookId, why });
  warnings.push(`hook ${hookId} ${how}`);
}

/** Runs the handlers one after the other, and merges their responses into the outcome. */
async function runAll(entries: readonly Registered[], first: TimedEvent, chain: Chain): Promise<void> {
  const { outcome } = chain;
  let event = first;
  for (const entry of entries) {
    if (outcome.action === 'block' && !entry.isObserver) continue;
    chain.asked = entry.id;
    const response = await callHandler(entry, event, outcome);
    // Work that the handler started and did not await may call hooks after this point.
    chain.asked = undefined;
    if (!entry.isObserver) event = applied(response, entry, event, chain);
  }
}

const overran = Symbol('overran');

async function callHandler(entry: Registered, event: TimedEvent, outcome: HookOutcome): Promise<BaseCoatResponse> {
  const { id, timeoutMs } = entry;
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof overran>(resolve => {
    timer = setTimeout(resolve, timeoutMs, overran);
  });
  try {
    const answer = await Promise.race([entry.ask(copyOf(event), outcome, { signal: stop.signal }), late]);
    if (answer === overran) {
      fail(outcome, id, 'overran', `took longer than ${timeoutMs} ms; it was skipped`);
      stop.abort();
    } else if (!entry.isObserver && answer !== undefined) {
      const read = responseSchema.safeParse(answer);
      if (read.success) return read.data;
      fail(outcome, id, 'invalid', `returned an invalid response (${read.error.issues[0]?.path.join('.')})`);
      // A block must stay a block, even if the rest of the answer is invalid.
      if (isFields(answer) && answer.action === 'block') return { action: 'block' };
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : typeof error;
    fail(outcome, id, 'threw', `failed: ${message}; it was skipped`);
  } finally {
    clearTimeout(timer);
  }
  return { action: 'passThrough' };
}

/** Copies the event for each handler, so that the changes of a handler do not affect the others. */
function copyOf(event: TimedEvent): TimedEvent {
  try {
    return structuredClone(event);
  } catch {
    // The event contains values that cannot be copied, such as functions. The handlers share them.
    return { ...event };
  }
}

/** Applies a response to the outcome, and returns the event for the next handler. */
function applied(response: BaseCoatResponse, entry: Registered, event: TimedEvent, chain: Chain): TimedEvent {
  const { outcome } = chain;
  const { id: hookId } = entry;
  const { action, warnings = [], reason, modifiedInput, modifiedOutput } = response;
  outcome.warnings.push(...warnings);
  if (action === 'passThrough') return event;
  addContexts(response, entry, chain);
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
  const { modifiedBy, changes } = outcome.metadata;
  modifiedBy.push(hookId);
  const changed = { ...event };
  if (modifiedInput !== undefined) {
    outcome.modifiedInput = changed.input = modifiedInput;
    changes.push({ hookId, what: 'input' });
  }
  if (modifiedOutput !== undefined) {
    outcome.modifiedOutput = changed.output = modifiedOutput;
    changes.push({ hookId, what: 'output' });
  }
  return changed;
}

/** Contexts are in the order of the responses' priorities. Without one, the priority of the handler counts. */
function addContexts(response: BaseCoatResponse, { id: hookId, priority: own }: Registered, chain: Chain): void {
  const { additionalContext: texts = [], priority = own, overwriteContext = false } = response;
  if (texts.length === 0 && !overwriteContext) return;
  const before = overwriteContext ? [] : chain.contexts;
  // The sort is stable.
  chain.contexts = [...before, ...texts.map(text => ({ priority, text }))].sort((a, b) => a.priority - b.priority);
  chain.outcome.additionalContext = chain.contexts.map(({ text }) => text);
  chain.outcome.metadata.changes.push({ hookId, what: overwriteContext ? 'replaced_context' : 'context' });
}
