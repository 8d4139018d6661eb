/**
 * Sends one body with one unary call over HTTP/2: the method Export of OTLP/gRPC. docs/decisions/0012 says why no
 * package does this.
 *
 * Constraints
 * - The body is the same as over HTTP; only five bytes are put before it.
 * - A call has one time limit, from connecting to the status. The server gets the rest of it as `grpc-timeout`.
 * - A call is repeated once, on a new connection, if the server has not processed it (GOAWAY, REFUSED_STREAM), or if a
 *   kept connection ended before any answer, as over HTTP.
 * - A server begins a response message only after it has accepted the request. So a message without a status counts as
 *   accepted: sending the body again would duplicate it.
 * - An answer that is not gRPC, such as a 503 of a load balancer, has the meaning that it has over HTTP.
 *
 * A connection is kept for later calls. A connection that was idle is tried with a PING first, because firewalls forget
 * idle connections without a word. A call that waits long sends at most two PINGs: servers end a connection after three
 * without an answer in between.
 */
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Target } from '../config/destinations.ts';
import { type Answer, decompressed, LARGEST_ANSWER_BYTES } from './answer.ts';
import { grpcStatusOf } from './grpc-status.ts';
import { ProxyFailure } from './proxy.ts';
import { behind, codeOf, NoWay, type Ways } from './ways.ts';

export interface GrpcTransport {
  send(target: Target & { url: string }, body: Uint8Array, userAgent: string): Promise<Answer>;
  /** Closes all connections. */
  close(): void;
}

/** When a connection is tried with a PING, and how long the PING may take. */
export interface Pings {
  afterMs: number;
  withinMs: number;
}

const usualPings: Pings = { afterMs: 20_000, withinMs: 5_000 };
const MOST_PINGS = 2;
const PREFIX_BYTES = 5;

const LEVEL_1 = { level: 1 };
/** A session counts the body that it sends. Above its limit it refuses the answer of the server. */
const MOST_MEMORY_MB = 256;

/** The failures of a server that answers in another protocol. */
const NO_HTTP2 = 'ERR_NO_HTTP2';
const NO_GRPC = 'ERR_NO_GRPC';

/** There is no connection to the server. The message is the reason. */
class NoConnection extends Error {}

interface Connection {
  session: ClientHttp2Session;
  proxy: URL | undefined;
  /** The calls that wait for their answers. */
  calls: number;
  isUsed: boolean;
  /** The time of the last sign of life of the server. */
  aliveMs: number;
}

interface Attempt {
  answer: Answer;
  /** The server has not processed the call, so it may be sent again at once. */
  isUnprocessed: boolean;
}

export function createGrpcTransport(ways: Ways, pings: Pings = usualPings): GrpcTransport {
  const connections = new Map<string, Promise<Connection>>();

  async function send(target: Target & { url: string }, body: Uint8Array, userAgent: string): Promise<Answer> {
    const deadlineMs = performance.now() + target.timeoutMs;
    const url = new URL(target.url);
    const payload = framed(target.gzip ? await promisify(gzip)(body, LEVEL_1) : body, target.gzip);
    for (let isRepeated = false; ; isRepeated = true) {
      let connection: Connection;
      try {
        connection = await within(deadlineMs, connectionTo(url, target, deadlineMs));
      } catch (error) {
        return { failure: whyOf(error) };
      }
      const headers = headersOf(url, target, userAgent, deadlineMs);
      const { answer, isUnprocessed } = await call(connection, headers, payload, deadlineMs);
      if (!isUnprocessed || isRepeated) return shown(answer, connection.proxy);
    }
  }

  async function connectionTo(url: URL, of: Target, deadlineMs: number): Promise<Connection> {
    const name = JSON.stringify([url.origin, of.tls.ca, of.tls.cert, of.tls.key]);
    const kept = await connections.get(name)?.catch(() => undefined);
    if (kept !== undefined && (await isUsable(kept, deadlineMs))) return kept;
    // Another call may have replaced the connection meanwhile.
    const other = connections.get(name);
    if (other !== undefined && (await other.catch(() => undefined)) !== kept) return other;
    const made = connect(url, of, deadlineMs);
    connections.set(name, made);
    const forget = (): void => {
      if (connections.get(name) === made) connections.delete(name);
    };
    made.then(({ session }) => session.once('close', forget).once('goaway', forget), forget);
    return made;
  }

  async function connect(url: URL, { tls }: Target, deadlineMs: number): Promise<Connection> {
    // Deliveries without gRPC do not load this module.
    const http2 = await import('node:http2');
    const { socket, proxy } = await ways.open(url, { tls, timeoutMs: leftOf(deadlineMs) });
    const options = {
      createConnection: () => socket,
      settings: { enablePush: false },
      maxSessionMemory: MOST_MEMORY_MB,
    };
    const session = http2.connect(url.origin, options);
    try {
      await within(deadlineMs, settled(session, socket));
    } catch (error) {
      session.destroy();
      throw new NoConnection(named(whyOf(error), proxy));
    }
    session.unref();
    return { session, proxy, calls: 0, isUsed: false, aliveMs: performance.now() };
  }

  async function isUsable({ session, calls, aliveMs }: Connection, deadlineMs: number): Promise<boolean> {
    if (session.closed || session.destroyed) return false;
    if (calls > 0 || performance.now() - aliveMs < pings.afterMs) return true;
    // The rest of the time belongs to a new connection.
    if (await answersPing(session, Math.min(pings.withinMs, leftOf(deadlineMs) / 2))) return true;
    session.destroy();
    return false;
  }

  async function call(connection: Connection, headers: OutgoingHttpHeaders, payload: Uint8Array, deadlineMs: number) {
    const { session, isUsed } = connection;
    connection.calls += 1;
    connection.isUsed = true;
    session.ref();
    const attempted = await attempt(session, headers, payload, { deadlineMs, isUsed, pings });
    connection.calls -= 1;
    // After a failure, the next call tries the connection with a PING first.
    connection.aliveMs = 'failure' in attempted.answer ? Number.NEGATIVE_INFINITY : performance.now();
    if (connection.calls === 0 && !session.destroyed) session.unref();
    return attempted;
  }

  return {
    send,
    close() {
      for (const made of connections.values()) made.then(({ session }) => session.destroy()).catch(() => undefined);
      connections.clear();
    },
  };
}

