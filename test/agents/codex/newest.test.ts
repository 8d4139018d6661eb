/** Codex 0.169: hooks and paginated rollouts of one session. Rows and payloads follow recordings of this version. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FinishedSpan } from '../../../src/assemble/finished.ts';
import { START_MS } from '../../play.ts';
import { type House, openHouse, tokensOf } from '../../transcripts/house.ts';

const ROOT = '019f2c1a-7b30-7c11-9a52-0e5d4f6a7b80';
const CHILD = '019f2c1b-0f6e-7a20-b1c3-5d4e3f2a1b09';
const NESTED = 'exec-1dc37c64-23cb-4067-b990-63aea4635a07';

let house: House;
let main: string;
let childs: string;
beforeEach(() => open());
afterEach(() => house.close());
function open(): void {
  house = openHouse('codex', ROOT);
  const day = join(house.home, '.codex/sessions/2026/03/02');
  main = join(day, `rollout-2026-03-02T10-00-00-${ROOT}.jsonl`);
  childs = join(day, `rollout-2026-03-02T10-00-06-${CHILD}.jsonl`);
}

const ms = (seconds: number): number => START_MS + Math.round(seconds * 1_000);
const row = (seconds: number, type: string, payload: object): object => ({
  timestamp: new Date(ms(seconds)).toISOString(),
  type,
  payload,
});
const message = (seconds: number, type: string, more: object = {}): object =>
  row(seconds, 'event_msg', { type, ...more });
const item = (seconds: number, type: string, more: object): object => row(seconds, 'response_item', { type, ...more });
const completed = (seconds: number, fields: object, fromSeconds = seconds): object =>
  message(seconds, 'item_completed', { item: fields, started_at_ms: ms(fromSeconds), completed_at_ms: ms(seconds) });
const header = (id: string, more: object = {}): object =>
  row(0, 'session_meta', {
    session_id: ROOT,
    id,
    timestamp: new Date(ms(0)).toISOString(),
    cwd: '/w',
    model_provider: 'mock',
    ...more,
  });
const spawnedBy = (parent: string): object => ({
  parent_thread_id: parent,
  source: { subagent: { thread_spawn: { parent_thread_id: parent, depth: 1, agent_role: 'explorer' } } },
});
const began = (seconds: number, turn: string, trigger = 'exec', policy = 'never'): object[] => [
  message(seconds, 'task_started', { turn_id: turn, turn_attribution: { turn_id: turn, turn_trigger: trigger } }),
  row(seconds, 'turn_context', { turn_id: turn, model: 'gpt-5.5', approval_policy: policy }),
];
const called = (seconds: number, call: string, name: string, args: object, namespace?: string): object =>
  item(seconds, 'function_call', { name, namespace, arguments: JSON.stringify(args), call_id: call });
const used = (seconds: number, response: string, input: number, turn = 't1'): object =>
  row(seconds, 'token_usage_record', {
    turn_id: turn,
    response_id: response,
    usage: { input_tokens: input, output_tokens: 1, total_tokens: input + 1 },
  });
const output = (seconds: number, call: string, text: string): object =>
  item(seconds, 'function_call_output', { call_id: call, output: text });
const ran = (seconds: number, call: string, line: string, code: number, took: number): object =>
  completed(
    seconds,
    {
      type: 'CommandExecution',
      id: call,
      command: ['/bin/bash', '-lc', line],
      exit_code: code,
      status: code === 0 ? 'completed' : 'failed',
      duration: { secs: Math.floor(took), nanos: Math.round((took % 1) * 1e9) },
    },
    seconds - took,
  );
const ended = (seconds: number, turn: string, more: object = {}): object =>
  message(seconds, 'task_complete', { turn_id: turn, last_agent_message: 'done', ...more });

const mode = { permission_mode: 'bypassPermissions' };
const hook = (seconds: number, event: string, fields: object = {}): void =>
  house.hook(seconds, event, { transcript_path: main, model: 'gpt-5.5', turn_id: 't1', ...mode, ...fields });
const pre = (seconds: number, call: string, tool: string, input: object, more: object = {}): void =>
  hook(seconds, 'PreToolUse', { tool_name: tool, tool_input: input, tool_use_id: call, ...more });
const post = (seconds: number, call: string, tool: string, input: object, more: object = {}): void =>
  hook(seconds, 'PostToolUse', { tool_name: tool, tool_input: input, tool_use_id: call, tool_response: '', ...more });
const start = (): void => {
  hook(0.1, 'SessionStart', { source: 'startup', turn_id: undefined });
  hook(0.2, 'UserPromptSubmit', { prompt: 'go' });
};
const stop = (seconds: number): void => {
  hook(seconds, 'Stop', { stop_hook_active: false, last_assistant_message: 'done' });
  hook(seconds + 0.5, 'SessionEnd', { reason: 'other', turn_id: undefined });
};

const actions = (spans: readonly FinishedSpan[] = house.spans()): string[] =>
  spans.flatMap(span => {
    if (span.kind !== 'action') return [];
    const at = [span.startMs, span.endMs].map(each => ((each - START_MS) / 1_000).toFixed(1)).join('-');
    const decision = span.decision === undefined ? '' : ` ${span.decision.outcome} by ${span.decision.source}`;
    return [
      `${span.tool} ${span.call} ${at} ${span.outcome}${span.exitCode === undefined ? '' : ` ${span.exitCode}`}${decision}`,
    ];
  });
const turns = (): string[] =>
  house.spans().flatMap(span => (span.kind === 'turn' ? [`${span.turn} ${span.outcome} ${span.actor?.type}`] : []));

/** The session without hooks: the same files, imported into an empty state. */
function imported(...files: [path: () => string, rows: object[]][]): readonly FinishedSpan[] {
  house.close();
  open();
  for (const [path, rows] of files) house.write(path(), ...rows);
  house.import();
  return house.spans();
}

