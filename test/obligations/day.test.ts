/**
 * A day of a busy machine, as fast as the machine can play it: sessions one after the other, outages of the collector,
 * deliveries that are killed, and reboots, after which a lock names a process of the boot before. One hook in fifty is
 * the registered command, the others are fragments as the front ends write them.
 *
 *     npm run soak        the whole day: 2,000 sessions, 500,000 hooks
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { type Dirent, existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { decodeRequest, type JsonObject } from '../../src/telemetry/otlp-decode.ts';
import { plainAttributes } from '../collector.ts';
import {
  AGENT,
  type Agent,
  commandsIn,
  enable,
  furnish,
  type House,
  harmless,
  runHook,
  status,
  until,
  vacate,
} from '../wire/house.ts';
import { delivering, memoryOf, startDeliver } from './drive.ts';
import { type HookCall, inSomeOrder, loadOf, randomOf, textOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { byHand } from './stage.ts';

/** Each load has five sessions. */
const { loads, hooksOfLoad, pairs } = bySize({
  quick: { loads: 6, hooksOfLoad: 200, pairs: 8 },
  ci: { loads: 24, hooksOfLoad: 600, pairs: 10 },
  full: { loads: 400, hooksOfLoad: 1_250, pairs: 40 },
});
const SESSIONS_OF_LOAD = 5;
const HOOKS_PER_PROCESS = 50;
const HOURS = 24;
/** In these hours, the collector refuses all requests. */
const OUTAGES = [5, 6, 7, 16];
const REBOOTS = [9, 18];
const MOST_MB = 256;
const env = { OTEL_HOOKS_LINGER: '2s', OTEL_EXPORTER_OTLP_TIMEOUT: '3000' };
const TIMEOUT_MS = bySize({ quick: 120_000, ci: 240_000, full: 3_600_000 });

