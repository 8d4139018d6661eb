/** How smooth the waterfall of 10,000 spans is, measured with Chromium's tracing; and whether memory stays flat. */
import { readFileSync } from 'node:fs';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type IndexedSession, indexDocument, indexedText, shardOf } from '../../src/journal/session-index.ts';
import { changeOf } from '../../src/store/document.ts';
import { openStore } from '../../src/store/store.ts';
import { needs } from '../needs.ts';
import { Installed } from './installed.ts';
import { Script, small, writeJournal } from './sessions.ts';

const FRAME_MS = 1_000 / 60;
const LONG_TASK_MS = 50;
/** Measured: 3 to 4. */
const MOST_RATIO = 20;

let installed: Installed;
beforeAll(async () => {
  const found = await Installed.packed();
  if (found !== undefined) installed = found;
});
afterAll(() => installed?.close());
beforeEach(context => needs(context, 'chromium', 'tar'));
afterEach(() => installed?.reset());

/** About 10,000 spans: 20 turns with responses, actions and subagents. */
function large(): ReturnType<Script['end']> {
  const s = new Script('large-session', '2026-03-01T10:00:00.000Z').start(0);
  for (let turn = 0; turn < 20; turn += 1) {
    const from = 10 + turn * 1_000;
    s.add(from, 'Prompt.Submitted', {}, { turn: `t${turn}` });
    for (let i = 0; i < 250; i += 1) {
      s.response(from + 1 + i * 3, 0.9, [9_000 + i, 4_000, 300]);
      s.action(from + 2 + i * 3, 1, 'Bash', {}, i % 10 === 3 ? { success: false } : {});
    }
    s.add(from + 900, 'Agent.Response', { final: true }, { turn: `t${turn}` });
  }
  return s.end(20_100);
}

interface TraceEvent {
  name: string;
  ph: string;
  ts: number;
  tid: number;
  pid: number;
  dur?: number;
  tdur?: number;
  args: { data?: { isOutermostMainFrame?: boolean; processId?: number } };
}

interface Work {
  /** The CPU time of the main thread in each frame in which it worked. */
  frames: number[];
  longestTask: number;
}

/** Traces the page during `act`. The CPU time of the main thread does not count other programs of the machine. */
async function traced(page: Page, act: () => Promise<void>): Promise<Work> {
  const browser = page.context().browser();
  await browser?.startTracing(page, {
    categories: ['disabled-by-default-devtools.timeline', 'disabled-by-default-devtools.timeline.frame'],
  });
  await act();
  const text = String(await browser?.stopTracing());
  const events = (JSON.parse(text) as { traceEvents: TraceEvent[] }).traceEvents;
  const begin = events.filter(({ name }) => name === 'BeginMainThreadFrame');
  const [first] = begin;
  if (first === undefined) throw new Error('the trace has no frame');
  const isMain = ({ pid, tid }: TraceEvent): boolean => pid === first.pid && tid === first.tid;
  const tasks = events.filter(event => event.name === 'RunTask' && event.ph === 'X' && isMain(event));
  const starts = begin
    .filter(isMain)
    .map(({ ts }) => ts)
    .sort((a, b) => a - b);
  const frames = starts.map(() => 0);
  for (const { ts, dur = 0, tdur = dur } of tasks) {
    const frame = starts.findLastIndex(start => start <= ts + dur);
    if (frame >= 0) frames[frame] = (frames[frame] ?? 0) + tdur / 1_000;
  }
  return { frames, longestTask: Math.max(...tasks.map(({ dur = 0, tdur = dur }) => tdur / 1_000)) };
}

const share95 = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;

const frame = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise(resolve => requestAnimationFrame(() => resolve()))');

async function opened(): Promise<Page> {
  const home = installed.home();
  writeJournal(home, 'large-session', large());
  return installed.open(await installed.serve(home, 'large-session'));
}

