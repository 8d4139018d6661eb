/**
 * The first row of a transcript file has the origin of the file. A fork begins with the rows of another session. So a
 * document for each agent stores the session that owns each origin.
 */
import { put } from '../lib/read.ts';

export interface Kin {
  key: string;
  session: string;
}

/** Sessions by the origins of an agent's transcripts, the newest last. */
export type Owners = { readonly [origin: string]: readonly [key: string, session: string] };

/** Returns the session that owns the origin; undefined if the origin is new. */
export function ownerOf(owners: Owners, origin: string): Kin | undefined {
  const short = shortOf(origin);
  const known = Object.hasOwn(owners, short) ? owners[short] : undefined;
  return known && { key: known[0], session: known[1] };
}

/** Adds a new origin to owners that the caller may change. An import adds thousands, so they are not copied. */
export function addOwner(owners: { [origin: string]: Owners[string] }, origin: string, { key, session }: Kin): void {
  const short = shortOf(origin);
  const isNew = !Object.hasOwn(owners, short);
  put(owners, short, [key, session]);
  const known = counts.get(owners);
  const count = known === undefined ? Object.keys(owners).length : known + (isNew ? 1 : 0);
  counts.set(owners, count <= MOST_ORIGINS ? count : MOST_ORIGINS);
  if (count <= MOST_ORIGINS) return;
  for (const oldest of Object.keys(owners).slice(0, count - MOST_ORIGINS)) delete owners[oldest];
}

/** The number of origins of a document, since listing thousands of them for each new one is slow. */
const counts = new WeakMap<object, number>();

const shortOf = (origin: string): string => origin.slice(0, 64);

const MOST_ORIGINS = 4_096;
