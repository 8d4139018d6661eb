/**
 * Sends one body with one POST: to an OTLP/HTTP receiver, or as lines of events to an Agent Hooks receiver. grpc.ts
 * sends the bodies for OTLP/gRPC receivers.
 *
 * It never follows a redirect (credentials go only to the configured host), never reads more than 4 MiB of an answer
 * after decompression (the limit of the protocol), never waits longer than the time limit, and never sends a body in
 * chunks.
 */
import type * as http from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Destination, Signal, Target } from '../config/destinations.ts';
import type { Proxies } from '../config/proxies.ts';
import { SIGNATURE, signDetached, signingKey } from '../lib/jws.ts';
import { readPrivate } from '../lib/private-file.ts';
import { VERSION } from '../lib/version.ts';
import { decodeRequest } from '../telemetry/otlp-decode.ts';
import { type Answer, decompressed, LARGEST_ANSWER_BYTES } from './answer.ts';
import { createCredentials } from './credentials.ts';
import { createGrpcTransport, type Pings } from './grpc.ts';
import { refusesCredentials } from './verdict.ts';
import { codeOf, createWays, failureOf, NoWay, refusalOf, requestOn, type Way } from './ways.ts';

/** Never rejects: every failure is an answer. */
export type Transport = (destination: Destination, signal: Signal, body: Uint8Array) => Promise<Answer>;

export interface HttpTransport {
  send: Transport;
  /** Closes idle connections. */
  close(): void;
}

const LEVEL_1 = { level: 1 };

export function createHttpTransport(findProxies?: () => Proxies, pings?: Pings): HttpTransport {
  const ways = createWays(findProxies);
  const grpc = createGrpcTransport(ways, pings);

  const credentials = createCredentials(ways);

  async function send(destination: Destination, signal: Signal, body: Uint8Array): Promise<Answer> {
    const target = destination.signals[signal];
    if (target?.url === undefined) return { failure: 'no address' };
    const { credentials: source, url } = target;
    if (source === undefined) return sendWith({ ...target, url }, signal, body);
    for (let isRepeated = false; ; isRepeated = true) {
      const supplied = await credentials.headersOf(source, target.timeoutMs);
      if ('failure' in supplied) return supplied;
      const headers = { ...target.headers, ...supplied.headers };
      const answer = await sendWith({ ...target, url, headers }, signal, body);
      // A token may have ended early. New headers are fetched once before the destination pauses.
      if (!refusesCredentials(answer)) return answer;
      credentials.forget(source);
      if (isRepeated) return answer;
    }
  }

  async function sendWith(target: Target & { url: string }, signal: Signal, body: Uint8Array): Promise<Answer> {
    if (target.protocol === 'grpc') return grpc.send(target, body, userAgentOf(target));
    const plain = signal !== 'events' && target.protocol === 'http/json' ? jsonOf(signal, body) : body;
    // The same answer as from a receiver that cannot parse the body.
    if (plain === undefined) return { status: 400, body: new Uint8Array() };
    let way: Way;
    try {
      way = ways.to(new URL(target.url), target);
    } catch (error) {
      if (!(error instanceof NoWay)) throw error;
      return { failure: error.message };
    }
    const headers: http.OutgoingHttpHeaders = { ...target.headers, 'content-type': typeOf(signal, target) };
    try {
      // If the body cannot be signed, it waits. It is never sent without a signature.
      if (target.sign !== undefined) headers[SIGNATURE] = signDetached(plain, signingKey(readPrivate(target.sign)));
    } catch (error) {
      return { failure: `signing key: ${error instanceof Error ? error.message : String(error)}` };
    }
    const payload = target.gzip ? await promisify(gzip)(plain, LEVEL_1) : plain;
    const first = await post(way, target, headers, payload);
    // A server may close an idle connection in the moment in which it is used again. Such a request is repeated once.
    return first.isStale ? (await post(way, target, headers, payload)).answer : first.answer;
  }

  return {
    send,
    close() {
      ways.close();
      grpc.close();
    },
  };
}

