/** The dashboards in a real browser, as an anonymous visitor sees them. */
import { execFileSync } from 'node:child_process';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { boards } from '../../grafana/dashboards.ts';
import { eventually, lines, search } from './backends.ts';
import { Machine } from './machine.ts';
import { worked } from './working-day.ts';

const stack = inject('stack');
const machine = new Machine(stack.program, {
  provider: 'otlp',
  service_name: 'seen-in-a-browser',
  otlp: { endpoint: stack.collector },
});
/** A busy machine may be too slow for a click or a drawing; a fault of the dashboards stays in each repetition. */
const AGAIN = { retry: 4 };
let browser: Browser;
let session = '';
let trace = '';

beforeAll(async () => {
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium || command -v chromium-browser'], {
    encoding: 'utf8',
  }).trim();
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
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
  const page = await browser.newPage({ viewport: { width, height: 3_600 } });
  const errors: string[] = [];
  page.on('console', message => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', error => errors.push(error.message));
  await page.goto(`${stack.grafana}${path}`, { waitUntil: 'networkidle', timeout: 60_000 });
  return { page, errors };
}

const cut = (titles: { text: string; isCut: boolean }[]): string[] =>
  titles.flatMap(({ text, isCut }) => (isCut ? [text] : []));

describe.each([1_600, 1_000])('%d pixels wide', width => {
  test.each(boards.map(({ uid, rows }) => ({ uid, rows })))(
    '$uid is drawn without an error',
    AGAIN,
    async ({ uid, rows }) => {
      const choice = uid === 'otel-hooks-session' ? `&var-session=${session}&var-trace=${trace}` : '';
      const { page, errors } = await opened(`/d/${uid}?from=now-1h&to=now${choice}&kiosk`, width);
      const titles = rows.flatMap(({ panels }) => panels.map(({ title }) => title));
      for (const title of titles) await page.getByText(title, { exact: true }).first().waitFor({ timeout: 20_000 });
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
    },
  );
});

/** Clicks a link until the page has gone there: a table that is drawn again while it is clicked loses the click. */
async function follow(page: Page, link: Locator, there: RegExp): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await link.click();
    try {
      return await page.waitForURL(there, { timeout: 6_000 });
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

test(
  'a visitor goes from a session to its trace, a span, the records of the span, and back, by clicks',
  AGAIN,
  async () => {
    const { page, errors } = await opened('/d/otel-hooks-fleet?from=now-1h&to=now&var-agent=seen-in-a-browser', 1_600);
    await follow(page, page.locator(`a[href*="var-session=${session}"]`).first(), new RegExp(`var-session=${session}`));
    await follow(
      page,
      page.locator(`a[href^="/d/otel-hooks-session?"][href*="var-trace=${trace}"]`).first(),
      new RegExp(`var-trace=${trace}`),
    );
    // The trace is drawn; a click on a span opens its attributes.
    await page.getByText('Trace Start:').waitFor({ timeout: 20_000 });
    await page
      .getByText(/execute_tool Bash/)
      .first()
      .click();
    await page.getByText('agent_hooks.decision.outcome').first().waitFor({ timeout: 10_000 });
    // A click on the span of an action lists its records.
    await follow(
      page,
      page.locator('a[href^="/d/otel-hooks-session?"][href*="var-span="]').first(),
      /var-span=[0-9a-f]{16}/,
    );
    await page
      .getByText(/Action\.After Bash git/)
      .first()
      .waitFor({ timeout: 20_000 });
    // A click on the trace of a record leads back to the whole trace.
    await page.locator(`a[href^="/d/otel-hooks-session?"][href*="var-trace=${trace}"]`).last().click();
    await page.getByText('Trace Start:').waitFor({ timeout: 20_000 });
    expect(errors).toEqual([]);
    await page.close();
  },
);
