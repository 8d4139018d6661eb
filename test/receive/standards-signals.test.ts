/** Events of the open standards, and the attributes of the spans, records and metrics that they become. */
import { describe, expect, test } from 'vitest';
import { incrementsIn } from '../../src/pipeline/outgoing.ts';
import { priceOf } from '../../src/session/prices.ts';
import { hookPoints } from '../../src/standards/base-coat/hook-points.ts';
import { toBaseCoat } from '../../src/standards/base-coat/to-base-coat.ts';
import type { Increment } from '../../src/telemetry/increments.ts';
import { metrics } from '../../src/telemetry/names.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { readableRecordOf } from '../otlp.ts';
import { fragmentOf, limits, mapped, type Played, type PlayedHook, pinned, play, playerOf, START_MS } from '../play.ts';

const time = (seconds: number): string => new Date(START_MS + seconds * 1000).toISOString();

/** An event of Agent Hooks for each entry, a second apart. */
const agentHooks = (...events: [type: string, data?: object, more?: object][]): PlayedHook[] =>
  events.map(([event_type, data = {}, more = {}], i) => ({
    atMs: START_MS + i * 1000,
    payload: {
      spec_version: '0.1.0',
      event_id: `${String(i + 1).padStart(8, '0')}-0000-4000-8000-000000000000`,
      timestamp: time(i),
      source: { tool: 'acme-agent' },
      session_id: 's-1',
      event_type,
      data,
      ...more,
    },
  }));

const openHook = (...events: [type: string, data?: object][]): PlayedHook[] =>
  events.map(([type, data = {}], i) => ({
    atMs: START_MS + i * 1000,
    payload: { openhook: '0.1', id: `o-${i}`, source: 'acme-agent', type, time: time(i), session_id: 's-1', data },
  }));

/** The attributes of the spans of a kind. */
const spansOf = (kind: string, { spans }: Played): { [name: string]: unknown }[] =>
  mapped(spans.filter(span => span.kind === kind)).map(({ attributes }) => attributes);

const recordsOf = (type: string, { records }: Played): { [name: string]: unknown }[] =>
  records
    .filter(({ event, as }) => event.event_type === type && as === undefined)
    .map(record => {
      const { agent, session } = record.trace;
      const from = { agent, session, provider: undefined, denyAsError: false, limits };
      return readableRecordOf(record, from, resourceOf({})).attributes;
    });

/** Increments as a delivery makes them. */
const incrementsOf = ({ states, events, spans, records }: Played): Increment[] =>
  [...states.values()].flatMap(state => incrementsIn({ state, events, spans, records }));

const metricOf = (name: string, played: Played): { [name: string]: string }[] =>
  incrementsOf(played).flatMap(({ metric, attributes }) => (metrics[metric].name === name ? [attributes] : []));

describe('the end of a turn', () => {
  const failed: [string, object] = ['Model.Failed', { model_id: 'acme/large', error_type: 'rate_limit' }];
  const answered: [string, object] = ['Model.Responded', { model_id: 'acme/large', output_tokens: 3 }];

  test.each([
    ['Retry.Triggered', ['Retry.Triggered', { attempt: 2, reason: 'rate_limit' }] as [string, object]],
    ['another response', answered],
  ])('a failure of a model and then %s do not end it', (_, next) => {
    const played = play(
      agentHooks(['Session.Start'], ['Prompt.Submitted'], failed, next, answered, ['Agent.Response'], ['Session.End']),
    );
    expect(spansOf('turn', played)).toEqual([expect.objectContaining({ 'agent_hooks.turn.outcome': 'completed' })]);
    const [chat] = mapped(played.spans.filter(({ kind }) => kind === 'chat'));
    expect(chat).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'rate_limit' } });
    expect(played.spans.find(({ kind }) => kind === 'turn')?.endMs).toBe(START_MS + 5_000);
  });

  test('a failure without anything after it fails it, at the time of the failure', () => {
    const played = play(agentHooks(['Prompt.Submitted'], failed, ['Agent.Error'], ['Session.End']));
    const turn = played.spans.find(({ kind }) => kind === 'turn');
    expect(turn).toMatchObject({ outcome: 'failed', errorType: 'rate_limit', endMs: START_MS + 1_000 });
  });

  test('a response without `final` is the final answer, and one with `final: false` is not', () => {
    const outcomes = (data: object): unknown[] =>
      spansOf('turn', play(agentHooks(['Prompt.Submitted'], ['Agent.Response', data], ['Session.End']))).map(
        attributes => attributes['agent_hooks.turn.outcome'],
      );
    expect(outcomes({ response_length: 9 })).toEqual(['completed']);
    expect(outcomes({ final: false })).toEqual(['unfinished']);
  });

  test('a standard without an event for it leaves the outcome absent', () => {
    const played = play(openHook(['session.start'], ['prompt.submit'], ['prompt.submit'], ['session.end']));
    expect(spansOf('turn', played).map(each => Object.hasOwn(each, 'agent_hooks.turn.outcome'))).toEqual([
      false,
      false,
    ]);
  });

  test('a journal with these events gives the same turns again', () => {
    const first = play(agentHooks(['Prompt.Submitted'], failed, answered, ['Agent.Response'], ['Session.End']));
    const again = play(first.events.map((payload, i) => ({ atMs: START_MS + i, payload })));
    expect(spansOf('turn', again).map(each => each['agent_hooks.turn.outcome'])).toEqual(['completed']);
  });
});

