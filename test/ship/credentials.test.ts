/** Headers that change: the output of a command, and tokens of a real token server. */
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Credentials } from '../../src/config/credentials.ts';
import type { Target } from '../../src/config/destinations.ts';
import type { Answer } from '../../src/ship/answer.ts';
import { createCredentials } from '../../src/ship/credentials.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { createWays } from '../../src/ship/ways.ts';
import { type CollectorOptions, type Received, startCollector } from '../collector.ts';
import { startGrpcCollector } from '../grpc-collector.ts';
import { destinationAt } from './memory-store.ts';
import { namedSpans, traces } from './samples.ts';

const body = traces(namedSpans(2));
const closing: (() => unknown)[] = [];
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-credentials-'));
  return () => rmSync(folder, { recursive: true });
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function collector(options: CollectorOptions = {}) {
  const started = await startCollector(options);
  closing.push(() => started.close());
  return started;
}

function sender(credentials: Credentials) {
  const transport = createHttpTransport();
  closing.push(() => transport.close());
  return (url: string, more: Partial<Target> = {}): Promise<Answer> => {
    const target = {
      url,
      headers: { a: 'b' },
      timeoutMs: 5_000,
      gzip: true,
      protocol: 'http/protobuf',
      tls: {},
    } as const;
    const traces = { ...target, credentials, ...more };
    return transport.send(destinationAt(url, { signals: { traces } }), 'traces', body);
  };
}

const authorizations = (requests: readonly Received[]) => requests.map(({ headers }) => headers.authorization);

