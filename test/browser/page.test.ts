/** The page of `otel-hooks view`, started from the packed tarball, in a real Chromium. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Event } from '../../src/event/event.ts';
import { needs } from '../needs.ts';
import { Installed } from './installed.ts';
import { checkout, resumed, Script, small, writeJournal } from './sessions.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let installed: Installed;
/** Each test has its own home folder, server and browser context. */
let home = '';
let address = '';
let page: Page;

beforeAll(async () => {
  const found = await Installed.packed();
  if (found !== undefined) installed = found;
});
afterAll(() => installed?.close());

beforeEach(context => {
  needs(context, 'chromium', 'tar');
  home = installed.home();
});
afterEach(() => installed?.reset());

async function start(...words: string[]): Promise<void> {
  address = await installed.serve(home, ...words);
}

async function open(options: Parameters<Installed['open']>[1] = {}): Promise<Page> {
  page = await installed.open(address, options);
  return page;
}

function hook(fields: object): void {
  const input = JSON.stringify({ session_id: 'live-session', cwd: home, ...fields });
  installed.run(home, input, 'hook', '--tool', 'claude-code');
}

const deliver = (): string => installed.run(home, '', 'deliver', '--wait', '1s');
const journal = (session: string, events: readonly Event[]): string => writeJournal(home, session, events);

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

/** Keeps a picture for the docs with OTEL_HOOKS_PICTURES=write: `npm run pictures:page`. */
async function picture(name: string, fullPage = false): Promise<void> {
  if (process.env.OTEL_HOOKS_PICTURES !== 'write') return;
  await page.screenshot({ path: join(import.meta.dirname, '..', '..', 'docs', 'images', name), fullPage });
}

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
    await page.getByText('1 transcript ').waitFor();
    await page.getByRole('button', { name: 'Import the transcripts' }).click();
    const line = page.locator('table.sessions tbody tr');
    await line.first().waitFor();
    expect(await line.count()).toBe(1);
    expect(await line.innerText()).toMatch(/told.*claude-code.*\$0\.\d{4}.*claude-sonnet-4-5/s);
    await page.getByText('The import is done.').waitFor();
    expect(installed.errors).toEqual([]);
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
    const other = await installed.open(new URL('/', address).href);
    await other.getByText('No access').waitFor();
    await other.goto(address);
    await other.locator('table.sessions').waitFor();
  });

  it('after a restart of the server, the old page asks for the new link, which works', async () => {
    journal('a-session', worked('a-session', 1));
    await start('--port', '0');
    await open();
    await page.locator('table.sessions').waitFor();
    const { port } = new URL(address);
    await installed.stop();
    await start('--port', port);
    await page.getByRole('alert').getByText('This link is not valid, or no longer valid').waitFor();
    await page.goto(address);
    await page.locator('table.sessions').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('an unknown session has a sentence and a next step', async () => {
    journal('a-session', worked('a-session', 1));
    await start();
    address += '#/session/none';
    await open();
    await page.getByRole('alert').getByText('No session has this id on this machine').waitFor();
    await page.getByRole('link', { name: 'all sessions' }).click();
    await page.locator('table.sessions').waitFor();
  });

  it('a page whose server was killed keeps its data and says what to do', async () => {
    journal('a-session', worked('a-session', 1));
    await start();
    await open();
    await page.locator('table.sessions').waitFor();
    await installed.stop();
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
    expect(installed.errors).toEqual([]);
  });

  it('follows the newest entry unless the reader has scrolled away', async () => {
    const s = new Script('growing', '2026-03-01T10:00:00.000Z').start(0);
    s.add(1, 'Prompt.Submitted', {}, { turn: 't1' });
    for (let i = 0; i < 100; i += 1) s.action(2 + i, 0.5, 'Bash');
    journal('growing', s.events);
    await start('growing');
    await open();
    const tree = page.getByRole('tree');
    await rows().first().waitFor();
    const atEnd = (): Promise<boolean> =>
      tree.evaluate(box => box.scrollTop + box.clientHeight >= box.scrollHeight - 24);
    const grow = async (): Promise<void> => {
      const before = await tree.evaluate(box => box.scrollHeight);
      const had = s.events.length;
      for (let i = 0; i < 5; i += 1) s.action(200 + had + i, 0.5, 'Bash');
      journal('growing', s.events.slice(had));
      await expect.poll(() => tree.evaluate(box => box.scrollHeight)).toBeGreaterThan(before);
    };
    await expect.poll(atEnd).toBe(true);
    await grow();
    await expect.poll(atEnd).toBe(true);
    await tree.evaluate(box => {
      box.scrollTop = 100;
    });
    await grow();
    expect(await tree.evaluate(box => box.scrollTop)).toBe(100);
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
    expect(installed.errors).toEqual([]);
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
    expect(installed.errors).toEqual([]);
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
    expect(installed.errors).toEqual([]);
  });
});

