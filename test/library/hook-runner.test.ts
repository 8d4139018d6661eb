/**
 * Base Coat's hooks in a runtime of an application: for all behaviour of handlers there is one answer, in one order.
 */
import { expect, test } from 'vitest';
import { createHookRunner, type HookEvent, type HookHandler, type ObservedEvent } from '../../src/index.ts';
import { type HookPoint, hookPoints } from '../../src/standards/base-coat/hook-points.ts';
import { play, START_MS, treeOf } from '../play.ts';

const before: HookEvent = { hook: 'PreToolUse', sessionId: 's', tool: { name: 'shell' }, input: { command: 'ls' } };
const inject =
  (text: string): HookHandler =>
  () => ({ action: 'injectContext', additionalContext: [text] });

test('the lowest priority runs first, equal ones run in the order of registration, and contexts are joined', async () => {
  const hooks = createHookRunner();
  hooks.register('PreToolUse', inject('e'), { priority: 90 });
  hooks.register('PreToolUse', inject('b'), { priority: 20 });
  hooks.register('PreToolUse', inject('c'), { priority: 20 });
  hooks.register('PreToolUse', inject('d'));
  hooks.register('PreToolUse', inject('a'), { priority: -1 });
  hooks.register('PostToolUse', inject('another hook'));
  const silent: HookHandler = () => ({ action: 'passThrough', additionalContext: ['not asked for'], warnings: ['w'] });
  hooks.register('PreToolUse', silent);
  expect(await hooks.run(before)).toEqual({
    action: 'injectContext',
    additionalContext: ['a', 'b', 'c', 'd', 'e'],
    warnings: ['w'],
    metadata: {
      modifiedBy: [],
      changes: Array(5).fill({ hookId: 'of PreToolUse', what: 'context' }),
      failures: [],
    },
  });
});

test('contexts are in the order of the priorities of the responses, and a response may replace earlier ones', async () => {
  const hooks = createHookRunner();
  hooks.register('PreToolUse', inject('dropped'), { priority: 1, id: 'early' });
  const replacing: HookHandler = () => ({
    ...{ action: 'injectContext', additionalContext: ['b'], overwriteContext: true, priority: 30 },
  });
  hooks.register('PreToolUse', replacing, { priority: 2, id: 'replacing' });
  const first: HookHandler = () => ({ action: 'injectContext', additionalContext: ['a'], priority: 5 });
  hooks.register('PreToolUse', first, { priority: 60, id: 'late' });
  hooks.register('PreToolUse', inject('c'), { priority: 70, id: 'last' });
  const { additionalContext, metadata } = await hooks.run(before);
  expect(additionalContext).toEqual(['a', 'b', 'c']);
  expect(metadata.changes).toEqual([
    { hookId: 'early', what: 'context' },
    { hookId: 'replacing', what: 'replaced_context' },
    { hookId: 'late', what: 'context' },
    { hookId: 'last', what: 'context' },
  ]);
});

test('a block ends the chain; observers get the event too, and do not decide', async () => {
  const hooks = createHookRunner();
  const asked: string[] = [];
  const seen: ObservedEvent[] = [];
  hooks.register('PreToolUse', () => ({ action: 'modify', modifiedInput: 'x' }), { priority: 1 });
  hooks.register('PreToolUse', () => ({ action: 'block', reason: 'not here' }), { priority: 10, id: 'guard' });
  hooks.register('PreToolUse', () => void asked.push('after the block'), { priority: 20 });
  hooks.observe(event => {
    seen.push(event);
    return { action: 'modify', modifiedInput: 'y' };
  });
  const outcome = await hooks.run(before);
  expect(asked).toEqual([]);
  expect(outcome).toMatchObject({ action: 'block', reason: 'not here', metadata: { hookId: 'guard' } });
  expect(outcome).not.toHaveProperty('modifiedInput');
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({ hook: 'PreToolUse', response: { action: 'block', reason: 'not here' } });
  expect(seen[0]).toHaveProperty('input', 'x');
});

