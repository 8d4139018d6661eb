import type { Ledger } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';
import type { Progress } from './options.ts';

const PROGRESS_MS = 200;

/**
 * Reports by the ledger in memory, since the folders may hold many thousand files. Returns the function that ends it.
 */
export function reportProgress(store: Store, report: ((progress: Progress) => void) | undefined): () => void {
  if (report === undefined) return () => undefined;
  const first = store.ledger();
  const hooks = store.books().fragments.waiting;
  const timer = setInterval(() => {
    const ledger = store.ledger();
    report({
      hooks,
      read: Math.min(hooks, settledFragments(ledger) - settledFragments(first)),
      sent: acceptedItems(ledger) - acceptedItems(first),
      waiting: waitingItems(ledger),
    });
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

const settledFragments = ({ fragments }: Ledger): number =>
  fragments.journaled + fragments.quarantined + sum(fragments.dropped);

const accounts = ({ destinations }: Ledger) =>
  Object.values(destinations).flatMap(({ traces, logs, events }) => [traces, logs, events]);

const acceptedItems = (ledger: Ledger): number => accounts(ledger).reduce((all, { accepted }) => all + accepted, 0);

const waitingItems = (ledger: Ledger): number =>
  accounts(ledger).reduce(
    (all, { produced, accepted, rejected, dropped }) => all + produced - accepted - sum(rejected) - sum(dropped),
    0,
  );
