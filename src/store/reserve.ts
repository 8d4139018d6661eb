import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { at, CREATE, codeOf, type Disk, FILE_MODE, isMissing, unlinkIfThere, writeAll } from './files.ts';

/**
 * A little room that is ours even when the disk is full. Nothing is sent without it: what a destination took has to be
 * noted in a round, or it would be sent again. It is spent when a round finds no room, and laid by again as soon as
 * there is some.
 */
export interface Reserve {
  /** Makes sure of it, as far as the disk has room. */
  isThere(): boolean;
  /** Does it; finding no room, once more with the reserve's. It must be such that doing it twice does no harm. */
  spend<T>(change: () => T): T;
}

/** The largest that a round of one fragment has to stage is the state of its session, some 100 KB as a rule. */
const RESERVE_BYTES = 1024 * 1024;
const FILE = 'reserve';

export function createReserve(disk: Disk, sizeBytes = RESERVE_BYTES): Reserve {
  let isKnown = false;
  return {
    isThere() {
      isKnown ||= layBy(disk, sizeBytes);
      return isKnown;
    },
    spend(change) {
      try {
        return change();
      } catch (error) {
        if (!isFull(error) || !spendReserve(disk)) throw error;
        isKnown = false;
        return change();
      }
    },
  };
}

/** True when there was one. */
export function spendReserve(disk: Disk): boolean {
  try {
    return unlinkIfThere(disk, FILE);
  } catch (error) {
    if (isFolder(error)) return false;
    throw error;
  }
}

/** Somebody's folder lies in its place. */
const isFolder = (error: unknown): boolean => ['EISDIR', 'EPERM'].includes(codeOf(error) ?? '');

export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

function layBy(disk: Disk, sizeBytes: number): boolean {
  if (sizeOf(disk) >= sizeBytes / 2) return true;
  let file: number | undefined;
  try {
    spendReserve(disk);
    file = disk.fs.openSync(at(disk, FILE), CREATE, FILE_MODE);
    // Bytes that do not repeat: some file systems keep what does in next to nothing.
    writeAll(disk, file, randomBytes(sizeBytes), 0);
    return true;
  } catch (error) {
    // Another owner lays it by just now, and the next look finds it. A folder will stay: then it goes without a
    // reserve.
    if (codeOf(error) === 'EEXIST') return isForeign(disk);
    if (!isFull(error)) throw error;
  } finally {
    if (file !== undefined) disk.fs.closeSync(file);
  }
  // Half of it is enough for most, and better than nothing at all being sent.
  if (sizeOf(disk) >= sizeBytes / 2) return true;
  spendReserve(disk);
  return false;
}

const sizeOf = (disk: Disk): number => {
  const stats = statsOf(disk);
  return stats?.isFile() ? stats.size : 0;
};
const isForeign = (disk: Disk): boolean => statsOf(disk)?.isDirectory() ?? false;

function statsOf(disk: Disk): Stats | undefined {
  try {
    return disk.fs.lstatSync(at(disk, FILE));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
