/** A journal read again: the same fold gives the same spans. What is still open is shown as far as it has come. */
import { agentNamed } from '../agents/index.ts';
import { isOpen, step } from '../assemble/assemble.ts';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import { openFold } from '../assemble/state.ts';
import { type Event, rootSessionOf, SPEC_VERSION } from '../event/event.ts';
import type { Store } from '../store/store.ts';
import { spanIdOf, traceIdOf } from '../telemetry/ids.ts';
import { resourceOf } from '../telemetry/resource.ts';
import { readableSpan } from '../telemetry/sdk-values.ts';
import { mapSpan } from '../telemetry/spans.ts';
import { nodeOf } from './span-node.ts';
import type { Node } from './tree.ts';

export interface Replay {
  session: string;
  agent: string;
  events: Event[];
  finished: FinishedSpan[];
  records: FinishedRecord[];
  /** Closed only for showing them; nothing of it has left. */
  open: FinishedSpan[];
}

const unlimited = { span: { attributes: 1_000, links: 1_000 }, log: { attributes: 1_000 } };

export function replay(journal: string, shape?: 'turn'): Replay | undefined {
  const events = eventsIn(journal);
  const [first] = events;
  if (first === undefined) return undefined;
  const { agent, session, fold } = foldFrom(first, shape);
  const steps = events.map(event => step(fold, event));
  const finished = steps.flatMap(each => each.spans);
  const records = steps.flatMap(each => each.records);
  let open: FinishedSpan[] = [];
  if (isOpen(fold)) {
    const closing = structuredClone(fold);
    closing.settles = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
    for (const held of closing.held) held.unread = false;
    open = step(closing, abort(events, agent, session)).spans;
  }
  return { session, agent, events, finished, records, open };
}

/** Whose session it is, its first event says. */
export function foldFrom(first: Event, shape?: 'turn') {
  const agent = first.source.tool;
  const session = rootSessionOf(first);
  const settles = agentNamed(agent)?.settles ?? { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
  return { agent, session, fold: openFold(agent, session, settles, shape) };
}

export function nodesOf({ agent, session, finished, open }: Replay): Map<string, Node[]> {
  const traces = new Map<string, Node[]>();
  const facts = { agent, session, provider: undefined, denyAsError: false, limits: unlimited };
  const add = (span: FinishedSpan, isOpenStill: boolean): void => {
    const { attributes, name, status } = readableSpan(mapSpan(span, facts, resourceOf({})));
    const node = nodeOf({
      spanId: spanIdOf(agent, span.key),
      parentSpanId: span.parent && spanIdOf(agent, span.parent),
      name,
      startMs: span.startMs,
      endMs: span.endMs,
      isError: status.code === 2,
      attributes,
    });
    const trace = traceIdOf(span.trace);
    const shown = isOpenStill ? { ...node, error: undefined, notes: ['open'] } : node;
    if (!traces.get(trace)?.push(shown)) traces.set(trace, [shown]);
  };
  for (const span of finished) add(span, false);
  for (const span of open) add(span, true);
  return traces;
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

function abort(events: readonly Event[], agent: string, session: string): Event {
  return {
    spec_version: SPEC_VERSION,
    event_id: '00000000-0000-8000-8000-000000000000',
    event_type: 'Session.Abort',
    timestamp: events.at(-1)?.timestamp ?? new Date(0).toISOString(),
    source: { tool: agent },
    session_id: session,
    data: {},
  };
}
