/**
 * What an answer means for the body that was sent. Pure; the rules are OTLP/HTTP's, sharpened where it leaves a choice:
 *
 * - 2xx: taken. What it rejects of it is counted and never sent again.
 * - 429, 502, 503, 504, no answer, a broken one: tried again.
 * - 401, 403: nothing more for this destination until someone corrects the credentials; all is kept.
 * - 3xx, 404, 405: this address is not meant for this signal; kept likewise, for this signal alone.
 * - every other status: these bytes will never be taken. Halves of them may.
 */

import { decodeAnswer } from '../telemetry/otlp-decode.ts';
import type { Answer } from './transport.ts';

export type Verdict =
  | { kind: 'taken'; rejected: number; message: string }
  | { kind: 'retry'; why: string; afterMs?: number | undefined }
  | { kind: 'pause'; status: number; scope: 'destination' | 'signal' }
  | { kind: 'refused'; reason: string };

export function verdictOf(answer: Answer, nowMs: number): Verdict {
  if ('failure' in answer) return { kind: 'retry', why: answer.failure };
  const { status } = answer;
  if (status >= 200 && status < 300) {
    // An answer that cannot be understood still accepted the body: sending it again would double it.
    const partial = answer.body === undefined ? undefined : decodeAnswer(answer.body, answer.isJson === true);
    return { kind: 'taken', rejected: partial?.rejected ?? 0, message: partial?.message.slice(0, 200) ?? '' };
  }
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    return { kind: 'retry', why: String(status), afterMs: retryAfterMs(answer.retryAfter, nowMs) };
  }
  if (status === 401 || status === 403) return { kind: 'pause', status, scope: 'destination' };
  if (status < 400 || status === 404 || status === 405) return { kind: 'pause', status, scope: 'signal' };
  return { kind: 'refused', reason: String(status) };
}

/** Longer than this no server is believed: a wrong clock there must not silence us here. */
export const LONGEST_WAIT_MS = 3_600_000;

/** Seconds or a date; undefined when it is neither. */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  const trimmed = text?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.min(Number(trimmed) * 1_000, LONGEST_WAIT_MS);
  // Dates begin with a weekday; Date.parse would take far more than HTTP's dates.
  const atMs = /^[A-Za-z]{3}/.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - nowMs), LONGEST_WAIT_MS);
}

/**
 * Full jitter between one second and a limit that doubles up to five minutes, so that many machines do not come at
 * once.
 */
export function backoffMs(failures: number, random: number): number {
  const limit = Math.min(300_000, 1_000 * 2 ** Math.min(failures, 20));
  return Math.max(1_000, Math.round(random * limit));
}
