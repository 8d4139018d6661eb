/** `hook-test` with the built program, because the samples of the agents are part of the package. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { providers } from '../../src/agents/interchange.ts';
import { needs } from '../needs.ts';
import { ranIn } from './ran.ts';

const root = join(import.meta.dirname, '..', '..');
const home = mkdtempSync(join(tmpdir(), 'otel-hooks-hook-test-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Trial {
  agent: string;
  event: string;
  hook: string;
  tool?: string;
  exit_code?: number;
  result: string;
  reason?: string;
}

function tried(hooks: object[], ...words: string[]): { code: number | null; trials: Trial[] } {
  const file = join(home, 'hook.json');
  writeFileSync(file, JSON.stringify({ spec: 'hooks/0.1', hooks }));
  const program = join(root, 'dist', 'otel-hooks.cjs');
  const ran = spawnSync(process.execPath, [program, 'hook-test', '--json', ...words, file], {
    ...{ cwd: home, encoding: 'utf8', env: { HOME: home, PATH: process.env.PATH } },
  });
  return { code: ran.status, trials: JSON.parse(ran.stdout || '{"trials":[]}').trials };
}

const guard = (name: string, command: string, more: object = {}): object => ({
  ...{ name, event: 'before_tool_execute', matcher: 'shell', blocking: true, handler: { type: 'command', command } },
  ...more,
});

it('a guard stops a command of the shell in every agent, and lets others pass', context => {
  needs(context, 'grep');
  const stop = guard('stop', 'grep -q "make it" || exit 0; echo never >&2; exit 2');
  const { code, trials } = tried([stop], '--shell', 'make it "so"');
  expect(code).toBe(0);
  const stopped = trials.filter(({ result }) => result === 'stopped');
  expect([...new Set(stopped.map(({ agent }) => agent))].sort()).toEqual(providers.map(({ title }) => title).sort());
  for (const { reason } of stopped) expect(reason).toContain('never');
  const passed = trials.filter(({ result }) => result === 'goes on');
  expect(passed.length + stopped.length).toBe(trials.length);
});

it('a hook that fails, is too slow, or has no sample is shown', context => {
  needs(context, 'grep');
  const hooks = [
    guard('sees the payload', 'grep -q run_shell_command && exit 2; exit 0'),
    guard('fails', 'echo broken >&2; exit 1'),
    guard('is slow', '', { handler: { type: 'command', command: 'sleep 20', timeout: 0.2 } }),
    guard('for MCP', 'exit 2', { matcher: { mcp: { server: 'nobody' } } }),
  ];
  const { code, trials } = tried(hooks, '--to', 'gemini-cli');
  expect(code).toBe(1);
  expect(trials.map(({ hook, tool, exit_code: exit, result }) => [hook, tool, exit, result])).toEqual([
    ['sees the payload', 'run_shell_command', 2, 'stopped'],
    ['fails', 'run_shell_command', 1, 'goes on: failed'],
    ['is slow', 'run_shell_command', undefined, 'goes on: failed'],
    ['for MCP', undefined, undefined, 'not run'],
  ]);
  expect(trials[1]?.reason).toContain('broken');
});

it('an agent without the event, and one that takes no decision there, are shown', () => {
  const command = { type: 'command', command: 'exit 2' };
  const hooks = [
    { event: 'agent_stop', blocking: true, handler: command },
    { event: 'session_start', handler: command },
  ];
  const { trials } = tried(hooks, '--to', 'windsurf');
  expect(trials).toMatchObject([
    { event: 'post_cascade_response', result: 'goes on: cannot be stopped' },
    { agent: 'Windsurf', event: 'session_start', result: 'not run' },
  ]);
});

it('a missing manifest is wrong usage', async () => {
  expect((await ranIn(home, ['hook-test'])).code).toBe(2);
  expect((await ranIn(home, ['hook-test', 'nothing.json'])).code).toBe(1);
});
