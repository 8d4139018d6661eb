/** Rollouts in the forms of 0.130 to 0.154: their events, and that no value is counted twice. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codex } from '../../../src/agents/codex/codex.ts';
import { isAbsent, type Look } from '../../../src/agents/contract/contract.ts';
import { lineOf, readRows, sums, total } from '../read-transcript.ts';

const { transcript } = codex;
if (isAbsent(transcript)) throw new Error('Codex keeps rollouts');

const ROOT = '019f2c1a-7b30-7c11-9a52-0e5d4f6a7b80';
const CHILD = '019f2c1b-0f6e-7a20-b1c3-5d4e3f2a1b09';
const start = Date.parse('2026-10-20T09:14:02.000Z');

const at = (ms: number): string => new Date(start + ms).toISOString();
const row = (ms: number, type: string, payload: object): string => JSON.stringify({ timestamp: at(ms), type, payload });
const messageRow = (ms: number, type: string, more: object = {}): string => row(ms, 'event_msg', { type, ...more });
const item = (ms: number, type: string, more: object = {}): string => row(ms, 'response_item', { type, ...more });
const meta = (ms: number, more: object = {}): string =>
  row(ms, 'session_meta', {
    id: ROOT,
    timestamp: at(ms),
    cwd: '/home/dev/shop',
    source: 'cli',
    model_provider: 'openai',
    ...more,
  });
const began = (ms: number, turn: string): string =>
  messageRow(ms, 'task_started', { turn_id: turn, started_at: Math.floor((start + ms) / 1000) });
const model = (ms: number, name: string): string => row(ms, 'turn_context', { turn_id: 't', model: name });
const usage = (input: number, cached: number, output: number, reasoning: number): object => ({
  input_tokens: input,
  cached_input_tokens: cached,
  output_tokens: output,
  reasoning_output_tokens: reasoning,
  total_tokens: input + output,
});
const counted = (ms: number, all: object, last: object = all): string =>
  messageRow(ms, 'token_count', {
    info: { total_token_usage: all, last_token_usage: last, model_context_window: 200_000 },
  });
const shell = (ms: number, call: string, cmd: string): string =>
  item(ms, 'function_call', { name: 'exec_command', arguments: JSON.stringify({ cmd }), call_id: call });
const output = (ms: number, call: string, text: string): string =>
  item(ms, 'function_call_output', { call_id: call, output: text });
const ended = (ms: number, turn: string, message: string): string =>
  messageRow(ms, 'task_complete', { turn_id: turn, last_agent_message: message, duration_ms: ms });

const turn = [
  meta(0),
  began(1_000, 't1'),
  model(1_001, 'gpt-5.5'),
  messageRow(1_002, 'user_message', { message: 'canary-prompt' }),
  messageRow(1_200, 'token_count', { info: null }),
  item(3_000, 'reasoning'),
  shell(3_100, 'c1', 'npm test'),
  counted(3_150, usage(9_000, 6_000, 120, 40)),
  output(5_000, 'c1', 'Chunk ID: 1\nWall time: 1.5000 seconds\nProcess exited with code 2\nOutput:\ncanary-output'),
  counted(5_050, usage(9_000, 6_000, 120, 40)),
  messageRow(6_900, 'agent_message', { message: 'canary-answer' }),
  item(6_901, 'message', { role: 'assistant', content: [{ type: 'output_text', text: 'canary-answer' }] }),
  counted(6_950, usage(18_500, 15_000, 150, 40), usage(9_500, 9_000, 30, 0)),
  ended(7_000, 't1', 'canary-answer'),
];

const read = (lines: readonly string[], of = {}) => readRows(transcript, lines.join('\n'), ROOT, of);

describe('a rollout', () => {
  test('has the output of a call, in each of the rows that report its end', () => {
    const command = { type: 'CommandExecution', id: 'c1', exit_code: 2, aggregated_output: 'canary-item' };
    const done = messageRow(4_900, 'item_completed', { item: command, completed_at_ms: start + 4_900 });
    const old = messageRow(4_900, 'exec_command_end', { call_id: 'c1', exit_code: 2, aggregated_output: 'canary-end' });
    const of = (rows: readonly string[]): unknown =>
      read(rows).readings.find(each => each.event_type === 'Action.After')?.output;
    expect(of(turn)).toContain('canary-output');
    expect(of([...turn.slice(0, 8), done, ...turn.slice(8)])).toBe('canary-item');
    expect(of([...turn.slice(0, 8), old, ...turn.slice(8)])).toBe('canary-end');
  });

  test('reports a turn', () => {
    expect(read(turn).readings.map(lineOf)).toMatchInlineSnapshot(`
      [
        "Session.Start [start, unless hooked, 09:14:02.000] {"start_reason":"new"} {}",
        "Prompt.Submitted [prompt:t1:1, unless hooked, 09:14:03.002] {"prompt":"canary-prompt"} {"turn":"t1"}",
        "Action.Before [c1, 09:14:05.100] {"action":{"name":"shell","input":{"command":"npm test"}}} {"turn":"t1","tool":"Bash","call":"c1"}",
        "Model.Responded [019f2c1a-7b30-7c11-9a52-0e5d4f6a7b80:9120, 09:14:05.100] {"model_id":"gpt-5.5","input_tokens":9000,"output_tokens":120} {"turn":"t1","model":"gpt-5.5","provider":"openai","started_ms":1792487643000,"usage":{"cache_read_tokens":6000,"reasoning_tokens":40}}",
        "Context.UntilCompaction [019f2c1a-7b30-7c11-9a52-0e5d4f6a7b80:9120, 09:14:05.150] {"tokens_used":9120,"tokens_limit":200000,"percentage_used":4.6,"tokens_remaining":190880} {"turn":"t1","model":"gpt-5.5"}",
        "Action.After [c1, 09:14:07.000] {"action":{"name":"shell","result":{"success":false,"exit_code":2}}} {"turn":"t1","tool":"Bash","call":"c1","duration_ms":1500,"exit_code":2,"error_type":"exit_code"}",
        "Model.Responded [019f2c1a-7b30-7c11-9a52-0e5d4f6a7b80:18650, 09:14:08.901] {"model_id":"gpt-5.5","input_tokens":9500,"output_tokens":30} {"turn":"t1","model":"gpt-5.5","provider":"openai","started_ms":1792487647000,"usage":{"cache_read_tokens":9000,"reasoning_tokens":0}}",
        "Context.UntilCompaction [019f2c1a-7b30-7c11-9a52-0e5d4f6a7b80:18650, 09:14:08.950] {"tokens_used":9530,"tokens_limit":200000,"percentage_used":4.8,"tokens_remaining":190470} {"turn":"t1","model":"gpt-5.5"}",
        "Agent.Response [answer:t1, 09:14:09.000] {"response":"canary-answer","final":true} {"turn":"t1"}",
      ]
    `);
  });

  test('repeats no event when the memory goes through JSON between rows', () => {
    expect(readRows(transcript, turn.join('\n'), ROOT, {}, true)).toEqual(read(turn));
  });

  test('adds nothing for a repeated total, at the start of a turn or after a compaction', () => {
    const again = [
      ...turn,
      began(20_000, 't2'),
      counted(20_100, usage(18_500, 15_000, 150, 40), usage(9_500, 9_000, 30, 0)),
      row(21_000, 'compacted', { message: 'short' }),
      counted(21_001, usage(18_500, 15_000, 150, 40), usage(0, 0, 0, 0)),
      ended(21_002, 't2', ''),
    ];
    expect(total(read(again).readings)).toEqual(total(read(turn).readings));
    expect(read(again).readings.filter(each => each.event_type === 'Context.Compaction')).toHaveLength(1);
  });

  test('assigns each response to the model selected before it', () => {
    const two = [
      ...turn,
      began(9_000, 't2'),
      model(9_001, 'gpt-5.5-mini'),
      counted(9_900, usage(20_500, 15_000, 160, 40)),
    ];
    expect([...sums(read(two).readings)].map(([name, sum]) => [name, sum.input, sum.output])).toEqual([
      ['gpt-5.5', 18_500, 150],
      ['gpt-5.5-mini', 2_000, 10],
    ]);
  });

  test('counts only records of responses once there are any, and no copy of one', () => {
    const record = (ms: number, id: string, used: object): string =>
      row(ms, 'token_usage_record', { thread_id: ROOT, turn_id: 't1', response_id: id, usage: used });
    const lines = [
      meta(0),
      began(1_000, 't1'),
      model(1_001, 'gpt-5.5'),
      record(2_000, 'resp-1', usage(10, 0, 5, 1)),
      counted(2_001, usage(10, 0, 5, 1)),
      record(3_000, 'resp-2', usage(20, 10, 5, 1)),
      record(3_000, 'resp-2', usage(20, 10, 5, 1)),
      counted(3_001, usage(30, 10, 10, 2)),
      row(4_000, 'compacted', { latest_token_usage_record: { response_id: 'resp-3', usage: usage(7, 7, 7, 7) } }),
    ];
    expect(total(read(lines).readings)).toMatchObject({ responses: 2, input: 30, output: 10, cacheRead: 10 });
    expect(
      read(lines)
        .readings.map(each => each.facts?.response)
        .filter(Boolean),
    ).toEqual(['resp-1', 'resp-2']);
  });

  test('of a fork reports only the work of the fork', () => {
    const copy = [meta(30_000), ...turn.slice(1)].map(line => {
      const value = JSON.parse(line) as { timestamp: string };
      return JSON.stringify({ ...value, timestamp: at(30_001) });
    });
    const fork = [
      meta(30_000, { id: CHILD, forked_from_id: ROOT }),
      ...copy,
      began(30_400, 't2'),
      model(30_401, 'gpt-5.5'),
      shell(31_000, 'c2', 'ls'),
      counted(31_001, usage(28_500, 24_000, 170, 45), usage(10_000, 9_000, 20, 5)),
      output(31_100, 'c2', 'Process exited with code 0\nOutput:\n'),
      ended(32_000, 't2', 'ok'),
    ];
    const { readings, entries } = read(fork);
    expect(total(readings)).toMatchObject({ responses: 1, input: 10_000, output: 20, cacheRead: 9_000, reasoning: 5 });
    expect(readings.map(each => each.facts?.turn).filter(each => each === 't1')).toEqual([]);
    expect(entries.filter(each => 'over' in each)).toEqual([{ over: 'turn', id: 't2', atMs: start + 32_000 }]);
  });

  test('of a fork that states the end of its history starts there', () => {
    const numbered = (lines: readonly string[]): string[] =>
      lines.map((line, ordinal) => JSON.stringify({ ...(JSON.parse(line) as object), ordinal }));
    const lines = numbered([
      meta(0, { id: CHILD, forked_from_id: ROOT, history_base: { end_ordinal_exclusive: 4 } }),
      meta(0),
      began(1, 't1'),
      counted(1, usage(100, 0, 10, 0)),
      began(900, 't2'),
      counted(1_000, usage(150, 20, 15, 0)),
    ]);
    expect(total(read(lines).readings)).toMatchObject({ responses: 1, input: 50, output: 5, cacheRead: 20 });
  });

  test('of a fork without its history counts the tokens of the last response', () => {
    const lines = [
      meta(0, { id: CHILD, forked_from_id: ROOT }),
      began(900, 't2'),
      counted(1_000, usage(9_050, 6_020, 115, 0), usage(50, 20, 5, 0)),
      counted(2_000, usage(9_150, 6_020, 125, 0), usage(100, 0, 10, 0)),
    ];
    expect(total(read(lines).readings)).toMatchObject({ responses: 2, input: 150, output: 15, cacheRead: 20 });
  });

  test('whose total restarts continues with the tokens of the last response', () => {
    const lines = [...turn, began(9_000, 't2'), counted(9_100, usage(70, 0, 7, 0)), counted(9_200, usage(70, 0, 7, 0))];
    expect(total(read(lines).readings)).toMatchObject({ responses: 3, input: 18_570, output: 157 });
  });

  test('reports an interruption, a failed turn and a resumed turn', () => {
    const lines = [
      meta(0),
      began(1_000, 't1'),
      messageRow(2_000, 'turn_aborted', { turn_id: 't1', reason: 'interrupted' }),
      meta(60_000, { timestamp: at(60_000) }),
      began(61_000, 't2'),
      messageRow(62_000, 'task_complete', { turn_id: 't2', error: { message: 'canary-error' } }),
    ];
    expect(read(lines).readings.map(each => `${each.event_type} ${each.key} ${each.facts?.interrupted ?? ''}`)).toEqual(
      [
        'Session.Start start ',
        'Agent.Response answer:t1 true',
        `Session.Start resume:${at(60_000)} `,
        'Model.Failed failed:t2 ',
        'Agent.Error failed:t2 ',
      ],
    );
  });

  test.each([
    ['Process exited with code 0\nOutput:\nProcess exited with code 9', 'true 0'],
    ['Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno', 'false 1'],
    ['{"output":"ok\\n","metadata":{"exit_code":0,"duration_seconds":0.2}}', 'true 0'],
    ['Script failed\nWall time 0.2 seconds\nOutput:\n', 'false '],
    ['exec_command failed: CreateProcess { message: "Rejected(\\"by the user\\")" }', 'deny'],
    ['exec_command failed: no such file', 'false '],
    ['aborted by user after 2.1s', 'interrupted'],
    ['anything else', ' '],
  ])('a call that returned %j', (text, outcome) => {
    const [after] = read([meta(0), shell(1, 'c1', 'x'), output(2, 'c1', text)]).readings.filter(
      each => each.event_type === 'Action.After',
    );
    if (after?.event_type !== 'Action.After') throw new Error('no end');
    const result = after.data.action.result;
    const how = after.data.decision?.outcome ?? (after.facts?.interrupted ? 'interrupted' : undefined);
    expect(how ?? `${result?.success ?? ''} ${result?.exit_code ?? ''}`).toBe(outcome);
  });

  test('a background command ends when its last output states it', () => {
    const lines = [
      meta(0),
      began(1_000, 't1'),
      shell(1_100, 'c1', 'npm run watch'),
      output(2_100, 'c1', 'Wall time: 1.0000 seconds\nProcess running with session ID 7\nOutput:\n'),
      item(3_000, 'function_call', { name: 'write_stdin', arguments: '{"session_id":7,"chars":""}', call_id: 'c2' }),
      output(3_100, 'c2', 'Process running with session ID 7\nOutput:\n'),
      item(4_000, 'function_call', { name: 'write_stdin', arguments: '{"session_id":7,"chars":"q"}', call_id: 'c3' }),
      output(4_100, 'c3', 'Process exited with code 3\nOutput:\n'),
    ];
    const afters = read(lines).readings.filter(each => each.event_type === 'Action.After');
    expect(afters.map(each => `${each.key} ${each.facts?.exit_code ?? ''} ${(each.atMs ?? 0) - start}`)).toEqual([
      'c2  3100',
      'c3  4100',
      'c1 3 4100',
    ]);
    expect(read([...lines.slice(0, 4), ended(9_000, 't1', 'ok')]).readings.at(-1)?.facts?.over).toEqual(['c1']);
  });

  test('of code mode always reports the script, and its commands if no hook reports them', () => {
    const lines = [
      meta(0),
      began(1_000, 't1'),
      item(1_100, 'custom_tool_call', {
        name: 'exec',
        input: 'await tools.exec_command({cmd: "canary"})',
        call_id: 'c1',
      }),
      messageRow(1_900, 'item_completed', {
        turn_id: 't1',
        completed_at_ms: start + 1_800,
        item: { type: 'CommandExecution', id: 'n1', status: 'failed', exit_code: 2, duration: { secs: 0, nanos: 5e8 } },
      }),
      item(2_000, 'custom_tool_call_output', {
        call_id: 'c1',
        output: [{ type: 'input_text', text: 'Script completed\n' }],
      }),
    ];
    expect(read(lines).readings.slice(1).map(lineOf)).toMatchInlineSnapshot(`
      [
        "Action.Before [c1, 09:14:03.100] {"action":{"name":"exec","input":{}}} {"turn":"t1","tool":"exec","call":"c1"}",
        "Action.Before [n1, unless hooked, 09:14:03.300] {"action":{"name":"shell"}} {"turn":"t1","tool":"Bash","call":"n1"}",
        "Action.After [n1, unless hooked, 09:14:03.800] {"action":{"name":"shell","result":{"success":false,"exit_code":2}}} {"turn":"t1","tool":"Bash","call":"n1","duration_ms":500,"exit_code":2,"error_type":"exit_code"}",
        "Action.After [c1, 09:14:04.000] {"action":{"name":"exec","result":{"success":true}}} {"turn":"t1","tool":"exec","call":"c1"}",
      ]
    `);
  });

  test('of a subagent begins and ends with its turn, and knows its kind', () => {
    const source = { subagent: { thread_spawn: { parent_thread_id: ROOT, depth: 1, agent_role: 'explorer' } } };
    const lines = [meta(0, { id: CHILD, session_id: ROOT, source }), ...turn.slice(1)];
    const { readings, entries } = read(lines, { subagent: CHILD });
    expect(readings.map(each => each.facts?.agent)).toEqual(readings.map(() => 'explorer'));
    expect(readings[0]).toMatchObject({ event_type: 'Session.Start', key: 'start:t1' });
    expect(readings.at(-1)).toMatchObject({ event_type: 'Session.End', key: 'end:t1' });
    expect(entries.at(-1)).toEqual({ over: 'subagent', id: CHILD, atMs: start + 7_000 });
  });

  test('of an internal thread reports only tokens', () => {
    const lines = [
      meta(0, { id: CHILD, session_id: ROOT, source: { subagent: { other: 'guardian' } } }),
      ...turn.slice(1),
    ];
    expect(read(lines).entries.map(each => ('over' in each ? 'over' : each.event_type))).toEqual([
      'Model.Responded',
      'Model.Responded',
    ]);
  });

  test('from before the envelope reports prompts and calls', () => {
    const lines = [
      { id: ROOT, timestamp: at(0), instructions: null },
      { record_type: 'state' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: '<environment_context>' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'canary' }] },
      { type: 'function_call', name: 'shell', arguments: '{"command":["bash","-lc","ls -a"]}', call_id: 'c1' },
      { type: 'function_call_output', call_id: 'c1', output: '{"output":"","metadata":{"exit_code":0}}' },
    ].map(line => JSON.stringify(line));
    const { readings } = read(lines);
    expect(readings.map(each => each.event_type)).toEqual([
      'Session.Start',
      'Prompt.Submitted',
      'Action.Before',
      'Action.After',
    ]);
    expect(readings[2]).toMatchObject({ data: { action: { name: 'shell', input: { command: 'ls -a' } } } });
  });
});

describe('the files of a session', () => {
  const day = '/home/dev/.codex/sessions/2026/10/20';
  const name = (clock: string, thread: string): string => `rollout-2026-10-20T${clock}-${thread}.jsonl`;
  const grandchild = '019f2c1c-0000-7000-8000-000000000001';
  const stranger = '019f2c1c-0000-7000-8000-000000000002';
  const guardian = '019f2c1c-0000-7000-8000-000000000003';
  const heads: Record<string, string> = {
    [name('08-00-00', '019f2c00-0000-7000-8000-000000000000')]: `"parent_thread_id":"${ROOT}"`,
    [name('09-14-02', ROOT)]: `{"id":"${ROOT}","source":"cli"`,
    [name('09-15-40', CHILD)]: `{"id":"${CHILD}","source":{"subagent":{"thread_spawn":{"parent_thread_id":"${ROOT}"`,
    [name('09-16-00', grandchild)]: `{"source":{"subagent":{"thread_spawn":{"parent_thread_id":"${CHILD}"`,
    [name('09-17-00', stranger)]: `{"id":"${stranger}","source":"cli"`,
    [name('09-18-00', guardian)]: `{"session_id":"${ROOT}","source":{"subagent":{"other":"guardian"`,
  };
  const look: Look = {
    names: folder => (folder === day ? Object.keys(heads).sort() : []),
    head: path => heads[path.slice(day.length + 1)] ?? '',
  };
  const main = `${day}/${name('09-14-02', ROOT)}`;

  test("are those of its threads, of their threads, and of the program's own agents", () => {
    const place = { session: ROOT, cwd: undefined, main, subagents: [], home: '/home/dev', env: {} };
    expect(transcript.files(place, look)).toEqual([
      { path: main },
      { path: `${day}/${name('09-15-40', CHILD)}`, subagent: CHILD },
      { path: `${day}/${name('09-16-00', grandchild)}`, subagent: grandchild },
      { path: `${day}/${name('09-18-00', guardian)}`, subagent: undefined },
    ]);
  });

  test('are found in the folder of a later day and in every form', () => {
    const later = day.replace(/20$/, '21');
    const child = `${later}/rollout-2026-10-21T00-03-11-${CHILD}.jsonl`;
    const head = meta(0, { id: CHILD, parent_thread_id: ROOT }).replaceAll('":', '": ');
    const tree: Record<string, string[]> = {
      [day]: [name('09-14-02', ROOT)],
      [later]: [child.slice(later.length + 1)],
    };
    const files = transcript.files(
      { session: ROOT, cwd: undefined, main, subagents: [], home: '/home/dev', env: {} },
      { names: folder => tree[folder] ?? [], head: path => (path === child ? head : '') },
    );
    expect(files).toEqual([{ path: main }, { path: child, subagent: CHILD }]);
  });

  test('are found for an import, and a spawned thread is not a session', () => {
    const tree: Record<string, string[]> = {
      '/home/dev/.codex/sessions': ['2026'],
      '/home/dev/.codex/sessions/2026': ['10'],
      '/home/dev/.codex/sessions/2026/10': ['20'],
      [day]: [name('09-14-02', ROOT), 'notes.txt'],
    };
    const found = transcript.installed(
      { home: '/home/dev', project: '/', env: {} },
      { names: folder => tree[folder] ?? [], head: () => '' },
    );
    expect(found).toEqual([{ path: main }]);
    const rows = (line: string) => ({ rows: [JSON.parse(line) as Record<string, unknown>], document: undefined });
    expect(transcript.sessions({ path: main }, rows(meta(0)))).toEqual([{ session: ROOT, cwd: '/home/dev/shop' }]);
    expect(transcript.sessions({ path: main }, rows(meta(0, { parent_thread_id: ROOT })))).toEqual([]);
    expect(transcript.sessions({ path: main }, rows(meta(0, { source: { subagent: 'review' } })))).toEqual([]);
    expect(transcript.sessions({ path: main }, rows(began(0, 't1')))).toMatchObject([{ session: ROOT }]);
    expect(transcript.sessions({ path: '/copies/quay.jsonl' }, rows(began(0, 't1')))).toMatchObject([
      { session: 'quay' },
    ]);
    expect(transcript.sessions({ path: main }, rows(row(0, 'note', { type: 'x' })))).toEqual([]);
  });
});

test('a part of a rollout counts from its beginning', () => {
  const lines = [
    model(0, 'gpt-5.5'),
    counted(1_000, usage(9_000, 6_000, 120, 40), usage(700, 600, 20, 5)),
    counted(2_000, usage(9_900, 6_600, 130, 40), usage(900, 600, 10, 0)),
  ];
  expect(total(read(lines).readings)).toMatchObject({ responses: 2, input: 1_600, output: 30, reasoning: 5 });
});

test('a part of a rollout has the responses of the whole', () => {
  const lines = [
    counted(1_000, usage(700, 600, 20, 5), usage(700, 600, 20, 5)),
    counted(2_000, usage(1_600, 1_200, 30, 5), usage(900, 600, 10, 0)),
  ];
  const keys = (rows: readonly string[]) =>
    read(rows).readings.flatMap(each => (each.event_type === 'Model.Responded' ? [each.key] : []));
  expect(keys(lines.slice(1))).toEqual(keys([meta(0), ...lines]).slice(1));
});

test('a record after the total that contains it adds no response', () => {
  const record = (ms: number, id: string, used: object): string =>
    row(ms, 'token_usage_record', { response_id: id, turn_id: 't1', usage: used });
  const lines = [
    meta(0),
    began(1_000, 't1'),
    model(1_001, 'gpt-5.5'),
    counted(2_000, usage(100, 60, 10, 4)),
    record(2_001, 'resp_1', usage(100, 60, 10, 4)),
    counted(3_000, usage(320, 180, 25, 4), usage(220, 120, 15, 0)),
    record(3_001, 'resp_2', usage(220, 120, 15, 0)),
  ];
  expect(total(read(lines).readings)).toMatchObject({ responses: 2, input: 320, output: 25, cacheRead: 180 });
});

test('damaged, reordered or partial rollouts are read to the end', () => {
  const bent = fc.array(
    fc.tuple(fc.nat(turn.length - 1), fc.constantFrom('as it is', 'null', 'number', 'text', 'list'), fc.nat(30)),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(bent, picks => {
      const lines = picks.map(([index, how, place]) => {
        const line = turn[index] ?? '';
        if (how === 'as it is') return line;
        const value = { null: 'null', number: '-1e99', text: '"x"', list: '[[{}]]' }[how];
        let seen = 0;
        return line.replace(/:(?:"[^"]*"|\d+|null)/g, match => (seen++ === place ? `:${value}` : match));
      });
      expect(() => read(lines)).not.toThrow();
    }),
    { numRuns: 500 },
  );
});
