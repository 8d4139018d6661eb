import { at, type Disk, eachEntry, isMissing, READ, readAll, readBytes, withFile } from './files.ts';

/** The place of the next lines of a journal: after the committed part or, with its intact lines, in a new file. */
export type Append = { offset: number } | { offset: number; rewrite: Buffer };

export const journalPath = (key: string): string => `journal/${key}.jsonl`;
export const journalKey = (path: string): string | undefined => /^journal\/([0-9a-z-]{1,64})\.jsonl$/.exec(path)?.[1];

export interface JournalFile {
  key: string;
  sizeBytes: number;
  writtenMs: number;
}

export function listJournals(disk: Disk): Map<string, JournalFile> {
  const found = new Map<string, JournalFile>();
  eachEntry(disk, 'journal', name => {
    const key = journalKey(`journal/${name}`);
    const stats = key === undefined ? undefined : lstat(disk, journalPath(key));
    if (key === undefined || stats === undefined) return;
    found.set(key, { key, sizeBytes: stats.size, writtenMs: stats.mtimeMs });
  });
  return found;
}

/**
 * `committedBytes` is the length in the session's file. Without one, the whole file is committed, because only rounds
 * write here. A journal that is a link, or shorter than its committed part, begins anew with its intact lines: the
 * target of a link is not written to, and a line behind a torn line would be lost as well.
 */
export function placeToAppend(disk: Disk, key: string, committedBytes: number | undefined): Append {
  const path = journalPath(key);
  const stats = lstat(disk, path);
  if (stats === undefined) return { offset: 0 };
  const committed = committedBytes ?? stats.size;
  if (stats.isFile() && stats.nlink === 1 && stats.size >= committed) return { offset: committed };
  const bytes = readBytes(disk, path)?.subarray(0, committed) ?? Buffer.alloc(0);
  const rewrite = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
  return { offset: rewrite.length, rewrite };
}

/** The committed part, or its last lines. */
export function readJournal(disk: Disk, key: string, committedBytes: number | undefined): string | undefined {
  return withFile(disk, journalPath(key), READ, file =>
    readAll(
      disk,
      file,
      0,
      Math.min(disk.fs.fstatSync(file).size, committedBytes ?? Number.POSITIVE_INFINITY),
    ).toString(),
  );
}

/** Returns the committed lines after `from`, up to a number of bytes and the end of a line. */
export function readJournalFrom(
  disk: Disk,
  key: string,
  committedBytes: number | undefined,
  from: number,
  mostBytes: number,
): { lines: string; endBytes: number } | undefined {
  return withFile(disk, journalPath(key), READ, file => {
    const { size } = disk.fs.fstatSync(file);
    const end = Math.min(size, committedBytes ?? Number.POSITIVE_INFINITY);
    // A file that became shorter began anew.
    const start = from > size ? 0 : Math.min(from, end);
    const bytes = readAll(disk, file, start, Math.min(end - start, mostBytes));
    const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
    return { lines: whole.toString(), endBytes: start + whole.length };
  });
}

const STEP_BYTES = 64 * 1024;

export function readJournalTail(
  disk: Disk,
  key: string,
  committedBytes: number | undefined,
  lines: number,
): string | undefined {
  return withFile(disk, journalPath(key), READ, file => {
    const end = Math.min(disk.fs.fstatSync(file).size, committedBytes ?? Number.POSITIVE_INFINITY);
    let tail = Buffer.alloc(0);
    for (let start = end; ; ) {
      const from = startOfLast(tail, lines);
      if (from !== undefined) return tail.subarray(from).toString();
      if (start === 0) return tail.toString();
      const length = Math.min(STEP_BYTES, start);
      start -= length;
      tail = Buffer.concat([readAll(disk, file, start, length), tail]);
    }
  });
}

/** Returns the start of the last lines, of a given number. */
function startOfLast(bytes: Buffer, lines: number): number | undefined {
  let newline = bytes.length;
  for (let seen = 0; seen <= lines; seen++) {
    if (newline <= 0) return undefined;
    newline = bytes.lastIndexOf(0x0a, newline - 1);
    if (newline < 0) return undefined;
  }
  return newline + 1;
}

export function lstat(disk: Disk, path: string) {
  try {
    return disk.fs.lstatSync(at(disk, path));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

interface JournalChange {
  lines: readonly { path: string; offset: number; bytes: Uint8Array }[];
  files: readonly { path: string; bytes: Uint8Array }[];
  gone: readonly string[];
}

/** Brings a listing of journals up to date with a round. */
export function updateJournals(journals: Map<string, JournalFile>, change: JournalChange, nowMs: number): void {
  const grown = change.lines.map(({ path, offset, bytes }) => ({ path, sizeBytes: offset + bytes.length }));
  const anew = change.files.map(({ path, bytes }) => ({ path, sizeBytes: bytes.length }));
  for (const { path, sizeBytes } of [...grown, ...anew]) {
    const key = journalKey(path);
    if (key !== undefined) journals.set(key, { key, sizeBytes, writtenMs: nowMs });
  }
  for (const path of change.gone) journals.delete(journalKey(path) ?? '');
}

/** Bytes of each journal's file. */
/** The bytes of one journal's file. */
export const journalSize = (disk: Disk, key: string): number | undefined => lstat(disk, journalPath(key))?.size;

export const sizesOf = (journals: ReadonlyMap<string, JournalFile>): Map<string, number> =>
  new Map([...journals.values()].map(({ key, sizeBytes }) => [key, sizeBytes]));
