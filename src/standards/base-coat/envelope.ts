/**
 * The two envelopes of Base Coat: what a hook is told, and what it answers. `schema.ts` holds a stranger's against
 * them.
 */
import type { HookPoint } from './hook-points.ts';

export interface BaseCoatEvent {
  hook: HookPoint;
  /** ISO 8601. */
  timestamp: string;
  sessionId: string;
  /** The definition that the agent follows, not the product. */
  agent?: string | undefined;
  /** `owner/name` */
  repository?: string | undefined;
  branch?: string | undefined;
  budget?: Budget | undefined;
  /** Of `PreToolUse`, `PostToolUse` and the `OnError` of a tool. */
  tool?: CoatTool | undefined;
  /** What hooks answered to it: an addition of ours. */
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

export interface BaseCoatResponse {
  action: ResponseAction;
  /** Where it stands among the answers to one event; a runner goes by what a handler was registered with. */
  priority?: number | undefined;
  /** For the next step of reasoning. */
  additionalContext?: string[] | undefined;
  /** For the runtime. */
  warnings?: string[] | undefined;
  /** Of `block`. */
  reason?: string | undefined;
  /** Of `modify`. */
  modifiedInput?: unknown;
  modifiedOutput?: unknown;
  /** For diagnosis. */
  metadata?: { hookId?: string | undefined; [name: string]: unknown } | undefined;
}
