import { type Disk, isFolder, names } from './files.ts';
import { countWaiting } from './inbox.ts';
import { type Account, accountsOf, type Ledger, readLedger, type Signal, signals } from './ledger.ts';
import { listBodies, parseBodyName } from './outbox.ts';
import { type QuarantineSize, sizeOfQuarantine } from './quarantine.ts';
import { type Manifest, readPending, roundFolder } from './rounds.ts';

export type AccountWithWaiting = Account & { waiting: number };

/** The ledger and the counts of waiting files at one instant. */
export interface Books {
  round: number;
  /** `received` counts the fragments that a round took in and those that wait. */
  fragments: Ledger['fragments'] & { waiting: number };
  transcripts: Ledger['transcripts'];
  destinations: Record<
    string,
    { provider: string; endpoint: string; name?: string } & Record<Signal, AccountWithWaiting>
  >;
  counters: Record<string, number>;
  quarantine: QuarantineSize;
}

/**
 * Returns the books of one instant, even while owners work. The commit of a round counts as its whole effect, applied
 * or not. If a round was committed or applied during the reading, the reading starts again.
 */
export function readBooks(disk: Disk): Books {
  for (;;) {
    const before = readLedger(disk);
    const found = readPending(disk, before.n + 1);
    const pending = found === 'damaged' ? undefined : found;
    const waiting = countWaiting(disk, isTakenBy(pending?.manifest));
    const bodies = waitingItems(disk, pending?.manifest);
    const after = readLedger(disk);
    const isPending = isFolder(disk, roundFolder(before.n + 1));
    const isSame = after.n === before.n && after.nonce === before.nonce && isPending === (found !== undefined);
    if (isSame) return balance(pending?.ledger ?? before, waiting, bodies, sizeOfQuarantine(disk));
  }
}

function isTakenBy(pending: Manifest | undefined): (name: string) => boolean {
  if (pending === undefined) return () => false;
  const removed = new Set([...pending.eaten, ...pending.quarantine.map(move => move.from)]);
  return name => removed.has(`inbox/${name}`);
}

type Waiting = Map<string, Record<Signal, number>>;

function waitingItems(disk: Disk, pending: Manifest | undefined): Waiting {
  const settled = new Set(pending?.settled);
  const coming = (pending?.files ?? []).filter(path => path.startsWith('outbox/'));
  const lying = names(disk, 'outbox').flatMap(id => listBodies(disk, id).map(body => `outbox/${id}/${body.name}`));
  const waiting: Waiting = new Map();
  for (const path of new Set([...lying, ...coming])) {
    const [, id = '', name = ''] = path.split('/');
    const body = parseBodyName(name);
    if (body === undefined || settled.has(path)) continue;
    const items = waiting.get(id) ?? { traces: 0, logs: 0, metrics: 0, events: 0 };
    items[body.signal] += body.items;
    waiting.set(id, items);
  }
  return waiting;
}

function balance(ledger: Ledger, fragments: number, bodies: Waiting, quarantine: QuarantineSize): Books {
  const ids = new Set([...Object.keys(ledger.destinations), ...bodies.keys()]);
  const destinations: Books['destinations'] = {};
  for (const id of ids) {
    const { provider, endpoint, name, took: _, ...accounts } = accountsOf(ledger, id);
    const of = (signal: Signal): AccountWithWaiting => ({
      ...accounts[signal],
      waiting: bodies.get(id)?.[signal] ?? 0,
    });
    const shown = { provider, endpoint, ...(name === undefined ? {} : { name }) };
    destinations[id] = { ...shown, ...(Object.fromEntries(signals.map(s => [s, of(s)])) as Accounts) };
  }
  return {
    round: ledger.n,
    fragments: { ...ledger.fragments, received: ledger.fragments.received + fragments, waiting: fragments },
    transcripts: ledger.transcripts,
    destinations,
    counters: ledger.counters,
    quarantine,
  };
}

type Accounts = Record<Signal, AccountWithWaiting>;