describe('the end of a session', () => {
  test('an unknown reason is absent on the span and the record, and unknown on the metric', () => {
    const played = play(agentHooks(['Session.Start'], ['Session.End', { end_reason: 'bored' }]));
    const name = 'agent_hooks.session.end_reason';
    expect(Object.hasOwn(spansOf('session', played)[0] ?? {}, name)).toBe(false);
    expect(Object.hasOwn(recordsOf('Session.End', played)[0] ?? {}, name)).toBe(false);
    expect(metricOf('agent_hooks.session.duration', played)).toEqual([{ [name]: 'unknown' }]);
  });

  test('the stated length, tokens and actions describe a session without other facts', () => {
    const usage = { total_tokens: 48_210, total_actions: 14, duration_ms: 342_000 };
    const played = play(agentHooks(['Session.End', { end_reason: 'exit', usage }]));
    const [span] = played.spans;
    expect((span?.endMs ?? 0) - (span?.startMs ?? 0)).toBe(342_000);
    const stated = {
      'agent_hooks.session.tokens': 48_210,
      'agent_hooks.session.actions': 14,
      'agent_hooks.session.duration_ms': 342_000,
    };
    expect(spansOf('session', played)[0]).toMatchObject(stated);
    expect(recordsOf('Session.End', played)[0]).toMatchObject(stated);
  });
});

describe('error classes', () => {
  test('the class that a sender states is on the span, the record and the metric', () => {
    const played = play(
      agentHooks(
        ['Prompt.Submitted'],
        ['Model.Failed', { model_id: 'acme/large', error_type: 'rate_limit', latency_ms: 5 }],
        ['Agent.Error', { error_type: 'AuthError' }],
        ['Session.End'],
      ),
    );
    expect(spansOf('chat', played)[0]?.['error.type']).toBe('rate_limit');
    expect(recordsOf('Model.Failed', played)[0]?.['error.type']).toBe('rate_limit');
    const [length] = metricOf('gen_ai.client.inference.duration', played);
    expect(length?.['error.type']).toBe('rate_limit');
    expect(recordsOf('Agent.Error', played)[0]?.['error.type']).toBe('AuthError');
    expect(metricOf('agent_hooks.errors', played)).toEqual([expect.objectContaining({ 'error.type': 'AuthError' })]);
  });
});