export function jsonOf(signal: 'traces' | 'metrics' | 'logs', body: Uint8Array): Uint8Array | undefined {
  const request = decodeRequest(signal, body);
  return request === undefined ? undefined : Buffer.from(JSON.stringify(request), 'utf8');
}

function typeOf(signal: Signal, { protocol }: Target): string {
  if (signal === 'events') return 'application/vnd.agent-hooks.stream+jsonl';
  return protocol === 'http/json' ? 'application/json' : 'application/x-protobuf';
}

interface Attempt {
  answer: Answer;
  isStale: boolean;
}

function post(way: Way, target: Target, headers: http.OutgoingHttpHeaders, payload: Uint8Array): Promise<Attempt> {
  return new Promise(resolve => {
    let request: http.ClientRequest | undefined;
    let response: http.IncomingMessage | undefined;
    let isSettled = false;
    const settle = (answer: Answer, isStale = false): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      // Only after a complete answer is the connection reused; in all other cases it is destroyed.
      if ('failure' in answer || answer.body === undefined) request?.destroy();
      resolve({ answer, isStale });
    };
    // If the server has sent a status after the whole request, that status counts: if the server accepted the body and
    // then hangs or closes the connection, the body must not be sent again.
    const fail = (failure: string, isStale = false): void => {
      const spoken = request?.writableFinished === true ? response : undefined;
      settle(spoken === undefined ? { failure } : { ...headOf(spoken), body: undefined }, isStale);
    };
    const timer = setTimeout(() => fail('timeout'), target.timeoutMs);
    try {
      request = requestOn(way, 'POST', {
        ...headers,
        'content-length': payload.length,
        ...(target.gzip ? { 'content-encoding': 'gzip' } : {}),
        'user-agent': userAgentOf(target),
      });
    } catch (error) {
      fail(codeOf(error));
      return;
    }
    const sent = request;
    sent.on('error', error => fail(failureOf(error, way), sent.reusedSocket && codeOf(error) === 'ECONNRESET'));
    sent.on('response', found => {
      response = found;
      readAnswer(found).then(
        answer => settle(connectionFailure(answer, way) ?? answer),
        error => fail(failureOf(error, way)),
      );
    });
    sent.end(payload);
  });
}

/** Returns the failure if an answer concerns the connection and not the body. */
function connectionFailure(answer: Answer, way: Way): { failure: string } | undefined {
  if (!('status' in answer)) return undefined;
  const failure = refusalOf(answer.status, way);
  if (failure !== undefined) return { failure };
  return way.url.protocol === 'http:' && wantsTls(answer) ? { failure: 'ERR_TLS_EXPECTED' } : undefined;
}

/**
 * Returns true for a 400 that concerns the connection and not the body. Servers that expect TLS answer plain requests
 * with it: servers in Go, nginx, Apache, load balancers and Tomcat.
 */
function wantsTls(answer: Answer): boolean {
  if (!('status' in answer) || answer.status !== 400 || answer.body === undefined) return false;
  return /to an HTTPS server|plain HTTP|requires TLS/i.test(
    Buffer.from(answer.body.subarray(0, 2_000)).toString('latin1'),
  );
}

/** Returns the user agent. The protocol requires the name of a distribution before ours. */
function userAgentOf({ headers }: Target): string {
  const given = headers['user-agent'];
  return given === undefined ? `otel-hooks/${VERSION}` : `${given} otel-hooks/${VERSION}`;
}

type Head = Omit<Extract<Answer, { status: number }>, 'body'>;

const headOf = ({ statusCode, headers }: http.IncomingMessage): Head => ({
  status: statusCode ?? 0,
  retryAfter: headers['retry-after'],
  isJson: /^application\/json\b/i.test(headers['content-type'] ?? ''),
});

async function readAnswer(response: http.IncomingMessage): Promise<Answer> {
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    sizeBytes += part.length;
    if (sizeBytes > LARGEST_ANSWER_BYTES) return { ...headOf(response), body: undefined };
    parts.push(part);
  }
  const body = await decompressed(Buffer.concat(parts), response.headers['content-encoding']);
  return { ...headOf(response), body };
}
