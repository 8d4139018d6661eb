/** Writes the entries of the index of sessions, as part of the round that extends their journals. */
import type { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import { eventsOf } from '../journal/journal-events.ts';
import { type IndexedSession, indexed, indexedFrom, indexedText, shardOf } from '../journal/session-index.ts';
import { changeOf, type DocumentChange } from '../store/document.ts';
import type { Store } from '../store/store.ts';
import type { SessionInRound } from './session-in-round.ts';

/** Adds the new events of these sessions to their entries. */
export function indexSessions(
  all: readonly SessionInRound[],
  changed: ChangedDocuments,
  journal: (key: string) => string | undefined,
): void {
  for (const session of all) {
    if (session.lines === '') continue;
    const { key } = session.state;
    const known = changed.read(documents.index.of(shardOf(key)))?.[key];
    writeEntry(changed, key, entryWith(known, session, journal));
  }
}

/** Returns the entry of a session with the new events of a round. */
export function entryWith(
  known: IndexedSession | undefined,
  { state, lines, events, spans, count }: SessionInRound,
  journal: (key: string) => string | undefined,
): IndexedSession {
  // The journal has earlier events whose entry was never written, or is damaged.
  const isBegun = state.seq > count;
  const before = known ?? (isBegun ? indexedText(journal(state.key) ?? '') : undefined);
  return indexed(before, { state, lines, events, spans });
}

export function writeEntry(changed: ChangedDocuments, key: string, entry: IndexedSession): void {
  const document = documents.index.of(shardOf(key));
  changed.write(document, { ...changed.read(document), [key]: entry });
}

/** Removes the entry of a session. */
export function withoutEntry(changed: ChangedDocuments, key: string): void {
  const document = documents.index.of(shardOf(key));
  const { [key]: entry, ...others } = changed.read(document) ?? {};
  if (entry !== undefined) changed.write(document, others);
}

/** The bytes of journals that one round reads. */
const PART_BYTES = 8 * 1024 * 1024;

/**
 * Returns the changes that make the index agree with the journals, as far as one round may read; undefined if nothing
 * is missing. Entries of removed journals are removed.
 */
export function indexRepair(store: Store): DocumentChange[] | undefined {
  const sizes = store.journalSizes();
  const keys = new Map<string, string[]>(store.idsOf(documents.index).map(shard => [shard, []]));
  for (const key of sizes.keys()) keys.set(shardOf(key), [...(keys.get(shardOf(key)) ?? []), key]);
  const changes: DocumentChange[] = [];
  let bytes = 0;
  for (const [shard, inShard] of keys) {
    if (bytes >= PART_BYTES) break;
    const document = documents.index.of(shard);
    const stored = store.read(document) ?? {};
    const entries: { [key: string]: IndexedSession } = {};
    let isChanged = Object.keys(stored).some(key => !sizes.has(key));
    for (const key of inShard) {
      const size = sizes.get(key) ?? 0;
      const known = stored[key];
      const entry = known?.bytes === size ? known : indexedFrom(eventsOf(store, key), size);
      if (entry !== known) {
        isChanged = true;
        bytes += size;
      }
      if (entry !== undefined) entries[key] = entry;
    }
    if (isChanged) changes.push(changeOf(document, Object.keys(entries).length === 0 ? undefined : entries));
  }
  return changes.length === 0 ? undefined : changes;
}
