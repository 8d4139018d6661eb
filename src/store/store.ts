/**
 * The only module that writes the state folder. Its content:
 *
 *     version                       format of the whole folder
 *     inbox/                        fragments (inbox.ts)
 *     quarantine/<reason>.<name>    unreadable fragments and items, for a day (quarantine.ts)
 *     rounds/  ledger.json          rounds and counts (rounds.ts)
 *     journal/<key>.jsonl           events of a root session; only the committed part counts (journal.ts)
 *     journal/<key>.jsonl.gz        the same, packed a week after the last event
 *     sessions/<key>.json           { v, n, journalBytes, state }; packed once the session is over (state-files.ts)
 *     documents/<name>.json         { v, n, value }: other data that must survive
 *     outbox/<destination>/         bodies that wait for a collector (outbox.ts)
 *     lock  lock.wanted             the process that delivers (lock.ts)
 *     reserve                       space for the next round on a full disk (reserve.ts)
 *     problems/                     signs of the front ends
 *     processing                    fragments that a round is being computed from (processing.ts)
 *
 * The view of an owner begins with a ledger. Every read and every decision belongs to the number of that ledger until a
 * commit replaces it. If a commit is lost or throws, the view is dropped, and all values that were computed from it
 * must be dropped too.
 */
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import type { Books } from './books.ts';
import type { Document, DocumentChange, DocumentFamily } from './document.ts';
import { type Clock, type Disk, patientFs, type StoreFs } from './files.ts';
import { openFolder } from './folder.ts';
import type { Taken } from './inbox.ts';
import type { Ledger, Signal } from './ledger.ts';
import type { Excess, IsUnderWay, Limits } from './limits.ts';
import type { BodyFile } from './outbox.ts';
import { OwnStore } from './own-store.ts';
import type { QuarantineLimits, QuarantineSize } from './quarantine.ts';
import { readStore } from './read-store.ts';
import type { Session } from './state-files.ts';

export interface StoreOptions {
  folder: string;
  /** `read` changes no file, even if a killed owner applied a round only in part. */
  access: 'own' | 'read';
  fsync?: boolean;
  quarantine?: QuarantineLimits;
  clock?: Clock;
  /** Returns 16 hex characters that are never used twice. */
  nonce?: () => string;
  reserveBytes?: number;
  fs?: StoreFs;
}

export interface Store {
  readonly folder: string;
  /** Increases each time the view is dropped. Results of another epoch must not be committed. */
  readonly epoch: number;
  /**
   * Complete fragments in order. A round must settle each as `eaten` or put it into quarantine; otherwise the next
   * owner gets it again.
   */
  take(limit: { fragments: number; bytes: number }): Taken;
  /**
   * Stores the names of the fragments that will be processed next: if the process dies, the next owner knows them. A
   * commit removes the names. Returns true if one of them was processed at a death: the round then holds no other
   * fragments.
   */
  process(names: readonly string[]): boolean;
  /** The state is a copy: changing it changes nothing. */
  session(key: string): Session | undefined;
  /** What the round that packed the state of a session stated beside it. Undefined if the state is not packed. */
  outline(key: string): unknown;
  sessions(): string[];
  /** Bytes of each session's file. */
  sessionSizes(): ReadonlyMap<string, number>;
  /** A frozen value that all callers share, read once per epoch. ChangedDocuments gives copies to change. */
  read<T>(document: Document<T>): T | undefined;
  /** A text that changes with the file of a document; undefined if there is no file. */
  stamp<T>(document: Document<T>): string | undefined;
  /** Ids of the documents of a family. */
  idsOf<T>(family: DocumentFamily<T>): string[];
  journal(key: string): string | undefined;
  journalTail(key: string, lines: number): string | undefined;
  /** Whole lines from its beginning, those included that are not committed yet. Reads no session file. */
  journalHead(key: string, mostBytes: number): string | undefined;
  /** Returns the whole lines behind `from`, and where the next ones begin. */
  journalFrom(key: string, from: number, mostBytes: number): { lines: string; endBytes: number } | undefined;
  journals(): string[];
  /**
   * Journals that should be packed: without a line for a week, and their sessions are over. Oldest first. Undefined
   * until all are listed.
   */
  packable(): { key: string; plainBytes: number }[] | undefined;
  /** The keys of packed journals. Undefined until all are listed. */
  packed(): string[] | undefined;
  /** Returns false while journals are still being listed: each `within` and `packable` continues for some time. */
  isListed(): boolean;
  /** Bytes of the text of each journal, which may hold more than is committed. */
  journalSizes(): Map<string, number>;
  /** The same for one journal; undefined if there is none. */
  journalSize(key: string): number | undefined;
  /** `lost`: another owner's round took effect instead; begin again from the disk. After an error, begin again too. */
  commit(round: Round): 'committed' | 'lost';
  /** Oldest first. */
  next(destination: string): readonly BodyFile[];
  /** Undefined if it is missing or damaged; the caller then settles it as dropped. */
  body(destination: string, name: string): Buffer | undefined;
  /** Returns true if there is space to record that a destination accepted a body. Otherwise no body may be sent. */
  canSettle(): boolean;
  /** The destinations that have or had bodies. */
  destinations(): string[];
  ledger(): Ledger;
  books(): Books;
  emptyQuarantine(): QuarantineSize;
  /** Names of the files in quarantine. */
  quarantined(): string[];
  /** Undefined when the file is gone. */
  quarantinedBytes(name: string): Buffer | undefined;
  /**
   * The files to remove so that inbox, outbox and journal are within their limits, as far as one round may remove them,
   * and this round; undefined if there are none. A body for which `isUnderWay` is true stays. The quarantine is limited by each commit
   * that adds to it, and here.
   */
  within(limits: Limits, isUnderWay?: IsUnderWay): { excess: Excess; round: Round } | undefined;
  /** The change of the calendar that begins a day, for the next round. Empty while the day lasts. */
  newDay(): DocumentChange[];
  /** The failures of front ends, with the time of the last one and their number where it is known. */
  hookProblems(): { code: string; atMs: number; times?: number }[];
  forgetHookProblems(): void;
  /** Drops the view, and the fragments that were taken and not committed. */
  restart(): void;
  close(): void;
}

