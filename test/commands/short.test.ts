/** `status --short`: rounds write the line; the program, its quick path and the shell read the same one. */
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localDay } from '../../src/lib/local-day.ts';
import { NOW } from '../recorded-sessions.ts';
import { ranIn } from './ran.ts';

const root = join(import.meta.dirname, '..', '..');
const DAY_MS = 86_400_000;
let home: string;
const document = (): string => join(home, '.local/state/otel-hooks/documents/short.json');

beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-short-'));
  fs.mkdirSync(join(home, '.config/otel-hooks'), { recursive: true });
  fs.writeFileSync(join(home, '.config/otel-hooks/config.json'), '{ "budget": { "session_usd": 20 } }');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

let count = 0;

/** Ingests a session with responses of a million tokens of input each. */
async function ingest(session: string, nowMs: number, { model = 'anthropic/claude-sonnet-4-5', isOver = false } = {}) {
  const event = (seconds: number, event_type: string, data: object) => ({
    ...{ spec_version: '0.1.0', event_id: `00000000-0000-8000-8000-${String(++count).padStart(12, '0')}`, event_type },
    ...{
      timestamp: new Date(nowMs + seconds * 1_000).toISOString(),
      source: { tool: 'my-agent' },
      session_id: session,
    },
    data,
  });
  const events = [
    event(0, 'Session.Start', { start_reason: 'new' }),
    event(1, 'Prompt.Submitted', { prompt_length: 3 }),
    event(2, 'Model.Responded', { model_id: model, input_tokens: 1_000_000, output_tokens: 0 }),
    event(3, 'Context.UntilCompaction', { tokens_used: 86_000, tokens_limit: 200_000 }),
    ...(isOver ? [event(4, 'Session.End', { end_reason: 'exit' })] : []),
  ];
  fs.writeFileSync(join(home, 'events.jsonl'), events.map(each => `${JSON.stringify(each)}\n`).join(''));
  const { code, err } = await ranIn(home, ['ingest', join(home, 'events.jsonl'), '--wait', '0s'], { now: () => nowMs });
  expect([code, err]).toEqual([0, '']);
}

const line = async (): Promise<string> => (await ranIn(home, ['status', '--short'])).out.trim();
const dateOf = (ms: number): string => localDay(ms).slice(5);

/** The cost of the day in a report. */
async function reportedUsd(nowMs: number): Promise<number> {
  const { out } = await ranIn(home, ['report', '--json', '--since', '1d'], { now: () => nowMs + 60_000 });
  const { rows } = JSON.parse(out) as { rows: { by: { day: string }; cost_usd: number }[] };
  return rows.find(({ by }) => by.day === localDay(nowMs))?.cost_usd ?? 0;
}

describe('the line of status --short', () => {
  it('has the cost of the day, as a report has it, and the budget and the context of the last session', async () => {
    expect(await ranIn(home, ['status', '--short'])).toEqual({ code: 1, out: '', err: '' });
    await ingest('s1', NOW);
    const usd = await reportedUsd(NOW);
    expect(usd).toBeGreaterThan(1);
    const cost = usd.toFixed(2);
    expect(await line()).toBe(`${cost} USD on ${dateOf(NOW)}, session ${cost} of 20 USD, context 43/100`);
    await ingest('s2', NOW + 10_000, { isOver: true });
    expect(await line()).toBe(`${(2 * usd).toFixed(2)} USD on ${dateOf(NOW)}`);
    await ingest('s3', NOW + 20_000, { model: 'nowhere/unheard', isOver: true });
    expect(await line()).toBe(`${(2 * usd).toFixed(2)}+ USD on ${dateOf(NOW)}`);
  });

  it('begins again on the next day, and is computed from the journals if the document is missing', async () => {
    await ingest('s1', NOW, { isOver: true });
    await ingest('s2', NOW + DAY_MS, { isOver: true });
    const cost = (await reportedUsd(NOW + DAY_MS)).toFixed(2);
    expect(await line()).toBe(`${cost} USD on ${dateOf(NOW + DAY_MS)}`);
    for (const damage of ['', '{"v":1,"n":3,"value":{"line":"$(reboot)","day":"2026-09-22"}}', undefined]) {
      if (damage === undefined) fs.rmSync(document());
      else fs.writeFileSync(document(), damage);
      expect(await ranIn(home, ['status', '--short'])).toEqual({ code: 1, out: '', err: '' });
      await ingest(`after ${damage}`, NOW + DAY_MS, { isOver: true });
      expect(await line()).toBe(`${(await reportedUsd(NOW + DAY_MS)).toFixed(2)} USD on ${dateOf(NOW + DAY_MS)}`);
    }
  });

  it.skipIf(process.platform === 'win32')('is the same by the built program and by the shell', async () => {
    await ingest('s1', NOW);
    const env = { PATH: process.env.PATH ?? '', HOME: home };
    const bin = join(root, 'dist', 'otel-hooks.cjs');
    const built = (...words: string[]) => spawnSync(process.execPath, [bin, ...words], { env, encoding: 'utf8' });
    expect(built('status', '--short').stdout.trim()).toBe(await line());
    expect(built('--state-dir', join(home, '.local/state/otel-hooks'), 'status', '--short').stdout.trim()).toBe(
      await line(),
    );
    expect(JSON.parse(built('status', '--short', '--json').stdout)).toMatchObject({ v: 1, line: await line() });
    expect(built('status', '--short', '--colour').status).toBe(2);
    const [, code = ''] =
      /```sh\n(otel_hooks_line[\s\S]*?)```/.exec(fs.readFileSync(join(root, 'docs/terminal.md'), 'utf8')) ?? [];
    const inShell = (): string => execFileSync('sh', ['-c', `${code}\notel_hooks_line`], { env, encoding: 'utf8' });
    expect(inShell().trim()).toBe(await line());
    fs.writeFileSync(document(), '{"v":1,"n":1,"value":{"line":"a`b` $(c) %n","day":"2026-09-22"}}');
    expect(built('status', '--short')).toMatchObject({ status: 1, stdout: '', stderr: '' });
    fs.rmSync(document());
    expect(built('status', '--short')).toMatchObject({ status: 1, stdout: '', stderr: '' });
    expect(inShell()).toBe('');
  });

  it('does not load the program', () => {
    const preload = join(home, 'loaded.cjs');
    fs.writeFileSync(
      preload,
      "process.on('exit', () => process._rawDebug(Object.keys(require.cache).map(f => require('path').basename(f)).join()));",
    );
    const words = ['--require', preload, join(root, 'dist/otel-hooks.cjs'), 'status', '--short'];
    const { stderr } = spawnSync(process.execPath, words, { env: { HOME: home }, encoding: 'utf8' });
    expect(stderr.trim().split(',')).toEqual(['loaded.cjs', 'otel-hooks.cjs', 'short.cjs']);
  });
});
