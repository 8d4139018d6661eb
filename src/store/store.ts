/**
 * The one owner of the state folder. What lies where:
 *
 *     version                       format of all this
 *     inbox/                        fragments (inbox.ts)
 *     quarantine/<reason>.<name>    what could not be read, for a day (quarantine.ts)
 *     rounds/  ledger.json          how it changes (rounds.ts)
 *     journal/<key>.jsonl           events of a root session; only the committed part counts (journal.ts)
 *     sessions/<key>.json           { v, n, journalBytes, state }
 *     documents/<name>.json         { v, n, value }: whatever else must survive
 *     outbox/<destination>/         bodies that wait for a collector (outbox.ts)
 *     lock  lock.wanted             the process that delivers (lock.ts)
 *     reserve                       room for the next round on a full disk (reserve.ts)
 *     problems/                     signs of the front ends
 *     processing                    fragments that a round is being computed from (processing.ts)
 *
 * An owner's view begins with a ledger; all that it reads and decides belongs to that ledger's number until a commit
 * replaces it. When a commit is lost, or throws, the view is dropped, and so must be all that was computed from it.
 */
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import type { Books } from './books.ts';
import type { Document, DocumentChange, DocumentFamily } from './document.ts';
import type { Clock, Disk, StoreFs } from './files.ts';
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
  /** `read` changes nothing, not even what a killed owner left half applied. */
  access: 'own' | 'read';
  fsync?: boolean;
  quarantine?: QuarantineLimits;
  clock?: Clock;
  /** 16 hex characters that never come twice. */
  nonce?: () => string;
  reserveBytes?: number;
  fs?: StoreFs;
}

export interface Store {
  readonly folder: string;
  /** Grows each time the view was dropped. What was computed under another epoch must not be committed. */
  readonly epoch: number;
  /**
   * Complete fragments in order. Each must be `eaten` or quarantined by a round, or is offered again to the next owner.
   */
  take(limit: { fragments: number; bytes: number }): Taken;
  /**
   * These fragments are about to be processed: if the process dies over one of them, the next owner knows. A commit
   * ends it. True when one of them was processed at a death: then nothing else belongs into that round.
   */
  process(names: readonly string[]): boolean;
  /** The state is a copy: changing it changes nothing. */
  session(key: string): Session | undefined;
  sessions(): string[];
  /** Bytes of each session's file. */
  sessionSizes(): ReadonlyMap<string, number>;
  /** A frozen value that all callers share, read once per epoch. ChangedDocuments gives copies to change. */
  read<T>(document: Document<T>): T | undefined;
  /** Ids of the documents of a family. */
  idsOf<T>(family: DocumentFamily<T>): string[];
  journal(key: string): string | undefined;
  journalTail(key: string, lines: number): string | undefined;
  /** Whole lines from its beginning, those included that are not committed yet. Reads no session file. */
  journalHead(key: string, mostBytes: number): string | undefined;
  /** What came behind `from`, whole lines, and where the next ones begin. */
  journalFrom(key: string, from: number, mostBytes: number): { lines: string; endBytes: number } | undefined;
  journals(): string[];
  /** Bytes of each journal's file, which may hold more than is committed. */
  journalSizes(): Map<string, number>;
  /** `lost`: another owner's round took effect instead; begin again from the disk. So, too, after an error. */
  commit(round: Round): 'committed' | 'lost';
  /** Oldest first. */
  next(destination: string): readonly BodyFile[];
  /** Undefined when it is gone or damaged; then it is to be settled as dropped. */
  body(destination: string, name: string): Buffer | undefined;
  /** Whether there is room to note what a destination takes; without it nothing is to be sent. */
  canSettle(): boolean;
  /** Those that have, or once had, bodies. */
  destinations(): string[];
  ledger(): Ledger;
  books(): Books;
  emptyQuarantine(): QuarantineSize;
  /**
   * What brings inbox, outbox and journal within their limits, and the round that does it; undefined when there is
   * nothing to do. What `isUnderWay` stays. The quarantine is kept within its own by each commit that adds to it, and
   * here.
   */
  within(limits: Limits, isUnderWay?: IsUnderWay): { excess: Excess; round: Round } | undefined;
  /** The page of the calendar that begins a day, for the next round. Empty while the day lasts. */
  newDay(): DocumentChange[];
  /** What front ends could not do, when that was last, and how often where it is known. */
  hookProblems(): { code: string; atMs: number; times?: number }[];
  /** Drops the view and whatever was taken and not committed. */
  restart(): void;
  close(): void;
}

export interface Round {
  /** What the round was computed under; given, a commit under another epoch is lost. */
  epoch?: number | undefined;
  /** Whole lines. */
  journal?: { key: string; lines: string }[];
  /** `undefined` removes it; the journal stays. */
  sessions?: { key: string; state: unknown }[];
  documents?: DocumentChange[];
  /** `inPlaceOf`: a part of a body that this round settles keeps its place in line. */
  bodies?: {
    destination: string;
    signal: Signal;
    items: number;
    bytes: Uint8Array;
    isSkeleton?: boolean | undefined;
    inPlaceOf?: string | undefined;
  }[];
  /** Fragments that the round settles; the tally counts how. */
  eaten?: string[];
  /** Fragments to set aside, and items cut out of a body. */
  quarantine?: ({ name: string; reason: string } | { bytes: Uint8Array; reason: string; label: string })[];
  settled?: { destination: string; name: string }[];
  /** Journals that go; sessions that are known stay so. */
  prune?: string[];
  /** It makes room, or notes what a destination took: it may spend the reserve. */
  isUrgent?: boolean | undefined;
  /** The caller's increments. `fragments.received` and `fragments.quarantined` are the store's. */
  tally?: (ledger: Ledger) => void;
}

export function openStore(options: StoreOptions): Store {
  const disk: Disk = {
    fs: options.fs ?? nodeFs,
    folder: options.folder,
    fsync: options.fsync ?? false,
    clock: options.clock ?? systemClock,
    nonce: options.nonce ?? (() => randomBytes(8).toString('hex')),
  };
  openFolder(disk, options.access);
  return options.access === 'own' ? new OwnStore(disk, options) : readStore(disk);
}

const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now(), sinceBoot };

/** Undefined where the kernel tells no such thing; there no fragment's name does either. */
function sinceBoot(): { boot: string; upMs: number } | undefined {
  try {
    const read = (name: string): string => nodeFs.readFileSync(`/proc/${name}`, 'latin1');
    return { boot: read('sys/kernel/random/boot_id').slice(0, 8), upMs: Number.parseFloat(read('uptime')) * 1_000 };
  } catch {
    return undefined;
  }
}
