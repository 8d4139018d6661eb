/** Each rule of retrying against a real server, over the real transport: the fate of ten spans. */
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { createShipper } from '../../src/ship/ship.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { type Reply, startCollector } from '../collector.ts';
import { balances, destinationAt, memoryStore } from './memory-store.ts';
import { namedSpans, traces } from './samples.ts';

type Fate = { accepted?: number; waiting?: number; rejected?: Record<string, number> };
const reply = (status: number, headers?: Record<string, string>, body?: string | Buffer): Reply => ({
  status,
  ...(headers ? { headers } : {}),
  ...(body === undefined ? {} : { body }),
});
const json = { 'content-type': 'application/json' };
const all = { accepted: 10, waiting: 0, rejected: {} };
const kept = { accepted: 0, waiting: 10, rejected: {} };

it.each<[string, Reply, Fate, requests: number, waitMs: number | undefined]>([
  ['200', reply(200), all, 1, undefined],
  ['200 and rubbish', reply(200, {}, '\0\x01rubbish'), all, 1, undefined],
  ['200 and a page', reply(200, { 'content-type': 'text/html' }, '<html>'), all, 1, undefined],
  ['200 and 8 MB', reply(200, json, 'x'.repeat(8 * 1024 * 1024)), all, 1, undefined],
  [
    '200 and a bomb',
    reply(200, { ...json, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(16 * 1024 * 1024))),
    all,
    1,
    undefined,
  ],
  [
    '200 and partial success',
    reply(200, json, '{"partialSuccess":{"rejectedSpans":"4"}}'),
    { accepted: 6, waiting: 0, rejected: { partial: 4 } },
    1,
    undefined,
  ],
  ['202', reply(202), all, 1, undefined],
  ['301', reply(301, { location: 'http://127.0.0.1:1/' }), kept, 1, 300_000],
  ['307', reply(307, { location: 'http://127.0.0.1:1/' }), kept, 1, 300_000],
  ['401', reply(401), kept, 1, 300_000],
  ['403', reply(403), kept, 1, 300_000],
  ['404', reply(404), kept, 1, 300_000],
  ['405', reply(405), kept, 1, 300_000],
  ['429', reply(429), kept, 1, 1_000],
  ['429 for a while', reply(429, { 'retry-after': '90' }), kept, 1, 90_000],
  ['502', reply(502), kept, 1, 1_000],
  ['503', reply(503), kept, 1, 1_000],
  ['503 until a date', reply(503, { 'retry-after': new Date(1_760_000_045_000).toUTCString() }), kept, 1, 45_000],
  ['503 for ever', reply(503, { 'retry-after': '99999999999999999999' }), kept, 1, 3_600_000],
  ['504', reply(504), kept, 1, 1_000],
  ['503 and 8 MB', reply(503, {}, 'x'.repeat(8 * 1024 * 1024)), kept, 1, 1_000],
  ['no answer', 'hang', kept, 1, 1_000],
  ['a reset', 'reset', kept, 1, 1_000],
  // A binary tree over ten spans: each span is refused alone, and each larger request once.
  ['400 for everything', reply(400), { accepted: 0, waiting: 0, rejected: { '400': 10 } }, 19, undefined],
  ['413 for everything', reply(413), { accepted: 0, waiting: 0, rejected: { '413': 10 } }, 19, undefined],
  ['500 for everything', reply(500), { accepted: 0, waiting: 0, rejected: { '500': 10 } }, 19, undefined],
])('%s', async (_, answer, fate, requests, waitMs) => {
  const collector = await startCollector({ answer: () => answer });
  const http = createHttpTransport();
  const store = memoryStore();
  const { signals } = destinationAt(collector.url);
  const isSilent = answer === 'hang';
  const destination = destinationAt(collector.url, {
    signals: { traces: { ...(signals.traces ?? expect.fail()), timeoutMs: isSilent ? 50 : 5_000 } },
  });
  store.produce(destination, 'traces', 10, traces(namedSpans(10)));
  const shipper = createShipper({
    store,
    destinations: () => [destination],
    transports: { otlp: http.send },
    commit: outcome => store.commit(outcome),
    clock: () => 1_760_000_000_000,
    random: () => 0,
  });
  const { nextTryMs } = await shipper.pass();
  await shipper.pass();
  const account = store.account(destination, 'traces');
  expect(account).toMatchObject(fate);
  expect(balances(account)).toBe(true);
  expect(collector.requests).toHaveLength(requests);
  expect(nextTryMs).toBe(waitMs);
  const bodies = collector.requests.map(({ body }) => body.toString('base64'));
  expect(new Set(bodies).size).toBe(bodies.length);
  http.close();
  await collector.close();
});