describe('fields of Agent Hooks', () => {
  test('is_followup is on the turn, the record and the metric', () => {
    const played = play(agentHooks(['Prompt.Submitted', { is_followup: true }], ['Agent.Response'], ['Session.End']));
    const name = 'agent_hooks.prompt.is_followup';
    expect(spansOf('turn', played)[0]?.[name]).toBe(true);
    expect(recordsOf('Prompt.Submitted', played)[0]?.[name]).toBe(true);
    expect(metricOf('agent_hooks.prompt.submitted', played)).toEqual([expect.objectContaining({ [name]: 'true' })]);
  });

  test.each([
    ['on the event', { trace_record_id: 'tr-1' }, {}],
    ['in its data', {}, { trace_record_id: 'tr-1' }],
    ['in its metadata', { metadata: { trace_record_id: 'tr-1' } }, {}],
    ['in the metadata of a vendor', { metadata: { 'dev.agent-trace': { trace_record_id: 'tr-1' } } }, {}],
  ])('trace_record_id is read %s', (_, more, data) => {
    const action = { name: 'write_file', result: { success: true } };
    const played = play(agentHooks(['Action.After', { action, ...data }, more]));
    expect(spansOf('action', played)[0]?.['agent_hooks.trace_record.id']).toBe('tr-1');
    expect(recordsOf('Action.After', played)[0]?.['agent_hooks.trace_record.id']).toBe('tr-1');
  });

  test('mcp:<tool> is a call of an MCP tool', () => {
    const action = { name: 'mcp:create_issue' };
    const played = play(
      agentHooks(['Action.Before', { action }], ['Action.After', { action: { ...action, result: { success: true } } }]),
    );
    const call = {
      'gen_ai.tool.type': 'extension',
      'gen_ai.tool.name': 'create_issue',
      'agent_hooks.action.name': 'mcp:create_issue',
    };
    expect(spansOf('action', played)).toEqual([expect.objectContaining({ ...call, 'mcp.method.name': 'tools/call' })]);
    expect(spansOf('action', played)[0]).not.toHaveProperty(['agent_hooks.mcp.server']);
    expect(recordsOf('Action.Before', played)).toEqual([expect.objectContaining(call)]);
    expect(metricOf('mcp.client.operation.duration', played)).toHaveLength(1);
  });

  test('the record of a retry has its reason if that is one word', () => {
    const played = play(
      agentHooks(['Retry.Triggered', { reason: 'rate_limit' }], ['Retry.Triggered', { reason: 'it broke' }]),
    );
    expect(recordsOf('Retry.Triggered', played).map(each => each['agent_hooks.retry.reason'])).toEqual([
      'rate_limit',
      undefined,
    ]);
  });
});

describe('names of actions', () => {
  test.each([
    ['shell', 'shell', 'shell'],
    ['read_file', 'read_file', 'read_file'],
    ['write_file', 'write_file', 'write_file'],
    ['code_edit', 'code_edit', 'code_edit'],
    ['web_search', 'web_search', 'web_search'],
    ['task', 'task', 'task'],
    ['mcp:anything', 'mcp', 'mcp'],
    ['mcp__tracker__anything', 'mcp', 'mcp'],
    ['Bash', 'shell', 'Bash'],
    ['powershell', 'shell', 'powershell'],
    ['frobnicate', 'custom', 'custom'],
  ])('%s of an unknown agent is %s %s on metrics', (name, action, tool) => {
    const [series] = metricOf(
      'gen_ai.execute_tool.duration',
      play(
        agentHooks(
          ['Action.Before', { action: { name } }],
          ['Action.After', { action: { name, result: { success: true } } }],
        ),
      ),
    );
    expect([series?.['agent_hooks.action.name'], series?.['gen_ai.tool.name']]).toEqual([action, tool]);
  });

  test('the record of Action.Before has both names', () => {
    const played = play(agentHooks(['Action.Before', { action: { name: 'Bash' } }]));
    expect(recordsOf('Action.Before', played)[0]).toMatchObject({
      'agent_hooks.action.name': 'shell',
      'gen_ai.tool.name': 'Bash',
      'gen_ai.tool.type': 'function',
    });
  });
});

// ---------------------------------------------------------------- cost

