/**
 * Reading the inbox: complete fragments, in order, a bounded number of them at a time.
 *
 * An outage may leave a million files here, so nothing is read before it is wanted, names are listed once and
 * not once for each round, and of a listing only the first HELD of each boot are kept in memory.
 *
 * Order: boots by the time of their first file, within a boot the kernel's clock, then pid, then name. Where the kernel
 * offers no such clock, the file's time, then name.
 */
import type { Stats } from 'node:fs';
import { decodeFragment, type Fragment, maxFragmentBytes, readFragmentName } from '../hook/fragment.ts';
import { at, codeOf, type Disk, eachEntry, isMissing, READ, readAll } from './files.ts';
import type { Processing } from './processing.ts';
import { eachTorn } from './quarantine.ts';

export interface Reject {
  name: string;
  /**
   * crashed: two processes died over it. torn: without its end for a minute. header: damaged. name, not-a-file: no
   * front end wrote that. unreadable: for a while.
   */
  reason: 'torn' | 'header' | 'name' | 'not-a-file' | 'unreadable' | 'too-large' | 'crashed';
}

export interface Taken {
  fragments: Fragment[];
  /** To be quarantined by the same round. */
  rejects: Reject[];
  /** There are others in line. */
  more: boolean;
  /** Without their end, but young: their writers may be at work; or not to be read just now. Left alone. */
  young: number;
  /** Written by a later version of otel-hooks. Left alone. */
  newer: number;
}

/** Where something lies that was taken. `isOdd`: it is no plain file of ours, and may refuse to be moved. */
export interface Place {
  path: string;
  isQuarantined: boolean;
  isOdd: boolean;
}

export interface Inbox {
  take(limit: { fragments: number; bytes: number }): Taken;
  /** Undefined for what was not taken, or not since the last restart. */
  placeOf(name: string): Place | undefined;
  /** A round was committed with these. */
  settle(names: readonly string[]): void;
  /** Written by a later version: they lie here until that version runs, or a limit takes them. */
  leftAlone(): LeftAlone[];
  /** What was taken and not settled is there again. */
  restart(): void;
}

export interface LeftAlone {
  name: string;
  sizeBytes: number;
  writtenMs: number;
}

/**
 * A clock that was set back makes a file seem to come from the future; so far in it, it is no writer at work either.
 */
const TORN_AFTER_MS = 60_000;
const LOOK_AGAIN_MS = 10_000;
/** A disk may have a bad moment. */
const UNREADABLE_AFTER_MS = 10_000;
const HELD = 25_000;

export function createInbox(disk: Disk, held = HELD, processing?: Pick<Processing, 'isCrashed' | 'fits'>): Inbox {
  let listing: Listing = { odd: [], fragments: [], isCut: false };
  let special: (Place & { name: string })[] = [];
  let next = 0;
  let lookedAgainMs = Number.NEGATIVE_INFINITY;
  const taken = new Map<string, Place>();
  /** Torn when last read, and as long as nothing was written since. */
  const torn = new Map<string, string>();
  /** Since when. */
  const unreadable = new Map<string, number>();
  /** A fragment never changes its version, so these are not opened again. */
  const newer = new Map<string, LeftAlone>();
  /** Odd things that were quarantined once; what still lies here could not be moved. */
  const stuck = new Set<string>();

  const list = (result: Taken): void => {
    listing = listInbox(disk, held, name => {
      if (newer.has(name)) result.newer++;
      return newer.has(name) || taken.has(name) || stuck.has(name);
    });
    special = listing.odd.map(name => ({ name, path: `inbox/${name}`, isQuarantined: false, isOdd: true }));
    next = 0;
    const nowMs = disk.clock.monotonicMs();
    if (nowMs - lookedAgainMs < LOOK_AGAIN_MS) return;
    lookedAgainMs = nowMs;
    eachTorn(disk, (name, path) => {
      if (!taken.has(name)) special.push({ name, path, isQuarantined: true, isOdd: false });
    });
  };

  /** The next in line, and how to step over it. */
  const first = (): (Place & { name: string }) | undefined => {
    if (special[0] !== undefined) return special[0];
    const name = listing.fragments[next];
    return name === undefined ? undefined : { name, path: `inbox/${name}`, isQuarantined: false, isOdd: false };
  };
  const step = (): void => {
    if (special.length > 0) special.shift();
    else next++;
  };

  return {
    take(limit) {
      const result: Taken = { fragments: [], rejects: [], more: false, young: 0, newer: 0 };
      if (first() === undefined) list(result);
      let bytesLeft = limit.bytes;
      for (let candidate = first(); candidate !== undefined; candidate = first()) {
        if (result.fragments.length + result.rejects.length >= limit.fragments) break;
        const { name, ...place } = candidate;
        if (processing?.isCrashed(name)) {
          step();
          taken.set(name, place);
          result.rejects.push({ name, reason: 'crashed' });
          continue;
        }
        const { fragments } = result;
        if (processing?.fits(name, fragments[0]?.name, fragments.length) === false) break;
        // The first one is taken whatever its size, or it would bar the way for ever.
        const mostBytes = result.fragments.length === 0 ? Number.POSITIVE_INFINITY : bytesLeft;
        const found = look(disk, candidate, mostBytes, torn.get(place.path));
        if (found === 'over') break;
        step();
        const firstMs = unreadable.get(place.path) ?? disk.clock.monotonicMs();
        unreadable.delete(place.path);
        if (found === 'gone') torn.delete(place.path);
        else if (found === 'unreadable' && disk.clock.monotonicMs() - firstMs < UNREADABLE_AFTER_MS) {
          unreadable.set(place.path, firstMs);
          if (!place.isQuarantined) result.young++;
        } else if (found === 'unreadable') {
          taken.set(name, { ...place, isOdd: true });
          result.rejects.push({ name, reason: 'unreadable' });
        } else if ('writtenMs' in found) {
          newer.set(name, found);
          result.newer++;
        } else if ('tornAt' in found) {
          torn.set(place.path, found.tornAt);
          if (!place.isQuarantined) result.young++;
        } else {
          torn.delete(place.path);
          taken.set(name, 'reason' in found ? { ...place, isOdd: found.isOdd } : place);
          if ('reason' in found) result.rejects.push({ name, reason: found.reason });
          else {
            result.fragments.push(found);
            bytesLeft -= found.sizeBytes;
          }
        }
      }
      result.more = first() !== undefined || listing.isCut;
      return result;
    },
    placeOf: name =>
      taken.get(name) ?? (newer.has(name) ? { path: `inbox/${name}`, isQuarantined: false, isOdd: false } : undefined),
    leftAlone: () => [...newer.values()],
    settle(names) {
      for (const name of names) {
        if (taken.get(name)?.isOdd) stuck.add(name);
        taken.delete(name);
        newer.delete(name);
      }
    },
    restart() {
      listing = { odd: [], fragments: [], isCut: false };
      special = [];
      next = 0;
      lookedAgainMs = Number.NEGATIVE_INFINITY;
      taken.clear();
      // Another owner may have thrown them out.
      newer.clear();
    },
  };
}

