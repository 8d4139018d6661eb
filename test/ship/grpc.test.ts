/** OTLP over gRPC: the form of calls, kept connections, TLS, proxies, and servers that misbehave. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, createServer as createHttp2, type ServerHttp2Stream } from 'node:http2';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Destination, Signal, Target } from '../../src/config/destinations.ts';
import { proxiesOf } from '../../src/config/proxies.ts';
import type { Answer } from '../../src/ship/answer.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { type Authority, authority, selfSigned } from '../certificates.ts';
import { startCollector } from '../collector.ts';
import { type GrpcAnswer, type GrpcOptions, grpcFrame, reply, startGrpcCollector } from '../grpc-collector.ts';
import { type ProxyOptions, startProxy } from '../http-proxy.ts';
import { destinationAt } from './memory-store.ts';
import { logs, metrics, namedSpans, record, sums, traces } from './samples.ts';

const HOST = 'collector.invalid';
const body = traces(namedSpans(3));
const closing: (() => unknown)[] = [];
let folder: string;
let ours: Authority;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-grpc-'));
  ours = await authority('ours');
  const client = await ours.client('client');
  for (const [name, text] of Object.entries({
    'ca.pem': ours.cert,
    'client.pem': client.cert,
    'client.key': client.key,
  }))
    writeFileSync(join(folder, name), text);
  return () => rmSync(folder, { recursive: true });
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const pem = (name: string): string => join(folder, name);

async function collector(options: GrpcOptions = {}) {
  const started = await startGrpcCollector(options);
  closing.push(() => started.close());
  return started;
}

const answering = (answer: GrpcAnswer) => collector({ answer: () => answer });

async function raw(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<{ destroy(): unknown }>();
  const server: Server = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

/** A firewall in front of a server. After `forget`, it drops all bytes of its connections without a word. */
async function firewall(to: string): Promise<{ url: string; forget(): void }> {
  const ends: Socket[] = [];
  const url = await raw(socket => {
    const server = connect(Number(new URL(to).port), '127.0.0.1');
    server.on('error', () => undefined);
    socket.pipe(server);
    server.pipe(socket);
    socket.on('close', () => server.destroy());
    ends.push(socket, server);
  });
  const forget = (): void => {
    for (const end of ends.splice(0)) end.unpipe().on('data', () => undefined);
  };
  return { url, forget };
}

const services = { traces: 'trace.v1.TraceService', metrics: 'metrics.v1.MetricsService', logs: 'logs.v1.LogsService' };
const at = (url: string, more: Partial<Target> = {}): Destination =>
  destinationAt(url, {
    signals: Object.fromEntries(
      Object.entries(services).map(([signal, service]): [string, Target] => [
        signal,
        {
          url: `${url}/opentelemetry.proto.collector.${service}/Export`,
          headers: {},
          timeoutMs: 5_000,
          gzip: true,
          protocol: 'grpc',
          tls: {},
          ...more,
        },
      ]),
    ),
  });

function sender(...parts: Parameters<typeof createHttpTransport>) {
  const transport = createHttpTransport(...parts);
  closing.push(() => transport.close());
  return (destination: Destination, signal: Signal = 'traces', bytes: Uint8Array = body): Promise<Answer> =>
    transport.send(destination, signal, bytes);
}

const send = (destination: Destination, bytes: Uint8Array = body): Promise<Answer> =>
  sender()(destination, 'traces', bytes);

const accepted = { code: 0, retryMs: undefined };