describe('a session with everything', () => {
  const start1 = '2026-03-01T09:30:00.000Z';
  beforeEach(() => {
    journal('c0ffee11-checkout', checkout('c0ffee11-checkout', start1));
    journal('c0ffee22-resumed', resumed('c0ffee22-resumed', '2026-03-02T08:00:00.000Z', 'c0ffee11-checkout'));
  });

  it('answers what it cost, where its time went, what failed, and who denied what', async () => {
    await start('c0ffee11-checkout');
    await open({ timezoneId: 'Asia/Tokyo' });
    const card = (name: RegExp) => page.getByRole('region', { name });
    await card(/^Cost: \$1\.26/)
      .getByText('claude-sonnet-4-5: $1.26 for 15 responses')
      .waitFor();
    await card(/^Time: 10 min 20 s/)
      .getByText('1 min 16 s waiting for a person')
      .waitFor();
    expect(
      await card(/^Failed: 3 actions$/)
        .getByRole('listitem')
        .count(),
    ).toBe(3);
    const denied = card(/^Denials: 1/).getByRole('listitem');
    expect(await denied.innerText()).toMatch(/Bash \(git\) denied by policy \(rule, managed settings\)/);
    // The viewer's time zone, with UTC on hover.
    const time = denied.locator('time');
    expect([await time.innerText(), await time.getAttribute('title')]).toEqual([
      '18:38:21',
      '2026-03-01T09:38:21.000Z (UTC)',
    ]);
    await denied.getByRole('button').click();
    await page.locator('.row.selected').getByText('Bash (git)').waitFor();
    await page.locator('.details').getByText('Denied by policy (rule, managed settings).').waitFor();
    await page.setViewportSize({ width: 1_400, height: 1_000 });
    await page.evaluate('scrollTo(0, 0)');
    await picture('view-session.png');
    expect(installed.errors).toEqual([]);
  });

  it('opens the turn of a chosen failure, and shows its row in the window', async () => {
    const s = new Script('long', start1).start(0);
    for (let turn = 0; turn < 12; turn += 1) {
      const at = turn * 100;
      s.add(at + 1, 'Prompt.Submitted', {}, { turn: `t${turn}` });
      for (let i = 0; i < 10; i += 1)
        s.action(at + 2 + i, 0.5, 'Bash', {}, i === 5 ? { success: false, exit_code: 1 } : {});
      s.add(at + 20, 'Agent.Response', { response_length: 90, final: true }, { turn: `t${turn}` });
    }
    journal('long', s.end(1_300));
    await start('long');
    await open({ viewport: { width: 1_400, height: 600 } });
    const card = page.getByRole('region', { name: /^Failed: 12 actions$/ });
    await card.getByRole('button', { name: 'and 4 more' }).click();
    expect(await card.getByRole('listitem').count()).toBe(12);
    await page.getByRole('treeitem', { name: /^turn 2:/ }).waitFor({ state: 'attached' });
    for (const nth of [7, 11, 0]) {
      await page.getByRole('button', { name: 'Close all' }).click();
      await page.evaluate('scrollTo(0, 0)');
      await card.getByRole('listitem').nth(nth).getByRole('button').click();
      const selected = page.locator('.row.selected');
      await selected.getByText('tool_error').waitFor();
      const inWindow = () => selected.evaluate(row => row.getBoundingClientRect());
      await expect.poll(async () => (await inWindow()).bottom).toBeLessThanOrEqual(600);
      expect((await inWindow()).top).toBeGreaterThanOrEqual(0);
    }
    expect(installed.errors).toEqual([]);
  });

  it('is one session with its continuation of the next day, whose pause the waterfall shortens', async () => {
    await start();
    await open();
    const line = page.locator('table.sessions tbody tr');
    await line.first().waitFor();
    expect(await line.count()).toBe(1);
    await line.getByRole('link').click();
    await page.getByText('This session was resumed once under another id').waitFor();
    await page.getByText(/33 rows, .* 22 h \d+ min without work left out/).waitFor();
    const bars = await page
      .locator('.row .bar-turn')
      .evaluateAll(all => all.map(each => each.getBoundingClientRect().width));
    expect(Math.min(...bars)).toBeGreaterThan(20);
  });

  it('shows context, compactions, commits, budgets, loops and policy below the waterfall', async () => {
    await start('c0ffee11-checkout');
    await open();
    await page.getByText('the most were 171,000 (86 %). 1 compaction.').waitFor();
    expect(await page.locator('line.compaction').count()).toBe(1);
    await page.getByRole('region', { name: 'Table of turns' }).getByText('$0.6522').waitFor();
    const events = await page.getByRole('region', { name: 'Events' }).innerText();
    for (const text of [
      'Commit 9f31c2a7d0b1',
      'Policy.Blocked protected-branches',
      'Retry.Loop.Detected',
      'Context.Compaction',
    ])
      expect(events).toContain(text);
    await page.getByText('The journal holds no content').waitFor();
  });

  it('stays without a sideways scroll bar from 320 to 2,560 pixels, and prints its rows', async () => {
    await start('c0ffee11-checkout');
    await open();
    await rows().first().waitFor();
    for (const width of [320, 768, 1_400, 2_560]) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(wide, `${width} pixels`).toBeLessThanOrEqual(width);
    }
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.tools').isVisible()).toBe(false);
    expect(await rows().first().isVisible()).toBe(true);
  });

  it('is one file that opens offline, and without scripts shows the tree', async () => {
    const file = join(home, 'session.html');
    installed.run(home, '', 'show', 'c0ffee11', '--html', file);
    address = pathToFileURL(file).href;
    await open({ offline: true });
    await page
      .getByRole('treeitem', { name: /Bash \(git\)/ })
      .first()
      .click();
    await page.locator('.details').getByText('gen_ai.tool.name').first().waitFor();
    expect(await violations()).toEqual([]);
    await open({ offline: true, javaScriptEnabled: false });
    expect(await page.locator('pre').textContent()).toContain('execute_tool Bash (git)');
    expect(installed.errors).toEqual([]);
  });
});

