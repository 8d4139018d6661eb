/** The dashboards in a real browser, as an anonymous visitor sees them. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { boards } from '../../grafana/dashboards.ts';
import { eventually, lines, search } from './backends.ts';
import { BUSY_MS, drawn, launched, settled } from './browser.ts';
import { Machine } from './machine.ts';
import { worked } from './working-day.ts';

const stack = inject('stack');
const machine = new Machine(stack.program, {
  provider: 'otlp',
  service_name: 'seen-in-a-browser',
  otlp: { endpoint: stack.collector },
});
let browser: Browser;
let session = '';
let trace = '';

beforeAll(async () => {
  browser = await launched();
  machine.repository('https://git.example/acme/shop.git', 'main');
  worked(machine, { turns: 1, calls: 2, command: 'npm run broken', isFailing: true });
  session = worked(machine, { turns: 3, calls: 4, command: 'git push --force origin main' });
  await machine.deliver();
  [trace = ''] = await eventually(
    () => search(stack, `{ span.session.id = "${session}" }`),
    found => found.length > 0,
  );
  // The page asks again only after half a minute, so the cost of each response must be there before.
  await eventually(
    () => lines(stack, `{service_name="seen-in-a-browser"} | session_id="${session}" | agent_hooks_cost_usd!=""`),
    found => found.length >= 15,
  );
}, 120_000);
afterAll(async () => {
  await browser?.close();
  machine.remove();
});

/** A page of Grafana that is high enough to draw each panel of a dashboard, and what its console reported. */
async function opened(path: string, width: number): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 4_200 } });
  const errors: string[] = [];
  page.on('console', message => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', error => errors.push(error.message));
  await page.goto(`${stack.grafana}${path}`, { waitUntil: 'networkidle', timeout: BUSY_MS });
  return { page, errors };
}

const cut = (titles: { text: string; isCut: boolean }[]): string[] =>
  titles.flatMap(({ text, isCut }) => (isCut ? [text] : []));

describe.each([1_600, 1_000])('%d pixels wide', width => {
  test.each(boards.map(({ uid, rows }) => ({ uid, rows })))('$uid is drawn without an error', async ({ uid, rows }) => {
    const choice = uid === 'otel-hooks-session' ? `&var-session=${session}&var-trace=${trace}` : '';
    const { page, errors } = await opened(`/d/${uid}?from=now-1h&to=now${choice}&kiosk`, width);
    const titles = rows.flatMap(({ panels }) => panels.map(({ title }) => title));
    for (const title of titles) await page.getByText(title, { exact: true }).first().waitFor({ timeout: BUSY_MS });
    await drawn(page);
    // The corner of a panel whose query failed.
    expect(await page.locator('[aria-label="Panel status"], .panel-info-corner--error').count()).toBe(0);
    const shown = await page
      .locator('h2[title], h6[title]')
      .evaluateAll(all =>
        all.map(each => ({ text: each.textContent ?? '', isCut: each.scrollWidth > each.clientWidth + 1 })),
      );
    expect(cut(shown)).toEqual([]);
    expect(errors).toEqual([]);
    await page.close();
  });
});

/** The link with this title in a panel. The page has other links with the same address, among them the one to log in. */
async function follow(page: Page, panel: string, title: string, value: string, there: RegExp): Promise<void> {
  const link = page
    .getByTestId(`data-testid Panel header ${panel}`)
    .getByTitle(title, { exact: true })
    .filter({ hasText: value })
    .first();
  await link.waitFor({ timeout: BUSY_MS });
  await settled(page);
  await link.click();
  await page.waitForURL(there);
}

test('a visitor goes from a session to its trace, a span, the records of the span, and back, by clicks', async () => {
  const { page, errors } = await opened('/d/otel-hooks-fleet?from=now-1h&to=now&var-agent=seen-in-a-browser', 1_600);
  const inPanel = (panel: string, text: string | RegExp): Locator =>
    page.getByTestId(`data-testid Panel header ${panel}`).getByText(text).first();
  await follow(page, 'Most expensive sessions', 'Open this session', session, new RegExp(`var-session=${session}`));
  await follow(page, 'Traces of this session', 'Draw this trace', trace, new RegExp(`var-trace=${trace}`));
  // The trace is drawn; a click on a span opens its attributes.
  await inPanel('The trace', /execute_tool Bash/).waitFor();
  await settled(page);
  await inPanel('The trace', /execute_tool Bash/).click();
  await inPanel('The trace', 'agent_hooks.decision.outcome').waitFor();
  // A click on the span of an action lists its records.
  await follow(page, 'Longest actions', 'Records of this span', '', /var-span=[0-9a-f]{16}/);
  await inPanel('Records of the chosen span', /Action\.After Bash git/).waitFor();
  // A click on the trace of a record leads back to the whole trace.
  await follow(page, 'All records', 'Draw this trace', trace, /^(?!.*var-span=)/);
  await inPanel('The trace', 'Trace Start:').waitFor();
  expect(errors).toEqual([]);
  await page.close();
});
