/** A headless browser that looks at Grafana. */
import { execFileSync } from 'node:child_process';
import { type Browser, chromium, type Page } from 'playwright-core';

/** A busy machine needs that long to draw a dashboard. */
export const BUSY_MS = 60_000;

export function launched(): Promise<Browser> {
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium || command -v chromium-browser'], {
    encoding: 'utf8',
  }).trim();
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Waits until no panel loads: a table that is drawn anew between press and release loses the click. */
export const settled = (page: Page): Promise<void> =>
  page.getByLabel('Panel loading bar').first().waitFor({ state: 'detached' });

const PANEL = 'data-testid Panel header ';

/** Runs in the page: each panel in view has more text than its title. */
const ALL_DRAWN = `[...document.querySelectorAll('[data-testid^="${PANEL}"]')].every(panel =>
  panel.getBoundingClientRect().top >= innerHeight ||
  panel.innerText.replace(panel.dataset.testid.slice(${PANEL.length}), '').trim() !== '')`;

/** Waits until each panel in view shows more than its title. An empty panel shows the reason. */
export async function drawn(page: Page): Promise<void> {
  await page.locator(`[data-testid^="${PANEL}"]`).first().waitFor();
  await page.waitForFunction(ALL_DRAWN, undefined, { timeout: BUSY_MS });
  await settled(page);
}
