/** An OTLP/HTTP receiver for tests: keeps the requests, answers as the test states, and decodes the accepted bodies. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { Server, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gunzipSync } from 'node:zlib';
import { decodeRequest, type Json, type JsonObject } from '../src/telemetry/otlp-decode.ts';

export interface Received {
  method: string;
  path: string;
  signal: 'traces' | 'metrics' | 'logs' | undefined;
  headers: IncomingHttpHeaders;
  /** As on the wire. */
  raw: Buffer;
  /** Decompressed. */
  body: Buffer;
  /** The status of the answer; undefined before the answer. */
  status: number | undefined;
}

export type Reply =
  | {
      status: number;
      headers?: Record<string, string>;
      /** An answer in parts is sent part by part. */
      body?: string | Uint8Array | Iterable<Uint8Array>;
      /** A pause after each part. */
      everyMs?: number;
    }
  /** Sends these bytes in place of HTTP, and ends the connection. */
  /** `status`: the status in `raw`, if the client can read it. */
  | { raw: string | Uint8Array; status?: number }
  /** Accepts the request and never answers. */
  | 'hang'
  /** Cuts the connection without an answer. */
  | 'reset';

export interface CollectorOptions {
  answer?: ((request: Received, index: number) => Reply | Promise<Reply>) | undefined;
  tls?: ServerOptions;
}

export interface Collected {
  [field: string]: unknown;
  /** The attributes of a span or record, with plain values. */
  plain: { [key: string]: unknown };
  resource: { [key: string]: unknown };
}

export interface Collector {
  url: string;
  requests: Received[];
  /** The items of requests that were answered with 2xx. */
  spans(): Collected[];
  records(): Collected[];
  metrics(): Collected[];
  /** Stops listening; accepted requests stay. */
  stop(): Promise<void>;
  /** Starts again at the same address. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A collector may stop and come back at its address, so no other process may get its port meanwhile: the port lies
 * below the ports that the system assigns, and each process has a range of its own.
 */
let given = 0;
const nextPort = (): number => {
  given += 1;
  return 10_000 + ((process.pid * 41 + (given % 41)) % 20_000);
};

export async function startCollector(options: CollectorOptions = {}): Promise<Collector> {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    void receive(request, response);
  };
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    } catch {
      // The sender was killed in the middle of the request, so it does not count.
      return;
    }
    const raw = Buffer.concat(parts);
    const path = request.url ?? '';
    const received: Received = {
      method: request.method ?? '',
      path,
      signal: (['traces', 'metrics', 'logs'] as const).find(signal => path.endsWith(`/${signal}`)),
      headers: request.headers,
      raw,
      body: request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw,
      status: undefined,
    };
    requests.push(received);
    const reply = (await options.answer?.(received, requests.length - 1)) ?? { status: 200 };
    if (reply === 'hang') return;
    if (reply === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    received.status = reply.status;
    if ('raw' in reply) {
      request.socket.end(reply.raw);
      return;
    }
    const { body, everyMs } = reply;
    response.writeHead(reply.status, reply.headers);
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) response.end(body);
    // Such answers exist for a client that does not wait for the end.
    else await pipeline(Readable.from(spread(body, everyMs)), response).catch(() => undefined);
  }

  server.on('tlsClientError', () => undefined);
  const { url, start, stop } = await listening(server, sockets, options.tls !== undefined);
  return { url, requests, ...collectedIn(requests), stop, start, close: stop };
}

/** Starts the server at a port that stays free while it is stopped. */
export async function listening(
  server: Server,
  sockets: Set<Socket>,
  isSecure: boolean,
): Promise<{ url: string; start(): Promise<void>; stop(): Promise<void> }> {
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // In some tests the client closes the connection in the middle.
    socket.on('error', () => undefined);
  });
  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(at, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>(resolve => server.close(() => resolve()));
  };
  let port = nextPort();
  for (let tries = 0; ; tries += 1) {
    try {
      await listen(port);
      break;
    } catch (error) {
      if (tries === 50) throw error;
      port = nextPort();
    }
  }
  return { url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`, start: () => listen(port), stop };
}

/** The items of requests that were answered with 2xx. */
export function collectedIn(requests: readonly Received[]): Pick<Collector, 'spans' | 'records' | 'metrics'> {
  const collect = (signal: 'traces' | 'metrics' | 'logs', scopes: string, items: string): Collected[] =>
    requests
      .filter(request => request.signal === signal && request.status !== undefined && request.status < 300)
      .flatMap(request => {
        const isJson = request.headers['content-type'] === 'application/json';
        const decoded = isJson
          ? (JSON.parse(request.body.toString('utf8')) as JsonObject)
          : decodeRequest(signal, request.body);
        if (decoded === undefined) throw new Error(`a ${signal} request could not be decoded`);
        return objects(Object.values(decoded)[0]).flatMap(resource =>
          objects(resource[scopes]).flatMap(scope =>
            objects(scope[items]).map(item => ({
              ...item,
              plain: plainAttributes(item.attributes),
              resource: plainAttributes(objects([resource.resource ?? {}])[0]?.attributes),
            })),
          ),
        );
      });

  return {
    spans: () => collect('traces', 'scopeSpans', 'spans'),
    records: () => collect('logs', 'scopeLogs', 'logRecords'),
    metrics: () => collect('metrics', 'scopeMetrics', 'metrics'),
  };
}

async function* spread(parts: Iterable<Uint8Array>, everyMs = 0): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    yield part;
    if (everyMs > 0) await new Promise(resolve => setTimeout(resolve, everyMs));
  }
}

/** OTLP's list of keys and typed values as an object of plain values; integers become numbers. */
export function plainAttributes(attributes: Json | undefined): { [key: string]: unknown } {
  return Object.fromEntries(objects(attributes).map(({ key, value }) => [String(key), plainValue(value)]));
}

function plainValue(value: Json | undefined): unknown {
  if (typeof value !== 'object' || Array.isArray(value)) return undefined;
  if (value.intValue !== undefined) return Number(value.intValue);
  if (value.arrayValue !== undefined) {
    return objects(objects([value.arrayValue])[0]?.values).map(each => plainValue(each));
  }
  if (value.kvlistValue !== undefined) return plainAttributes(objects([value.kvlistValue])[0]?.values);
  return Object.values(value)[0];
}

const objects = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value)
    ? value.filter((each): each is JsonObject => typeof each === 'object' && !Array.isArray(each))
    : [];
