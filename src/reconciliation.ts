/** What damage at rest has torn apart is put together again, and counted, before the first round. */
import { accountsOf, increase } from './store/ledger.ts';
import type { Round, Store } from './store/store.ts';
import { type MetricState, metricsDocument } from './telemetry/metrics.ts';

/**
 * A metric state and its books lie in two files, and damage to one must not leave them apart for ever: versions that the
 * state no longer knows went with it, versions that the books no longer know are counted as the outbox is.
 */
export function reconciliation(store: Pick<Store, 'ledger' | 'document'>): Round | undefined {
  const gaps = Object.entries(store.ledger().destinations).flatMap(([id, { metrics }]) => {
    const state = store.document(metricsDocument(id)) as MetricState | undefined;
    const waiting = state ? state.version - state.accepted : 0;
    const gap = metrics.produced - metrics.accepted - sum(metrics.rejected) - sum(metrics.dropped) - waiting;
    return gap === 0 ? [] : [{ id, gap }];
  });
  if (gaps.length === 0) return undefined;
  return {
    tally(ledger) {
      for (const { id, gap } of gaps) {
        const { metrics } = accountsOf(ledger, id);
        if (gap > 0) increase(metrics.dropped, 'damaged', gap);
        else metrics.produced -= gap;
      }
    },
  };
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, count) => all + count, 0);