describe('the cost of a session that reports only its end', () => {
  const ending = {
    reason: 'completed',
    model: 'anthropic/claude-sonnet-4-5',
    input_tokens: 1_000_000,
    output_tokens: 1_000,
  };
  const at = { atMs: START_MS };
  const envelope = {
    openhook: '0.1',
    id: 'o-1',
    source: 'acme-agent',
    type: 'session.end',
    time: time(0),
    session_id: 's-1',
  };
  const priced = (payload: object): Played => {
    const player = playerOf({ price: priceOf, settles: 'never waiting' });
    const taken = player.take(fragmentOf({ ...at, payload }));
    const [session] = taken.fate === 'rejected' ? [] : taken.sessions;
    const { events = [], spans = [], records = [], state } = session ?? {};
    const states = new Map(state === undefined ? [] : [[state.key, state]]);
    return { events, spans, records, states, fates: [], oddities: {}, odd: [], bad: [] };
  };

  test('has an upper bound, which no counter takes', () => {
    const played = priced({ ...envelope, data: ending });
    const [span] = spansOf('session', played);
    expect(span).toMatchObject({ 'agent_hooks.cost.basis': 'derived' });
    // A million tokens of input cost at least 3 USD, and at most the rate of a write to a cache.
    expect(span?.['agent_hooks.cost.upper_bound_usd']).toBeGreaterThanOrEqual(3);
    expect(span?.['agent_hooks.cost.upper_bound_usd']).toBeLessThanOrEqual(22.6);
    expect(span).not.toHaveProperty(['agent_hooks.cost.usd']);
    expect(recordsOf('Session.End', played)[0]).toMatchObject({ 'agent_hooks.cost.basis': 'derived' });
    expect(metricOf('agent_hooks.cost.computed', played)).toEqual([]);
    expect(metricOf('agent_hooks.cost.reported', played)).toEqual([]);
  });

  test.each([
    ['without a model', { ...envelope, data: { ...ending, model: undefined } }],
    ['without the output', { ...envelope, data: { ...ending, output_tokens: undefined } }],
    ['with a bare total', agentHooks(['Session.End', { usage: { total_tokens: 48_210 } }])[0]?.payload as object],
  ])('%s has none', (_, payload) => {
    const [span] = spansOf('session', priced(payload));
    expect(Object.keys(span ?? {}).filter(name => name.includes('cost'))).not.toContain(
      'agent_hooks.cost.upper_bound_usd',
    );
  });
});

// ---------------------------------------------------------------- Base Coat

const coat = (...envelopes: [hook: string, more?: object][]): PlayedHook[] =>
  envelopes.map(([hook, more = {}], i) => ({
    atMs: START_MS + i * 1000,
    payload: {
      hook,
      timestamp: time(i),
      sessionId: 'bc-1',
      agent: 'backend-dev',
      repository: 'acme/shop',
      branch: 'feat/hooks',
      ...more,
    },
  }));

describe('the envelope of Base Coat', () => {
  const budget = { usedTokens: 78_124, effectiveLimit: 160_000 };
  const tool = { name: 'powershell', success: false, durationMs: 6_422 };
  const session = () =>
    play(
      coat(
        ['SessionStart'],
        ['UserPromptSubmitted'],
        ['PreToolUse', { tool: { name: 'powershell' } }],
        ['PostToolUse', { tool, budget }],
        ['SessionEnd'],
      ),
    );

  test('agent, repository, branch and budget are on spans, records and metrics', () => {
    const played = session();
    const agent = { 'gen_ai.agent.name': 'backend-dev' };
    const context = { 'agent_hooks.context.tokens_used': 78_124, 'agent_hooks.context.tokens_limit': 160_000 };
    const repository = { 'vcs.repository.name': 'shop', 'vcs.ref.head.name': 'feat/hooks' };
    const owner = { 'vcs.owner.name': 'acme' };
    expect(spansOf('session', played)).toEqual([
      expect.objectContaining({ ...agent, ...context, ...repository, ...owner }),
    ]);
    expect(spansOf('turn', played)).toEqual([expect.objectContaining({ ...agent, ...context })]);
    expect(spansOf('action', played)).toEqual([expect.objectContaining(agent)]);
    expect(recordsOf('Action.After', played)).toEqual([
      expect.objectContaining({ ...agent, ...context, ...repository }),
    ]);
    expect(metricOf('gen_ai.execute_tool.duration', played)).toEqual([
      expect.objectContaining({ ...agent, ...repository }),
    ]);
    expect(metricOf('agent_hooks.context.utilization', played)).toEqual([expect.objectContaining(repository)]);
  });

  test('they are in the envelopes that otel-hooks writes', () => {
    const known = new Map();
    const written = session().events.flatMap(event => toBaseCoat(event, known));
    expect(written.at(-1)).toMatchObject({
      hook: 'SessionEnd',
      agent: 'backend-dev',
      repository: 'acme/shop',
      branch: 'feat/hooks',
      budget,
    });
  });

  test('a text that is not a name of a repository or a branch is left out', () => {
    const played = play(coat(['SessionStart', { repository: 'see https://x', branch: 'a b' }], ['SessionEnd']));
    expect(spansOf('session', played)[0]).not.toHaveProperty(['vcs.repository.name']);
    expect(spansOf('session', played)[0]).not.toHaveProperty(['vcs.ref.head.name']);
  });

  test('the setting that leaves out the repository also holds for a stated one', () => {
    const player = playerOf({ settles: 'never waiting' }, { ...pinned, repository: false });
    const taken = coat(['SessionStart'], ['SessionEnd']).map(hook => player.take(fragmentOf(hook)));
    const [session] = taken[0]?.fate === 'journaled' ? taken[0].sessions : [];
    expect(JSON.stringify(session?.events)).not.toContain('shop');
  });
});

