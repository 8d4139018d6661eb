import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Destination, Target } from '../../src/config/destinations.ts';
import { newSigningKey, publicJwk, publicKeys, SIGNATURE, signingKey, verifyDetached } from '../../src/lib/jws.ts';
import type { Answer } from '../../src/ship/answer.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { authority } from '../certificates.ts';
import { type CollectorOptions, startCollector } from '../collector.ts';
import { destinationAt } from './memory-store.ts';
import { logs, namedSpans, record, traces } from './samples.ts';

const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const body = traces(namedSpans(3));

async function collector(options: CollectorOptions = {}) {
  const started = await startCollector(options);
  closing.push(() => started.close());
  return started;
}

function transport() {
  const made = createHttpTransport();
  closing.push(() => made.close());
  return made;
}

const at = (url: string, more: Partial<Target> = {}): Destination =>
  destinationAt(url, {
    signals: {
      traces: {
        url: `${url}/v1/traces`,
        headers: {},
        timeoutMs: 5_000,
        gzip: true,
        protocol: 'http/protobuf',
        tls: {},
        ...more,
      },
    },
  });

/** A server of bare bytes. */
async function raw(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
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

const send = (destination: Destination, bytes: Uint8Array = body): Promise<Answer> =>
  transport().send(destination, 'traces', bytes);

describe('events', () => {
  const lines = Buffer.from('{"a":1}\n{"b":2}\n');
  const target = { headers: { 'x-key': 'k' }, timeoutMs: 5_000, gzip: false, protocol: 'http/json', tls: {} } as const;
  const to = (url: string, sign?: string): Destination =>
    destinationAt(url, { signals: { events: { ...target, url: `${url}/in`, sign } } });

  it('are posted as the lines that they are', async () => {
    const { url, requests } = await collector();
    await transport().send(to(url), 'events', lines);
    expect(requests[0]).toMatchObject({
      path: '/in',
      headers: { 'content-type': 'application/vnd.agent-hooks.stream+jsonl', 'x-key': 'k' },
    });
    expect(requests[0]?.raw.equals(lines)).toBe(true);
    expect(requests[0]?.headers[SIGNATURE]).toBeUndefined();
  });

  it('are signed if a key is configured, and then never sent without a signature', async () => {
    const { url, requests } = await collector();
    const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-sign-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const key = join(folder, 'key.pem');
    const sent = () => transport().send(to(url, key), 'events', lines);
    expect(await sent()).toMatchObject({ failure: expect.stringMatching(/^signing key: ENOENT/) });
    writeFileSync(key, newSigningKey(), { mode: 0o644 });
    expect(await sent()).toEqual({ failure: 'signing key: others can read it' });
    chmodSync(key, 0o600);
    expect(requests).toEqual([]);
    await sent();
    const keys = publicKeys(JSON.stringify(publicJwk(signingKey(readFileSync(key, 'utf8')))));
    const signature = String(requests[0]?.headers[SIGNATURE]);
    expect(verifyDetached(requests[0]?.raw ?? body, signature, keys)).toMatchObject({ ok: true });
  });
});

describe('a request', () => {
  it('is one framed body, compressed, with the configured headers and our name', async () => {
    const { url, requests, spans } = await collector();
    await send(at(url, { headers: { 'x-key': 'a b', 'user-agent': 'mine/1' } }));
    const [request] = requests;
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/v1/traces');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
      'content-length': String(request?.raw.length),
      'x-key': 'a b',
    });
    expect(request?.headers['transfer-encoding']).toBeUndefined();
    expect(request?.headers['user-agent']).toMatch(/^mine\/1 otel-hooks\/\d/);
    expect(request?.body.equals(body)).toBe(true);
    expect(spans().map(span => span.name)).toEqual(['n0', 'n1', 'n2']);
  });

  it('is not compressed if the setting is `none`', async () => {
    const { url, requests } = await collector();
    await send(at(url, { gzip: false }));
    expect(requests[0]?.headers['content-encoding']).toBeUndefined();
    expect(requests[0]?.raw.equals(body)).toBe(true);
  });

  it('is JSON if the protocol is http/json', async () => {
    const { url, requests, spans } = await collector();
    await send(at(url, { protocol: 'http/json' }));
    expect(requests[0]?.headers['content-type']).toBe('application/json');
    expect(spans()).toHaveLength(3);
    expect(spans()[0]).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      resource: { 'service.name': 'a' },
    });
  });

  it('that cannot become JSON is refused like by a receiver', async () => {
    expect(await send(at('http://127.0.0.1:1', { protocol: 'http/json' }), Buffer.from('no protobuf'))).toMatchObject({
      status: 400,
    });
  });

  it('uses a connection that is kept', async () => {
    const ports = new Set<unknown>();
    const { url, requests } = await collector();
    const { send: sendOn } = transport();
    for (let i = 0; i < 3; i += 1) expect(await sendOn(at(url), 'traces', body)).toMatchObject({ status: 200 });
    for (const request of requests) ports.add(request.headers.connection);
    expect([...ports]).toEqual(['keep-alive']);
  });

  it('is sent again at once when the kept connection had just been closed', async () => {
    let connections = 0;
    const url = await raw(socket => {
      connections += 1;
      let answered = 0;
      socket.on('data', () => {
        answered += 1;
        if (answered === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        else socket.resetAndDestroy();
      });
    });
    const { send: sendOn } = transport();
    expect(await sendOn(at(url), 'traces', body)).toMatchObject({ status: 200 });
    expect(await sendOn(at(url), 'traces', body)).toMatchObject({ status: 200 });
    expect(connections).toBe(2);
  });

  it('with a line break in a header is not sent', async () => {
    const { url, requests } = await collector();
    expect(await send(at(url, { headers: { 'x-a': 'b\r\nx-c: d' } }))).toEqual({ failure: 'ERR_INVALID_CHAR' });
    expect(requests).toHaveLength(0);
  });
});

