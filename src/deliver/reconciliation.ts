/**
 * Repairs the books before the first round, after files were damaged at rest or by a power cut.
 *
 * Books, bodies and metric states are separate files. Everywhere else each number is counted where it happens, so that
 * a balance finds errors of the program. Only here it is computed from other numbers, because the loss was not
 * observed. A test that expects no loss sees it: it is dropped as `damaged`.
 */
import { documents } from '../documents/documents.ts';
import { accountsOf, increase, signals } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';

export function reconciliation(store: Pick<Store, 'books' | 'read'>): Round | undefined {
  const gaps = Object.entries(store.books().destinations).flatMap(([id, accounts]) => {
    const state = store.read(documents.metrics.of(id));
    return signals.flatMap(signal => {
      const { produced, accepted, rejected, dropped } = accounts[signal];
      const unsent = state ? state.version - state.accepted : 0;
      const waiting = signal === 'metrics' ? unsent : accounts[signal].waiting;
      const gap = produced - accepted - sum(rejected) - sum(dropped) - waiting;
      return gap === 0 ? [] : [{ id, signal, gap }];
    });
  });
  if (gaps.length === 0) return undefined;
  return {
    tally(ledger) {
      for (const { id, signal, gap } of gaps) {
        const account = accountsOf(ledger, id)[signal];
        // A body that no book knows was produced as well.
        if (gap > 0) increase(account.dropped, 'damaged', gap);
        else account.produced -= gap;
      }
    },
  };
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, count) => all + count, 0);
