/** Cline's transcripts: samples, damaged ones, and the recorded one if it is beside the repository. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cline } from '../../../src/agents/cline/cline.ts';
import { transcript } from '../../../src/agents/cline/transcript.ts';
import { dueSessions } from '../../../src/pipeline/due-sessions.ts';
import { findSessions } from '../../../src/pipeline/find-transcripts.ts';
import { diskEyes } from '../../../src/transcripts/eyes.ts';
import { patient } from '../../../src/transcripts/settlement.ts';
import { play, START_MS } from '../../play.ts';
import { overShared, sharedPath } from '../../shared.ts';
import { type House, openHouse } from '../../transcripts/house.ts';
import { DAMAGED_COPIES, mutated } from '../mutated.ts';
import { documentOf, lineOf, readDocument, total } from '../read-transcript.ts';

const at = (seconds: number): number => Date.UTC(2026, 10, 2, 9, 0, seconds);
const used = (
  inputTokens: number,
  outputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  cost: number,
) => ({
  modelInfo: { id: 'claude-sonnet-4.5', provider: 'anthropic' },
  metrics: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost },
});

const session = {
  version: 1,
  agent: 'lead',
  sessionId: '1793609990000_k2x9q',
  messages: [
    { id: 'm1', role: 'user', content: [{ type: 'text', text: 'Prune the tree' }], ts: at(0) },
    {
      id: 'm2',
      role: 'assistant',
      content: [
        { type: 'text', text: 'First the tests.' },
        { type: 'tool_use', id: 'toolu_c1', name: 'run_commands', input: { commands: ['cargo test'] } },
        { type: 'tool_use', id: 'toolu_c2', name: 'read_files', input: { paths: ['src/tree.rs'] } },
      ],
      ts: at(3),
      ...used(4_912, 80, 4_000, 900, 0.0042),
    },
    {
      id: 'm3',
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_c1', content: '14 passed' },
        { type: 'tool_result', tool_use_id: 'toolu_c2', content: 'no such file', is_error: true },
      ],
      ts: at(6),
    },
    {
      id: 'm4',
      role: 'assistant',
      content: [{ type: 'text', text: 'Pruned.' }],
      ts: at(9),
      ...used(4_905, 20, 4_900, 0, 0.001),
    },
  ],
};

test('the CLI states failed commands, refused calls, failed requests and its own end', () => {
  const asks = { id: 'm2', role: 'assistant', ts: at(3), ...used(10, 2, 0, 0, 0) };
  const use = (id: string) => ({ type: 'tool_use', id, name: 'run_commands', input: { commands: ['exit 3'] } });
  const refusal = JSON.stringify({ error: 'Tool "run_commands" requires approval in a TTY session -- NOT a failure.' });
  const missed = JSON.stringify({ query: 'edit:/a', result: '', error: 'text not found', success: false });
  const messages = [
    { id: 'm1', role: 'user', content: [{ type: 'text', text: 'go' }], ts: at(0) },
    { ...asks, content: [use('c1'), use('c2'), { ...use('c3'), name: 'editor', input: { path: '/a' } }] },
    {
      id: 'm3',
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'c1',
          content: [{ success: false, error: 'Command exited with code 3' }],
        },
        { type: 'tool_result', tool_use_id: 'c2', content: refusal, is_error: true },
        { type: 'tool_result', tool_use_id: 'c3', content: missed },
      ],
      ts: at(4),
    },
    {
      id: 'e1',
      role: 'assistant',
      content: [{ type: 'text', text: 'scripted' }],
      ts: at(5),
      metadata: { displayRole: 'error' },
    },
  ];
  const card = Buffer.from(JSON.stringify({ status: 'failed', ended_at: new Date(at(6)).toISOString() }));
  const bytes = Buffer.from(JSON.stringify({ agent: 'lead', sessionId: 's', messages }));
  const { readings } = readDocument(transcript, bytes, 's', { path: '/s/s.messages.json', companions: [card] });
  expect(
    readings.flatMap(({ event_type, data, facts, atMs }) =>
      event_type === 'Prompt.Submitted' || event_type === 'Action.Before'
        ? []
        : [[event_type, facts?.error_type, facts?.decision?.source, facts?.started_ms, atMs, data]],
    ),
  ).toMatchInlineSnapshot(`
    [
      [
        "Model.Responded",
        undefined,
        undefined,
        1793610000000,
        1793610003000,
        {
          "input_tokens": 10,
          "model_id": "claude-sonnet-4.5",
          "output_tokens": 2,
        },
      ],
      [
        "Action.After",
        "exit_code",
        undefined,
        undefined,
        1793610004000,
        {
          "action": {
            "name": "shell",
            "result": {
              "exit_code": 3,
              "success": false,
            },
          },
          "decision": undefined,
        },
      ],
      [
        "Action.After",
        undefined,
        "mode",
        undefined,
        1793610004000,
        {
          "action": {
            "name": "shell",
            "result": undefined,
          },
          "decision": {
            "outcome": "deny",
          },
        },
      ],
      [
        "Action.After",
        "tool_error",
        undefined,
        undefined,
        1793610004000,
        {
          "action": {
            "name": "code_edit",
            "result": {
              "exit_code": undefined,
              "success": false,
            },
          },
          "decision": undefined,
        },
      ],
      [
        "Model.Failed",
        "model_error",
        undefined,
        1793610004000,
        1793610005000,
        {
          "error_message": "scripted",
          "error_type": "model_error",
          "model_id": undefined,
        },
      ],
      [
        "Agent.Error",
        "model_error",
        undefined,
        undefined,
        1793610005000,
        {
          "error_message": "scripted",
          "error_type": "ModelError",
          "origin_event": "Model.Failed",
        },
      ],
      [
        "Session.End",
        undefined,
        undefined,
        undefined,
        1793610006000,
        {
          "end_reason": "error",
        },
      ],
    ]
  `);
});

const row = (seconds: number, say: string, text: string): object => ({ ts: at(seconds), type: 'say', say, text });
const task = [
  row(0, 'text', 'Prune the tree'),
  row(
    1,
    'api_req_started',
    JSON.stringify({ request: 'secret', tokensIn: 100, tokensOut: 20, cacheWrites: 7, cacheReads: 50, cost: 0.002 }),
  ),
  row(5, 'api_req_started', JSON.stringify({ request: 'secret', tokensIn: 10, tokensOut: 4, cost: 0.0001 })),
  row(7, 'api_req_started', JSON.stringify({ request: 'not answered yet' })),
  row(8, 'completion_result', 'Pruned.'),
];
const metadata = {
  model_usage: [
    { ts: at(4), model_id: 'claude-haiku-4.5', model_provider_id: 'anthropic', mode: 'act' },
    { ts: at(0), model_id: 'claude-sonnet-4.5', model_provider_id: 'anthropic', mode: 'plan' },
  ],
};

const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

test('a session of the SDK has prompts, responses with tokens, and calls with results', () => {
  expect(readDocument(transcript, bytes(session), 's').readings.map(lineOf)).toMatchInlineSnapshot(`
    [
      "Prompt.Submitted [m1, unless hooked, 09:00:00.000] {"prompt":"Prune the tree"} {}",
      "Model.Responded [m2, 09:00:03.000] {"model_id":"claude-sonnet-4.5","input_tokens":4912,"output_tokens":80} {"provider":"anthropic","started_ms":1793610000000,"usage":{"cache_read_tokens":4000,"cache_write_tokens":900},"cost_usd":0.0042}",
      "Action.Before [toolu_c1, 09:00:03.000] {"action":{"name":"shell","input":{"commands":["cargo test"],"command":"cargo test"}}} {"call":"toolu_c1","tool":"run_commands"}",
      "Action.Before [toolu_c2, 09:00:03.000] {"action":{"name":"read_file","input":{"paths":["src/tree.rs"]}}} {"call":"toolu_c2","tool":"read_files"}",
      "Action.After [toolu_c1, 09:00:06.000] {"action":{"name":"shell","result":{"success":true}}} {"call":"toolu_c1","tool":"run_commands"}",
      "Action.After [toolu_c2, 09:00:06.000] {"action":{"name":"read_file","result":{"success":false}}} {"call":"toolu_c2","tool":"read_files","error_type":"tool_error"}",
      "Model.Responded [m4, 09:00:09.000] {"model_id":"claude-sonnet-4.5","input_tokens":4905,"output_tokens":20} {"provider":"anthropic","started_ms":1793610006000,"usage":{"cache_read_tokens":4900,"cache_write_tokens":0},"cost_usd":0.001}",
      "Agent.Response [m4, unless hooked, 09:00:09.000] {"response":"Pruned.","final":true} {}",
    ]
  `);
});

test('the first versions counted without the caches: one count below its cached tokens proves it for all', () => {
  const messages = session.messages.map(message =>
    message.id === 'm2'
      ? { ...message, ...used(1_000, 80, 0, 900, 0.0042) }
      : message.id === 'm4'
        ? { ...message, ...used(5, 20, 1_900, 0, 0.001) }
        : message,
  );
  const { readings } = readDocument(transcript, bytes({ ...session, messages }), 's');
  expect(total(readings)).toMatchObject({ responses: 2, input: 1_900 + 1_905, cacheRead: 1_900, cacheWrite: 900 });
});

// ---------------------------------------------------------------- subagents of the SDK

/**
 * Two subagents that one response launches: one writes its file beside the session, the other into a folder of its own.
 */