describe("each row of Base Coat's table of measurements has a signal", () => {
  const rows: { [hook: string]: () => void } = {
    SessionStart: () => {
      const answered = {
        action: 'injectContext',
        additionalContext: ['x'],
        metadata: { memoryHits: 3, bootstrapMs: 40 },
      };
      const played = play(coat(['SessionStart', { response: answered }], ['SessionEnd']));
      expect(metricOf('agent_hooks.session.started', played)).toEqual([
        expect.objectContaining({ 'gen_ai.agent.name': 'backend-dev' }),
      ]);
      expect(recordsOf('vendor.base-coat.response', played)).toEqual([
        expect.objectContaining({ 'agent_hooks.vendor.memoryHits': 3, 'agent_hooks.vendor.bootstrapMs': 40 }),
      ]);
    },
    SessionEnd: () => {
      const tool = { name: 'bash', success: true };
      const played = play(coat(['SessionStart'], ['PreToolUse', { tool }], ['PostToolUse', { tool }], ['SessionEnd']));
      expect(metricOf('agent_hooks.session.duration', played)).toHaveLength(1);
      expect(spansOf('session', played)[0]).toMatchObject({ 'agent_hooks.session.actions': 1 });
    },
    UserPromptSubmitted: () => {
      const played = play(coat(['UserPromptSubmitted'], ['UserPromptSubmitted'], ['SessionEnd']));
      expect(metricOf('agent_hooks.prompt.submitted', played)).toHaveLength(2);
    },
    PreToolUse: () => {
      const response = { action: 'block', reason: 'no', warnings: ['w'], metadata: { hookId: 'guard' } };
      const played = play(coat(['PreToolUse', { tool: { name: 'bash' }, response }], ['SessionEnd']));
      expect(metricOf('agent_hooks.decisions', played)).toEqual([
        expect.objectContaining({ 'agent_hooks.action.name': 'shell', 'agent_hooks.decision.source': 'hook' }),
      ]);
      expect(recordsOf('vendor.base-coat.response', played)).toEqual([
        expect.objectContaining({ 'agent_hooks.vendor.warnings': 1 }),
      ]);
    },
    PostToolUse: () => {
      const tool = { name: 'bash', success: false, durationMs: 900 };
      const played = play(coat(['PreToolUse', { tool }], ['PostToolUse', { tool }], ['SessionEnd']));
      expect(metricOf('gen_ai.execute_tool.duration', played)).toEqual([
        expect.objectContaining({
          'gen_ai.tool.name': 'bash',
          'gen_ai.agent.name': 'backend-dev',
          'error.type': 'tool_error',
        }),
      ]);
      const [action] = played.spans.filter(({ kind }) => kind === 'action');
      expect((action?.endMs ?? 0) - (action?.startMs ?? 0)).toBe(900);
    },
    SubagentStart: () => {
      const played = play(
        coat(
          ['SessionStart'],
          ['SubagentStart', { agent: 'reader' }],
          ['SubagentStart', { agent: 'inner' }],
          ['SubagentStop', { agent: 'inner' }],
          ['SubagentStop', { agent: 'reader' }],
          ['SessionEnd'],
        ),
      );
      const depth = 'agent_hooks.subagent.depth';
      const started = recordsOf('Session.Start', played).slice(1);
      expect(started.map(each => [each['gen_ai.agent.name'], each[depth]])).toEqual([
        ['reader', 1],
        ['inner', 2],
      ]);
      expect(spansOf('subagent', played).map(each => [each['gen_ai.agent.name'], each[depth]])).toEqual([
        ['inner', 2],
        ['reader', 1],
      ]);
    },
    SubagentStop: () => {
      const played = play(
        coat(['SubagentStart', { agent: 'reader' }], ['SubagentStop', { agent: 'reader' }], ['SessionEnd']),
      );
      expect(metricOf('gen_ai.invoke_agent.duration', played)).toContainEqual(
        expect.objectContaining({ 'gen_ai.agent.name': 'reader' }),
      );
    },
    PreCompact: () => {
      const played = play(coat(['PreCompact', { budget: { usedTokens: 90 } }], ['SessionEnd']));
      expect(metricOf('agent_hooks.context.compactions', played)).toHaveLength(1);
      expect(recordsOf('Context.Compaction', played)[0]).toMatchObject({ 'agent_hooks.context.tokens_before': 90 });
    },
    PostCompact: () => {
      const size = (usedTokens: number): object => ({ budget: { usedTokens } });
      const played = play(coat(['PreCompact', size(100)], ['PostCompact', size(40)], ['SessionEnd']));
      const [share] = incrementsOf(played).filter(({ metric }) => metric === 'compression');
      expect(share?.value).toBe(0.4);
    },
    OnError: () => {
      const error = { type: 'AuthError' };
      const played = play(coat(['OnError', { error }], ['OnError', { error }], ['SessionEnd']));
      const records = recordsOf('Agent.Error', played);
      expect(records.map(each => [each['error.type'], each['agent_hooks.error.recurrence']])).toEqual([
        ['AuthError', 0],
        ['AuthError', 1],
      ]);
      expect(metricOf('agent_hooks.errors', played).map(each => each['error.type'])).toEqual([
        'AuthError',
        'AuthError',
      ]);
    },
    OnBudgetExceeded: () => {
      const budget = { usedTokens: 131_000, effectiveLimit: 160_000 };
      const played = play(coat(['SessionStart'], ['OnBudgetExceeded', { budget }], ['SessionEnd']));
      expect(metricOf('agent_hooks.budget.thresholds', played)).toContainEqual(
        expect.objectContaining({ 'agent_hooks.budget.of': 'envelope', 'agent_hooks.budget.state': 'exceeded' }),
      );
      expect(recordsOf('Policy.Violation', played)).toContainEqual(
        expect.objectContaining({ 'agent_hooks.budget.used': 131_000, 'agent_hooks.budget.limit': 160_000 }),
      );
    },
  };

  test.each(hookPoints)('%s', hook => rows[hook]?.());
});

