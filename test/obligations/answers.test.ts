/**
 * Every kind of answer that a collector can give, and every way in which it can fail to answer. A body that may be sent
 * again is kept and sent again in time; a body that may not is not. Reading the inbox never waits for an answer.
 * Afterwards the collector works again, and everything must have arrived with the bytes of an undisturbed delivery.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { imbalances, type StatusBooks } from '../../src/deliver/status-books.ts';
import { documents } from '../../src/documents/documents.ts';
import { grpcNames } from '../../src/lib/grpc-codes.ts';
import { countItems } from '../../src/ship/otlp-body.ts';
import { openStore } from '../../src/store/store.ts';
import { type Collector, type Received as Post, type Reply, startCollector } from '../collector.ts';
import { type GrpcAnswer, retryInfo, startGrpcCollector } from '../grpc-collector.ts';
import { type HookCall, inSomeOrder, loadOf, randomOf } from './load.ts';
import { type Received, receivedIn, takenBy } from './received.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { booksOf, deliverHere, differences, exporting, fill, founded, lostOf, receivedBy, room } from './stage.ts';

const events = bySize({ quick: 40, ci: 300, full: 10_000 });
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 60_000;
/** More than an hour ago, so that no file of the load is too young for anything. */
const startMs = Math.floor(Date.now() / 1_000 - 3_600) * 1_000;
const nowMs = startMs + 1_800_000;

const { folder, leave } = room();
afterAll(leave);

const load = loadOf(events, randomOf(seed), `answers-${seed}`);
const order = inSomeOrder(load, randomOf(seed + 1));
let healthy: Received;
beforeAll(async () => {
  const { state, collector, close } = await filled('healthy', order);
  await deliverHere(state, { now: () => nowMs });
  healthy = receivedBy(collector);
  await close();
}, TIMEOUT_MS);

const json = { 'content-type': 'application/json' };
const reply = (status: number, headers?: Record<string, string>, body?: string | Uint8Array): Reply => ({
  status,
  ...(headers ? { headers } : {}),
  ...(body === undefined ? {} : { body }),
});

/** The number of bytes that were served to clients which should stop at 4 MiB. */
let mostServedMb = 0;
function* megabytes(count: number): Generator<Uint8Array> {
  const part = Buffer.alloc(2 ** 20, 0x20);
  for (let served = 0; served < count; served += 1) {
    mostServedMb = Math.max(mostServedMb, served);
    yield part;
  }
}
function* bytes(count: number): Generator<Uint8Array> {
  for (let sent = 0; sent < count; sent += 1) yield Buffer.of(0x20);
}
const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
const dateIn = (seconds: number): string => new Date(nowMs + seconds * 1_000).toUTCString();
const HOUR_S = 3_600;

/**
 * The body is kept, and is not tried again before this number of seconds, but then it is. Without a number, our own
 * back-off decides.
 */
interface Kept {
  fate: 'kept';
  afterS?: number;
  /** One answer counts for all signals. */
  isForAll?: true;
}
type Expectation = Kept | { fate: 'taken' } | { fate: 'refused'; reason: string };

