/** The two envelopes of Base Coat: what a hook is told, and what it answers. `schema.ts` holds a stranger's against them. */
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
