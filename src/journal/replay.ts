/** Folds a journal again, which returns the same spans. Open spans of an open session are included. */
import { isOpen, step } from '../assemble/assemble.ts';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import type { FoldState } from '../assemble/state.ts';
import { type Event, SPEC_VERSION } from '../event/event.ts';
import { eventsIn, eventsOf, foldFrom, type JournalReader } from './journal-events.ts';

export interface Replay {
  session: string;
  agent: string;
  events: Event[];
  finished: FinishedSpan[];
  records: FinishedRecord[];
  /** Open spans, closed for display. They are not delivered yet. */
  open: FinishedSpan[];
}

export function replay(journal: string, shape?: 'turn'): Replay | undefined {
  const events = eventsIn(journal);
  const [first] = events;
  if (first === undefined) return undefined;
  const { agent, session, fold } = foldFrom(first, shape);
  const steps = events.map(event => step(fold, event));
  const finished = steps.flatMap(each => each.spans);
  const records = steps.flatMap(each => each.records);
  const open = openSpans({ agent, session, fold }, events.at(-1)?.timestamp);
  return { session, agent, events, finished, records, open };
}

/** The spans of a part of a journal. */
export interface ReplayPart extends Pick<Replay, 'session' | 'agent' | 'finished' | 'open'> {
  /** The number of events in this part. */
  events: number;
  isLast: boolean;
}

export interface PartsAsked {
  key: string;
  shape: 'turn' | undefined;
  /** Later events are left out, such as those that arrive between two replays. */
  mostEvents?: number | undefined;
}

/**
 * Yields the spans of a session in several parts, so that memory holds one part of a long journal. Only the last part
 * has open spans. It yields nothing if no event can be read.
 */
export function* replayInParts(
  store: JournalReader,
  { key, shape, mostEvents = Number.POSITIVE_INFINITY }: PartsAsked,
): Generator<ReplayPart, undefined> {
  let source: ReturnType<typeof foldFrom> | undefined;
  let lastAt: string | undefined;
  let count = 0;
  for (const part of eventsOf(store, key)) {
    const events = part.slice(0, mostEvents - count);
    const [first] = events;
    if (first === undefined) break;
    source ??= foldFrom(first, shape);
    const { agent, session, fold } = source;
    const finished = events.flatMap(event => step(fold, event).spans);
    yield { agent, session, events: events.length, finished, open: [], isLast: false };
    count += events.length;
    lastAt = events.at(-1)?.timestamp;
  }
  if (source === undefined) return;
  const { agent, session } = source;
  yield { agent, session, events: 0, finished: [], open: openSpans(source, lastAt), isLast: true };
}

/** Returns the spans that are open after the event of this time, closed for display. */
export function openSpans(
  { agent, session, fold }: { agent: string; session: string; fold: FoldState },
  timestamp = new Date(0).toISOString(),
): FinishedSpan[] {
  if (!isOpen(fold)) return [];
  const closing = structuredClone(fold);
  closing.settles = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
  for (const held of closing.held) held.unread = false;
  return step(closing, abort(timestamp, agent, session)).spans;
}

function abort(timestamp: string, agent: string, session: string): Event {
  return {
    spec_version: SPEC_VERSION,
    event_id: '00000000-0000-8000-8000-000000000000',
    event_type: 'Session.Abort',
    timestamp,
    source: { tool: agent },
    session_id: session,
    data: {},
  };
}