const launching = {
  ...session,
  messages: [
    session.messages[0],
    {
      id: 'm2',
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'toolu_s1', name: 'spawn_agent', input: { task: 'read the notes' } },
        { type: 'tool_use', id: 'toolu_s2', name: 'spawn_agent', input: { task: 'count the leaves' } },
      ],
      ts: at(3),
      ...used(500, 40, 300, 0, 0.001),
    },
    {
      id: 'm3',
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_s1', content: 'read' },
        { type: 'tool_result', tool_use_id: 'toolu_s2', content: '12' },
      ],
      ts: at(20),
    },
    {
      id: 'm4',
      role: 'assistant',
      content: [{ type: 'text', text: 'Done.' }],
      ts: at(22),
      ...used(600, 5, 500, 0, 0.001),
    },
  ],
};
const child = (first: number, input: number) => ({
  version: 1,
  agent: 'subagent',
  sessionId: session.sessionId,
  taskType: 'subagent_task',
  messages: [
    { id: 'c1', role: 'user', content: 'go', ts: at(first) },
    {
      id: 'c2',
      role: 'assistant',
      content: [{ type: 'tool_use', id: `toolu_in_${first}`, name: 'github__list_issues', input: {} }],
      ts: at(first + 2),
      ...used(input, 7, 100, 0, 0.0001),
    },
    {
      id: 'c3',
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `toolu_in_${first}`, content: 'none' }],
      ts: at(first + 4),
    },
    {
      id: 'c4',
      role: 'assistant',
      content: [{ type: 'text', text: 'none' }],
      ts: at(first + 8),
      modelInfo: { id: 'claude-haiku-4.5', provider: 'anthropic' },
      metrics: {
        inputTokens: input,
        outputTokens: 3,
        cacheReadTokens: 100,
        cacheWriteTokens: 0,
        reasoningTokenCount: 2,
      },
    },
  ],
});

