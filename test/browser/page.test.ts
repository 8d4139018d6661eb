/** The page of `otel-hooks view`, started from the packed tarball, in a real Chromium. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Event } from '../../src/event/event.ts';
import { openStore } from '../../src/store/store.ts';
import { isInstalled, needs } from '../needs.ts';
import { packInto } from '../package/tarball.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let place = '';
let program = '';
let browser: Browser;
/** Each test has its own home folder, server and browser context. */
let home = '';
let server: ChildProcess;
let address = '';
let context: BrowserContext;
let page: Page;
let errors: string[] = [];

beforeAll(async () => {
  if (!isInstalled('chromium')) return;
  place = mkdtempSync(join(tmpdir(), 'otel-hooks-page-'));
  const tarball = packInto(place, { PATH: process.env.PATH, HOME: place });
  execFileSync('tar', ['-xzf', tarball, '-C', place]);
  program = join(place, 'package', 'dist', 'otel-hooks.cjs');
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
});
afterAll(async () => {
  await browser?.close();
  if (place !== '') rmSync(place, { recursive: true, force: true });
});

beforeEach(context => {
  needs(context, 'chromium', 'tar');
  home = mkdtempSync(join(place, 'home-'));
  errors = [];
});
afterEach(async () => {
  await context?.close();
  await stop();
});

const environment = () => ({ PATH: process.env.PATH, HOME: home, OTEL_HOOKS_STATE_DIR: join(home, 'state') });

async function start(...words: string[]): Promise<void> {
  const args = [program, 'view', '--no-open', '--json', ...words];
  server = spawn(process.execPath, args, { env: environment(), cwd: home, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const part of server.stdout ?? []) {
    text += String(part);
    if (text.includes('\n')) break;
  }
  address = JSON.parse(text).address;
}

async function stop(): Promise<void> {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const over = once(server, 'exit');
  server.kill('SIGKILL');
  await over;
}

async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  context = await browser.newContext({ viewport: { width: 1_400, height: 900 }, ...options });
  page = await context.newPage();
  page.on('pageerror', error => errors.push(error.message));
  page.on('dialog', dialog => errors.push(`dialog ${dialog.message()}`));
  await page.goto(address);
  return page;
}

function run(input: string, ...words: string[]): void {
  const done = spawnSync(process.execPath, [program, ...words], { env: environment(), cwd: home, input });
  expect(done.status, String(done.stderr)).toBe(0);
}

function hook(fields: object): void {
  run(JSON.stringify({ session_id: 'live-session', cwd: home, ...fields }), 'hook', '--tool', 'claude-code');
}

const deliver = (): void => run('', 'deliver', '--wait', '1s');

/** Writes a journal as a delivery would. */
function journal(session: string, events: readonly Event[]): string {
  const key = Buffer.from(session.padEnd(16, '0').slice(0, 16)).toString('hex');
  const store = openStore({ folder: join(home, 'state'), access: 'own' });
  store.commit({ journal: [{ key, lines: events.map(each => `${JSON.stringify(each)}\n`).join('') }] });
  store.close();
  return key;
}

const event = (session: string, n: number, type: string, data: object, facts: object = {}): Event =>
  ({
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    event_type: type,
    timestamp: new Date(Date.parse('2026-03-01T10:00:00.000Z') + n * 100).toISOString(),
    source: { tool: 'acme' },
    session_id: session,
    data,
    metadata: { 'dev.otel-hooks': { v: 1, seq: n, time: 'native', ...facts } },
  }) as unknown as Event;

/** A session with this many actions; some fail. */
function worked(session: string, actions: number, tool = 'Bash'): Event[] {
  const events = [
    event(session, 1, 'Session.Start', { start_reason: 'startup' }),
    event(session, 2, 'Prompt.Submitted', {}),
  ];
  for (let i = 0; i < actions; i += 1) {
    const action = { name: 'shell', type: 'tool' };
    const result = { success: i % 10 !== 3 };
    events.push(event(session, 3 + 2 * i, 'Action.Before', { action }, { call: `c${i}`, tool }));
    events.push(event(session, 4 + 2 * i, 'Action.After', { action: { ...action, result } }, { call: `c${i}`, tool }));
  }
  return events;
}

const rows = () => page.locator('.row');

/** The rules of axe that the page violates. */
async function violations(): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
  return found;
}

describe('a machine where only transcripts exist', () => {
  beforeEach(() => {
    const folder = join(home, '.claude', 'projects', 'shop');
    mkdirSync(folder, { recursive: true });
    const row = (n: number, more: object) => ({
      ...{ uuid: `u-${n}`, parentUuid: n === 1 ? null : `u-${n - 1}`, sessionId: 'told', cwd: home },
      timestamp: new Date(Date.parse('2026-03-01T10:00:00.000Z') + n * 1_000).toISOString(),
      ...more,
    });
    const message = {
      ...{ id: 'm-1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' },
      ...{ content: [{ type: 'text', text: 'done' }], stop_reason: 'end_turn' },
      usage: { input_tokens: 1_000, output_tokens: 200 },
    };
    const lines = [
      row(1, { type: 'user', message: { role: 'user', content: 'go' } }),
      row(2, { type: 'assistant', message }),
    ];
    writeFileSync(join(folder, 'told.jsonl'), lines.map(each => `${JSON.stringify(each)}\n`).join(''));
  });

  it('offers the import, and lists the sessions with their cost afterwards', async () => {
    await start();
    await open();
    await page.getByText('1 transcripts').waitFor();
    await page.getByRole('button', { name: 'Import the transcripts' }).click();
    const line = page.locator('table.sessions tbody tr');
    await line.first().waitFor();
    expect(await line.count()).toBe(1);
    expect(await line.innerText()).toMatch(/told.*claude-code.*\$0\.\d{4}.*claude-sonnet-4-5/s);
    await page.getByText('The import is done.').waitFor();
    expect(errors).toEqual([]);
  });
});

