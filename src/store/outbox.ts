import { type Disk, eachEntry, readBytes } from './files.ts';
import { checkName } from './folder.ts';
import type { Signal } from './ledger.ts';

/** A waiting body. Its name holds all facts about it, so that a backlog is listed without opening a file. */
export interface BodyFile {
  name: string;
  signal: Signal;
  items: number;
  sizeBytes: number;
  /** Limits remove these last: the spans that hold a session together. */
  isSkeleton: boolean;
}

const NAME = /^(\d{12}-\d{5})(?:\.(\d{12})-\d{5})?-(traces|logs|metrics|events)-(\d{1,12})-(\d{1,12})(-skeleton)?$/;

/**
 * `<round>-<index>-<signal>-<items>-<bytes>`, with `-skeleton` at the end for a frame. Sorting by name puts the oldest
 * first. A part of a divided body keeps the place of that body (`<round>-<index>.<round>-<index>-...`) and its kind. A
 * round is applied once, so no name is used twice.
 */
export function bodyName(
  body: {
    signal: Signal;
    items: number;
    sizeBytes: number;
    isSkeleton?: boolean | undefined;
    inPlaceOf?: string | undefined;
  },
  round: number,
  index: number,
): string {
  const own = `${String(round).padStart(12, '0')}-${String(index).padStart(5, '0')}`;
  const whole = body.inPlaceOf === undefined ? null : NAME.exec(body.inPlaceOf);
  const mark = (body.isSkeleton ?? whole?.[6] !== undefined) ? '-skeleton' : '';
  return `${whole === null ? own : `${whole[1]}.${own}`}-${body.signal}-${body.items}-${body.sizeBytes}${mark}`;
}

/** `round` made the file; `born` is the round of the whole body, for a part. */
export function parseBodyName(name: string): (BodyFile & { round: number; born: number }) | undefined {
  const match = NAME.exec(name);
  if (match === null) return undefined;
  const [, place = '', cutIn, signal, items, sizeBytes, mark] = match;
  return {
    name,
    signal: signal as Signal,
    items: Number(items),
    sizeBytes: Number(sizeBytes),
    isSkeleton: mark !== undefined,
    round: Number(cutIn ?? place.slice(0, 12)),
    born: Number(place.slice(0, 12)),
  };
}

/** Oldest first. */
export function listBodies(disk: Disk, destination: string): BodyFile[] {
  const bodies: BodyFile[] = [];
  eachEntry(disk, `outbox/${destination}`, name => {
    const body = bodyFile(name);
    if (body !== undefined) bodies.push(body);
  });
  return bodies.sort(byName);
}

/** The fields as in a listing. */
export function bodyFile(name: string): BodyFile | undefined {
  const body = parseBodyName(name);
  if (body === undefined) return undefined;
  const { signal, items, sizeBytes, isSkeleton } = body;
  return { name, signal, items, sizeBytes, isSkeleton };
}

export const byName = (a: { name: string }, b: { name: string }): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0;

/** Undefined if the name is not that of a body. */
export function bodyPath(destination: string, name: string): string | undefined {
  return parseBodyName(name) === undefined ? undefined : `outbox/${checkName(destination)}/${name}`;
}

/** Undefined if the body is missing or damaged. */
export function readBody(disk: Disk, destination: string, name: string): Buffer | undefined {
  const path = bodyPath(destination, name);
  const bytes = path === undefined ? undefined : readBytes(disk, path);
  return bytes?.length === parseBodyName(name)?.sizeBytes ? bytes : undefined;
}

interface OutboxChange {
  settled: readonly string[];
  files: readonly { path: string }[];
}

/** Brings the listings of outboxes up to date with a round, so that no folder is listed again. */
export function updateOutbox(outbox: Map<string, BodyFile[]>, change: OutboxChange): void {
  const settled = new Set(change.settled);
  for (const [id, bodies] of outbox) {
    const folder = `outbox/${id}/`;
    const paths = change.files.filter(({ path }) => path.startsWith(folder)).map(({ path }) => path);
    if (paths.length === 0 && !change.settled.some(path => path.startsWith(folder))) continue;
    const added = paths.flatMap(path => bodyFile(path.slice(folder.length)) ?? []);
    const kept = bodies.filter(({ name }) => !settled.has(`${folder}${name}`));
    outbox.set(id, [...kept, ...added].sort(byName));
  }
}
