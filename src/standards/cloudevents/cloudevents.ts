/**
 * CloudEvents 1.0 in structured mode (JSON format): an envelope around any event. Binary mode is HTTP headers and has no
 * envelope of its own. Read for what is inside; the envelope adds an id and a time where the inside has none.
 */
import * as z from 'zod';
import type { Fields } from '../../event/event.ts';

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

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');
