/**
 * Requests that a web page or a hostile client sends, over real sockets: the answer to each, and that no byte of them
 * is stored.
 */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bySize } from '../obligations/size.ts';
import { agentHooks, raw, type Standing, stand } from './standing.ts';

let at: Standing;
/** The server gives up bodies without end after a short time. */
let hurried: Standing;
let right: string;
beforeAll(async () => {
  at = await stand({ slowestMs: 1_500 });
  hurried = await stand({ slowestMs: 200 });
  right = `Authorization: ${at.welcome.authorization}`;
});
afterAll(async () => {
  await at.leave();
  await hurried.leave();
});

const event = JSON.stringify(agentHooks(1));
const JSON_TYPE = 'Content-Type: application/json';
const HOST = 'Host: 127.0.0.1';

const request = (
  headers: readonly string[],
  body: string | Buffer = event,
  line = 'POST /v1/events HTTP/1.1',
): Buffer => Buffer.concat([Buffer.from(`${[line, ...headers].join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
const length = (body: string | Buffer = event): string => `Content-Length: ${Buffer.byteLength(body)}`;
const chunked = (sizes: string): string => `${sizes}\r\n${event}\r\n0\r\n\r\n`;
const size = event.length.toString(16);
const whole = (): string[] => [HOST, right, JSON_TYPE, length(), 'Connection: close'];

const statusesIn = (answer: string): number[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code));
const send = async (bytes: Buffer): Promise<number[]> => statusesIn(await raw(at.server.url, bytes, 5_000));

/** Each is the complete good request with one change. */
type Attack = [what: string, bytes: () => Buffer, answers: number[]];
const swapped =
  (from: string, ...to: string[]) =>
  (): Buffer => {
    const headers = whole().flatMap(header => (header.startsWith(from) ? to : [header]));
    return request(headers);
  };
const added =
  (...more: string[]) =>
  (): Buffer =>
    request([...whole(), ...more]);

const attacks: { readonly [kind: string]: Attack[] } = {
  'DNS rebinding': [
    ['a name that an attacker owns', swapped('Host', 'Host: evil.example'), [421]],
    ['such a name with our port', swapped('Host', 'Host: evil.example:4319'), [421]],
    ['a name that begins like ours', swapped('Host', 'Host: localhost.evil.example'), [421]],
    ['an address as the beginning of a name', swapped('Host', 'Host: 127.0.0.1.evil.example'), [421]],
    ['a user before the name', swapped('Host', 'Host: localhost@evil.example'), [400, 421]],
    ['an address that is not ours', swapped('Host', 'Host: 0.0.0.0'), [421]],
    ['no name', swapped('Host', 'Host:'), [400, 421]],
    ['no Host at all', swapped('Host'), [400]],
    ['two names', swapped('Host', HOST, 'Host: evil.example'), [400, 421]],
    [
      'an older protocol without a name',
      () => request([right, JSON_TYPE, length()], event, 'POST /v1/events HTTP/1.0'),
      [421],
    ],
  ],
  'a web page': [
    ['an origin', added('Origin: https://evil.example'), [403]],
    ['the origin null', added('Origin: null'), [403]],
    ['our own origin', added('Origin: http://127.0.0.1'), [403]],
    ['a cross-site fetch', added('Sec-Fetch-Site: cross-site'), [403]],
    ['a same-site fetch', added('Sec-Fetch-Site: same-site'), [403]],
    ['a type without preflight: text', swapped('Content-Type', 'Content-Type: text/plain'), [415]],
    [
      'a type without preflight: a form',
      swapped('Content-Type', 'Content-Type: application/x-www-form-urlencoded'),
      [415],
    ],
    [
      'a type without preflight: parts',
      swapped('Content-Type', 'Content-Type: multipart/form-data; boundary=x'),
      [415],
    ],
    ['no type', swapped('Content-Type'), [415]],
    [
      'a preflight',
      () =>
        request(
          [HOST, 'Origin: https://evil.example', 'Access-Control-Request-Method: POST', 'Connection: close'],
          '',
          'OPTIONS /v1/events HTTP/1.1',
        ),
      [403],
    ],
    [
      'a websocket',
      () => request([HOST, right, 'Upgrade: websocket', 'Connection: Upgrade'], '', 'GET /v1/events HTTP/1.1'),
      [405],
    ],
  ],
  credentials: [
    ['none', swapped('Authorization'), [401]],
    [
      'in the address',
      () =>
        request(
          whole().filter(each => each !== right),
          event,
          `POST /v1/events?access_token=${right.slice(22)} HTTP/1.1`,
        ),
      [401],
    ],
    ['twice, the first one right', () => swapped('Authorization', right, 'Authorization: Bearer x')(), [401]],
    ['twice, the second one right', () => swapped('Authorization', 'Authorization: Bearer x', right)(), [401]],
    [
      'twice in one header',
      () => request(whole().map(each => (each === right ? `${right}, ${right.slice(15)}` : each))),
      [401],
    ],
    ['for a proxy', () => request(whole().map(each => (each === right ? `Proxy-${right}` : each))), [401]],
    [
      'in a cookie',
      () => request(whole().map(each => (each === right ? `Cookie: token=${right.slice(22)}` : each))),
      [401],
    ],
    [
      'by another scheme',
      () => request(whole().map(each => (each === right ? right.replace('Bearer', 'Basic') : each))),
      [401],
    ],
    [
      'with a tab',
      () => request(whole().map(each => (each === right ? right.replace('Bearer ', 'Bearer\t') : each))),
      [401],
    ],
    [
      'without its last letter',
      () => request(whole().map(each => (each === right ? right.slice(0, -1) : each))),
      [401],
    ],
    [
      'in another case',
      () =>
        request(
          whole().map(each => (each === right ? `Authorization: Bearer ${right.slice(22).toUpperCase()}` : each)),
        ),
      [401],
    ],
  ],
  'the length of a body': [
    ['a length and chunks', () => request([...whole(), 'Transfer-Encoding: chunked'], chunked(size)), [400]],
    ['two lengths', added('Content-Length: 5'), [400]],
    ['a list of lengths', swapped('Content-Length', 'Content-Length: 5, 6'), [400]],
    ['a negative length', swapped('Content-Length', 'Content-Length: -1'), [400]],
    ['a length with a sign', swapped('Content-Length', 'Content-Length: +5'), [400]],
    ['a length in hexadecimal', swapped('Content-Length', 'Content-Length: 0x10'), [400]],
    ['a length beyond every number', swapped('Content-Length', `Content-Length: ${'9'.repeat(40)}`), [400, 413]],
    ['a length above the limit', swapped('Content-Length', 'Content-Length: 999999999'), [413]],
    [
      'blanks before a colon',
      () => request([HOST, right, JSON_TYPE, 'Transfer-Encoding : chunked', length(), 'Connection: close']),
      [400],
    ],
    [
      'a folded header',
      () => request([HOST, right, JSON_TYPE, 'Transfer-Encoding:\r\n chunked', 'Connection: close'], chunked(size)),
      [400],
    ],
    [
      'an unknown encoding',
      () => request([HOST, right, JSON_TYPE, 'Transfer-Encoding: xchunked', 'Connection: close'], chunked(size)),
      [400],
    ],
    [
      'chunks that are not last',
      () =>
        request([HOST, right, JSON_TYPE, 'Transfer-Encoding: chunked, identity', 'Connection: close'], chunked(size)),
      [400],
    ],
    [
      'a negative chunk',
      () => request([HOST, right, JSON_TYPE, 'Transfer-Encoding: chunked', 'Connection: close'], chunked('-5')),
      [400],
    ],
    [
      'a chunk with a prefix',
      () => request([HOST, right, JSON_TYPE, 'Transfer-Encoding: chunked', 'Connection: close'], chunked(`0x${size}`)),
      [400],
    ],
    [
      'a chunk beyond every number',
      () =>
        request([HOST, right, JSON_TYPE, 'Transfer-Encoding: chunked', 'Connection: close'], chunked('f'.repeat(20))),
      [400, 413],
    ],
    [
      'a chunk longer than it says',
      () => request([HOST, right, JSON_TYPE, 'Transfer-Encoding: chunked', 'Connection: close'], chunked('5')),
      [400],
    ],
    [
      'an extension of a chunk without end',
      () =>
        request(
          [HOST, right, JSON_TYPE, 'Transfer-Encoding: chunked', 'Connection: close'],
          chunked(`${size};${'x'.repeat(100_000)}`),
        ),
      [400, 413, 431],
    ],
    [
      'a body that ends early',
      () => request([HOST, right, JSON_TYPE, length(`${event}xx`), 'Connection: close']),
      [408],
    ],
  ],
  heads: [
    ['a header of 100 KB', added(`X: ${'x'.repeat(100_000)}`), [431]],
    ['3,000 headers', added(...Array.from({ length: 3_000 }, (_, i) => `X-${i}: y`)), [431]],
    [
      'an address of 100 KB',
      () => request(whole(), event, `POST /v1/events?${'x'.repeat(100_000)} HTTP/1.1`),
      [414, 431],
    ],
    ['a NUL', added('X: a\0b'), [400]],
    ['a bare line feed in a value', added('X: a\nAuthorization: b'), [400]],
    ['no protocol', () => request(whole(), event, 'POST /v1/events'), [400]],
    ['HTTP/2 in clear text', () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), [400]],
    ['TLS where none is', () => Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3, 13, 10, 13, 10]), [400]],
    [
      'an address of another server',
      () => request(whole(), event, 'POST http://evil.example/v1/events HTTP/1.1'),
      [404],
    ],
    ['a path that climbs', () => request(whole(), event, 'POST /hooks/../v1/events HTTP/1.1'), [404]],
    ['an unknown method', () => request(whole(), event, 'BREW /v1/events HTTP/1.1'), [400]],
    ['TRACE', () => request([HOST, right, 'Connection: close'], '', 'TRACE /v1/events HTTP/1.1'), [405]],
    ['an expectation that is unknown', added('Expect: the-unexpected'), [417]],
    [
      'an expectation without a token',
      () => request([...whole().filter(each => each !== right), 'Expect: 100-continue']),
      [401],
    ],
  ],
  'compressed bodies': [
    [
      'a bomb',
      () => {
        const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 0x20));
        return request([HOST, right, JSON_TYPE, 'Content-Encoding: gzip', length(bomb), 'Connection: close'], bomb);
      },
      [413],
    ],
    ['a coding of a coding', added('Content-Encoding: gzip, gzip'), [415]],
    [
      'a coding of the transfer',
      () =>
        request(
          [HOST, right, JSON_TYPE, 'Transfer-Encoding: gzip, chunked', 'Connection: close'],
          Buffer.concat([
            Buffer.from(`${gzipSync(event).length.toString(16)}\r\n`),
            gzipSync(event),
            Buffer.from('\r\n0\r\n\r\n'),
          ]),
        ),
      [400],
    ],
  ],
};

describe.each(Object.entries(attacks))('%s', (_, all) => {
  it.each(all)('%s is refused, keeps nothing, and does not block other senders', async (_, bytes, answers) => {
    const before = at.fragments().length;
    const found = await send(bytes());
    expect(answers).toContain(found[0]);
    expect(found.slice(1).filter(status => status === 200)).toEqual([]);
    expect(at.fragments().length).toBe(before);
    expect(await send(request(whole()))).toEqual([200]);
    expect(at.fragments().length).toBe(before + 1);
  });
});

it('no answer lets a page of another origin read it', async () => {
  for (const [, bytes] of Object.values(attacks).flat().slice(0, 25))
    expect(await raw(at.server.url, bytes(), 5_000)).not.toMatch(/access-control-|set-cookie/i);
});

describe('several requests on one connection', () => {
  const kept = (): string[] => whole().filter(each => each !== 'Connection: close');

  it('that are sent without waiting are each answered and kept once', async () => {
    const before = at.fragments().length;
    const bytes = Buffer.concat([request(kept()), request(kept()), request(whole())]);
    expect(await send(bytes)).toEqual([200, 200, 200]);
    const lines = at
      .fragments()
      .slice(before)
      .flatMap(({ payload }) => payload.toString().trim().split('\n'));
    expect(lines).toHaveLength(3);
  });

  it('need the token each', async () => {
    const before = at.fragments().length;
    const without = request(whole().filter(each => each !== right));
    expect(await send(Buffer.concat([request(kept()), without]))).toEqual([200, 401]);
    expect(at.fragments().length).toBe(before + 1);
  });

  it('end with one whose body is refused: the bytes after it are not read as a request', async () => {
    const before = at.fragments().length;
    const refused = request([HOST, JSON_TYPE, `Content-Length: ${event.length + 5_000}`], event);
    const found = await send(Buffer.concat([refused, request(whole())]));
    expect(found).toEqual([401]);
    expect(at.fragments().length).toBe(before);
  });
});

it('600 senders that connect at the same moment all get an answer', { timeout: 60_000 }, async () => {
  const { hostname, port } = new URL(at.server.url);
  const one = (): Promise<string> =>
    new Promise(resolve => {
      let answer = '';
      const socket = connect(Number(port), hostname, () => setTimeout(() => socket.write(request(whole())), 100));
      socket.on('data', part => {
        answer += part.toString('latin1');
      });
      socket.on('error', error => {
        answer ||= String(error);
      });
      socket.on('close', () => resolve(answer.slice(9, 12)));
    });
  const answers = await Promise.all(Array.from({ length: 600 }, one));
  expect(answers.filter(answer => answer !== '200')).toEqual([]);
});

it('accepts no request after one whose answer closes the connection', async () => {
  const before = hurried.fragments().length;
  const refused: Parts = { ...good, credential: 'Authorization: Bearer x', body: '' };
  const found = statusesIn(
    await raw(
      hurried.server.url,
      Buffer.concat([asBytes(refused, false), asBytes(good, false), asBytes(good, true)]),
      5_000,
    ),
  );
  expect(found).toEqual([401]);
  expect(hurried.fragments().length).toBe(before);
});

it('requests at random are kept exactly when they are answered with 200', {
  timeout: bySize({ quick: 60_000, ci: 120_000, full: 1_200_000 }),
}, async () => {
  const line = fc.constantFrom(
    'POST /v1/events HTTP/1.1',
    'POST /hooks/codex HTTP/1.1',
    'GET /metrics HTTP/1.1',
    'POST /v1/events HTTP/1.0',
    'POST /../v1/events HTTP/1.1',
  );
  const host = fc.constantFrom(HOST, 'Host: localhost', 'Host: evil.example', 'Host: [::1]:1', 'Host:');
  const credential = fc.constantFrom('right', 'right', 'Authorization: Bearer x', 'X: y');
  const type = fc.constantFrom(
    JSON_TYPE,
    'Content-Type: application/cloudevents+json',
    'Content-Type: text/plain',
    'content-type:application/json;charset=utf-8',
  );
  const extra = fc.constantFrom(
    'Origin: null',
    'Content-Encoding: gzip',
    'Expect: 100-continue',
    'Sec-Fetch-Site: none',
    'X-\0: y',
    'Connection: upgrade',
    'ce-id: 1',
  );
  const body = fc.oneof(
    fc.constant(event),
    fc.constant(`[${event},${event}]`),
    fc.json(),
    fc.string({ unit: 'binary' }),
  );
  const framing = fc.constantFrom('length', 'length', 'chunks', 'both', 'short', 'none');
  const parts = fc.record({ line, host, credential, type, extras: fc.array(extra, { maxLength: 2 }), body, framing });
  await fc.assert(
    fc.asyncProperty(fc.array(parts, { minLength: 1, maxLength: 3 }), async all => {
      const before = hurried.fragments().length;
      const found = statusesIn(
        await raw(hurried.server.url, Buffer.concat(all.map((each, i) => asBytes(each, i === all.length - 1))), 5_000),
      );
      for (const status of found)
        expect([100, 200, 207, 400, 401, 403, 404, 405, 408, 413, 415, 417, 421, 431]).toContain(status);
      const isKept = hurried.fragments().length > before;
      if (isKept) expect(found.some(status => status === 200 || status === 207)).toBe(true);
      if (all.every(({ credential }) => credential !== 'right')) expect(isKept).toBe(false);
      expect(statusesIn(await raw(hurried.server.url, asBytes(good, true), 5_000))).toEqual([200]);
    }),
    { numRuns: bySize({ quick: 60, ci: 400, full: 20_000 }) },
  );
});

it('a request after an answer that closes the connection is not kept', async () => {
  const before = hurried.fragments().length;
  const refused = { ...good, line: 'GET /metrics HTTP/1.1', credential: 'X: y', extras: ['Expect: 100-continue'] };
  const sent = [asBytes(refused, false), asBytes(good, false), asBytes({ ...good, body: 'null' }, true)];
  expect(statusesIn(await raw(hurried.server.url, Buffer.concat(sent), 5_000))).toEqual([401]);
  expect(hurried.fragments().length).toBe(before);
});

const good: Parts = {
  line: 'POST /v1/events HTTP/1.1',
  host: HOST,
  credential: 'right',
  type: JSON_TYPE,
  extras: [],
  body: event,
  framing: 'length',
};

interface Parts {
  line: string;
  host: string;
  credential: string;
  type: string;
  extras: string[];
  body: string;
  framing: string;
}

function asBytes({ line, host, credential, type, extras, body, framing }: Parts, isLast: boolean): Buffer {
  const bytes = Buffer.from(body);
  const lengths = { length: bytes.length, both: bytes.length, short: Math.max(0, bytes.length - 3) }[framing];
  const isChunked = framing === 'chunks' || framing === 'both';
  const headers = [
    ...[host, credential === 'right' ? `Authorization: ${hurried.welcome.authorization}` : credential, type, ...extras],
    ...(lengths === undefined ? [] : [`Content-Length: ${lengths}`]),
    ...(isChunked ? ['Transfer-Encoding: chunked'] : []),
    ...(isLast ? ['Connection: close'] : []),
  ];
  const inChunks = [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')];
  return request(headers, isChunked ? Buffer.concat(inChunks) : bytes, line);
}