describe('a call', () => {
  it('has the bytes of the outbox, compressed, with metadata, a deadline and our name', async () => {
    const { url, requests, spans } = await collector();
    const headers = { 'x-key': 'a b', 'trace-bin': 'AAE=', 'user-agent': 'mine/1' };
    expect(await send(at(url, { headers }))).toMatchObject(accepted);
    const [request] = requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      headers: {
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-encoding': 'gzip',
        'grpc-accept-encoding': 'identity,gzip',
        'x-key': 'a b',
        'trace-bin': 'AAE=',
      },
    });
    expect(request?.headers['user-agent']).toMatch(/^mine\/1 otel-hooks\/\d/);
    const [, timeoutMs] = /^(\d+)m$/.exec(String(request?.headers['grpc-timeout'])) ?? [];
    expect(Number(timeoutMs)).toBeGreaterThan(0);
    expect(Number(timeoutMs)).toBeLessThanOrEqual(5_000);
    expect(request?.raw[0]).toBe(1);
    expect(request?.body.equals(body)).toBe(true);
    expect(spans().map(span => span.name)).toEqual(['n0', 'n1', 'n2']);
  });

  it('is not compressed if the setting is `none`', async () => {
    const { url, requests } = await collector();
    expect(await send(at(url, { gzip: false }))).toMatchObject(accepted);
    expect(requests[0]?.headers['grpc-encoding']).toBeUndefined();
    expect(requests[0]?.raw.equals(grpcFrame(body))).toBe(true);
  });

  it('goes to the service of its signal, and all calls use one connection', async () => {
    const { url, requests, sessions } = await collector();
    const sendOn = sender();
    await sendOn(at(url), 'traces');
    await Promise.all([
      sendOn(at(url), 'logs', logs([record('x')])),
      sendOn(at(url), 'metrics', metrics(sums([['m', 1]]))),
    ]);
    expect(requests.map(({ signal }) => signal).sort()).toEqual(['logs', 'metrics', 'traces']);
    expect(sessions).toHaveLength(1);
  });

  it('of many at once opens one connection', async () => {
    const { url, requests, sessions } = await collector();
    const sendOn = sender();
    await Promise.all(Array.from({ length: 20 }, () => sendOn(at(url))));
    expect([requests.length, sessions.length]).toEqual([20, 1]);
  });
});

describe('an answer', () => {
  const partial = Buffer.concat([Buffer.from([0x0a, 11, 0x08, 2, 0x12, 7]), Buffer.from('too old')]);

  it('with a message is read', async () => {
    const { url } = await answering({ message: partial });
    expect(await send(at(url))).toEqual({ ...accepted, body: partial });
  });

  it('that is compressed is unpacked, if it is not larger than 4 MiB', async () => {
    const compressed =
      (bytes: Uint8Array): GrpcAnswer =>
      stream => {
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-encoding': 'gzip' },
          { waitForTrailers: true },
        );
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(grpcFrame(gzipSync(bytes), 1));
      };
    expect(await send(at((await answering(compressed(partial))).url))).toEqual({ ...accepted, body: partial });
    const bomb = await answering(compressed(Buffer.alloc(64 * 2 ** 20)));
    expect(await send(at(bomb.url))).toEqual({ ...accepted, body: undefined });
  });

  it('is read before the server has read the whole call', async () => {
    // The receiver of the other tests reads whole calls. This server reads nothing.
    const server = createHttp2();
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => undefined);
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '8' }, { endStream: true });
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const large = Buffer.alloc(24 * 2 ** 20);
    expect(await send(at(`http://127.0.0.1:${port}`, { gzip: false }), large)).toMatchObject({ code: 8 });
  });

  it.each<[string, GrpcAnswer, Answer]>([
    [
      'a message without a status: the server has accepted the call',
      stream => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
        stream.write(grpcFrame(Buffer.of()), () => stream.session?.destroy());
      },
      { ...accepted, body: undefined },
    ],
    [
      'a part of a message, and then nothing',
      stream => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
        stream.write(Buffer.from([0, 0, 0]));
      },
      { ...accepted, body: undefined },
    ],
    [
      'an endless message',
      stream => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
        const push = (): void => {
          if (!stream.destroyed && stream.write(Buffer.alloc(65_536))) setImmediate(push);
        };
        stream.on('drain', push);
        push();
      },
      { ...accepted, body: undefined },
    ],
    [
      'headers alone',
      stream => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      },
      { failure: 'timeout' },
    ],
    [
      'a status that is no number',
      stream => {
        reply(stream, { code: 14, trailers: { 'grpc-status': 'fine' } });
      },
      { failure: 'ECONNRESET' },
    ],
    ['a code that gRPC does not have', { code: 99 }, { code: 99, retryMs: undefined, body: Buffer.of() }],
    [
      'a page',
      stream => {
        stream.respond({ ':status': 200, 'content-type': 'text/html' });
        stream.end('<html>');
      },
      { failure: 'ERR_NO_GRPC' },
    ],
    [
      'a 503 of a load balancer',
      stream => {
        stream.respond({ ':status': 503, 'retry-after': '7' });
        stream.end('busy');
      },
      { status: 503, retryAfter: '7', body: undefined },
    ],
    [
      'a 401 of a gateway',
      stream => {
        stream.respond({ ':status': 401 }, { endStream: true });
      },
      { status: 401, retryAfter: undefined, body: undefined },
    ],
    ['a reset stream', stream => stream.close(constants.NGHTTP2_INTERNAL_ERROR), { failure: 'ERR_HTTP2_STREAM_ERROR' }],
    ['no answer', 'hang', { failure: 'timeout' }],
    [
      'endless headers',
      stream => {
        const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`x-${i}`, 'y'.repeat(20)]));
        stream.respond({ ':status': 200, ...many });
      },
      { failure: expect.any(String) as unknown as string },
    ],
  ])('%s', async (_, answer, expected) => {
    const { url } = await answering(answer);
    const timeoutMs = JSON.stringify(expected).includes('timeout') || _.includes('then nothing') ? 300 : 5_000;
    expect(await send(at(url, { timeoutMs }))).toEqual(expected);
  });
});

