/**
 * The first row of a transcript file has the origin of the file. A fork begins with the rows of another session. So a
 * document for each agent stores the session that owns each origin.
 */

export interface Kin {
  key: string;
  session: string;
}

/** Sessions by the origins of an agent's transcripts, the newest last. */
export type Owners = { readonly [origin: string]: readonly [key: string, session: string] };

/** Returns the session that owns the origin and, if the origin is new, the changed owners. */
export function ownerOf(owners: Owners, origin: string, session: Kin): { owner: Kin; changed?: Owners } {
  const short = origin.slice(0, 64);
  const known = Object.hasOwn(owners, short) ? owners[short] : undefined;
  if (known !== undefined) return { owner: { key: known[0], session: known[1] } };
  const kept = [...Object.entries(owners), [short, [session.key, session.session]] as const].slice(-MOST_ORIGINS);
  return { owner: session, changed: Object.fromEntries(kept) };
}

const MOST_ORIGINS = 4_096;
