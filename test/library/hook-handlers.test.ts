/** The ready-made handlers of the hook runner, called through the runner. */
import { expect, test } from 'vitest';
import {
  budgetGuard,
  createHookRunner,
  type HookEvent,
  type HookHandler,
  type HookOutcome,
  loopGuard,
  redactor,
} from '../../src/index.ts';
import { hookPoints } from '../../src/standards/base-coat/hook-points.ts';
import { START_MS } from '../play.ts';

function running(handler: HookHandler): (event: Partial<HookEvent>) => Promise<HookOutcome> {
  const hooks = createHookRunner();
  for (const hook of hookPoints) hooks.register(hook, handler, { id: 'guard' });
  return event => hooks.run({ hook: 'PreToolUse', sessionId: 's', tool: { name: 'shell' }, ...event });
}

test('a budget is warned of from 70 % on, and blocks new work from 80 % on', async () => {
  const run = running(budgetGuard({ allow: ['save_handoff'] }));
  const at = (usedTokens: number) => ({ budget: { usedTokens, effectiveLimit: 100_000 } });
  expect(await run(at(69_999))).toMatchObject({ action: 'passThrough', warnings: [] });
  const used = '70% of the token budget is used (70000 of 100000)';
  expect(await run(at(70_000))).toMatchObject({ action: 'passThrough', warnings: [used] });
  const reason = '82% of the token budget is used (82000 of 100000). Save the state and rotate the session.';
  expect(await run(at(82_000))).toMatchObject({ action: 'block', reason, metadata: { hookId: 'guard' } });
  expect(await run({ ...at(82_000), tool: { name: 'save_handoff' } })).toMatchObject({ action: 'passThrough' });
  const blocked = await Promise.all(
    hookPoints.map(async hook => [hook, (await run({ ...at(82_000), hook })).action === 'block']),
  );
  expect(blocked.filter(([, is]) => is).map(([hook]) => hook)).toEqual([
    ...['UserPromptSubmitted', 'PreToolUse', 'SubagentStart', 'OnBudgetExceeded'],
  ]);
});

test('a budget without a usable limit concerns no guard, and impossible shares are refused at once', async () => {
  const run = running(budgetGuard());
  for (const budget of [undefined, {}, { usedTokens: 9 }, { usedTokens: 9, effectiveLimit: 0 }])
    expect(await run({ budget })).toMatchObject({ action: 'passThrough', warnings: [] });
  expect(() => budgetGuard({ blockAt: 0 })).toThrow('blockAt is no share above 0');
  expect(() => budgetGuard({ warnAt: Number.NaN })).toThrow('warnAt');
});

/** The end of a call, this number of seconds after the start. */
const ended = (seconds: number, command: string, output: unknown, success = false): Partial<HookEvent> => ({
  ...{ hook: 'PostToolUse', timestamp: new Date(START_MS + seconds * 1_000).toISOString() },
  ...{ tool: { name: 'shell', success }, input: { command }, output },
});

test('the third equal failure of a call is a loop; a success or another error begins again', async () => {
  const run = running(loopGuard());
  const actions = async (...events: Partial<HookEvent>[]): Promise<string[]> => {
    const seen: string[] = [];
    for (const event of events) seen.push((await run(event)).action);
    return seen;
  };
  const failing = (seconds: number, ms: number) => ended(seconds, 'make', `failed after ${ms} ms at /tmp/x${ms}/a`);
  expect(await actions(failing(0, 11), failing(1, 12), failing(2, 13))).toEqual([
    'passThrough',
    'passThrough',
    'block',
  ]);
  expect((await run(failing(3, 14))).reason).toBe(
    'Loop: shell failed 4 times with the same error. Change the approach or ask the user.',
  );
  expect(await actions(ended(4, 'make', 'ok', true), failing(5, 1), failing(6, 2))).not.toContain('block');
  expect(await actions(ended(7, 'make', 'another error'), failing(8, 1), failing(9, 2))).not.toContain('block');
  // Other sessions, other calls and failures long ago do not count.
  expect(await actions({ ...failing(10, 3), sessionId: 'other' }, ended(11, 'make -j', 'failed'))).not.toContain(
    'block',
  );
  expect(await actions(failing(9_000, 3))).toEqual(['passThrough']);
});

test('two calls that alternate four times with the same results are a loop', async () => {
  const run = running(loopGuard());
  const seen: string[] = [];
  for (let i = 0; i < 8; i += 1) seen.push((await run(ended(i, i % 2 === 0 ? 'ls' : 'pwd', 'same', true))).action);
  expect(seen).toEqual([...Array(7).fill('passThrough'), 'block']);
});

test('the memory of loops is bounded, and the end of a session clears it', async () => {
  const run = running(loopGuard({ failures: 2 }));
  const failing = (sessionId: string) => ({ ...ended(0, 'make', 'failed'), sessionId });
  await run(failing('first'));
  for (let i = 0; i < 1_000; i += 1) await run(failing(`s${i}`));
  expect(await run(failing('first'))).toMatchObject({ action: 'passThrough' });
  await run({ hook: 'SessionEnd', sessionId: 'first' });
  expect(await run(failing('first'))).toMatchObject({ action: 'passThrough' });
  expect(await run(failing('first'))).toMatchObject({ action: 'block' });
  expect(() => loopGuard({ failures: 1 })).toThrow('failures');
  expect(() => loopGuard({ minutes: 0 })).toThrow('minutes');
});

test('secrets in input and output are replaced, and nothing else changes', async () => {
  const run = running(redactor());
  const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
  const input = { command: `curl -H x:${secret} y`, env: { DB_PASSWORD: 'hunter2hunter2' }, lines: ['plain', 3, null] };
  const outcome = await run({ input, output: `token ${secret}` });
  expect(JSON.stringify(outcome)).not.toMatch(/ghp_|hunter2/);
  expect(outcome).toMatchObject({
    ...{ action: 'modify', modifiedInput: { env: { DB_PASSWORD: '[redacted:secret]' }, lines: ['plain', 3, null] } },
    metadata: { modifiedBy: ['guard'] },
  });
  expect(await run({ input: { command: 'ls' }, output: 'a.ts' })).toMatchObject({ action: 'passThrough' });
  const circular: { self?: unknown; again?: unknown; token?: string } = {};
  circular.self = circular.again = circular;
  expect(await run({ output: circular })).toMatchObject({ action: 'passThrough', metadata: { failures: [] } });
  circular.token = secret;
  const { modifiedOutput } = await run({ output: circular });
  expect(modifiedOutput).toMatchObject({ token: expect.stringContaining('[redacted') });
  let deep: unknown = secret;
  for (let i = 0; i < 100; i += 1) deep = [deep];
  expect(JSON.stringify(await run({ output: deep }))).not.toContain(secret);
});