describe('a connection', () => {
  it('that ends is replaced, and the call is repeated once', async () => {
    const { url, requests, sessions } = await collector({ answer: (_, index) => (index === 1 ? 'reset' : {}) });
    const sendOn = sender();
    for (const _ of [1, 2, 3]) expect(await sendOn(at(url))).toMatchObject(accepted);
    expect([requests.length, sessions.length]).toEqual([4, 2]);
  });

  it('that is new and ends is a failure: the server may have taken the call', async () => {
    const { url, requests } = await answering('reset');
    expect(await send(at(url))).toMatchObject({ failure: expect.stringMatching(/ECONNRESET|ERR_HTTP2/) });
    expect(requests).toHaveLength(1);
  });

  it('is left after a GOAWAY, and the call that it still answers counts', async () => {
    const { url, requests, sessions } = await collector({
      answer: () => (stream, session) => {
        session.goaway();
        setTimeout(() => reply(stream, {}), 20);
      },
    });
    const sendOn = sender();
    for (const _ of [1, 2, 3]) expect(await sendOn(at(url))).toMatchObject(accepted);
    expect([requests.length, sessions.length]).toEqual([3, 3]);
  });

  it('whose GOAWAY leaves the call out is replaced, and the call is repeated', async () => {
    const { url, requests, sessions } = await collector({
      // The streams of a client are 1, 3, 5 and so on.
      answer: (_, index) => (index !== 1 ? {} : (_stream, session) => session.goaway(constants.NGHTTP2_NO_ERROR, 1)),
    });
    const sendOn = sender();
    for (const _ of [1, 2]) expect(await sendOn(at(url))).toMatchObject(accepted);
    expect([requests.length, sessions.length]).toEqual([3, 2]);
  });

  it('that refuses the stream is used again, once', async () => {
    const { url, requests } = await answering(stream => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    expect(await send(at(url))).toEqual({ failure: 'ERR_HTTP2_STREAM_ERROR' });
    expect(requests).toHaveLength(2);
  });

  it('that the server ends with an error is a failure', async () => {
    const { url } = await answering((_, session) => session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM));
    expect(await send(at(url))).toEqual({ failure: 'ERR_HTTP2_SESSION_ERROR' });
  });

  it('that was idle is tried with a PING, and replaced if the server does not answer it', async () => {
    const { url, sessions, pings } = await collector();
    const wall = await firewall(url);
    const sendOn = sender(undefined, { afterMs: 60, withinMs: 400 });
    const idle = () => new Promise(resolve => setTimeout(resolve, 80));
    await sendOn(at(wall.url));
    await idle();
    await sendOn(at(wall.url));
    expect([pings(), sessions.length]).toEqual([1, 1]);
    wall.forget();
    await idle();
    expect(await sendOn(at(wall.url))).toMatchObject(accepted);
    expect(sessions).toHaveLength(2);
  });

  it('on which a call found no answer is tried with a PING first', async () => {
    const { url, sessions } = await collector();
    const wall = await firewall(url);
    const sendOn = sender(undefined, { afterMs: 60_000, withinMs: 400 });
    await sendOn(at(wall.url));
    wall.forget();
    expect(await sendOn(at(wall.url, { timeoutMs: 200 }))).toEqual({ failure: 'timeout' });
    expect(await sendOn(at(wall.url))).toMatchObject(accepted);
    expect(sessions).toHaveLength(2);
  });

  it('of a call that waits gets two PINGs, and is ended without an answer to them', async () => {
    const { url, requests, sessions, pings } = await answering('hang');
    const wall = await firewall(url);
    const sendOn = sender(undefined, { afterMs: 40, withinMs: 400 });
    expect(await sendOn(at(wall.url, { timeoutMs: 600 }))).toEqual({ failure: 'timeout' });
    expect([pings(), sessions.length]).toEqual([2, 1]);

    const cut = sendOn(at(wall.url, { timeoutMs: 60_000 }));
    await expect.poll(() => requests.length).toBe(2);
    wall.forget();
    expect(await cut).toEqual({ failure: 'timeout' });
  });
});

