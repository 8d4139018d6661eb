/** Many hooks at once, and a delivery that is killed: no event is lost, and none counts twice. */
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { startCollector } from '../collector.ts';
import { delivered } from '../wire/house.ts';
import { drive, startDeliver, watchMemory } from './drive.ts';
import { inSomeOrder, type Load, loadOf, randomOf } from './load.ts';
import { type Received, receivedIn, takenBy } from './received.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import {
  checkBooks,
  checkWhole,
  copyOf,
  deliverHere,
  differences,
  exporting,
  fill,
  founded,
  installationIn,
  lostOf,
  receivedBy,
  room,
  stage,
} from './stage.ts';

const { hooks, parallel, kills, fragments, waitMs } = bySize({
  quick: { hooks: 40, parallel: 16, kills: 3, fragments: 60, waitMs: 20_000 },
  ci: { hooks: 600, parallel: 64, kills: 15, fragments: 1_000, waitMs: 60_000 },
  full: { hooks: 10_000, parallel: 64, kills: 200, fragments: 10_000, waitMs: 120_000 },
});
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;

const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
}, TIMEOUT_MS);

const env = { OTEL_HOOKS_LINGER: '500ms' };

it(`R1 ${hooks} hook processes, ${parallel} at a time, arrive whole and once (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const { house, collector, leave } = await stage();
  cleanUp.push(leave);
  const load = loadOf(hooks, randomOf(seed), `run-${seed}`);
  expect(load.expected.hooks).toBe(hooks);
  const rss = watchMemory(house);
  const driven = await drive(house, load, { parallel, random: randomOf(seed + 1), env });
  await delivered(house, waitMs);
  const received = receivedBy(collector);
  row('R1', `${driven.hooks.sh} sh and ${driven.hooks.node} Node hooks, ${parallel} at a time`, {
    obligations: load.expected.records,
    delivered: received.records.size,
    duplicated: received.repeatedItems,
    lost: lostOf(received, load.expected),
    longestHookMs: driven.longestHookMs,
    rssMb: rss(),
    note: `${received.spans.size} spans in ${driven.wallMs.toFixed(0)} ms`,
  });
  expect(driven.harmful).toEqual([]);
  checkWhole(received, load.expected);
  expect(differences(received.timeless, await undisturbed(load, house.state))).toEqual([]);
  checkBooks(house, load.expected);
  expect(received.repeatedItems).toBe(0);
});

it(`R3 deliver killed ${kills} times during ${hooks} hooks loses nothing and counts nothing twice (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const random = randomOf(seed + 6);
  // Answers take a moment, so that a sender is often killed while it waits.
  const slowly = () => new Promise<{ status: number }>(answer => setTimeout(answer, random() * 30, { status: 200 }));
  const { house, collector, leave } = await stage({ answer: slowly });
  cleanUp.push(leave);
  const load = loadOf(hooks, randomOf(seed + 2), `kill-${seed}`);
  const rss = watchMemory(house);
  const driven = await drive(house, load, { parallel, kills, random: randomOf(seed + 3), env });
  // Later hooks do the same; a single hook may still take the killed process for a living one.
  const later = setInterval(() => startDeliver(house, env), 1_000);
  await delivered(house, waitMs).finally(() => clearInterval(later));
  const received = receivedBy(collector);
  row('R3', `deliver killed, ${parallel} hooks at a time`, {
    faults: driven.kills,
    obligations: load.expected.records,
    delivered: received.records.size,
    duplicated: received.repeatedItems,
    lost: lostOf(received, load.expected),
    longestHookMs: driven.longestHookMs,
    rssMb: rss(),
    note: `${received.repeatedRequests} requests were repeated`,
  });
  expect(driven.harmful).toEqual([]);
  expect(driven.kills).toBe(kills);
  checkWhole(received, load.expected);
  expect(differences(received.timeless, await undisturbed(load, house.state))).toEqual([]);
  checkBooks(house, load.expected);
  expect(received.repeatedRequests).toBeLessThanOrEqual(driven.kills);
});

it(`P5 rounds of any size give the same bytes (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const { folder, leave } = room();
  const collector = await startCollector();
  cleanUp.push(leave, () => collector.close());
  const random = randomOf(seed + 4);
  const load = loadOf(fragments, random, `rounds-${seed}`);
  const first = founded(join(folder, 'first'));
  fill(first, inSomeOrder(load, random), { env: exporting(collector.url), random });
  const rounds = [
    undefined,
    { fragments: 1, bytes: 1e9 },
    { fragments: 2 + Math.floor(random() * 50), bytes: 1e9 },
    { fragments: 1e9, bytes: 2_000 + Math.floor(random() * 20_000) },
    { fragments: 1e9, bytes: 1e9 },
  ];
  let former: Received | undefined;
  for (const [i, round] of rounds.entries()) {
    const stateFolder = copyOf(first, join(folder, `round-${i}`));
    const from = collector.requests.length;
    const { books } = await deliverHere(stateFolder, { round });
    const received = receivedIn(takenBy({ requests: collector.requests.slice(from) }));
    expect(books?.fragments).toMatchObject({ received: fragments, journaled: fragments, waiting: 0 });
    checkWhole(received, load.expected);
    if (former) expect(differences(received.hashes, former.hashes)).toEqual([]);
    former = received;
  }
  row('P5', `rounds of ${rounds.length} sizes, compared byte for byte`, {
    obligations: load.expected.records,
    delivered: former?.records.size ?? 0,
    duplicated: former?.repeatedItems ?? 0,
    lost: former ? lostOf(former, load.expected) : fragments,
  });
});

/** The result of the same events without a fault, without their times of arrival. */
async function undisturbed(load: Load, installedIn: string): Promise<Map<string, string>> {
  const { folder, leave } = room();
  const collector = await startCollector();
  cleanUp.push(leave, () => collector.close());
  const random = randomOf(seed);
  const state = founded(join(folder, 'state'), installationIn(installedIn));
  fill(state, inSomeOrder(load, random), { env: exporting(collector.url), random });
  await deliverHere(state);
  return receivedBy(collector).timeless;
}
