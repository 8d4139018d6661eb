/**
 * Ids are computed, never remembered: any process at any time gets the same ones from the same keys.
 * The tag is the version of this computation; another one would be another trace.
 */
import type { SpanKey, TraceKey } from '../assemble/finished.ts';
import { digest } from '../lib/hash.ts';

const TAG = 'otel-hooks/ids/1';

export function traceIdOf(trace: TraceKey): string {
  return idOf(16, `trace\0${trace.agent}\0${trace.session}\0${trace.segment}`);
}

export function spanIdOf(agent: string, key: SpanKey): string {
  return idOf(8, `${key.kind}\0${agent}\0${key.session}\0${key.parts.join('\0')}`);
}

/**
 * Ids that were computed lately: an action's is asked for by its span and by each of its records, a trace's by all that
 * is in it, and a hash costs as much as encoding a record.
 */
const lately = new Map<string, string>();
const MOST_LATELY = 8_192;

function idOf(bytes: number, parts: string): string {
  const known = lately.get(parts);
  if (known !== undefined) return known;
  const id = notZero(bytes, parts);
  if (lately.size >= MOST_LATELY) lately.clear();
  lately.set(parts, id);
  return id;
}

function notZero(bytes: number, parts: string): string {
  for (let attempt = 0; ; attempt += 1) {
    const hash = digest(TAG, ...(attempt === 0 ? [] : [String(attempt)]), parts).toString('hex', 0, bytes);
    if (/[1-9a-f]/.test(hash)) return hash;
  }
}

/** Nanoseconds below the millisecond, from the event's id, so that two equal lines of one millisecond stay two, and a repetition one. */
export function subMillisecondNanos(eventId: string): number {
  return Number.parseInt(eventId.replaceAll('-', '').slice(-8), 16) % 1_000_000;
}
