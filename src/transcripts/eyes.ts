/**
 * What agents wrote down, as the disk shows it. Paths come from payloads: whatever is no plain file (a pipe, a device, a
 * folder) is not there, opening never waits, and nothing is written.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Look } from '../agents/contract.ts';

export interface Eyes extends Look {
  stat(path: string): FileStat | undefined;
  isFolder(path: string): boolean;
  /** Fewer bytes where the file ends; none where it is gone. */
  read(path: string, at: number, length: number): Buffer;
}

export interface FileStat {
  sizeBytes: number;
  writtenMs: number;
}

const MOST_NAMES = 10_000;
const HEAD_BYTES = 4_096;
const MOST_HEADS = 4_096;

export function diskEyes(): Eyes {
  /** Beginnings do not change, and are asked for again with each reading. */
  const heads = new Map<string, string>();
  return {
    names(folder) {
      if (!isAbsolute(folder)) return [];
      try {
        return readdirSync(folder).sort().slice(0, MOST_NAMES);
      } catch {
        // No folder, or none for us: there is nothing in it that could be read.
        return [];
      }
    },
    head(path) {
      const known = heads.get(path);
      if (known !== undefined) return known;
      const head = withFile(path, file => readAll(file, 0, HEAD_BYTES).toString('utf8')) ?? '';
      if (heads.size >= MOST_HEADS) heads.clear();
      if (head.includes('\n') || head.length >= HEAD_BYTES) heads.set(path, head);
      return head;
    },
    stat: path =>
      withFile(path, file => {
        const { size, mtimeMs } = fstatSync(file);
        return { sizeBytes: size, writtenMs: mtimeMs };
      }),
    isFolder(path) {
      try {
        return isAbsolute(path) && statSync(path).isDirectory();
      } catch {
        // Gone, or behind a folder that we may not enter.
        return false;
      }
    },
    read: (path, at, length) => withFile(path, file => readAll(file, at, length)) ?? Buffer.alloc(0),
  };
}

function withFile<T>(path: string, use: (file: number) => T): T | undefined {
  if (!isAbsolute(path) || path.includes('\0')) return undefined;
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    return fstatSync(file).isFile() ? use(file) : undefined;
  } catch {
    // Gone, or not for us to read: it is as if it were not there, and is looked for again.
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readAll(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(file, bytes, filled, length - filled, at + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}
