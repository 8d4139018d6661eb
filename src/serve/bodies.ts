/**
 * The bodies of requests that are not answered yet. Together they hold at most MOST_HELD_BYTES.
 *
 * A gzip body is unpacked while it arrives, and the limits count its unpacked bytes. So a small body that unpacks to a
 * huge one is refused as soon as it exceeds the limit, and is never in memory.
 */
import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';

/** Parsing a body takes several times its size. */
const MOST_HELD_BYTES = 32 * 1024 * 1024;

export type ReadBody = { body: Buffer } | { refused: 'body-too-large' | 'too-many-bodies' | 'broken-gzip' };

/** Undefined for an encoding that is not supported. */
export function packingOf(encoding = 'identity'): 'none' | 'gzip' | undefined {
  const name = encoding.trim().toLowerCase();
  if (name === 'identity') return 'none';
  return name === 'gzip' || name === 'x-gzip' ? 'gzip' : undefined;
}

export class Bodies {
  heldBytes = 0;

  hasRoomFor(bytes: number): boolean {
    return this.heldBytes + bytes <= MOST_HELD_BYTES;
  }

  /**
   * Reads a body to its end, unless it becomes too large. The body counts until the returned function is called: when
   * the request is answered, or when the sender closes the connection before the end.
   */
  read(request: IncomingMessage, mostBytes: number, done: (read: ReadBody) => void): () => void {
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    let isOver = false;
    let isReleased = false;
    const gunzip = packingOf(request.headers['content-encoding']) === 'gzip' ? createGunzip() : undefined;
    const release = (): void => {
      isOver = true;
      this.heldBytes -= isReleased ? 0 : sizeBytes;
      isReleased = true;
      parts.length = 0;
      if (gunzip === undefined) return;
      request.unpipe(gunzip);
      gunzip.destroy();
    };
    const refuse = (refused: 'body-too-large' | 'too-many-bodies' | 'broken-gzip'): void => {
      if (isOver) return;
      release();
      done({ refused });
    };
    const unpacked = gunzip === undefined ? request : request.pipe(gunzip);
    if (gunzip !== undefined) {
      let packedBytes = 0;
      // Empty blocks unpack to zero bytes, so the packed bytes have the same limit.
      request.on('data', (part: Buffer) => {
        packedBytes += part.length;
        if (packedBytes > mostBytes) refuse('body-too-large');
      });
      gunzip.on('error', () => refuse('broken-gzip'));
    }
    unpacked.on('data', (part: Buffer) => {
      if (isOver) return;
      sizeBytes += part.length;
      this.heldBytes += part.length;
      parts.push(part);
      if (sizeBytes > mostBytes) refuse('body-too-large');
      else if (!this.hasRoomFor(0)) refuse('too-many-bodies');
    });
    unpacked.once('end', () => {
      if (isOver) return;
      isOver = true;
      const body = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
      // Node keeps the request, and so these listeners, until the next request of the connection.
      parts.length = 0;
      done({ body });
    });
    return release;
  }
}
