import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { readFragmentName } from '../hook/fragment.ts';
import { at, codeOf, type Disk, eachEntry, isMissing, unlinkIfThere } from './files.ts';
import { checkName } from './folder.ts';

/**
 * The quarantine holds raw payloads, so it is small and its files are kept for a short time. A removed file stays
 * counted: `quarantined` is a fate.
 */
export interface QuarantineLimits {
  ageMs: number;
  sizeBytes: number;
  files: number;
}
export const quarantineLimits: QuarantineLimits = {
  ageMs: 24 * 3_600_000,
  sizeBytes: 256 * 1024 * 1024,
  files: 10_000,
};

/** By reason. */
export type Purged = { [reason in 'over-age' | 'over-size' | 'over-files' | 'by-hand']?: number };

export interface QuarantineSize {
  files: number;
  sizeBytes: number;
}

/** The reason of packed journals that could not be read. Their names begin with their key. */
export const DAMAGED_JOURNAL = 'damaged-journal';

/** `<reason>.<name>`. A reason has no dot, so both parts can be separated again. */
export function quarantinePath(reason: string, name: string): string {
  return `quarantine/${checkName(reason)}.${safeName(name)}`;
}

/** Fragments that were quarantined without a trailer. A suspended writer may have finished them since. */
export function eachTorn(disk: Disk, visit: (fragment: string, path: string) => void): void {
  eachEntry(disk, 'quarantine', (name, isFile) => {
    if (isFile && name.startsWith('torn.')) visit(name.slice('torn.'.length), `quarantine/${name}`);
  });
}

export function sizeOfQuarantine(disk: Disk): QuarantineSize {
  const files = listQuarantine(disk);
  return { files: files.length, sizeBytes: files.reduce((sum, { stats }) => sum + stats.size, 0) };
}

/** The names of the files in quarantine. */
export function namesInQuarantine(disk: Disk): string[] {
  const found: string[] = [];
  eachEntry(disk, 'quarantine', (name, isFile) => {
    if (isFile) found.push(name);
  });
  return found.sort();
}

/** Removes files over the limits, oldest first. It is safe beside any round: a missing file counts as moved. */
export function limitQuarantine(disk: Disk, limits: QuarantineLimits, purged: Purged): QuarantineSize {
  const removed = { files: 0, sizeBytes: 0 };
  const oldestFirst = listQuarantine(disk).sort((a, b) => a.stats.ctimeMs - b.stats.ctimeMs);
  let keptBytes = oldestFirst.reduce((sum, { stats }) => sum + stats.size, 0);
  let keptFiles = oldestFirst.length;
  const remove = ({ path, stats }: Entry, reason: keyof Purged): void => {
    if (!removeEntry(disk, path, stats)) return;
    keptBytes -= stats.size;
    keptFiles--;
    removed.files++;
    removed.sizeBytes += stats.size;
    purged[reason] = (purged[reason] ?? 0) + 1;
  };
  // ctime is the time of the move. A ctime far in the future means that the clock has been set back since. The age of
  // such a file is unknown, and it holds raw payloads.
  const isExpired = ({ stats }: Entry): boolean => Math.abs(disk.clock.nowMs() - stats.ctimeMs) >= limits.ageMs;
  for (const entry of oldestFirst) if (isExpired(entry)) remove(entry, 'over-age');
  for (const entry of oldestFirst.filter(each => !isExpired(each))) {
    if (keptBytes > limits.sizeBytes) remove(entry, 'over-size');
    else if (keptFiles > limits.files) remove(entry, 'over-files');
  }
  return removed;
}

export function emptyQuarantine(disk: Disk, purged: Purged): QuarantineSize {
  const removed = { files: 0, sizeBytes: 0 };
  for (const { path, stats } of listQuarantine(disk)) {
    if (!removeEntry(disk, path, stats)) continue;
    removed.files++;
    removed.sizeBytes += stats.size;
    purged['by-hand'] = (purged['by-hand'] ?? 0) + 1;
  }
  return removed;
}

// A file in the inbox that another program wrote may have any name. Its name in the quarantine is plain, and the same
// each time.
const safeName = (name: string): string =>
  readFragmentName(name) !== undefined || /^[0-9a-z-]{1,64}$/.test(name)
    ? name
    : `odd-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;

interface Entry {
  path: string;
  stats: Stats;
}

function listQuarantine(disk: Disk): Entry[] {
  const found: Entry[] = [];
  eachEntry(disk, 'quarantine', name => {
    const path = `quarantine/${name}`;
    try {
      found.push({ path, stats: disk.fs.lstatSync(at(disk, path)) });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  });
  return found;
}

function removeEntry(disk: Disk, path: string, stats: Stats): boolean {
  if (!stats.isDirectory()) return unlinkIfThere(disk, path);
  try {
    disk.fs.rmdirSync(at(disk, path));
    return true;
  } catch (error) {
    // A folder with files of other programs stays.
    if (['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EACCES', 'EPERM', 'EBUSY'].includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}
