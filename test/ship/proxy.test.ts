/** Requests through HTTP proxies: the absolute form, tunnels, credentials, TLS on both ways, and what a proxy refuses. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Target } from '../../src/config/destinations.ts';
import { proxiesOf } from '../../src/config/proxies.ts';
import type { Values } from '../../src/config/schema.ts';
import type { Answer } from '../../src/ship/answer.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { verdictOf } from '../../src/ship/verdict.ts';
import { type Authority, authority } from '../certificates.ts';
import { type CollectorOptions, startCollector } from '../collector.ts';
import { startGrpcCollector } from '../grpc-collector.ts';
import { type ProxyOptions, startProxy } from '../http-proxy.ts';
import { needs } from '../needs.ts';
import { destinationAt } from './memory-store.ts';
import { namedSpans, traces } from './samples.ts';

/** A name that no machine has: only the proxy knows the way to it. */
const HOST = 'collector.invalid';
const body = traces(namedSpans(3));
const closing: (() => unknown)[] = [];
let folder: string;
let ours: Authority;
let theirs: Authority;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-proxy-'));
  ours = await authority('ours');
  theirs = await authority('theirs');
  writeFileSync(join(folder, 'ours.pem'), ours.cert);
  writeFileSync(join(folder, 'theirs.pem'), theirs.cert);
  return () => rmSync(folder, { recursive: true });
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function collector(options: CollectorOptions = {}) {
  const started = await startCollector(options);
  closing.push(() => started.close());
  return started;
}

async function proxy(options: ProxyOptions) {
  const started = await startProxy(options);
  closing.push(() => started.close());
  return started;
}

const portOf = (url: string): number => Number(new URL(url).port);

function sender(env: Record<string, string>, values: Values = {}) {
  const transport = createHttpTransport(() => proxiesOf(values, env));
  closing.push(() => transport.close());
  return (url: string, more: Partial<Target> = {}): Promise<Answer> => {
    const target = { url, headers: {}, timeoutMs: 5_000, gzip: true, protocol: 'http/protobuf', tls: {} } as const;
    return transport.send(destinationAt(url, { signals: { traces: { ...target, ...more } } }), 'traces', body);
  };
}

