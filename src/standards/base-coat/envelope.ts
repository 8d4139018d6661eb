/**
 * The two envelopes of Base Coat: the event that a hook receives, and the response of the hook. `schema.ts` validates
 * them.
 */
import type { HookPoint } from './hook-points.ts';

/**
 * An event of Base Coat, without input and output.
 *
 * @example
 * ```ts
 * const event: BaseCoatEvent = { hook: 'SessionStart', timestamp: '2026-11-18T09:00:00Z', sessionId: 'run-1' };
 * ```
 */
export interface BaseCoatEvent {
  hook: HookPoint;
  /** ISO 8601. */
  timestamp: string;
  sessionId: string;
  /** The name of the agent definition, not of the product. */
  agent?: string | undefined;
  /** `owner/name` */
  repository?: string | undefined;
  branch?: string | undefined;
  budget?: Budget | undefined;
  /** For `PreToolUse`, `PostToolUse`, and the `OnError` of a tool. */
  tool?: CoatTool | undefined;
  /** The answer of the hooks, which otel-hooks adds. */
  response?: BaseCoatResponse | undefined;
}

export interface Budget {
  usedTokens?: number | undefined;
  effectiveLimit?: number | undefined;
}

export interface CoatTool {
  name: string;
  success?: boolean | undefined;
  durationMs?: number | undefined;
}

export type ResponseAction = 'passThrough' | 'injectContext' | 'block' | 'modify';

/**
 * The answer of a handler to an event of Base Coat.
 *
 * @example
 * ```ts
 * const response: BaseCoatResponse = { action: 'block', reason: 'Deploys are done by hand.' };
 * ```
 */
export interface BaseCoatResponse {
  action: ResponseAction;
  /**
   * The order of its contexts among those of other answers to the event; the lowest comes first. Without it, the runner
   * uses the priority of the handler.
   */
  priority?: number | undefined;
  /** For the next step of reasoning. */
  additionalContext?: string[] | undefined;
  /** The contexts of earlier handlers are dropped. Not a field of the standard, which names no way to say so. */
  overwriteContext?: boolean | undefined;
  /** For the runtime. */
  warnings?: string[] | undefined;
  /** For `block`. */
  reason?: string | undefined;
  /** For `modify`. */
  modifiedInput?: unknown;
  modifiedOutput?: unknown;
  /** For diagnosis. */
  metadata?: { hookId?: string | undefined; [name: string]: unknown } | undefined;
}
