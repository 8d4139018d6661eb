/**
 * Ids are computed, never remembered: any process at any time gets the same ones from the same keys.
 * The tag is the version of this computation; another one would be another trace.
 */
import type { SpanKey, TraceKey } from '../assemble/finished.ts';
import { digest } from '../lib/hash.ts';

const TAG = 'otel-hooks/ids/1';

export function traceIdOf(trace: TraceKey): string {
  return notZero(16, 'trace', trace.agent, trace.session, String(trace.segment));
}

export function spanIdOf(agent: string, key: SpanKey): string {
  return notZero(8, key.kind, agent, key.session, ...key.parts);
}

function notZero(bytes: number, ...parts: string[]): string {
  for (let attempt = 0; ; attempt += 1) {
    const hash = digest(TAG, ...(attempt === 0 ? [] : [String(attempt)]), ...parts).toString('hex', 0, bytes);
    if (/[1-9a-f]/.test(hash)) return hash;
  }
}

/** Nanoseconds below the millisecond, from the event's id, so that two equal lines of one millisecond stay two, and a repetition one. */
export function subMillisecondNanos(eventId: string): number {
  return Number.parseInt(eventId.replaceAll('-', '').slice(-8), 16) % 1_000_000;
}
