import { createHash } from 'node:crypto';
import { type Disk, names, readBytes } from './files.ts';
import { parseBodyName } from './outbox.ts';
import { roundOf } from './state-files.ts';

export const signals = ['traces', 'logs', 'metrics', 'events'] as const;
export type Signal = (typeof signals)[number];

type Counts = Record<string, number>;

export interface Account {
  produced: number;
  accepted: number;
  rejected: Counts;
  dropped: Counts;
}
export type DestinationAccounts = {
  provider: string;
  endpoint: string;
  /** The name in the configuration. */
  name?: string;
  /** A histogram of the seconds that accepted requests took, since this destination is known. */
  took?: { [signal in Signal]?: { sum: number; count: number; buckets?: number[] } };
} & Record<Signal, Account>;

/**
 * The books as of round n. Every number is counted where it happens. Waiting files are not counted here, because the
 * disk shows their number.
 */
export interface Ledger {
  v: 1;
  n: number;
  nonce: string;
  fragments: { received: number; journaled: number; quarantined: number; dropped: Counts };
  transcripts: { read: number; journaled: number; duplicate: number };
  destinations: Record<string, DestinationAccounts>;
  counters: Counts;
}

export const emptyLedger = (): Ledger => ({
  v: 1,
  n: 0,
  nonce: '',
  fragments: { received: 0, journaled: 0, quarantined: 0, dropped: {} },
  transcripts: { read: 0, journaled: 0, duplicate: 0 },
  destinations: {},
  counters: {},
});

export function increase(counts: Counts, key: string, by = 1): void {
  counts[key] = (counts[key] ?? 0) + by;
}

/**
 * The reasons why items leave an account before a destination has answered: they moved to another destination, or a
 * person discarded them.
 */
export const REDIRECTED = 'redirected';
export const BY_USER = 'by_user';
/** The settings of the destination exclude the signal now. */
export const EXCLUDED = 'excluded';
/** A person erased the session. */
export const ERASED = 'erased';

/** The accounts of a destination, opened when it has none yet. */
export function accountsOf(
  ledger: Ledger,
  id: string,
  shown: { provider: string; endpoint: string; name?: string | undefined } = { provider: '', endpoint: '' },
): DestinationAccounts {
  // Copies only these fields, because the caller may pass a destination with its credentials.
  const { provider, endpoint, name } = shown;
  const known = ledger.destinations[id];
  if (known !== undefined) {
    // A destination that was made again from its bodies has no name yet.
    known.provider ||= provider;
    known.endpoint ||= endpoint;
    // A named destination keeps its account when its address changes.
    if (name !== undefined) Object.assign(known, { provider, endpoint, name });
    return known;
  }
  const own = { provider, endpoint, ...(name === undefined ? {} : { name }) };
  const opened = { ...own, traces: account(), logs: account(), metrics: account(), events: account() };
  ledger.destinations[id] = opened;
  return opened;
}

const account = (): Account => ({ produced: 0, accepted: 0, rejected: {}, dropped: {} });

/** The checksum finds a digit that changed on the disk, which would look like any other number. */
export function serializeLedger(ledger: Ledger): Buffer {
  const json = JSON.stringify(ledger);
  return Buffer.from(`${json.slice(0, -1)},"sum":"${checksum(json)}"}`);
}

/** Undefined if the bytes are not those that a round wrote. */
export function parseLedger(bytes: Buffer): Ledger | undefined {
  try {
    const text = bytes.toString();
    const [end, sum] = SUM.exec(text) ?? [];
    const json = end === undefined ? '' : `${text.slice(0, -end.length)}}`;
    return sum === checksum(json) ? JSON.parse(json) : undefined;
  } catch {
    // The caller counts the damage.
    return undefined;
  }
}

/** The end of a serialized ledger. */
const SUM = /,"sum":"([0-9a-f]{32})"\}$/;

const checksum = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** The ledger on the disk. A folder without a ledger is new, unless a file in it has the number of a round. */
export function readLedger(disk: Disk): Ledger {
  const bytes = readBytes(disk, 'ledger.json');
  if (bytes !== undefined) return parseLedger(bytes) ?? rebuiltLedger(disk);
  const rebuilt = rebuiltLedger(disk);
  // The first round of another owner may have been applied in the meantime; then its ledger exists.
  const later = readBytes(disk, 'ledger.json');
  if (later !== undefined) return parseLedger(later) ?? rebuiltLedger(disk);
  return rebuilt.n === 0 ? emptyLedger() : rebuilt;
}

type RoundId = Pick<Ledger, 'n' | 'nonce'>;

/**
 * The last ledgers that this process staged. A ledger has an account for each destination, so parsing it takes time.
 */
const staged = new WeakMap<Disk, { bytes: Buffer; roundId: RoundId }[]>();
const MOST_STAGED = 2;

export function noteStaged(disk: Disk, bytes: Buffer, { n, nonce }: RoundId): void {
  const before = staged.get(disk) ?? [];
  staged.set(disk, [...before, { bytes, roundId: { n, nonce } }].slice(-MOST_STAGED));
}

/** Number and nonce of the ledger on the disk. The bytes of a ledger that this process staged are not parsed again. */
export function readRoundId(disk: Disk): RoundId {
  const bytes = readBytes(disk, 'ledger.json');
  const known = bytes && staged.get(disk)?.find(each => each.bytes.equals(bytes));
  return known?.roundId ?? readLedger(disk);
}

/**
 * A power cut without the fsync option can leave an empty ledger, bytes change on the disk, and people remove files.
 * Deliver must start nevertheless: the number continues above every number that a file names, the counts begin anew
 * with the waiting files, and a counter records the damage. Nothing is written: the next round's ledger replaces the
 * damaged one.
 */
function rebuiltLedger(disk: Disk): Ledger {
  const ledger = emptyLedger();
  for (const folder of ['sessions', 'documents'])
    for (const name of names(disk, folder)) {
      ledger.n = Math.max(ledger.n, roundOf(disk, `${folder}/${name}`));
    }
  for (const id of names(disk, 'outbox'))
    for (const name of names(disk, `outbox/${id}`)) {
      const body = parseBodyName(name);
      if (body === undefined) continue;
      ledger.n = Math.max(ledger.n, body.round);
      accountsOf(ledger, id)[body.signal].produced += body.items;
    }
  // A committed round has the true ledger: its staged ledger waits to be applied, even if other parts were applied
  // already.
  const waiting = names(disk, 'rounds')
    .filter(name => /^\d{1,15}$/.test(name) && names(disk, `rounds/${name}`).some(file => file.endsWith('.ledger')))
    .map(Number);
  if (waiting.length > 0) ledger.n = Math.max(...waiting) - 1;
  increase(ledger.counters, 'damaged.ledger');
  return ledger;
}
