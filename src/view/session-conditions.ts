/** The condition of running sessions, as far as their agents state it: context, cost so far, limits of the plan. */
import type { RateLimit } from '../event/event.ts';
import { sessionIndex } from '../journal/session-index.ts';
import type { Store } from '../store/store.ts';
import { isTrial } from './trial-sessions.ts';

export interface SessionCondition {
  session: string;
  agent: string;
  lastMs: number;
  version?: string | undefined;
  model?: string | undefined;
  /** The used share of the model's window. */
  context?: number | undefined;
  /** The cost so far. It is no part of the sums of a report, because it is not final. */
  cost_usd?: number | undefined;
  rate_limits?: RateLimit[] | undefined;
}

/** The newest session first. */
export function conditionsIn(store: Store): SessionCondition[] {
  const found = [...sessionIndex(store).values()].flatMap(
    ({ session, agent, lastMs, state, status, version }): SessionCondition[] => {
      if (state !== 'running' || status === undefined || isTrial(session)) return [];
      const { model, context, costUsd, limits } = status;
      return [{ session, agent, lastMs, version, model, context, cost_usd: costUsd, rate_limits: limits }];
    },
  );
  return found.sort((a, b) => b.lastMs - a.lastMs);
}
