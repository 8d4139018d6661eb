/**
 * Joins resumed sessions. An agent can give a resumed session a new id, so that one conversation has several journals;
 * its lists and views show it as one session.
 */
import type { IndexedSession } from '../journal/session-index.ts';

/** A journal with its entry. */
export interface Part {
  key: string;
  entry: IndexedSession;
}

/** A session has at least one part. The first part is the one that continues no other session. */
export type JoinedSession = readonly [Part, ...Part[]];

/** Returns the sessions of an index, each with the journals that continue it, in order of time. */
export function joinedSessions(index: ReadonlyMap<string, IndexedSession>): JoinedSession[] {
  // Few sessions continue another one, so that the others need no search by id.
  const wanted = new Set([...index.values()].flatMap(entry => entry.previous ?? []));
  const keys = new Map<string, string>();
  for (const [key, entry] of index) if (wanted.has(entry.session)) keys.set(named(entry, entry.session), key);
  const firsts = new Map<string, string>();
  const joined = new Map<string, [Part, ...Part[]]>();
  for (const [key, entry] of index) {
    const first = entry.previous === undefined ? key : firstOf(key);
    const parts = joined.get(first);
    if (parts === undefined) joined.set(first, [{ key, entry }]);
    else parts.push({ key, entry });
  }
  for (const [first, parts] of joined) {
    if (parts.length === 1) continue;
    const isFirst = ({ key }: Part): number => Number(key === first);
    parts.sort((a, b) => isFirst(b) - isFirst(a) || a.entry.firstMs - b.entry.firstMs || (a.key < b.key ? -1 : 1));
  }
  return [...joined.values()];

  /** Follows the links back. A previous session without a journal ends the search, as does a damaged link in a circle. */
  function firstOf(key: string): string {
    const path = new Set<string>();
    let at = key;
    while (!path.has(at) && !firsts.has(at)) {
      path.add(at);
      at = before(at) ?? at;
    }
    const isCircle = before(at) !== undefined;
    const first = firsts.get(at) ?? (isCircle ? ([...path].sort()[0] ?? at) : at);
    for (const each of path) firsts.set(each, first);
    return first;
  }

  function before(key: string): string | undefined {
    const entry = index.get(key);
    return entry?.previous === undefined ? undefined : keys.get(named(entry, entry.previous));
  }
}

const named = ({ agent }: IndexedSession, session: string): string => JSON.stringify([agent, session]);
