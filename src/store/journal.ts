/**
 * Journals. Lines are appended to a plain file. A week after its last line, a journal is packed: gzip of its lines, in
 * a file beside it. If the session goes on, its next lines begin a new plain file. A reader sees one text: the packed
 * lines, then the plain ones. All places in a journal are places in this text.
 */
import { gunzipSync } from 'node:zlib';
import { at, type Disk, eachEntry, isMissing, READ, readAll, readBytes, withFile } from './files.ts';

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
  /** The size of its text. */
  textBytes: number;
  isPacked: boolean;
}

export const journalKeys = (disk: Disk): string[] => {
  const keys = new Set<string>();
  eachEntry(disk, 'journal', name => {
    const key = NAME.exec(name)?.[1];
    if (key !== undefined) keys.add(key);
  });
  return [...keys].sort();
};

export function listJournals(disk: Disk): Map<string, JournalFile> {
  const found = new Map<string, JournalFile>();
  eachEntry(disk, 'journal', name => {
    const [, key, packed] = NAME.exec(name) ?? [];
    if (key === undefined) return;
    const file = packed === undefined ? plainFile(disk, key) : packedFile(disk, key);
    if (file !== undefined) found.set(key, together(found.get(key), file));
  });
  return found;
}

function plainFile(disk: Disk, key: string): JournalFile | undefined {
  const stats = lstat(disk, journalPath(key));
  if (stats === undefined) return undefined;
  return { key, sizeBytes: stats.size, writtenMs: stats.mtimeMs, textBytes: stats.size, isPacked: false };
}

function packedFile(disk: Disk, key: string): JournalFile | undefined {
  return withFile(disk, packedPath(key), READ, file => {
    const { size, mtimeMs } = disk.fs.fstatSync(file);
    const textBytes = textBytesOf(readAll(disk, file, Math.max(0, size - LENGTH_BYTES), LENGTH_BYTES));
    return { key, sizeBytes: size, writtenMs: mtimeMs, textBytes, isPacked: true };
  });
}

const LENGTH_BYTES = 4;

/** The last bytes of a gzip file are the length of its content. */
const textBytesOf = (packed: Uint8Array): number =>
  packed.length < LENGTH_BYTES ? 0 : Buffer.from(packed.subarray(-LENGTH_BYTES)).readUInt32LE();

const together = (one: JournalFile | undefined, other: JournalFile): JournalFile =>
  one === undefined
    ? other
    : {
        key: one.key,
        sizeBytes: one.sizeBytes + other.sizeBytes,
        writtenMs: Math.max(one.writtenMs, other.writtenMs),
        textBytes: one.textBytes + other.textBytes,
        isPacked: one.isPacked || other.isPacked,
      };

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
    } catch {
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
  files: readonly { path: string; bytes: Uint8Array; writtenMs?: number | undefined }[];
  gone: readonly string[];
}

/** Brings a listing of journals up to date with a round. */
export function updateJournals(journals: Map<string, JournalFile>, change: JournalChange, nowMs: number): void {
  const grown = change.lines.map(({ path, offset, bytes }) => ({ path, textBytes: offset + bytes.length }));
  const anew = change.files.map(({ path, bytes }) => ({ path, textBytes: bytes.length }));
  for (const { path, textBytes } of [...grown, ...anew]) {
    const key = keyOf(path);
    if (key !== undefined && path === journalPath(key))
      journals.set(key, { key, sizeBytes: textBytes, writtenMs: nowMs, textBytes, isPacked: false });
  }
  for (const path of change.gone) journals.delete(keyOf(path) ?? '');
  for (const { path, bytes, writtenMs = nowMs } of change.files) {
    const key = keyOf(path);
    if (key !== undefined && path === packedPath(key))
      journals.set(key, { key, sizeBytes: bytes.length, writtenMs, textBytes: textBytesOf(bytes), isPacked: true });
  }
}

const keyOf = (path: string): string | undefined =>
  path.startsWith('journal/') ? NAME.exec(path.slice('journal/'.length))?.[1] : undefined;

/** Bytes of the text of one journal. */
export function journalSize(disk: Disk, key: string): number | undefined {
  const plain = plainFile(disk, key);
  const packed = packedFile(disk, key);
  return plain === undefined && packed === undefined ? undefined : (plain?.textBytes ?? 0) + (packed?.textBytes ?? 0);
}

/** Bytes of the text of each journal. */
export const sizesOf = (journals: ReadonlyMap<string, JournalFile>): Map<string, number> =>
  new Map([...journals.values()].map(({ key, textBytes }) => [key, textBytes]));
