/** Destinations on this machine: a file that grows by whole lines, and the terminal. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Signal } from '../config/destinations.ts';
import { whileHeld } from '../lib/held-files.ts';
import { makePath } from '../lib/make-path.ts';
import { decodeRequest } from '../telemetry/otlp-decode.ts';
import type { Answer } from './answer.ts';
import type { Transport } from './transport.ts';

/** Provider `file` writes each body as one line of OTLP/JSON. For the Agent Hooks log, the body already has lines. */
export const appendToFile =
  (isSynced = false): Transport =>
  async (destination, signal, body) => {
    const path = destination.signals[signal]?.path;
    if (path === undefined) return { failure: 'no path' };
    const lines = linesOf(signal, body);
    return lines === undefined ? damaged : append(path, lines, isSynced);
  };

/** Provider `console`. `print` writes to the terminal. */
export const printTo =
  (print: (lines: string) => void): Transport =>
  async (_, signal, body) => {
    const lines = linesOf(signal, body);
    if (lines === undefined) return damaged;
    print(lines.toString('utf8'));
    return done;
  };

const done: Answer = { status: 200, body: new Uint8Array() };
/** The answer for a body that cannot be parsed; an HTTP receiver answers the same. */
const damaged: Answer = { status: 400, body: new Uint8Array() };

function linesOf(signal: Signal, body: Uint8Array): Buffer | undefined {
  if (signal === 'events') return Buffer.from(body);
  const request = decodeRequest(signal, body);
  return request === undefined ? undefined : Buffer.from(`${JSON.stringify(request)}\n`, 'utf8');
}

// If the path is a link, a pipe or a device, it is refused: links are not followed, and pipes are not waited for.
const APPEND =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Appends all lines or none: if a full disk cuts the write short, the written part is removed. */
function append(path: string, lines: Buffer, isSynced: boolean): Answer {
  let file: number | undefined;
  try {
    makePath(dirname(path));
    file = openSync(path, APPEND, 0o600);
    const facts = fstatSync(file);
    if (!facts.isFile()) return { failure: 'not a file' };
    const text = missingOf(lines, lastOf(file, facts.size, lines.length + 1));
    try {
      for (let at = 0; at < text.length; ) at += writeSync(file, text, at);
    } catch (error) {
      ftruncateSync(file, facts.size);
      throw error;
    }
    if (isSynced) fsyncSync(file);
    return done;
  } catch (error) {
    return { failure: error instanceof Error && 'code' in error ? String(error.code) : 'unknown error' };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Returns the last bytes of a file. If that is the whole file, a newline precedes it, as one precedes every line. */
function lastOf(file: number, sizeBytes: number, mostBytes: number): Buffer {
  const bytes = Buffer.alloc(Math.min(sizeBytes, mostBytes));
  let read = 0;
  while (read < bytes.length) {
    const more = readSync(file, bytes, read, bytes.length - read, sizeBytes - bytes.length + read);
    if (more === 0) break;
    read += more;
  }
  return bytes.length < sizeBytes ? bytes.subarray(0, read) : Buffer.concat([NEWLINE, bytes.subarray(0, read)]);
}

const NEWLINE = Buffer.from('\n');

/**
 * Returns the lines that are not in the file yet. A process that was killed between the write and the commit left all
 * or some of the lines in the file. So if the end of the file, from the start of a line on, equals the beginning of the
 * lines, only the rest is written.
 */
function missingOf(lines: Buffer, last: Buffer): Buffer {
  for (let newline = last.indexOf(0x0a); newline >= 0; newline = last.indexOf(0x0a, newline + 1)) {
    const there = last.subarray(newline + 1);
    if (lines.subarray(0, there.length).equals(there)) return lines.subarray(there.length);
  }
  // The file ends with a half line of another writer. A newline keeps it apart from our first line.
  return Buffer.concat([NEWLINE, lines]);
}

/**
 * Removes lines from a file of events. Returns true if the file has such lines. `look`: the file is not changed. The
 * rest is written to a file beside it, which is then renamed, so a kill leaves the file unchanged. The next call
 * overwrites that second file. Lines that another program appends before the rename are copied as well.
 */
export function withoutLines(path: string, isLeftOut: (line: string) => boolean, look?: 'look'): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts === undefined || !facts.isFile()) return false;
  if (![...linesIn(path)].some(line => isLeftOut(line.toString()))) return false;
  if (look !== undefined) return true;
  const beside = `${path}.otel-hooks-erase`;
  rmSync(beside, { force: true });
  const file = openSync(beside, 'wx', 0o600);
  try {
    for (const line of linesIn(path)) if (!isLeftOut(line.toString())) writeSync(file, line);
    fchmodSync(file, facts.mode & 0o777);
  } finally {
    closeSync(file);
  }
  whileHeld(() => renameSync(beside, path));
  return true;
}

const CHUNK_BYTES = 1024 * 1024;

/** Yields the lines of a file with their newlines, as bytes, including lines that are appended during the read. */
function* linesIn(path: string): Generator<Buffer> {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    let rest = Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const count = readSync(file, chunk);
      if (count === 0) break;
      let bytes = Buffer.concat([rest, chunk.subarray(0, count)]);
      for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a)) {
        yield bytes.subarray(0, end + 1);
        bytes = bytes.subarray(end + 1);
      }
      rest = bytes;
    }
    if (rest.length > 0) yield rest;
  } finally {
    closeSync(file);
  }
}
