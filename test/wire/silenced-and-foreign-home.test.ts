/** If a project or the home of another user keeps data from being recorded or sent, the real program reports it. */

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Collector, plainAttributes, startCollector } from '../collector.ts';
import { needsRoot } from '../needs.ts';
import { AGENT, enable, furnish, type House, otelHooks, payloadOf, status, vacate } from './house.ts';

let house: House;
let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
  house = furnish('built', 'otel-hooks-silenced-');
});
afterEach(async () => {
  await vacate(house);
  await collector.close();
});

async function play(id: string): Promise<void> {
  for (const [event, flush] of [
    ['SessionStart', []],
    ['SessionEnd', ['--flush', '20s']],
  ] as const) {
    const input = payloadOf({
      session_id: id,
      cwd: house.project,
      hook_event_name: event,
      source: 'startup',
      reason: 'other',
    });
    expect(await run(['hook', '--tool', AGENT, ...flush], input)).toBe(0);
  }
}

/**
 * Runs the program, and returns its exit code. This thread does not block meanwhile, because the collector answers in
 * it.
 */
function run(words: readonly string[], input = ''): Promise<unknown> {
  const child = spawn(process.execPath, [house.bin, ...words], { cwd: house.project, env: house.env });
  child.stdin.end(input);
  return new Promise(resolve => child.once('close', resolve));
}

const codes = (): string[] => status(house).problems.map(({ code }) => code);

it('status names the project file that silenced a session, and a setting of the user forbids it', async () => {
  const folder = join(house.home, '.config/otel-hooks');
  fs.mkdirSync(folder, { recursive: true });
  const configured = (more: object): void =>
    fs.writeFileSync(join(folder, 'config.json'), JSON.stringify({ otlp: { endpoint: collector.url }, ...more }));
  configured({});
  fs.writeFileSync(join(house.project, '.otel-hooks.json'), '{ "enabled": false }');
  await play('first');
  expect(collector.spans()).toEqual([]);
  expect(codes()).toContain('session-silenced');
  // A note, and not a failure.
  expect(otelHooks(house, ['status']).stderr).toContain(
    '.otel-hooks.json sets enabled, so no spans of its sessions are sent',
  );
  configured({ projects: { may_silence: false } });
  await play('second');
  expect(collector.spans().length).toBeGreaterThan(0);
});

it('sessions that project files silence are counted once each, in status and in a metric for the known destinations', async () => {
  const folder = join(house.home, '.config/otel-hooks');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(join(folder, 'config.json'), JSON.stringify({ otlp: { endpoint: collector.url } }));
  await play('heard');
  const silence = (setting: object): void =>
    fs.writeFileSync(join(house.project, '.otel-hooks.json'), JSON.stringify(setting));
  silence({ enabled: false });
  await play('switched off');
  await play('switched off, too');
  silence({ trace: { sampler: 'always_off' } });
  await play('not sampled');
  expect(JSON.parse(otelHooks(house, ['status', '--json']).stdout).counters).toMatchObject({
    'silenced.enabled': 2,
    'silenced.trace.sampler': 1,
  });
  expect(otelHooks(house, ['status']).stdout).toContain(
    'silenced by project files: 2 sessions (enabled), 1 session (trace.sampler)',
  );
  expect(await run(['deliver'])).toBe(0);
  const counters = collector.metrics().filter(({ name }) => name === 'agent_hooks.pipeline.silenced');
  const points = counters.flatMap(({ sum }) => (sum as { dataPoints: { attributes: []; asInt: string }[] }).dataPoints);
  const totals = points.map(each => [
    plainAttributes(each.attributes)['agent_hooks.pipeline.reason'],
    Number(each.asInt),
  ]);
  expect(Object.fromEntries(totals)).toEqual({ enabled: 2, 'trace.sampler': 1 });
});

it('commands of root make nothing in the home of a user, and print the reason', context => {
  needsRoot(context);
  fs.chownSync(house.home, 4321, 4321);
  const before = fs.readdirSync(house.home);
  for (const words of [['enable', '--tool', AGENT, '--yes', '--no-proof', '--endpoint', collector.url], ['deliver']]) {
    const ran = otelHooks(house, words);
    expect([words[0], ran.status]).toEqual([words[0], 1]);
    expect(ran.stderr).toMatch(/belongs to (another )?user/);
  }
  expect(fs.readdirSync(house.home)).toEqual(before);
  fs.chownSync(house.home, 0, 0);
  expect(enable(house, collector.url).status).toBe(0);
});