describe('the list', () => {
  beforeEach(() => {
    for (const [i, agent] of ['codex', 'cursor', 'codex'].entries())
      journal(`${i}${i}${i}0-${agent}`, small(`${i}${i}${i}0-${agent}`, `2026-03-0${i + 1}T10:00:00.000Z`, agent, i));
  });

  it('shows all of its columns at 1,280 and 1,400 pixels', async () => {
    const s = new Script('c0ffee11-0000-4000', '2026-03-01T10:00:00.000Z').start(0);
    s.add(0, 'vendor.otel-hooks.Repository', {
      ...{ provider: 'github', owner: 'a-long-name-of-an-organization', name: 'a-long-name-of-a-repository' },
      branch: 'feature/a-long-name-of-a-branch',
    });
    s.add(1, 'Prompt.Submitted', {}, { turn: 't1' });
    s.response(400_000, 7, [128_000_000, 92_000_000, 1_420_000]);
    for (let i = 0; i < 1_000; i += 1) s.action(10 + i, 0.5, 'Bash', {}, i % 2 ? { success: false, exit_code: 1 } : {});
    const action = { name: 'shell' };
    const risk = { level: 'critical', score: 92, factors: ['DESTRUCTIVE_OP'] };
    s.add(1_501, 'Action.Before', { action }, { call: 'push', tool: 'Bash' }, { risk });
    s.add(1_502, 'Action.After', { action: { ...action, result: { success: true } } }, { call: 'push', tool: 'Bash' });
    journal('long', s.end(410_000));
    await start();
    await open();
    await page.getByRole('cell', { name: 'critical' }).waitFor();
    for (const width of [1_280, 1_400, 1_500, 1_620]) {
      await page.setViewportSize({ width, height: 900 });
      const [wide, seen] = await page
        .getByRole('region', { name: 'Table of sessions' })
        .evaluate(box => [box.scrollWidth, box.clientWidth]);
      expect(wide, `${width} pixels`).toBeLessThanOrEqual(seen ?? 0);
    }
  });

  it('filters, sorts and groups, and its totals are those of the listed sessions', async () => {
    await start();
    await open();
    const lines = page.locator('table.sessions tbody tr');
    await expect.poll(() => lines.count()).toBe(3);
    await page.locator('select').nth(0).selectOption('codex');
    await expect.poll(() => lines.count()).toBe(2);
    const cost = async (): Promise<string> =>
      page.getByText('cost', { exact: true }).locator('..').locator('dd').innerText();
    expect(await cost()).toBe('$0.3402');
    await page.locator('select').nth(0).selectOption('');
    await page.locator('select').nth(3).selectOption('agent');
    await page.getByRole('row', { name: /codex — 2 sessions, \$0\.3402/ }).waitFor();
    await page.getByLabel('Search').fill('no such session');
    await page.getByText('No session fits these filters.').waitFor();
    await page.getByLabel('Search').fill('cursor');
    await expect.poll(() => lines.count()).toBe(2);
    await page.getByLabel('Search').fill('');
    await page.getByText('Cost by day, ').click();
    await picture('view-list.png');
    expect(await page.locator('.calendar .day').count()).toBe(84);
    expect(await page.locator('.calendar .day:not(.day-0)').count()).toBe(3);
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
    expect(installed.errors).toEqual([]);
  });
});