const retried: Expectation = { fate: 'kept' };
const paused: Expectation = { fate: 'kept', afterS: 300 };
const cases: [name: string, answer: Reply | (() => Reply), expected: Expectation][] = [
  ['reset', 'reset', retried],
  ['no answer', 'hang', retried],
  ['garbage in place of HTTP', { raw: '\0\x01\x02 what?\r\n\r\n' }, retried],
  [
    '503 that breaks off',
    { raw: 'HTTP/1.1 503 No\r\nRetry-After: 90\r\nContent-Length: 9\r\n\r\n{' },
    { fate: 'kept', afterS: 90 },
  ],
  ['endless headers', { raw: `HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(20_000)}` }, retried],
  ...[429, 502, 503, 504].flatMap((status): typeof cases => [
    [`${status}`, reply(status), retried],
    [`${status}, Retry-After: 90`, reply(status, { 'retry-after': '90' }), { fate: 'kept', afterS: 90 }],
  ]),
  ['503, Retry-After: a date', reply(503, { 'retry-after': dateIn(45) }), { fate: 'kept', afterS: 45 }],
  ['429, Retry-After: a date', reply(429, { 'retry-after': dateIn(600) }), { fate: 'kept', afterS: 600 }],
  ['429, Retry-After: 10^20', reply(429, { 'retry-after': `1${'0'.repeat(20)}` }), { fate: 'kept', afterS: HOUR_S }],
  [
    '503, Retry-After: year 9999',
    reply(503, { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }),
    { fate: 'kept', afterS: HOUR_S },
  ],
  ['503, Retry-After: the past', reply(503, { 'retry-after': dateIn(-86_400) }), { fate: 'kept', afterS: 1 }],
  ['503, Retry-After: 0', reply(503, { 'retry-after': '0' }), { fate: 'kept', afterS: 1 }],
  ['503, Retry-After: -5', reply(503, { 'retry-after': '-5' }), retried],
  ['503, Retry-After: soon', reply(503, { 'retry-after': 'soon' }), retried],
  ['503 and 100 MB', () => ({ status: 503, body: megabytes(100) }), retried],
  ['401', reply(401), { ...paused, isForAll: true }],
  ['403', reply(403), { ...paused, isForAll: true }],
  ['404', reply(404), paused],
  ['405', reply(405), paused],
  ...[301, 302, 303, 307, 308].map((status): (typeof cases)[number] => [
    `${status} to another host`,
    () => reply(status, { location: `${elsewhere?.url}/v1/traces` }),
    paused,
  ]),
  ...[400, 413, 422, 500, 501].map((status): (typeof cases)[number] => [
    `${status} for everything`,
    reply(status),
    { fate: 'refused', reason: String(status) },
  ]),
  ['200 and garbage', reply(200, {}, '\0\x01\xffwhat?'), { fate: 'taken' }],
  ['200 and a page', reply(200, { 'content-type': 'text/html' }, '<html>'), { fate: 'taken' }],
  ['200 and 100 MB', () => ({ status: 200, body: megabytes(100) }), { fate: 'taken' }],
  ['200 and a bomb', reply(200, { ...json, 'content-encoding': 'gzip' }, bomb), { fate: 'taken' }],
  ['202', reply(202), { fate: 'taken' }],
  // The status means that the server accepted the data: sending it again would count it twice.
  ['200 and 1 byte per second', () => ({ status: 200, body: bytes(100), everyMs: 1_000 }), { fate: 'taken' }],
  ['200 that breaks off', { raw: 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{', status: 200 }, { fate: 'taken' }],
];

const withRetryInfo = (seconds: bigint) => ({ 'grpc-status-details-bin': retryInfo({ seconds }) });
/** Answers of gRPC. `OK` is the answer of the other tests. */
const inGrpc = { ':status': 200, 'content-type': 'application/grpc' };
const ofGrpc: [name: string, answer: GrpcAnswer, expected: Expectation][] = [
  ['reset', 'reset', retried],
  ['no answer', 'hang', retried],
  ['garbage in place of HTTP/2', { raw: '\0\x01\x02 what?\r\n\r\n'.repeat(9) }, retried],
  ['headers alone', stream => stream.respond(inGrpc), retried],
  ['a status that is no number', { code: 2, trailers: { 'grpc-status': 'what?' } }, retried],
  ['a page', stream => stream.respond({ ':status': 200, 'content-type': 'text/html' }, { endStream: true }), retried],
  ['a GOAWAY with an error', (_, session) => session.goaway(11), retried],
  ...([1, 4, 10, 11, 14, 15] as const).flatMap((code): typeof ofGrpc => [
    [`${code}`, { code }, retried],
    [`${code} with RetryInfo`, { code, trailers: withRetryInfo(90n) }, { fate: 'kept', afterS: 90 }],
  ]),
  ['8 with RetryInfo', { code: 8, trailers: withRetryInfo(45n) }, { fate: 'kept', afterS: 45 }],
  ['14 with RetryInfo: 10^12', { code: 14, trailers: withRetryInfo(10n ** 12n) }, { fate: 'kept', afterS: HOUR_S }],
  ['14 with RetryInfo: -5', { code: 14, trailers: withRetryInfo(-5n) }, { fate: 'kept', afterS: 1 }],
  ['14 with garbage', { code: 14, trailers: { 'grpc-status-details-bin': 'GiQKd2hhdD8' } }, retried],
  ['16', { code: 16 }, { ...paused, isForAll: true }],
  ['7', { code: 7 }, { ...paused, isForAll: true }],
  ['12', { code: 12 }, paused],
  ['5', { code: 5 }, paused],
  ['503 of HTTP', stream => stream.respond({ ':status': 503, 'retry-after': '90' }), { fate: 'kept', afterS: 90 }],
  ['401 of HTTP', stream => stream.respond({ ':status': 401 }, { endStream: true }), { ...paused, isForAll: true }],
  ...(['UNKNOWN', 'INVALID_ARGUMENT', 'ALREADY_EXISTS', 'RESOURCE_EXHAUSTED', 'INTERNAL'] as const).map(
    (reason): (typeof ofGrpc)[number] => [
      `${reason} for everything`,
      { code: grpcNames.indexOf(reason) },
      { fate: 'refused', reason: `grpc-${reason.toLowerCase().replaceAll('_', '-')}` },
    ],
  ),
  ['0 and garbage', { message: Buffer.from('\0\x01\xffwhat?') }, { fate: 'taken' }],
  ['0 and a bomb', { flag: 1, headers: { 'grpc-encoding': 'gzip' }, message: bomb }, { fate: 'taken' }],
  [
    'a message without a status',
    stream => {
      stream.respond(inGrpc);
      stream.write(Buffer.of(0, 0, 0, 0, 0), () => stream.session?.destroy());
      return 200;
    },
    { fate: 'taken' },
  ],
];
const fewOfGrpc = ['reset', '14 with RetryInfo', '8 with RetryInfo', '16', '12', 'RESOURCE_EXHAUSTED for everything'];
/** In the middle size, one code stands for those with the same meaning. */
const isLikeOthers = /^(1|4|10|11|15)( with RetryInfo)?$|^(ALREADY_EXISTS|UNKNOWN|INTERNAL)/;
const triedOverGrpc = ofGrpc.filter(
  ([name]) => size === 'full' || (size === 'ci' ? !isLikeOthers.test(name) : fewOfGrpc.includes(name)),
);

/** One answer of each kind for which seconds count. */
const few = [
  ...[
    'reset',
    'no answer',
    'garbage in place of HTTP',
    '429, Retry-After: 90',
    '503, Retry-After: a date',
    '503 and 100 MB',
  ],
  ...['401', '404', '302 to another host', '400 for everything', '200 and a bomb', '200 that breaks off', '202'],
];
const tried = size === 'quick' ? cases.filter(([name]) => few.includes(name)) : cases;

let elsewhere: Collector | undefined;
beforeAll(async () => {
  elsewhere = await startCollector();
});
afterAll(() => elsewhere?.close());

it.concurrent.each(tried)(`R6 %s (seed ${seed})`, { timeout: TIMEOUT_MS }, async (name, answer, expected) => {
  const ill = typeof answer === 'function' ? answer : () => answer;
  await endure(name, expected, isWell => filled(name, order, () => (isWell() ? reply(200) : ill())));
});

it.concurrent.each(triedOverGrpc)(
  `R6 gRPC: %s (seed ${seed})`,
  { timeout: TIMEOUT_MS },
  async (name, answer, expected) => {
    const row = `gRPC: ${name}`;
    await endure(row, expected, isWell => filledOverGrpc(row, order, () => (isWell() ? {} : answer)));
  },
);

/** Delivers while the collector is ill, and after it has become well. */
async function endure(
  name: string,
  expected: Expectation,
  start: (isWell: () => boolean) => Promise<Awaited<ReturnType<typeof filled>>>,
): Promise<void> {
  let isWell = false;
  const { state, collector, close, env } = await start(() => isWell);
  try {
    const startedMs = performance.now();
    await kicked(state, nowMs);
    const drainedMs = performance.now() - startedMs;
    const during = booksOf(state);
    const asked = collector.requests.length;
    let isPatient = true;
    if (expected.fate === 'kept') {
      const afterS = expected.afterS ?? 1;
      // A process that hooks start retries no sooner than it may, and then it does.
      await kicked(state, nowMs + afterS * 1_000 - 500);
      isPatient = collector.requests.length === asked;
      isWell = true;
      // Our own back-off is at most five minutes for every random number.
      await kicked(state, nowMs + (expected.afterS ?? 300) * 1_000 + 500);
    }
    const untilWell = collector.requests.length;
    isWell = true;
    await deliverHere(state, { now: () => nowMs + 2 * HOUR_S * 1_000 });
    const after = booksOf(state);
    const received = receivedBy(collector);
    const refused = quarantinedIn(after);
    row('R6', name, {
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected) - refused,
      quarantined: refused,
      note: `${asked} requests while it was so`,
    });

    expect(during.fragments).toMatchObject({ waiting: 0, journaled: load.expected.hooks, quarantined: 0, dropped: {} });
    expect(imbalances(during)).toEqual([]);
    expect(imbalances(after)).toEqual([]);
    expect(elsewhere?.requests).toEqual([]);
    expect(mostServedMb).toBeLessThan(32);
    if (expected.fate === 'kept') {
      expect(accountsOf(during)).toMatchObject({ accepted: 0, rejected: {}, dropped: {} });
      expect(asked).toBe(expected.isForAll ? 1 : 3);
      expect(isPatient).toBe(true);
      expect(untilWell).toBeGreaterThan(asked);
      // Well before anything is too old: no age limit removed a part of it.
      expect(drainedMs).toBeLessThan(TIMEOUT_MS / 2);
    }
    if (expected.fate === 'refused') {
      // If a server refuses everything, the refusal counts for some items, not for the whole backlog.
      expect(refused).toBeGreaterThan(0);
      expect(refused).toBeLessThanOrEqual(2 * (16 + 2));
      expect(accountsOf(after).rejected).toEqual({ [expected.reason]: refused });
      expect(received.records.size + received.spans.size).toBe(
        load.expected.records + load.expected.spans.size - refused,
      );
      expect(differences(received.hashes, healthy.hashes).filter(id => received.hashes.has(id))).toEqual([]);
    } else {
      expect(accountsOf(after)).toMatchObject({ waiting: 0, rejected: {}, dropped: {} });
      expect(differences(received.hashes, healthy.hashes)).toEqual([]);
    }
    expect(received.repeatedItems).toBe(0);
    await onePasses(state, collector, env);
    // Counters are complete again with the next state, even if one state was refused.
    expect(receivedBy(collector).counted).toBe(load.expected.records + 1);
  } finally {
    await close();
  }
}

it.each([
  ['HTTP', filled],
  ['gRPC', filledOverGrpc],
] as const)(`R6 an unreachable collector, %s (seed ${seed})`, { timeout: TIMEOUT_MS }, async (protocol, start) => {
  const { state, collector, close, env } = await start(`refused-${protocol}`, order);
  try {
    await collector.stop();
    await kicked(state, nowMs);
    const during = booksOf(state);
    await collector.start();
    await kicked(state, nowMs + 300_500);
    const received = receivedBy(collector);
    row('R6', protocol === 'HTTP' ? 'connection refused' : `${protocol}: connection refused`, {
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected),
    });
    expect(during.fragments).toMatchObject({ waiting: 0, journaled: load.expected.hooks });
    expect(accountsOf(during)).toMatchObject({ accepted: 0, rejected: {}, dropped: {} });
    expect(differences(received.hashes, healthy.hashes)).toEqual([]);
    expect(received.repeatedItems).toBe(0);
    expect(imbalances(booksOf(state))).toEqual([]);
    await onePasses(state, collector, env);
  } finally {
    await close();
  }
});

it.each([
  [400, 'spans'],
  [400, 'records'],
  [413, 'spans'],
  [500, 'records'],
  ['INVALID_ARGUMENT', 'spans'],
  ['RESOURCE_EXHAUSTED', 'records'],
] as const)(`R6 %s for one of the %s (seed ${seed})`, { timeout: TIMEOUT_MS }, async (status, kind) => {
  const all = kind === 'spans' ? [...healthy.spans.keys()] : [...healthy.records];
  const poison = all[Math.floor(randomOf(seed + String(status).length)() * all.length)] ?? '';
  // The id is the span's own one, not the parent id of its children.
  const holds = ({ signal, body }: Post): boolean =>
    kind === 'spans'
      ? signal === 'traces' && body.includes(Buffer.from(`1208${poison}`, 'hex'))
      : signal === 'logs' && body.includes(poison);
  const name = `poison-${status}-${kind}`;
  const { state, collector, close, env } =
    typeof status === 'number'
      ? await filled(name, order, post => reply(holds(post) ? status : 200))
      : await filledOverGrpc(name, order, post => ({ code: holds(post) ? grpcNames.indexOf(status) : 0 }));
  try {
    await deliverHere(state, { now: () => nowMs });
    const received = receivedBy(collector);
    const books = booksOf(state);
    const reason = typeof status === 'number' ? status : `grpc-${status.toLowerCase().replaceAll('_', '-')}`;
    const refusals = collector.requests.filter(post => (post.status ?? 0) >= 400);
    row('R6', `${status} for one of the ${kind}`, {
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected) - quarantinedIn(books),
      quarantined: quarantinedIn(books),
      note: `${refusals.length} requests were refused`,
    });
    expect(differences(received.hashes, healthy.hashes).map(id => id.split(' ')[2])).toEqual([poison]);
    expect(received.repeatedItems).toBe(0);
    expect(accountsOf(books)).toMatchObject({ waiting: 0, rejected: { [reason]: 1 }, dropped: {} });
    expect(imbalances(books)).toEqual([]);
    // Each refused request is half of the one before, or about half if the cut is between two bodies. No request is
    // sent twice unchanged.
    const mostItems = Math.max(...refusals.map(({ body }) => countItems(body) ?? 0));
    expect(refusals.length).toBeLessThanOrEqual(Math.ceil(Math.log2(mostItems)) + 2);
    expect(new Set(refusals.map(({ body }) => body.toString('latin1'))).size).toBe(refusals.length);
    await onePasses(state, collector, env);
  } finally {
    await close();
  }
});

