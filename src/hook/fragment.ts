/**
 * The fragment: one hook as stored in the inbox, one file per event. It is the only data that the front ends and
 * deliver share.
 *
 * Constraints. A writer may be killed between any two bytes. A shell with nothing but builtins must be able to write
 * the format without a second process. No payload, however hostile, may look like the end of a header or like a
 * trailer. A reader must find the bounds of the payload without parsing it.
 *
 * Format 1.
 *
 *     file name   <boot>-<uptime>-<pid>-<unique>      of [0-9A-Za-z.-] only
 *     content     otel-hooks/1 <key>=<bytes>:<value> <key>=<bytes>:<value> ...\n
 *                 <payload>\n
 *                 <unique>\n
 *
 * boot is the first group of the kernel's boot id and uptime its clock in seconds, both `0` without /proc. This clock
 * neither jumps nor runs backwards, so a jump of the wall clock does not change the order of fragments. unique is a
 * random UUID, or the parent's pid and a counter if the kernel provides no UUID. The trailer repeats it: a payload
 * cannot know it, so a torn file never looks complete. Each value has its length in bytes before it and may hold any
 * byte, newlines included.
 *
 * Keys: tool, event, provider, cwd, at (arrival in Unix ms; absent if the front end has no clock; then the file's time
 * is used), ppid, and variables of environment.ts under their own names. Unknown keys are kept. A fragment of another
 * version is left for the program that knows it.
 */

export interface Fragment {
  name: string;
  header: Record<string, string>;
  payload: Buffer;
  /** Arrival time: from the writer's clock, otherwise the file's time. */
  atMs: number;
  /** The kernel's clock at arrival, comparable only within one boot. */
  upMs?: number;
  boot?: string;
  sizeBytes: number;
}

/** torn: the end is missing. header: damaged. newer: written by a later version of otel-hooks. */
export type FragmentFault = 'torn' | 'header' | 'newer';

export type Decoded = { ok: true; fragment: Fragment } | { ok: false; why: FragmentFault };

/** The largest payload of one event that a writer stores and a reader reads. */
export const maxFragmentBytes = 64 * 1024 * 1024;

const magic = 'otel-hooks/';
const version = 1;

export function decodeFragment(name: string, bytes: Buffer, mtimeMs: number): Decoded {
  const written = versionOf(bytes);
  if (written !== undefined && written > version) return { ok: false, why: 'newer' };

  const place = readFragmentName(name);
  const trailer = Buffer.from(encodeTrailer(place?.unique ?? name));
  const end = bytes.length - trailer.length;
  if (end < 0 || !bytes.subarray(end).equals(trailer)) return { ok: false, why: 'torn' };

  const head = written === version ? readHeader(bytes, end) : undefined;
  if (head === undefined) return { ok: false, why: 'header' };

  const at = Number(head.header.at);
  const fragment: Fragment = {
    name,
    header: head.header,
    payload: bytes.subarray(head.end, end),
    atMs: Number.isSafeInteger(at) && at > 0 ? at : mtimeMs,
    sizeBytes: bytes.length,
  };
  if (place?.upMs !== undefined) fragment.upMs = place.upMs;
  if (place?.boot !== undefined) fragment.boot = place.boot;
  return { ok: true, fragment };
}

/** Returns a whole fragment, for writers that have it in memory. */
export function encodeFragment(unique: string, header: Readonly<Record<string, string>>, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(encodeHeader(header)), payload, Buffer.from(encodeTrailer(unique))]);
}

/**
 * Returns the header line, which is written as UTF-8. An empty value is left out. `isPlain`: all values are ASCII, so
 * the number of characters is the number of bytes.
 */
export function encodeHeader(header: Readonly<Record<string, string>>, isPlain = false): string {
  let line = `${magic}${version}`;
  for (const key of Object.keys(header)) {
    const value = header[key];
    if (value) line += ` ${key}=${isPlain ? value.length : Buffer.byteLength(value)}:${value}`;
  }
  return `${line}\n`;
}

export const encodeTrailer = (unique: string): string => `\n${unique}\n`;

export interface FragmentPlace {
  boot?: string;
  upMs?: number;
  pid: number;
  unique: string;
}

/**
 * Returns the boot, the uptime and the pid in a file name; undefined for a file that no front end of this version
 * wrote.
 */
export function readFragmentName(name: string): FragmentPlace | undefined {
  const parts = /^([0-9A-Za-z]{1,16})-([0-9]{1,12}(?:\.[0-9]{1,9})?)-([0-9]{1,10})-([0-9A-Za-z.-]{1,64})$/.exec(name);
  if (parts === null) return undefined;
  const [, boot = '0', uptime = '0', pid = '0', unique = ''] = parts;
  const place: FragmentPlace = { pid: Number(pid), unique };
  if (boot !== '0') place.boot = boot;
  if (uptime !== '0') place.upMs = Math.round(Number(uptime) * 1000);
  return place;
}

export const fragmentName = (boot: string, uptime: string, pid: number, unique: string): string =>
  `${boot || '0'}-${uptime || '0'}-${pid}-${unique}`;

function versionOf(bytes: Buffer): number | undefined {
  const start = /^otel-hooks\/([1-9][0-9]{0,8})[ \n]/.exec(bytes.toString('latin1', 0, magic.length + 10));
  return start === null ? undefined : Number(start[1]);
}

const space = 0x20;
const newline = 0x0a;

function readHeader(bytes: Buffer, limit: number): { header: Record<string, string>; end: number } | undefined {
  const header: Record<string, string> = Object.create(null);
  let at = magic.length + String(version).length;
  while (at < limit && bytes[at] === space) {
    // `key=length:` is short. A damaged length must not make this function search the payload for a colon.
    const field = /^([A-Za-z_][A-Za-z0-9_]{0,99})=([0-9]{1,8}):/.exec(bytes.toString('latin1', at + 1, at + 120));
    if (field === null) return undefined;
    const [start, key = '', length = ''] = field;
    const from = at + 1 + start.length;
    at = from + Number(length);
    if (at >= limit) return undefined;
    header[key] = bytes.toString('utf8', from, at);
  }
  // The trailer begins at `limit` with a separate newline, so the header must end before it.
  return at < limit && bytes[at] === newline ? { header, end: at + 1 } : undefined;
}
