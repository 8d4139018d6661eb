/** Destinations on this machine: a file that grows by whole lines, and the terminal. */
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Signal } from '../config/destinations.ts';
import { decodeRequest } from './otlp-decode.ts';
import type { Answer, Transport } from './transport.ts';

/** Provider `file`: each body one line of OTLP/JSON. Agent Hooks log: the body is lines already. */
export const appendToFile: Transport = async (destination, signal, body) => {
  const path = destination.signals[signal]?.path;
  if (path === undefined) return { failure: 'no path' };
  const lines = linesOf(signal, body);
  return lines === undefined ? damaged : append(path, lines);
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

/** All of the lines or nothing: what a full disk cut short is taken back. */
function append(path: string, lines: Buffer): Answer {
  let file: number | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    file = openSync(path, 'a+', 0o600);
    const facts = fstatSync(file);
    if (!facts.isFile()) return { failure: 'not a file' };
    // Another writer's half line must not swallow our first one.
    const text = endsInLine(file, facts.size) ? lines : Buffer.concat([Buffer.from('\n'), lines]);
    try {
      for (let at = 0; at < text.length; ) at += writeSync(file, text, at);
    } catch (error) {
      ftruncateSync(file, facts.size);
      throw error;
    }
    return done;
  } catch (error) {
    return { failure: error instanceof Error && 'code' in error ? String(error.code) : 'unknown error' };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function endsInLine(file: number, sizeBytes: number): boolean {
  if (sizeBytes === 0) return true;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, sizeBytes - 1);
  return last[0] === 0x0a;
}