it(`R17 a day: ${loads * SESSIONS_OF_LOAD} sessions, ${loads * hooksOfLoad} hooks, outages and reboots (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const random = randomOf(seed + 17);
  const receiver = await startReceiver();
  const house = furnish('built', 'otel-hooks-day-');
  const fresh = furnish('built', 'otel-hooks-day-fresh-');
  const day: Day = { house, fresh, receiver, random, longestHookMs: 0, kills: 0, harmful: [], processes: 0 };
  try {
    for (const each of [house, fresh]) expect(enable(each, receiver.url).status).toBe(0);
    const expected = { records: 0, hooks: 0, spans: new Set<string>() };
    const hours: Hour[] = [];
    let played = 0;
    for (let hour = 0; hour < HOURS; hour += 1) {
      receiver.isDown = OUTAGES.includes(hour);
      if (REBOOTS.includes(hour)) await reboot(day);
      else if (random() < 0.4) kill(day);
      const memory = watchMemory(house);
      for (; played < Math.round((loads * (hour + 1)) / HOURS); played += 1) {
        const load = loadOf(hooksOfLoad, random, `day-${seed}-${played}`);
        expected.records += load.expected.records;
        expected.hooks += load.expected.hooks;
        for (const id of load.expected.spans.keys()) expected.spans.add(id);
        await play(day, inSomeOrder(load, random), expected.hooks);
      }
      const isCostDue = hour % 4 === 0 || hour === HOURS - 1;
      const cost = isCostDue ? await costOfHook(day, expected) : undefined;
      const done = { hour, memoryMb: memory(), cost, diskBytes: bytesIn(house.state), hooks: expected.hooks };
      hours.push(done);
      if (size === 'full') console.log(textOfHour(done));
    }
    receiver.isDown = false;
    const kicks = setInterval(() => startDeliver(house, env), 2_000);
    await byHand(house, '600s').finally(() => clearInterval(kicks));
    await until(() => !existsSync(join(house.state, 'lock')), 90_000);

    const after = status(house);
    const end = bytesIn(house.state);
    const lost = [...expected.spans].filter(id => !receiver.spans.has(id));
    const memory = hours.flatMap(({ memoryMb }) => memoryMb ?? []);
    const costs = hours.flatMap(({ cost }) => cost ?? []);
    const disk = `${(end.total / expected.hooks).toFixed(0)} bytes of disk for a hook`;
    row('R17', `a day of ${loads * SESSIONS_OF_LOAD} sessions: outages, kills, reboots`, {
      faults: day.kills + OUTAGES.length,
      obligations: expected.records,
      delivered: receiver.records.size,
      duplicated: receiver.repeated,
      lost: expected.records - receiver.records.size + lost.length,
      quarantined: after.fragments.quarantined,
      longestHookMs: day.longestHookMs,
      rssMb: Math.max(...memory),
      note: `${day.processes} hook processes, ${costs.map(each => each.toFixed(2)).join(' ')} times the cost of a hook in a new state folder, ${disk}`,
    });
    expect(day.harmful).toEqual([]);
    expect(lost).toEqual([]);
    expect(receiver.records.size).toBe(expected.records);
    expect(receiver.spans.size).toBe(expected.spans.size);
    expect(after.balanced).toBe(true);
    expect(after.fragments).toMatchObject({ received: expected.hooks, journaled: expected.hooks, waiting: 0 });
    // Memory: below the limit, and the last third of the day needs no more than the first one.
    expect(Math.max(...memory)).toBeLessThanOrEqual(MOST_MB);
    const third = Math.ceil(memory.length / 3);
    if (size === 'full')
      expect(median(memory.slice(-third))).toBeLessThanOrEqual(median(memory.slice(0, third)) * 1.25);
    // Disk: nothing waits, and all that stays are journals, their index, and the packed states of sessions.
    expect([end.inbox, end.outbox, end.rounds]).toEqual([0, 0, 0]);
    const hooksOfSession = hooksOfLoad / SESSIONS_OF_LOAD;
    expect(end.sessions / (loads * SESSIONS_OF_LOAD)).toBeLessThanOrEqual(2_500 + hooksOfSession * 24);
    expect(end.documents).toBeLessThanOrEqual(512 * 1024 + loads * SESSIONS_OF_LOAD * 1_024);
    // A hook costs the same at the end of the day as at its beginning, and as in a new folder.
    expect(median(costs)).toBeLessThanOrEqual(1.5);
    expect((costs.at(-1) ?? 0) / (costs[0] ?? 1)).toBeLessThanOrEqual(size === 'full' ? 1.5 : 2);
  } finally {
    for (const each of [house, fresh]) await vacate(each);
    await receiver.close();
  }
});

interface Day {
  house: House;
  fresh: House;
  receiver: Receiver;
  random: () => number;
  longestHookMs: number;
  kills: number;
  harmful: string[];
  processes: number;
}

interface Hour {
  hour: number;
  memoryMb: number | undefined;
  /** Of a hook, beside one in a new state folder. */
  cost: number | undefined;
  diskBytes: Disk;
  hooks: number;
}

const textOfHour = ({ hour, memoryMb, cost, diskBytes, hooks }: Hour): string =>
  [
    `${String(hour).padStart(2)} h ${String(hooks).padStart(7)} hooks`,
    `${(memoryMb ?? 0).toFixed(0).padStart(4)} MB`,
    cost === undefined ? '    ' : `${cost.toFixed(2)}x`,
    ...Object.entries(diskBytes).map(([place, bytes]) => `${place} ${(bytes / 1024 / 1024).toFixed(1)} MB`),
  ].join('  ');

// ---------------------------------------------------------------- hooks

/** The first hook starts a delivery, so that fragments that are written are taken. */
async function play(day: Day, order: readonly HookCall[], after: number): Promise<void> {
  for (const [i, call] of order.entries()) {
    if (i % HOOKS_PER_PROCESS !== 0) {
      writeFragment(day.house, call, after + i);
      continue;
    }
    // Hooks of one tick of the kernel's clock have no order among different writers.
    await nextTick();
    const startMs = performance.now();
    const ran = await runHook(agentOf(day.house), {
      event: call.event,
      mouth: 'sh',
      env,
      payload: textOf(call.payload),
    });
    day.longestHookMs = Math.max(day.longestHookMs, performance.now() - startMs);
    day.processes += 1;
    if (JSON.stringify(ran) !== JSON.stringify(harmless)) day.harmful.push(`${call.event} ${JSON.stringify(ran)}`);
    await nextTick();
  }
}

const agents = new Map<House, Agent>();

function agentOf(house: House): Agent {
  const known = agents.get(house) ?? { house, commands: commandsIn(house) };
  agents.set(house, known);
  return known;
}

const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
const uptime = (): string => readFileSync('/proc/uptime', 'latin1').split(' ')[0] ?? '';

async function nextTick(): Promise<void> {
  for (const now = uptime(); uptime() === now; ) await pause(2);
}

function writeFragment({ state }: House, { event, payload }: HookCall, n: number): void {
  const unique = `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const header = { tool: AGENT, event, at: String(Date.now()), ppid: '1', cwd: '/' };
  const name = fragmentName(boot, uptime(), 100_000_000 + n, unique);
  writeFileSync(join(state, 'inbox', name), encodeFragment(unique, header, Buffer.from(textOf(payload))), {
    mode: 0o600,
  });
}

