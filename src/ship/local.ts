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
import { makePath } from '../lib/make-path.ts';
import { decodeRequest } from '../telemetry/otlp-decode.ts';
import type { Answer, Transport } from './transport.ts';

/** Provider `file`: each body one line of OTLP/JSON. Agent Hooks log: the body is lines already. */
export const appendToFile =
  (isSynced = false): Transport =>
  async (destination, signal, body) => {
    const path = destination.signals[signal]?.path;
    if (path === undefined) return { failure: 'no path' };
    const lines = linesOf(signal, body);
    return lines === undefined ? damaged : append(path, lines, isSynced);
  };

/** Provider `console`; `print` writes to where the person looks. */
export const printTo =
  (print: (lines: string) => void): Transport =>
  async (_, signal, body) => {
    const lines = linesOf(signal, body);
    if (lines === undefined) return damaged;
    print(lines.toString('utf8'));
    return done;
  };

const done: Answer = { status: 200, body: new Uint8Array() };
/** Like a receiver that cannot parse it. */
const damaged: Answer = { status: 400, body: new Uint8Array() };

function linesOf(signal: Signal, body: Uint8Array): Buffer | undefined {
  if (signal === 'events') return Buffer.from(body);
  const request = decodeRequest(signal, body);
  return request === undefined ? undefined : Buffer.from(`${JSON.stringify(request)}\n`, 'utf8');
}

// A link, a pipe or a device in its place is not what was meant: it is neither followed nor waited for.
const APPEND =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** All of the lines or nothing: what a full disk cut short is taken back. */
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

/** The end of a file, behind the newline before it; all of it begins behind one too. */
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
 * Returns the lines that are not in the file yet. A process that was killed between the write and its note left all or
 * some of them there. So if the end of the file, from the start of a line on, equals the beginning of the lines, only
 * the rest is written.
 */
function missingOf(lines: Buffer, last: Buffer): Buffer {
  for (let newline = last.indexOf(0x0a); newline >= 0; newline = last.indexOf(0x0a, newline + 1)) {
    const there = last.subarray(newline + 1);
    if (lines.subarray(0, there.length).equals(there)) return lines.subarray(there.length);
  }
  // Another writer's half line must not swallow our first one.
  return Buffer.concat([NEWLINE, lines]);
}

/**
 * Removes lines from a file of events. True when the file has such lines. `look`: changes nothing. The rest is written
 * beside the file and renamed over it, so a kill leaves the file as it was; the next call writes the same name again.
 * Lines that another program appends meanwhile are copied as well, up to the rename.
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
  renameSync(beside, path);
  return true;
}

const CHUNK_BYTES = 1024 * 1024;

/** The lines of a file with their newlines, as bytes. What was appended meanwhile is included. */
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
