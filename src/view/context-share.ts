/** The share of the context window that a session uses. */
import type { ContextUse } from '../assemble/finished.ts';
import { isFold } from '../assemble/state.ts';
import { type Event, rootSessionOf } from '../event/event.ts';
import { sessionIndex } from '../journal/session-index.ts';
import { fieldsOf } from '../lib/read.ts';
import type { Store } from '../store/store.ts';

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

/** Follows the share of each session over its events. */
export class ContextShares {
  private readonly shares = new Map<string, number>();
  private readonly at = new WeakMap<Event, number>();

  /** Notes an event; the events of a session come in the order of its journal. */
  note(event: Event): void {
    const session = keyOf(event.source.tool, rootSessionOf(event));
    const share = shareIn(event) ?? this.shares.get(session);
    if (share === undefined) return;
    this.shares.set(session, share);
    this.at.set(event, share);
  }

  /** Takes the shares of running sessions of which no noted event stated one. */
  begin(store: Store): void {
    for (const [key, { agent, session, state }] of sessionIndex(store)) {
      if (state !== 'running' || this.shares.has(keyOf(agent, session))) continue;
      const { fold } = fieldsOf(store.session(key)?.state);
      const share = isFold(fold) ? contextShare(fold.segment?.context) : undefined;
      if (share !== undefined) this.shares.set(keyOf(agent, session), share);
    }
  }

  /** Returns the share at the time of a noted event. */
  of(event: Event): number | undefined {
    return this.at.get(event);
  }
}

const keyOf = (agent: string, session: string): string => `${agent} ${session}`;
