/** The status line is run several times a second, so repetitions must not fill journals. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claudeCode } from '../../../src/agents/claude-code/claude-code.ts';
import { memoryOver } from '../../../src/agents/shared/memory.ts';
import { encodeHeader, encodeTrailer, fragmentName } from '../../../src/hook/fragment.ts';
import { ranIn } from '../../commands/ran.ts';
import { mapped, play, START_MS } from '../../play.ts';

const line = (percent: number, usd: number, fiveHour?: number) => ({
  session_id: 's',
  version: '2.1.327',
  model: { id: 'claude-sonnet-5', display_name: 'Sonnet 5' },
  cost: { total_cost_usd: usd },
  context_window: { used_percentage: percent, context_window_size: 200_000, current_usage: null },
  ...(fiveHour === undefined
    ? {}
    : {
        rate_limits: {
          five_hour: { used_percentage: fiveHour, resets_at: 1_772_445_600 },
          seven_day: { used_percentage: -1 },
          someones_plan: { used_percentage: 3 },
        },
      }),
});

test('a statement that repeats the one before it gives no event, and a change gives the changed part', () => {
  const memory = memoryOver({}, content => content);
  const typesOf = (fields: object): string[] =>
    (claudeCode.events.StatusLine?.read({ ...fields }, memory) ?? []).map(({ event_type }) => event_type);
  const [context, state] = ['Context.UntilCompaction', 'vendor.claude-code.StatusLine'];
  expect(typesOf(line(8, 0.1))).toEqual([context, state]);
  expect(typesOf(line(8, 0.1))).toEqual([]);
  expect(typesOf(line(9, 0.1))).toEqual([context]);
  expect(typesOf(line(9, 0.2))).toEqual([state]);
  expect(typesOf(line(9, 0.2, 50))).toEqual([state]);
});

const hooks = [
  { hook_event_name: 'SessionStart', source: 'startup', session_id: 's' },
  line(8, 0.1, 40),
  line(61, 0.42, 92.5),
  { hook_event_name: 'SessionEnd', reason: 'logout', session_id: 's' },
].map((payload, i) => ({ atMs: START_MS + i * 1_000, payload }));

test('the session has its last state, and no response or cost that counters take', () => {
  const { spans } = play(hooks);
  const [session] = mapped(spans).filter((_, i) => spans[i]?.kind === 'session');
  expect(session?.attributes).toMatchObject({
    'gen_ai.request.model': 'claude-sonnet-5',
    'agent_hooks.session.context_utilization': 0.61,
    'agent_hooks.session.cost_usd': 0.42,
    'agent_hooks.rate_limit.five_hour.utilization': 0.925,
    'agent_hooks.rate_limit.five_hour.reset_time': 1_772_445_600,
  });
  expect(Object.keys(session?.attributes ?? {}).filter(name => name.includes('rate_limit'))).toHaveLength(2);
  expect(session?.attributes).not.toHaveProperty('agent_hooks.cost.reported_usd');
});

test('the list of running sessions has the last state of each, until the session ends', async () => {
  const home = mkdtempSync(join(tmpdir(), 'otel-hooks-running-'));
  const state = join(home, 'state');
  try {
    const run = (...words: string[]) => ranIn(home, ['--state-dir', state, ...words], { columns: 160 });
    const write = (payload: object, i: number): void => {
      const head = encodeHeader({ tool: 'claude-code', event: '', cwd: '/code' });
      const name = fragmentName('0', String(i), 1, `u-${i}`);
      mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
      writeFileSync(join(state, 'inbox', name), `${head}${JSON.stringify(payload)}${encodeTrailer(`u-${i}`)}`);
    };
    for (const [i, { payload }] of hooks.slice(0, 3).entries()) write(payload, i);
    await run('deliver');
    const { out } = await run('report');
    expect(out).toMatch(/Running sessions\n.*\ns +claude-code 2\.1\.327 +claude-sonnet-5 +61 % +\$0\.42\S* +five hour/);
    const { running } = JSON.parse((await run('report', '--json')).out) as { running: object[] };
    expect(running).toMatchObject([
      { session: 's', context: 0.61, cost_usd: 0.42, rate_limits: [{ window: 'five_hour', used: 0.925 }] },
    ]);
    const end = hooks.at(-1)?.payload ?? {};
    write(end, 9);
    await run('deliver');
    expect((await run('report')).out).not.toContain('Running');
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