describe('the end of a call', () => {
  const rows = (): object[] => [
    header(ROOT),
    ...began(0.1, 't1'),
    called(1, 'c1', 'exec_command', { cmd: 'sleep 30' }),
    called(1, 'c2', 'get_goal', {}),
    called(1, 'c3', 'exec_command', { cmd: 'ls' }),
    used(1.1, 'r1', 10),
    output(31, 'c1', 'Wall time: 30.0000 seconds\nProcess exited with code 0\nOutput:\n'),
    output(31, 'c2', '{"goal":null}'),
    output(31, 'c3', 'Wall time: 0.5000 seconds\nProcess exited with code 0\nOutput:\n'),
    used(32, 'r2', 10),
    ended(33, 't1'),
  ];

  test('is the end of its hook if the rollout writes its output later', () => {
    house.write(main, ...rows());
    start();
    pre(1.01, 'c1', 'Bash', { command: 'sleep 30' });
    pre(1.02, 'c2', 'get_goal', {});
    pre(1.03, 'c3', 'Bash', { command: 'ls' });
    post(1.1, 'c2', 'get_goal', {});
    post(1.6, 'c3', 'Bash', { command: 'ls' });
    post(31, 'c1', 'Bash', { command: 'sleep 30' });
    stop(33.1);
    house.round();
    expect(actions()).toEqual([
      'Bash c1 1.0-31.0 success 0 allow by mode',
      'get_goal c2 1.0-1.1 success allow by mode',
      'Bash c3 1.0-1.5 success 0 allow by mode',
    ]);
  });

  test('is at most its stated time after its start if its output waited behind another one', () => {
    expect(actions(imported([() => main, rows()]))).toEqual([
      'Bash c1 1.0-31.0 success 0 allow by mode',
      'get_goal c2 1.0-31.0 success allow by mode',
      'Bash c3 1.0-1.5 success 0 allow by mode',
    ]);
  });

  test('is the end of its turn if the program ends its command afterwards', () => {
    house.write(
      main,
      header(ROOT),
      ...began(0.1, 't1'),
      called(1, 'c1', 'exec_command', { cmd: 'sleep 60' }),
      used(1.1, 'r1', 10),
      output(2, 'c1', 'Wall time: 1.0016 seconds\nProcess running with session ID 65084\nOutput:\n'),
      used(3, 'r2', 10),
      ended(3.1, 't1'),
      ran(3.3, 'c1', 'sleep 60', -1, 2.2),
    );
    start();
    pre(1.01, 'c1', 'Bash', { command: 'sleep 60' });
    stop(3.2);
    house.round();
    expect(turns()).toEqual(['t1 completed user']);
    expect(actions()).toEqual(['Bash c1 1.1-3.1 failure -1 allow by mode']);
  });
});

