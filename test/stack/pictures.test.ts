/**
 * The sample day of `npm run stack -- --sample`, as a newcomer sees it, and the pictures of the docs: screenshots of the
 * dashboards with this day. `npm run pictures` writes them to docs/images; other runs only take them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { boards } from '../../grafana/dashboards.ts';
import { eventually, lines, samples, search } from './backends.ts';
import { BUSY_MS, drawn, launched, settled } from './browser.ts';
import { Machine } from './machine.ts';
import { playSampleDay } from './sample-day.ts';

const stack = inject('stack');
const folder = join(import.meta.dirname, '..', '..', 'docs', 'images');
const isWritten = process.env.OTEL_HOOKS_PICTURES === 'write';
/** The greatest size of a picture in the docs. */
const MOST_BYTES = 300_000;
/** The responses of the most expensive session: each of its actions has one, and each turn has one more. */
const RESPONSES = 24;
let browser: Browser;
interface Seen {
  session: string;
  trace: string;
}
let dearest: Seen;
/** Ended three quarters of an hour ago. */
let oldest: Seen;
/** The session of README. */
let demonstrated: Seen;

/** A session with its trace, which its records name. Tempo searches in old traces only after it has written them out. */
async function seen(session: string): Promise<Seen> {
  const records = await eventually(
    () => lines(stack, `{service_name="claude-code"} | session_id="${session}"`),
    found => found.length > 0,
  );
  return { session, trace: records[0]?.labels.trace_id ?? '' };
}

/** Tempo finds a trace by a search. */
const isFound = ({ session }: Seen): Promise<unknown> =>
  eventually(
    () => search(stack, `{ span.session.id = "${session}" }`),
    traces => traces.length > 0,
  );

beforeAll(async () => {
  const played = await playSampleDay(stack.program, stack.collector);
  dearest = await seen(played.dearest);
  oldest = await seen(played.sessions[0] ?? '');
  // The page asks again only after half a minute, so the cost of each response must be there before.
  const priced = `{service_name="claude-code"} | session_id="${dearest.session}" | agent_hooks_cost_usd!=""`;
  await eventually(
    () => lines(stack, priced),
    found => found.length >= RESPONSES,
  );
  const machine = new Machine(stack.program, {});
  const { out } = await machine.cli('demo', '--otlp', stack.collector);
  machine.remove();
  demonstrated = await seen(/session\.id = (\S+)/.exec(out)?.[1] ?? out);
  await isFound(demonstrated);
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
    path: () => `/d/otel-hooks-session?${RANGE}&var-session=${demonstrated.session}&var-trace=${demonstrated.trace}`,
    width: 1_100,
    height: 1_940,
  },
  { file: 'decisions', path: () => `/d/otel-hooks-decisions?${RANGE}`, height: 1_070 },
  { file: 'teams', path: () => `/d/otel-hooks-teams?${RANGE}`, height: 1_100 },
])('the picture of $file is taken and small', async ({ file, path, width = 1_280, height }) => {
  const page = await browser.newPage({ viewport: { width, height } });
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

test.each(boards.map(({ uid }) => uid))('%s shows data in each panel', async uid => {
  const page = await browser.newPage({ viewport: { width: 1_600, height: 4_200 } });
  const { session, trace } = demonstrated;
  const choice = uid === 'otel-hooks-session' ? `&var-session=${session}&var-trace=${trace}` : '';
  await page.goto(`${stack.grafana}/d/${uid}?${RANGE}${choice}`);
  await drawn(page);
  const empty = page
    .locator('[data-testid^="data-testid Panel header "]')
    .filter({ has: page.getByText('No data', { exact: true }) });
  expect(await empty.evaluateAll(all => all.map(each => each.getAttribute('data-testid')))).toEqual([]);
  await page.close();
});

test('on the first page, one click leads to the most expensive session and to what happened in it', async () => {
  const page = await browser.newPage({ viewport: { width: 1_600, height: 1_300 } });
  await page.goto(stack.grafana);
  const first = (panel: string): Locator =>
    page.getByTestId(`data-testid Panel header ${panel}`).getByRole('row').nth(1);
  const link = first('Most expensive sessions').getByRole('link').filter({ hasText: dearest.session });
  await link.waitFor({ timeout: BUSY_MS });
  await settled(page);
  await link.click();
  await page.waitForURL(new RegExp(`var-session=${dearest.session}&var-trace=${dearest.trace}`));
  await drawn(page);
  expect(await first('Longest actions').innerText()).toMatch(/^2\.35 min/);
  expect(await first('Riskiest actions').innerText()).toMatch(/critical\s+allow\s+user\s.*Bash\s+git/s);
  expect(await first('Failures').innerText()).toMatch(/Action\.After Bash npm .*failed exit 1 141000ms/);
  await page.close();
});

test('an old trace is drawn, also while the range ends long after it', async () => {
  const page = await browser.newPage({ viewport: { width: 1_600, height: 2_400 } });
  await page.goto(`${stack.grafana}/d/otel-hooks-session?from=now-2m&to=now&var-trace=${oldest.trace}`);
  const panel = page.getByTestId('data-testid Panel header The trace');
  await panel.getByText('Trace Start:').waitFor({ timeout: BUSY_MS });
  await page.close();
});
