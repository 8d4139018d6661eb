import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { at, CREATE, codeOf, type Disk, FILE_MODE, isMissing, unlinkIfThere, writeAll } from './files.ts';

/**
 * A small file that reserves space on a full disk. Nothing is sent without it: an accepted body must be noted in a
 * round, or it would be sent again. The reserve is freed when a round finds no space, and made again as soon as there
 * is some.
 */
export interface Reserve {
  /** Makes the reserve, as far as the disk has space. */
  isThere(): boolean;
  /**
   * Runs an action. If it finds no space, it runs once more with the reserve's space, so running it twice must do no
   * harm.
   */
  spend<T>(change: () => T): T;
}

/** The largest file of a round with one fragment is the state of its session, usually some 100 KB. */
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

/** True when there was a reserve. */
export function spendReserve(disk: Disk): boolean {
  try {
    return unlinkIfThere(disk, FILE);
  } catch (error) {
    if (isFolder(error)) return false;
    throw error;
  }
}

/** A folder of another program has this name. */
const isFolder = (error: unknown): boolean => ['EISDIR', 'EPERM'].includes(codeOf(error) ?? '');

export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

function layBy(disk: Disk, sizeBytes: number): boolean {
  if (sizeOf(disk) >= sizeBytes / 2) return true;
  let file: number | undefined;
  try {
    spendReserve(disk);
    file = disk.fs.openSync(at(disk, FILE), CREATE, FILE_MODE);
    // The bytes do not repeat, because some file systems store repeated bytes in almost no space.
    writeAll(disk, file, randomBytes(sizeBytes), 0);
    return true;
  } catch (error) {
    // Another owner creates it at this moment, and the next check finds it. If a folder has its name, there is no
    // reserve.
    if (codeOf(error) === 'EEXIST') return isForeign(disk);
    if (!isFull(error)) throw error;
  } finally {
    if (file !== undefined) disk.fs.closeSync(file);
  }
  // Half of it is enough for most rounds, and better than sending nothing.
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
