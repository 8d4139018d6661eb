/** Reads the payload from standard input. */
import { constants, fstatSync, openSync, readSync } from 'node:fs';

/** A writer that neither writes nor closes is given this time. */
const patienceMs = 5_000;
const firstBytes = 64 * 1024;
const largestBytes = 256 * 1024 * 1024;

/** Returns the whole input. Throws when it does not end, or is too large. */
export function readPayload(): Buffer {
  const input = withoutBlocking();
  let buffer = Buffer.allocUnsafe(firstBytes);
  let filled = 0;
  for (let waitedMs = 0; ; ) {
    if (filled === buffer.length) {
      if (filled >= largestBytes) throw new Error('the payload is larger than 256 MB');
      buffer = Buffer.concat([buffer], buffer.length * 2);
    }
    const size = readSome(input, buffer, filled);
    if (size === 0) return buffer.subarray(0, filled);
    if (size !== undefined) {
      filled += size;
      waitedMs = 0;
      continue;
    }
    // Some agents leave the input open: a complete object is the whole payload.
    if (waitedMs >= 20 && isComplete(buffer, filled)) return buffer.subarray(0, filled);
    if (waitedMs >= patienceMs) throw new Error('the payload did not end');
    const sleepMs = waitedMs < 2 ? 0.1 : waitedMs < 50 ? 1 : 10;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs);
    waitedMs += sleepMs;
  }
}

/** Returns the number of bytes read: 0 at the end, undefined where nothing is there yet. */
function readSome(input: number, buffer: Buffer, at: number): number | undefined {
  try {
    return readSync(input, buffer, at, buffer.length - at, null);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // On Windows the end of a pipe is an error.
    if (code === 'EOF') return 0;
    if (code === 'EAGAIN' || code === 'EINTR') return undefined;
    throw error;
  }
}

/** A pipe can be opened a second time without blocking, for this process alone. Other inputs are read as they are. */
function withoutBlocking(): number {
  try {
    return fstatSync(0).isFIFO() ? openSync('/proc/self/fd/0', constants.O_RDONLY | constants.O_NONBLOCK) : 0;
  } catch {
    return 0;
  }
}

function isComplete(buffer: Buffer, filled: number): boolean {
  try {
    JSON.parse(buffer.toString('utf8', 0, filled));
    return true;
  } catch {
    return false;
  }
}
