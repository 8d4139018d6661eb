/** A whole session as one value, for files that a reader opens without otel-hooks. */
import type { IndexedSession } from '../journal/session-index.ts';
import type { JournalPart, Snapshot, SpanDetails } from '../page/data.ts';
import type { Store } from '../store/store.ts';
import { joinedSessions } from './joined-sessions.ts';
import { rowOf } from './packed-sessions.ts';
import { SessionFeed } from './page-data.ts';

/** Returns the session to which the journal with this key belongs, with all of its parts. */
export function snapshotOf(
  store: Store,
  index: ReadonlyMap<string, IndexedSession>,
  key: string,
  note: string,
): Snapshot | undefined {
  const parts = joinedSessions(index).find(all => all.some(part => part.key === key));
  if (parts === undefined) return undefined;
  const journals: JournalPart[] = [];
  const details: { [span: string]: SpanDetails } = {};
  for (const part of parts) {
    const feed = new SessionFeed(part.key);
    if (!feed.update(store)) continue;
    journals.push(feed.part(undefined));
    for (const [id, found] of feed.allDetails(store)) details[id] = found;
  }
  return { v: 1, part: { v: 1, row: rowOf(parts), journals }, details, note };
}

export const spansOf = ({ part }: Snapshot) => part.journals.flatMap(({ spans, open }) => [...spans, ...open]);