test('subagents of the SDK are below the calls that launched them, with their tokens', () => {
  const id = session.sessionId;
  const house = openHouse('cline', id);
  const sessions = join(house.home, '.cline/data/sessions');
  try {
    house.write(join(sessions, id, `${id}.messages.json`), JSON.stringify(launching));
    house.write(join(sessions, id, 'agent_reader.messages.json'), JSON.stringify(child(4, 200)));
    house.write(join(sessions, `${id}__agent_x`, `${id}__agent_x.messages.json`), JSON.stringify(child(5, 400)));
    house.import({ nowMs: at(0) + 10 * 3_600_000 });
    expect(house.tree()).toMatchInlineSnapshot(`
      "session cline                             +0ms    22.0s  idle_timeout
      +- invoke_agent cline                     +0ms    22.0s
         +- chat claude-sonnet-4.5              +0ms    3.00s
         +- execute_tool spawn_agent          +3.00s    17.0s
            +- invoke_agent                   +4.00s    8.00s
               +- chat claude-sonnet-4.5      +4.00s    2.00s
               +- execute_tool list_issues    +6.00s    2.00s
               +- chat claude-haiku-4.5       +8.00s    4.00s
         +- execute_tool spawn_agent          +3.00s    17.0s
            +- invoke_agent                   +5.00s    8.00s
               +- chat claude-sonnet-4.5      +5.00s    2.00s
               +- execute_tool list_issues    +7.00s    2.00s
               +- chat claude-haiku-4.5       +9.00s    4.00s
         +- chat claude-sonnet-4.5            +20.0s    2.00s
      "
    `);
    expect(house.spans().flatMap(span => (span.kind === 'session' ? [span.usage] : []))).toMatchObject([
      { calls: 6, input: 500 + 600 + 2 * 200 + 2 * 400, output: 45 + 20, cacheRead: 1_200, reasoning: 4 },
    ]);
    const before = house.events().length;
    house.import({ nowMs: at(0) + 10 * 3_600_000 });
    expect(house.events().length).toBe(before);
  } finally {
    house.close();
  }
});

