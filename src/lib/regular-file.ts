/**
 * Opens files that other people may have made: a project's files, agents' settings, transcripts.
 *
 * Constraints: opening never waits (a FIFO without a writer would), a device or a folder is never read, and a file that
 * is larger than the limit, or that grows while it is read, is never held in memory. The type is checked before
 * opening, because opening a device can have effects, and again on the open file, because the path may name another
 * file by then.
 */
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { type Patience, usualPatience, whileHeld } from './held-files.ts';

/** A file without read permission is not waited for. */
const readers: Patience = { ...usualPatience, platform: '' };

export interface Opening {
  /** `false`: refuse a symbolic link in the last part of the path. */
  follow?: boolean;
  /** Checks the open file before it is read. A returned text is the reason for refusing it. */
  refuse?: (facts: BigIntStats) => string | undefined;
}

/** A file that exists and is refused, with the reason. */
export class FileRefused extends Error {}

/** Calls `use` with the open file; throws `FileRefused`, or the error of the system. */
export function withRegularFile<T>(
  path: string,
  use: (file: number, facts: BigIntStats) => T,
  { follow = true, refuse }: Opening = {},
): T {
  requireRegular(follow ? statSync(path, { bigint: true }) : lstatSync(path, { bigint: true }));
  return withOpened(path, use, { follow, refuse });
}

/** Returns undefined if the file does not exist, which costs a tenth of an exception. */
export function withRegularFileIfThere<T>(path: string, use: (file: number) => T): T | undefined {
  const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (facts === undefined) return undefined;
  requireRegular(facts);
  return withOpened(path, use, { follow: true });
}

function withOpened<T>(path: string, use: (file: number, facts: BigIntStats) => T, { follow, refuse }: Opening): T {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0, O_NOFOLLOW = 0 } = constants;
  const flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
  const file = whileHeld(() => openSync(path, flags), readers);
  try {
    const facts = fstatSync(file, { bigint: true });
    requireRegular(facts);
    const why = refuse?.(facts);
    if (why !== undefined) throw new FileRefused(why);
    return use(file, facts);
  } finally {
    closeSync(file);
  }
}

/** Reads the whole file. Throws `FileRefused` if it has more than `mostBytes`, or the error of the system. */
export const readRegularFile = (path: string, mostBytes: number, opening?: Opening): Buffer =>
  withRegularFile(path, (file, { size }) => readBounded(file, Number(size), mostBytes), opening);

function requireRegular(facts: BigIntStats): void {
  if (facts.isSymbolicLink()) throw new FileRefused('it is a symbolic link');
  if (!facts.isFile()) throw new FileRefused('it is not a regular file');
}

/** The stated size is only a hint: files of /proc state 0, and a file may grow. */
function readBounded(file: number, size: number, mostBytes: number): Buffer {
  if (size > mostBytes) throw tooLarge(mostBytes);
  const parts: Buffer[] = [];
  let total = 0;
  for (;;) {
    const part = Buffer.allocUnsafe(Math.min(Math.max(size - total, 4_096) + 1, mostBytes - total + 1));
    const count = readSync(file, part, 0, part.length, total);
    if (count === 0) return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    total += count;
    if (total > mostBytes) throw tooLarge(mostBytes);
    parts.push(part.subarray(0, count));
  }
}

const MB = 1024 * 1024;

const tooLarge = (bytes: number): FileRefused =>
  new FileRefused(`it is larger than ${bytes % MB === 0 ? `${bytes / MB} MB` : `${bytes} bytes`}`);
