/**
 * Journals. Lines are appended to a plain file. A week after its last line, a journal is packed: gzip of its lines, in
 * a file beside it. If the session goes on, its next lines begin a new plain file. A reader sees one text: the packed
 * lines, then the plain ones. All places in a journal are places in this text.
 */
import { gunzipSync } from 'node:zlib';
import { at, codeOf, type Disk, eachEntry, READ, readAll, readBytes, withFile } from './files.ts';

/** The place of the next lines of a journal: after the committed part or, with its intact lines, in a new file. */
export type Append = { offset: number } | { offset: number; rewrite: Buffer };

export const journalPath = (key: string): string => `journal/${key}.jsonl`;
export const packedPath = (key: string): string => `${journalPath(key)}.gz`;
const NAME = /^([0-9a-z-]{1,64})\.jsonl(\.gz)?$/;

export interface JournalFile {
  key: string;
  /** On the disk, packed or not. */
  sizeBytes: number;
  writtenMs: number;
  /** The bytes of its plain file. */
  plainBytes: number;
  isPacked: boolean;
}

/** The files that a journal has. */
export type Forms = 'plain' | 'packed' | 'both';

/** The journals in the order of the folder. */
export function formsOfJournals(disk: Disk): Map<string, Forms> {
  const found = new Map<string, Forms>();
  eachEntry(disk, 'journal', name => {
    const [, key, packed] = NAME.exec(name) ?? [];
    if (key === undefined) return;
    found.set(key, found.has(key) ? 'both' : packed === undefined ? 'plain' : 'packed');
  });
  return found;
}

export const journalKeys = (disk: Disk): string[] => [...formsOfJournals(disk).keys()].sort();

/** Opens no file. */
export function journalFile(disk: Disk, key: string, forms: Forms = 'both'): JournalFile | undefined {
  const plain = forms === 'packed' ? undefined : lstat(disk, journalPath(key));
  const packed = forms === 'plain' ? undefined : lstat(disk, packedPath(key));
  if (plain === undefined && packed === undefined) return undefined;
  return {
    key,
    sizeBytes: (plain?.size ?? 0) + (packed?.size ?? 0),
    writtenMs: Math.max(plain?.mtimeMs ?? 0, packed?.mtimeMs ?? 0),
    plainBytes: plain?.size ?? 0,
    isPacked: packed !== undefined,
  };
}

/** The last bytes of a gzip file are the length of its content. */
const LENGTH_BYTES = 4;

/** The lengths of packed journals that were read before, because commands that follow journals ask often. */
const lengths = new Map<string, { sizeBytes: number; writtenMs: number; textBytes: number }>();