/** The time of a hook beside one in a new state folder, in turns, both with a delivery at work. */
async function costOfHook(day: Day, expected: { hooks: number; records: number }): Promise<number> {
  const { house, fresh } = day;
  await until(() => delivering(fresh) === undefined, 60_000);
  rmSync(fresh.state, { recursive: true, force: true });
  const timed = async (each: House, n: number): Promise<number> => {
    const message = { message: 'x', notification_type: 'idle_prompt' };
    const fields = { session_id: `cost-${expected.hooks}`, cwd: '/', hook_event_name: 'Notification', ...message };
    const startMs = performance.now();
    const hook = { event: 'Notification', mouth: 'sh' as const, env, payload: JSON.stringify({ ...fields, n }) };
    const ran = await runHook(agentOf(each), hook);
    if (JSON.stringify(ran) !== JSON.stringify(harmless)) day.harmful.push(JSON.stringify(ran));
    return performance.now() - startMs;
  };
  const times: { old: number[]; fresh: number[] } = { old: [], fresh: [] };
  const before = expected.hooks;
  for (const each of [house, fresh]) {
    await timed(each, -1);
    await until(() => delivering(each) !== undefined, 60_000);
  }
  for (let n = 0; n < pairs; n += 1) {
    times.fresh.push(await timed(fresh, n));
    times.old.push(await timed(house, n));
  }
  expected.hooks = before + pairs + 1;
  expected.records += pairs + 1;
  return quartile(times.old) / quartile(times.fresh);
}

// ---------------------------------------------------------------- faults

function kill(day: Day): boolean {
  const pid = delivering(day.house);
  if (pid === undefined) return false;
  process.kill(pid, 'SIGKILL');
  day.kills += 1;
  return true;
}

/** After a reboot, the lock names a process of the boot before. Another process may have its number now. */
async function reboot(day: Day): Promise<void> {
  const lock = join(day.house.state, 'lock');
  startDeliver(day.house, env);
  await until(() => delivering(day.house) !== undefined, 30_000);
  const text = readFileSync(lock, 'utf8');
  kill(day);
  await until(() => delivering(day.house) === undefined, 30_000);
  const stranger: ChildProcess = spawn('sleep', ['600'], { stdio: 'ignore' });
  try {
    writeFileSync(lock, text.replace(/^\d+/, String(stranger.pid)).replace(/"pid":\d+/, `"pid":${stranger.pid}`));
    startDeliver(day.house, env);
    await until(() => delivering(day.house) !== undefined, 60_000);
  } finally {
    stranger.kill();
  }
}

// ---------------------------------------------------------------- measurements

/** The maximum of memory of the deliveries from now on. */
function watchMemory(house: House): () => number | undefined {
  let most: number | undefined;
  const timer = setInterval(() => {
    const pid = delivering(house);
    const mb = pid === undefined ? undefined : memoryOf(pid);
    if (mb !== undefined) most = Math.max(most ?? 0, mb);
  }, 200);
  return () => {
    clearInterval(timer);
    return most;
  };
}

type Disk = Record<'inbox' | 'outbox' | 'rounds' | 'journal' | 'sessions' | 'documents' | 'total', number>;

function bytesIn(state: string): Disk {
  const of = (place: string): number => sizeOf(join(state, place));
  const places = ['inbox', 'outbox', 'rounds', 'journal', 'sessions', 'documents'] as const;
  return Object.fromEntries([...places.map(place => [place, of(place)]), ['total', of('')]]) as Disk;
}

/** The bytes of all files in a folder. Meanwhile the delivery removes some, and folders of rounds too. */
function sizeOf(folder: string): number {
  let sum = 0;
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    sum += entry.isDirectory() ? sizeOf(path) : (lstatSync(path, { throwIfNoEntry: false })?.size ?? 0);
  }
  return sum;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return [];
  }
}

const quartile = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 2] ?? 0;
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

// ---------------------------------------------------------------- the receiver

/** It keeps the ids of items only, because the bodies of a day do not fit into memory. */
interface Receiver {
  url: string;
  isDown: boolean;
  spans: Set<string>;
  records: Set<string>;
  /** Items that came again. */
  repeated: number;
  close(): Promise<void>;
}

async function startReceiver(): Promise<Receiver> {
  const spans = new Set<string>();
  const records = new Set<string>();
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    try {
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    } catch {
      // The sender was killed in the middle of the request.
      return;
    }
    if (receiver.isDown) {
      response.writeHead(503).end();
      return;
    }
    const raw = Buffer.concat(parts);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    if (request.url?.endsWith('/traces'))
      keep(
        spans,
        itemsIn('traces', body).map(span => String(span.spanId)),
      );
    if (request.url?.endsWith('/logs')) keep(records, itemsIn('logs', body).map(eventId));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  const keep = (known: Set<string>, ids: readonly string[]): void => {
    for (const id of ids) {
      if (known.has(id)) receiver.repeated += 1;
      known.add(id);
    }
  };
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ isDown: false, spans, records, repeated: 0 },
    close: () =>
      new Promise(resolve => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return receiver;
}

const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);

function itemsIn(signal: 'traces' | 'logs', body: Uint8Array): JsonObject[] {
  const [outer, scope, inner] = {
    traces: ['resourceSpans', 'scopeSpans', 'spans'] as const,
    logs: ['resourceLogs', 'scopeLogs', 'logRecords'] as const,
  }[signal];
  return list(decodeRequest(signal, body)?.[outer]).flatMap(each => list(each[scope]).flatMap(of => list(of[inner])));
}

const eventId = ({ attributes }: JsonObject): string => String(plainAttributes(attributes)['agent_hooks.event.id']);
