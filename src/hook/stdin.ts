/**
 * Reads standard input beyond the common case, in which a payload is complete at once and fits into the first buffer.
 * The read is synchronous, because an asynchronous stream costs a quarter of a Node start.
 */
import { fstatSync, openSync, readSync } from './builtins.ts';
import { maxFragmentBytes } from './fragment.ts';
import { noteProblem, surviveFileSizeLimit, writeAll } from './state-files.ts';

const patienceMs = 5_000;
/** A large payload up to this size can be recognized as complete although the pipe stays open. */
const mostCheckedBytes = 512 * 1024;
/** A write of fewer bytes would cost more than it gains. */
const leastWriteBytes = 16 * 1024;
/** One costs 5 us. A sleep takes 70 us or more, and the agent sleeps too when it finds its pipe full. */
const triesBeforeSleep = 8;

/**
 * Returns a descriptor for further reads. A blocking read has no timer, and a writer may stop in the middle without
 * closing. A pipe can be opened once more as non-blocking for this process alone, so that the agent's own end stays as
 * it is; a socket cannot.
 */
export function unblockedStdin(): number {
  try {
    const { O_RDONLY, O_NONBLOCK } = (require('node:fs') as typeof import('node:fs')).constants;
    return fstatSync(0).isFIFO() ? openSync('/proc/self/fd/0', O_RDONLY | O_NONBLOCK) : 0;
  } catch {
    // Not Linux: the read blocks, and the agent's own time limit ends this process.
    return 0;
  }
}

/**
 * Continues after an error. Returns 0 at the end of the input. Also returns 0 when a writer neither writes nor closes
 * within the limit: what it writes later is not taken, so a sign is left for `status`.
 */
export function readPatiently(error: unknown, input: number, into: Buffer, at: number, stateFolder: string): number {
  let failure = error;
  // The place of an error is never shown, and gathering it takes half of the time of a failed read.
  Error.stackTraceLimit = 0;
  for (let waitedMs = 0, tries = 0; ; tries++) {
    const code = codeOf(failure);
    // On Windows this is an error EOF, elsewhere a return value of 0.
    if (code === 'EOF') return 0;
    if (code === 'EAGAIN') {
      if (waitedMs >= patienceMs) {
        noteProblem(stateFolder, 'input-silent');
        return 0;
      }
      // A writer at work fills the pipe again within a moment. Later attempts sleep, because a loop would take CPU time
      // from the agent.
      if (tries >= triesBeforeSleep) {
        const sleepMs = waitedMs < 1 ? 0.05 : waitedMs < 20 ? 1 : 10;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs);
        waitedMs += sleepMs;
      }
    } else if (code !== 'EINTR') throw failure;
    try {
      return readSync(input, into, at, into.length - at, null);
    } catch (again) {
      failure = again;
    }
  }
}

/**
 * Continues after the buffer is full: `limit` bytes, with room for the trailer behind them. Bytes are written as they
 * arrive, so memory does not grow with the payload, no new memory is touched, and the agent fills the pipe meanwhile. If
 * the payload exceeds the limit, its rest is not read: the file has no trailer and is too large, and deliver counts it.
 * `start`: the start of the payload if one JSON object is enough; otherwise -1.
 */
export function copyLarge(
  fd: number,
  buffer: Buffer,
  limit: number,
  start: number,
  trailer: string,
  stateFolder: string,
): void {
  surviveFileSizeLimit();
  const input = unblockedStdin();
  let filled = limit;
  let written = 0;
  const write = (): void => {
    writeAll(fd, buffer, filled);
    written += filled;
    filled = 0;
  };
  for (;;) {
    // A pipe gives at most 64 KB. A read of less leaves room for the next one.
    if (filled > limit / 2) write();
    if (written > maxFragmentBytes) return;
    let size: number;
    try {
      size = readSync(input, buffer, filled, limit - filled, null);
    } catch (error) {
      if (filled >= leastWriteBytes) write();
      size = readPatiently(error, input, buffer.subarray(0, limit), filled, stateFolder);
    }
    filled += size;
    if (size === 0) break;
    if (start < 0 || written + filled > mostCheckedBytes || !endsInBrace(buffer, filled)) continue;
    write();
    if (isJsonFrom(fd, start, written)) break;
  }
  filled += buffer.write(trailer, filled);
  writeAll(fd, buffer, filled);
}

/** The beginning of the payload is no longer in the buffer, but it is in the file. */
function isJsonFrom(fd: number, start: number, end: number): boolean {
  const bytes = Buffer.allocUnsafeSlow(end);
  return readSync(fd, bytes, 0, end, 0) === end && isJson(bytes, start, end);
}

/** White space after the payload is ignored. */
export function endsInBrace(bytes: Buffer, to: number): boolean {
  let last = to - 1;
  for (let byte = bytes[last]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; ) byte = bytes[--last];
  return bytes[last] === 0x7d;
}

/** Bytes are read as Latin-1: every byte is then one character, and JSON's own signs are ASCII. */
export function isJson(bytes: Buffer, from: number, to: number): boolean {
  try {
    JSON.parse(bytes.toString('latin1', from, to));
    return true;
  } catch {
    // A part of a larger value, or no JSON: the end of the input decides.
    return false;
  }
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
