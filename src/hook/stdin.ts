/**
 * Reads standard input beyond the common case, in which a payload is complete at once and fits into the first buffer.
 * The read is synchronous, because an asynchronous stream costs a quarter of a Node start.
 */
import { fstatSync, openSync, readSync } from './builtins.ts';
import { maxFragmentBytes } from './fragment.ts';
import { noteProblem, surviveFileSizeLimit, writeAll } from './state-files.ts';

const patienceMs = 5_000;
/** A payload up to this size can be recognized as complete. Each 4 KB that are used for the first time cost a page fault. */
const largeBufferBytes = 512 * 1024;
/** What a pipe holds: while this process writes a block, the agent fills the pipe again. */
const blockBytes = 64 * 1024;
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
 * Continues after the first buffer is full. Blocks are written as they arrive, so memory does not grow with the payload,
 * and the agent fills the pipe meanwhile. If the payload exceeds the limit, its rest is not read: the file has no trailer
 * and is too large, and deliver counts it. `start`: the start of the payload if one JSON object is enough; otherwise -1.
 */
export function copyLarge(fd: number, first: Buffer, start: number, trailer: string, stateFolder: string): void {
  surviveFileSizeLimit();
  const input = unblockedStdin();
  const buffer = Buffer.allocUnsafeSlow(largeBufferBytes);
  let filled = first.copy(buffer);
  // The bytes of the buffer before this place are in the file.
  let written = 0;
  let totalBytes = 0;
  let isFromStart = start >= 0;
  const write = (): void => {
    writeAll(fd, buffer.subarray(written, filled), filled - written);
    totalBytes += filled - written;
    written = filled;
  };
  for (;;) {
    let size: number;
    try {
      size = readSync(input, buffer, filled, buffer.length - filled, null);
    } catch (error) {
      if (filled - written >= leastWriteBytes) write();
      size = readPatiently(error, input, buffer, filled, stateFolder);
    }
    filled += size;
    if (size === 0 || (isFromStart && endsInBrace(buffer, filled) && isJson(buffer, start, filled))) break;
    if (filled - written < blockBytes && filled < buffer.length) continue;
    write();
    if (totalBytes > maxFragmentBytes) return;
    // The next read has room for a whole block, except while the payload may still be recognized as complete.
    if (buffer.length - filled < (isFromStart ? 1 : blockBytes)) {
      filled = 0;
      written = 0;
      isFromStart = false;
    }
  }
  if (filled + trailer.length > buffer.length) {
    write();
    filled = 0;
    written = 0;
  }
  filled += buffer.write(trailer, filled);
  write();
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