it.each([
  ['413', (name: string) => filled(name, order, ({ body }) => reply(body.length > 6_000 ? 413 : 200))],
  [
    'RESOURCE_EXHAUSTED',
    (name: string) => filledOverGrpc(name, order, ({ body }) => ({ code: body.length > 6_000 ? 8 : 0 })),
  ],
])(`R6 %s for more than a few KB (seed ${seed})`, { timeout: TIMEOUT_MS }, async (status, start) => {
  const { state, collector, close } = await start(`size-${status}`);
  try {
    await deliverHere(state, { now: () => nowMs });
    const received = receivedBy(collector);
    row('R6', `${status} for more than 6 KB`, {
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected),
    });
    expect(differences(received.hashes, healthy.hashes)).toEqual([]);
    expect(received.repeatedItems).toBe(0);
    expect(accountsOf(booksOf(state))).toMatchObject({ waiting: 0, rejected: {}, dropped: {} });
    expect(imbalances(booksOf(state))).toEqual([]);
  } finally {
    await close();
  }
});

it.each(['HTTP', 'gRPC'] as const)(
  `R7 a partial success over %s is counted and never sent again (seed ${seed})`,
  { timeout: TIMEOUT_MS },
  async protocol => {
    const many = loadOf(Math.max(events, 1_200), randomOf(seed + 2), `partial-${protocol}-${seed}`);
    const hooks = inSomeOrder(many, randomOf(seed + 3));
    let rejected = 0;
    const answer = ({ signal, body }: Post): Uint8Array => {
      if (signal !== 'traces' || countItems(body) !== 512) return Buffer.of();
      rejected += 100;
      // partial_success { rejected_spans: 100, error_message: "too old" }
      const partial = Buffer.concat([Buffer.from([0x08, 100, 0x12, 7]), Buffer.from('too old')]);
      return Buffer.concat([Buffer.from([0x0a, partial.length]), partial]);
    };
    const { state, collector, close } =
      protocol === 'HTTP'
        ? await filled('partial', hooks, post => reply(200, { 'content-type': 'application/x-protobuf' }, answer(post)))
        : await filledOverGrpc('gRPC: partial', hooks, post => ({ message: answer(post) }));
    try {
      const { problems } = await deliverHere(state, { now: () => nowMs });
      const first = collector.requests.length;
      await deliverHere(state, { now: () => nowMs + HOUR_S * 1_000 });
      const received = receivedBy(collector);
      const books = booksOf(state);
      row('R7', `${protocol === 'HTTP' ? '' : 'gRPC: '}partial success: 100 of 512 rejected`, {
        faults: rejected / 100,
        obligations: many.expected.records,
        delivered: received.records.size,
        duplicated: received.repeatedItems,
        lost: lostOf(received, many.expected),
        dropped: rejected,
      });
      expect(rejected).toBeGreaterThan(0);
      expect(books.destinations[0]?.spans).toMatchObject({
        accepted: many.expected.spans.size - rejected,
        rejected: { partial: rejected },
        waiting: 0,
      });
      expect(imbalances(books)).toEqual([]);
      expect(received.repeatedItems).toBe(0);
      expect(collector.requests.slice(first).filter(({ signal }) => signal !== 'metrics')).toEqual([]);
      expect(problems).toContainEqual(
        expect.objectContaining({ code: 'delivery-partial', items: 100, message: 'too old' }),
      );
      // If its output was not read, status shows it.
      const store = openStore({ folder: state, access: 'read' });
      expect(JSON.stringify(store.read(documents.problems))).toContain('too old');
    } finally {
      await close();
    }
  },
);

