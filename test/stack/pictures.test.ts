/**
 * The sample day of `npm run stack -- --sample`, as a newcomer sees it, and the pictures of the docs: screenshots of the
 * dashboards with this day. `npm run pictures` writes them to docs/images; other runs only take them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { eventually, samples, search } from './backends.ts';
import { drawn, launched, settled } from './browser.ts';
import { playSampleDay } from './sample-day.ts';

const stack = inject('stack');
const folder = join(import.meta.dirname, '..', '..', 'docs', 'images');
const isWritten = process.env.OTEL_HOOKS_PICTURES === 'write';
/** The greatest size of a picture in the docs. */
const MOST_BYTES = 300_000;
let browser: Browser;
let session = '';
let trace = '';

beforeAll(async () => {
  ({ dearest: session } = await playSampleDay(stack.program, stack.collector));
  [trace = ''] = await eventually(
    () => search(stack, `{ span.session.id = "${session}" }`),
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
});

const RANGE = 'from=now-1h&to=now&kiosk';
test.each([
  { file: 'fleet', path: () => `/d/otel-hooks-fleet?${RANGE}`, height: 1_290 },
  {
    file: 'session',
    path: () => `/d/otel-hooks-session?${RANGE}&var-session=${session}&var-trace=${trace}`,
    height: 1_560,
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

test('on the first page, one click leads to the most expensive session and to what happened in it', async () => {
  const page = await browser.newPage({ viewport: { width: 1_600, height: 1_300 } });
  await page.goto(stack.grafana);
  const first = (panel: string): Locator =>
    page.getByTestId(`data-testid Panel header ${panel}`).getByRole('row').nth(1);
  const dearest = first('Most expensive sessions').getByRole('link');
  await dearest.waitFor();
  await settled(page);
  await dearest.click();
  await page.waitForURL(new RegExp(`var-session=${session}&var-trace=${trace}`));
  await drawn(page);
  expect(await first('Longest actions').innerText()).toMatch(/^2\.35 min/);
  expect(await first('Riskiest actions').innerText()).toMatch(/critical\s+allow\s+user\s.*Bash git/s);
  expect(await first('Failures').innerText()).toMatch(/Action\.After Bash npm .*failed exit 1 141000ms/);
  await page.close();
});
