/** `show SESSION`: the trees or the spans of a session, in pieces, so that memory does not hold a long session. */
import type { JournalReader } from '../journal/journal-events.ts';
import { type PartsAsked, replayInParts } from '../journal/replay.ts';
import { traceIdOf } from '../telemetry/ids.ts';
import { localSecond } from '../view/local-time.ts';
import { nodesOf } from '../view/nodes.ts';
import { drawTree, type Node } from '../view/tree.ts';
import type { Io, Words } from './command.ts';

/** Each iteration begins anew. */
export function shownSession(store: JournalReader, session: PartsAsked, words: Words, io: Io): Iterable<string> {
  const isJson = words.flags['--json'] !== undefined;
  return { [Symbol.iterator]: () => (isJson ? jsonPieces(store, session) : treePieces(store, session, io)) };
}

/** The text of `JSON.stringify({ v, session, agent, finished, open }, null, 2)`. */
function* jsonPieces(store: JournalReader, asked: PartsAsked): Generator<string, undefined> {
  let isBegun = false;
  let list = jsonList('finished');
  for (const { session, agent, finished, open, isLast } of replayInParts(store, asked)) {
    if (!isBegun)
      yield `{\n  "v": 1,\n  "session": ${JSON.stringify(session)},\n  "agent": ${JSON.stringify(agent)},\n`;
    isBegun = true;
    yield list.more(finished);
    if (!isLast) continue;
    yield `${list.end()},\n`;
    list = jsonList('open');
    yield `${list.more(open)}${list.end()}\n}\n`;
  }
}

/** A list in an object, whose items arrive in several parts. */
function jsonList(name: string) {
  let isEmpty = true;
  return {
    more(items: readonly object[]): string {
      const texts = items.map((item, i) => {
        const before = isEmpty && i === 0 ? `  "${name}": [` : ',';
        return `${before}\n    ${JSON.stringify(item, null, 2).replaceAll('\n', '\n    ')}`;
      });
      isEmpty &&= items.length === 0;
      return texts.join('');
    },
    end: (): string => (isEmpty ? `  "${name}": []` : '\n  ]'),
  };
}

/** With all nodes of a journal of this size, the process takes less than 200 MB. */
const SHORT_BYTES = 24 * 1024 * 1024;

/**
 * A trace can be drawn when all of its spans are known. A late span can belong to any former trace, so a long session is
 * replayed twice: first to count the spans of each trace, then to draw each trace after its last span.
 */
export function* treePieces(
  store: JournalReader,
  asked: PartsAsked,
  io: Pick<Io, 'color' | 'columns' | 'unicode'>,
  shortBytes = SHORT_BYTES,
): Generator<string, undefined> {
  const isShort = (store.journalSize(asked.key) ?? 0) <= shortBytes;
  const counted = isShort ? undefined : countedTraces(store, asked);
  const traces = new Map<string, Node[]>();
  for (const trace of counted?.spans.keys() ?? []) traces.set(trace, []);
  for (const part of replayInParts(store, { ...asked, mostEvents: counted?.events })) {
    nodesOf(part, traces);
    for (const [trace, nodes] of traces) {
      if (nodes.length !== counted?.spans.get(trace)) break;
      traces.delete(trace);
      yield drawn(trace, nodes, io);
    }
  }
  for (const [trace, nodes] of traces) if (nodes.length > 0) yield drawn(trace, nodes, io);
}

/** Returns the number of spans of each trace, in the order of their first spans, and the number of events. */
function countedTraces(store: JournalReader, asked: PartsAsked): { spans: Map<string, number>; events: number } {
  const counted = { spans: new Map<string, number>(), events: 0 };
  for (const { finished, open, events } of replayInParts(store, asked)) {
    counted.events += events;
    for (const spans of [finished, open]) {
      for (const span of spans) {
        const trace = traceIdOf(span.trace);
        counted.spans.set(trace, (counted.spans.get(trace) ?? 0) + 1);
      }
    }
  }
  return counted;
}

function drawn(
  trace: string,
  nodes: readonly Node[],
  { color, columns, unicode }: Parameters<typeof treePieces>[2],
): string {
  const startMs = nodes.reduce((first, node) => Math.min(first, node.startMs), Number.POSITIVE_INFINITY);
  const tree = drawTree(nodes, { color, columns, unicode, usage: true });
  return `trace ${trace}\nstart ${localSecond(startMs)}\n${tree}\n`;
}
