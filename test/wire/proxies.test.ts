/** The installed program behind HTTP proxies: which settings count, and what it prints. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { travelling } from '../../src/hook/environment.ts';
import { type Collector, startCollector } from '../collector.ts';
import { type HttpProxy, startProxy } from '../http-proxy.ts';
import { furnish, type House, type Ran, vacate } from './house.ts';

const ENDPOINT = 'http://collector.invalid:4318';
let house: House;
let collector: Collector;
let proxies: HttpProxy[] = [];

beforeEach(async () => {
  house = furnish('built');
  collector = await startCollector();
});
afterEach(async () => {
  await vacate(house);
  await Promise.all(proxies.map(each => each.close()));
  proxies = [];
  await collector.close();
});

async function proxy(): Promise<HttpProxy> {
  const started = await startProxy({ to: Number(new URL(collector.url).port), auth: 'me:pass-word' });
  proxies.push(started);
  return started;
}

const withPassword = ({ url }: HttpProxy, password = 'pass-word'): string => url.replace('//', `//me:${password}@`);

function configure(proxy: object = {}): void {
  const folder = join(house.home, '.config', 'otel-hooks');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({ provider: 'otlp', otlp: { endpoint: ENDPOINT, timeout_ms: 5_000 }, proxy }),
  );
}

/** Does not block this process, in which the proxies run. */
async function otelHooks(words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const child = spawn(process.execPath, [house.bin, ...words], { cwd: house.project, env: { ...house.env, ...env } });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { status, stdout, stderr };
}

/** Records a session of one event, which does not leave: nothing listens at the address of its proxy. */
async function record(n: number): Promise<void> {
  const event = {
    spec_version: '0.1.0',
    event_id: `0198f0c2-0000-7000-8000-00000000000${n}`,
    session_id: `0198f0c2-1111-7000-8000-00000000000${n}`,
    timestamp: '2026-09-21T12:00:00.000Z',
    source: { tool: 'my-agent' },
    actor: { type: 'system' },
    event_type: 'Session.Start',
    data: {},
  };
  writeFileSync(join(house.folder, 'events.jsonl'), `${JSON.stringify(event)}\n`);
  const nowhere = { HTTP_PROXY: 'http://127.0.0.1:1' };
  const ran = await otelHooks(['ingest', join(house.folder, 'events.jsonl'), '--wait', '100ms', '--json'], nowhere);
  expect(JSON.parse(ran.stdout)).toMatchObject({ recorded: 1 });
}

it('delivery goes through the proxy of its environment, and messages show no password', async () => {
  configure();
  const [right, other] = [await proxy(), await proxy()];
  await record(1);
  const refused = await otelHooks(['deliver', '--wait', '500ms'], { HTTP_PROXY: withPassword(other, 'wrong-word') });
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain(`proxy ${other.url}: 407`);
  expect(refused.stderr).toContain('the proxy expects a user and a password');
  const status = await otelHooks(['status', '--json']);
  expect(`${refused.stdout}${refused.stderr}${status.stdout}`).not.toContain('wrong-word');
  expect(collector.requests).toEqual([]);

  expect(await otelHooks(['deliver'], { HTTP_PROXY: withPassword(right) })).toMatchObject({ status: 0 });
  expect(right.asked).toContain(`POST ${ENDPOINT}/v1/logs`);
  expect(collector.records().length).toBeGreaterThan(0);
  expect(collector.requests.every(each => each.headers['proxy-authorization'] === undefined)).toBe(true);
});

it('the global file counts before the environment, and a file of the project does not count', async () => {
  const [mine, theirs] = [await proxy(), await proxy()];
  configure();
  await record(2);
  configure({ url: withPassword(mine) });
  writeFileSync(join(house.project, '.otel-hooks.json'), JSON.stringify({ proxy: { url: withPassword(theirs) } }));
  expect((await otelHooks(['deliver'], { HTTP_PROXY: withPassword(theirs), NO_PROXY: '*' })).status).toBe(0);
  expect(mine.asked.length).toBeGreaterThan(0);
  expect(theirs.asked).toEqual([]);
});

it('no fragment carries the proxy of a project', () => {
  expect(travelling().filter(name => /proxy/i.test(name))).toEqual([]);
});
