/** What Cline writes down: samples, damaged ones, and the recorded one where it lies beside the repository. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { transcript } from '../../../src/agents/cline/transcript.ts';
import { play, START_MS } from '../../play.ts';
import { openHouse } from '../../transcripts/house.ts';
import { DAMAGED_COPIES, mutated } from '../mutated.ts';
import { lineOf, readDocument, total } from '../told.ts';

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
      ...used(12, 80, 4_000, 900, 0.0042),
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
      ...used(5, 20, 4_900, 0, 0.001),
    },
  ],
};

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

test('a session of the SDK: prompts, responses with their tokens, calls with what became of them', () => {
  expect(readDocument(transcript, bytes(session), 's').readings.map(lineOf)).toMatchInlineSnapshot(`
    [
      "Prompt.Submitted [m1, unless hooked, 09:00:00.000] {"prompt":"Prune the tree"} {}",
      "Model.Responded [m2, 09:00:03.000] {"model_id":"claude-sonnet-4.5","input_tokens":4912,"output_tokens":80} {"provider":"anthropic","usage":{"cache_read_tokens":4000,"cache_write_tokens":900},"cost_usd":0.0042}",
      "Action.Before [toolu_c1, 09:00:03.000] {"action":{"name":"shell","input":{"commands":["cargo test"]}}} {"call":"toolu_c1","tool":"run_commands"}",
      "Action.Before [toolu_c2, 09:00:03.000] {"action":{"name":"read_file","input":{"paths":["src/tree.rs"]}}} {"call":"toolu_c2","tool":"read_files"}",
      "Action.After [toolu_c1, 09:00:06.000] {"action":{"name":"shell","result":{"success":true}}} {"call":"toolu_c1","tool":"run_commands"}",
      "Action.After [toolu_c2, 09:00:06.000] {"action":{"name":"read_file","result":{"success":false}}} {"call":"toolu_c2","tool":"read_files","error_type":"tool_error"}",
      "Model.Responded [m4, 09:00:09.000] {"model_id":"claude-sonnet-4.5","input_tokens":4905,"output_tokens":20} {"provider":"anthropic","usage":{"cache_read_tokens":4900,"cache_write_tokens":0},"cost_usd":0.001}",
      "Agent.Response [m4, unless hooked, 09:00:09.000] {"response":"Pruned.","final":true} {}",
    ]
  `);
});

test('a task of the extension: what each request used, with the model of its time', () => {
  const { told, readings } = readDocument(transcript, bytes(task), 's', { companions: [bytes(metadata)] });
  expect(readings.map(lineOf)).toMatchInlineSnapshot(`
    [
      "Model.Responded [request-1793610001000, 09:00:01.000] {"model_id":"claude-sonnet-4.5","input_tokens":157,"output_tokens":20} {"provider":"anthropic","usage":{"cache_read_tokens":50,"cache_write_tokens":7},"cost_usd":0.002}",
      "Model.Responded [request-1793610005000, 09:00:05.000] {"model_id":"claude-haiku-4.5","input_tokens":10,"output_tokens":4} {"provider":"anthropic","cost_usd":0.0001}",
    ]
  `);
  expect(told.filter(each => 'over' in each)).toEqual([{ over: 'turn', atMs: at(8) }]);
  expect(total(readings)).toEqual({ responses: 2, input: 167, output: 24, cacheRead: 50, cacheWrite: 7, reasoning: 0 });
});

test('what a class used is absent where nobody says', () => {
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
  let told = 0;
  for (const source of [JSON.stringify(session, null, 1), JSON.stringify(task, null, 1)]) {
    for (const text of mutated(source, DAMAGED_COPIES / 2)) {
      const { readings } = readDocument(transcript, Buffer.from(text), 's', { companions: [bytes(metadata)] });
      told += readings.length;
      for (const { data } of readings) {
        if ('input_tokens' in data && typeof data.input_tokens === 'number' && data.input_tokens < 0) expect.fail(text);
      }
    }
  }
  expect(told).toBeGreaterThan(DAMAGED_COPIES / 2);
}, 600_000);

test('beside hooks: responses with their tokens stand in their turn, and calls count once', () => {
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
      +- invoke_agent cline                      +100ms    9.10s
         +- chat claude-sonnet-4.5               +3.00s      0ms  length unknown
         +- execute_tool read_files              +3.00s    3.00s  ERROR tool_error
         +- execute_tool run_commands (cargo)    +3.20s    2.90s
         +- chat claude-sonnet-4.5               +9.00s      0ms  length unknown
      "
    `);
    expect(house.spans().flatMap(span => (span.kind === 'session' ? [span.usage] : []))).toMatchObject([
      { calls: 2, input: 9_817, output: 100, cacheRead: 8_900, cacheWrite: 900 },
    ]);
  } finally {
    house.close();
  }
});

test('files are looked for by the session, in the home and in the storage of editors', () => {
  const sdk = '/h/.cline/data/sessions/a/a.messages.json';
  const extension = '/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/b/ui_messages.json';
  const look = {
    names: (folder: string) => (folder.endsWith('sessions') ? ['a'] : folder.includes('/Code/') ? ['b'] : []),
    head: (path: string) => ([sdk, extension].includes(path) ? '[' : ''),
  };
  const place = (session: string) => ({ session, cwd: undefined, home: '/h', env: {}, main: undefined, subagents: [] });
  const beside = [extension.replace('ui_messages', 'task_metadata')];
  expect(transcript.files(place('a'), look)).toEqual([{ path: sdk, beside: undefined }]);
  expect(transcript.files(place('b'), look)).toEqual([{ path: extension, beside }]);
  expect(transcript.files(place('c'), look)).toEqual([]);
  const all = transcript.installed({ home: '/h', project: '/p', env: {} }, look);
  expect(all.map(file => file.path)).toEqual([sdk, extension]);
  const start = { rows: [], document: undefined };
  expect(all.flatMap(file => transcript.sessions(file, start))).toEqual([{ session: 'a' }, { session: 'b' }]);
  expect(transcript.sessions({ path: '/elsewhere.json' }, start)).toEqual([]);
});

// ---------------------------------------------------------------- what was recorded

const folder = join(import.meta.dirname, '../../../../shared/fixtures/cline');
const missing = existsSync(folder) ? '' : ' (none: ../shared/fixtures is not here)';

describe(`recorded${missing}`, () => {
  test.runIf(missing === '')('a session without counts: one prompt, one answer, no tokens', () => {
    const file = readFileSync(join(folder, 'sessions', 'session_synthetic_01.messages.json'));
    const { readings } = readDocument(transcript, file, 'session_synthetic_01');
    expect(readings.map(each => each.event_type)).toEqual(['Prompt.Submitted', 'Agent.Response']);
  });

  test.runIf(missing === '')('its payloads become the events that they are', () => {
    const lines = readFileSync(join(folder, 'hook-payloads', 'extension.constructed.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const told = lines.map((line, i) => ({
      atMs: START_MS + i * 1000,
      payload: (JSON.parse(line) as { stdin: object }).stdin,
      header: { ppid: String(i) },
    }));
    const { events, fates } = play(told);
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
