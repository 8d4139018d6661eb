/**
 * Reads the inbox: complete fragments, in order, a bounded number at a time.
 *
 * An outage may leave a million files here. So a file is read only when a round needs it, names are listed once and not
 * once for each round, and only the first HELD names of each boot are kept in memory.
 *
 * Order: boots by the time of their first file; within a boot the kernel's clock, then pid, then name. Without such a
 * clock: the file's time, then name.
 */
import type { Stats } from 'node:fs';
import { decodeFragment, type Fragment, maxFragmentBytes, readFragmentName } from '../hook/fragment.ts';
import { at, codeOf, type Disk, eachEntry, isMissing, READ, readAll } from './files.ts';
import type { Processing } from './processing.ts';
import { eachTorn } from './quarantine.ts';

export interface Reject {
  name: string;
  /**
   * crashed: two processes died while they processed it. torn: it had no trailer for a minute. header: the header is
   * damaged. name, not-a-file: no front end wrote it. unreadable: it could not be read for some time.
   */
  reason: 'torn' | 'header' | 'name' | 'not-a-file' | 'unreadable' | 'too-large' | 'crashed';
}

export interface Taken {
  fragments: Fragment[];
  /** Files that the same round puts into quarantine. */
  rejects: Reject[];
  /** More fragments wait. */
  more: boolean;
  /**
   * Fragments without a trailer that are young, because their writers may be at work, and files that cannot be read at
   * the moment. They stay.
   */
  young: number;
  /** Fragments of a later version of otel-hooks. They stay. */
  newer: number;
}

/** The place of a file that was taken. `isOdd`: it is no plain file of ours, and moving it may fail. */
export interface Place {
  path: string;
  isQuarantined: boolean;
  isOdd: boolean;
}

export interface LeftAlone {
  name: string;
  sizeBytes: number;
  writtenMs: number;
}

/**
 * After a clock was set back, a file seems to come from the future. Beyond this limit it does not belong to a writer at
 * work either.
 */
const TORN_AFTER_MS = 60_000;
const LOOK_AGAIN_MS = 10_000;
/** How long a file may be unreadable before it is quarantined: an error of the disk may pass. */
const UNREADABLE_AFTER_MS = 10_000;
const HELD = 25_000;

interface Candidate extends Place {
  name: string;
}

export class Inbox {
  private readonly disk: Disk;
  private readonly held: number;
  private readonly processing: Pick<Processing, 'isCrashed' | 'fits'> | undefined;
  private listing: Listing = { odd: [], fragments: [], isCut: false };
  /** Odd files and quarantined fragments. They come before the fragments of the listing. */
  private special: Candidate[] = [];
  /** Index of the next fragment of the listing. */
  private next = 0;
  private lookedAgainMs = Number.NEGATIVE_INFINITY;
  private readonly taken = new Map<string, Place>();
  /** State of each file that was torn when it was read last. */
  private readonly torn = new Map<string, string>();
  /** When each file was first unreadable. */
  private readonly unreadable = new Map<string, number>();
  /** Fragments of a later version are not opened again, since a fragment never changes its version. */
  private readonly newer = new Map<string, LeftAlone>();
  /** Odd files that were quarantined once and could not be moved. */
  private readonly stuck = new Set<string>();

  constructor(disk: Disk, held = HELD, processing?: Pick<Processing, 'isCrashed' | 'fits'>) {
    this.disk = disk;
    this.held = held;
    this.processing = processing;
  }

  take(limit: { fragments: number; bytes: number }): Taken {
    const taken: Taken = { fragments: [], rejects: [], more: false, young: 0, newer: 0 };
    if (this.first() === undefined) this.list(taken);
    let bytesLeft = limit.bytes;
    for (let candidate = this.first(); candidate !== undefined; candidate = this.first()) {
      const { fragments, rejects } = taken;
      if (fragments.length + rejects.length >= limit.fragments) break;
      if (this.processing?.isCrashed(candidate.name)) {
        this.step();
        this.reject(taken, candidate, 'crashed');
        continue;
      }
      if (this.processing?.fits(candidate.name, fragments[0]?.name, fragments.length) === false) break;
      // The first fragment is taken regardless of its size. Otherwise it would block the inbox for ever.
      const mostBytes = fragments.length === 0 ? Number.POSITIVE_INFINITY : bytesLeft;
      const found = look(this.disk, candidate, mostBytes, this.torn.get(candidate.path));
      if (found === 'over') break;
      this.step();
      bytesLeft -= this.note(taken, candidate, found);
    }
    taken.more = this.first() !== undefined || this.listing.isCut;
    return taken;
  }

  /** Undefined for a file that was not taken since the last restart. */
  placeOf(name: string): Place | undefined {
    const left = this.newer.has(name) ? { path: `inbox/${name}`, isQuarantined: false, isOdd: false } : undefined;
    return this.taken.get(name) ?? left;
  }

