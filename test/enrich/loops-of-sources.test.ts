/** Each source of events reports the three patterns of loops: hooks of agents, Agent Hooks, Base Coat, the hook runner. */
import { describe, expect, test } from 'vitest';
import { createHookRunner, type HookEvent } from '../../src/index.ts';
import { play, START_MS } from '../play.ts';

type Call = { command: string; error?: string; output?: string };

const at = (i: number): number => START_MS + i * 1_000;
const iso = (i: number): string => new Date(at(i)).toISOString();

const nativeHooks = (calls: readonly Call[]): object[] =>
  calls.flatMap(({ command, error, output }, i) => {
    const about = { session_id: 's', tool_name: 'Bash', tool_use_id: `call ${i}` };
    // A model describes the same command in other words each time.
    const tool_input = { command, description: `try number ${i}` };
    return [
      { ...about, hook_event_name: 'PreToolUse', tool_input },
      error === undefined
        ? { ...about, hook_event_name: 'PostToolUse', tool_input, tool_response: { stdout: output, stderr: '' } }
        : { ...about, hook_event_name: 'PostToolUseFailure', tool_input, error },
    ];
  });

const agentHooks = (calls: readonly Call[]): object[] =>
  calls.flatMap(({ command, error, output }, i) => {
    const about = { spec_version: '0.1.0', source: { tool: 'my-agent' }, session_id: 's', timestamp: iso(i) };
    const action = { name: 'shell', input: { command } };
    const result = error === undefined ? { success: true, output } : { success: false, error_message: error };
    return [
      { ...about, event_id: `b${i}`, event_type: 'Action.Before', data: { action } },
      { ...about, event_id: `a${i}`, event_type: 'Action.After', data: { action: { ...action, result } } },
    ];
  });

const coatEvents = (calls: readonly Call[]): HookEvent[] =>
  calls.flatMap(({ command, error, output }, i) => {
    const about = { sessionId: 's', timestamp: iso(i), input: { command } };
    const tool = { name: 'shell', success: error === undefined };
    return [
      { ...about, hook: 'PreToolUse' as const, tool: { name: 'shell' } },
      { ...about, hook: 'PostToolUse' as const, tool, output: error ?? output },
    ];
  });

async function observed(events: readonly HookEvent[]): Promise<object[]> {
  const hooks = createHookRunner();
  const heard: object[] = [];
  hooks.observe(event => heard.push(event));
  for (const event of events) await hooks.run(event);
  return heard;
}

const loopsOf = (payloads: readonly object[]): unknown[] =>
  play(
    payloads.map((payload, i) => ({ atMs: at(i), payload })),
    true,
  )
    .events.filter(event => event.event_type === 'Retry.Loop.Detected')
    .map(({ data, risk }) => [(data as { iteration_count: number }).iteration_count, risk?.score]);

describe.each([
  ['hooks of an agent', async (calls: readonly Call[]) => nativeHooks(calls)],
  ['Agent Hooks', async (calls: readonly Call[]) => agentHooks(calls)],
  ['observers of the hook runner', async (calls: readonly Call[]) => observed(coatEvents(calls))],
])('%s', (_, payloadsOf) => {
  test('three failures of a command with the same error, apart from times and temporary paths, are a loop', async () => {
    const calls = ['a1', 'b2', 'c3'].map((id, i) => ({
      command: 'npm test',
      error: `09:00:0${i} attempt ${i}: ENOENT /tmp/run-${id}/x after 1${i} ms`,
    }));
    expect(loopsOf(await payloadsOf(calls))).toEqual([[3, 65]]);
  });

  test('three failures with three errors are none', async () => {
    const calls = [1, 2, 3].map(line => ({ command: 'npm test', error: `main.ts:${line} is wrong` }));
    expect(loopsOf(await payloadsOf(calls))).toEqual([]);
  });

  test('two commands that alternate four times with the same results are a loop', async () => {
    const calls = [1, 2, 3, 4].flatMap(() => [
      { command: 'git status', output: 'clean' },
      { command: 'gh pr checks', output: 'pending' },
    ]);
    expect(loopsOf(await payloadsOf(calls))).toEqual([[4, 40]]);
  });
});

describe('Base Coat without input', () => {
  const envelope = (i: number, name: string, success: boolean): object => ({
    ...{ hook: 'PostToolUse', timestamp: iso(i), sessionId: 's', tool: { name, success, durationMs: 5 } },
  });

  test('three failures of one tool in sequence are a loop of medium risk', () => {
    expect(loopsOf([0, 1, 2].map(i => envelope(i, 'powershell', false)))).toEqual([[3, 40]]);
    expect(loopsOf([0, 1, 2].map(i => envelope(i, 'powershell', i === 1)))).toEqual([]);
  });

  test('two tools that alternate four times, one of which fails each time, are a loop', () => {
    const both = [0, 1, 2, 3].flatMap(i => [envelope(2 * i, 'edit', true), envelope(2 * i + 1, 'powershell', false)]);
    expect(loopsOf(both)).toEqual([[4, 65]]);
  });
});

describe('compactions whose sizes arrive as two events', () => {
  const sizes: [number, number][] = [
    [1_000, 950],
    [1_000, 920],
    [1_000, 910],
  ];
  const baseCoat = sizes.flatMap(([before, after], i) => [
    { hook: 'PreCompact', timestamp: iso(2 * i), sessionId: 's', budget: { usedTokens: before } },
    { hook: 'PostCompact', timestamp: iso(2 * i + 1), sessionId: 's', budget: { usedTokens: after } },
  ]);
  const head = { spec_version: '0.1.0', event_type: 'Context.Compaction', source: { tool: 'a' }, session_id: 's' };
  const agentEvents = sizes.flatMap(([before, after], i) => [
    { ...head, event_id: `b${i}`, timestamp: iso(2 * i), data: { trigger: 'auto', tokens_before: before } },
    { ...head, event_id: `a${i}`, timestamp: iso(2 * i + 1), data: { trigger: 'auto', tokens_after: after } },
  ]);

  test.each([
    ['Base Coat', baseCoat],
    ['Agent Hooks', agentEvents],
  ])(
    '%s: three that free less than 10 %% are a loop; the second event has both sizes and counts no second time',
    (_, payloads) => {
      expect(loopsOf(payloads)).toEqual([[3, 40]]);
      const { events } = play(
        payloads.map((payload, i) => ({ atMs: at(i), payload })),
        true,
      );
      const seconds = events.filter(
        event => event.event_type === 'Context.Compaction' && event.metadata?.['dev.otel-hooks']?.phase === 'after',
      );
      expect(seconds.map(({ data }) => data)).toMatchObject(
        sizes.map(([before, after]) => ({
          tokens_before: before,
          tokens_after: after,
          tokens_removed: before - after,
        })),
      );
    },
  );
});