test('a handler gets the modified event of its predecessor, but no change that a handler made to its own copy', async () => {
  const hooks = createHookRunner();
  const got: unknown[] = [];
  hooks.register('PostToolUse', event => {
    got.push(event.output);
    (event.output as { lines: string[] }).lines.push('added by stealth');
    return undefined;
  });
  hooks.register(
    'PostToolUse',
    event => {
      got.push(event.output);
      return { action: 'modify', modifiedOutput: { lines: ['short'] } };
    },
    { id: 'shorten' },
  );
  hooks.register(
    'PostToolUse',
    event => {
      got.push(event.output);
      return { action: 'modify', modifiedOutput: { lines: [], redacted: true } };
    },
    { id: 'redact' },
  );
  const outcome = await hooks.run({ hook: 'PostToolUse', sessionId: 's', output: { lines: ['long'] } });
  expect(got).toEqual([{ lines: ['long', 'added by stealth'] }, { lines: ['long'] }, { lines: ['short'] }]);
  expect(outcome).toMatchObject({
    action: 'modify',
    modifiedOutput: { lines: [], redacted: true },
    metadata: { modifiedBy: ['shorten', 'redact'] },
  });
});

test('a handler that throws, overruns or gives an invalid response is skipped with a warning, and telemetry records it', async () => {
  const hooks = createHookRunner({ timeoutMs: 60_000 });
  const seen: ObservedEvent[] = [];
  let aborted = false;
  hooks.register(
    'PreToolUse',
    () => {
      throw new Error('it broke');
    },
    { id: 'breaks' },
  );
  hooks.register('PreToolUse', () => Promise.reject('no error'), { id: 'rejects' });
  hooks.register(
    'PreToolUse',
    (_, { signal }) =>
      new Promise(() =>
        signal.addEventListener('abort', () => {
          aborted = true;
        }),
      ),
    { id: 'hangs', timeoutMs: 1 },
  );
  hooks.register('PreToolUse', () => ({ action: 'allow' }) as never, { id: 'invents' });
  hooks.register('PreToolUse', inject('still asked'));
  hooks.observe(event => {
    seen.push(event);
  });
  const outcome = await hooks.run(before);
  const failures = [
    { hookId: 'breaks', why: 'threw' },
    { hookId: 'rejects', why: 'threw' },
    { hookId: 'hangs', why: 'overran' },
    { hookId: 'invents', why: 'invalid' },
  ];
  expect(outcome).toMatchObject({
    action: 'injectContext',
    additionalContext: ['still asked'],
    metadata: { failures },
  });
  expect(outcome.warnings).toEqual([
    'hook breaks failed: it broke; it was skipped',
    'hook rejects failed: string; it was skipped',
    'hook hangs took longer than 1 ms; it was skipped',
    'hook invents returned an invalid response (action)',
  ]);
  expect(aborted).toBe(true);
  expect(seen[0]?.response.metadata.failures).toEqual(failures);
});

test('a block counts even if the rest of the answer is wrong', async () => {
  const hooks = createHookRunner();
  hooks.register('PreToolUse', () => ({ action: 'block', reason: 42 }) as never, { id: 'guard' });
  expect(await hooks.run(before)).toMatchObject({ action: 'block', reason: 'blocked by hook guard' });
});

test('hooks within a hook and in its asynchronous work are refused; beside it and after it they run', async () => {
  const hooks = createHookRunner();
  let inner: unknown;
  let afterwards: Promise<unknown> | undefined;
  let release = (): void => undefined;
  const over = new Promise<void>(resolve => {
    release = resolve;
  });
  hooks.register(
    'PreToolUse',
    async () => {
      await Promise.resolve();
      afterwards = over.then(() => hooks.run({ hook: 'SessionEnd', sessionId: 's' }));
      inner = await hooks.run({ hook: 'SessionEnd', sessionId: 's' });
      return undefined;
    },
    { id: 'recurses' },
  );
  let ends = 0;
  hooks.register('SessionEnd', () => {
    ends += 1;
    return undefined;
  });
  const [outcome] = await Promise.all([hooks.run(before), hooks.run({ hook: 'SessionEnd', sessionId: 'other' })]);
  expect(ends).toBe(1);
  expect(inner).toMatchObject({ action: 'passThrough', warnings: ['hooks do not run within a hook (recurses)'] });
  expect(outcome.metadata.failures).toEqual([{ hookId: 'recurses', why: 'recursed' }]);
  release();
  expect(await afterwards).toMatchObject({ warnings: [] });
  expect(ends).toBe(2);
});

