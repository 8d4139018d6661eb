/**
 * One input of `ingest`: a file, a packed file, or a stream. A file is read in parts from the offset in its mark. A
 * stream is read as it arrives, and its writer blocks while it is too fast.
 */
import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { hexDigest, hexDigestOf } from '../lib/hash.ts';
import { JsonPieces, type Piece, START } from '../lib/json-pieces.ts';
import { realPathOf } from '../lib/real-path.ts';
import type { FileMark, Ingested } from '../receive/ingested.ts';

const PART_BYTES = 1024 * 1024;
const HEAD_BYTES = 1024;
/** The longest value, as in a fragment. */
const MOST_BYTES = 64 * 1024 * 1024;

/** `idle`: there is no event now, but more may arrive. */
export type Read = { pieces: Generator<Piece> } | 'idle' | 'end';

export interface Source {
  /** The name of the input as the user wrote it. */
  name: string;
  /** The size of a file, for progress. */
  sizeBytes: number | undefined;
  /** The offset in the file from which this call reads. */
  fromLine: number;
  read(): Promise<Read>;
  /** The rest of an input that has ended. */
  rest(): Generator<Piece>;
  /** The mark to store when all events up to this offset are recorded. Undefined for a stream. */
  mark(piece: Piece): { id: string; mark: FileMark } | undefined;
  close(): void;
}

export function streamSource(name: string, stream: Readable, waitMs: number): Source {
  const pieces = new JsonPieces(MOST_BYTES);
  const next = partsOf(stream);
  return {
    name,
    sizeBytes: undefined,
    fromLine: 1,
    async read() {
      const part = await next(waitMs);
      return typeof part === 'string' ? part : { pieces: pieces.write(part) };
    },
    rest: () => pieces.end(),
    mark: () => undefined,
    close: () => stream.destroy(),
  };
}

/** Throws the system's error if the file cannot be read. */
export function fileSource(name: string, path: string, known: Ingested, follows: boolean): Source {
  const isRegular = statSync(path).isFile();
  if (!isRegular) return streamSource(name, createReadStream(path), POLL_MS);
  const id = hexDigest(realPathOf(path)).slice(0, 32);
  const file = new OpenFile(path);
  const isPacked = file.head.subarray(0, 2).equals(GZIP);
  const from = known[id] !== undefined && file.isMarked(known[id]) ? known[id] : undefined;
  let pieces = new JsonPieces(MOST_BYTES, from);
  let skip = isPacked ? (from?.offset ?? 0) : 0;
  let offset = from?.offset ?? 0;
  const unpacked = isPacked ? partsOf(createReadStream(path).pipe(createGunzip())) : undefined;
  return {
    name,
    sizeBytes: isPacked ? undefined : file.sizeBytes(),
    fromLine: from?.line ?? 1,
    async read() {
      if (unpacked !== undefined) {
        const part = await unpacked(POLL_MS);
        if (typeof part === 'string') return part;
        const kept = part.subarray(Math.min(skip, part.length));
        skip -= part.length - kept.length;
        return { pieces: pieces.write(kept) };
      }
      if (follows && file.isReplaced(offset)) {
        file.reopen();
        pieces = new JsonPieces(MOST_BYTES);
        offset = START.offset;
      }
      const part = file.part(offset);
      if (part === undefined) return follows ? 'idle' : 'end';
      offset += part.length;
      return { pieces: pieces.write(part) };
    },
    rest: () => pieces.end(),
    mark: piece => ({ id, mark: { ...piece.end, ...file.headAt(piece.end.offset) } }),
    close: () => file.close(),
  };
}

const GZIP = Buffer.from([0x1f, 0x8b]);
const POLL_MS = 300;

class OpenFile {
  private fd: number;
  head: Buffer;
  private readonly path: string;

  constructor(path: string) {
    this.path = path;
    this.fd = openSync(path, 'r');
    this.head = this.readHead();
  }

  sizeBytes(): number {
    return fstatSync(this.fd).size;
  }

  part(offset: number): Buffer | undefined {
    const buffer = Buffer.allocUnsafe(PART_BYTES);
    const count = readSync(this.fd, buffer, 0, buffer.length, offset);
    return count === 0 ? undefined : buffer.subarray(0, count);
  }

  /** A hash of the first bytes. Bytes after the offset that was read are not included. */
  headAt(offset: number): { head: string; headBytes: number } {
    if (this.head.length < HEAD_BYTES) this.head = this.readHead();
    const headBytes = Math.min(offset, this.head.length);
    return { head: hexDigestOf(this.head.subarray(0, headBytes)), headBytes };
  }

  isMarked({ head, headBytes }: FileMark): boolean {
    return headBytes <= this.head.length && hexDigestOf(this.head.subarray(0, headBytes)) === head;
  }

  /** The file was truncated, or it was read to its end and another file has its path now. */
  isReplaced(offset: number): boolean {
    const { ino, size } = fstatSync(this.fd);
    if (size < offset) return true;
    const now = statSync(this.path, { throwIfNoEntry: false });
    return now !== undefined && now.ino !== ino && size === offset;
  }

  reopen(): void {
    this.close();
    this.fd = openSync(this.path, 'r');
    this.head = this.readHead();
  }

  close(): void {
    closeSync(this.fd);
  }

  private readHead(): Buffer {
    const buffer = Buffer.alloc(HEAD_BYTES);
    return buffer.subarray(0, readSync(this.fd, buffer, 0, buffer.length, 0));
  }
}

/** Returns a function that waits for the next part of a stream, up to a time. An error of the stream is thrown. */
function partsOf(stream: Readable): (waitMs: number) => Promise<Buffer | 'idle' | 'end'> {
  const parts = stream[Symbol.asyncIterator]();
  let next: Promise<IteratorResult<Buffer>> | undefined;
  return async waitMs => {
    next ??= parts.next();
    let timer: NodeJS.Timeout | undefined;
    const idle = new Promise<'idle'>(resolve => {
      timer = setTimeout(resolve, waitMs, 'idle');
    });
    const result = await Promise.race([next, idle]).finally(() => clearTimeout(timer));
    if (result === 'idle') return 'idle';
    next = undefined;
    return result.done ? 'end' : Buffer.from(result.value);
  };
}