describe('a server without TLS', () => {
  it('gets the request in the absolute form, over a kept connection', async () => {
    const server = await collector();
    const way = await proxy({ to: portOf(server.url), auth: 'me:p@ss w%rd' });
    const send = sender({ HTTP_PROXY: way.url.replace('//', '//me:p%40ss%20w%rd@') });
    for (const _ of [1, 2]) expect(await send(`http://${HOST}:4318/v1/traces`)).toMatchObject({ status: 200 });
    expect(way.asked).toEqual(Array(2).fill(`POST http://${HOST}:4318/v1/traces`));
    expect(way.open()).toBe(1);
    expect(server.spans()).toHaveLength(6);
    expect(server.requests[0]?.headers).toMatchObject({ host: `${HOST}:4318` });
    expect(server.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('is reached through a proxy with TLS', async () => {
    const server = await collector();
    const tls = await theirs.server('127.0.0.1');
    const way = await proxy({ to: portOf(server.url), tls });
    const env = { HTTP_PROXY: way.url };
    expect(await sender(env)(`http://${HOST}/`)).toEqual({
      failure: expect.stringContaining(`proxy ${way.url}: UNABLE_TO_VERIFY`),
    });
    expect(await sender(env, { 'proxy.ca': join(folder, 'theirs.pem') })(`http://${HOST}/`)).toMatchObject({
      status: 200,
    });
  });

  it('passes its own answers on', async () => {
    const server = await collector({ answer: () => ({ status: 429, headers: { 'retry-after': '7' } }) });
    const way = await proxy({ to: portOf(server.url) });
    expect(await sender({ HTTP_PROXY: way.url })(`http://${HOST}/`)).toMatchObject({ status: 429, retryAfter: '7' });
  });
});

describe('a server with TLS', () => {
  it('is reached through a tunnel, which is used again', async () => {
    const server = await collector({ tls: await ours.server(HOST) });
    const way = await proxy({ to: portOf(server.url), auth: 'me:secret' });
    const send = sender({ HTTPS_PROXY: way.url.replace('//', '//me:secret@') });
    const tls = { ca: join(folder, 'ours.pem') };
    for (const _ of [1, 2]) expect(await send(`https://${HOST}/v1/traces`, { tls })).toMatchObject({ status: 200 });
    expect(way.asked).toEqual([`CONNECT ${HOST}:443`]);
    expect(server.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('shows its own certificate, which the proxy cannot replace', async () => {
    const server = await collector({ tls: await theirs.server(HOST) });
    const way = await proxy({ to: portOf(server.url) });
    const env = { HTTPS_PROXY: way.url };
    const tls = { ca: join(folder, 'ours.pem') };
    expect(await sender(env)(`https://${HOST}/`, { tls })).toEqual({
      failure: `UNABLE_TO_VERIFY_LEAF_SIGNATURE behind proxy ${way.url}`,
    });
    // The user trusts the authority of a proxy that inspects TLS.
    const trusting = sender(env, { 'proxy.ca': join(folder, 'theirs.pem') });
    expect(await trusting(`https://${HOST}/`, { tls })).toMatchObject({ status: 200 });
    expect(await trusting(`https://other.invalid/`, { tls })).toEqual({
      failure: `ERR_TLS_CERT_ALTNAME_INVALID behind proxy ${way.url}`,
    });
  });

  it('is reached through a proxy with TLS', async () => {
    const server = await collector({ tls: await ours.server(HOST) });
    const way = await proxy({ to: portOf(server.url), tls: await theirs.server('127.0.0.1') });
    const send = sender({ HTTPS_PROXY: way.url }, { 'proxy.ca': join(folder, 'theirs.pem') });
    expect(await send(`https://${HOST}/`, { tls: { ca: join(folder, 'ours.pem') } })).toMatchObject({ status: 200 });
  });
});

describe('a proxy that refuses', () => {
  it.for([407, 403, 400, 413, 502])('with %i keeps the body, for every address', async status => {
    const way = await proxy({ to: 1, auth: 'me:secret', connect: () => status });
    const env = { ALL_PROXY: status === 407 ? way.url : way.url.replace('//', '//me:secret@') };
    const answer = await sender(env)(`https://${HOST}/`);
    expect(answer).toEqual({ failure: `proxy ${way.url}: ${status}` });
    expect(verdictOf(answer, 0)).toMatchObject({ kind: 'retry' });
  });

  it('with 407 in the absolute form keeps the body', async () => {
    const way = await proxy({ to: 1, auth: 'me:secret' });
    expect(await sender({ HTTP_PROXY: way.url })(`http://${HOST}/`)).toEqual({ failure: `proxy ${way.url}: 407` });
  });

  it('by silence does not block later requests, and leaves no connection open', async () => {
    const server = await collector({ tls: await ours.server(HOST) });
    let isSilent = true;
    const way = await proxy({ to: portOf(server.url), connect: () => (isSilent ? 'hang' : 200) });
    const send = sender({ HTTPS_PROXY: way.url });
    const more = { tls: { ca: join(folder, 'ours.pem') } };
    for (let n = 0; n < 6; n++) {
      const answer = await send(`https://${HOST}/`, { ...more, timeoutMs: 60 });
      expect('failure' in answer && /timeout/.test(answer.failure)).toBe(true);
    }
    await expect.poll(() => way.open()).toBe(0);
    isSilent = false;
    expect(await send(`https://${HOST}/`, more)).toMatchObject({ status: 200 });
  });

  it('does not exist: the failure names it, without its password', async () => {
    const send = sender({ ALL_PROXY: 'http://me:secret@127.0.0.1:1' });
    for (const url of [`http://${HOST}/`, `https://${HOST}/`])
      expect(await send(url)).toEqual({ failure: 'proxy http://127.0.0.1:1: ECONNREFUSED' });
  });

  it('speaks no HTTP', async () => {
    const sockets = new Set<Socket>();
    const server = createServer(socket => {
      sockets.add(socket);
      socket.on('error', () => undefined).end(Buffer.alloc(100_000, 'x'));
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as { port: number };
    expect(await sender({ HTTPS_PROXY: `127.0.0.1:${port}` })(`https://${HOST}/`)).toEqual({
      failure: expect.stringMatching(`^proxy http://127.0.0.1:${port}: (HPE_|ECONNRESET|EPIPE)`),
    });
  });

  it('of a kind that is not supported: nothing is sent around it', async () => {
    const server = await collector();
    expect(await sender({ ALL_PROXY: 'socks5://127.0.0.1:1' })(`http://${HOST}:${portOf(server.url)}/`)).toEqual({
      failure: 'proxy of ALL_PROXY: socks5 proxies are not supported',
    });
    expect(server.requests).toEqual([]);
  });
});

it('squid passes requests and tunnels, with a password', { timeout: 60_000 }, async context => {
  needs(context, 'squid');
  const plain = await collector();
  const secure = await collector({ tls: await ours.server(HOST) });
  const squid = await startSquid();
  const tls = { ca: join(folder, 'ours.pem') };
  const send = sender({ ALL_PROXY: `http://me:secret@127.0.0.1:${squid.port}` });
  expect(await send(`http://${HOST}:${portOf(plain.url)}/v1/traces`)).toMatchObject({ status: 200 });
  expect(await send(`https://${HOST}:${portOf(secure.url)}/v1/traces`, { tls })).toMatchObject({ status: 200 });
  expect([plain.spans().length, secure.spans().length]).toEqual([3, 3]);
  for (const scheme of ['http', 'https']) {
    const server = await startGrpcCollector(scheme === 'https' ? { tls: await ours.server(HOST) } : {});
    closing.push(() => server.close());
    const url = `${scheme}://${HOST}:${portOf(server.url)}/opentelemetry.proto.collector.trace.v1.TraceService/Export`;
    expect(await send(url, { tls, protocol: 'grpc' }), scheme).toMatchObject({ code: 0 });
    expect(server.spans()).toHaveLength(3);
  }
  const wrong = sender({ ALL_PROXY: `http://me:wrong@127.0.0.1:${squid.port}` });
  for (const url of [`http://${HOST}:${portOf(plain.url)}/`, `https://${HOST}:${portOf(secure.url)}/`])
    expect(await wrong(url, { tls })).toEqual({ failure: `proxy http://127.0.0.1:${squid.port}: 407` });
});

/** Squid with a password, and a hosts file that leads the name of the server to this machine. */
async function startSquid(): Promise<{ port: number }> {
  const port = await freePort();
  const at = (name: string): string => join(folder, name);
  // If root starts squid, it runs as another user.
  chmodSync(folder, 0o755);
  writeFileSync(at('hosts'), `127.0.0.1 ${HOST}\n`);
  writeFileSync(
    at('ask'),
    '#!/bin/sh\nwhile read -r line; do [ "$line" = "me secret" ] && echo OK || echo ERR; done\n',
    {
      mode: 0o755,
    },
  );
  const lines = [
    `http_port 127.0.0.1:${port}`,
    `hosts_file ${at('hosts')}`,
    `pid_filename ${at('squid.pid')}`,
    'access_log none',
    'cache_log /dev/null',
    'cache deny all',
    'memory_cache_shared off',
    'max_filedescriptors 256',
    'shutdown_lifetime 0 seconds',
    `auth_param basic program /bin/sh ${at('ask')}`,
    'auth_param basic children 1',
    'acl known proxy_auth REQUIRED',
    'http_access allow known',
    'http_access deny all',
  ];
  writeFileSync(at('squid.conf'), `${lines.join('\n')}\n`);
  const child = spawn('squid', ['-N', '-n', `t${port}`, '-f', at('squid.conf')], { stdio: 'ignore', cwd: folder });
  closing.push(async () => {
    const ended = new Promise(resolve => child.once('exit', resolve));
    // After SIGKILL it would leave shared memory behind.
    if (child.exitCode === null && child.kill('SIGTERM')) await ended;
  });
  await expect.poll(() => isOpen(port), { timeout: 30_000 }).toBe(true);
  return { port };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}

function isOpen(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
