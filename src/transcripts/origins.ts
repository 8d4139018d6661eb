/**
 * The first row of a transcript file names its origin. A fork begins with the rows of another session, so the session
 * that an origin belongs to is remembered in a document for each agent.
 */

export interface Kin {
  key: string;
  session: string;
}

/** Sessions by the origins of an agent's transcripts, the newest last. */
export type Owners = { readonly [origin: string]: readonly [key: string, session: string] };

/** The session that the origin belongs to, and the owners with it where it is new. */
export function ownerOf(owners: Owners, origin: string, session: Kin): { owner: Kin; changed?: Owners } {
  const short = origin.slice(0, 64);
  const known = Object.hasOwn(owners, short) ? owners[short] : undefined;
  if (known !== undefined) return { owner: { key: known[0], session: known[1] } };
  const kept = [...Object.entries(owners), [short, [session.key, session.session]] as const].slice(-MOST_ORIGINS);
  return { owner: session, changed: Object.fromEntries(kept) };
}

const MOST_ORIGINS = 4_096;
