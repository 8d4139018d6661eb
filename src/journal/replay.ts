/** Folds a journal again, which returns the same spans. Open spans of an open session are included. */
import { isOpen, step } from '../assemble/assemble.ts';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import type { FoldState } from '../assemble/state.ts';
import { type Event, SPEC_VERSION } from '../event/event.ts';
import { eventsIn, foldFrom } from './journal-events.ts';

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
