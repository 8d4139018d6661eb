/**
 * The first row of a transcript file names its origin. A fork begins with the rows of another session, so the session
 * that an origin belongs to is remembered in a document for each agent.
 */

export interface Kin {
  key: string;
  session: string;
}

/** Origins in the store and in this round. New ones go into the round's documents. */
export function originsIn(document: (name: string) => unknown) {
  const changed = new Map<string, Owners>();
  const nameOf = (agent: string): string => `origins-${agent}`;
  return {
    owner(agent: string, origin: string, of: Kin): Kin {
      const name = nameOf(agent);
      const owners = changed.get(name) ?? ((document(name) ?? {}) as Owners);
      const short = origin.slice(0, 64);
      const known = Object.hasOwn(owners, short) ? owners[short] : undefined;
      if (known) return { key: known[0], session: known[1] };
      const kept = [...Object.entries(owners), [short, [of.key, of.session]] as const].slice(-MOST_ORIGINS);
      changed.set(name, Object.fromEntries(kept));
      return of;
    },
    documents: () => [...changed].map(([name, value]) => ({ name, value: value as unknown })),
  };
}

type Owners = { readonly [origin: string]: readonly [key: string, session: string] };
const MOST_ORIGINS = 4_096;
