/** Finds the session of an encoded span, a log record or a line of events. */
import { type Event, rootSessionOf } from '../event/event.ts';
import { development } from './names.ts';
import { type Field, fieldsIn } from './wire.ts';

/** The field of the attributes in a span and in a log record. */
const ATTRIBUTES = { traces: 9, logs: 6 } as const;

/** Returns the value of `session.id`, which all of our spans and records have. `bytes` must be a valid request. */
export function sessionOfItem(signal: keyof typeof ATTRIBUTES, bytes: Uint8Array, item: Field): string | undefined {
  for (const attribute of fieldsIn(bytes, item.from, item.end)) {
    if (attribute.number !== ATTRIBUTES[signal] || attribute.wire !== 2) continue;
    const parts = [...fieldsIn(bytes, attribute.from, attribute.end)];
    const key = parts.find(({ number }) => number === 1);
    if (key === undefined || textOf(bytes, key) !== development.sessionId) continue;
    const value = parts.find(({ number }) => number === 2);
    const text = value && [...fieldsIn(bytes, value.from, value.end)].find(({ number }) => number === 1);
    return text && textOf(bytes, text);
  }
  return undefined;
}

const textOf = (bytes: Uint8Array, { from, end }: Field): string => Buffer.from(bytes.subarray(from, end)).toString();

/** Returns true if a line of Agent Hooks events belongs to a session or to one of its subagents. */
export function isLineOfSession(line: string, session: string): boolean {
  if (!line.includes(JSON.stringify(session))) return false;
  try {
    const event = JSON.parse(line) as Event;
    return [event.session_id, event.parent_session_id, rootSessionOf(event)].includes(session);
  } catch {
    // The line is an incomplete line of another writer, or has another format.
    return false;
  }
}
