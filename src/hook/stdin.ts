/**
 * Standard input, read synchronously: an asynchronous stream costs a quarter of a Node start.
 *
 * The payload passes through one buffer. What fits leaves in a single write; what does not is written as it comes, so
 * that memory does not grow with the payload. The buffer starts small, because most events are, and a large one costs
 * a system call and a page fault for every 4 KB.
 */
import { fstatSync, readSync } from './builtins.ts';

export const smallBufferBytes = 64 * 1024;
export const largeBufferBytes = 1024 * 1024;

export interface Input {
  /** Fills `into` from `at`; 0 means that the payload is over. */
  read(into: Buffer, at: number): number;
}

/** `patienceMs`: how long a writer that neither writes nor closes is waited for, where the system lets us wait. */
export function openInput(fd: number, patienceMs: number): Input {
  let pause: Int32Array | undefined;
  return {
    read(into, at) {
      let waitedMs = 0;
      for (;;) {
        try {
          return readSync(fd, into, at, into.length - at, null);
        } catch (error) {
          const code = codeOf(error);
          // Windows says EOF where others return 0.
          if (code === 'EOF') return 0;
          if (code === 'EINTR') continue;
          if (code !== 'EAGAIN') throw error;
          if (waitedMs >= patienceMs) return 0;
          // The descriptor is somebody's non-blocking pipe: sleep, for a loop would burn what the agent needs.
          pause ??= new Int32Array(new SharedArrayBuffer(4));
          const sleepMs = waitedMs < 20 ? 1 : 10;
          Atomics.wait(pause, 0, 0, sleepMs);
          waitedMs += sleepMs;
        }
      }
    },
  };
}

/** A person at a keyboard is no agent, and would wait for ever. */
export function isTerminal(fd: number): boolean {
  // /dev/null is a character device as well; only then is the module worth its time. `require`: the bundle is CommonJS.
  return fstatSync(fd).isCharacterDevice() && (require('node:tty') as typeof import('node:tty')).isatty(fd);
}

/**
 * Is this a whole JSON object? An agent may write one and keep the pipe open, and a blocking read has no timer. Bytes
 * are read as Latin-1: every byte is a character then, and JSON's own signs are ASCII.
 */
export function isWholeObject(bytes: Buffer, from: number, to: number): boolean {
  let last = to - 1;
  while (last >= from && isSpace(bytes[last])) last--;
  if (bytes[last] !== 0x7d) return false;
  try {
    JSON.parse(bytes.toString('latin1', from, to));
    return true;
  } catch {
    // Only the middle of something larger, or no JSON at all: then the end of the input decides.
    return false;
  }
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