// ------------------------------------------------------------ connections

/** Waits for the first frame of the server, which shows that it speaks HTTP/2. */
function settled(session: ClientHttp2Session, socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once('remoteSettings', () => resolve());
    session.once('close', () => reject(new NoConnection(NO_HTTP2)));
    const fail = (error: Error): void => {
      const code = codeOf(error);
      reject(new NoConnection(code.startsWith('ERR_HTTP2') ? NO_HTTP2 : code));
      session.destroy();
    };
    // Errors of a session also reach its calls. Without a listener they would end the process.
    session.on('error', fail);
    // A session does not notice all errors of its connection, for example that the server demands a certificate.
    socket.on('error', fail);
  });
}

/** Calls `onDead` if the server does not answer a PING while a call waits. */
function watched(session: ClientHttp2Session, { afterMs, withinMs }: Pings, onDead: () => void): { stop(): void } {
  let sent = 0;
  const timer = setInterval(() => {
    sent += 1;
    if (sent >= MOST_PINGS) clearInterval(timer);
    answersPing(session, withinMs).then(isAlive => isAlive || onDead());
  }, afterMs);
  return { stop: () => clearInterval(timer) };
}

function answersPing(session: ClientHttp2Session, withinMs: number): Promise<boolean> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(false), withinMs);
    const done = (error: Error | null): void => {
      clearTimeout(timer);
      resolve(error === null);
    };
    try {
      session.ping(done);
    } catch (error) {
      // The session was closed in between.
      done(error instanceof Error ? error : new Error('closed'));
    }
  });
}

const leftOf = (deadlineMs: number): number => Math.max(1, deadlineMs - performance.now());

/** The work continues after the time limit: another call may wait for the same connection. */
function within<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new NoConnection('timeout')), leftOf(deadlineMs));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function whyOf(error: unknown): string {
  const isOurs = error instanceof NoConnection || error instanceof NoWay || error instanceof ProxyFailure;
  return isOurs ? error.message : codeOf(error);
}

const shown = (answer: Answer, proxy: URL | undefined): Answer =>
  'failure' in answer ? { failure: named(answer.failure, proxy) } : answer;

/** Names the proxy, which may be at fault. */
const named = (failure: string, proxy: URL | undefined): string =>
  proxy === undefined || failure === 'timeout' ? failure : behind(proxy, failure);

// ------------------------------------------------------------ calls

