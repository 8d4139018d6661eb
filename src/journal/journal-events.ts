/** Journals in parts, so that memory holds one part of one session, however long it is. */
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

const PART_BYTES = 512 * 1024;

/** The sessions of which something is journaled, the oldest first. */
export function recorded(store: Store): Recorded[] {
  const found = store.journals().flatMap((key): Recorded[] => {
    const first = firstIn(store, key);
    if (first === undefined) return [];
    const firstMs = Date.parse(first.timestamp);
    return [{ key, session: rootSessionOf(first), agent: first.source.tool, firstMs: firstMs || 0 }];
  });
  return found.sort((a, b) => a.firstMs - b.firstMs || (a.key < b.key ? -1 : 1));
}

/** When the last event of a session was. */
export function lastMsOf(store: Store, key: string): number {
  return Date.parse(eventsIn(store.journalTail(key, 1) ?? '').at(-1)?.timestamp ?? '') || 0;
}

/** All events of a session in the order of its journal; each part holds some. */
export function* eventsOf(store: Store, key: string): Generator<Event[], undefined> {
  const sizeBytes = store.journalSizes().get(key) ?? 0;
  for (let from = 0; ; ) {
    const part = partOf(store, { key, from, sizeBytes });
    if (part === undefined || part.endBytes < from) return;
    from = part.endBytes;
    const events = eventsIn(part.lines);
    if (events.length > 0) yield events;
  }
}

/**
 * Whole lines of a journal from there on: some of them, or one that is longer. It ends before where it began when the
 * journal began anew.
 */
export function partOf(
  store: Store,
  { key, from, sizeBytes }: { key: string; from: number; sizeBytes: number },
): { lines: string; endBytes: number } | undefined {
  for (let most = PART_BYTES; ; most *= 2) {
    const part = store.journalFrom(key, from, most);
    if (part === undefined || part.endBytes !== from) return part;
    if (from + most >= sizeBytes) return undefined;
  }
}

const HEAD_BYTES = 4 * 1024;

/** The first event of a journal, as a rule without reading all of it. */
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

/** Damaged lines are skipped: a view shows what there is. */
export const eventsIn = (journal: string): Event[] => journal.split('\n').flatMap(line => parseLine(line) ?? []);

function parseLine(line: string): Event | undefined {
  if (line === '') return undefined;
  try {
    const value = JSON.parse(line) as Event;
    return typeof value.event_type === 'string' && typeof value.source?.tool === 'string' ? value : undefined;
  } catch {
    // A line that is none; the books of the store know of damage, a view does not.
    return undefined;
  }
}

/** Whose session it is, its first event says. */
export function foldFrom(first: Event, shape?: 'turn') {
  const agent = first.source.tool;
  const session = rootSessionOf(first);
  const settles = agentNamed(agent)?.settles ?? { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
  return { agent, session, fold: openFold(agent, session, settles, shape) };
}
