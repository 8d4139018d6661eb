/** The share of the context window that a session uses. */
import type { ContextUse } from '../assemble/finished.ts';
import type { Event } from '../event/event.ts';

/** Returns the share, where 1 is a full window; undefined if neither the share nor the size of the window is known. */
export function contextShare(use: ContextUse | undefined): number | undefined {
  const { used, limit, share } = use ?? {};
  if (share !== undefined) return share;
  return used === undefined || limit === undefined || limit <= 0 ? undefined : used / limit;
}

/** Returns the share that an event of the main agent states. */
export function shareIn(event: Event): number | undefined {
  if (event.event_type !== 'Context.UntilCompaction' || event.parent_session_id !== undefined) return undefined;
  const { tokens_used: used, tokens_limit: limit, percentage_used: percent } = event.data;
  return contextShare({ used, limit, share: percent === undefined ? undefined : percent / 100 });
}

/** `43%`; empty if the share is unknown. */
export const percentText = (share: number | undefined): string =>
  share === undefined ? '' : `${Math.round(share * 100)}%`;