/** The text of a journal as gzip, and its size. */
export interface PackedJournal {
  key: string;
  bytes: Uint8Array;
  textBytes: number;
}

export interface Round {
  /** The epoch of the round's computation. If given, a commit under another epoch is lost. */
  epoch?: number | undefined;
  /** Whole lines. */
  journal?: { key: string; lines: string | Uint8Array }[];
  /**
   * An undefined state removes it; the journal stays. With an outline, the state is packed. The state may be a
   * `WrittenState`.
   */
  sessions?: { key: string; state: unknown; outline?: object | undefined }[];
  documents?: DocumentChange[];
  /** `inPlaceOf`: a part of a body that this round settles keeps the place of the body in the outbox. */
  bodies?: {
    destination: string;
    signal: Signal;
    items: number;
    bytes: Uint8Array;
    isSkeleton?: boolean | undefined;
    inPlaceOf?: string | undefined;
  }[];
  /** Fragments that the round settles. The tally counts them by fate. */
  eaten?: string[];
  /** Fragments to set aside, and items cut out of a body. */
  quarantine?: ({ name: string; reason: string } | { bytes: Uint8Array; reason: string; label: string })[];
  settled?: { destination: string; name: string }[];
  /** Files that leave the quarantine, by name. The tally counts why. */
  released?: string[];
  /** Journals to remove. Their sessions stay known. */
  prune?: string[];
  /** Journals to replace by their packed form. One that changed meanwhile stays as it is. */
  packed?: PackedJournal[];
  /** The round frees space or notes the answer of a destination, so it may use the reserve. */
  isUrgent?: boolean | undefined;
  /** The caller's increments. `fragments.received` and `fragments.quarantined` are the store's. */
  tally?: (ledger: Ledger) => void;
}

export function openStore(options: StoreOptions): Store {
  const disk: Disk = {
    fs: options.fs ?? patientFs(),
    hastyFs: options.fs ?? nodeFs,
    folder: options.folder,
    fsync: options.fsync ?? false,
    clock: options.clock ?? systemClock,
    nonce: options.nonce ?? (() => randomBytes(8).toString('hex')),
  };
  openFolder(disk, options.access);
  return options.access === 'own' ? new OwnStore(disk, options) : readStore(disk);
}

const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now(), sinceBoot };

/** Undefined where the kernel has no boot id. Names of fragments have none there either. */
function sinceBoot(): { boot: string; upMs: number } | undefined {
  try {
    const read = (name: string): string => nodeFs.readFileSync(`/proc/${name}`, 'latin1');
    return { boot: read('sys/kernel/random/boot_id').slice(0, 8), upMs: Number.parseFloat(read('uptime')) * 1_000 };
  } catch {
    return undefined;
  }
}
