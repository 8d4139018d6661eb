/**
 * Joins the two events of a compaction, if the first one states only the size before and the second one only the size
 * after. The second event then has both sizes and the removed tokens, so metrics and loops need only one event.
 */
import { type Event, FACTS, factsOf } from '../event/event.ts';

/** A compaction that has begun: the session or subagent, and the size of its context. */
export type Begun = [who: string, tokens: number | undefined];

const MOST_BEGUN = 16;

/** Completes the event in place. `begun` is the memory of the session. */
export function joinCompaction(begun: Begun[], event: Event): void {
  if (event.event_type !== 'Context.Compaction') return;
  const { data } = event;
  const facts = factsOf(event);
  const at = begun.findIndex(([who]) => who === event.session_id);
  const isFirst = facts?.phase === 'before' || (facts?.phase === undefined && data.tokens_after === undefined);
  if (isFirst && data.tokens_after === undefined && data.tokens_removed === undefined) {
    if (at >= 0) begun.splice(at, 1);
    begun.push([event.session_id, data.tokens_before]);
    if (begun.length > MOST_BEGUN) begun.shift();
    return;
  }
  const [known] = at < 0 ? [] : begun.splice(at, 1);
  const isSecond = known !== undefined && (data.tokens_before === undefined || data.tokens_before === known[1]);
  data.tokens_before ??= known?.[1];
  // A sender that states no phase reports one compaction with two events: the second must not count again.
  if (isSecond && facts !== undefined && event.metadata !== undefined)
    event.metadata[FACTS] = { ...facts, phase: facts.phase ?? 'after' };
  const { tokens_before: before, tokens_after: after, tokens_removed: removed } = data;
  if (before === undefined) return;
  if (after !== undefined && after <= before) data.tokens_removed ??= before - after;
  else if (after === undefined && removed !== undefined && removed <= before) data.tokens_after = before - removed;
}
