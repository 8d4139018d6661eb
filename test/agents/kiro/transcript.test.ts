/** Sessions of Kiro CLI 2.x in the form of 2026, and recorded ones if they are beside the repository. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAbsent, type Look } from '../../../src/agents/contract/contract.ts';
import { kiro } from '../../../src/agents/kiro/kiro.ts';
import { play, START_MS } from '../../play.ts';
import { overShared, sharedPath } from '../../shared.ts';
import { openHouse } from '../../transcripts/house.ts';
import { lineOf, readRows, textOf } from '../read-transcript.ts';

const { transcript } = kiro;
if (isAbsent(transcript)) throw new Error('Kiro keeps sessions');

const ROOT = '3d2c1b0a-9f8e-4d7c-8b6a-5f4e3d2c1b0a';
const second = Date.parse('2026-10-22T07:00:00.000Z') / 1_000;

const row = (kind: string, message_id: string, content: object[], meta?: object): object => ({
  version: 'v1',
  kind,
  data: { message_id, content, meta },
});
const words = (data: string): object => ({ kind: 'text', data });
const prompt = (id: string, seconds: number): object =>
  row('Prompt', id, [words('canary')], { timestamp: second + seconds });
const use = (id: string, name: string): object => ({
  kind: 'toolUse',
  data: { toolUseId: id, name, input: { command: 'npm test', __tool_use_purpose: 'canary' } },
});
const result = (id: string, status: string, exit?: string): object => ({
  kind: 'toolResult',
  data: { toolUseId: id, status, content: [{ kind: 'json', data: { exit_status: exit, stdout: 'canary' } }] },
});

const session = [
  prompt('p1', 0),
  row('AssistantMessage', 'a1', [words(''), use('t1', 'shell'), use('t2', '@tracker/search')]),
  row('ToolResults', 'r1', [result('t1', 'success', 'exit status: 1'), result('t2', 'error')]),
  row('AssistantMessage', 'a2', [words('canary-answer')]),
  prompt('p2', 60),
  row('AssistantMessage', 'a3', [words('canary-answer')]),
];
const card = (turns: object[]): Buffer =>
  Buffer.from(
    JSON.stringify({
      session_id: ROOT,
      session_state: {
        conversation_metadata: { user_turn_metadatas: turns },
        rts_model_state: { model_info: { model_id: 'qwen3-coder-next', context_window_tokens: 256_000 } },
      },
    }),
  );
const turn = (message_ids: string[] | undefined, seconds: number, tokens: number): object => ({
  message_ids,
  end_timestamp: new Date((second + seconds) * 1_000 + 250).toISOString(),
  turn_duration: { secs: seconds, nanos: 250_000_000 },
  total_request_count: 2,
  input_token_count: tokens,
  output_token_count: tokens,
  context_usage_percentage: 4.5667,
  metering_usage: [
    { value: 0.5, unit: 'credit' },
    { value: 0.25, unit: 'credit' },
  ],
});

const read = (rows: readonly object[], companion?: Buffer) =>
  readRows(transcript, rows.map(each => JSON.stringify(each)).join('\n'), ROOT, { companions: [companion] }).readings;

test('a turn ends when its card states it, with the response that ended it', () => {
  const house = openHouse('kiro', ROOT);
  try {
    const file = join(house.home, '.kiro', 'sessions', 'cli', `${ROOT}.jsonl`);
    house.write(file, ...session);
    house.write(
      file.replace(/jsonl$/, 'json'),
      card([turn(['p1', 'a1', 'r1', 'a2'], 9, 0), turn(['p2', 'a3'], 62, 0)]).toString(),
    );
    house.import({ nowMs: second * 1_000 + 9 * 3_600_000 });
    expect(house.tree()).toMatchInlineSnapshot(`
      "session kiro                        +0ms    1m02s  idle_timeout
      +- invoke_agent kiro                +0ms    9.25s
         +- chat                          +0ms      0ms  length unknown
         +- execute_tool shell (npm)      +0ms      0ms  ERROR exit_code, exit 1
         +- execute_tool search           +0ms      0ms  ERROR tool_error
         +- chat                        +9.25s      0ms  length unknown
      +- invoke_agent kiro              +1m00s    2.25s
         +- chat qwen3-coder-next       +1m02s      0ms  length unknown
      "
    `);
  } finally {
    house.close();
  }
});

describe('a session', () => {
  test('has prompts, calls and responses, and the values of its card', () => {
    expect(read(session, card([turn(['p1', 'a1', 'r1', 'a2'], 9, 0)])).map(lineOf)).toMatchInlineSnapshot(`
      [
        "Prompt.Submitted [p1, unless hooked, 07:00:00.000] {"prompt":"canary"} {}",
        "Action.Before [t1, unless hooked] {"action":{"name":"shell","input":{"command":"npm test","__tool_use_purpose":"canary"}}} {"tool":"shell","call":"t1"}",
        "Action.Before [t2, unless hooked] {"action":{"name":"mcp:search","input":{"command":"npm test","__tool_use_purpose":"canary"}}} {"tool":"search","mcp":{"server":"tracker"},"call":"t2"}",
        "Action.After [t1, unless hooked] {"action":{"name":"shell","result":{"success":false,"exit_code":1}}} {"tool":"shell","call":"t1","error_type":"exit_code"}",
        "Action.After [t2, unless hooked] {"action":{"name":"mcp:search","result":{"success":false}}} {"tool":"search","mcp":{"server":"tracker"},"call":"t2","error_type":"tool_error"}",
        "Agent.Response [a2, unless hooked, 07:00:09.250] {"response":"canary-answer","final":true} {}",
        "Model.Responded [a1, 07:00:00.000] {"model_id":"qwen3-coder-next"} {"model":"qwen3-coder-next","response":"a1"}",
        "Model.Responded [a2, 07:00:09.250] {"model_id":"qwen3-coder-next"} {"model":"qwen3-coder-next","response":"a2"}",
        "vendor.kiro.TurnMetered [a2, 07:00:09.250] {"credits":0.75,"requests":2,"duration_ms":9250} {"fields":["credits","requests","duration_ms"]}",
        "Context.UntilCompaction [a2, 07:00:09.250] {"tokens_limit":256000,"percentage_used":4.6} {}",
        "Prompt.Submitted [p2, unless hooked, 07:01:00.000] {"prompt":"canary"} {}",
        "Agent.Response [a3, unless hooked] {"response":"canary-answer","final":true} {}",
        "Model.Responded [a3, 07:01:00.000] {} {"response":"a3"}",
      ]
    `);
  });

  test('without its card has no models and ends: responses have the time of their prompt', () => {
    const responses = read(session).filter(each => each.event_type === 'Model.Responded');
    expect(responses.map(each => [each.key, each.data, each.atMs])).toEqual(
      [
        ['a1', 0],
        ['a2', 0],
        ['a3', 60],
      ].map(([id, seconds]) => [
        id,
        { model_id: undefined, input_tokens: undefined, output_tokens: undefined },
        (second + Number(seconds)) * 1_000,
      ]),
    );
  });

  test('assigns the model of its card only to the last turn', () => {
    const cards = card([turn(['p1', 'a1', 'r1', 'a2'], 9, 0), turn(['p2', 'a3'], 69, 0)]);
    const responses = read(session, cards).filter(each => each.event_type === 'Model.Responded');
    expect(responses.map(each => each.facts?.model)).toEqual([undefined, undefined, 'qwen3-coder-next']);
  });

  test('counts the tokens of its card, by the order of turns if it names no messages', () => {
    const responses = read(session, card([turn(undefined, 9, 0), turn(undefined, 69, 1_200)])).filter(
      each => each.event_type === 'Model.Responded',
    );
    expect(responses.map(each => each.event_type === 'Model.Responded' && each.data.input_tokens)).toEqual([
      undefined,
      undefined,
      1_200,
    ]);
  });

  test('repeats nothing when a rewound session repeats its messages', () => {
    const rewound = [...session, ...session.slice(0, 4), prompt('p3', 90), row('AssistantMessage', 'a4', [words('x')])];
    const keys = read(rewound).map(each => `${each.event_type} ${each.key}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.filter(key => key.startsWith('Model.'))).toHaveLength(4);
  });

  test('is read to the end in damaged or partial form', () => {
    const lines = session.map(each => JSON.stringify(each));
    const picks = fc.array(
      fc.tuple(fc.nat(lines.length - 1), fc.constantFrom('', 'null', '-1e99', '[[{}]]'), fc.nat(9)),
    );
    fc.assert(
      fc.property(picks, fc.boolean(), (picked, half) => {
        const bent = picked.map(([index, value, place]) => {
          let seen = 0;
          const line = lines[index] ?? '';
          return value === '' ? line : line.replace(/:(?:"[^"]*"|\d+)/g, old => (seen++ === place ? `:${value}` : old));
        });
        const beside = half ? card([turn(['a2'], 1, 1)]).subarray(0, 200) : card([]);
        expect(() => readRows(transcript, bent.join('\n'), ROOT, { companions: [beside] })).not.toThrow();
      }),
      { numRuns: 200 },
    );
  });
});

test('its files are the session and its card', () => {
  const folder = '/home/dev/.kiro/sessions/cli';
  const look: Look = {
    names: path => (path === folder ? [`${ROOT}.json`, `${ROOT}.jsonl`] : []),
    head: path => (path === `${folder}/${ROOT}.jsonl` ? '{' : ''),
  };
  const place = { cwd: undefined, main: undefined, subagents: [], home: '/home/dev', env: {} };
  const file = { path: `${folder}/${ROOT}.jsonl`, beside: [`${folder}/${ROOT}.json`] };
  expect(transcript.files({ ...place, session: ROOT }, look)).toEqual([file]);
  expect(transcript.files({ ...place, session: 'sess_1' }, look)).toEqual([]);
  expect(transcript.installed({ home: '/home/dev', project: '/', env: {} }, look)).toEqual([{ path: file.path }]);
  const rows = session as Record<string, unknown>[];
  expect(transcript.sessions(file, { rows, document: undefined })).toEqual([
    { session: ROOT, atMs: (second + 60) * 1_000 },
  ]);
  expect(transcript.sessions(file, { rows: [{ id: 'x' }], document: undefined })).toEqual([]);
});

test('hooks without a session id are grouped by process and folder', () => {
  const payload = { hook_event_name: 'userPromptSubmit', cwd: '/home/dev/shop', prompt: 'canary' };
  const sent = (ppid: string, cwd = '/home/dev/shop') => ({
    atMs: START_MS,
    payload: { ...payload, cwd },
    header: { tool: 'kiro', ppid },
  });
  const ids = play([sent('7'), sent('7'), sent('8'), sent('7', '/tmp')]).events.map(event => event.session_id);
  expect(ids[0]).toMatch(/^local-[0-9a-f]{24}$/);
  expect(ids.map(id => ids.indexOf(id))).toEqual([0, 1, 2].map(i => [0, 1, 2][i]));
});

const recordings = 'fixtures/kiro';
const folder = sharedPath(recordings);

overShared(recordings, 'recordings', () => {
  const sessions = readdirSync(join(folder, 'cli2-sessions')).filter(name => name.endsWith('.jsonl'));
  test('are beside the repository', () => expect(sessions.length).toBeGreaterThan(0));

  // Counted by hand, line by line: kinds of rows, calls in them, exit statuses. 1-6 was rewound: its first prompt and
  // answer occur twice. If a card is beside the file, the numbers of requests of its turns add up to the kept
  // responses.
  const counts: Record<string, string> = {
    '1-6_checkpoint-rewind.jsonl': '3 prompts, 3 responses, 0 calls, exits ',
    '2-17_user-blocking-question.jsonl': '1 prompts, 1 responses, 0 calls, exits ',
    '2-2_auto-executed-tool-call.jsonl': '1 prompts, 2 responses, 1 calls, exits 0',
    '2-4_self-correction-iteration.jsonl': '1 prompts, 3 responses, 2 calls, exits 1 0',
    '2-7_autonomous-loop.jsonl': '1 prompts, 4 responses, 3 calls, exits 0 0 0',
    '4-1_multiple-sessions-same-cwd.jsonl': '3 prompts, 3 responses, 0 calls, exits ',
    '5-2_model-identification.jsonl': '1 prompts, 1 responses, 0 calls, exits ',
  };

  test.each(sessions)('%s', name => {
    const path = join(folder, 'cli2-sessions', name);
    const beside = path.replace(/l$/, '');
    const { readings } = readRows(transcript, textOf(path), 'root', {
      companions: [existsSync(beside) ? readFileSync(beside) : undefined],
    });
    const count = (type: string): number => readings.filter(each => each.event_type === type).length;
    const exits = readings.flatMap(each =>
      each.event_type === 'Action.After' ? (each.data.action.result?.exit_code ?? []) : [],
    );
    expect(
      `${count('Prompt.Submitted')} prompts, ${count('Model.Responded')} responses, ${count('Action.Before')} calls, exits ${exits.join(' ')}`,
    ).toBe(counts[name]);
    expect(count('Action.After')).toBe(count('Action.Before'));
    // None of these cards has tokens: they are unknown, not zero.
    for (const each of readings) {
      if (each.event_type === 'Model.Responded') expect(each.data.input_tokens).toBeUndefined();
    }
  });

  test('payloads are recognized without a name, and kept', () => {
    const single = readdirSync(join(folder, 'cli2-hook-payloads')).map(name =>
      textOf(join(folder, 'cli2-hook-payloads', name)),
    );
    const lines = textOf(join(folder, 'hook-payloads', 'v1-files.constructed.jsonl'))
      .trim()
      .split('\n');
    const stdin = lines.map(line => JSON.stringify((JSON.parse(line) as { stdin: object }).stdin));
    const { fates, events } = play([...single, ...stdin].map(payload => ({ atMs: START_MS, payload })));
    expect(new Set(fates)).toEqual(new Set(['journaled']));
    expect(new Set(events.map(event => event.source.tool))).toEqual(new Set(['kiro']));
    expect(events.filter(event => event.event_type.startsWith('vendor.kiro.'))).toEqual([]);
  });
});
