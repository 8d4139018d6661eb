/**
 * Decides from an answer how to treat the sent body. The functions are pure. The rules are those of OTLP, with one choice
 * where it allows several:
 *
 * - 2xx: accepted. Rejected items are counted and never sent again.
 * - 429, 502, 503, 504, no answer, or an incomplete one: the body is sent again later.
 * - 401, 403: the destination is paused until the credentials are corrected. All its bodies are kept.
 * - 3xx, 404, 405: the address does not accept this signal. Only this signal is paused, and its bodies are kept.
 * - every other status: the server refuses these bytes. It may accept halves of them.
 *
 * The codes of gRPC have the same meanings: `grpcVerdict` has the table.
 */
import { type GrpcName, grpcNameOf, grpcNames } from '../lib/grpc-codes.ts';
import { decodeAnswer } from '../telemetry/otlp-decode.ts';
import type { Answer } from './answer.ts';

export type Verdict =
  | { kind: 'taken'; rejected: number; message: string }
  | { kind: 'retry'; why: string; afterMs?: number | undefined }
  /** `status`: of HTTP, or a code of gRPC, which is below 100. */
  | { kind: 'pause'; status: number; scope: 'destination' | 'signal' }
  | { kind: 'refused'; reason: string };

export function verdictOf(answer: Answer, nowMs: number): Verdict {
  if ('failure' in answer) return { kind: 'retry', why: answer.failure };
  if ('code' in answer) return grpcVerdict(answer);
  const { status } = answer;
  if (status >= 200 && status < 300) return takenBy(answer.body, answer.isJson === true);
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    return { kind: 'retry', why: String(status), afterMs: retryAfterMs(answer.retryAfter, nowMs) };
  }
  if (status === 401 || status === 403) return { kind: 'pause', status, scope: 'destination' };
  if (status < 400 || status === 404 || status === 405) return { kind: 'pause', status, scope: 'signal' };
  return { kind: 'refused', reason: String(status) };
}

/** A success with an unreadable body still accepted the request. Sending it again would duplicate it. */
function takenBy(body: Uint8Array | undefined, isJson: boolean): Verdict {
  const partial = body === undefined ? undefined : decodeAnswer(body, isJson);
  return { kind: 'taken', rejected: partial?.rejected ?? 0, message: partial?.message.slice(0, 200) ?? '' };
}

const meanings: { readonly [name in GrpcName]: 'taken' | 'retry' | 'refused' | 'destination' | 'signal' } = {
  OK: 'taken',
  CANCELLED: 'retry',
  UNKNOWN: 'refused',
  INVALID_ARGUMENT: 'refused',
  DEADLINE_EXCEEDED: 'retry',
  NOT_FOUND: 'signal',
  ALREADY_EXISTS: 'refused',
  PERMISSION_DENIED: 'destination',
  // The request is too large, unless the server says when it will accept it.
  RESOURCE_EXHAUSTED: 'refused',
  FAILED_PRECONDITION: 'refused',
  ABORTED: 'retry',
  OUT_OF_RANGE: 'retry',
  // The server does not have the service of this signal.
  UNIMPLEMENTED: 'signal',
  INTERNAL: 'refused',
  UNAVAILABLE: 'retry',
  DATA_LOSS: 'retry',
  UNAUTHENTICATED: 'destination',
};

function grpcVerdict({ code, retryMs, body }: Extract<Answer, { code: number }>): Verdict {
  const name = grpcNameOf(code);
  const meaning = meanings[name];
  if (meaning === 'taken') return takenBy(body, false);
  if (meaning === 'retry' || (name === TOO_LARGE && retryMs !== undefined)) {
    return {
      kind: 'retry',
      why: name,
      afterMs: retryMs === undefined ? undefined : Math.min(retryMs, LONGEST_WAIT_MS),
    };
  }
  if (meaning === 'refused') return { kind: 'refused', reason: reasonOf(name) };
  return { kind: 'pause', status: code, scope: meaning };
}

const TOO_LARGE: GrpcName = 'RESOURCE_EXHAUSTED';

/** A reason is a part of names of files. */
const reasonOf = (name: GrpcName): string => `grpc-${name.toLowerCase().replaceAll('_', '-')}`;

/** Returns true for an answer after which the destination pauses until the credentials are corrected. */
export function refusesCredentials(answer: Answer): boolean {
  const verdict = verdictOf(answer, 0);
  return verdict.kind === 'pause' && verdict.scope === 'destination';
}

/** Returns the status of a refusal, as in a pause. */
export const statusOf = (reason: string): number =>
  Number(reason) || Math.max(0, grpcNames.map(reasonOf).indexOf(reason));

/** The reason of a refusal is the size of the request. */
export const isTooLarge = (reason: string): boolean => reason === '413' || reason === reasonOf(TOO_LARGE);

/** Whether a pause of a lane has this status: the server does not accept this signal. */
export const isMisplaced = (status: number): boolean =>
  status === 404 ||
  status === 405 ||
  (status >= 300 && status < 400) ||
  (status > 0 && status < 100 && meanings[grpcNameOf(status)] === 'signal');

/** The longest wait that a server can demand. A server with a wrong clock must not stop delivery for longer. */
export const LONGEST_WAIT_MS = 3_600_000;

/** Reads seconds or a date; returns undefined for any other text. */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  const trimmed = text?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.min(Number(trimmed) * 1_000, LONGEST_WAIT_MS);
  // HTTP dates begin with a weekday. Date.parse alone would accept many other forms.
  const atMs = /^[A-Za-z]{3}/.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - nowMs), LONGEST_WAIT_MS);
}

/**
 * Returns a random wait between one second and a limit that doubles up to five minutes, so that many machines do not
 * send at the same time.
 */
export function backoffMs(failures: number, random: number): number {
  const limit = Math.min(300_000, 1_000 * 2 ** Math.min(failures, 20));
  return Math.max(1_000, Math.round(random * limit));
}
