/** Events as envelopes of Base Coat, and back again. */
import { expect, test } from 'vitest';
import { type Event, FACTS } from '../../src/event/event.ts';
import { toBaseCoat } from '../../src/standards/base-coat/to-base-coat.ts';
import { play, START_MS } from '../play.ts';

const time = (seconds: number): string => new Date(START_MS + seconds * 1000).toISOString();
const budget = { usedTokens: 131_000, effectiveLimit: 160_000 };
const shell = { name: 'powershell' };

test('all eleven hook points are written as they were read', () => {
  const hooks = [
    { hook: 'SessionStart' },
    { hook: 'UserPromptSubmitted' },
    { hook: 'PreToolUse', tool: shell },
    { hook: 'PostToolUse', tool: { ...shell, success: true, durationMs: 6_422 } },
    { hook: 'SubagentStart', agent: 'reader' },
    { hook: 'SubagentStop', agent: 'reader' },
    { hook: 'PreToolUse', tool: shell },
    { hook: 'PostToolUse', tool: { ...shell, success: false, durationMs: 800 } },
    { hook: 'OnError', tool: { ...shell, success: false, durationMs: 800 } },
    { hook: 'OnError' },
    { hook: 'OnBudgetExceeded', budget },
    { hook: 'PreCompact', budget },
    { hook: 'PostCompact', budget: { usedTokens: 40_000, effectiveLimit: 160_000 } },
    { hook: 'SessionEnd', budget: { usedTokens: 40_000, effectiveLimit: 160_000 } },
  ].map((envelope, i) => ({ sessionId: 'bc-1', agent: 'base-coat', ...envelope, timestamp: time(i) }));
  const { events } = play(hooks.map((payload, i) => ({ atMs: Date.parse(time(i)), payload })));
  // One failure is one event; both hooks that report it come at its time.
  const back = hooks.map(envelope =>
    envelope.hook === 'OnError' && 'tool' in envelope ? { ...envelope, timestamp: time(7) } : envelope,
  );
  expect(written(events)).toEqual(back);
});

const written = (events: readonly Event[], known = new Map()): unknown[] =>
  JSON.parse(JSON.stringify(events.flatMap(event => toBaseCoat(event, known))));

let seq = 0;
const event = (event_type: string, data: object, facts: object = {}, more: object = {}): Event =>
  ({
    ...{ spec_version: '0.1.0', event_id: 'x', timestamp: time(1), source: { tool: 'my-agent' }, session_id: 'root' },
    ...{ event_type, data, metadata: { [FACTS]: { v: 1, seq: ++seq, time: 'native', ...facts } } },
    ...more,
  }) as Event;
const child = { session_id: 'child', parent_session_id: 'root' };
const plain = { timestamp: time(1), sessionId: 'root' };

test('an envelope about a subagent carries the root session, the name of the subagent and the repository', () => {
  const events = [
    event('vendor.otel-hooks.Repository', { owner: 'acme', name: 'shop', branch: 'main', revision: 'f00' }),
    event('Context.UntilCompaction', { tokens_used: 10, tokens_limit: 100 }),
    event('Prompt.Submitted', { prompt_length: 3 }, {}, child),
    event('Action.Before', { action: { name: 'shell' } }, { agent: 'reader', tool: 'Bash' }, child),
    event('Session.End', {}, { agent: 'reader' }, child),
    event('Session.Abort', {}),
    event('Session.Start', {}),
  ];
  const repository = { repository: 'acme/shop', branch: 'main' };
  expect(written(events)).toEqual([
    { hook: 'PreToolUse', ...plain, agent: 'reader', ...repository, tool: { name: 'Bash' } },
    { hook: 'SubagentStop', ...plain, agent: 'reader', ...repository },
    { hook: 'SessionEnd', ...plain, agent: 'my-agent', ...repository, budget: { usedTokens: 10, effectiveLimit: 100 } },
    { hook: 'SessionStart', ...plain, agent: 'my-agent' },
  ]);
});

test('events without a hook point, actions that never ran, and budgets in money have no envelope', () => {
  const spent = { of: 'session', unit: 'usd', state: 'exceeded', used: 3, limit: 2 };
  const events = [
    event('Agent.Response', { final: true }),
    event('Action.After', { action: { name: 'shell' }, decision: { outcome: 'deny' } }),
    event('Policy.Violation', { policy_name: 'budget' }, { budget: spent }),
    event('Policy.Violation', { policy_name: 'budget' }, { budget: { ...spent, unit: 'tokens', state: 'warning' } }),
    event('Policy.Violation', { policy_name: 'egress' }),
    event('Model.Responded', { input_tokens: 3 }),
  ];
  expect(written(events)).toEqual([]);
});

test('a compaction with both sizes is both hooks, and after one without sizes the used tokens are unknown', () => {
  const full = event('Context.UntilCompaction', { tokens_used: 90, tokens_limit: 100 });
  const agent = 'my-agent';
  expect(
    written([full, event('Context.Compaction', { tokens_before: 91, tokens_after: 20 }), event('Agent.Error', {})]),
  ).toEqual([
    { hook: 'PreCompact', ...plain, agent, budget: { usedTokens: 91, effectiveLimit: 100 } },
    { hook: 'PostCompact', ...plain, agent, budget: { usedTokens: 20, effectiveLimit: 100 } },
    { hook: 'OnError', ...plain, agent, budget: { usedTokens: 20, effectiveLimit: 100 } },
  ]);
  const [, after] = written([full, event('Context.Compaction', {}), event('Agent.Error', {})]);
  expect(after).toEqual({ hook: 'OnError', ...plain, agent, budget: { effectiveLimit: 100 } });
});