test('a task of the extension has the tokens of each request, with the model of that time', () => {
  const { entries, readings } = readDocument(transcript, bytes(task), 's', { companions: [bytes(metadata)] });
  expect(readings.map(lineOf)).toMatchInlineSnapshot(`
    [
      "Model.Responded [request-1793610001000, 09:00:01.000] {"model_id":"claude-sonnet-4.5","input_tokens":157,"output_tokens":20} {"provider":"anthropic","usage":{"cache_read_tokens":50,"cache_write_tokens":7},"cost_usd":0.002}",
      "Model.Responded [request-1793610005000, 09:00:05.000] {"model_id":"claude-haiku-4.5","input_tokens":10,"output_tokens":4} {"provider":"anthropic","cost_usd":0.0001}",
    ]
  `);
  expect(entries.filter(each => 'over' in each)).toEqual([{ over: 'turn', atMs: at(8) }]);
  expect(total(readings)).toEqual({ responses: 2, input: 167, output: 24, cacheRead: 50, cacheWrite: 7, reasoning: 0 });
});

test('tokens of subagents of the extension are a sum, and tokens of removed requests count', () => {
  const rows = [
    ...task,
    row(
      9,
      'deleted_api_reqs',
      JSON.stringify({ tokensIn: 30, tokensOut: 3, cacheWrites: 1, cacheReads: 2, cost: 0.01 }),
    ),
    row(
      10,
      'subagent_usage',
      JSON.stringify({ source: 'subagents', tokensIn: 40, tokensOut: 5, cacheWrites: 0, cacheReads: 0 }),
    ),
    { ts: 77, type: 'say', say: 'api_req_started', text: JSON.stringify({ tokensIn: 8, tokensOut: 1 }) },
  ];
  const { readings } = readDocument(transcript, bytes(rows), 's', { companions: [bytes(metadata)] });
  expect(readings.slice(2).map(lineOf)).toMatchInlineSnapshot(`
    [
      "Model.Responded [deleted-1793610009000, unless hooked, 09:00:09.000] {"input_tokens":33,"output_tokens":3} {"usage":{"cache_read_tokens":2,"cache_write_tokens":1},"cost_usd":0.01,"sum":"turn"}",
      "Model.Responded [subagents-1793610010000, 09:00:10.000] {"input_tokens":40,"output_tokens":5} {"usage":{"cache_read_tokens":0,"cache_write_tokens":0},"sum":"turn"}",
      "Model.Responded [request-77] {"model_id":"claude-haiku-4.5","input_tokens":8,"output_tokens":1} {"provider":"anthropic"}",
    ]
  `);
});

test('an unknown class of tokens is absent', () => {
  const [, second] = readDocument(transcript, bytes(task), 's').readings;
  expect(second?.facts?.usage).toBeUndefined();
  expect(second?.data).toEqual({ model_id: undefined, input_tokens: 10, output_tokens: 4 });
});

test('hook and file give a call the same id', () => {
  const payload = {
    clineVersion: '3.0.52',
    hookName: 'tool_call',
    taskId: 's',
    tool_call: { id: 'toolu_c1', name: 'run_commands', input: {} },
  };
  const [hook] = play([{ atMs: START_MS, payload }]).events;
  const call = readDocument(transcript, bytes(session), 's').readings.find(each => each.event_type === 'Action.Before');
  expect(hook?.metadata?.['dev.otel-hooks']?.call).toBe(call?.key);
});

