/**
 * Reads the files of agents from the disk. Paths come from payloads, so only a regular file is read: a pipe, a device
 * or a folder counts as missing. Opening a file never blocks, and no file is written.
 */
import { accessSync, constants, readdirSync, readSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import zlib from 'node:zlib';
import type { Look } from '../agents/contract/contract.ts';
import { withRegularFileIfThere } from '../lib/regular-file.ts';
import { isTrustedOwner } from '../lib/trusted-owner.ts';

/** Access to the disk. A packed file of rows (`.jsonl.zst`) is found under its name before it was packed. */
export interface Eyes extends Look {
  /** Packed files that cannot be read, by their names before they were packed, with the reason. */
  readonly unread: ReadonlyMap<string, Unread>;
  stat(path: string): FileStat | undefined;
  isFolder(path: string): boolean;
  /**
   * Returns fewer bytes at the end of the file, and none if the file was removed. `room`: memory that the caller owns,
   * where the bytes are put.
   */
  read(path: string, at: number, length: number, room?: Buffer): Buffer;
}

export interface FileStat {
  sizeBytes: number;
  writtenMs: number;
  /** True if the file belongs to neither this user nor root. */
  isForeign?: true;
}

export type Unread = 'old-node' | 'too-large' | 'damaged';

export const whyUnread: Readonly<Record<Unread, string>> = {
  'old-node': `packed with zstd, which Node unpacks since 22.15; this is ${process.versions.node}`,
  'too-large': 'packed, and above 64 MB when it is unpacked',
  damaged: 'packed, and damaged',
};

const MOST_NAMES = 10_000;
const MOST_FOLDERS = 64;
/**
 * A folder that changed within this time is listed again. The time of a folder has steps of up to two seconds, so a
 * later change may leave it as it is.
 */
const SETTLED_MS = 5_000;
const HEAD_BYTES = 4_096;
const MOST_HEADS = 4_096;
/** Largest unpacked size. The file is held in memory. */
const LARGEST_UNPACKED = 64 * 1024 * 1024;

/** The name of a packed file before it was packed. */
export const plainName = (path: string): string => path.replace(/(?<=\.jsonl)\.zst$/, '');

type Unpack = (packed: Buffer, options: { maxOutputLength: number }) => Buffer;
const { zstdDecompressSync = null } = zlib as { zstdDecompressSync?: Unpack };

/** `unpack` is null if this version of Node has no zstd (before 22.15). */
export function diskEyes(unpack: Unpack | null = zstdDecompressSync): Eyes {
  /** Cached starts of files. They do not change, and every reading needs them. */
  const heads = new Map<string, string>();
  /** Cached lists. Each session lists the folder of its file, and a folder may hold the files of all sessions. */
  const lists = new Map<string, { changedMs: number; names: readonly string[] }>();
  const unread = new Map<string, Unread>();
  /**
   * Caches the last unpacked file, because callers ask for the size, the beginning and the rows of a file one by one.
   */
  let last: { version: string; writtenMs: number; bytes: Buffer } | undefined;

  function unpacked(path: string): { writtenMs: number; bytes: Buffer } | undefined {
    if (!path.endsWith('.jsonl') || unread.get(path) === 'old-node') return undefined;
    const packed = `${path}.zst`;
    const stat = statOf(packed);
    if (stat === undefined) return undefined;
    const version = `${path}:${stat.sizeBytes}:${stat.writtenMs}`;
    if (last?.version === version) return last;
    if (unpack === null) {
      unread.set(path, 'old-node');
      return undefined;
    }
    try {
      const bytes = withFile(packed, file => readAll(file, 0, Math.min(stat.sizeBytes, LARGEST_UNPACKED)));
      if (bytes === undefined) return undefined;
      last = { version, writtenMs: stat.writtenMs, bytes: unpack(bytes, { maxOutputLength: LARGEST_UNPACKED }) };
      unread.delete(path);
      return last;
    } catch (error) {
      const isLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
      unread.set(path, isLarge ? 'too-large' : 'damaged');
      return undefined;
    }
  }

  const read = (path: string, at: number, length: number, room?: Buffer): Buffer | undefined =>
    withFile(path, file => readAll(file, at, length, room)) ??
    placed(unpacked(path)?.bytes.subarray(at, at + length), room);

  return {
    unread,
    names(folder) {
      const changedMs = changeOf(folder);
      if (changedMs === undefined) return [];
      const known = lists.get(folder);
      if (known?.changedMs === changedMs) return known.names;
      try {
        const names = [...new Set(readdirSync(folder).map(plainName))].sort().slice(0, MOST_NAMES);
        lists.delete(folder);
        if (lists.size >= MOST_FOLDERS) lists.clear();
        if (Date.now() - changedMs > SETTLED_MS) lists.set(folder, { changedMs, names });
        return names;
      } catch {
        // The path is not a folder, or the folder is not readable.
        return [];
      }
    },
    head(path) {
      const known = heads.get(path);
      if (known !== undefined) return known;
      const head = read(path, 0, HEAD_BYTES)?.toString('utf8') ?? '';
      if (heads.size >= MOST_HEADS) heads.clear();
      if (head.includes('\n') || head.length >= HEAD_BYTES) heads.set(path, head);
      return head;
    },
    stat(path) {
      const stat = statOf(path);
      if (stat !== undefined) return stat;
      const whole = unpacked(path);
      return whole && { sizeBytes: whole.bytes.length, writtenMs: whole.writtenMs };
    },
    isFolder(path) {
      try {
        return isAbsolute(path) && statSync(path).isDirectory();
      } catch {
        // The file was removed, or is not accessible.
        return false;
      }
    },
    read: (path, at, length, room) => read(path, at, length, room) ?? Buffer.alloc(0),
  };
}

/** Returns undefined for a file that cannot be read. It is not opened, because an import asks for thousands of files. */
function statOf(path: string): FileStat | undefined {
  if (!isAbsolute(path)) return undefined;
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (!facts?.isFile()) return undefined;
    accessSync(path, constants.R_OK);
    const stat: FileStat = { sizeBytes: facts.size, writtenMs: facts.mtimeMs };
    return isTrustedOwner(facts.uid) ? stat : { ...stat, isForeign: true };
  } catch {
    // The path is invalid, or the file is not readable.
    return undefined;
  }
}

function changeOf(path: string): number | undefined {
  try {
    return isAbsolute(path) ? statSync(path, { throwIfNoEntry: false })?.mtimeMs : undefined;
  } catch {
    // The path is invalid or not accessible.
    return undefined;
  }
}

function withFile<T>(path: string, use: (file: number) => T): T | undefined {
  if (!isAbsolute(path)) return undefined;
  try {
    return withRegularFileIfThere(path, use);
  } catch {
    // The file was removed or is not readable. It counts as missing, and is tried again later.
    return undefined;
  }
}

function placed(bytes: Buffer | undefined, room: Buffer | undefined): Buffer | undefined {
  if (bytes === undefined || room === undefined) return bytes;
  return room.subarray(0, bytes.copy(room));
}

function readAll(file: number, at: number, length: number, bytes: Buffer = Buffer.allocUnsafe(length)): Buffer {
  let filled = 0;
  while (filled < length) {
    const count = readSync(file, bytes, filled, length - filled, at + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}
