/**
 * The n-th system call fails, once or from then on. In hooks every own call fails in turn, in deliver every call that
 * concerns the state folder. Events that were recorded before stay. At most the event in hand is lost, and if a part of
 * its file is on the disk, it is counted. A later hook and a later delivery work normally.
 */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { imbalances, type StatusBooks } from '../../src/deliver/status-books.ts';
import { decodeFragment } from '../../src/hook/fragment.ts';
import { type Collector, startCollector } from '../collector.ts';
import {
  build,
  demolish,
  type FrontEnd,
  type House,
  harmless,
  node,
  type Ran,
  run,
  shells,
} from '../hook/front-ends.ts';
import { AGENT } from '../wire/house.ts';
import { inSomeOrder, type Load, loadOf, randomOf } from './load.ts';
import { compileInjector, type Fault, faults, type Injection, type Injector } from './nth-call.ts';
import { type Received, receivedIn, takenBy } from './received.ts';
import { notRun, row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { copyOf, deliverHere, exporting, fill, founded, lostOf, makeOld, room } from './stage.ts';

const TIMEOUT_MS = 3_600_000;
const cleanUp: (() => void | Promise<void>)[] = [];
let injectors: Injector[] | undefined;
let collector: Collector;

beforeAll(async () => {
  const made = [0, 1, 2].map(() => {
    const { folder, leave } = room();
    cleanUp.push(leave);
    return compileInjector(folder);
  });
  injectors = made.every(each => each !== undefined) ? made : undefined;
  collector = await startCollector();
  cleanUp.push(() => collector.close());
});
afterAll(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

const why = 'there is no C compiler for the library that lets calls fail';

/** Every call in turn, or a sample of this size. */
function callsOf(count: number, most: number): number[] {
  const random = randomOf(seed);
  const all = Array.from({ length: count }, (_, i) => i + 1);
  while (all.length > most) all.splice(Math.floor(random() * all.length), 1);
  return all;
}

/** Each of these calls with each error in the full size, otherwise with one error, a different one in each run. */
function injectionsOf(calls: number[], common: Pick<Injection, 'from' | 'except'>): Injection[] {
  const ways = (call: number): readonly Fault[] =>
    size === 'full' ? faults : [faults[(call + seed) % faults.length] ?? 'EIO'];
  return calls.flatMap(call =>
    ways(call).flatMap(fault =>
      // The error EINTR does not repeat for ever.
      (fault === 'EINTR' ? [false] : [false, true]).map(lasting => ({ ...common, call, fault, lasting })),
    ),
  );
}

const sayOf = ({ call, fault, lasting }: Injection): string => `${fault} at ${call}${lasting ? ' and after' : ''}`;

/**
 * Node aborts when one of these calls fails. A shell continues with its present input when it cannot replace it. A
 * system has no reason to refuse these calls.
 */
const neverRefused = ['fcntl', 'fcntl64', 'close', 'dup2'];

const inShell = { from: { file: 'hook.sh', whenClosed: false }, except: ['dup2'] };
/** The shell ends with 1, before it runs the script, when it cannot save a descriptor for a redirection. */
const inBusybox = { ...inShell, except: [...inShell.except, 'fcntl', 'fcntl64'] };
const inNode = { from: { file: 'otel-hooks.cjs', whenClosed: true }, except: neverRefused };
/**
 * In the quick size one shell represents all shells. When every call fails, bash prints an error, and zsh ends with its
 * own exit code when it cannot start a process. The script cannot prevent either.
 */
const own = shells.filter(({ name }) => name === 'dash' || name === 'busybox ash');
const judged = [...bySize({ quick: own.slice(0, 1), ci: own, full: own }), node];

for (const frontEnd of judged) {
  const common = frontEnd === node ? inNode : frontEnd.name === 'busybox ash' ? inBusybox : inShell;
  const most = bySize({ quick: frontEnd === node ? 4 : 24, ci: 1_000, full: 1_000 });
  it(`R4 a call fails in the ${frontEnd.name} hook (seed ${seed})`, { timeout: TIMEOUT_MS }, async context => {
    const fault = `the n-th system call of a hook fails, ${frontEnd.name}`;
    const [injector] = injectors ?? [];
    if (injector === undefined) return notRun(context, 'R4', fault, why);
    if (frontEnd.missing !== undefined) return notRun(context, 'R4', fault, `${frontEnd.missing} is not installed`);
    const house = build();
    cleanUp.push(() => demolish(house));
    const first = await recorded(house, frontEnd, injector.env({ ...common, call: 0, fault: 'EIO', lasting: false }));
    const { calls } = injector.result();
    expect(calls).toBeGreaterThan(15);
    const injections = injectionsOf(callsOf(calls, most), common);
    const fates = { whole: 0, torn: 0, noted: 0, gone: 0 };
    const wrong: string[] = [];
    let longestHookMs = 0;
    for (const injection of injections) {
      const { ran, tookMs, found, noted } = await recorded(house, frontEnd, injector.env(injection));
      const { failed } = injector.result();
      longestHookMs = Math.max(longestHookMs, tookMs);
      const name = `${sayOf(injection)} (${failed})`;
      if (JSON.stringify(ran) !== JSON.stringify(harmless)) wrong.push(`${name}: ${JSON.stringify(ran)}`);
      if (found.length > 1) wrong.push(`${name}: ${found.length} files for one event`);
      const fate = found[0] ?? (noted ? 'noted' : 'gone');
      if (fate === 'another') wrong.push(`${name}: a whole fragment that is not the event`);
      else fates[fate] += 1;
    }
    const last = await recorded(house, frontEnd, {});
    expect(last).toMatchObject({ ran: harmless, found: ['whole'] });
    expect(first).toMatchObject({ ran: harmless, found: ['whole'] });
    const { delivered, quarantined, waiting } = await deliverLater(house);
    row('R4', fault, {
      faults: injections.length,
      obligations: fates.whole + 2,
      delivered,
      lost: fates.whole + 2 - delivered,
      quarantined,
      longestHookMs,
      note: `${calls} calls; not kept: ${fates.torn} torn, ${fates.noted} noted, ${fates.gone} before there was a file`,
    });
    expect(wrong).toEqual([]);
    expect({ delivered, quarantined, waiting }).toEqual({
      delivered: fates.whole + 2,
      quarantined: fates.torn,
      waiting: 0,
    });
  });
}

type Fate = 'whole' | 'torn' | 'another';

interface Recorded {
  ran: Ran;
  tookMs: number;
  found: Fate[];
  noted: boolean;
}

/** One hook, and the files that it left. */
async function recorded(house: House, frontEnd: FrontEnd, env: Record<string, string>): Promise<Recorded> {
  const before = new Set(readdirSync(house.inbox));
  const problems = join(house.state, 'problems');
  for (const name of readdirSync(problems)) utimesSync(join(problems, name), 1, 1);
  const payload = JSON.stringify({
    session_id: house.folder,
    hook_event_name: 'Notification',
    message: `${before.size} ${'x'.repeat(3_000)}`,
  });
  const startMs = performance.now();
  const command = frontEnd.command(house, { tool: AGENT, event: 'Notification' });
  const ran = await run(command, payload, { env: { ...exporting(collector.url), ...env } });
  const tookMs = performance.now() - startMs;
  const found = readdirSync(house.inbox)
    .filter(name => !before.has(name))
    .map((name): Fate => {
      const decoded = decodeFragment(name, readFileSync(join(house.inbox, name)), 0);
      if (!decoded.ok) return 'torn';
      return decoded.fragment.payload.toString() === payload ? 'whole' : 'another';
    });
  return {
    ran,
    tookMs,
    found,
    noted: readdirSync(problems).some(name => statSync(join(problems, name)).mtimeMs > 1_000),
  };
}

/** Delivers everything in the folder, at a time when no writer can be at work. */
async function deliverLater(house: House): Promise<{ delivered: number; quarantined: number; waiting: number }> {
  for (const name of readdirSync(house.inbox)) makeOld(house.inbox, name);
  rmSync(join(house.state, 'lock'));
  const { books } = await deliverHere(house.state);
  const ids = collector.records().filter(({ plain }) => plain['session.id'] === house.folder);
  expect(books && imbalances(books)).toEqual([]);
  return {
    delivered: new Set(ids.map(({ plain }) => plain['agent_hooks.event.id'])).size,
    quarantined: books?.fragments.quarantined ?? -1,
    waiting: books?.fragments.waiting ?? -1,
  };
}

it(`R4 a call fails in deliver (seed ${seed})`, { timeout: TIMEOUT_MS }, async context => {
  const fault = 'the n-th system call of deliver on the state folder fails';
  if (injectors === undefined) return notRun(context, 'R4', fault, why);
  const load = loadOf(30, randomOf(seed), `calls-${seed}`);
  const stations = await Promise.all(injectors.map(injector => station(injector, load)));
  const [first] = stations;
  if (first === undefined) throw new Error('there is no station');
  const { ran, calls } = await first.deliver({ call: 0, fault: 'EIO', lasting: false });
  expect([ran.status, calls > 50]).toEqual([0, true]);
  const injections = injectionsOf(callsOf(calls, bySize({ quick: 3, ci: 60, full: 10_000 })), {});
  const count = injections.length;
  const wrong: string[] = [];
  const figures = { lost: 0, duplicated: 0 };
  const work = async ({ deliver }: Station): Promise<void> => {
    for (let each = injections.pop(); each !== undefined; each = injections.pop()) {
      const { ran, failed, books, received } = await deliver(each);
      const name = `${sayOf(each)} (${failed})`;
      // Delivery reports a failure by its exit code.
      if (ran.status !== 0 && ran.status !== 1) wrong.push(`${name}: ${JSON.stringify(ran)}`);
      if (books === undefined || imbalances(books).length > 0) wrong.push(`${name}: ${JSON.stringify(books)}`);
      const { expected } = load;
      if (books?.fragments.journaled !== expected.hooks) wrong.push(`${name}: ${JSON.stringify(books?.fragments)}`);
      if (received.changed.length + received.fallen.length > 0) wrong.push(`${name}: it was sent again, otherwise`);
      if (received.repeatedRequests > 1) wrong.push(`${name}: ${received.repeatedRequests} requests were repeated`);
      figures.lost += lostOf(received, expected);
      figures.duplicated += received.repeatedItems;
    }
  };
  await Promise.all(stations.map(work));
  const obligations = count * load.expected.hooks;
  row('R4', fault, { faults: count, obligations, ...figures, note: `${calls} calls; lost and duplicated in items` });
  expect(wrong).toEqual([]);
  expect(figures.lost).toBe(0);
});

interface Station {
  /** The folder is filled, delivered while a call fails, and delivered again without faults. */
  deliver(injection: Injection): Promise<{
    ran: Ran;
    calls: number;
    failed: string | undefined;
    books: StatusBooks | undefined;
    received: Received;
  }>;
}

/** A collector and a state folder of its own, so that several tests can run at once. */
async function station(injector: Injector, load: Load): Promise<Station> {
  const { folder, leave } = room();
  const own = await startCollector();
  cleanUp.push(leave, () => own.close());
  cpSync(fileURLToPath(new URL('../../dist', import.meta.url)), join(folder, 'dist'), { recursive: true });
  const program = join(folder, 'dist', 'deliver.js');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const random = randomOf(seed);
  const filled = founded(join(folder, 'filled'));
  fill(filled, inSomeOrder(load, random), { env: exporting(own.url), random });
  return {
    async deliver(injection) {
      const state = copyOf(filled, join(folder, 'state'));
      const start = own.requests.length;
      const words = [process.execPath, program, '--wait', '5s', '--state-dir', state];
      const ran = await run(words, '', { env: injector.env({ ...injection, within: state }) });
      const { calls, failed } = injector.result();
      const { books } = await deliverHere(state);
      const received = receivedIn(takenBy({ requests: own.requests.slice(start) }));
      rmSync(state, { recursive: true });
      return { ran, calls, failed: failed?.replace(state, ''), books, received };
    },
  };
}