function framed(message: Uint8Array, isCompressed: boolean): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt8(isCompressed ? 1 : 0, 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function headersOf(url: URL, target: Target, userAgent: string, deadlineMs: number): OutgoingHttpHeaders {
  return {
    ...target.headers,
    ':method': 'POST',
    ':scheme': url.protocol.replace(':', ''),
    ':authority': url.host,
    ':path': url.pathname,
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': `${Math.ceil(leftOf(deadlineMs))}m`,
    'grpc-accept-encoding': 'identity,gzip',
    ...(target.gzip ? { 'grpc-encoding': 'gzip' } : {}),
    'user-agent': userAgent,
  };
}

/** The parts of an answer, as far as they have arrived. */
interface Parts {
  head: IncomingHttpHeaders | undefined;
  trailers: IncomingHttpHeaders | undefined;
  data: Buffer[];
  sizeBytes: number;
}

interface Surroundings {
  deadlineMs: number;
  /** The connection has carried a call before. */
  isUsed: boolean;
  pings: Pings;
}

function attempt(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  payload: Uint8Array,
  { deadlineMs, isUsed, pings }: Surroundings,
): Promise<Attempt> {
  return new Promise(resolve => {
    const parts: Parts = { head: undefined, trailers: undefined, data: [], sizeBytes: 0 };
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(headers);
    } catch (error) {
      // The server has closed the connection in between, or HTTP/2 does not allow a header.
      resolve({ answer: { failure: codeOf(error) }, isUnprocessed: session.closed || session.destroyed });
      return;
    }
    let failure: string | undefined;
    let isSettled = false;
    let isEnded = false;
    const settle = (): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      watch.stop();
      const isLost = stream.rstCode === REFUSED_STREAM || (isUsed && session.destroyed);
      const isUnprocessed = parts.head === undefined && failure !== 'timeout' && isLost;
      answerOf(parts, failure ?? 'ECONNRESET').then(answer => resolve({ answer, isUnprocessed }));
      stream.close(CANCEL);
    };
    const end = (why: string): void => {
      failure ??= why;
      settle();
    };
    // A server may answer before it has read the whole body. The rest of the body is not sent then.
    const settleIfComplete = (): void => {
      if (isEnded && (parts.trailers ?? parts.head)?.['grpc-status'] !== undefined) settle();
    };
    const timer = setTimeout(() => end('timeout'), leftOf(deadlineMs));
    const watch = watched(session, pings, () => {
      end('timeout');
      session.destroy();
    });
    stream.on('response', head => {
      parts.head = head;
      // Only the status of such an answer counts. Its body may be endless.
      if (!isGrpc(head)) end(NO_GRPC);
    });
    stream.on('trailers', trailers => {
      parts.trailers = trailers;
      settleIfComplete();
    });
    stream.on('data', (part: Buffer) => {
      parts.sizeBytes += part.length;
      parts.data.push(part);
      if (parts.sizeBytes > LARGEST_ANSWER_BYTES + PREFIX_BYTES) end('too large');
    });
    stream.on('end', () => {
      isEnded = true;
      settleIfComplete();
    });
    stream.on('error', error => {
      failure ??= codeOf(error);
    });
    stream.on('close', settle);
    stream.end(payload);
  });
}

/** Codes of RST_STREAM. */
const REFUSED_STREAM = 7;
const CANCEL = 8;

const isGrpc = (head: IncomingHttpHeaders): boolean =>
  statusOf(head) === 200 && /^application\/grpc\b/i.test(head['content-type'] ?? '');

const statusOf = (head: IncomingHttpHeaders): number => Number(head[':status'] ?? 0);

async function answerOf({ head, trailers, data, sizeBytes }: Parts, failure: string): Promise<Answer> {
  if (head === undefined) return { failure };
  if (!isGrpc(head)) {
    const status = statusOf(head);
    return status === 200 ? { failure: NO_GRPC } : { status, retryAfter: head['retry-after'], body: undefined };
  }
  // An answer without a message has its status in the first headers.
  const status = grpcStatusOf(trailers ?? head);
  if (status !== undefined) return { ...status, body: await messageOf(Buffer.concat(data), head['grpc-encoding']) };
  return sizeBytes === 0 ? { failure } : { code: 0, retryMs: undefined, body: undefined };
}

/** Returns undefined if the message is incomplete, too large, or in an unknown encoding. */
async function messageOf(data: Buffer, encoding: string | string[] | undefined): Promise<Buffer | undefined> {
  if (data.length === 0) return data;
  const end = data.length < PREFIX_BYTES ? Number.POSITIVE_INFINITY : PREFIX_BYTES + data.readUInt32BE(1);
  if (end > data.length) return undefined;
  return decompressed(data.subarray(PREFIX_BYTES, end), data[0] === 0 ? undefined : String(encoding));
}