describe('a server of another protocol', () => {
  it.each<[string, () => Promise<string>, string | RegExp]>([
    [
      'OTLP over HTTP',
      async () => {
        const server = await startCollector();
        closing.push(() => server.close());
        return server.url;
      },
      'ERR_NO_HTTP2',
    ],
    ['garbage', () => raw(socket => socket.end('what?\r\n'.repeat(9))), 'ERR_NO_HTTP2'],
    ['nothing, and an end', () => raw(socket => socket.end()), 'ERR_NO_HTTP2'],
    ['nothing at all', () => raw(() => undefined), 'timeout'],
    [
      'TLS',
      async () => (await collector({ tls: await ours.server('127.0.0.1') })).url.replace('https', 'http'),
      /ERR_NO_HTTP2|ECONNRESET/,
    ],
    ['no TLS', async () => (await collector()).url.replace('http', 'https'), 'ERR_SSL_WRONG_VERSION_NUMBER'],
    [
      'OTLP over HTTP with TLS',
      async () => {
        const server = await startCollector({ tls: await ours.server('127.0.0.1') });
        closing.push(() => server.close());
        return server.url;
      },
      /ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL|ERR_NO_HTTP2/,
    ],
    ['no listener', async () => 'http://127.0.0.1:1', 'ECONNREFUSED'],
    ['an unknown name', async () => 'http://no-such-host.invalid:4317', /ENOTFOUND|EAI_AGAIN/],
  ])('%s', async (_, address, failure) => {
    const answer = await send(
      at(await address(), { timeoutMs: failure === 'timeout' ? 300 : 5_000, tls: { ca: pem('ca.pem') } }),
    );
    expect(answer).toEqual({ failure: typeof failure === 'string' ? failure : expect.stringMatching(failure) });
  });
});

