/**
 * Detects when a stated use reaches 70 % or 80 % of its limit: the budget that a sender states in the envelope of its
 * events, and the context window. Each threshold counts once until the use is lower again, for example after a
 * compaction.
 */
import { type BudgetFacts, type Event, FACTS, factsOf } from '../event/event.ts';

/** Shares of a budget; Base Coat warns at about the first and rotates the session at the second. */
export const WARNING = 0.7;

export const EXCEEDED = 0.8;

const SHARES = [WARNING, EXCEEDED];

/** The number of thresholds that each session or subagent has reached. */
export type Reached = [who: string, count: number][];

const MOST_REACHED = 16;

/** Remembers the share. Returns the indexes of the thresholds that it reaches anew. */
function reachedAnew(reached: Reached, who: string, share: number): number[] {
  const at = reached.findIndex(([name]) => name === who);
  const [[, former] = [who, 0]] = at < 0 ? [] : reached.splice(at, 1);
  const count = SHARES.filter(each => share >= each).length;
  if (count > 0) reached.push([who, count]);
  if (reached.length > MOST_REACHED) reached.shift();
  return SHARES.flatMap((_, i) => (i >= former && i < count ? [i] : []));
}

/** The threshold of the stated budget that this event reaches. If it passes both, only the higher one. */
export function budgetReached(reached: Reached, event: Event): BudgetFacts | undefined {
  const { stated_budget: stated, budget } = factsOf(event) ?? {};
  if (budget?.of === 'envelope') {
    // The sender reports the budget itself. If an earlier envelope already reached the threshold, it counts once.
    const isNew = reachedAnew(reached, event.session_id, Math.max(EXCEEDED, budget.used / budget.limit)).length > 0;
    const facts = factsOf(event);
    if (!isNew && facts !== undefined && event.metadata !== undefined)
      event.metadata[FACTS] = { ...facts, budget: undefined };
    return undefined;
  }
  if (stated === undefined || !(stated.limit > 0)) return undefined;
  const highest = reachedAnew(reached, event.session_id, stated.used / stated.limit).at(-1);
  if (highest === undefined) return undefined;
  return { of: 'envelope', unit: 'tokens', state: highest === 0 ? 'warning' : 'exceeded', ...stated };
}

/** The shares of the context window, in percent, that this use reaches. Undefined: none. */
export function contextCrossed(
  reached: Reached,
  who: string,
  { percentage_used: percentage, tokens_used: used, tokens_limit: limit }: { [field: string]: number | undefined },
): number[] | undefined {
  const share = percentage === undefined ? (used ?? Number.NaN) / (limit ?? Number.NaN) : percentage / 100;
  if (!Number.isFinite(share)) return undefined;
  const crossed = reachedAnew(reached, who, share).map(i => Math.round((SHARES[i] ?? 0) * 100));
  return crossed.length === 0 ? undefined : crossed;
}