/** How many wait; what another owner could take, too. */
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
  /** Of a boot that was cut the last that was kept: what comes behind it waits for another listing. */
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
  // Behind the end of a boot that was cut others of it come first, so the later boots wait for another listing.
  const cutAt = inOrder.findIndex(([boot]) => ends.has(boot));
  const whole = cutAt < 0 ? inOrder : inOrder.slice(0, cutAt + 1);
  return { odd, fragments: whole.flatMap(([, entries]) => entries.map(({ name }) => name)), isCut: cutAt >= 0 };
}

const byOrder = (a: Entry, b: Entry): number =>
  a.atMs - b.atMs || a.pid - b.pid || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

// Desktops and network file systems put such files anywhere. A name that is no UTF-8 cannot be opened by the string we
// got.
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

function look(disk: Disk, candidate: Place & { name: string }, mostBytes: number, tornAt: string | undefined): Look {
  const { name, path, isQuarantined, isOdd } = candidate;
  if (isOdd) return rejected(readFragmentName(name) === undefined ? 'name' : 'not-a-file', true);
  let file: number | undefined;
  try {
    // Neither follows a link nor waits for the other end of a pipe.
    file = disk.fs.openSync(at(disk, path), READ);
    const stats = disk.fs.fstatSync(file);
    if (stats.nlink === 0) return 'gone';
    if (!stats.isFile() || stats.nlink > 1) return rejected('not-a-file', true);
    if (stats.size > maxFragmentBytes) return isQuarantined ? { tornAt: stateOf(stats) } : rejected('too-large');
    if (tornAt !== stateOf(stats)) {
      if (stats.size > mostBytes) return 'over';
      const decoded = decodeFragment(name, readAll(disk, file, 0, stats.size), stats.mtimeMs);
      if (decoded.ok) return decoded.fragment;
      if (decoded.why === 'newer') return { name, sizeBytes: stats.size, writtenMs: stats.mtimeMs };
      if (decoded.why === 'header') return rejected('header');
    }
    const isYoung = Math.abs(disk.clock.nowMs() - stats.mtimeMs) < TORN_AFTER_MS || isJustBegun(disk, name);
    return isYoung || isQuarantined ? { tornAt: stateOf(stats) } : rejected('torn');
  } catch (error) {
    const code = codeOf(error) ?? '';
    if (code === 'ENOENT') return 'gone';
    if (['ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR', 'EMLINK', 'ENODEV'].includes(code)) return rejected('not-a-file', true);
    if (['EACCES', 'EPERM', 'EIO'].includes(code)) return 'unreadable';
    throw error;
  } finally {
    if (file !== undefined) disk.fs.closeSync(file);
  }
}

/** By the kernel's clock, which does not jump with the other one. */
function isJustBegun({ clock }: Disk, name: string): boolean {
  const begun = readFragmentName(name);
  const now = begun?.upMs === undefined ? undefined : clock.sinceBoot?.();
  if (now === undefined || begun?.upMs === undefined || begun.boot !== now.boot) return false;
  return now.upMs - begun.upMs < TORN_AFTER_MS;
}

const stateOf = (stats: Stats): string => `${stats.size} ${stats.mtimeMs}`;