describe('TLS', () => {
  it('trusts a server that the configured authority signed, and only with its name', async () => {
    const { url, requests } = await collector({ tls: await ours.server('127.0.0.1') });
    expect(await send(at(url))).toEqual({ failure: expect.stringMatching(/CERT|SIGN|VERIFY/) });
    const tls = { ca: pem('ca.pem') };
    expect(await send(at(url.replace('127.0.0.1', 'localhost'), { tls }))).toEqual({
      failure: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(requests).toHaveLength(0);
    expect(await send(at(url, { tls }))).toMatchObject(accepted);
  });

  it('shows our certificate to a server that asks for one', async () => {
    const tls = { ...(await ours.server('127.0.0.1')), ca: ours.cert, requestCert: true, rejectUnauthorized: true };
    const { url, requests } = await collector({ tls });
    expect(await send(at(url, { tls: { ca: pem('ca.pem') } }))).toEqual({
      failure: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    });
    const own = { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') };
    expect(await send(at(url, { tls: own }))).toMatchObject(accepted);
    expect(requests).toHaveLength(1);
  });

  it('names the file that cannot be used', async () => {
    expect(await send(at('https://127.0.0.1:1', { tls: { ca: pem('none.pem') } }))).toEqual({
      failure: `TLS file ${pem('none.pem')}: ENOENT`,
    });
  });
});

describe('a proxy', () => {
  async function proxy(options: ProxyOptions) {
    const started = await startProxy(options);
    closing.push(() => started.close());
    return started;
  }
  const portOf = (url: string): number => Number(new URL(url).port);
  const through = (way: string, values = {}) => sender(() => proxiesOf(values, { ALL_PROXY: way }));

  it.each([false, true])('opens one tunnel for all calls, with TLS of the server: %s', async isSecure => {
    const server = await collector(isSecure ? { tls: await ours.server(HOST) } : {});
    const way = await proxy({ to: portOf(server.url), auth: 'me:secret' });
    const sendOn = through(way.url.replace('//', '//me:secret@'));
    const url = `http${isSecure ? 's' : ''}://${HOST}:4317`;
    for (const _ of [1, 2]) expect(await sendOn(at(url, { tls: { ca: pem('ca.pem') } }))).toMatchObject(accepted);
    expect(way.asked).toEqual([`CONNECT ${HOST}:4317`]);
    expect(server.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('with TLS, which shows certificates of its own', async () => {
    const theirs = await authority('theirs');
    writeFileSync(pem('theirs.pem'), theirs.cert);
    const server = await collector({ tls: await theirs.server(HOST) });
    const way = await proxy({ to: portOf(server.url), tls: await theirs.server('127.0.0.1') });
    expect(await through(way.url)(at(`https://${HOST}:4317`))).toEqual({
      failure: expect.stringContaining(`proxy ${way.url}: UNABLE_TO_VERIFY`),
    });
    const trusting = through(way.url, { 'proxy.ca': pem('theirs.pem') });
    // A proxy that inspects TLS shows such certificates for servers too.
    expect(await trusting(at(`https://${HOST}:4317`))).toMatchObject(accepted);
    expect(await trusting(at('https://other.invalid:4317'))).toEqual({
      failure: `ERR_TLS_CERT_ALTNAME_INVALID behind proxy ${way.url}`,
    });
  });

  it('that refuses is named', async () => {
    const way = await proxy({ to: 1, auth: 'me:secret' });
    expect(await through(way.url)(at(`http://${HOST}:4317`))).toEqual({ failure: `proxy ${way.url}: 407` });
    const other = await startCollector();
    closing.push(() => other.close());
    const plain = await proxy({ to: portOf(other.url) });
    expect(await through(plain.url)(at(`http://${HOST}:4317`))).toEqual({
      failure: `ERR_NO_HTTP2 behind proxy ${plain.url}`,
    });
  });
});

it('a certificate that the server signed itself is trusted if it is named', async () => {
  const own = await selfSigned('127.0.0.1');
  writeFileSync(pem('own.pem'), own.cert);
  const { url } = await collector({ tls: own });
  expect(await send(at(url, { tls: { ca: pem('own.pem') } }))).toMatchObject(accepted);
});
