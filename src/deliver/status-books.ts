/** The books in the form that `status` shows. */
import { documents } from '../documents/documents.ts';
import type { AccountWithWaiting, Books } from '../store/books.ts';
import { type Signal, signals } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';

export interface StatusBooks {
  fragments: Books['fragments'];
  transcripts: Books['transcripts'];
  destinations: ({ id: string; provider: string; endpoint: string; name?: string } & Record<
    Names[Signal],
    AccountWithWaiting
  >)[];
}

/** The signal `traces` carries spans; `events` are lines of an Agent Hooks log. */
const names = { traces: 'spans', logs: 'logs', metrics: 'metrics', events: 'events' } as const;
type Names = typeof names;

/** Reads the books. For metrics, the versions that a destination has not accepted are added. */
export function readStatusBooks(store: Pick<Store, 'books' | 'read'>): StatusBooks {
  // Books and metric states are read separately, so a round in between requires another look.
  for (let look = 0; ; look += 1) {
    const { fragments, transcripts, destinations } = store.books();
    const status = {
      fragments,
      transcripts,
      destinations: Object.entries(destinations).map(([id, account]) => {
        const state = store.read(documents.metrics.of(id));
        return {
          id,
          provider: account.provider,
          endpoint: account.endpoint,
          ...(account.name === undefined ? {} : { name: account.name }),
          spans: account.traces,
          logs: account.logs,
          metrics: { ...account.metrics, waiting: state ? state.version - state.accepted : 0 },
          events: account.events,
        };
      }),
    };
    if (look >= 20 || imbalances(status).length === 0) return status;
  }
}

/** Returns the number of items and fragments that still wait. */
export function waitingIn({ fragments, destinations }: StatusBooks): number {
  const items = destinations.flatMap(each => signals.map(signal => each[names[signal]].waiting));
  return items.reduce((all, each) => all + each, fragments.waiting);
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, each) => all + each, 0);

/** Returns each balance that does not hold, as a sentence. The numbers are counted independently and compared here. */
export function imbalances({ fragments, transcripts, destinations }: StatusBooks): string[] {
  const found: string[] = [];
  const accounted = fragments.waiting + fragments.journaled + fragments.quarantined + sum(fragments.dropped);
  if (fragments.received !== accounted)
    found.push(`fragments: ${fragments.received} received, ${accounted} accounted for`);
  const known = transcripts.journaled + transcripts.duplicate;
  if (transcripts.read !== known) found.push(`transcripts: ${transcripts.read} read, ${known} accounted for`);
  for (const destination of destinations) {
    for (const name of Object.values(names)) {
      const { produced, accepted, waiting, rejected, dropped } = destination[name];
      const fates = accepted + waiting + sum(rejected) + sum(dropped);
      if (produced !== fates) {
        found.push(
          `${destination.provider} ${destination.endpoint} ${name}: ${produced} produced, ${fates} accounted for`,
        );
      }
    }
  }
  return found;
}

/** The files that could not be read, by kind; undefined if there are none. */
export function damagedFiles(counters: Readonly<Record<string, number>>): string | undefined {
  const parts = Object.entries(counters).flatMap(([name, count]) => {
    if (!name.startsWith(DAMAGED)) return [];
    const kind = name.slice(DAMAGED.length).replace(/s$/, '');
    return [count === 1 ? `1 ${kind}` : `${count} ${kind}s`];
  });
  return parts.length === 0 ? undefined : parts.join(', ');
}

const DAMAGED = 'damaged.';