it(`R8 poison in the inbox affects only itself (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const random = randomOf(seed + 4);
  const mixed = [...order];
  const session = sessionOf(order[0]);
  const poison = poisonIn(session);
  for (const each of poison) {
    // In the middle of its session, where it could do the most damage.
    const from = mixed.findIndex(hook => sessionOf(hook) === session) + 1;
    const end = mixed.findLastIndex(hook => sessionOf(hook) === session);
    mixed.splice(from + Math.floor(random() * (end - from)), 0, each);
  }
  const { state, collector, close } = await filled('poison', mixed);
  try {
    await deliverHere(state, { now: () => nowMs });
    const received = receivedBy(collector);
    const books = booksOf(state);
    const { quarantined, dropped } = books.fragments;
    row('R8', 'payloads 20,000 levels deep, 1e300, lone surrogates, 1 MB key, __proto__', {
      faults: poison.length,
      obligations: load.expected.records,
      delivered: received.records.size - (poison.length - quarantined),
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected),
      quarantined,
    });
    const changed = differences(received.timeless, healthy.timeless);
    expect(changed.filter(id => id.startsWith('logs') && healthy.timeless.has(id))).toEqual([]);
    expect([...load.expected.spans.keys()].filter(id => !received.spans.has(id))).toEqual([]);
    expect(books.fragments).toMatchObject({
      received: mixed.length,
      waiting: 0,
      journaled: mixed.length - quarantined,
    });
    expect(quarantined).toBeLessThanOrEqual(poison.length);
    expect(dropped).toEqual({});
    expect(imbalances(books)).toEqual([]);
    expect({}).not.toHaveProperty('polluted');
    await onePasses(state, collector);
  } finally {
    await close();
  }
});

/** For these answers a request waits until its time limit; others reach the limit only on a busy machine. */
const isSlow = /^(no answer|200 and 1 byte|gRPC: (no answer|headers alone))/;
/** In the larger sizes many more servers run at once, and only the one under test may be slow. */
const SLOW_MS = size === 'quick' ? '2500' : '6000';

/** A state folder with these fragments, whose sessions name this collector. */
async function filled(name: string, hooks: readonly HookCall[], answer?: (post: Post) => Reply) {
  return filledFor(name, hooks, await startCollector({ answer }), {});
}

async function filledOverGrpc(name: string, hooks: readonly HookCall[], answer?: (post: Post) => GrpcAnswer) {
  return filledFor(name, hooks, await startGrpcCollector({ answer }), { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
}

function filledFor(name: string, hooks: readonly HookCall[], collector: Collector, env: Record<string, string>) {
  const state = founded(join(folder, name.replaceAll(/[^0-9a-z]+/gi, '-')));
  const timeout = { OTEL_EXPORTER_OTLP_TIMEOUT: isSlow.test(name) ? SLOW_MS : '60000' };
  fill(state, hooks, { env: exporting(collector.url, { ...timeout, ...env }), random: randomOf(seed), startMs });
  return {
    state,
    collector,
    env,
    async close() {
      await collector.close();
      rmSync(state, { recursive: true, force: true });
    },
  };
}

/** Delivery as hooks start it: it tries no destination before its time. */
const kicked = (state: string, atMs: number) =>
  deliverHere(state, { byHand: false, waitMs: 0, now: () => atMs }).then(() => undefined);

/** All signals of the one destination together; metrics wait as versions of a state and are checked separately. */
function accountsOf({ destinations }: StatusBooks) {
  const all = { accepted: 0, waiting: 0, rejected: {}, dropped: {} };
  for (const { spans, logs } of destinations) {
    for (const account of [spans, logs]) {
      all.accepted += account.accepted;
      all.waiting += account.waiting;
      add(all.rejected, account.rejected);
      add(all.dropped, account.dropped);
    }
  }
  return all;
}

function add(to: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [reason, count] of Object.entries(counts)) to[reason] = (to[reason] ?? 0) + count;
}

const quarantinedIn = (books: StatusBooks): number =>
  Object.values(accountsOf(books).rejected as Record<string, number>).reduce((sum, count) => sum + count, 0);

/** After every fault, the next event is delivered. */
async function onePasses(state: string, collector: Collector, env: Record<string, string> = {}): Promise<void> {
  const before = collector.requests.length;
  const payload = { session_id: `fresh-${seed}`, cwd: '/', hook_event_name: 'SessionStart', source: 'startup' };
  const atMs = nowMs + 2 * HOUR_S * 1_000 + 400_000;
  fill(state, [{ event: 'SessionStart', payload }], {
    env: exporting(collector.url, env),
    random: randomOf(seed),
    startMs: atMs - 1_200_000,
  });
  await deliverHere(state, { now: () => atMs });
  expect(receivedIn(takenBy({ requests: collector.requests.slice(before) })).records.size).toBe(1);
  expect(imbalances(booksOf(state))).toEqual([]);
}

const sessionOf = (hook: HookCall | undefined): unknown =>
  typeof hook?.payload === 'object' ? hook.payload.session_id : undefined;

/** As raw text, because no serializer would write them. */
function poisonIn(session: unknown): HookCall[] {
  const base = (name: string): string =>
    `"session_id":${JSON.stringify(session)},"cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"poison-${name}"`;
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  return [
    `{${base('deep')},"tool_input":${deep}}`,
    `{${base('huge')},"tool_input":{"n":1e300,"m":-1e999,"i":123456789012345678901234567890},"duration_ms":1e300}`,
    `{${base('lone')},"tool_input":{"text":"\\ud800 \\udfff"},"permission_mode":"\\udc00"}`,
    `{${base('key')},"tool_input":{"${'k'.repeat(2 ** 20)}":1}}`,
    `{${base('proto')},"__proto__":{"polluted":true},"tool_input":{"__proto__":{"polluted":true},"constructor":1}}`,
  ].map(payload => ({ event: 'PreToolUse', payload }));
}
