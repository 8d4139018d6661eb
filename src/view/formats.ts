/** Events in the words of a standard that others read. */
import { type Event, rootSessionOf } from '../event/event.ts';
import { type Known, toBaseCoat } from '../standards/base-coat/to-base-coat.ts';
import { wrap } from '../standards/cloudevents/cloudevents.ts';
import { type Beyond, noOpenHook, restOfOpenHook, toOpenHook } from '../standards/openhook/to-openhook.ts';

export const eventFormats = ['agent-hooks', 'openhook', 'base-coat', 'cloudevents'] as const;
export type EventFormat = (typeof eventFormats)[number];

/** For one root session: it remembers what the standard asks of a session. */
export interface Writer {
  /** What an event becomes: a JSON object for each line, or none. */
  of(event: Event): readonly object[];
  /** What waited for more, when there is no more. */
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

/** `beyond`: what the caller knows of the session that its journal does not hold. */
export const writerOf = (format: EventFormat, beyond: Beyond = {}): Writer => writers[format](beyond);

/** So many sessions at once have a writer of their own; then the one that was silent the longest begins anew. */
const MOST_LIVE = 1_000;

/** For events of all sessions as they come. */
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
