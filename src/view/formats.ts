/** Writes events in the formats of open standards. */
import { type Event, rootSessionOf } from '../event/event.ts';
import { type Known, toBaseCoat } from '../standards/base-coat/to-base-coat.ts';
import { wrap } from '../standards/cloudevents/cloudevents.ts';
import { type Beyond, noOpenHook, restOfOpenHook, toOpenHook } from '../standards/openhook/to-openhook.ts';

export const eventFormats = ['agent-hooks', 'openhook', 'base-coat', 'cloudevents'] as const;
export type EventFormat = (typeof eventFormats)[number];

/** The writer of one root session. It holds the facts that the standard needs from earlier events. */
export interface Writer {
  /** Returns the JSON objects of an event, one per line. */
  of(event: Event): readonly object[];
  /** Returns the objects that waited for later events. */
  rest?(): readonly object[];
}

const writers: { readonly [format in EventFormat]: (beyond: Beyond) => Writer } = {
  'agent-hooks': () => ({ of: event => [event] }),
  openhook(beyond) {
    const state = noOpenHook();
    return { of: event => toOpenHook(state, event, beyond), rest: () => restOfOpenHook(state, beyond) };
  },
  'base-coat'() {
    const known: Known = new Map();
    return { of: event => toBaseCoat(event, known) };
  },
  cloudevents: () => ({ of: event => [wrap(event)] }),
};

/** `beyond`: facts of the session that its journal does not hold. */
export const writerOf = (format: EventFormat, beyond: Beyond = {}): Writer => writers[format](beyond);

/** The most sessions with a writer at the same time. Beyond that, the writer of the least active session is dropped. */
const MOST_LIVE = 1_000;

/** Returns a writer for live events of all sessions. */
export function liveWriter(format: EventFormat): Writer['of'] {
  const live = new Map<string, Writer>();
  return event => {
    const key = `${event.source.tool} ${rootSessionOf(event)}`;
    const writer = live.get(key) ?? writerOf(format);
    live.delete(key);
    live.set(key, writer);
    const [oldest] = live.keys();
    if (live.size > MOST_LIVE && oldest !== undefined) live.delete(oldest);
    return writer.of(event);
  };
}

export const isEventFormat = (text: string): text is EventFormat => (eventFormats as readonly string[]).includes(text);