test('each change of a handler is a record that names the handler and what it changed, and nothing of the content', () => {
  const changes = [
    { hookId: 'redactor', what: 'output' },
    { hookId: 'memory', what: 'replaced_context' },
    { hookId: 'not an id: /home/kim', what: 'input' },
    { hookId: 'odd', what: 'a sentence about the customer' },
  ];
  const response = { action: 'modify', modifiedOutput: 'canary', metadata: { modifiedBy: ['redactor'], changes } };
  const played = play([
    {
      atMs: START_MS,
      payload: {
        hook: 'PostToolUse',
        timestamp: time(0),
        sessionId: 's-1',
        tool: { name: 'deploy', success: true, durationMs: 5 },
        response,
      },
    },
  ]);
  const found = recordsOf('vendor.base-coat.change', played);
  expect(
    found.map(each => [
      each['agent_hooks.vendor.hook'],
      each['agent_hooks.vendor.what'],
      each['gen_ai.tool.name'],
      each['session.id'],
    ]),
  ).toEqual([
    ['redactor', 'output', 'deploy', 's-1'],
    ['memory', 'replaced_context', 'deploy', 's-1'],
    [undefined, 'input', 'deploy', 's-1'],
  ]);
  expect(JSON.stringify([played.events, found])).not.toMatch(/canary|kim|customer/);
});
