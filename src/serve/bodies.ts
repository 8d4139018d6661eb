/** The bodies of requests that are being read. All together hold at most MOST_HELD_BYTES. */
import type { IncomingMessage } from 'node:http';

const MOST_HELD_BYTES = 64 * 1024 * 1024;

export type ReadBody = { body: Buffer } | { refused: 'body-too-large' | 'too-many-bodies' };

export class Bodies {
  heldBytes = 0;

  hasRoomFor(bytes: number): boolean {
    return this.heldBytes + bytes <= MOST_HELD_BYTES;
  }

  /**
   * Reads a body to its end, unless it grows too large. Returns a function that drops what was read so far, for a sender
   * that closes the connection before the end.
   */
  read(request: IncomingMessage, mostBytes: number, done: (read: ReadBody) => void): () => void {
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    let isOver = false;
    const release = (): void => {
      this.heldBytes -= isOver ? 0 : sizeBytes;
      isOver = true;
    };
    request.on('data', (part: Buffer) => {
      if (isOver) return;
      sizeBytes += part.length;
      this.heldBytes += part.length;
      parts.push(part);
      const isTooLarge = sizeBytes > mostBytes;
      if (!isTooLarge && this.hasRoomFor(0)) return;
      release();
      parts.length = 0;
      done({ refused: isTooLarge ? 'body-too-large' : 'too-many-bodies' });
    });
    request.once('end', () => {
      if (isOver) return;
      release();
      done({ body: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts) });
    });
    return release;
  }
}