test('damaged copies are read without a throw, and no count is negative', () => {
  let before = 0;
  for (const source of [JSON.stringify(session, null, 1), JSON.stringify(task, null, 1)]) {
    for (const text of mutated(source, DAMAGED_COPIES / 2)) {
      const { readings } = readDocument(transcript, Buffer.from(text), 's', { companions: [bytes(metadata)] });
      before += readings.length;
      for (const { data } of readings) {
        if ('input_tokens' in data && typeof data.input_tokens === 'number' && data.input_tokens < 0) expect.fail(text);
      }
    }
  }
  expect(before).toBeGreaterThan(DAMAGED_COPIES / 2);
}, 600_000);

test('with hooks, responses are in their turn with their tokens, and calls count once', () => {
  const id = session.sessionId;
  const house = openHouse('cline', id);
  try {
    house.write(join(house.home, '.cline/data/sessions', id, `${id}.messages.json`), JSON.stringify(session));
    const hook = (after: number, hookName: string, fields: object = {}): void =>
      house.hook((at(0) - START_MS) / 1_000 + after, '', {
        clineVersion: '3.0.52',
        hookName,
        timestamp: new Date(at(0) + after * 1_000).toISOString(),
        sessionContext: { rootSessionId: id },
        agent_id: 'lead',
        parent_agent_id: null,
        ...fields,
      });
    const call = { id: 'toolu_c1', name: 'run_commands', input: { commands: ['cargo test'] } };
    hook(0, 'agent_start');
    hook(0.1, 'prompt_submit', { userPromptSubmit: { prompt: 'Prune the tree' } });
    hook(3.1, 'tool_call', { tool_call: call });
    hook(6.1, 'tool_result', { tool_result: { ...call, durationMs: 2_900 } });
    hook(9.2, 'agent_end', { turn: { outputText: 'Pruned.' } });
    hook(12, 'session_shutdown');
    house.round({ nowMs: at(40) });
    expect(house.tree()).toMatchInlineSnapshot(`
      "session cline                                +0ms    12.0s  exit
      +- invoke_agent cline                        +0ms    9.20s
         +- chat claude-sonnet-4.5                 +0ms    3.00s
         +- execute_tool read_files              +3.00s    3.00s  ERROR tool_error
         +- execute_tool run_commands (cargo)    +3.20s    2.90s
         +- chat claude-sonnet-4.5               +6.00s    3.00s
      "
    `);
    expect(house.spans().flatMap(span => (span.kind === 'session' ? [span.usage] : []))).toMatchObject([
      { calls: 2, input: 9_817, output: 100, cacheRead: 8_900, cacheWrite: 900 },
    ]);
  } finally {
    house.close();
  }
});

test('subagents whose hooks arrive in another order than their calls are below the calls that have their tasks', () => {
  const id = session.sessionId;
  const house = openHouse('cline', id);
  const folder = join(house.home, '.cline/data/sessions', id);
  const spawn = (call: string, task: string) => ({ id: call, name: 'spawn_agent', input: { task } });
  const calls = [spawn('c1', 'Go slowly'), spawn('c2', 'Go quickly')];
  const asks = (task: string): object => ({
    id: task,
    role: 'user',
    content: [{ type: 'text', text: task }],
    ts: at(3),
  });
  const says = (name: string, seconds: number): object => ({
    id: `${name}-answer`,
    role: 'assistant',
    content: [{ type: 'text', text: name }],
    ts: at(seconds),
    ...used(10, 2, 0, 0, 0),
  });
  const hook = (seconds: number, hookName: string, agent: string, fields: object = {}): void =>
    house.hook((at(0) - START_MS) / 1_000 + seconds, '', {
      clineVersion: '3.0.65',
      hookName,
      timestamp: new Date(at(0) + seconds * 1_000).toISOString(),
      sessionContext: { rootSessionId: id },
      agent_id: agent,
      parent_agent_id: agent === 'lead' ? null : 'lead',
      ...fields,
    });
  try {
    hook(0, 'agent_start', 'lead');
    for (const call of calls) hook(2, 'tool_call', 'lead', { tool_call: call });
    hook(3.1, 'agent_start', 'quick');
    hook(3.2, 'agent_start', 'slow');
    hook(5.1, 'agent_end', 'quick', { turn: { outputText: 'quick' } });
    hook(5.2, 'tool_result', 'lead', { tool_result: { ...calls[1], output: { text: 'quick' }, durationMs: 3_100 } });
    hook(9.1, 'agent_end', 'slow', { turn: { outputText: 'slow' } });
    hook(9.2, 'tool_result', 'lead', { tool_result: { ...calls[0], output: { text: 'slow' }, durationMs: 7_100 } });
    const uses = calls.map(call => ({ type: 'tool_use', ...call }));
    const lead = { id: 'm1', role: 'assistant', ts: at(2), content: uses, ...used(10, 2, 0, 0, 0) };
    house.write(
      join(folder, `${id}.messages.json`),
      JSON.stringify({ agent: 'lead', sessionId: id, messages: [lead] }),
    );
    for (const [name, task, seconds] of [
      ['slow', 'Go slowly', 9],
      ['quick', 'Go quickly', 5],
    ] as const) {
      const messages = [asks(task), says(name, seconds)];
      house.write(join(folder, `${name}.messages.json`), JSON.stringify({ agent: 'subagent', messages }));
    }
    house.round({ nowMs: at(40) });
    const launched = house.spans().flatMap(span => (span.kind === 'subagent' ? [[span.id, span.launchedBy]] : []));
    expect(Object.fromEntries(launched)).toEqual({ quick: 'c2', slow: 'c1' });
  } finally {
    house.close();
  }
});