describe('an answer', () => {
  it('does not come from a port without a listener', async () => {
    const { url, close } = await startCollector();
    await close();
    expect(await send(at(url))).toEqual({ failure: 'ECONNREFUSED' });
  });

  it('never comes from a connection that is reset', async () => {
    const { url } = await collector({ answer: () => 'reset' });
    expect(await send(at(url))).toEqual({ failure: 'ECONNRESET' });
  });

  it('is waited for no longer than the time limit', async () => {
    const { url } = await collector({ answer: () => 'hang' });
    expect(await send(at(url, { timeoutMs: 50 }))).toEqual({ failure: 'timeout' });
  });

  it('that arrives slowly is cut off at the same limit, and its status counts', async () => {
    const url = await raw(socket => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
        const timer = setInterval(() => socket.write('x'), 10);
        socket.on('close', () => clearInterval(timer));
      });
    });
    expect(await send(at(url, { timeoutMs: 100 }))).toMatchObject({ status: 200, body: undefined });
  });

  it('that ends in the middle counts by its status', async () => {
    const url = await raw(socket => {
      socket.on('data', () => socket.end('HTTP/1.1 503 No\r\nretry-after: 7\r\ncontent-length: 1000\r\n\r\nhalf'));
    });
    expect(await send(at(url))).toMatchObject({ status: 503, retryAfter: '7', body: undefined });
  });

  it('does not count if it comes before the request is complete, and is incomplete', async () => {
    const url = await raw(socket => {
      socket.pause();
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf');
    });
    const large = Buffer.alloc(16 * 1024 * 1024);
    expect(await send(at(url, { timeoutMs: 300, gzip: false }), large)).toEqual({ failure: 'timeout' });
  });

  it('that is not HTTP does not count', async () => {
    const url = await raw(socket => {
      socket.on('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    });
    expect(await send(at(url))).toMatchObject({ failure: expect.stringMatching(/^HPE_/) });
  });

  it.each([
    'Client sent an HTTP request to an HTTPS server.\n',
    '<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>',
    "<p>Reason: You're speaking plain HTTP to an SSL-enabled server port.</p>",
    'Bad Request\r\nThis combination of host and port requires TLS.\r\n',
  ])('that asks for TLS is about the connection, not about the body: %j', async says => {
    const { url } = await collector({ answer: () => ({ raw: `HTTP/1.1 400 Bad Request\r\n\r\n${says}` }) });
    expect(await transport().send(at(url), 'traces', body)).toEqual({ failure: 'ERR_TLS_EXPECTED' });
  });

  it('of 100 MB is read no further than 4 MiB, and its status counts', async () => {
    let written = 0;
    const url = await raw(socket => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${100 * 1024 * 1024}\r\n\r\n`);
      const part = Buffer.alloc(64 * 1024);
      const push = (): void => {
        while (!socket.destroyed && written < 100 * 1024 * 1024) {
          written += part.length;
          if (!socket.write(part)) break;
        }
      };
      socket.on('drain', push);
      push();
    });
    expect(await send(at(url))).toMatchObject({ status: 200, body: undefined });
    expect(written).toBeLessThan(50 * 1024 * 1024);
  });

  it('that unpacks to more than 4 MiB is not unpacked, and its status counts', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const { url } = await collector({
      answer: () => ({ status: 200, headers: { 'content-encoding': 'gzip' }, body: bomb }),
    });
    expect(await send(at(url))).toMatchObject({ status: 200, body: undefined });
  });

  it('that is compressed is unpacked', async () => {
    const { url } = await collector({
      answer: () => ({
        status: 200,
        headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' },
        body: gzipSync('{}'),
      }),
    });
    expect(await send(at(url))).toMatchObject({ status: 200, isJson: true, body: Buffer.from('{}') });
  });

  it('that is a redirect is not followed', async () => {
    const other = await collector();
    const { url } = await collector({
      answer: () => ({ status: 307, headers: { location: `${other.url}/v1/traces` } }),
    });
    expect(await send(at(url, { headers: { authorization: 'Bearer secret' } }))).toMatchObject({ status: 307 });
    expect(other.requests).toHaveLength(0);
  });

  it('passes on its Retry-After', async () => {
    const { url } = await collector({ answer: () => ({ status: 503, headers: { 'retry-after': '7' } }) });
    expect(await send(at(url))).toMatchObject({ status: 503, retryAfter: '7' });
  });
});

describe('TLS', () => {
  let folder = '';
  const pem = (name: string): string => join(folder, name);
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'otel-hooks-tls-'));
    const ca = await authority('test ca');
    const [server, client] = [await ca.server('127.0.0.1'), await ca.client('client')];
    for (const [name, text] of Object.entries({
      'ca.pem': ca.cert,
      'server.pem': server.cert,
      'server.key': server.key,
      'client.pem': client.cert,
      'client.key': client.key,
    }))
      writeFileSync(pem(name), text);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const tlsCollector = (asksForCertificate = false) =>
    collector({
      tls: {
        key: readFileSync(pem('server.key')),
        cert: readFileSync(pem('server.pem')),
        ca: readFileSync(pem('ca.pem')),
        requestCert: asksForCertificate,
        rejectUnauthorized: asksForCertificate,
      },
    });

  it('trusts a server that the configured authority signed', async () => {
    const { url, requests } = await tlsCollector();
    expect(await send(at(url, { tls: { ca: pem('ca.pem') } }))).toMatchObject({ status: 200 });
    expect(requests).toHaveLength(1);
  });

  it('sends nothing to a server with an unknown authority', async () => {
    const { url, requests } = await tlsCollector();
    expect(await send(at(url))).toMatchObject({ failure: expect.stringMatching(/CERT|SIGN|VERIFY/) });
    expect(requests).toHaveLength(0);
  });

  it('S6 sends nothing to it although the environment would let Node', async () => {
    const { url, requests } = await tlsCollector();
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await send(at(url))).toMatchObject({ failure: expect.stringMatching(/CERT|SIGN|VERIFY/) });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
    expect(requests).toHaveLength(0);
  });

  it('sends nothing to a server of another name', async () => {
    const { url, requests } = await tlsCollector();
    const elsewhere = url.replace('127.0.0.1', 'localhost');
    expect(await send(at(elsewhere, { tls: { ca: pem('ca.pem') } }))).toEqual({
      failure: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(requests).toHaveLength(0);
  });

  it('shows our certificate to a server that asks for one', async () => {
    const { url, requests } = await tlsCollector(true);
    const without = await send(at(url, { tls: { ca: pem('ca.pem') } }));
    expect(without).toHaveProperty('failure');
    const own = { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') };
    expect(await send(at(url, { tls: own }))).toMatchObject({ status: 200 });
    expect(requests).toHaveLength(1);
  });

  it('names the certificate or key that cannot be used', async () => {
    expect(await send(at('https://127.0.0.1:1', { tls: { ca: pem('none.pem') } }))).toEqual({
      failure: `TLS file ${pem('none.pem')}: ENOENT`,
    });
    const garbled = { cert: pem('client.pem'), key: pem('ca.pem') };
    expect(await send(at('https://127.0.0.1:1', { tls: garbled }))).toEqual({
      failure: expect.stringContaining(`TLS file ${pem('client.pem')} or ${pem('ca.pem')}: ERR_OSSL_`),
    });
  });
});

it('sends records and spans to their own addresses', async () => {
  const { url, requests } = await collector();
  const { send: sendOn } = transport();
  await sendOn(destinationAt(url), 'logs', logs([record('x')]));
  await sendOn(destinationAt(url), 'traces', body);
  expect(requests.map(request => request.path)).toEqual(['/v1/logs', '/v1/traces']);
});
