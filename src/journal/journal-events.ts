/** Reads journals in parts, so that memory holds one part of one session. */
import { agentNamed } from '../agents/index.ts';
import { openFold } from '../assemble/state.ts';
import { type Event, rootSessionOf } from '../event/event.ts';
import type { Store } from '../store/store.ts';

export interface Recorded {
  key: string;
  session: string;
  agent: string;
  firstMs: number;
}

/** The part of a store that reads journals in parts. */
export type JournalReader = Pick<Store, 'journalSize' | 'journalFrom'>;

const PART_BYTES = 512 * 1024;

/** Returns the sessions that have a journal, the oldest first. */
export function recorded(store: Store): Recorded[] {
  const found = store.journals().flatMap((key): Recorded[] => {
    const first = firstIn(store, key);
    if (first === undefined) return [];
    const firstMs = Date.parse(first.timestamp);
    return [{ key, session: rootSessionOf(first), agent: first.source.tool, firstMs: firstMs || 0 }];
  });
  return found.sort((a, b) => a.firstMs - b.firstMs || (a.key < b.key ? -1 : 1));
}

/** Returns the time of the last event of a session. */
export function lastMsOf(store: Store, key: string): number {
  return Date.parse(eventsIn(store.journalTail(key, 1) ?? '').at(-1)?.timestamp ?? '') || 0;
}

/** Yields all events of a session in the order of its journal, several at a time. */
export function* eventsOf(store: JournalReader, key: string): Generator<Event[], undefined> {
  const sizeBytes = store.journalSize(key) ?? 0;
  for (let from = 0; ; ) {
    const part = partOf(store, { key, from, sizeBytes });
    if (part === undefined || part.endBytes < from) return;
    from = part.endBytes;
    const events = eventsIn(part.lines);
    if (events.length > 0) yield events;
  }
}

/**
 * Returns some whole lines of a journal from this byte on, or one longer line. The end is before the start if the
 * journal was replaced.
 */
export function partOf(
  store: JournalReader,
  { key, from, sizeBytes }: { key: string; from: number; sizeBytes: number },
): { lines: string; endBytes: number } | undefined {
  for (let most = PART_BYTES; ; most *= 2) {
    const part = store.journalFrom(key, from, most);
    if (part === undefined || part.endBytes !== from) return part;
    if (from + most >= sizeBytes) return undefined;
  }
}

const HEAD_BYTES = 4 * 1024;

/** Returns the first event of a journal, usually without reading all of it. */
export const firstIn = (store: Pick<Store, 'journal' | 'journalHead'>, key: string): Event | undefined =>
  firstEventIn(store.journalHead(key, HEAD_BYTES) || (store.journal(key) ?? ''));

function firstEventIn(lines: string): Event | undefined {
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf('\n', from);
    const event = parseLine(lines.slice(from, end < 0 ? undefined : end));
    if (event !== undefined || end < 0) return event;
    from = end + 1;
  }
  return undefined;
}

/** Skips damaged lines, because a view shows the events that can be read. */
export const eventsIn = (journal: string): Event[] => journal.split('\n').flatMap(line => parseLine(line) ?? []);

function parseLine(line: string): Event | undefined {
  if (line === '') return undefined;
  try {
    const value = JSON.parse(line) as Event;
    return typeof value.event_type === 'string' && typeof value.source?.tool === 'string' ? value : undefined;
  } catch {
    // The line is damaged. The books of the store count damage; a view does not.
    return undefined;
  }
}

/** Creates the fold of a session from its first event. */
export function foldFrom(first: Event, shape?: 'turn') {
  const agent = first.source.tool;
  const session = rootSessionOf(first);
  const settles = agentNamed(agent)?.settles ?? { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
  return { agent, session, fold: openFold(agent, session, settles, shape) };
}
