/**
 * Standard input beyond the common case, in which a payload is there at once and fits into the first buffer. It is read
 * synchronously: an asynchronous stream costs a quarter of a Node start.
 */
import { readSync } from './builtins.ts';
import { maxFragmentBytes } from './fragment.ts';
import { surviveFileSizeLimit, writeAll } from './inbox.ts';

const patienceMs = 5_000;
const largeBufferBytes = 1024 * 1024;

/**
 * Reads on after an error: 0 when the payload is over, or when a writer neither writes nor closes for longer than
 * anybody waits. Only where the system lets us wait: a blocking read has no timer.
 */
export function readPatiently(error: unknown, into: Buffer, at: number): number {
  let failure = error;
  for (let waitedMs = 0; ; ) {
    const code = codeOf(failure);
    // Windows says EOF where others return 0.
    if (code === 'EOF') return 0;
    if (code === 'EAGAIN') {
      if (waitedMs >= patienceMs) return 0;
      // The descriptor is somebody's non-blocking pipe: sleep, for a loop would burn what the agent needs.
      const sleepMs = waitedMs < 20 ? 1 : 10;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs);
      waitedMs += sleepMs;
    } else if (code !== 'EINTR') throw failure;
    try {
      return readSync(0, into, at, into.length - at, null);
    } catch (again) {
      failure = again;
    }
  }
}

/**
 * Goes on where the first buffer is full. What comes is written as it comes, so that memory does not grow with the
 * payload. The end of one beyond any limit is not waited for: the file stays without a trailer and too large, for
 * deliver to count.
 */
export function copyLarge(fd: number, first: Buffer, start: number, trailer: string): void {
  surviveFileSizeLimit();
  const buffer = Buffer.allocUnsafeSlow(largeBufferBytes);
  let filled = first.copy(buffer);
  let written = 0;
  for (;;) {
    let size: number;
    try {
      size = readSync(0, buffer, filled, buffer.length - filled, null);
    } catch (error) {
      size = readPatiently(error, buffer, filled);
    }
    filled += size;
    if (size === 0 || (written === 0 && endsInBrace(buffer, filled) && isJson(buffer, start, filled))) break;
    if (filled < buffer.length) continue;
    writeAll(fd, buffer, filled);
    written += filled;
    filled = 0;
    if (written > maxFragmentBytes) return;
  }
  if (filled + trailer.length > buffer.length) {
    writeAll(fd, buffer, filled);
    filled = 0;
  }
  filled += buffer.write(trailer, filled);
  writeAll(fd, buffer, filled);
}

/** White space after it does not count. */
export function endsInBrace(bytes: Buffer, to: number): boolean {
  let last = to - 1;
  for (let byte = bytes[last]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; ) byte = bytes[--last];
  return bytes[last] === 0x7d;
}

/** Bytes are read as Latin-1: every byte is a character then, and JSON's own signs are ASCII. */
export function isJson(bytes: Buffer, from: number, to: number): boolean {
  try {
    JSON.parse(bytes.toString('latin1', from, to));
    return true;
  } catch {
    // Only the middle of something larger, or no JSON at all: then the end of the input decides.
    return false;
  }
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
