/**
 * Reads and writes CloudEvents 1.0 in structured mode (JSON format): an envelope around any event. Binary mode uses
 * HTTP headers and has no envelope. The reader returns the inner event and adds the envelope's id and time if the inner
 * event has none. The writer wraps events of Agent Hooks, as that standard proposes.
 */
import * as z from 'zod';
import { type Event, type Fields, rootSessionOf } from '../../event/event.ts';

const envelope = z.looseObject({
  specversion: z.string().regex(/^1\.\d+$/),
  id: z.string().min(1),
  source: z.string().min(1),
  type: z.string().min(1),
  time: z.string().optional(),
  data: z.unknown().optional(),
  data_base64: z.string().optional(),
});

export interface Wrapped {
  /** The id is unique together with its source, as the standard requires. */
  readonly id: string;
  readonly atMs: number | undefined;
  /** The inner JSON value, or a text to parse as one; undefined if the envelope has no data. */
  readonly inside: unknown;
}

/** All senders must write `specversion` and `type`, and no other format of otel-hooks has both. */
export const isCloudEvent = (fields: Fields): boolean =>
  typeof fields.specversion === 'string' && typeof fields.type === 'string' && fields.openhook === undefined;

export function unwrap(fields: Fields): Wrapped | undefined {
  const read = envelope.safeParse(fields);
  if (!read.success) return undefined;
  const { id, source, time, data, data_base64 } = read.data;
  const atMs = Date.parse(time ?? '');
  return {
    id: `${source}\0${id}`,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    inside: data_base64 === undefined ? data : textOf(data_base64),
  };
}

/** Returns the attribute that prevents the envelope from being opened. */
export const lackIn = (fields: Fields): string =>
  String(envelope.safeParse(fields).error?.issues[0]?.path[0] ?? 'specversion');

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  datacontenttype: string;
  dataschema: string;
  data: Event;
}

/** Source and id together are unique, and stay the same when the event is wrapped again. */
export const wrap = (event: Event): CloudEvent => ({
  specversion: '1.0',
  id: event.event_id,
  source: `urn:otel-hooks:${encodeURIComponent(event.source.tool)}`,
  // The prefix names the organization that defines the type: agent-hooks.dev.
  type: `dev.agent-hooks.${event.event_type}`,
  subject: rootSessionOf(event),
  time: event.timestamp,
  datacontenttype: 'application/json',
  dataschema: 'https://agent-hooks.dev/schemas/v1/event.json',
  data: event,
});