test('a wrong registration is refused at once, and a removed handler is not called', async () => {
  const hooks = createHookRunner();
  expect(() => hooks.register('preToolUse' as HookPoint, inject('x'))).toThrow("a platform's name of PreToolUse");
  expect(() => hooks.register('Never' as HookPoint, inject('x'))).toThrow('there are SessionStart');
  expect(() => hooks.register('PreToolUse', inject('x'), { priority: Number.NaN })).toThrow('no number');
  expect(() => hooks.observe(() => undefined, { timeoutMs: Number.POSITIVE_INFINITY })).toThrow('not between');
  let heard = 0;
  const removals = [
    hooks.register('PreToolUse', inject('x')),
    hooks.observe(() => {
      heard += 1;
    }),
  ];
  for (const remove of removals) remove();
  expect(await hooks.run(before)).toMatchObject({ action: 'passThrough', additionalContext: [] });
  expect(await hooks.run({ ...before, hook: 'Never' as HookPoint })).toMatchObject({
    action: 'passThrough',
    warnings: [expect.stringContaining('Never is no hook point')],
  });
  expect(heard).toBe(0);
});

test('a value that cannot be copied is passed without a copy', async () => {
  const hooks = createHookRunner();
  hooks.register('PreToolUse', event => ({
    action: 'injectContext',
    additionalContext: [String((event.input as () => string)())],
  }));
  expect((await hooks.run({ ...before, input: () => 'called' })).additionalContext).toEqual(['called']);
});

test('telemetry records all eleven points, and a trace shows the work of hooks', async () => {
  const hooks = createHookRunner();
  const heard: object[] = [];
  hooks.observe(event => heard.push(event));
  hooks.register(
    'PreToolUse',
    ({ tool }) => (tool?.name === 'rm' ? { action: 'block', reason: 'secret reason' } : undefined),
    { id: 'guard' },
  );
  hooks.register('UserPromptSubmitted', () => {
    throw new Error('secret error');
  });
  const ending = [...hookPoints].sort((a, b) => Number(a === 'SessionEnd') - Number(b === 'SessionEnd'));
  for (const [i, hook] of ending.entries()) {
    const tool = hook.endsWith('ToolUse') || hook === 'OnError' ? { tool: { name: 'ls', success: true } } : {};
    const timestamp = new Date(START_MS + i * 1000).toISOString();
    await hooks.run({ hook, sessionId: 's', timestamp, ...tool });
    if (hook === 'PreToolUse')
      await hooks.run({ hook, sessionId: 's', timestamp, tool: { name: 'rm' }, input: 'secret input' });
  }
  expect(new Set(heard.map(event => (event as ObservedEvent).hook))).toEqual(new Set(hookPoints));
  const { events, spans } = play(heard.map(payload => ({ atMs: START_MS, payload })));
  expect(treeOf(spans)).toMatchInlineSnapshot(`
    "session base-coat              +0ms    10.0s  completed
    +- invoke_agent base-coat    +1.00s    9.00s
       +- execute_tool rm        +2.00s      0ms  denied (hook)
       +- execute_tool ls        +2.00s    1.00s
       +- invoke_agent           +4.00s    1.00s
       +- execute_tool ls        +8.00s      0ms  ERROR tool_error, length unknown
    "
  `);
  expect(
    events
      .filter(event => /^Policy.Blocked|response$/.test(event.event_type))
      .map(({ event_type, data }) => [event_type, data]),
  ).toEqual([
    ['vendor.base-coat.response', { action: 'passThrough', contexts: 0, warnings: 1, failed: 1 }],
    ['Policy.Blocked', { policy_name: 'guard', action: { name: 'rm' } }],
    ['vendor.base-coat.response', { action: 'block', contexts: 0, warnings: 0, failed: 0 }],
  ]);
  expect(JSON.stringify(events)).not.toContain('secret');
});
