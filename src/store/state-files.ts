/**
 * The files of sessions and documents: `{ v, n, ... }`, where v is the version of the schema and n the round that wrote
 * it. The file of a session that is over has a first line `{ v: 2, n, journalBytes, outline }` and then its state as
 * gzip: it takes a third of the space, and its outline is read without the rest.
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Document } from './document.ts';
import { type Disk, names, READ, readAll, readBytes, withFile } from './files.ts';
import { checkName } from './folder.ts';
import { lstat } from './journal.ts';

export interface Session {
  state: unknown;
  journalBytes: number;
  /** The part of a state that is over which is often read. */
  outline?: object | undefined;
}

/** A state whose bytes are written already. The owner of the store does not keep it in its memory. */
export class WrittenState {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

const SESSION_VERSION = 1;
const PACKED_VERSION = 2;

export const sessionPath = (key: string): string => `sessions/${checkName(key)}.json`;
export const documentPath = (name: string): string => `documents/${checkName(name)}.json`;

export function sessionBytes(n: number, { journalBytes, state, outline }: Session): Buffer {
  const { bytes } = state instanceof WrittenState ? state : writtenState(state, outline);
  if (outline !== undefined)
    return Buffer.concat([Buffer.from(`${JSON.stringify({ v: PACKED_VERSION, n, journalBytes, outline })}\n`), bytes]);
  const head = `{"v":${SESSION_VERSION},"n":${n},"journalBytes":${journalBytes},"state":`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from('}')]);
}

/** The bytes of a state: JSON, or with an outline gzip. Another process may write them. */
export function writtenState(state: unknown, outline: object | undefined): WrittenState {
  const json = JSON.stringify(state);
  return new WrittenState(outline === undefined ? Buffer.from(json) : gzipSync(json));
}

/** Returns one JSON text for both forms of a session's file; an empty text if the packed part is damaged. */
export function sessionText(bytes: Buffer): string {
  const end = headEnd(bytes);
  if (end < 0) return bytes.toString();
  try {
    const state = gunzipSync(bytes.subarray(end + 1), { maxOutputLength: MOST_STATE_BYTES });
    return `${bytes.toString('utf8', 0, end - 1)},"state":${state.toString()}}`;
  } catch {
    return '';
  }
}

const MOST_STATE_BYTES = 64 * 1024 * 1024;

/** The end of the first line of a packed state; -1 for all other files. JSON.stringify makes no line breaks. */
const headEnd = (bytes: Buffer): number => {
  const end = bytes.indexOf(0x0a);
  return end > 0 && bytes[end + 1] === 0x1f && bytes[end + 2] === 0x8b ? end : -1;
};

const OUTLINE_BYTES = 8 * 1024;

/** Undefined if the state is not packed. */
export function readOutline(disk: Disk, key: string): unknown {
  const bytes = withFile(disk, sessionPath(key), READ, file => readAll(disk, file, 0, OUTLINE_BYTES));
  const end = bytes === undefined ? -1 : headEnd(bytes);
  return bytes === undefined || end < 0 ? undefined : parse(bytes.toString('utf8', 0, end), [PACKED_VERSION])?.outline;
}

/** The text of a session or of a document. */
export function readText(disk: Disk, path: string): string | undefined {
  const bytes = readBytes(disk, path);
  return bytes && (isSession(path) ? sessionText(bytes) : bytes.toString());
}

/** The round that wrote the file of a session or a document; 0 if the file is damaged. */
export function roundOf(disk: Disk, path: string): number {
  const bytes = readBytes(disk, path);
  if (bytes === undefined) return 0;
  const end = headEnd(bytes);
  try {
    const { n } = JSON.parse(bytes.toString('utf8', 0, end < 0 ? bytes.length : end));
    return typeof n === 'number' ? n : 0;
  } catch {
    return 0;
  }
}

export const isPackedState = (path: string, bytes: Buffer): boolean => isSession(path) && headEnd(bytes) >= 0;

export const isSession = (path: string): boolean => path.startsWith('sessions/');

export const documentBytes = (n: number, value: unknown, version = 1): Buffer => jsonBytes({ v: version, n, value });

const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A file that a power cut damaged counts as missing: the session begins again, and its journal is still there. */
export function parseSession(text: string): Session | undefined {
  const file = parse(text, [SESSION_VERSION, PACKED_VERSION]);
  return typeof file?.journalBytes === 'number' ? { state: file.state, journalBytes: file.journalBytes } : undefined;
}

/** The value cannot be changed, since all callers share it. */
export function parseDocument<T>(text: string, { version, parse: parseValue }: Document<T>): T | undefined {
  const file = parse(text, [version]);
  return file === undefined ? undefined : frozen(parseValue(file.value));
}

function parse(text: string, versions: readonly unknown[]): { [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'v' in value && versions.includes(value.v)
      ? { ...value }
      : undefined;
  } catch {
    // A damaged file counts as missing.
    return undefined;
  }
}

/** Each change replaces the file, so that at least its number or its time changes. */
export function documentStamp(disk: Disk, name: string): string | undefined {
  const stats = lstat(disk, documentPath(name));
  return stats && [stats.ino, stats.mtimeMs, stats.size].join(' ');
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

export function keysIn(disk: Disk, folder: string, ending: string): string[] {
  return names(disk, folder)
    .filter(name => name.endsWith(ending))
    .map(name => name.slice(0, -ending.length));
}

/** Bytes of each session's file. */
export const sessionSizes = (disk: Disk): Map<string, number> =>
  new Map(
    keysIn(disk, 'sessions', '.json').flatMap(key => {
      const stats = lstat(disk, sessionPath(key));
      return stats === undefined ? [] : [[key, stats.size] as const];
    }),
  );

interface SessionsChange {
  files: readonly { path: string; bytes: Uint8Array }[];
  gone: readonly string[];
}

/** Brings the sizes up to date with a round. */
export function updateSizes(sizes: Map<string, number>, { files, gone }: SessionsChange): void {
  const keyOf = (path: string): string => path.slice('sessions/'.length, -'.json'.length);
  for (const { path, bytes } of files) if (isSession(path)) sizes.set(keyOf(path), bytes.length);
  for (const path of gone) if (isSession(path)) sizes.delete(keyOf(path));
}