describe('a subagent', () => {
  const child = { agent_id: CHILD, agent_type: 'explorer', turn_id: 't1c' };
  const childRows = (): object[] => [
    header(CHILD, spawnedBy(ROOT)),
    ...began(2.1, 't1c'),
    called(3, 'c2', 'exec_command', { cmd: 'exit 2' }),
    used(3.1, 'r2', 20, 't1c'),
    ran(3.5, 'c2', 'exit 2', 2, 0.1),
    output(3.6, 'c2', 'Wall time: 0.1000 seconds\nProcess exited with code 2\nOutput:\n'),
    used(4, 'r3', 40, 't1c'),
    ended(4.1, 't1c'),
  ];
  const mainRows = (namespace: string, spawned: object, answer: string): object[] => [
    header(ROOT),
    ...began(0.1, 't1'),
    called(1, 'c1', 'spawn_agent', { agent_type: 'explorer' }, namespace),
    used(1.1, 'r1', 10),
    completed(2, { id: 'c1', ...spawned }),
    output(2.1, 'c1', answer),
    called(2.2, 'c3', 'wait_agent', { timeout_ms: 1 }, namespace),
    used(2.3, 'r4', 80),
    completed(5, { type: 'CollabAgentToolCall', id: 'c3', tool: 'wait', status: 'completed' }),
    output(5.1, 'c3', '{"timed_out":false}'),
    used(6, 'r5', 160),
    ended(6.1, 't1'),
  ];
  const hooks = (spawn: string, wait: string, answer: string): void => {
    start();
    pre(1.01, 'c1', spawn, { agent_type: 'explorer' });
    post(2.1, 'c1', spawn, { agent_type: 'explorer' }, { tool_response: answer });
    hook(2.12, 'SubagentStart', { ...child, transcript_path: childs });
    pre(2.21, 'c3', wait, { timeout_ms: 1 });
    pre(3.05, 'c2', 'Bash', { command: 'exit 2' }, { ...child, transcript_path: childs });
    post(3.55, 'c2', 'Bash', { command: 'exit 2' }, { ...child, transcript_path: childs });
    hook(4.15, 'SubagentStop', { ...child, agent_transcript_path: childs, stop_hook_active: false });
    post(5.02, 'c3', wait, { timeout_ms: 1 });
    stop(6.2);
  };
  const tree = `session codex +0ms 6.60s
+- invoke_agent codex +0ms 6.00s
 +- chat gpt-5.5 +0ms 900ms
 +- execute_tool spawn_agent +900ms 1.00s allowed (mode, inferred)
 +- invoke_agent explorer +2.00s 2.00s
 +- chat gpt-5.5 +2.00s 900ms
 +- execute_tool Bash (exit) +3.30s 100ms ERROR exit_code, allowed (mode, inferred),~
 +- chat gpt-5.5 +3.50s 400ms
 +- chat gpt-5.5 +2.00s 100ms
 +- execute_tool wait_agent +2.10s 2.80s allowed (mode, inferred)
 +- chat gpt-5.5 +5.00s 900ms
`;
  const v1 = [
    'multi_agent_v1',
    { type: 'CollabAgentToolCall', tool: 'spawn_agent', status: 'completed', receiver_thread_ids: [CHILD] },
    `{"agent_id":"${CHILD}"}`,
  ] as const;
  const v2 = [
    'collaboration',
    { type: 'SubAgentActivity', kind: 'started', agent_thread_id: CHILD },
    '{"task_name":"/team/a"}',
  ] as const;

  test.each([
    { kind: 'v1', rows: v1, spawn: 'spawn_agent', wait: 'multi_agent_v1wait_agent' },
    { kind: 'collaboration', rows: v2, spawn: 'collaborationspawn_agent', wait: 'collaborationwait_agent' },
  ])('of kind $kind has its own rollout, which its hooks name', ({ rows, spawn, wait }) => {
    for (const isDelivered of [false, true]) {
      house.close();
      open();
      house.write(main, ...mainRows(rows[0], rows[1], rows[2]));
      house.write(childs, ...childRows());
      hooks(spawn, wait, rows[2]);
      if (isDelivered) house.round();
      house.round();
      expect(house.tree().replaceAll(/ +/g, ' ')).toBe(tree);
      expect(tokensOf(house.spans())).toEqual({ calls: 5, input: 310, output: 5 });
    }
    expect(house.ledger().counters).toEqual({});
  });

  test('whose turn was aborted is abandoned', () => {
    const rows = childRows().slice(0, 4);
    const aborted = message(4.2, 'turn_aborted', { turn_id: 't1c', reason: 'interrupted' });
    const ofMain = mainRows(v1[0], v1[1], v1[2]).slice(0, 6);
    const spans = imported([() => main, [...ofMain, ended(4, 't1')]], [() => childs, [...rows, aborted]]);
    expect(spans.find(span => span.kind === 'subagent')).toMatchObject({ outcome: 'abandoned' });
  });

  test('is linked to its call by the rollout if the hook comes first', () => {
    const rows = mainRows(v2[0], v2[1], v2[2]);
    house.write(main, ...rows.slice(0, 3));
    house.write(childs, ...childRows());
    start();
    pre(1.01, 'c1', 'collaborationspawn_agent', { agent_type: 'explorer' });
    post(2.1, 'c1', 'collaborationspawn_agent', { agent_type: 'explorer' });
    hook(2.12, 'SubagentStart', { ...child, transcript_path: childs });
    house.round({ nowMs: ms(2.2) });
    house.write(main, ...rows.slice(3));
    hook(4.15, 'SubagentStop', { ...child, agent_transcript_path: childs, stop_hook_active: false });
    stop(6.2);
    house.round();
    expect(house.spans().find(span => span.kind === 'subagent')).toMatchObject({ launchedBy: 'c1' });
  });
});

