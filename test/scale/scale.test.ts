/**
 * Many hooks at once, and a delivery that is killed: nothing is lost, nothing counts twice. Small here; the full size
 * is `npm run scale`. OTEL_HOOKS_SEED repeats a run as far as processes can be repeated.
 */
import { appendFileSync, cpSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { deliver } from '../../src/deliver.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { openStore } from '../../src/store/store.ts';
import { startCollector } from '../collector.ts';
import { AGENT, delivered, enable, furnish, type House, status, vacate } from '../wire/house.ts';
import { drive, startDeliver } from './drive.ts';
import { type Expected, inSomeOrder, loadOf, randomOf } from './load.ts';
import { type Received, type Receiver, type Request, receivedIn, startReceiver } from './received.ts';

const isFull = process.env.OTEL_HOOKS_TEST_SIZE === 'full';
const seed = Number(process.env.OTEL_HOOKS_SEED ?? Date.now() % 100_000);
const size = isFull
  ? { hooks: 10_000, parallel: 64, kills: 200, fragments: 10_000, waitMs: 120_000 }
  : { hooks: 120, parallel: 16, kills: 8, fragments: 300, waitMs: 20_000 };
const TIMEOUT_MS = isFull ? 1_800_000 : 60_000;

const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
}, TIMEOUT_MS);

const env = { OTEL_HOOKS_LINGER: '500ms' };

it(`${size.hooks} hook processes, ${size.parallel} at a time, arrive whole and once (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const { house, receiver } = await stage();
  const load = loadOf(size.hooks, randomOf(seed), `run-${seed}`);
  expect(load.expected.hooks).toBe(size.hooks);
  const driven = await drive(house, load, { parallel: size.parallel, random: randomOf(seed + 1), env, kills: 0 });
  await delivered(house, size.waitMs);
  const received = receivedIn(receiver.requests());
  tell('hooks', { ...driven.hooks, parallel: size.parallel, seconds: driven.wallMs / 1_000, ...figuresOf(received) });
  expect(driven.harmful).toEqual([]);
  checkWhole(received, load.expected);
  checkBooks(house, load.expected);
  expect(received.repeatedItems).toBe(0);
});

it(`deliver killed ${size.kills} times during ${size.hooks} hooks loses nothing and counts nothing twice (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const { house, receiver } = await stage(30);
  const load = loadOf(size.hooks, randomOf(seed + 2), `kill-${seed}`);
  const driven = await drive(house, load, { ...size, random: randomOf(seed + 3), env });
  // As later hooks would: one alone may still take the killed process for a living one.
  const hooks = setInterval(() => startDeliver(house, env), 1_000);
  await delivered(house, size.waitMs).finally(() => clearInterval(hooks));
  const received = receivedIn(receiver.requests());
  tell('kills', {
    parallel: size.parallel,
    kills: driven.kills,
    ...driven.hooks,
    seconds: driven.wallMs / 1_000,
    ...figuresOf(received),
  });
  expect(driven.harmful).toEqual([]);
  expect(driven.kills).toBe(size.kills);
  checkWhole(received, load.expected);
  checkBooks(house, load.expected);
  expect(received.repeatedRequests).toBeLessThanOrEqual(driven.kills);
});

