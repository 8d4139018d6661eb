/** The delivery that runs beside the server, in the real program. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Collector, startCollector } from '../collector.ts';
import { type Serving, serving } from '../obligations/served.ts';
import { furnish, type House, until, vacate } from '../wire/house.ts';
import { agentHooks } from './standing.ts';

let house: House;
let collector: Collector;
let server: Serving;
beforeEach(async () => {
  collector = await startCollector();
  house = furnish('built', 'otel-hooks-serve-delivery-');
  const config = join(house.home, '.config', 'otel-hooks');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ provider: 'otlp', otlp: { endpoint: collector.url } }));
  server = await serving(house);
});
afterEach(async () => {
  if (server.child.exitCode === null && server.child.signalCode === null) await server.kill();
  await until(() => delivery() === undefined, 20_000);
  await vacate(house);
  await collector.close();
});

/** The process that has the lock of this state folder. */
function delivery(): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(house.state, 'lock'), 'utf8'), 10);
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

async function started(): Promise<number> {
  await until(() => delivery() !== undefined, 20_000);
  return delivery() ?? 0;
}

/** Sends one event, and waits until the collector has it. */
async function sendAndArrive(number: number): Promise<void> {
  const event = JSON.stringify(agentHooks(number));
  const { status } = await fetch(`${server.url}/v1/events`, { method: 'POST', headers: server.welcome, body: event });
  expect(status).toBe(200);
  const { session_id: session } = JSON.parse(event) as { session_id: string };
  await until(() => collector.requests.some(({ body }) => body.includes(session)), 20_000);
}

it('is a process of its own with a lower priority, and ends with the server', async () => {
  const pid = await started();
  expect(pid).not.toBe(server.child.pid);
  await until(() => getPriority(pid) === Math.max(10, getPriority()), 20_000);
  await sendAndArrive(1);
  expect(await server.stop()).toBe(0);
  expect([delivery(), existsSync(join(house.state, 'lock'))]).toEqual([undefined, false]);
});

it('is started again when it was killed, while the server answers', async () => {
  const first = await started();
  process.kill(first, 'SIGKILL');
  await until(() => ![undefined, first].includes(delivery()), 20_000);
  await sendAndArrive(2);
});

it('ends when the server is killed, and leaves no lock', async () => {
  await started();
  await server.kill();
  await until(() => delivery() === undefined, 20_000);
  expect(existsSync(join(house.state, 'lock'))).toBe(false);
});

it('survives Ctrl-C for as long as the server needs it: the signal goes to both', async () => {
  const pid = await started();
  await sendAndArrive(3);
  process.kill(pid, 'SIGINT');
  server.child.kill('SIGINT');
  expect(await server.stop()).toBe(0);
  expect([delivery(), existsSync(join(house.state, 'lock'))]).toEqual([undefined, false]);
});
