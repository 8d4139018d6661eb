/**
 * The files of sessions and documents: `{ v, n, ... }`, where v is the version of the schema and n the round that wrote
 * it.
 */
import type { Document } from './document.ts';
import { type Disk, names } from './files.ts';
import { checkName } from './folder.ts';
import { lstat } from './journal.ts';

export interface Session {
  state: unknown;
  journalBytes: number;
}

const SESSION_VERSION = 1;

export const sessionPath = (key: string): string => `sessions/${checkName(key)}.json`;
export const documentPath = (name: string): string => `documents/${checkName(name)}.json`;

export const sessionBytes = (n: number, { journalBytes, state }: Session): Buffer =>
  jsonBytes({ v: SESSION_VERSION, n, journalBytes, state });

export const documentBytes = (n: number, value: unknown, version = 1): Buffer => jsonBytes({ v: version, n, value });

const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A file that a power cut damaged counts as missing: the session begins again, and its journal is still there. */
export function parseSession(text: string): Session | undefined {
  const file = parse(text, SESSION_VERSION);
  return typeof file?.journalBytes === 'number' ? { state: file.state, journalBytes: file.journalBytes } : undefined;
}

/** The value cannot be changed, since all callers share it. */
export function parseDocument<T>(text: string, { version, parse: parseValue }: Document<T>): T | undefined {
  const file = parse(text, version);
  return file === undefined ? undefined : frozen(parseValue(file.value));
}

function parse(text: string, version: number): { [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'v' in value && value.v === version
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
  for (const { path, bytes } of files) if (path.startsWith('sessions/')) sizes.set(keyOf(path), bytes.length);
  for (const path of gone) if (path.startsWith('sessions/')) sizes.delete(keyOf(path));
}
