/**
 * Hooks and rollouts of Codex together: one event for facts that both report, and the outcome, which hooks do not know.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { patient } from '../../../src/transcripts/settlement.ts';
import { START_MS } from '../../play.ts';
import { type House, openHouse, tokensOf } from '../../transcripts/house.ts';

const ROOT = '019f2c1a-7b30-7c11-9a52-0e5d4f6a7b80';
const CHILD = '019f2c1b-0f6e-7a20-b1c3-5d4e3f2a1b09';

let house: House;
let main: string;
let childs: string;
beforeEach(() => {
  house = openHouse('codex', ROOT);
  const day = join(house.home, '.codex/sessions/2026/03/02');
  main = join(day, `rollout-2026-03-02T10-00-00-${ROOT}.jsonl`);
  childs = join(day, `rollout-2026-03-02T10-00-06-${CHILD}.jsonl`);
});
afterEach(() => house.close());

const row = (seconds: number, type: string, payload: object): object => ({
  timestamp: new Date(START_MS + seconds * 1_000).toISOString(),
  type,
  payload,
});
const messageRow = (seconds: number, type: string, more: object = {}): object =>
  row(seconds, 'event_msg', { type, ...more });
const began = (seconds: number, turn: string): object =>
  messageRow(seconds, 'task_started', { turn_id: turn, started_at: START_MS / 1_000 + Math.floor(seconds) });
const counted = (seconds: number, input: number, output: number): object =>
  messageRow(seconds, 'token_count', {
    info: { total_token_usage: { input_tokens: input, output_tokens: output, total_tokens: input + output } },
  });
const called = (seconds: number, call: string, name: string, args: object): object =>
  row(seconds, 'response_item', {
    type: 'function_call',
    name,
    arguments: JSON.stringify(args),
    call_id: call,
  });
const gave = (seconds: number, call: string, output: string): object =>
  row(seconds, 'response_item', { type: 'function_call_output', call_id: call, output });

const mainRows = (): object[] => [
  row(0, 'session_meta', { id: ROOT, timestamp: new Date(START_MS).toISOString(), model_provider: 'openai' }),
  began(1, 't1'),
  row(1, 'turn_context', { turn_id: 't1', model: 'gpt-5.5' }),
  called(3, 'c1', 'exec_command', { cmd: 'npm test' }),
  counted(3.1, 9_000, 100),
  gave(5, 'c1', 'Wall time: 1.5000 seconds\nProcess exited with code 2\nOutput:\ncanary'),
  called(6, 'c2', 'spawn_agent', { agent_type: 'explorer', message: 'look' }),
  counted(6.1, 18_500, 150),
  gave(6.3, 'c2', JSON.stringify({ agent_id: CHILD })),
  called(7, 'c3', 'exec_command', { cmd: 'rm -r dist' }),
  counted(7.1, 28_000, 180),
  gave(9, 'c3', 'exec_command failed: CreateProcess { message: "Rejected(\\"no\\")" }'),
  counted(12, 38_000, 200),
  messageRow(12.1, 'task_complete', { turn_id: 't1', last_agent_message: 'done' }),
];
const childRows = (): object[] => [
  row(6.2, 'session_meta', {
    id: CHILD,
    timestamp: new Date(START_MS + 6_200).toISOString(),
    model_provider: 'openai',
    source: { subagent: { thread_spawn: { parent_thread_id: ROOT, depth: 1, agent_role: 'explorer' } } },
  }),
  began(6.3, 't1c'),
  row(6.4, 'turn_context', { turn_id: 't1c', model: 'gpt-5.5-mini' }),
  called(8, 'c4', 'exec_command', { cmd: 'ls' }),
  counted(8.1, 500, 5),
  gave(8.4, 'c4', 'Wall time: 0.1000 seconds\nProcess exited with code 0\nOutput:\n'),
  counted(10, 1_100, 11),
  messageRow(10.1, 'task_complete', { turn_id: 't1c', last_agent_message: 'seen' }),
];

const hookOf = (seconds: number, event: string, fields: object = {}): [number, string, object] => [
  seconds,
  event,
  { transcript_path: main, model: 'gpt-5.5', permission_mode: 'default', ...fields },
];
const hook = (...fields: Parameters<typeof hookOf>): void => house.hook(...hookOf(...fields));
const turn = { turn_id: 't1' };
const shell = (id: string, command: string): object => ({
  tool_name: 'Bash',
  tool_input: { command },
  tool_use_id: id,
});
const child = { turn_id: 't1c', agent_id: CHILD, agent_type: 'explorer' };
const spawn = { tool_name: 'spawn_agent', tool_input: { agent_type: 'explorer' }, tool_use_id: 'c2' };

const allHooks = (): [number, string, object][] => [
  hookOf(1.01, 'SessionStart', { source: 'startup' }),
  hookOf(1.02, 'UserPromptSubmit', { ...turn, prompt: 'go' }),
  hookOf(3.05, 'PreToolUse', { ...turn, ...shell('c1', 'npm test') }),
  hookOf(5, 'PostToolUse', { ...turn, ...shell('c1', 'npm test'), tool_response: 'canary' }),
  hookOf(6.05, 'PreToolUse', { ...turn, ...spawn }),
  hookOf(6.31, 'PostToolUse', { ...turn, ...spawn, tool_response: JSON.stringify({ agent_id: CHILD }) }),
  hookOf(6.4, 'SubagentStart', child),
  hookOf(7.05, 'PreToolUse', { ...turn, ...shell('c3', 'rm -r dist') }),
  hookOf(7.06, 'PermissionRequest', { ...turn, ...shell('', 'rm -r dist'), tool_use_id: undefined }),
  hookOf(8.05, 'PreToolUse', { ...child, ...shell('c4', 'ls') }),
  hookOf(8.4, 'PostToolUse', { ...child, ...shell('c4', 'ls'), tool_response: '' }),
  hookOf(10.2, 'SubagentStop', { ...child, agent_transcript_path: childs, last_assistant_message: 'seen' }),
  hookOf(12.2, 'Stop', { ...turn, stop_hook_active: false, last_assistant_message: 'done' }),
  hookOf(20, 'SessionEnd', { reason: 'other' }),
];
function hooks(): void {
  for (const each of allHooks()) house.hook(...each);
}

test('hooks and rollouts make one tree, with the outcomes of the rollout and every token once', () => {
  house.write(main, ...mainRows());
  house.write(childs, ...childRows());
  hooks();
  house.round();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session codex                           +0ms    19.0s
    +- invoke_agent codex                   +0ms    11.1s
       +- chat gpt-5.5                      +0ms    2.00s
       +- execute_tool Bash (npm)         +2.50s    1.50s  ERROR exit_code, exit 2
       +- chat gpt-5.5                    +4.00s    1.00s
       +- execute_tool spawn_agent        +5.00s    300ms
          +- invoke_agent explorer        +5.30s    3.80s
             +- chat gpt-5.5-mini         +5.30s    1.70s
             +- execute_tool Bash (ls)    +7.30s    100ms
             +- chat gpt-5.5-mini         +7.40s    1.60s
       +- chat gpt-5.5                    +5.30s    700ms
       +- execute_tool Bash (rm)          +6.00s    2.00s  denied (unknown)
       +- chat gpt-5.5                    +8.00s    3.00s
    "
  `);
  expect(tokensOf(house.spans())).toEqual({ calls: 6, input: 39_100, output: 211 });
  const outcomes = house.spans().flatMap(span => (span.kind === 'action' ? [`${span.call} ${span.outcome}`] : []));
  expect(outcomes.sort()).toEqual(['c1 failure', 'c2 success', 'c3 denied', 'c4 success']);
  expect(JSON.stringify(house.events())).not.toContain('canary');
});

test('rollouts alone report the same calls, answers and tokens', () => {
  house.write(main, ...mainRows());
  house.write(childs, ...childRows());
  // A hook of another kind opens the session, and names its rollout.
  hook(0.5, 'PreCompact', { trigger: 'auto' });
  hook(30, 'SessionEnd', { reason: 'other' });
  house.round();
  expect(tokensOf(house.spans())).toEqual({ calls: 6, input: 39_100, output: 211 });
  const calls = house.spans().flatMap(span => (span.kind === 'action' ? [`${span.call} ${span.outcome}`] : []));
  expect(calls.sort()).toEqual(['c1 failure', 'c2 success', 'c3 denied', 'c4 success']);
});

test.each([2, 3, 5])('a rollout that is written during %i rounds gives the same events', parts => {
  const rows = mainRows();
  hooks();
  let waiting: readonly string[] = [];
  for (let part = 0; part < parts; part += 1) {
    house.write(main, ...rows.slice((rows.length * part) / parts, (rows.length * (part + 1)) / parts));
    if (part === 0) house.write(childs, ...childRows());
    waiting = house.round({ nowMs: START_MS + 21_000 + part, waits: patient, due: { waiting } }).waiting;
  }
  expect(tokensOf(house.spans())).toEqual({ calls: 6, input: 39_100, output: 211 });
  const turns = house.spans().filter(span => span.kind === 'turn');
  expect(turns).toMatchObject([{ usage: { calls: 4, input: 38_000 }, failed: 1, denied: 1, complete: true }]);
});

test('any division of hooks and rollouts into rounds gives the same session', () => {
  const whole = (): string[] => [
    ...house.spans().flatMap(span => (span.kind === 'action' ? [`${span.call} ${span.outcome}`] : [])),
    ...house
      .spans()
      .flatMap(span => (span.kind === 'turn' ? [`turn ${span.turn} ${span.outcome} ${span.failed}`] : [])),
    ...house.spans().flatMap(span => (span.kind === 'subagent' ? [`subagent ${span.id} ${span.outcome}`] : [])),
    JSON.stringify(tokensOf(house.spans())),
  ];
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(share, share, share), { maxLength: 3 }), cuts => {
      house.close();
      house = openHouse('codex', ROOT);
      const day = join(house.home, '.codex/sessions/2026/03/02');
      main = join(day, `rollout-2026-03-02T10-00-00-${ROOT}.jsonl`);
      childs = join(day, `rollout-2026-03-02T10-00-06-${CHILD}.jsonl`);
      const rest = { hooks: allHooks(), main: mainRows(), child: childRows() };
      // The file exists before the first call.
      house.write(main, ...rest.main.splice(0, 1));
      const take = <T>(list: T[], part: number): T[] => list.splice(0, Math.round(list.length * part));
      let waiting: readonly string[] = [];
      for (const [i, [ofHooks, ofMain, ofChild]] of [...cuts, [1, 1, 1] as const].entries()) {
        house.write(main, ...take(rest.main, ofMain));
        house.write(childs, ...take(rest.child, ofChild));
        for (const each of take(rest.hooks, ofHooks)) house.hook(...each);
        const nowMs = START_MS + 21_000 + i * 1_000;
        waiting = house.round({ nowMs, waits: patient, due: { waiting } }).waiting;
      }
      expect(waiting).toEqual([]);
      expect(whole().sort()).toEqual(
        [
          'c1 failure',
          'c2 success',
          'c3 denied',
          'c4 success',
          'turn t1 completed 1',
          `subagent ${CHILD} completed`,
          JSON.stringify({ calls: 6, input: 39_100, output: 211 }),
        ].sort(),
      );
      const ids = house.events().map(event => event.event_id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const span of house.spans()) expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
    }),
    { numRuns: 8 },
  );
});