describe('access', () => {
  it('a link with a wrong token shows no session and names the next step', async () => {
    journal('secret-session', worked('secret-session', 1));
    await start();
    address = address.replace(/token=.*/, 'token=0');
    await open();
    await page.getByText('Next: run').waitFor();
    expect(await page.content()).not.toContain('secret-session');
  });

  it('a second browser needs the link, and the link works there too', async () => {
    journal('a-session', worked('a-session', 1));
    await start();
    await open();
    await page.locator('table.sessions').waitFor();
    const second = await browser.newContext();
    const other = await second.newPage();
    await other.goto(new URL('/', address).href);
    await other.getByText('No access').waitFor();
    await other.goto(address);
    await other.locator('table.sessions').waitFor();
    await second.close();
  });

  it('a page whose server was killed keeps its data and says what to do', async () => {
    journal('a-session', worked('a-session', 1));
    await start();
    await open();
    await page.locator('table.sessions').waitFor();
    await stop();
    await page.getByRole('alert').getByText('The server of this page has stopped.').waitFor();
    expect(await page.locator('table.sessions tbody tr').count()).toBe(1);
  });
});

describe('a session', () => {
  it('grows while its hooks fire', async () => {
    hook({ hook_event_name: 'SessionStart', source: 'startup' });
    hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
    deliver();
    await start('live-session');
    await open();
    await rows().first().waitFor();
    const before = await rows().count();
    hook({ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 't1', tool_input: { command: 'ls' } });
    deliver();
    await page.getByRole('treeitem', { name: /Bash/ }).waitFor();
    expect(await rows().count()).toBeGreaterThan(before);
    expect(errors).toEqual([]);
  });

  it('shows the attributes of a span, and has an address for it', async () => {
    journal('a-session', worked('a-session', 5));
    await start('a-session');
    await open();
    await page.getByRole('treeitem', { name: /Bash/ }).first().click();
    await page.locator('.details').getByText('gen_ai.tool.name').first().waitFor();
    const link = page.url();
    expect(link).toMatch(/#\/session\/[0-9a-f]+\?span=[0-9a-f]{16}$/);
    await page.reload();
    await page.locator('.details').getByText('gen_ai.tool.name').first().waitFor();
    expect(await page.locator('.row.selected').count()).toBe(1);
    expect(errors).toEqual([]);
  });

  it('can be read with the keyboard alone', async () => {
    journal('a-session', worked('a-session', 5));
    await start();
    await open();
    await page.locator('table.sessions a').first().waitFor();
    await page.locator('table.sessions a').first().focus();
    await page.keyboard.press('Enter');
    const tree = page.getByRole('tree');
    await tree.waitFor();
    await tree.focus();
    await page.keyboard.press('ArrowDown');
    await page.locator('.row.selected').getByText('session acme').waitFor();
    await page.keyboard.press('End');
    await page.locator('.row.selected').getByText('Bash').waitFor();
    const all = await rows().count();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => rows().count()).toBe(1);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => rows().count()).toBe(all);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('+');
    await page.keyboard.press('0');
    expect(await page.locator('.row.selected').count()).toBe(1);
    expect(errors).toEqual([]);
  });

  it('shows hostile names as text', async () => {
    const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>\u202etxt.exe';
    journal('hostile', [
      ...worked('hostile', 2, hostile),
      event('hostile', 99, 'Notification', {}, { tool: 'x'.repeat(1_000_000) }),
    ]);
    await start('hostile');
    await open();
    await page
      .getByRole('treeitem', { name: /<img src=x/ })
      .first()
      .click();
    await page.locator('.details').getByText('gen_ai.tool.name').first().waitFor();
    expect(await page.locator('#page img, #page script').count()).toBe(0);
    expect(await page.locator('#page').innerText()).not.toContain('\u202e');
    expect(errors).toEqual([]);
  });

  it('with 10,000 spans keeps a few rows in the document while it scrolls', async () => {
    journal('large', worked('large', 10_000));
    await start('large');
    await open();
    await rows().first().waitFor();
    await page.getByText(/^10\d{3} rows/).waitFor();
    const tree = page.getByRole('tree');
    for (const share of [0.3, 0.6, 1, 0]) {
      await tree.evaluate((box, at) => {
        box.scrollTop = box.scrollHeight * at;
      }, share);
      await expect.poll(() => page.locator('.row').count()).toBeGreaterThan(10);
      expect(await rows().count()).toBeLessThan(120);
    }
    await tree.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.locator('.row.selected').waitFor();
    expect(errors).toEqual([]);
  });
});

describe.each(['light', 'dark'] as const)('in %s mode', colorScheme => {
  it('list and session violate no rule of axe, also on a narrow screen', async () => {
    journal('a-session', worked('a-session', 12));
    await start();
    await open({ colorScheme });
    for (const width of [1_400, 320]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(new URL('/#/', address).href);
      await page.locator('table.sessions a').first().waitFor();
      expect(await violations()).toEqual([]);
      await page.locator('table.sessions a').first().click();
      await page.getByRole('treeitem', { name: /Bash/ }).first().click();
      await page.locator('.details').getByText('gen_ai.tool.name').first().waitFor();
      expect(await violations()).toEqual([]);
    }
    expect(errors).toEqual([]);
  });
});
