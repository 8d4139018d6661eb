/**
 * Ids are computed and not stored: every process computes the same id from the same key at any time. The tag is the
 * version of the computation; a different version gives a different trace.
 */
import type { SpanKey, TraceKey } from '../assemble/finished.ts';
import { hexDigest } from '../lib/hash.ts';

const TAG = 'otel-hooks/ids/1';

/** Caches the last trace id, because consecutive items usually belong to the same trace. */
let last: (TraceKey & { id: string }) | undefined;

export function traceIdOf({ agent, session, segment, turn }: TraceKey): string {
  if (last?.session !== session || last.segment !== segment || last.turn !== turn || last.agent !== agent) {
    const parts = `trace\0${agent}\0${session}\0${segment}${turn === undefined ? '' : `\0${turn}`}`;
    last = { agent, session, segment, turn, id: notZero(32, parts) };
  }
  return last.id;
}

/** A span's id is needed by the span, its children and its records, usually within one round. */
const MOST_KNOWN = 4_096;
const known = new Map<string, string>();

export function spanIdOf(agent: string, key: SpanKey): string {
  const parts = `${key.kind}\0${agent}\0${key.session}\0${key.parts.join('\0')}`;
  const before = known.get(parts);
  if (before !== undefined) return before;
  const id = notZero(16, parts);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(parts, id);
  return id;
}

function notZero(length: number, parts: string): string {
  for (let attempt = 0; ; attempt += 1) {
    const hash = attempt === 0 ? hexDigest(TAG, parts) : hexDigest(TAG, String(attempt), parts);
    const id = hash.slice(0, length);
    if (/[1-9a-f]/.test(id)) return id;
  }
}

/**
 * Returns nanoseconds within the millisecond, computed from the event id. So two equal lines of one millisecond stay
 * separate, and a repeated line stays one line.
 */
export function subMillisecondNanos(eventId: string): number {
  const end = eventId.slice(-8);
  return Number.parseInt(end.includes('-') ? eventId.replaceAll('-', '').slice(-8) : end, 16) % 1_000_000;
}
