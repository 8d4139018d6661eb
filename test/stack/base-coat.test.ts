/** The measurements that Base Coat suggests: each query of docs/loops-and-budgets.md runs on the real back ends. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { hookPoints } from '../../src/standards/base-coat/hook-points.ts';
import { eventually, lines, type Sample, samples } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const SERVICE = 'coat-day';
const machine = new Machine(stack.program, {
  provider: 'otlp',
  service_name: SERVICE,
  otlp: { endpoint: stack.collector },
});

const budget = (usedTokens: number): object => ({ budget: { usedTokens, effectiveLimit: 160_000 } });
const bash = { tool: { name: 'bash', success: false, durationMs: 900 } };
const failed = { error: { type: 'AuthError' } };
const SESSION: [hook: string, more?: object][] = [
  ['SessionStart', { agent: 'builder' }],
  ['UserPromptSubmitted'],
  ['PreToolUse', bash],
  ['PostToolUse', bash],
  // Base Coat states a decision by the answer of a hook.
  [
    'PreToolUse',
    { tool: { name: 'bash' }, response: { action: 'block', reason: 'no', metadata: { hookId: 'guard' } } },
  ],
  ['SubagentStart', { agent: 'reader' }],
  ['SubagentStart', { agent: 'inner' }],
  ['SubagentStop', { agent: 'inner' }],
  ['SubagentStop', { agent: 'reader' }],
  ['PreCompact', budget(100_000)],
  ['PostCompact', budget(40_000)],
  ...Array.from({ length: 4 }, (): [string, object] => ['OnError', failed]),
  ['OnBudgetExceeded', budget(131_000)],
  ['SessionEnd'],
];

beforeAll(async () => {
  const beginMs = Date.now() - SESSION.length * 1_000;
  const events = SESSION.map(([hook, more = {}], i) => ({
    hook,
    sessionId: 'coat-1',
    timestamp: new Date(beginMs + i * 1_000).toISOString(),
    agent: 'builder',
    repository: 'acme/shop',
    branch: 'main',
    ...more,
  }));
  const file = join(machine.home, 'events.jsonl');
  writeFileSync(file, events.map(event => `${JSON.stringify(event)}\n`).join(''));
  const { code, err } = await machine.cli('ingest', file);
  expect(code, err).toBe(0);
  await machine.deliver();
});
afterAll(() => machine.remove());

const page = readFileSync(join(import.meta.dirname, '../../docs/loops-and-budgets.md'), 'utf8');
const rows = [...page.matchAll(/^\| (\w+) \| .* \| `([^`]+)` \|$/gm)].map(([, hook = '', query = '']) => ({
  hook,
  query: query.replaceAll('\\|', '|'),
}));

test('the page has a query for each hook point', () => {
  expect(rows.map(({ hook }) => hook)).toEqual(hookPoints);
});

/** A sample with these labels and a number that `isRight` accepts. */
const found = (labels: { [name: string]: string }, isRight: (value: number) => boolean) => (all: readonly Sample[]) =>
  all.some(
    ({ metric, value }) => isRight(value) && Object.entries(labels).every(([name, text]) => metric[name] === text),
  );
const some = (value: number): boolean => value > 0;

/** What each query shows of the session above. The counts are extrapolated, because the page uses no exact ranges. */
const expected: { [hook: string]: ReturnType<typeof found> | readonly RegExp[] } = {
  SessionStart: found({ gen_ai_agent_name: 'builder' }, some),
  SessionEnd: found({}, value => value > 8 && value < 40),
  UserPromptSubmitted: found({ agent_hooks_prompt_is_followup: 'unknown' }, some),
  PreToolUse: found({ agent_hooks_action_name: 'shell', agent_hooks_decision_outcome: 'deny' }, some),
  PostToolUse: found({ gen_ai_tool_name: 'bash', gen_ai_agent_name: 'builder', error_type: 'tool_error' }, some),
  SubagentStart: [/Session\.Start/],
  SubagentStop: found({ gen_ai_agent_name: 'reader' }, some),
  PreCompact: found({}, some),
  PostCompact: found({}, value => value > 0.3 && value < 0.5),
  OnError: [/Agent\.Error.*AuthError/],
  OnBudgetExceeded: found({}, some),
};

test.each(rows)('$hook: $query', async ({ hook, query }) => {
  const right = expected[hook];
  if (right === undefined) throw new Error(`no expectation for ${hook}`);
  if (typeof right === 'function') {
    // Other tests send to the same Prometheus.
    const asked = query.replaceAll(/(\w+)(?:\{(.*?)\})?\[1d\]/g, `$1{job="${SERVICE}",$2}[1d]`);
    await eventually(() => samples(stack, asked), right);
    return;
  }
  const asked = query.replace('"base-coat"', `"${SERVICE}"`);
  expect(asked).not.toBe(query);
  for (const pattern of right)
    await eventually(
      () => lines(stack, asked),
      all => all.length > 0 && all.every(({ line }) => pattern.test(line)),
    );
});