describe('the end of a run, which only the file beside the messages states', () => {
  const id = session.sessionId;
  const base = join('.cline/data/sessions', id, id);
  const open = (): House => {
    const house = openHouse('cline', id);
    const hook = (after: number, hookName: string, fields: object = {}): void =>
      house.hook((at(0) - START_MS) / 1_000 + after, '', {
        clineVersion: '3.0.65',
        hookName,
        timestamp: new Date(at(0) + after * 1_000).toISOString(),
        sessionContext: { rootSessionId: id },
        agent_id: 'lead',
        parent_agent_id: null,
        ...fields,
      });
    hook(0, 'agent_start');
    hook(9.2, 'agent_end', { turn: { outputText: 'Pruned.' } });
    writeFileSync(pathIn(house, '.messages.json'), JSON.stringify(session));
    return house;
  };
  const pathIn = (house: House, ending: string): string => {
    mkdirSync(dirname(join(house.home, base)), { recursive: true });
    return join(house.home, base + ending);
  };
  const card = (more: object): string => JSON.stringify({ status: 'running', interactive: false, ...more });
  const ended = (after: number) => ({ status: 'completed', ended_at: new Date(at(0) + after * 1_000).toISOString() });
  const roots = (house: House): unknown[] =>
    house.spans().flatMap(span => (span.kind === 'session' ? [[span.endReason, span.endMs - at(0)]] : []));

  test.each([
    ['a round that began before the end', 9_300, card(ended(9.5))],
    ['a round that reads the file while it is written', 9_600, card(ended(9.5)).slice(0, 20)],
  ])('%s leaves the turn to the next round', (_, after, written) => {
    const house = open();
    try {
      writeFileSync(pathIn(house, '.json'), written);
      const { waiting } = house.round({ nowMs: at(0) + after, waits: patient });
      expect(roots(house)).toEqual([]);
      writeFileSync(pathIn(house, '.json'), card(ended(9.5)));
      house.round({ nowMs: at(0) + 9_700, waits: patient, due: { waiting } });
      expect(roots(house)).toEqual([['exit', 9_500]]);
    } finally {
      house.close();
    }
  });

  test('a person leaves the terminal after the last hook: the next check of open sessions reads the end', () => {
    const house = open();
    try {
      writeFileSync(pathIn(house, '.json'), card({ interactive: true }));
      house.round({ nowMs: at(0) + 9_600, waits: patient });
      house.round({ nowMs: at(0) + 10_000, waits: patient, due: dueSessions(house.store, at(0) + 10_000) });
      expect(roots(house)).toEqual([]);
      writeFileSync(pathIn(house, '.json'), card({ interactive: true, ...ended(60) }));
      house.round({ nowMs: at(0) + 90_000, waits: patient, due: dueSessions(house.store, at(0) + 90_000) });
      expect(roots(house)).toEqual([['exit', 60_000]]);
      expect(dueSessions(house.store, at(0) + 95_000).waiting).toEqual([]);
    } finally {
      house.close();
    }
  });
});