describe('code mode', () => {
  const script = 'const r = await tools.exec_command({cmd: "exit 5"}); text(r);';
  const rows = (): object[] => [
    header(ROOT),
    ...began(0.1, 't1'),
    item(1, 'custom_tool_call', { name: 'exec', input: script, call_id: 'c1' }),
    used(1.1, 'r1', 10),
    ran(2, NESTED, 'exit 5', 5, 0.8),
    item(2.2, 'custom_tool_call_output', {
      call_id: 'c1',
      output: [{ type: 'input_text', text: 'Script completed\nWall time 1.1 seconds\nOutput:\n' }],
    }),
    used(3, 'r2', 10),
    ended(3.1, 't1'),
  ];
  const expected = [`Bash ${NESTED} 1.2-2.0 failure 5 allow by mode`, 'exec c1 1.0-2.2 success'];

  test('gives nested commands their exit code, with hooks and without', () => {
    house.write(main, ...rows());
    start();
    pre(1.1, NESTED, 'Bash', { command: 'exit 5' });
    post(2.1, NESTED, 'Bash', { command: 'exit 5' });
    stop(3.2);
    house.round();
    expect(actions().sort()).toEqual(expected);
    expect(actions(imported([() => main, rows()])).sort()).toEqual(expected);
  });
});

describe('a refusal', () => {
  test.each([
    ['hook', 'Command blocked by PreToolUse hook: no. Command: rm x'],
    [
      'config',
      'exec_command failed: CreateProcess { message: "Rejected(\\"`rm x` rejected: policy forbids commands starting with `rm`\\")" }',
    ],
    [
      'mode',
      'approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never',
    ],
    ['sandbox', 'patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings'],
  ])('states that the %s refused', (source, text) => {
    house.write(
      main,
      header(ROOT),
      ...began(0.1, 't1'),
      called(1, 'c1', 'exec_command', { cmd: 'rm x' }),
      used(1.1, 'r1', 10),
      output(1.2, 'c1', text),
      used(2, 'r2', 10),
      ended(2.1, 't1'),
    );
    start();
    pre(1.05, 'c1', 'Bash', { command: 'rm x' });
    stop(2.2);
    house.round();
    expect(actions()).toEqual([`Bash c1 1.0-1.2 denied deny by ${source}`]);
  });
});