it(`rounds of any size give the same bytes (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const home = mkdtempSync(join(tmpdir(), 'otel-hooks-rounds-'));
  cleanUp.push(() => rmSync(home, { recursive: true, force: true }));
  const collector = await startCollector();
  cleanUp.push(() => collector.close());
  const random = randomOf(seed + 4);
  const load = loadOf(size.fragments, random, `rounds-${seed}`);
  const first = prepare(join(home, 'first'), inSomeOrder(load, random), collector.url);
  const rounds = [
    undefined,
    { fragments: 1, bytes: 1e9 },
    { fragments: 2 + Math.floor(random() * 50), bytes: 1e9 },
    { fragments: 1e9, bytes: 2_000 + Math.floor(random() * 20_000) },
    { fragments: 1e9, bytes: 1e9 },
  ];
  let former: Received | undefined;
  for (const [i, round] of rounds.entries()) {
    const stateFolder = join(home, `round-${i}`);
    cpSync(first, stateFolder, { recursive: true, preserveTimestamps: true });
    const startMs = performance.now();
    const from = collector.requests.length;
    const { books } = await deliver({
      stateFolder,
      byHand: true,
      waitMs: size.waitMs,
      surroundings: { env: {}, home, platform: process.platform, ownVariables: false, configFile: undefined },
      round,
    });
    const seconds = (performance.now() - startMs) / 1_000;
    const requests = collector.requests
      .slice(from)
      .flatMap(({ signal, body }): Request[] => (signal ? [{ signal, body }] : []));
    const received = receivedIn(requests);
    tell('rounds', {
      fragments: round?.fragments ?? 0,
      bytes: round?.bytes ?? 0,
      requests: requests.length,
      seconds,
      ...figuresOf(received),
    });
    expect(books?.fragments).toMatchObject({ received: size.fragments, journaled: size.fragments, waiting: 0 });
    checkWhole(received, load.expected);
    if (former) expect([...received.hashes].toSorted()).toEqual([...former.hashes].toSorted());
    former = received;
  }
});

async function stage(longestDelayMs = 0): Promise<{ house: House; receiver: Receiver }> {
  const house = furnish('built', 'otel-hooks-scale-');
  cleanUp.push(() => vacate(house));
  const receiver = await startReceiver(house.folder, longestDelayMs, seed);
  cleanUp.push(receiver.close);
  expect(enable(house, receiver.url).status).toBe(0);
  return { house, receiver };
}

/** Fragments as the Node front end writes them, in the given order, and the installation that they are delivered by. */
function prepare(folder: string, order: ReturnType<typeof inSomeOrder>, endpoint: string): string {
  const store = openStore({ folder, access: 'own' });
  store.commit({ documents: [{ name: 'installation', value: { id: 'a'.repeat(32), key: 'b'.repeat(64) } }] });
  store.close();
  const startMs = Date.now() - 3_600_000;
  const random = randomOf(seed + 5);
  let upMs = 1_000_000;
  for (const [i, { event, payload }] of order.entries()) {
    // Hooks come in bursts, many within one tick of the kernel's clock.
    if (random() < 0.3) upMs += 10 * Math.floor(random() * 20);
    const unique = `${String(i).padStart(8, '0')}-${seed}`;
    const header = {
      tool: AGENT,
      event,
      at: String(startMs + upMs),
      ppid: '1',
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    };
    const name = fragmentName('abcdef01', (upMs / 1_000).toFixed(2), 1_000 + i, unique);
    const path = join(folder, 'inbox', name);
    writeFileSync(path, encodeFragment(unique, header, Buffer.from(JSON.stringify(payload))), { mode: 0o600 });
    utimesSync(path, startMs / 1_000, startMs / 1_000);
  }
  return folder;
}

/** All that was told, as the spans and records that it implies, and nothing else. */
function checkWhole(received: Received, expected: Expected): void {
  expect(received.records.size).toBe(expected.records);
  expect(received.spans.size).toBe(expected.spans.size);
  const odd = [...received.spans.values()].filter(({ id, parent, trace }) => {
    const known = expected.spans.get(id);
    return known === undefined || known.trace !== trace || known.parent !== parent;
  });
  expect(odd).toEqual([]);
  expect(
    [...received.spans.values()].filter(({ parent }) => parent !== undefined && !received.spans.has(parent)),
  ).toEqual([]);
  expect(received.counted).toBe(expected.records);
  expect(received.fallen).toEqual([]);
  expect(received.changed).toEqual([]);
}

function checkBooks(house: House, expected: Expected): void {
  const found = status(house);
  expect(found.balanced).toBe(true);
  expect(found.fragments).toEqual({
    received: expected.hooks,
    journaled: expected.hooks,
    waiting: 0,
    quarantined: 0,
    dropped: {},
  });
  const all = { waiting: 0, rejected: {}, dropped: {} };
  expect(found.destinations).toMatchObject([
    {
      spans: { produced: expected.spans.size, accepted: expected.spans.size, ...all },
      logs: { produced: expected.records, accepted: expected.records, ...all },
      metrics: { waiting: 0, rejected: {} },
    },
  ]);
}

const figuresOf = ({ spans, records, counted, repeatedItems, repeatedRequests }: Received) => ({
  spans: spans.size,
  records: records.size,
  counted,
  repeatedItems,
  repeatedRequests,
});

/** For scripts/scale.mjs. */
function tell(what: string, figures: Record<string, number>): void {
  const file = process.env.OTEL_HOOKS_FIGURES;
  if (file) appendFileSync(file, `${JSON.stringify({ what, seed, cores: cpus().length, ...figures })}\n`);
}