describe('a session of 10,000 spans', () => {
  it('scrolls and zooms with frames of at most 16.7 ms and without long tasks', async () => {
    const page = await opened();
    await page.getByText(/^10,\d{3} rows/).waitFor();
    const tree = page.getByRole('tree');
    const box = await tree.boundingBox();
    if (box === null) throw new Error('the waterfall is not shown');
    const scrolled = await traced(page, async () => {
      await page.mouse.move(box.x + 100, box.y + 100);
      for (let i = 0; i < 120; i += 1) {
        await page.mouse.wheel(0, i < 60 ? 400 : 1_500);
        await frame(page);
      }
    });
    expect(await tree.evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(10_000);
    expect(await page.getByRole('treeitem').count()).toBeLessThan(120);
    await page.getByRole('treeitem').nth(12).click();
    const zoomed = await traced(page, async () => {
      for (const key of [...'++++++++', ...'--------', ...'+++0', 'z', '0']) {
        await page.keyboard.press(key);
        await frame(page);
      }
    });
    const walked = await traced(page, async () => {
      for (let i = 0; i < 60; i += 1) {
        await page.keyboard.press(i % 10 === 9 ? 'PageDown' : 'ArrowDown');
        await frame(page);
      }
    });
    const found = Object.entries({ scrolled, zoomed, walked }).map(([name, { frames, longestTask }]) => ({
      name,
      frames: frames.length,
      share95: share95(frames),
      longestTask,
    }));
    console.log(
      found
        .map(
          ({ name, frames, share95, longestTask }) =>
            `${name}: ${frames} frames, 95 % at most ${share95.toFixed(1)} ms, longest task ${longestTask.toFixed(1)} ms`,
        )
        .join('\n'),
    );
    for (const { name, frames, share95, longestTask } of found) {
      expect(frames, name).toBeGreaterThan(10);
      expect(share95, name).toBeLessThanOrEqual(FRAME_MS);
      expect(longestTask, name).toBeLessThanOrEqual(LONG_TASK_MS);
    }
  });

  it('uses no more memory after the 720 updates of an hour in which an event arrives every five seconds', async () => {
    const page = await opened();
    await page.getByText(/^10,\d{3} rows/).waitFor();
    let updates = 0;
    page.on('requestfinished', request => {
      if (request.url().includes('/api/session?')) updates += 1;
    });
    // Each connection ends at once, so that the page asks for the newest part again and again.
    await page.route('**/api/live*', route =>
      route.fulfill({ contentType: 'text/event-stream', body: 'retry: 5\nevent: changed\ndata: {}\n\n' }),
    );
    await page.reload();
    await page.getByText(/^10,\d{3} rows/).waitFor();
    const session = await page.context().newCDPSession(page);
    const until = async (count: number): Promise<number> => {
      await expect.poll(() => updates, { timeout: 120_000 }).toBeGreaterThan(count);
      return heapMb(session);
    };
    const before = await until(60);
    const after = await until(780);
    console.log(`heap of the page: ${before.toFixed(1)} MB after 60 updates, ${after.toFixed(1)} MB after 780`);
    expect(after - before).toBeLessThan(1);
  }, 180_000);
});

/** The smallest of several measurements: an answer that just arrived holds some MB for a moment. */
async function heapMb(session: CDPSession): Promise<number> {
  const measured: number[] = [];
  for (let n = 0; n < 10; n += 1) {
    await session.send('HeapProfiler.collectGarbage');
    measured.push((await session.send('Runtime.getHeapUsage')).usedSize / 1e6);
    await new Promise(resolve => setTimeout(resolve, 37));
  }
  return Math.min(...measured);
}

/** More of them with OTEL_HOOKS_TEST_SIZE=full. */
const SESSIONS = process.env.OTEL_HOOKS_TEST_SIZE === 'full' ? 20_000 : 2_000;
const ROUNDS = 5;

/** Sessions with the index that a delivery would have written. */
function many(home: string): void {
  const store = openStore({ folder: `${home}/state`, access: 'own' });
  const shards = new Map<string, { [key: string]: IndexedSession }>();
  let journal: { key: string; lines: string }[] = [];
  for (let i = 0; i < SESSIONS; i += 1) {
    const id = `${((i * 2_654_435_761) >>> 0).toString(16).padStart(8, '0')}-session`;
    const agent = ['codex', 'cursor', 'claude-code'][i % 3] ?? '';
    const lines = small(id, new Date(Date.parse('2026-01-01T00:00:00.000Z') + i * 600_000).toISOString(), agent, i);
    const text = lines.map(each => `${JSON.stringify(each)}\n`).join('');
    const key = `${id.slice(0, 8)}${'0'.repeat(24)}`;
    journal.push({ key, lines: text });
    const entry = indexedText(text);
    if (entry !== undefined) shards.set(shardOf(key), { ...shards.get(shardOf(key)), [key]: entry });
    if (journal.length < 500 && i < SESSIONS - 1) continue;
    store.commit({ journal });
    journal = [];
  }
  store.commit({ documents: [...shards].map(([shard, all]) => changeOf(indexDocument.of(shard), all)) });
  store.close();
}

describe(`a list of ${SESSIONS} sessions`, () => {
  it('is shown in a small multiple of the time of an empty page, and the server stays idle beside it', async () => {
    const home = installed.home();
    many(home);
    const address = await installed.serve(home);
    const page = await installed.open(address);
    const row = page.locator('table.sessions tbody tr').first();
    await row.waitFor();
    const lists: number[] = [];
    const empties: number[] = [];
    const paints: number[] = [];
    // The least of several interleaved times is the one that other programs of the machine disturbed least.
    for (let i = 0; i < ROUNDS; i += 1) {
      await page.goto('about:blank');
      let startMs = performance.now();
      await page.goto('data:text/html,<!doctype html><p>empty');
      await page.getByText('empty').waitFor();
      empties.push(performance.now() - startMs);
      startMs = performance.now();
      await page.goto(new URL('/', address).href);
      await row.waitFor();
      lists.push(performance.now() - startMs);
      paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0));
    }
    const { pid } = installed;
    const ratio = Math.min(...lists) / Math.min(...empties);
    const cpu = cpuMs(pid);
    await new Promise(resolve => setTimeout(resolve, 5_000));
    const idle = (cpuMs(pid) - cpu) / 5;
    const text = [
      `list ${Math.min(...lists).toFixed(0)} ms, first paint ${Math.min(...paints).toFixed(0)} ms`,
      `empty page ${Math.min(...empties).toFixed(0)} ms, ratio ${ratio.toFixed(1)}`,
      `server: ${residentMb(pid).toFixed(0)} MB, ${idle.toFixed(0)} ms of CPU a second with an open page`,
    ];
    console.log(text.join('; '));
    // The limits are those of 2,000 sessions; a larger number is only measured.
    if (SESSIONS > 2_000) return;
    expect(ratio).toBeLessThan(MOST_RATIO);
    expect(idle).toBeLessThan(40);
    expect(residentMb(pid)).toBeLessThan(200);
  }, 180_000);
});

/** Linux counts in hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