  /** Fragments of a later version. They stay until that version runs, or a limit removes them. */
  leftAlone(): LeftAlone[] {
    return [...this.newer.values()];
  }

  /** A round was committed that took these files. */
  settle(names: readonly string[]): void {
    for (const name of names) {
      if (this.taken.get(name)?.isOdd) this.stuck.add(name);
      this.taken.delete(name);
      this.newer.delete(name);
    }
  }

  /** Files that were taken and not settled are offered again. */
  restart(): void {
    this.listing = { odd: [], fragments: [], isCut: false };
    this.special = [];
    this.next = 0;
    this.lookedAgainMs = Number.NEGATIVE_INFINITY;
    this.taken.clear();
    // Another owner may have removed them.
    this.newer.clear();
  }

  private list(result: Taken): void {
    this.listing = listInbox(this.disk, this.held, name => {
      if (this.newer.has(name)) result.newer++;
      return this.newer.has(name) || this.taken.has(name) || this.stuck.has(name);
    });
    this.special = this.listing.odd.map(name => ({ name, path: `inbox/${name}`, isQuarantined: false, isOdd: true }));
    this.next = 0;
    const nowMs = this.disk.clock.monotonicMs();
    if (nowMs - this.lookedAgainMs < LOOK_AGAIN_MS) return;
    this.lookedAgainMs = nowMs;
    eachTorn(this.disk, (name, path) => {
      if (!this.taken.has(name)) this.special.push({ name, path, isQuarantined: true, isOdd: false });
    });
  }

  private first(): Candidate | undefined {
    if (this.special[0] !== undefined) return this.special[0];
    const name = this.listing.fragments[this.next];
    return name === undefined ? undefined : { name, path: `inbox/${name}`, isQuarantined: false, isOdd: false };
  }

  private step(): void {
    if (this.special.length > 0) this.special.shift();
    else this.next++;
  }

  /** Returns the bytes of a fragment that was taken. */
  private note(result: Taken, candidate: Candidate, found: Exclude<Look, 'over'>): number {
    const { name, ...place } = candidate;
    const { path, isQuarantined } = place;
    if (found === 'unreadable') {
      this.noteUnreadable(result, candidate);
      return 0;
    }
    this.unreadable.delete(path);
    if (found === 'gone') this.torn.delete(path);
    else if ('writtenMs' in found) {
      this.newer.set(name, found);
      result.newer++;
    } else if ('tornAt' in found) {
      this.torn.set(path, found.tornAt);
      if (!isQuarantined) result.young++;
    } else {
      this.torn.delete(path);
      if ('reason' in found) this.reject(result, { ...candidate, isOdd: found.isOdd }, found.reason);
      else {
        this.taken.set(name, place);
        result.fragments.push(found);
        return found.sizeBytes;
      }
    }
    return 0;
  }

  private noteUnreadable(result: Taken, candidate: Candidate): void {
    const { path, isQuarantined } = candidate;
    const nowMs = this.disk.clock.monotonicMs();
    const firstMs = this.unreadable.get(path) ?? nowMs;
    if (nowMs - firstMs < UNREADABLE_AFTER_MS) {
      this.unreadable.set(path, firstMs);
      if (!isQuarantined) result.young++;
    } else {
      this.unreadable.delete(path);
      this.reject(result, { ...candidate, isOdd: true }, 'unreadable');
    }
  }

  private reject(result: Taken, { name, ...place }: Candidate, reason: Reject['reason']): void {
    this.taken.set(name, place);
    result.rejects.push({ name, reason });
  }
}

/** The number of waiting files, including those that another owner took. */
export function countWaiting(disk: Disk, isTaken: (name: string) => boolean): number {
  let count = 0;
  eachEntry(disk, 'inbox', name => {
    if (!isHidden(name) && !isTaken(name)) count++;
  });
  return count;
}

interface Listing {
  odd: string[];
  fragments: string[];
  isCut: boolean;
}
interface Entry {
  name: string;
  /** The boot's clock, or the file's time where there is none. */
  atMs: number;
  pid: number;
}

