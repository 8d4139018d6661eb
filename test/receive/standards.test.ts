/** Events of the open standards in the inbox, and the events that they become. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Event, eventTypes, factsOf } from '../../src/event/event.ts';
import { validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import { endsTurn, hookPointOf, hookPoints, platformName } from '../../src/standards/base-coat/hook-points.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { mapped, type PlayedHook, play, START_MS, treeOf } from '../play.ts';
import { type House, openHouse, rowsOf, tokensOf } from '../transcripts/house.ts';

const time = (seconds: number): string => new Date(START_MS + seconds * 1000).toISOString();
const at = (seconds: number, payload: object | string, header = {}): PlayedHook => ({
  atMs: START_MS + seconds * 1000,
  payload,
  header,
});
const typesOf = (events: readonly Event[]): string[] =>
  events.map(event => event.event_type).filter(type => !type.startsWith('vendor.otel-hooks.'));
const idsOf = (events: readonly Event[]): string[] => events.map(event => event.event_id).sort();

// ---------------------------------------------------------------- OpenHook

let envelopes = 0;
const envelope = (type: string, seconds: number, data: object = {}, more: object = {}): object => {
  envelopes += 1;
  return {
    openhook: '0.1',
    id: `6b1f0000-0000-4000-8000-${String(envelopes).padStart(12, '0')}`,
    source: 'acme-agent',
    type,
    time: time(seconds),
    session_id: 'run-1',
    data,
    ...more,
  };
};

describe('OpenHook', () => {
  test('an end without an id belongs to a start without one, also beside other actions', () => {
    const bash = { tool_name: 'Bash' };
    const { spans } = play([
      at(1, envelope('session.start', 1)),
      at(2, envelope('tool.start', 2, { ...bash, tool_call_id: 'c1' })),
      at(3, envelope('tool.start', 3, bash)),
      at(4, envelope('tool.end', 4, { ...bash, status: 'error' })),
      at(6, envelope('tool.end', 6, { ...bash, tool_call_id: 'c1', status: 'success' })),
    ]);
    expect(spans.map(span => span.kind === 'action' && [span.startMs, span.endMs, span.outcome])).toEqual([
      [START_MS + 3_000, START_MS + 4_000, 'failure'],
      [START_MS + 2_000, START_MS + 6_000, 'success'],
    ]);
  });

  test('the end of a session alone is one session span of its length, with its tokens, counted once', () => {
    const end = {
      transcript_path: '/home/dev/x.jsonl',
      reason: 'user_exit',
      model: 'acme-large-2',
      duration_ms: 90_000,
      input_tokens: 41_000,
      output_tokens: 1_200,
    };
    const { spans, events, states } = play([at(120, envelope('session.end', 120, end))]);
    expect(spans).toHaveLength(1);
    const [span] = mapped(spans);
    expect(span?.name).toBe('session acme-agent');
    expect(spans[0]).toMatchObject({ startMs: START_MS + 30_000, endMs: START_MS + 120_000, endReason: 'exit' });
    expect(span?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 41_000,
      'gen_ai.usage.output_tokens': 1_200,
      'gen_ai.request.model': 'acme-large-2',
    });
    const counted = incrementsOf(events, spans, 'acme-agent', () => false, undefined);
    expect(counted.filter(each => each.metric === 'inputTokens').map(each => each.value)).toEqual([41_000]);
    expect(counted.filter(each => each.metric === 'outputTokens').map(each => each.value)).toEqual([1_200]);
    expect([...states.values()].map(state => [state.agent, state.session])).toEqual([['acme-agent', 'run-1']]);
  });

  test('all of its events make one tree', () => {
    const { spans, events } = play([
      at(0, envelope('session.start', 0, { model: 'acme-large-2' })),
      at(1, envelope('prompt.submit', 1, { prompt_length: 12 })),
      at(2, envelope('tool.start', 2, { tool_name: 'mcp__tracker__open', tool_call_id: 'c1' })),
      at(5, envelope('tool.end', 5, { tool_name: 'mcp__tracker__open', tool_call_id: 'c1', status: 'success' })),
      at(6, envelope('tool.start', 6, { tool_name: 'Bash', tool_call_id: 'c2' })),
      at(
        6,
        envelope('file.write', 6, { path: 'src/secret.ts', operation: 'update', start_line: 3, tool_call_id: 'c2' }),
      ),
      at(9, envelope('tool.end', 9, { tool_name: 'Bash', tool_call_id: 'c2', status: 'error', duration_ms: 2500 })),
      at(10, envelope('session.end', 10, { reason: 'completed', duration_ms: 500_000 })),
    ]);
    expect(treeOf(spans)).toMatchInlineSnapshot(`
      "session acme-agent              +0ms    10.0s  completed
      +- invoke_agent acme-agent    +1.00s    9.00s
         +- execute_tool open       +2.00s    3.00s
         +- execute_tool Bash       +6.50s    2.50s  ERROR tool_error
      "
    `);
    expect(typesOf(events)).toEqual([
      'Session.Start',
      'Prompt.Submitted',
      'Action.Before',
      'Action.After',
      'Action.Before',
      'vendor.openhook.file.write',
      'Action.After',
      'Session.End',
    ]);
    expect(JSON.stringify(events)).not.toContain('secret.ts');
    expect(events[5]?.data).toEqual({ operation: 'update', start_line: 3 });
  });

  test('the same id is the same event, whenever it comes', () => {
    const prompt = envelope('prompt.submit', 1, { prompt_length: 12 });
    const { fates } = play([at(1, prompt), at(9, prompt), at(10, { ...prompt, id: 'another' })]);
    expect(fates).toEqual(['journaled', 'duplicate', 'journaled']);
  });

  test('calls without ids are paired by the name of the tool', () => {
    const { spans } = play([
      at(0, envelope('prompt.submit', 0)),
      at(1, envelope('tool.start', 1, { tool_name: 'Read' })),
      at(2, envelope('tool.start', 2, { tool_name: 'Bash' })),
      at(3, envelope('tool.end', 3, { tool_name: 'Bash', status: 'success' })),
      at(7, envelope('tool.end', 7, { tool_name: 'Read', status: 'success' })),
    ]);
    const lengths = spans.map(span => span.kind === 'action' && [span.tool, span.endMs - span.startMs]);
    expect(lengths).toEqual([
      ['Bash', 1_000],
      ['Read', 6_000],
    ]);
  });

  test('the additions of otel-hooks are read: a decision, a turn, the parent session', () => {
    const added = {
      'otel-hooks': { decision: 'deny', turn_id: 't7', parent_session_id: 'root', agent_type: 'Reader' },
    };
    const { events } = play([
      at(1, envelope('tool.end', 1, { tool_name: 'Bash', tool_call_id: 'c', status: 'error' }, { extensions: added })),
    ]);
    expect(events[0]).toMatchObject({ session_id: 'run-1', parent_session_id: 'root' });
    expect(events[0]?.data).toEqual({ action: { name: 'shell' }, decision: { outcome: 'deny' } });
    expect(events[0] && factsOf(events[0])).toMatchObject({ turn: 't7', agent: 'Reader' });
  });

  test.each([
    ['another version', { openhook: '0.7' }, 'openhook_version'],
    ['the folder under its first name', { cwd: '/home/dev/x' }, 'openhook_cwd'],
    ['a time without a zone', { time: '2026-03-02T09:00:01' }, 'openhook_time'],
  ])('%s is read as far as possible, and counted', (_, more, kind) => {
    const { events, odd } = play([at(1, envelope('session.start', 1, {}, more))]);
    expect(typesOf(events)).toEqual(['Session.Start']);
    expect(events[0]?.timestamp).toBe(time(1));
    expect(odd).toEqual([kind]);
  });

  test.each([
    ['a zone of hours', '2026-03-02T10:00:01+01'],
    ['a zone without a colon', '2026-03-02T07:30:01-0130'],
    ['a comma', '2026-03-02T09:00:01,000Z'],
  ])('a time with %s is read correctly', (_, stated) => {
    const { events, odd } = play([at(1, envelope('session.start', 1, {}, { time: stated }))]);
    expect([events[0]?.timestamp, odd]).toEqual([time(1), []]);
  });

  test.each([
    ['no version', { openhook: 1 }, 'invalid-event'],
    ['no type', { type: '' }, 'invalid-event'],
    ['an empty session', { session_id: '' }, 'no-session-id'],
    ['no session', { session_id: undefined }, 'invalid-event'],
    ['a file without a path', { type: 'file.write' }, 'invalid-event'],
  ])('%s is set aside', (_, more, reason) => {
    expect(play([at(1, envelope('session.start', 1, {}, more))]).fates).toEqual([reason]);
  });

  test('its key alone decides, with any other fields', () => {
    const { events } = play([
      at(1, { ...envelope('prompt.submit', 1), hook_event_name: 'Stop', spec_version: '0.1.0' }),
    ]);
    expect(typesOf(events)).toEqual(['Prompt.Submitted']);
  });

  test('an unknown type is kept by name, without its data', () => {
    const { events } = play([at(1, envelope('doc.write', 1, { title: 'a secret' }))]);
    expect(typesOf(events)).toEqual(['vendor.openhook.doc.write']);
    expect(events[0]?.data).toEqual({});
  });

  test("the agent's own payload inside is read as that agent's", () => {
    const inside = native({
      hook_event_name: 'PostToolUse',
      tool_name: 'Bash',
      tool_use_id: 'toolu_1',
      tool_input: {},
    });
    const legacy = envelope(
      'tool.end',
      4,
      {},
      { source: 'copilot', session_id: 's-1', extensions: { legacy_payload: inside } },
    );
    const { events, states } = play([at(4, legacy), at(4, inside, { tool: 'claude-code' })]);
    expect([...states.values()].map(state => state.agent)).toEqual(['claude-code']);
    // Without a transcript the action settles at once.
    expect(typesOf(events)).toEqual(['Action.After']);
    expect(events[0]).toMatchObject({ timestamp: time(4) });
  });
});

// ---------------------------------------------------------------- beside the agent's own hooks

const native = (fields: object): object => ({
  session_id: 's-1',
  transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl',
  cwd: '/home/dev/x',
  permission_mode: 'default',
  ...fields,
});

describe("a standard's events beside the agent's own hooks", () => {
  const call = { tool_name: 'Bash', tool_use_id: 'toolu_1', tool_input: { command: 'date' } };
  const ofHooks = [
    at(0, native({ hook_event_name: 'SessionStart', source: 'startup' })),
    at(1, native({ hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'x' })),
    at(2, native({ hook_event_name: 'PreToolUse', prompt_id: 'p1', ...call })),
    at(3, native({ hook_event_name: 'PostToolUse', prompt_id: 'p1', ...call, duration_ms: 900 })),
    at(5, native({ hook_event_name: 'Stop', prompt_id: 'p1', last_assistant_message: 'done' })),
    at(9, native({ hook_event_name: 'SessionEnd', reason: 'other' })),
  ];
  const same = { source: 'claude-code', session_id: 's-1' };
  const data = { tool_name: 'Bash', tool_call_id: 'toolu_1' };
  const ofOpenHook = [
    [at(0, envelope('session.start', 0, {}, same))],
    [at(1, envelope('prompt.submit', 1, { prompt_length: 1 }, same))],
    [at(2, envelope('tool.start', 2, data, same))],
    [at(3, envelope('tool.end', 3, { ...data, status: 'success', duration_ms: 900 }, same))],
    [],
    [at(9, envelope('session.end', 9, { duration_ms: 9_000 }, same))],
  ];

  test('in either order, each event is recorded once in one session', () => {
    const alone = play(ofHooks);
    for (const payload of [
      ofHooks.flatMap((hook, i) => [hook, ...(ofOpenHook[i] ?? [])]),
      ofHooks.flatMap((hook, i) => [...(ofOpenHook[i] ?? []), hook]),
      [...ofHooks, ...ofOpenHook.flat()],
    ]) {
      const { events, spans, states } = play(payload);
      expect(states.size).toBe(1);
      expect(typesOf(events)).toEqual(typesOf(alone.events));
      expect(spans.map(span => span.kind).sort()).toEqual(alone.spans.map(span => span.kind).sort());
    }
  });

  test('hooks that report the end of a subagent do not become the source for the end of the session', () => {
    const subagent = { agent_id: 'a1', agent_type: 'Explore' };
    const { events, spans, fates } = play([
      ...ofHooks.slice(0, 2),
      at(2, native({ hook_event_name: 'SubagentStart', ...subagent })),
      at(3, native({ hook_event_name: 'SubagentStop', ...subagent })),
      at(5, native({ hook_event_name: 'Stop', prompt_id: 'p1', last_assistant_message: 'done' })),
      at(9, envelope('session.end', 9, { reason: 'user_exit', duration_ms: 9_000 }, same)),
    ]);
    expect(fates).not.toContain('duplicate');
    expect(events.filter(({ event_type: type }) => type === 'Session.End').map(event => event.session_id)).toEqual([
      'a1',
      's-1',
    ]);
    expect(spans.map(({ kind }) => kind)).toContain('session');
  });

  test('a call has the same event id from both', () => {
    const calls = (hooks: PlayedHook[]): string[] =>
      idsOf(play(hooks).events.filter(event => event.event_type.startsWith('Action.')));
    expect(calls(ofOpenHook.flat())).toEqual(calls(ofHooks));
  });
});

describe('a session that OpenHook and its transcript report', () => {
  const sender = (house: House): ((type: string, seconds: number, data?: object) => void) => {
    const rows = rowsOf(house.session);
    house.write(
      house.main,
      rows.prompt(1, 'p1'),
      rows.assistant(3, 'a', rows.call('c1'), 40, 'tool_use'),
      rows.result(5, 'c1', 'p1'),
      rows.assistant(8, 'b', rows.text('done'), 7, 'end_turn'),
    );
    const same = { source: 'claude-code', session_id: house.session };
    return (type, seconds, data) => house.hook(seconds, '', envelope(type, seconds, data, same));
  };
  const end = (house: House): object => ({
    transcript_path: house.main,
    duration_ms: 20_000,
    input_tokens: 1,
    output_tokens: 1,
  });

  test('its end is sufficient: its tokens are those of the responses', () => {
    const house = openHouse();
    try {
      sender(house)('session.end', 20, end(house));
      house.round();
      house.round();
      expect(house.tree()).toMatchInlineSnapshot(`
        "session claude-code                 +0ms    20.0s
        +- invoke_agent claude-code       +1.00s    7.00s
           +- chat claude-sonnet-5        +1.00s    2.00s
           +- execute_tool Bash (make)    +3.00s    2.00s
           +- chat claude-sonnet-5        +5.00s    3.00s
        "
      `);
      expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 2 * 3_210, output: 47 });
      expect(house.spans().flatMap(span => (span.kind === 'session' ? [span.usage] : []))).toMatchObject([
        { calls: 2, input: 2 * 3_210, output: 47 },
      ]);
    } finally {
      house.close();
    }
  });

  test('a sum of a session without caches and models has no cost', () => {
    const house = openHouse();
    try {
      const end = { model: 'claude-opus-4-7', duration_ms: 9_000, input_tokens: 50_000, output_tokens: 1_200 };
      house.hook(9, '', envelope('session.end', 9, end, { source: 'claude-code', session_id: house.session }));
      house.round();
      house.round();
      const [session, ...others] = house.spans().flatMap(span => (span.kind === 'session' ? [span.usage] : []));
      expect(others).toEqual([]);
      expect(session).toMatchObject({ input: 50_000, output: 1_200, unpricedTokens: 51_200 });
      expect(session?.pricedUsd).toBeUndefined();
    } finally {
      house.close();
    }
  });

  test('events of both sources are recorded once, in one turn', () => {
    const house = openHouse();
    try {
      const send = sender(house);
      send('session.start', 0.5);
      send('prompt.submit', 1.1, { prompt_length: 6 });
      send('tool.start', 3.1, { tool_name: 'Bash', tool_call_id: 'c1' });
      send('tool.end', 5.1, { tool_name: 'Bash', tool_call_id: 'c1', status: 'success' });
      send('session.end', 20, end(house));
      house.round();
      house.round();
      expect(house.tree()).toMatchInlineSnapshot(`
        "session claude-code              +0ms    19.5s
        +- invoke_agent claude-code    +500ms    7.00s
           +- chat claude-sonnet-5     +500ms    2.00s
           +- execute_tool Bash        +2.60s    2.00s
           +- chat claude-sonnet-5     +4.50s    3.00s
        "
      `);
      expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 2 * 3_210, output: 47 });
    } finally {
      house.close();
    }
  });
});

// ---------------------------------------------------------------- Agent Hooks

const agentHook = (type: string, seconds: number, data: object | undefined, more: object = {}): object => {
  envelopes += 1;
  return {
    spec_version: '0.1.0',
    event_id: `7c2f0000-0000-4000-8000-${String(envelopes).padStart(12, '0')}`,
    event_type: type,
    timestamp: time(seconds),
    source: { tool: 'Acme Agent', version: '3.1' },
    session_id: 'run-2',
    actor: { type: 'ai_agent', name: 'someone' },
    data,
    ...more,
  };
};

const sampleStream = (): object[] =>
  readFileSync(join(import.meta.dirname, '../standards/agent-hooks/every-type.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as object);

describe('Agent Hooks', () => {
  test('every type keeps its type, id and time, as object, list and stream', () => {
    const stream = sampleStream() as { event_id: string; event_type: string; timestamp: string }[];
    const one = play(stream.map((event, i) => at(i, event)));
    const list = play([at(0, stream)]);
    const lines = play([at(0, stream.map(event => JSON.stringify(event)).join('\n'))]);
    expect(new Set(typesOf(one.events))).toEqual(new Set(stream.map(event => event.event_type)));
    for (const { events, fates } of [one, list, lines]) {
      const standardOnes = events.filter(event => !event.event_type.startsWith('vendor.otel-hooks.'));
      expect(new Set(fates)).toEqual(new Set(['journaled']));
      expect(idsOf(standardOnes)).toEqual(stream.map(event => event.event_id.toLowerCase()).sort());
      for (const event of standardOnes) {
        const source = stream.find(each => each.event_id.toLowerCase() === event.event_id);
        expect(Date.parse(event.timestamp)).toBe(Date.parse(source?.timestamp ?? ''));
      }
    }
  });

  test('newer versions, unknown types and unknown fields are read as far as possible, without their content', () => {
    const later = { spec_version: '1.2.0', new_field: { text: 'canary' } };
    const { events, fates } = play([
      at(1, { ...agentHook('Session.Start', 1, { start_reason: 'new', new_word: 'canary' }), ...later }),
      at(2, agentHook('Model.Streamed', 2, { chunks: 3, text: 'canary' })),
      at(3, agentHook('vendor.acme.Thing', 3, { chunks: 3, text: 'canary' })),
      at(4, { ...agentHook('Session.End', 4, {}), ...later }),
    ]);
    expect(new Set(fates)).toEqual(new Set(['journaled']));
    expect(typesOf(events)).toEqual([
      'Session.Start',
      'vendor.agent-hooks.Model.Streamed',
      'vendor.acme.Thing',
      'Session.End',
    ]);
    expect(events[1]?.data).toMatchObject({ chunks: 3 });
    expect(JSON.stringify(events)).not.toContain('canary');
  });

  test('events of one request are recorded in the order of time, in every arrangement', () => {
    const action = { action: { name: 'shell', input: { command: 'ls' } } };
    const stream = [
      agentHook('Session.Start', 1, {}),
      agentHook('Prompt.Submitted', 2, {}),
      agentHook('Action.Before', 3, action),
      agentHook('Action.After', 4, { action: { ...action.action, result: { success: true } } }),
      agentHook('Agent.Response', 5, { final: true }),
      agentHook('Session.End', 6, {}),
    ];
    const reversed = stream.toReversed();
    const tree = treeOf(play([at(9, stream)]).spans);
    expect(treeOf(play([at(9, reversed)]).spans)).toBe(tree);
    expect(treeOf(play([at(9, reversed.map(event => JSON.stringify(event)).join('\n'))]).spans)).toBe(tree);
  });

  test('a journal that is read again adds nothing, and alone gives the same tree', () => {
    const hooks = [
      at(0, native({ hook_event_name: 'SessionStart', source: 'startup' })),
      at(1, native({ hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'x' })),
      at(
        2,
        native({
          hook_event_name: 'PreToolUse',
          prompt_id: 'p1',
          tool_name: 'Agent',
          tool_use_id: 't1',
          tool_input: { subagent_type: 'Explore' },
        }),
      ),
      at(3, native({ hook_event_name: 'SubagentStart', agent_id: 'a1', agent_type: 'Explore' })),
      at(
        4,
        native({
          hook_event_name: 'PreToolUse',
          agent_id: 'a1',
          agent_type: 'Explore',
          tool_name: 'Read',
          tool_use_id: 't2',
          tool_input: {},
        }),
      ),
      at(
        5,
        native({
          hook_event_name: 'PostToolUse',
          agent_id: 'a1',
          agent_type: 'Explore',
          tool_name: 'Read',
          tool_use_id: 't2',
          tool_input: {},
          duration_ms: 700,
        }),
      ),
      at(6, native({ hook_event_name: 'SubagentStop', agent_id: 'a1', agent_type: 'Explore' })),
      at(
        7,
        native({
          hook_event_name: 'PostToolUse',
          prompt_id: 'p1',
          tool_name: 'Agent',
          tool_use_id: 't1',
          tool_input: { subagent_type: 'Explore' },
          tool_response: { agentId: 'a1' },
        }),
      ),
      at(8, native({ hook_event_name: 'Notification', notification_type: 'idle_prompt', message: 'waiting' })),
      at(8, native({ hook_event_name: 'Notification', notification_type: 'idle_prompt', message: 'waiting' }), {
        ppid: '2',
      }),
      at(9, native({ hook_event_name: 'Stop', prompt_id: 'p1' })),
      at(10, native({ hook_event_name: 'SessionEnd', reason: 'other' })),
    ];
    const first = play(hooks);
    const journal = first.events.map(event => JSON.stringify(event)).join('\n');
    const both = play([...hooks, at(11, journal)]);
    expect(typesOf(both.events)).toEqual(typesOf(first.events));
    expect(both.fates.at(-1)).toBe('duplicate');
    const again = play([at(11, journal)]);
    expect(idsOf(again.events)).toEqual(idsOf(first.events));
    expect(treeOf(again.spans)).toBe(treeOf(first.spans));
  });

  test('actions of a source without ids are paired', () => {
    const shell = (command: string, result?: object) => ({ action: { name: 'shell', input: { command }, ...result } });
    const { spans, events } = play([
      at(0, agentHook('Prompt.Submitted', 0, { prompt: 'a secret wish' })),
      at(1, agentHook('Action.Before', 1, shell('make a'))),
      at(2, agentHook('Action.Before', 2, shell('make b'))),
      at(
        3,
        agentHook('Action.After', 3, shell('make b', { result: { success: true, exit_code: 0, output: 'secret' } })),
      ),
      at(5, agentHook('Action.After', 5, shell('make a', { result: { success: false, error_message: 'secret' } }))),
    ]);
    expect(spans.map(span => span.kind === 'action' && [span.outcome, span.endMs - span.startMs])).toEqual([
      ['success', 1_000],
      ['failure', 4_000],
    ]);
    expect(events[0]).toMatchObject({ source: { tool: 'acme-agent' }, session_id: 'run-2' });
  });

  test('fields that break the schema are dropped, and the rest stays', () => {
    const { events } = play([
      at(
        0,
        agentHook('Session.End', 0, {
          end_reason: 'bored',
          usage: { total_tokens: 7, duration_ms: 'long' },
          note: 'x',
        }),
      ),
      at(
        1,
        agentHook('Action.After', 1, {
          action: { name: 'shell', result: { success: true, exit_code: '3' } },
          decision: {},
        }),
      ),
      at(2, agentHook('Action.Before', 2, undefined)),
    ]);
    expect(events.map(event => JSON.parse(JSON.stringify(event.data)) as unknown)).toEqual([
      { usage: { total_tokens: 7 } },
      { action: { name: 'shell', result: { success: true } } },
      { action: {} },
    ]);
    const journal = events.map(event => JSON.stringify(event)).join('\n');
    expect(validateAgentHooks(journal, 'journal.jsonl').errors).toBe(0);
  });

  test('a subagent has a parent, risk stays, a plain hash of a prompt does not', () => {
    const { events } = play([
      at(
        0,
        agentHook(
          'Prompt.Submitted',
          0,
          { prompt_hash: 'sha256:d4e5f6aa', prompt_length: 3 },
          { risk: { score: 80, level: 'high', factors: ['RETRY_LOOP', 'with a long story'] } },
        ),
      ),
      at(1, agentHook('Session.Start', 1, { start_reason: 'new' }, { session_id: 'kid', parent_session_id: 'run-2' })),
    ]);
    expect(events[0]?.risk).toEqual({ score: 80, level: 'high', factors: ['RETRY_LOOP'] });
    expect(events[0]?.data).toMatchObject({ prompt_length: 3, prompt_hash: expect.stringMatching(/^hmac-sha256:/) });
    expect(events[1]).toMatchObject({ session_id: 'kid', parent_session_id: 'run-2' });
  });

  test('events of other sources cannot settle or amend spans', () => {
    const { events, fates } = play([at(0, agentHook('vendor.otel-hooks.Settled', 0, { of: 'turn:x' }))]);
    expect(events).toEqual([]);
    expect(fates).toEqual(['journaled']);
  });

  test('text of a foreign event is kept only if it is a name', () => {
    const canary = 'canary sk9xQ says a sentence';
    const plant = (value: unknown): unknown =>
      typeof value === 'string'
        ? canary
        : Array.isArray(value)
          ? value.map(plant)
          : value && typeof value === 'object'
            ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plant(item)]))
            : value;
    // Names stay unchanged: names of types, tools, models and kinds.
    const names = /^(name|model_id|error_type|action_name|policy_name|rule|type|origin_event|strategy)$/;
    const keepNames = (data: unknown, planted: unknown): unknown => {
      if (typeof data !== 'object' || data === null || Array.isArray(data)) return planted;
      return Object.fromEntries(
        Object.entries(data).map(([key, item]) => [
          key,
          names.test(key) && typeof item === 'string'
            ? item
            : keepNames(item, (planted as Record<string, unknown>)[key]),
        ]),
      );
    };
    for (const event of sampleStream() as { data?: object }[]) {
      const { events } = play([
        at(0, {
          ...event,
          data: keepNames(event.data ?? {}, plant(event.data ?? {})),
          user: { id: canary },
          metadata: { 'com.x': { note: canary } },
        }),
      ]);
      expect(JSON.stringify(events)).not.toContain('sk9xQ');
    }
  });
});

// ---------------------------------------------------------------- Base Coat

const coat = (hook: string, seconds: number, more: object = {}): PlayedHook =>
  at(seconds, {
    hook,
    timestamp: time(seconds),
    sessionId: 'bc-1',
    agent: 'reviewer',
    repository: 'acme/shop',
    branch: 'main',
    ...more,
  });

describe('Base Coat', () => {
  test('all eleven hook points make one tree', () => {
    const budget = { usedTokens: 78_124, effectiveLimit: 160_000 };
    const { spans, events, states } = play([
      coat('SessionStart', 0),
      coat('UserPromptSubmitted', 1),
      coat('PreToolUse', 2, { tool: { name: 'powershell' } }),
      coat('PostToolUse', 9, { tool: { name: 'powershell', success: true, durationMs: 6422 }, budget }),
      coat('SubagentStart', 10, { agent: 'reader' }),
      coat('SubagentStop', 14, { agent: 'reader' }),
      coat('PreToolUse', 15, { tool: { name: 'bash' } }),
      coat('OnError', 16, { tool: { name: 'bash', success: false } }),
      coat('PostToolUse', 16, { tool: { name: 'bash', success: false, durationMs: 800 } }),
      coat('OnError', 17),
      coat('OnBudgetExceeded', 18, { budget: { usedTokens: 131_000, effectiveLimit: 160_000 } }),
      coat('PreCompact', 19, { budget: { usedTokens: 131_000, effectiveLimit: 160_000 } }),
      coat('PostCompact', 20, { budget }),
      coat('SessionEnd', 21),
    ]);
    expect([...states.values()].map(state => state.agent)).toEqual(['base-coat']);
    expect(treeOf(spans)).toMatchInlineSnapshot(`
      "session base-coat                  +0ms    21.0s  completed, budget exceeded
      +- invoke_agent reviewer         +1.00s    20.0s  ERROR _OTHER
         +- execute_tool powershell    +2.58s    6.42s
         +- invoke_agent reader        +10.0s    4.00s
         +- execute_tool bash          +15.0s    1.00s  ERROR tool_error
      "
    `);
    expect(typesOf(events)).toMatchInlineSnapshot(`
      [
        "Session.Start",
        "Prompt.Submitted",
        "Action.Before",
        "Action.After",
        "Session.Start",
        "Session.End",
        "Action.Before",
        "Action.After",
        "Agent.Error",
        "Context.UntilCompaction",
        "Policy.Violation",
        "Context.Compaction",
        "Context.Compaction",
        "Session.End",
      ]
    `);
  });

  test('with a flag it is the session of that agent', () => {
    const [started] = play([{ ...coat('SessionStart', 0), header: { tool: 'copilot' } }]).events;
    expect(started?.source.tool).toBe('copilot');
  });

  test('names of platforms are understood, and the end of a turn does not end the session', () => {
    const { events } = play([
      coat('UserPromptSubmit', 0),
      coat('preToolUse', 1, { tool: { name: 'bash' } }),
      coat('postToolUse', 2, { tool: { name: 'bash', success: true } }),
      coat('errorOccurred', 3),
      coat('Stop', 4),
    ]);
    expect(typesOf(events)).toEqual([
      'Prompt.Submitted',
      'Action.Before',
      'Action.After',
      'Agent.Error',
      'Agent.Response',
    ]);
  });

  test('every name of a hook point leads back to it, and a platform has no name for a missing point', () => {
    for (const point of hookPoints) {
      expect(hookPointOf(point)).toBe(point);
      for (const platform of ['hooksFile', 'settingsFile'] as const) {
        const name = platformName(point, platform);
        if (name !== undefined) expect(hookPointOf(name), `${platform} ${name}`).toBe(point);
      }
    }
    expect(
      hookPoints.map(point => [point, platformName(point, 'hooksFile'), platformName(point, 'settingsFile')]),
    ).toEqual([
      ['SessionStart', 'SessionStart', 'SessionStart'],
      ['SessionEnd', 'Stop', 'SessionEnd'],
      ['UserPromptSubmitted', 'UserPromptSubmit', 'UserPromptSubmit'],
      ['PreToolUse', 'preToolUse', 'PreToolUse'],
      ['PostToolUse', 'postToolUse', 'PostToolUse'],
      ['SubagentStart', 'SubagentStart', 'SubagentStart'],
      ['SubagentStop', 'SubagentStop', 'SubagentStop'],
      ['PreCompact', 'PreCompact', 'PreCompact'],
      ['PostCompact', undefined, 'PostCompact'],
      ['OnError', 'errorOccurred', 'PostToolUseFailure'],
      ['OnBudgetExceeded', undefined, undefined],
    ]);
    expect(['Stop', 'agentStop', 'SessionEnd'].map(endsTurn)).toEqual([true, true, false]);
  });

  test('the end of a subagent without a known start does not end the session', () => {
    const { events } = play([coat('UserPromptSubmitted', 0), coat('SubagentStop', 1)]);
    expect(typesOf(events)).toEqual(['Prompt.Submitted', 'vendor.base-coat.SubagentStop']);
  });
});

// ---------------------------------------------------------------- CloudEvents

const cloud = (data: unknown, more: object = {}): object => ({
  specversion: '1.0',
  id: 'A-1',
  source: '/acme/bridge',
  type: 'dev.acme.hook',
  time: time(3),
  datacontenttype: 'application/json',
  data,
  ...more,
});

describe('CloudEvents', () => {
  const inside = [
    ['an OpenHook envelope', () => envelope('session.start', 1), 'Session.Start'],
    ['an Agent Hooks event', () => agentHook('Session.Start', 1, { start_reason: 'new' }), 'Session.Start'],
    ['a Base Coat envelope', () => coat('SessionStart', 1).payload, 'Session.Start'],
    ["an agent's own payload", () => native({ hook_event_name: 'SessionStart', source: 'startup' }), 'Session.Start'],
  ] as const;

  test.each(inside)('around %s it is opened: as an object, as a text, in base64', (_, make, type) => {
    const value = make();
    for (const wrapped of [
      cloud(value),
      cloud(JSON.stringify(value)),
      cloud(undefined, { data_base64: Buffer.from(JSON.stringify(value)).toString('base64') }),
    ]) {
      const { events, fates } = play([at(9, wrapped)]);
      expect(fates).toEqual(['journaled']);
      expect(typesOf(events)).toEqual([type]);
    }
  });

  test('its id identifies a repetition if the inner event has no id, and its time counts', () => {
    const start = native({ hook_event_name: 'Notification', notification_type: 'idle_prompt', message: 'x' });
    const { fates, events } = play([at(9, cloud(start)), at(19, cloud(start)), at(29, cloud(start, { id: 'A-2' }))]);
    expect(fates).toEqual(['journaled', 'duplicate', 'journaled']);
    expect(events[0]?.timestamp).toBe(time(3));
  });

  test('a batch is a list of them, and a stream of events may be inside', () => {
    const batch = [cloud(envelope('session.start', 1)), cloud(envelope('prompt.submit', 2), { id: 'A-2' })];
    expect(typesOf(play([at(9, batch)]).events)).toEqual(['Session.Start', 'Prompt.Submitted']);
    const stream = [agentHook('Session.Start', 1, {}), agentHook('Prompt.Submitted', 2, {})]
      .map(event => JSON.stringify(event))
      .join('\n');
    expect(typesOf(play([at(9, cloud(stream))]).events)).toEqual(['Session.Start', 'Prompt.Submitted']);
  });

  test.each([
    ['nothing inside', cloud(undefined), 'invalid-event'],
    ['no id', cloud({}, { id: '' }), 'invalid-event'],
    ['another envelope inside', cloud(cloud(envelope('session.start', 1))), 'unknown-agent'],
    ['something else inside', cloud({ hello: 1 }), 'unknown-agent'],
  ])('with %s it is set aside', (_, payload, reason) => {
    expect(play([at(1, payload)]).fates).toEqual([reason]);
  });
});

// ---------------------------------------------------------------- lists with bad items

describe('a list', () => {
  const good = () => envelope('prompt.submit', 1, { prompt_length: 3 });

  test('a bad item affects only itself, and is set aside with its reason', () => {
    const torn = JSON.stringify(good()).slice(0, -9);
    const lines = [JSON.stringify(good()), torn, '[1]', JSON.stringify(good()), JSON.stringify(native({}))];
    const { fates, events, bad } = play([at(1, lines.join('\n'))]);
    expect(fates).toEqual(['journaled']);
    expect(events).toHaveLength(2);
    expect(bad.map(each => each.reason)).toEqual(['not-json', 'not-an-object', 'unknown-agent']);
    expect(bad[0]?.text).toBe(torn);
  });

  test('an item that is nested too deeply affects only itself', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const list = play([at(1, `[${JSON.stringify(good())},${deep},{"openhook":"0.1","data":${deep}}]`)]);
    expect(list.fates).toEqual(['journaled']);
    expect(list.bad.map(each => each.reason)).toEqual(['not-an-object', 'invalid-event']);
    expect(play([at(1, `[${deep},${deep}]`)]).fates).toEqual(['not-an-object']);
    const event = JSON.stringify(agentHook('Action.Before', 1, { action: { name: 'shell', input: { x: 0 } } }));
    expect(play([at(1, event.replace('"x":0', `"x":${deep}`))]).fates).toEqual(['invalid-event']);
  });

  test('items of several sessions go to their own session', () => {
    const { states } = play([at(1, [good(), envelope('prompt.submit', 2, {}, { session_id: 'run-9' })])]);
    expect([...states.values()].map(state => state.session).sort()).toEqual(['run-1', 'run-9']);
  });

  test.each([
    ['without any event', '[{"hello":1},{"hello":2}]', 'not-an-object'],
    ['that is empty', '[]', 'empty'],
    ['of bad events only', JSON.stringify([{ openhook: 1 }, { openhook: 2 }]), 'invalid-event'],
    ['of more events than a round can hold', `[${'{"openhook":"0.1"},'.repeat(10_000)}{}]`, 'too-many-events'],
    [
      'of sessions that are none',
      JSON.stringify([envelope('session.start', 1, {}, { session_id: 'a\u0000b' })]),
      'bad-session-id',
    ],
  ])('%s is set aside whole', (_, payload, reason) => {
    expect(play([at(1, payload)]).fates).toEqual([reason]);
  });

  test('lines that are not events are not a list', () => {
    expect(play([at(1, 'command not found\nsecond line\n')]).fates).toEqual(['not-json']);
  });
});

test('with any change in them, no function throws, and journaled events are valid', () => {
  const seeds = [
    ...sampleStream(),
    envelope('session.end', 1, { duration_ms: 5, input_tokens: 1 }),
    envelope('tool.end', 1, { tool_name: 'x', status: 'error' }),
    coat('PostToolUse', 1, { tool: { name: 'x', success: false }, budget: { usedTokens: 1, effectiveLimit: 2 } })
      .payload,
    cloud(envelope('session.start', 1)),
  ].map(seed => JSON.stringify(seed));
  const values = ['null', '""', '-1', '1e308', '[]', '{}', 'true', '"\\u0000"', '"x"', '{"__proto__":1}'];
  fc.assert(
    fc.property(
      fc.constantFrom(...seeds),
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(...values)), { minLength: 1, maxLength: 4 }),
      (seed, changes) => {
        let text = seed;
        for (const [at_, value] of changes) {
          const places = [...text.matchAll(/(?<=":)(?:"[^"]*"|-?\d+(?:\.\d+)?|true|false|null)/g)];
          const place = places[at_ % Math.max(1, places.length)];
          if (place) text = text.slice(0, place.index) + value + text.slice(place.index + place[0].length);
        }
        const { events } = play([at(1, text)]);
        const journal = events.map(event => JSON.stringify(event)).join('\n');
        if (journal !== '') expect(validateAgentHooks(journal, 'journal.jsonl').errors).toBe(0);
      },
    ),
    { numRuns: 400 },
  );
});

test('the stream of samples holds all types', () => {
  const types = new Set((sampleStream() as { event_type: string }[]).map(event => event.event_type));
  expect(eventTypes.filter(type => !types.has(type))).toEqual([]);
});
