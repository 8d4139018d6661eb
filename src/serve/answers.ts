/** The answers of the server: their texts, and the function that sends them. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Fault, Intake } from './intake.ts';
import type { Route } from './metrics.ts';

export interface Answer {
  status: number;
  body?: string;
  headers?: OutgoingHttpHeaders;
}

/** The time for which a sender may continue to send after its request was refused, so that it can read the answer. */
export const LINGER_MS = 500;

/** A hook's payload is parsed once; events are also checked against the rules of their standard. */
const MOST_BODY_BYTES = { hooks: 16 * 1024 * 1024, events: 4 * 1024 * 1024 } as const;
export const mostBytesOf = (route: Route): number =>
  route === 'hooks' ? MOST_BODY_BYTES.hooks : MOST_BODY_BYTES.events;

const json = { 'content-type': 'application/json' };
export const plainText = { 'content-type': 'text/plain; charset=utf-8' };
export const prometheusText = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

export const refusal = (status: number, rule: string, why: string, headers: OutgoingHttpHeaders = {}): Answer => ({
  status,
  body: JSON.stringify({ accepted: 0, rule, why }),
  headers: { ...json, ...headers },
});

export const tooMuch = (rule: string, why: string, waitSeconds: number): Answer =>
  refusal(429, `limit/${rule}`, why, { 'retry-after': String(waitSeconds) });

export const refusals = {
  browser: refusal(403, 'door/browser', 'browsers are not answered'),
  host: refusal(421, 'door/host', 'the Host header names another server'),
  token: refusal(401, 'door/token', 'Authorization: Bearer with the token is needed', { 'www-authenticate': 'Bearer' }),
  unsigned: refusal(401, 'signature', 'a signature is needed: one header agent-hooks-signature with a detached JWS'),
  protocol: refusal(400, 'door/protocol', 'only HTTP/1.0 and HTTP/1.1 are answered'),
  path: refusal(404, 'path', 'there are /v1/events, /hooks/<agent>, /metrics, /healthz and /readyz'),
  otlp: refusal(
    404,
    'path/otlp',
    'this is `otel-hooks serve`, which takes events of agents (POST /v1/events, /hooks/<agent>) and makes traces of them. ' +
      'It takes no OTLP: send traces, logs and metrics to a collector, whose OTLP/HTTP port is usually 4318.',
  ),
  stopping: refusal(503, 'stopping', 'this server is going away', { 'retry-after': '2', connection: 'close' }),
  encoding: refusal(415, 'type/encoding', 'a body is sent as it is, or with Content-Encoding: gzip', {
    'accept-encoding': 'gzip, identity',
  }),
  gzip: refusal(400, 'body/gzip', 'the body is not complete gzip, as its Content-Encoding says'),
  type: refusal(415, 'type', 'application/json in UTF-8, or a type that docs/serve.md lists, is needed'),
  bodies: tooMuch('held', 'too many bodies are on their way', 1),
  requests: tooMuch('requests', 'too many requests wait for their answers', 1),
};

export const tooLarge = (route: Route): Answer =>
  refusal(413, 'limit/body', `a body has at most ${mostBytesOf(route)} bytes here, also when it is unpacked`);

export const faulty = (fault: Fault): Answer => ({ status: 400, body: resultOf([fault]) });

/** A sender that must wait keeps its connection if this many bytes of its body have to be read and discarded. */
const DISCARDED_BYTES = 64 * 1024;

/** The most frequent answer is encoded once. */
const oneAccepted = JSON.stringify({ accepted: 1, rejected: 0 });
const oneAcceptedHeaders = { ...json, 'content-length': oneAccepted.length };

/** Returns the body of an answer: the number of accepted events, and the fault of each refused event. */
export function resultOf(verdicts: Intake['verdicts']): string {
  const accepted = verdicts.filter(verdict => verdict === undefined).length;
  if (accepted === verdicts.length) return accepted === 1 ? oneAccepted : JSON.stringify({ accepted, rejected: 0 });
  const items = verdicts.map(verdict =>
    verdict === undefined ? { status: 'accepted' } : { status: 'rejected', ...verdict },
  );
  return JSON.stringify({ accepted, rejected: verdicts.length - accepted, items });
}

export function notWritten(error: unknown): Answer {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return refusal(503, 'disk', `it could not be written (${code})`, { 'retry-after': '5' });
}

/** A thousand senders that must wait would otherwise open a thousand connections again. */
const isSmall = (status: number, { headers }: IncomingMessage): boolean =>
  status === 429 && Number(headers['content-length']) <= DISCARDED_BYTES;

/**
 * Sends an answer. The rest of a refused request is read for LINGER_MS at most. Returns true if the connection is
 * closed after this answer.
 */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body = '', headers }: Answer,
): boolean {
  const isRead = request.complete || request.method === 'GET' || request.method === 'HEAD' || isSmall(status, request);
  if (body === oneAccepted) {
    response.writeHead(status, oneAcceptedHeaders).end(body);
    return !response.shouldKeepAlive;
  }
  response.writeHead(status, {
    ...(headers ?? (body === '' ? {} : json)),
    'content-length': Buffer.byteLength(body),
    ...(isRead ? {} : { connection: 'close' }),
  });
  if (isRead) {
    response.end(body);
    // Node itself closes the connection, for example when `Expect: 100-continue` was not answered.
    return !response.shouldKeepAlive;
  }
  // The whole answer is sent now. The connection ends when the sender stops or its time is over.
  response.write(body);
  const end = (): void => {
    clearTimeout(late);
    // Node sends it after the answers to earlier requests of this connection.
    response.end(() => request.socket.destroySoon());
  };
  const late = setTimeout(end, LINGER_MS);
  request.once('end', end);
  request.once('close', end);
  request.resume();
  return true;
}