function listInbox(disk: Disk, held: number, skip: (name: string) => boolean): Listing {
  const odd: string[] = [];
  const boots = new Map<string, Entry[]>();
  /** Returns the last kept name of a boot whose list was cut. The names behind it wait for another listing. */
  const ends = new Map<string, Entry>();
  eachEntry(disk, 'inbox', (name, isFile) => {
    if (isHidden(name) || skip(name)) return;
    const written = readFragmentName(name);
    if (!isFile || written === undefined) {
      odd.push(name);
      return;
    }
    const hasClock = written.boot !== undefined && written.upMs !== undefined;
    const boot = hasClock ? (written.boot ?? '') : '';
    const entry: Entry = hasClock
      ? { name, atMs: written.upMs ?? 0, pid: written.pid }
      : { name, atMs: timeOf(disk, name), pid: 0 };
    const entries = boots.get(boot);
    const end = ends.get(boot);
    if (entries === undefined) boots.set(boot, [entry]);
    else if (end !== undefined && byOrder(entry, end) > 0) return;
    else if (entries.push(entry) >= 2 * held) {
      entries.sort(byOrder).length = held;
      const [last] = entries.slice(-1);
      if (last !== undefined) ends.set(boot, last);
    }
  });
  for (const entries of boots.values()) entries.sort(byOrder);
  const inOrder = [...boots];
  if (inOrder.length > 1) {
    const firstMs = new Map(inOrder.map(([boot, entries]) => [boot, timeOf(disk, entries[0]?.name ?? '')]));
    inOrder.sort(([a], [b]) => (firstMs.get(a) ?? 0) - (firstMs.get(b) ?? 0));
  }
  // More names of the cut boot come before those of later boots, so the later boots wait for another listing.
  const cutAt = inOrder.findIndex(([boot]) => ends.has(boot));
  const whole = cutAt < 0 ? inOrder : inOrder.slice(0, cutAt + 1);
  return { odd, fragments: whole.flatMap(([, entries]) => entries.map(({ name }) => name)), isCut: cutAt >= 0 };
}

const byOrder = (a: Entry, b: Entry): number =>
  a.atMs - b.atMs || a.pid - b.pid || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

// Desktops and network file systems put such files anywhere. A name that is not UTF-8 cannot be opened by its text.
const isHidden = (name: string): boolean => name.startsWith('.') || name.includes('\ufffd');

function timeOf(disk: Disk, name: string): number {
  try {
    return disk.fs.lstatSync(at(disk, 'inbox', name)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

type Look =
  | Fragment
  | { reason: Reject['reason']; isOdd: boolean }
  | { tornAt: string }
  | LeftAlone
  | 'gone'
  | 'unreadable'
  | 'over';

const rejected = (reason: Reject['reason'], isOdd = false): Look => ({ reason, isOdd });

function look(disk: Disk, candidate: Candidate, mostBytes: number, tornAt: string | undefined): Look {
  const { name, path, isOdd } = candidate;
  if (isOdd) return rejected(readFragmentName(name) === undefined ? 'name' : 'not-a-file', true);
  let file: number | undefined;
  try {
    // This neither follows a link nor waits for the other end of a pipe. The next round looks at a held file again.
    file = (disk.hastyFs ?? disk.fs).openSync(at(disk, path), READ);
    const stats = disk.fs.fstatSync(file);
    if (stats.nlink === 0) return 'gone';
    if (!stats.isFile() || stats.nlink > 1) return rejected('not-a-file', true);
    return lookInto(disk, candidate, { file, stats, mostBytes, tornAt });
  } catch (error) {
    const code = codeOf(error) ?? '';
    if (code === 'ENOENT') return 'gone';
    if (['ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR', 'EMLINK', 'ENODEV'].includes(code)) return rejected('not-a-file', true);
    if (['EACCES', 'EPERM', 'EBUSY', 'EIO'].includes(code)) return 'unreadable';
    throw error;
  } finally {
    if (file !== undefined) disk.fs.closeSync(file);
  }
}

interface OpenFile {
  file: number;
  stats: Stats;
  mostBytes: number;
  tornAt: string | undefined;
}

function lookInto(disk: Disk, { name, isQuarantined }: Candidate, open: OpenFile): Look {
  const { file, stats, mostBytes, tornAt } = open;
  const tornNow = { tornAt: stateOf(stats) };
  if (stats.size > maxFragmentBytes) return isQuarantined ? tornNow : rejected('too-large');
  if (tornAt !== tornNow.tornAt) {
    if (stats.size > mostBytes) return 'over';
    const decoded = decodeFragment(name, readAll(disk, file, 0, stats.size), stats.mtimeMs);
    if (decoded.ok) return decoded.fragment;
    if (decoded.why === 'newer') return { name, sizeBytes: stats.size, writtenMs: stats.mtimeMs };
    if (decoded.why === 'header') return rejected('header');
  }
  const isYoung = Math.abs(disk.clock.nowMs() - stats.mtimeMs) < TORN_AFTER_MS || isJustBegun(disk, name);
  return isYoung || isQuarantined ? tornNow : rejected('torn');
}

/** Uses the kernel's clock, which does not jump with the wall clock. */
function isJustBegun({ clock }: Disk, name: string): boolean {
  const begun = readFragmentName(name);
  const now = begun?.upMs === undefined ? undefined : clock.sinceBoot?.();
  if (now === undefined || begun?.upMs === undefined || begun.boot !== now.boot) return false;
  return now.upMs - begun.upMs < TORN_AFTER_MS;
}

const stateOf = (stats: Stats): string => `${stats.size} ${stats.mtimeMs}`;
