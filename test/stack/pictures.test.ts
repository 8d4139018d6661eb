/**
 * The pictures of the docs: screenshots of the dashboards with half an hour of sessions. `npm run pictures` writes them to
 * docs/images; other runs only take them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ranIn } from '../commands/ran.ts';
import { eventually, lines, samples, search } from './backends.ts';
import { drawn, launched } from './browser.ts';
import { Machine } from './machine.ts';
import { statedCost, worked } from './working-day.ts';

const stack = inject('stack');
const folder = join(import.meta.dirname, '..', '..', 'docs', 'images');
const isWritten = process.env.OTEL_HOOKS_PICTURES === 'write';
/** The greatest size of a picture in the docs. */
const MOST_BYTES = 300_000;
const MINUTE_MS = 60_000;
/** Work of two machines: minutes ago, turns, calls, model, command. */
const DAY: readonly (readonly [number, number, number, string, string, boolean?])[] = [
  [27, 3, 4, 'claude-sonnet-4-5', 'npm test'],
  [23, 2, 6, 'claude-opus-4-1', 'npm run build'],
  [19, 4, 3, 'claude-sonnet-4-5', 'npm run lint'],
  [15, 2, 3, 'claude-haiku-4-5', 'npm run broken', true],
  [11, 5, 4, 'claude-sonnet-4-5', 'cargo test'],
  [7, 3, 5, 'claude-opus-4-1', 'git push --force origin main'],
  [4, 2, 4, 'claude-sonnet-4-5', 'npm test'],
];
const machines: Machine[] = [];
let browser: Browser;
let session = '';
let trace = '';

beforeAll(async () => {
  const team = { 'service.namespace': 'shop', 'deployment.environment.name': 'laptops' };
  for (const name of ['web', 'api']) {
    const machine = new Machine(stack.program, {
      provider: 'otlp',
      attributes: team,
      metrics: { include: ['vcs.repository.name', 'vcs.ref.head.name'] },
      otlp: { endpoint: stack.collector },
    });
    machines.push(machine);
    machine.repository(`https://git.example/shop/${name}.git`, name === 'web' ? 'main' : 'faster-search');
  }
  for (const [i, [minutes, turns, calls, model, command, isFailing = false]] of DAY.entries()) {
    const agoMs = minutes * MINUTE_MS;
    const machine = machines[i % 2] as Machine;
    worked(machine, { turns, calls, model, command, isFailing, agoMs: agoMs + 1_000 });
    const flags = ['--wait', '30s', ...machine.flags];
    const { code, err } = await ranIn(machine.home, ['deliver', ...flags], { now: () => Date.now() - agoMs });
    expect(code, err).toBe(0);
  }
  const [web] = machines as [Machine, Machine];
  for (const file of ['subagents', 'permission-granted', 'mcp-and-skills', 'denied-by-classifier'])
    web.journey(`${file}.journey`);
  statedCost(web);
  await web.deliver();
  const { out } = await web.cli('demo', '--otlp', stack.collector);
  session = /session\.id = (\S+)/.exec(out)?.[1] ?? out;
  [trace = ''] = await eventually(
    () => search(stack, `{ span.session.id = "${session}" }`),
    found => found.length > 0,
  );
  await eventually(
    () => lines(stack, `{service_name="claude-code"} | session_id="${session}" | agent_hooks_event_type="Session.End"`),
    found => found.length > 0,
  );
  await eventually(
    () => samples(stack, 'agent_hooks_decisions_total{agent_hooks_decision_outcome="deny"}'),
    found => found.length > 0,
  );
  browser = await launched();
}, 240_000);
afterAll(async () => {
  await browser?.close();
  for (const machine of machines) machine.remove();
});

const RANGE = 'from=now-30m&to=now&kiosk';
test.each([
  { file: 'fleet', path: () => `/d/otel-hooks-fleet?${RANGE}`, height: 1_290 },
  {
    file: 'session',
    path: () => `/d/otel-hooks-session?${RANGE}&var-session=${session}&var-trace=${trace}`,
    height: 1_590,
  },
  { file: 'decisions', path: () => `/d/otel-hooks-decisions?${RANGE}`, height: 1_070 },
  { file: 'teams', path: () => `/d/otel-hooks-teams?${RANGE}`, height: 1_100 },
])('the picture of $file is taken and small', async ({ file, path, height }) => {
  const page = await browser.newPage({ viewport: { width: 1_280, height } });
  await page.goto(`${stack.grafana}${path()}`);
  await drawn(page);
  const picture = await page.screenshot();
  expect(picture.length).toBeLessThan(MOST_BYTES);
  if (isWritten) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${file}.png`), picture);
  }
  await page.close();
});
