/**
 * CloudEvents 1.0 in structured mode (JSON format): an envelope around any event. Binary mode is HTTP headers and has
 * no envelope of its own. Read for what is inside; the envelope adds an id and a time where the inside has none.
 * Written around an event of Agent Hooks, as that standard proposes.
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
  /** Unique together with its source, as the standard asks. */
  readonly id: string;
  readonly atMs: number | undefined;
  /** The JSON value inside, or the text that is to be read as one; undefined where there is none. */
  readonly inside: unknown;
}

/** `specversion` with `type` is what all its senders must write, and nothing else in this field does. */
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

/** The attribute for whose sake an envelope cannot be opened. */
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

/** Source and id together are unique, and the same whenever it is wrapped. */
export const wrap = (event: Event): CloudEvent => ({
  specversion: '1.0',
  id: event.event_id,
  source: `urn:otel-hooks:${encodeURIComponent(event.source.tool)}`,
  // The prefix names who says what the type means: agent-hooks.dev.
  type: `dev.agent-hooks.${event.event_type}`,
  subject: rootSessionOf(event),
  time: event.timestamp,
  datacontenttype: 'application/json',
  dataschema: 'https://agent-hooks.dev/schemas/v1/event.json',
  data: event,
});