describe('an interruption in the terminal', () => {
  const rows = (args: object): object[] => [
    header(ROOT),
    ...began(0.1, 't1', 'user', 'on-request'),
    called(1, 'c1', 'exec_command', args),
    used(1.1, 'r1', 10),
    output(3, 'c1', 'Wall time: 2.0 seconds\naborted by user'),
    message(3.01, 'turn_aborted', { turn_id: 't1', reason: 'interrupted' }),
  ];
  const hooks = (isAsked: boolean): void => {
    Object.assign(mode, { permission_mode: 'default' });
    start();
    pre(1.05, 'c1', 'Bash', { command: 'make' });
    if (isAsked)
      hook(1.1, 'PermissionRequest', { tool_name: 'Bash', tool_input: { command: 'make', description: 'why' } });
    hook(3.02, 'Interrupt');
    hook(4, 'SessionEnd', { reason: 'other', turn_id: undefined });
    house.round();
    Object.assign(mode, { permission_mode: 'bypassPermissions' });
  };

  test('of a command that runs interrupts the command', () => {
    house.write(main, ...rows({ cmd: 'make' }));
    hooks(false);
    expect(actions()).toEqual(['Bash c1 1.0-3.0 interrupted']);
    expect(turns()).toEqual(['t1 interrupted user']);
    expect(actions(imported([() => main, rows({ cmd: 'make' })]))).toEqual(['Bash c1 1.0-3.0 interrupted']);
  });

  test.each([{ cmd: 'make', sandbox_permissions: 'require_escalated' }, { cmd: 'make' }])(
    'while the user is asked about a command refuses it: %j',
    args => {
      house.write(main, ...rows(args));
      hooks(true);
      expect(actions()).toEqual(['Bash c1 1.0-3.0 denied deny by user']);
      if (args.sandbox_permissions === undefined) return;
      expect(actions(imported([() => main, rows(args)]))).toEqual(['Bash c1 1.0-3.0 denied deny by user']);
    },
  );
});

test('a failed request begins when it was sent', () => {
  house.write(
    main,
    header(ROOT),
    ...began(0.1, 't1'),
    called(1, 'c1', 'exec_command', { cmd: 'ls' }),
    used(1.1, 'r1', 10),
    output(2, 'c1', 'Wall time: 0.5000 seconds\nProcess exited with code 0\nOutput:\n'),
    ended(5, 't1', { last_agent_message: null, error: { message: 'no', codex_error_info: 'other' } }),
  );
  start();
  pre(1.01, 'c1', 'Bash', { command: 'ls' });
  post(2, 'c1', 'Bash', { command: 'ls' });
  hook(5.5, 'SessionEnd', { reason: 'other', turn_id: undefined });
  house.round();
  const failed = house.spans().find(span => span.kind === 'chat' && span.errorType !== undefined);
  expect(failed).toMatchObject({ startMs: ms(2), endMs: ms(5), model: 'gpt-5.5', duration: 'transcript' });
});

test('the response after a compaction begins after it', () => {
  house.write(
    main,
    header(ROOT),
    ...began(0.1, 't1'),
    used(1, 'r1', 10),
    row(1.2, 'compacted', { message: 'summary' }),
    used(3, 'r2', 10),
    ended(3.1, 't1'),
  );
  start();
  stop(3.2);
  house.round();
  const starts = house.spans().flatMap(span => (span.kind === 'chat' ? [span.startMs - START_MS] : []));
  expect(starts).toEqual([100, 1_200]);
});

describe('a rollout without hooks', () => {
  const turn = (seconds: number, id: string, trigger: string): object[] => [
    ...began(seconds, id, trigger),
    used(seconds + 1, `r-${id}`, 10, id),
    ended(seconds + 2, id),
  ];
  const starts = (): unknown[] =>
    house.spans().flatMap(span => (span.kind === 'session' ? [[span.startReason, span.mode, span.turns]] : []));

  test('states the mode, and that a headless run resumed the session', () => {
    imported([() => main, [header(ROOT), ...turn(1, 't1', 'exec'), ...turn(10, 't2', 'exec')]]);
    expect(starts()).toEqual([
      ['new', 'agent', 1],
      ['resume', 'agent', 1],
    ]);
  });

  test('takes the turns of a terminal as one session', () => {
    imported([() => main, [header(ROOT), ...turn(1, 't1', 'user'), ...turn(10, 't2', 'user')]]);
    expect(starts()).toEqual([['new', 'agent', 2]]);
  });

  test('of a subagent leads to the session of its parent', () => {
    house.write(main, header(ROOT), ...turn(1, 't1', 'exec'));
    house.write(childs, header(CHILD, spawnedBy(ROOT)), ...turn(1.5, 't1c', 'exec'));
    house.import({ paths: [childs] });
    expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 20, output: 2 });
  });
});
