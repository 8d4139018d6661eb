import { type Disk, eachEntry } from './files.ts';
import type { Signal } from './ledger.ts';

/** One body that waits. Its name says all that is known of it, so that a backlog is listed without opening a file. */
export interface BodyFile {
  name: string;
  signal: Signal;
  items: number;
  sizeBytes: number;
}

const NAME = /^(\d{12}-\d{5})(?:\.(\d{12})-\d{5})?-(traces|logs|metrics|events)-(\d{1,12})-(\d{1,12})$/;

/**
 * `<round>-<index>-<signal>-<items>-<bytes>`: sorted by name is oldest first. A part cut from another body keeps that
 * body's place (`<round>-<index>.<round>-<index>-...`). A round is applied once, so no name ever comes twice.
 */
export function bodyName(
  body: { signal: Signal; items: number; sizeBytes: number; inPlaceOf?: string | undefined },
  round: number,
  index: number,
): string {
  const own = `${String(round).padStart(12, '0')}-${String(index).padStart(5, '0')}`;
  const place = body.inPlaceOf === undefined ? undefined : NAME.exec(body.inPlaceOf)?.[1];
  return `${place === undefined ? own : `${place}.${own}`}-${body.signal}-${body.items}-${body.sizeBytes}`;
}

export function parseBodyName(name: string): (BodyFile & { round: number }) | undefined {
  const match = NAME.exec(name);
  if (match === null) return undefined;
  const [, place = '', cutIn, signal, items, sizeBytes] = match;
  return {
    name,
    signal: signal as Signal,
    items: Number(items),
    sizeBytes: Number(sizeBytes),
    round: Number(cutIn ?? place.slice(0, 12)),
  };
}

/** Oldest first. */
export function listBodies(disk: Disk, destination: string): BodyFile[] {
  const bodies: BodyFile[] = [];
  eachEntry(disk, `outbox/${destination}`, name => {
    const body = parseBodyName(name);
    if (body !== undefined) bodies.push({ name, signal: body.signal, items: body.items, sizeBytes: body.sizeBytes });
  });
  return bodies.sort(byName);
}

export const byName = (a: { name: string }, b: { name: string }): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
