/**
 * Files that another program holds, as virus scanners, indexers and backups do on Windows: simulated below the built
 * program (held-files.cjs). Nothing may be lost or counted twice.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { imbalances } from '../../src/deliver/status-books.ts';
import { type Collector, startCollector } from '../collector.ts';
import type { HookCall } from '../obligations/load.ts';
import { booksOf, exporting, fill, founded, room } from '../obligations/stage.ts';

const bin = join(import.meta.dirname, '../../dist/otel-hooks.cjs');
let home = '';
let state = '';
let log = '';
let leave: () => void;
let collector: Collector;

beforeEach(async () => {
  collector = await startCollector();
  const made = room();
  home = made.folder;
  leave = made.leave;
  state = founded(join(home, 'state'));
  log = join(home, 'held.log');
});
afterEach(async () => {
  await collector.close();
  leave();
});

interface Ran {
  status: unknown;
  stdout: string;
  stderr: string;
}

const fine: Partial<Ran> = { status: 0, stderr: '' };

async function run(words: string[], env: Record<string, string> = {}, input = ''): Promise<Ran> {
  const child = spawn(process.execPath, [bin, ...words], {
    env: { HOME: home, PATH: process.env.PATH, OTEL_HOOKS_STATE_DIR: state, ...env },
  });
  const ran = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      ran[name] += text;
    });
  child.stdin.end(input);
  const [status] = await once(child, 'close');
  return { status, ...ran };
}

const deliver = (waitS: number, env?: Record<string, string>) => run(['deliver', '--wait', `${waitS}s`], env);

const held = (more: Record<string, string>): Record<string, string> => ({
  NODE_OPTIONS: `--require=${join(import.meta.dirname, 'held-files.cjs')}`,
  HELD_FOLDER: state,
  HELD_LOG: log,
  ...more,
});

const sessions = ['one', 'two'];
const hooks: HookCall[] = sessions.flatMap(session => {
  const base = { session_id: session, cwd: '/shop' };
  const bash = (id: string) => ({
    tool_name: 'Bash',
    tool_use_id: `${session}-${id}`,
    tool_input: { command: 'make' },
  });
  return [
    { ...base, hook_event_name: 'SessionStart', source: 'startup' },
    { ...base, hook_event_name: 'UserPromptSubmit', prompt: 'build' },
    ...['a', 'b'].flatMap(id => [
      { ...base, hook_event_name: 'PreToolUse', ...bash(id) },
      { ...base, hook_event_name: 'PostToolUse', ...bash(id), tool_response: {} },
    ]),
    { ...base, hook_event_name: 'Stop' },
    { ...base, hook_event_name: 'SessionEnd', reason: 'other' },
  ].map(payload => ({ event: payload.hook_event_name, payload }));
});

const arrive = () => fill(state, hooks, { env: exporting(collector.url), random: Math.random });

const refused = (): string => (existsSync(log) ? readFileSync(log, 'utf8') : '');

/** Each session: its root, one turn, two actions. */
function expectAllOnce(): void {
  const books = booksOf(state);
  expect(books.fragments).toMatchObject({ received: hooks.length, journaled: hooks.length, waiting: 0 });
  expect(books.fragments).toMatchObject({ quarantined: 0, dropped: {} });
  expect(imbalances(books)).toEqual([]);
  const ids = collector.spans().map(({ spanId }) => spanId);
  expect([ids.length, new Set(ids).size]).toEqual([4 * sessions.length, 4 * sessions.length]);
  const records = collector.records().map(({ plain }) => plain['agent_hooks.event.id']);
  expect([records.length, new Set(records).size]).toEqual([hooks.length, hooks.length]);
}

it('a scanner holds new files for a moment: delivery waits for them', async () => {
  arrive();
  expect(await deliver(20, held({ HELD_MS: '100' }))).toMatchObject(fine);
  expect(refused()).toMatch(/^rename \/rounds/m);
  expectAllOnce();
});

it('all files are held for longer than delivery waits', async () => {
  arrive();
  const { status } = await deliver(1, held({ HELD_MS: '2500' }));
  expect(status).not.toBe(0);
  await new Promise(settle => setTimeout(settle, 2_500));
  expect(await deliver(20)).toMatchObject(fine);
  expectAllOnce();
});

it('an event is held for a long time, and the events of the other session leave', async () => {
  arrive();
  const first = readdirSync(join(state, 'inbox'))[0] ?? '';
  await deliver(3, held({ HELD_MS: '600000', HELD_FOLDER: join(state, 'inbox', first) }));
  expect(refused()).toMatch(/^open/m);
  expect(collector.spans().length).toBeGreaterThanOrEqual(4);
  expect(booksOf(state).fragments).toMatchObject({ waiting: 1, journaled: hooks.length - 1, quarantined: 0 });
  expect(await deliver(20)).toMatchObject(fine);
  expect(booksOf(state).fragments).toMatchObject({ waiting: 0, journaled: hooks.length });
  expect(imbalances(booksOf(state))).toEqual([]);
});

it('new files appear late in listings', async () => {
  arrive();
  const env = held({ LATE_MS: '1500', HELD_FOLDER: join(state, 'inbox') });
  await deliver(1, env);
  expect(refused()).toMatch(/^late/m);
  await new Promise(settle => setTimeout(settle, 1_500));
  expect(await deliver(20, env)).toMatchObject(fine);
  expectAllOnce();
});

it('a hook does not notice', async () => {
  const env = { ...held({ HELD_MS: '600000' }), ...exporting(collector.url) };
  for (const { event, payload } of hooks) {
    const words = ['hook', '--tool', 'claude-code', '--event', event];
    expect(await run(words, env, JSON.stringify(payload))).toEqual({ status: 0, stdout: '', stderr: '' });
  }
  expect(await deliver(20)).toMatchObject(fine);
  expectAllOnce();
});

const settings = '{\r\n  // Kept.\r\n  "model": "opus"\r\n}\r\n';
const setUp = (word: string) => [word, '--tool', 'claude-code', '--global', '--yes'];

it('enable and disable wait for settings that are held for a moment', async () => {
  const file = join(home, '.claude/settings.json');
  mkdirSync(dirname(file));
  writeFileSync(file, settings);
  const env = held({ HELD_MS: '300', HELD_FOLDER: join(home, '.claude') });
  expect(await run([...setUp('enable'), '--no-proof'], env)).toMatchObject(fine);
  expect(readFileSync(file, 'utf8')).toContain('otel-hooks');
  expect(await run(setUp('disable'), env)).toMatchObject(fine);
  expect(refused()).toMatch(/^rename/m);
  expect(readFileSync(file, 'utf8')).toBe(settings);
});

it('enable says that settings are held for longer, and leaves them as they are', async () => {
  const file = join(home, '.claude/settings.json');
  mkdirSync(dirname(file));
  writeFileSync(file, settings);
  const env = held({ HELD_MS: '600000', HELD_FOLDER: join(home, '.claude') });
  const { status, stderr } = await run([...setUp('enable'), '--no-proof'], env);
  expect([status, stderr]).toEqual([1, expect.stringContaining('another program holds it')]);
  expect(readFileSync(file, 'utf8')).toBe(settings);
  expect(readdirSync(dirname(file))).toEqual(['settings.json']);
});