describe('a command', () => {
  const node = (script: string): string[] => [process.execPath, '-e', script];
  const of = (command: string | string[], seconds = 300): Credentials => ({ kind: 'command', command, seconds });
  let number = 0;
  /** Prints another token each time. */
  function counting(): string[] {
    number += 1;
    const file = join(folder, `runs-${number}`);
    writeFileSync(file, '');
    return node(
      `const fs = require('fs'); fs.appendFileSync(${JSON.stringify(file)}, 'x');
       console.log('Authorization: Bearer token-' + fs.readFileSync(${JSON.stringify(file)}).length)`,
    );
  }
  const runsOf = (): number => readFileSync(join(folder, `runs-${number}`)).length;

  it.each<[string, string | string[], Record<string, string>]>([
    ['lines', node('console.log("X-A: 1\\r\\n\\nx-b:  two words ")'), { 'x-a': '1', 'x-b': 'two words' }],
    [
      'a JSON object',
      node('console.log(JSON.stringify({ Authorization: "Bearer a:b" }))'),
      { authorization: 'Bearer a:b' },
    ],
    ['lines of a shell', 'printf "x-a: %s\\n" "a b"', { 'x-a': 'a b' }],
  ])('may print %s', async (_, command, headers) => {
    const { url, requests } = await collector();
    expect(await sender(of(command))(url)).toMatchObject({ status: 200 });
    expect(requests[0]?.headers).toMatchObject({ a: 'b', ...headers });
  });

  it('runs once for the requests of its time, and again afterwards', async () => {
    let nowMs = 0;
    const source = createCredentials(createWays(), () => nowMs);
    const credentials = of(counting(), 10);
    const seen = async () => JSON.stringify(await source.headersOf(credentials, 1_000));
    const both = await Promise.all([seen(), seen()]);
    nowMs = 9_999;
    expect(new Set([...both, await seen()])).toEqual(new Set(['{"headers":{"authorization":"Bearer token-1"}}']));
    nowMs = 10_000;
    expect(await seen()).toContain('token-2');
  });

  it('runs again when the server refuses its token, once before the destination pauses', async () => {
    const { url, requests } = await collector({
      answer: ({ headers }) => ({ status: headers.authorization === 'Bearer token-1' ? 401 : 200 }),
    });
    const send = sender(of(counting()));
    for (const _ of [1, 2]) expect(await send(url)).toMatchObject({ status: 200 });
    expect(authorizations(requests)).toEqual(['Bearer token-1', 'Bearer token-2', 'Bearer token-2']);

    const closed = await collector({ answer: () => ({ status: 403 }) });
    expect(await sender(of(counting()))(closed.url)).toMatchObject({ status: 403 });
    expect([closed.requests.length, runsOf()]).toEqual([2, 2]);
  });

  it('gives metadata over gRPC, and runs again after UNAUTHENTICATED', async () => {
    const server = await startGrpcCollector({
      answer: ({ headers }) => ({ code: headers.authorization === 'Bearer token-2' ? 0 : 16 }),
    });
    closing.push(() => server.close());
    const url = `${server.url}/opentelemetry.proto.collector.trace.v1.TraceService/Export`;
    expect(await sender(of(counting()))(url, { protocol: 'grpc' })).toMatchObject({ code: 0 });
    expect(authorizations(server.requests)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it.each<[string, string | string[], string]>([
    ['fails', node('console.log("x-a: secret"); console.error("secret"); process.exit(3)'), 'it exited with 3'],
    ['is missing', [join(folder ?? '', 'no-such-program')], 'it could not be started (ENOENT)'],
    ['prints nothing', node(''), 'it printed nothing'],
    ['prints a word', node('console.log("secret")'), 'it printed a line without `name: value`'],
    ['prints half of an object', node('console.log("{\\"a\\": \\"secret")'), 'it printed JSON that is not valid'],
    ['prints numbers', node('console.log("{\\"a\\": 1}")'), 'it printed JSON that is not an object of texts'],
    [
      'prints a line break in a header',
      node('console.log(JSON.stringify({ a: "secret\\nb: c" }))'),
      'it printed a header that HTTP does not allow',
    ],
    [
      'prints a header of ours',
      node('console.log("Content-Length: 5")'),
      'it printed a header that otel-hooks sets itself',
    ],
    ['prints without end', node('for (;;) process.stdout.write("x".repeat(65536))'), 'it printed more than 64 KB'],
  ])('that %s keeps the body', async (_, command, why) => {
    const { url, requests } = await collector();
    expect(await sender(of(command))(url)).toEqual({ failure: `headers_command: ${why}` });
    expect(requests).toEqual([]);
  });
});

describe('a token server', () => {
  const secret = 'se cret:+%/';
  let server: ReturnType<typeof fork>;
  let address = '';
  beforeAll(async () => {
    server = fork(join(import.meta.dirname, '..', 'token-server.mjs'), ['me', secret], { silent: true });
    address = await new Promise<string>((resolve, reject) => {
      let printed = '';
      server.stdout?.on('data', part => {
        printed += part;
        const found = /listening (\S+)/.exec(printed)?.[1];
        if (found !== undefined) resolve(found);
      });
      server.once('exit', code => reject(new Error(`the token server exited with ${code}: ${printed}`)));
    });
  }, 60_000);
  afterAll(() => server.kill());

  const of = (more: Partial<Extract<Credentials, { kind: 'oauth' }>> = {}): Credentials => ({
    ...{ kind: 'oauth', tokenUrl: `${address}/token`, clientId: 'me', clientSecret: secret, auth: 'basic' },
    ...more,
  });

  async function asked(path: string, token: string): Promise<{ active?: boolean; scope?: string }> {
    const form = new URLSearchParams({ token, client_id: 'me-post', client_secret: secret });
    const answer = await fetch(`${address}${path}`, { method: 'POST', body: form });
    return answer.headers.get('content-type')?.includes('json') ? ((await answer.json()) as object) : {};
  }

  /** A collector that accepts the tokens that the token server knows. */
  async function guarded() {
    const scopes: unknown[] = [];
    const made = await collector({
      async answer({ headers }) {
        const token = String(headers.authorization).replace('Bearer ', '');
        const { active, scope } = await asked('/token/introspection', token);
        scopes.push(scope);
        return { status: active ? 200 : 401 };
      },
    });
    return { ...made, scopes };
  }

  it('gives one token for all requests, and another one after it was revoked', async () => {
    const { url, requests, scopes } = await guarded();
    const send = sender(of({ scope: 'telemetry', clientId: 'me-post', auth: 'post' }));
    for (const _ of [1, 2]) expect(await send(url)).toMatchObject({ status: 200 });
    expect(new Set(authorizations(requests)).size).toBe(1);
    expect(scopes).toEqual(['telemetry', 'telemetry']);
    await asked('/token/revocation', String(authorizations(requests)[0]).replace('Bearer ', ''));
    expect(await send(url)).toMatchObject({ status: 200 });
    expect([requests.length, new Set(authorizations(requests)).size]).toEqual([4, 2]);
  });

  it('gets the client in the header, encoded as the standard says', async () => {
    const { url } = await collector();
    expect(await sender(of())(url)).toMatchObject({ status: 200 });
  });

  it('that refuses keeps the body, and no secret is shown', async () => {
    const { url, requests } = await collector();
    const failure = (why: string) => ({ failure: `token server ${address}: ${why}` });
    expect(await sender(of({ clientSecret: 'wrong' }))(url)).toEqual(failure('401 invalid_client'));
    expect(await sender(of({ tokenUrl: `${address}/nowhere` }))(url)).toEqual(failure('404'));
    expect(requests).toEqual([]);
  });

  it.each<[string, { status: number; body?: string }, string]>([
    ['a page', { status: 200, body: '<html>' }, 'its answer has no access_token'],
    [
      'another type',
      { status: 200, body: '{"access_token":"secret","token_type":"mac"}' },
      'its token is not of the type Bearer',
    ],
    [
      'a line break',
      { status: 200, body: '{"access_token":"secret\\nb: c"}' },
      'its token makes a header that HTTP does not allow',
    ],
    ['a redirect', { status: 302 }, '302'],
    ['an error that repeats the secret', { status: 400, body: '{"error":"secret: se cret"}' }, '400'],
    ['too much', { status: 200, body: ' '.repeat(100_000) }, 'its answer is larger than 64 KB'],
  ])('that answers with %s keeps the body', async (_, answer, why) => {
    const odd = await collector({ answer: () => answer });
    const { url, requests } = await collector();
    const credentials = of({ tokenUrl: `${odd.url}/token` });
    expect(await sender(credentials)(url)).toEqual({ failure: `token server ${odd.url}: ${why}` });
    expect(requests).toEqual([]);
  });
});
