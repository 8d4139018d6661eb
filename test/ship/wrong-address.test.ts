/**
 * Common mistakes in an address: each is reported with its cause and the next step, no data is lost, and all of it
 * arrives after the correction.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { imbalances, readStatusBooks, type StatusBooks } from '../../src/deliver/status-books.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { openStore } from '../../src/store/store.ts';
import { type Certified, selfSigned } from '../certificates.ts';
import { type CollectorOptions, startCollector } from '../collector.ts';
import { ranIn } from '../commands/ran.ts';
import { START_MS } from '../play.ts';

let own: Certified;
let home = '';
let state = '';
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  own = await selfSigned('localhost');
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'wrong-address-'));
  state = join(home, '.local', 'state', 'otel-hooks');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
  hooked('w-1', 'SessionStart', 'SessionEnd');
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(home, { recursive: true, force: true });
});

let nowMs = START_MS + 3_600_000;
let hooks = 0;
function hooked(session: string, ...events: string[]): void {
  for (const event of events) {
    hooks += 1;
    const unique = `00000000-0000-4000-8000-${String(hooks).padStart(12, '0')}`;
    const header = { tool: 'claude-code', ppid: '1', at: String(START_MS + hooks * 1_000) };
    const payload = { session_id: session, cwd: home, hook_event_name: event, source: 'startup', reason: 'other' };
    const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
    writeFileSync(join(state, 'inbox', fragmentName('0000beef', String(1_000 + hooks), 100, unique)), bytes);
  }
}

interface Outcome {
  code: number;
  stderr: string;
  books: StatusBooks;
}

/** On a busy machine the time of one delivery may be over before its first request. */
async function delivered(otlp: object, other: object = {}): Promise<Outcome> {
  for (let i = 0; ; i += 1) {
    const outcome = await deliveredOnce({ provider: 'otlp', otlp, ...other });
    if (outcome.code === 0 || outcome.stderr !== '' || i === 30) return outcome;
  }
}

async function deliveredOnce(config: object): Promise<Outcome> {
  mkdirSync(join(home, '.config', 'otel-hooks'), { recursive: true });
  writeFileSync(join(home, '.config', 'otel-hooks', 'config.json'), JSON.stringify(config));
  // Shorter than the wait before a second try.
  nowMs += 60_000;
  const { code, err } = await ranIn(home, ['deliver', '--wait', '900ms'], { now: () => nowMs });
  const store = openStore({ folder: state, access: 'read' });
  const books = readStatusBooks(store);
  store.close();
  expect(imbalances(books)).toEqual([]);
  return { code, stderr: err.replaceAll('\n  next: ', ' => '), books };
}

async function answering(answer: CollectorOptions['answer'], isSecure = false): Promise<string> {
  const [key, cert] = [own.key, own.cert].map(text => Buffer.from(text));
  const collector = await startCollector({ answer, ...(isSecure ? { tls: { key, cert } } : {}) });
  closing.push(() => collector.close());
  return collector.url;
}

/** A SETTINGS frame: the first frame of HTTP/2, and so of gRPC. */
const SETTINGS = Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0);
const plain = (): Promise<string> => answering(() => ({ status: 200 }));
const secured = (): Promise<string> => answering(() => ({ status: 200 }), true);

test.each<[string, () => Promise<string> | string, RegExp]>([
  ['an address without a listener', () => 'http://127.0.0.1:9', /:9 .*ECONNREFUSED.*kept.* => .*correct the port/],
  ['a port of gRPC', () => answering(() => ({ raw: SETTINGS })), /HPE_.*kept.* => .*gRPC.*4318/],
  ['missing credentials', () => answering(() => ({ status: 401 })), /credentials \(401\).*kept.* => .*otlp\.headers/],
  ['an unknown path', () => answering(() => ({ status: 404 })), /\(404\).*kept.* => correct the endpoint/],
  [
    'https where http is spoken',
    async () => (await plain()).replace('http:', 'https:'),
    /EPROTO.*kept.* => .*http:\/\//,
  ],
  [
    'http where https is spoken',
    async () => (await secured()).replace('https:', 'http:'),
    /ECONNRESET.*kept.* => .*https:\/\//,
  ],
  [
    'http for a server with https that reports it',
    () =>
      answering(() => ({ raw: 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n' })),
    /ERR_TLS_EXPECTED.*kept.* => .*https:\/\//,
  ],
  ['a self-signed certificate', secured, /SELF_SIGNED.*kept.* => .*otlp\.certificate/],
])('%s', async (_, endpoint, expected) => {
  const { code, stderr: says, books } = await delivered({ endpoint: await endpoint() });
  expect(code).toBe(1);
  expect(says).toMatch(expected);
  expect(says).toContain('otel-hooks deliver');
  const [wrong] = books.destinations;
  expect(wrong?.spans.produced).toBeGreaterThan(0);
  expect([wrong?.spans.waiting, wrong?.logs.waiting]).toEqual([wrong?.spans.produced, wrong?.logs.produced]);

  const collector = await startCollector();
  closing.push(() => collector.close());
  const later = await delivered({ endpoint: collector.url });
  expect(later).toMatchObject({ code: 0, stderr: '' });
  expect(collector.spans().length).toBe(wrong?.spans.produced);
  expect(collector.records().length).toBe(wrong?.logs.produced);
  expect(collector.metrics().length).toBeGreaterThan(0);
});

test('the state of a former address stays with it when another one is configured', async () => {
  const former = await startCollector();
  closing.push(() => former.close());
  await delivered({ endpoint: former.url });
  await former.stop();
  hooked('w-2', 'SessionStart', 'SessionEnd');
  await delivered({ endpoint: former.url });
  const other = await startCollector();
  closing.push(() => other.close());
  expect(await delivered({ endpoint: other.url })).toMatchObject({ code: 1 });
  expect(other.requests).toEqual([]);
});

test('a folder in place of a file is reported', async () => {
  const { code, stderr: says } = await delivered({}, { provider: 'file', file: { path: home } });
  expect(code).toBe(1);
  expect(says).toMatch(/EISDIR.*kept.* => check that a plain file can be written there\. Then `otel-hooks deliver`/);
});

test('port 4317 is reported for every answer', async () => {
  expect((await delivered({ endpoint: 'http://127.0.0.1:4317' })).stderr).toMatch(/OTLP over gRPC.* => .*4318/);
});

test('a path that ends in /v1/traces works for all signals, and is reported', async () => {
  const collector = await startCollector();
  closing.push(() => collector.close());
  const { code, stderr: says, books } = await delivered({ endpoint: `${collector.url}/v1/traces` });
  expect(code).toBe(0);
  expect(says).toContain(`=> set it to ${collector.url}.`);
  expect(new Set(collector.requests.map(({ path }) => path))).toEqual(
    new Set(['/v1/traces', '/v1/logs', '/v1/metrics']),
  );
  expect(books.destinations[0]?.spans.accepted).toBe(books.destinations[0]?.spans.produced);
});
