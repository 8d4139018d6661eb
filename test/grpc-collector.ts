/**
 * An OTLP/gRPC receiver for tests, over node:http2 without the code of the program. It has the form of `Collector`, so
 * that a test can run with both.
 */
import {
  createSecureServer,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { type Collector, collectedIn, listening, type Received } from './collector.ts';

export interface GrpcReply {
  code?: number;
  message?: Uint8Array;
  /** Of the message: 1 if it is compressed. */
  flag?: number;
  /** Sent with the status. */
  trailers?: Record<string, string>;
  /** Sent before the message. */
  headers?: Record<string, string | number>;
}

export type GrpcAnswer =
  | GrpcReply
  /** Accepts the call and never answers. */
  | 'hang'
  /** Cuts the connection. */
  | 'reset'
  /** Sends these bytes in place of frames, and ends the connection. */
  | { raw: string }
  /** Answers as the test wants. A returned status counts as that of the request. */
  | ((stream: ServerHttp2Stream, session: Http2Session) => unknown);

export interface GrpcOptions {
  answer?: ((request: Received, index: number) => GrpcAnswer) | undefined;
  tls?: SecureServerOptions;
}

export interface GrpcCollector extends Collector {
  /** The connections that were opened, also those that ended. */
  sessions: Http2Session[];
  /** The number of PINGs of all connections. */
  pings(): number;
}

/** A message with the five bytes that gRPC puts before it. */
export function grpcFrame(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** google.rpc.Status with a RetryInfo, as servers send it. */
export function retryInfo(delay: { seconds?: bigint; nanos?: number } | undefined): string {
  const field = (number: number, bytes: Uint8Array): Buffer =>
    Buffer.concat([varint(BigInt(number * 8 + 2)), varint(BigInt(bytes.length)), bytes]);
  const number = (at: number, value: bigint): Buffer => Buffer.concat([varint(BigInt(at * 8)), varint(value)]);
  const duration = Buffer.concat([
    delay?.seconds === undefined ? Buffer.of() : number(1, delay.seconds),
    delay?.nanos === undefined ? Buffer.of() : number(2, BigInt(delay.nanos)),
  ]);
  const info = delay === undefined ? Buffer.of() : field(1, duration);
  const other = Buffer.concat([
    field(1, Buffer.from('type.googleapis.com/google.rpc.Help')),
    field(2, Buffer.from([8, 1])),
  ]);
  const any = Buffer.concat([field(1, Buffer.from('type.googleapis.com/google.rpc.RetryInfo')), field(2, info)]);
  const status = [number(1, 14n), field(2, Buffer.from('busy')), field(3, other), field(3, any)];
  return Buffer.concat(status).toString('base64').replace(/=+$/, '');
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest >= 128n) {
    bytes.push(Number(rest % 128n) | 0x80);
    rest /= 128n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

const METHOD = /^\/opentelemetry\.proto\.collector\.(trace|metrics|logs)\.v1\.\w+Service\/Export$/;

export async function startGrpcCollector(options: GrpcOptions = {}): Promise<GrpcCollector> {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  const sessions: Http2Session[] = [];
  let pings = 0;
  const server = options.tls ? createSecureServer(options.tls) : createServer();

  async function receive(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    // In some tests the client closes the stream in the middle.
    stream.on('error', () => undefined);
    const parts: Buffer[] = [];
    for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
    const raw = Buffer.concat(parts);
    const message = raw.subarray(5, 5 + raw.readUInt32BE(1));
    const path = String(headers[':path']);
    const kind = METHOD.exec(path)?.[1];
    const received: Received = {
      method: String(headers[':method']),
      path,
      signal: kind === 'trace' ? 'traces' : (kind as 'metrics' | 'logs' | undefined),
      headers,
      raw,
      body: raw[0] === 1 ? gunzipSync(message) : message,
      status: undefined,
    };
    requests.push(received);
    const answer = options.answer?.(received, requests.length - 1) ?? {};
    const { session } = stream;
    if (answer === 'hang' || session === undefined) return;
    if (answer === 'reset') session.destroy();
    else if (typeof answer === 'function') {
      const status = answer(stream, session);
      if (typeof status === 'number') received.status = status;
    } else if ('raw' in answer) {
      // A session does not give its connection to its users.
      const { remotePort } = session.socket;
      for (const socket of sockets) if (socket.remotePort === remotePort) socket.end(answer.raw);
    } else {
      received.status = (answer.code ?? 0) === 0 ? 200 : 400 + (answer.code ?? 0);
      reply(stream, answer);
    }
  }

  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    receive(stream, headers).catch(() => undefined);
  });
  server.on('session', (session: Http2Session) => {
    sessions.push(session);
    session.on('error', () => undefined);
    session.on('ping', () => {
      pings += 1;
    });
  });
  server.on('sessionError', () => undefined);
  const { url, start, stop } = await listening(server, sockets, options.tls !== undefined);
  return {
    url,
    requests,
    sessions,
    pings: () => pings,
    ...collectedIn(requests),
    stop,
    start,
    close: stop,
  };
}

export function reply(stream: ServerHttp2Stream, { code = 0, message, flag, trailers, headers }: GrpcReply): void {
  const status = { 'grpc-status': String(code), ...trailers };
  const head = { ':status': 200, 'content-type': 'application/grpc', ...headers };
  if (code !== 0 && message === undefined) {
    stream.respond({ ...head, ...status }, { endStream: true });
    return;
  }
  stream.respond(head, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(status));
  stream.end(grpcFrame(message ?? Buffer.of(), flag));
}