/** Undefined if the journal is not packed. */
function packedLength(disk: Disk, key: string): number | undefined {
  const stats = lstat(disk, packedPath(key));
  if (stats === undefined) return undefined;
  const path = at(disk, packedPath(key));
  const known = lengths.get(path);
  if (known?.sizeBytes === stats.size && known.writtenMs === stats.mtimeMs) return known.textBytes;
  const end = withFile(disk, packedPath(key), READ, file =>
    readAll(disk, file, Math.max(0, stats.size - LENGTH_BYTES), LENGTH_BYTES),
  );
  const textBytes = end?.length === LENGTH_BYTES ? end.readUInt32LE() : 0;
  lengths.set(path, { sizeBytes: stats.size, writtenMs: stats.mtimeMs, textBytes });
  return textBytes;
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

/** Returns the committed text. */
export function readJournal(disk: Disk, key: string, committedBytes: number | undefined): string | undefined {
  const packed = packedText(disk, key);
  const plain = withFile(disk, journalPath(key), READ, file =>
    isCopyOf(packed, disk, file)
      ? ''
      : readAll(disk, file, 0, Math.min(disk.fs.fstatSync(file).size, committedBytes ?? Infinity)).toString(),
  );
  return packed === undefined ? plain : packed.toString() + (plain ?? '');
}

/** Returns the committed lines after `from`, up to a number of bytes and the end of a line. */
export function readJournalFrom(
  disk: Disk,
  key: string,
  committedBytes: number | undefined,
  from: number,
  mostBytes: number,
): { lines: string; endBytes: number } | undefined {
  const packed = packedText(disk, key);
  const before = packed?.length ?? 0;
  if (packed !== undefined && from < before) return linesIn(packed.subarray(from, from + mostBytes), from);
  return (
    withFile(disk, journalPath(key), READ, file => {
      if (isCopyOf(packed, disk, file)) return undefined;
      const { size } = disk.fs.fstatSync(file);
      const end = Math.min(size, committedBytes ?? Infinity);
      // A file that became shorter began anew.
      const start = from - before > size ? 0 : Math.min(from - before, end);
      return linesIn(readAll(disk, file, start, Math.min(end - start, mostBytes)), before + start);
    }) ??
    (packed && { lines: '', endBytes: before })
  );
}

/** The whole lines of a part of a journal, and where the next ones begin. */
function linesIn(part: Buffer, start: number): { lines: string; endBytes: number } {
  const whole = part.subarray(0, part.lastIndexOf(0x0a) + 1);
  return { lines: whole.toString(), endBytes: start + whole.length };
}

const STEP_BYTES = 64 * 1024;

export function readJournalTail(
  disk: Disk,
  key: string,
  committedBytes: number | undefined,
  lines: number,
): string | undefined {
  const packed = packedText(disk, key);
  const plain = withFile(disk, journalPath(key), READ, file => {
    const isCopy = isCopyOf(packed, disk, file);
    const end = isCopy ? 0 : Math.min(disk.fs.fstatSync(file).size, committedBytes ?? Infinity);
    let tail = Buffer.alloc(0);
    for (let start = end; ; ) {
      const from = startOfLast(tail, lines);
      if (from !== undefined || start === 0) return tail.subarray(from ?? 0);
      const length = Math.min(STEP_BYTES, start);
      start -= length;
      tail = Buffer.concat([readAll(disk, file, start, length), tail]);
    }
  });
  if (packed === undefined || (plain !== undefined && startOfLast(plain, lines) !== undefined))
    return plain?.toString();
  const text = Buffer.concat([packed, plain ?? Buffer.alloc(0)]);
  return text.subarray(startOfLast(text, lines) ?? 0).toString();
}

/** Larger journals are not packed, so that no reader unpacks more than this at once. */
export const MOST_PACKED_BYTES = 64 * 1024 * 1024;

/** The packed journal that was unpacked last, because readers read a journal in many parts. */
const unpacked = new WeakMap<Disk, { path: string; stamp: string; text: Buffer }>();

/** Packed journals that could not be read, by the disk whose owner sets them aside. */
const damaged = new WeakMap<Disk, Set<string>>();

export function damagedIn(disk: Disk): Set<string> {
  const keys = damaged.get(disk) ?? new Set();
  damaged.set(disk, keys);
  return keys;
}

/** Undefined if the journal is not packed, or the packed file is damaged. */
function packedText(disk: Disk, key: string): Buffer | undefined {
  const path = packedPath(key);
  return withFile(disk, path, READ, file => {
    const { ino, mtimeMs, size } = disk.fs.fstatSync(file);
    const stamp = [ino, mtimeMs, size].join(' ');
    const known = unpacked.get(disk);
    if (known?.path === path && known.stamp === stamp) return known.text;
    try {
      const text = gunzipSync(readAll(disk, file, 0, size), { maxOutputLength: MOST_PACKED_BYTES });
      unpacked.set(disk, { path, stamp, text });
      return text;
    } catch (error) {
      if (codeOf(error)?.startsWith('Z_')) damagedIn(disk).add(key);
      return undefined;
    }
  });
}

/**
 * A round places the packed file before it removes the plain one. In between, the plain file is a copy. No line of a
 * journal occurs twice, because each has the id of its event, so that the first bytes tell.
 */
function isCopyOf(packed: Buffer | undefined, disk: Disk, file: number): boolean {
  if (packed === undefined) return false;
  const head = readAll(disk, file, 0, Math.min(packed.length, HEAD_BYTES));
  return head.length > 0 && packed.subarray(0, head.length).equals(head);
}

const HEAD_BYTES = 4 * 1024;

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

/** An error of a missing file would cost ten times as much. */
export const lstat = (disk: Disk, path: string) => disk.fs.lstatSync(at(disk, path), { throwIfNoEntry: false });

/** Bytes of the text of one journal. */
export function journalSize(disk: Disk, key: string, forms: Forms = 'both'): number | undefined {
  const plain = forms === 'packed' ? undefined : lstat(disk, journalPath(key))?.size;
  const packed = forms === 'plain' ? undefined : packedLength(disk, key);
  return plain === undefined && packed === undefined ? undefined : (plain ?? 0) + (packed ?? 0);
}

/** Bytes of the text of each journal. */
export function journalSizes(disk: Disk): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const [key, forms] of formsOfJournals(disk)) {
    const bytes = journalSize(disk, key, forms);
    if (bytes !== undefined) sizes.set(key, bytes);
  }
  return sizes;
}

/** The key of a journal by the path of one of its files. */
export const journalKeyOf = (path: string): string | undefined =>
  path.startsWith('journal/') ? NAME.exec(path.slice('journal/'.length))?.[1] : undefined;
