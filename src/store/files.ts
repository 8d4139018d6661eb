import * as fs from 'node:fs';
import { patient } from '../lib/held-files.ts';

/** All disk operations of the store go through these calls, so that a test can stop or kill it between any two. */
export type StoreFs = Pick<
  typeof fs,
  | 'openSync'
  | 'closeSync'
  | 'readSync'
  | 'writeSync'
  | 'fsyncSync'
  | 'fstatSync'
  | 'lstatSync'
  | 'opendirSync'
  | 'renameSync'
  | 'unlinkSync'
  | 'mkdirSync'
  | 'rmdirSync'
  | 'utimesSync'
  | 'chmodSync'
>;

/** The functions of Node. They wait for files that another program holds for a moment. */
export const patientFs = (): StoreFs =>
  patient<StoreFs>(fs, ['openSync', 'opendirSync', 'renameSync', 'unlinkSync', 'mkdirSync', 'rmdirSync', 'utimesSync']);

export interface Clock {
  nowMs(): number;
  monotonicMs(): number;
  /** The kernel's clock, which names fragments. A jump of the wall clock does not change it. */
  sinceBoot?(): { boot: string; upMs: number } | undefined;
}

/** A state folder and the means to change it. */
export interface Disk {
  readonly fs: StoreFs;
  /** The same calls, which do not wait for files that another program holds. Default: `fs`. */
  readonly hastyFs?: StoreFs | undefined;
  readonly folder: string;
  readonly fsync: boolean;
  readonly clock: Clock;
  /** Returns 16 hex characters that no other call ever returns. */
  readonly nonce: () => string;
}

// Windows has neither flag. On Windows, only a user with special rights can make a link or a pipe here.
const NO_FOLLOW = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0);
export const READ = fs.constants.O_RDONLY | NO_FOLLOW;
export const UPDATE = fs.constants.O_RDWR | NO_FOLLOW;
export const UPDATE_OR_CREATE = UPDATE | fs.constants.O_CREAT;
export const CREATE = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | NO_FOLLOW;

export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/**
 * Does not use `join`, which splits a path and joins it again: two paths are made for each fragment. No path ends with
 * a slash, because a slash makes the system follow a link.
 */
export const at = (disk: Disk, ...path: string[]): string => {
  const within = path.join('/');
  return within === '' ? disk.folder : `${disk.folder}/${within}`;
};

/** A link to a folder does not count as a folder. */
export function isFolder(disk: Disk, path: string): boolean {
  try {
    return disk.fs.lstatSync(at(disk, path)).isDirectory();
  } catch (error) {
    if (isMissing(error) || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** Calls back for each entry, so that no list of them is in memory. A missing folder, and a link, have no entries. */
export function eachEntry(disk: Disk, folder: string, visit: (name: string, isFile: boolean) => void): void {
  let entries: fs.Dir;
  try {
    // The target of a link is not part of the state folder, so it is not read.
    if (!isFolder(disk, folder)) return;
    entries = disk.fs.opendirSync(at(disk, folder), { bufferSize: 256 });
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) visit(entry.name, entry.isFile());
  } finally {
    entries.closeSync();
  }
}

export function names(disk: Disk, folder: string): string[] {
  const found: string[] = [];
  eachEntry(disk, folder, name => found.push(name));
  return found.sort();
}

/** Returns the bytes of a regular file; undefined if the file is missing or of another kind. */
export function readBytes(disk: Disk, path: string): Buffer | undefined {
  return withFile(disk, path, READ, file => readAll(disk, file, 0, disk.fs.fstatSync(file).size));
}

/**
 * Opens, calls, closes. Returns undefined if there is no regular file, but a link, a folder, a pipe or no entry. Never
 * blocks.
 */
export function withFile<T>(disk: Disk, path: string, flags: number, use: (file: number) => T): T | undefined {
  let file: number;
  try {
    file = disk.fs.openSync(at(disk, path), flags, FILE_MODE);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EISDIR', 'ENXIO', 'ENOTDIR', 'EMLINK'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
  try {
    return disk.fs.fstatSync(file).isFile() ? use(file) : undefined;
  } finally {
    disk.fs.closeSync(file);
  }
}

/** `length` bytes from `position`, fewer at the end of the file. */
export function readAll(disk: Disk, file: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = disk.fs.readSync(file, bytes, filled, length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

/** A write may be short (a signal, a full disk). The rest is tried again; a full disk then gives an error. */
export function writeAll(disk: Disk, file: number, bytes: Uint8Array, position: number): void {
  let written = 0;
  while (written < bytes.length)
    written += disk.fs.writeSync(file, bytes, written, bytes.length - written, position + written);
}

export function createFile(disk: Disk, path: string, bytes: Uint8Array): void {
  const file = disk.fs.openSync(at(disk, path), CREATE, FILE_MODE);
  try {
    writeAll(disk, file, bytes, 0);
    if (disk.fsync) disk.fs.fsyncSync(file);
  } finally {
    disk.fs.closeSync(file);
  }
}

/** Makes additions to and removals from a folder durable, if the user asked for it. */
export function syncFolder(disk: Disk, folder: string): void {
  if (!disk.fsync || process.platform === 'win32') return;
  const file = disk.fs.openSync(at(disk, folder), fs.constants.O_RDONLY);
  try {
    disk.fs.fsyncSync(file);
  } finally {
    disk.fs.closeSync(file);
  }
}

/** Returns true if the entry existed. */
export function unlinkIfThere(disk: Disk, path: string): boolean {
  try {
    disk.fs.unlinkSync(at(disk, path));
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** False when the source or the target folder is missing. */
export function renameIfThere(disk: Disk, from: string, to: string): boolean {
  try {
    disk.fs.renameSync(at(disk, from), at(disk, to));
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

export function exists(disk: Disk, path: string): boolean {
  try {
    disk.fs.lstatSync(at(disk, path));
    return true;
  } catch (error) {
    if (isMissing(error) || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** Returns JSON with a version; undefined if it is missing; 'damaged' if it cannot be read. */
export function readVersioned(disk: Disk, path: string): { [key: string]: unknown } | 'damaged' | undefined {
  const bytes = readBytes(disk, path);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !('v' in value)) return 'damaged';
    return { ...value };
  } catch {
    // A power cut left the file empty or half written; the caller counts it.
    return 'damaged';
  }
}