test('the files of a session are found in the home and in the storage of editors', () => {
  const sdk = '/h/.cline/data/sessions/a/a.messages.json';
  const extension = '/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/b/ui_messages.json';
  const look = {
    names: (folder: string) => (folder.endsWith('sessions') ? ['a'] : folder.includes('/Code/') ? ['b'] : []),
    head: (path: string) => ([sdk, extension].includes(path) ? '[' : ''),
  };
  const place = (session: string) => ({ session, cwd: undefined, home: '/h', env: {}, main: undefined, subagents: [] });
  const beside = [extension.replace('ui_messages', 'task_metadata')];
  expect(transcript.files(place('a'), look)).toEqual([{ path: sdk, beside: ['/h/.cline/data/sessions/a/a.json'] }]);
  expect(transcript.files(place('b'), look)).toEqual([{ path: extension, beside }]);
  expect(transcript.files(place('c'), look)).toEqual([]);
  const all = transcript.installed({ home: '/h', project: '/p', env: {} }, look);
  expect(all.map(file => file.path)).toEqual([sdk, extension]);
  const start = { rows: [], document: undefined };
  expect(all.flatMap(file => transcript.sessions(file, start))).toEqual([{ session: 'a' }, { session: 'b' }]);
  expect(transcript.sessions({ path: '/elsewhere.json' }, start)).toEqual([]);
  // Copies in other folders, recognized by their content; the file of a subagent is not a session.
  const copy = (value: object) => ({ rows: [], document: documentOf(bytes(value)) });
  expect(transcript.sessions({ path: '/c/x.messages.json' }, copy(session))).toEqual([{ session: session.sessionId }]);
  expect(transcript.sessions({ path: '/c/x.messages.json' }, copy(child(4, 200)))).toEqual([]);
  expect(transcript.sessions({ path: '/c/a__b/a__b.messages.json' }, copy(child(4, 200)))).toEqual([]);
  expect(transcript.installed({ home: '/h', project: '/p', env: { CLINE_DIR: '/d' } }, look)).toEqual([
    { path: extension, beside },
  ]);
});

// ---------------------------------------------------------------- recorded transcripts

const recordings = 'fixtures/cline';
const folder = sharedPath(recordings);

overShared(recordings, 'recorded', () => {
  test('a session without counts: one prompt, one answer, no tokens', () => {
    const file = readFileSync(join(folder, 'sessions', 'session_synthetic_01.messages.json'));
    const { readings } = readDocument(transcript, file, 'session_synthetic_01');
    expect(readings.map(each => each.event_type)).toEqual(['Prompt.Submitted', 'Agent.Response']);
  });

  test('its payloads become the expected events', () => {
    const lines = readFileSync(join(folder, 'hook-payloads', 'extension.constructed.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const timed = lines.map((line, i) => ({
      atMs: START_MS + i * 1000,
      payload: (JSON.parse(line) as { stdin: object }).stdin,
      header: { ppid: String(i) },
    }));
    const { events, fates } = play(timed);
    expect(new Set(fates)).toEqual(new Set(['journaled']));
    expect(events.map(event => event.event_type).filter(type => !type.startsWith('vendor.'))).toEqual([
      'Session.Start',
      'Prompt.Submitted',
      'Action.Before',
      'Action.After',
      'Action.Before',
      'Context.Compaction',
      'Agent.Response',
      'Session.End',
    ]);
    const compaction = events.find(event => event.event_type === 'Context.Compaction');
    expect(compaction?.data).toMatchObject({ tokens_before: 161_800 });
  });
});

test('the file of a subagent leads to the session that launched it', () => {
  const house = openHouse('cline', session.sessionId);
  try {
    const folder = join(house.home, '.cline', 'data', 'sessions', session.sessionId);
    house.write(join(folder, `${session.sessionId}.messages.json`), JSON.stringify(session));
    const child = join(folder, 'agent_7.messages.json');
    house.write(child, JSON.stringify({ version: 1, agent: 'subagent', messages: session.messages }));
    const places = { home: house.home, project: '/', env: {} };
    const { found, parts, without } = findSessions({
      agents: [cline],
      sinceMs: 0,
      places,
      paths: [child],
      eyes: diskEyes(),
    });
    expect(without).toEqual([]);
    expect(found.map(each => each.session)).toEqual([session.sessionId]);
    expect(parts).toEqual([
      { path: child, session: session.sessionId, main: join(folder, `${session.sessionId}.messages.json`) },
    ]);
  } finally {
    house.close();
  }
});
