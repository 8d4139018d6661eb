/** Hooks of Gemini CLI and its chats together: hooks report prompts and answers, the chat calls and tokens. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { patient } from '../../../src/transcripts/settlement.ts';
import { START_MS } from '../../play.ts';
import { type House, openHouse, tokensOf } from '../../transcripts/house.ts';

const ROOT = '5b8e1f02-3c4d-4e5f-8a6b-7c8d9e0f1a2b';

let house: House;
let main: string;
beforeEach(() => {
  house = openHouse('gemini-cli', ROOT);
  main = join(house.home, '.gemini/tmp/shop/chats/session-2026-03-02T10-00-5b8e1f02.jsonl');
});
afterEach(() => house.close());

const at = (seconds: number): string => new Date(START_MS + seconds * 1_000).toISOString();
const header = { sessionId: ROOT, projectHash: 'p', startTime: at(0), lastUpdated: at(0), kind: 'main' };
const messageRow = (seconds: number, id: string, type: string, content: unknown, more: object = {}): object => ({
  id,
  timestamp: at(seconds),
  type,
  content,
  ...more,
});
const tokens = (input: number, output: number): object => ({
  model: 'gemini-3-pro',
  tokens: { input, output, cached: 0, thoughts: 2, tool: 0, total: input + output + 2 },
});
const call = {
  id: 'run_shell_command__x',
  name: 'run_shell_command',
  args: { command: 'npm test' },
  result: [{ functionResponse: { response: { output: 'Output: Exit Code: 9\nExit Code: 1\nProcess Group PGID: 7' } } }],
  resultDisplay: 'Exit Code: 9',
  status: 'success',
  timestamp: at(5),
};
const launch = { name: 'invoke_agent', args: { agent_name: 'scout' }, status: 'success', timestamp: at(5) };
const rows = (): object[] => [
  header,
  messageRow(1, 'u1', 'user', [{ text: 'go' }]),
  messageRow(3, 'g1', 'gemini', '', tokens(100, 8)),
  messageRow(3, 'g1', 'gemini', '', { ...tokens(100, 8), toolCalls: [call] }),
  messageRow(5.1, 'u2', 'user', [{ functionResponse: {} }]),
  messageRow(8, 'g2', 'gemini', 'done', tokens(120, 3)),
];

const hook = (seconds: number, event: string, fields: object = {}): void =>
  house.hook(seconds, event, { transcript_path: main, timestamp: at(seconds), ...fields });
const shell = { tool_name: 'run_shell_command', tool_input: { command: 'npm test' } };

function hooks(): void {
  hook(0, 'SessionStart', { source: 'startup' });
  hook(1, 'BeforeAgent', { prompt: 'go' });
  hook(3.1, 'BeforeTool', shell);
  hook(5, 'AfterTool', { ...shell, tool_response: { llmContent: 'Output: x\nExit Code: 1', returnDisplay: 'x' } });
  hook(8.1, 'AfterAgent', { prompt: 'go', prompt_response: 'done', stop_hook_active: false });
}

test('hooks and a chat make one tree, and every answer counts once', () => {
  house.write(main, ...rows());
  hooks();
  hook(9, 'SessionEnd', { reason: 'exit' });
  house.round();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session gemini-cli                              +0ms    9.00s  exit
    +- invoke_agent gemini-cli                    +1.00s    7.10s
       +- chat gemini-3-pro                       +1.00s    2.00s
       +- execute_tool run_shell_command (npm)    +3.00s    2.00s  ERROR exit_code, exit 1
       +- chat gemini-3-pro                       +5.10s    2.90s
    "
  `);
  expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 220, output: 15 });
});

test('delivery waits for an answer that is not written yet', () => {
  const all = rows();
  house.write(main, ...all.slice(0, 5));
  hooks();
  const first = house.round({ nowMs: START_MS + 9_000, waits: patient });
  expect(first.waiting).toHaveLength(1);
  expect(house.spans().filter(span => span.kind === 'turn')).toEqual([]);
  house.write(main, ...all.slice(5));
  house.round({ nowMs: START_MS + 10_000, waits: patient, due: { waiting: first.waiting } });
  expect(house.spans().find(span => span.kind === 'turn')).toMatchObject({ complete: true, usage: { calls: 2 } });
});

test('a call that a policy refused is denied, and one that a person stopped is interrupted', () => {
  const refused = { functionResponse: { response: { error: 'Tool execution denied by policy.' } } };
  house.write(
    main,
    ...rows().slice(0, 3),
    messageRow(3, 'g1', 'gemini', '', {
      ...tokens(100, 8),
      toolCalls: [
        { ...call, id: 'c1', status: 'error', result: [refused], resultDisplay: 'Tool execution denied by policy.' },
        { ...call, id: 'c2', status: 'cancelled', result: [] },
      ],
    }),
    messageRow(8, 'g2', 'gemini', 'done', tokens(120, 3)),
  );
  hook(1, 'BeforeAgent', { prompt: 'go' });
  hook(3.1, 'BeforeTool', shell);
  hook(3.2, 'BeforeTool', shell);
  hook(8.1, 'AfterAgent', { prompt: 'go', prompt_response: 'done', stop_hook_active: false });
  hook(9, 'SessionEnd', { reason: 'exit' });
  house.round();
  const outcomes = house.spans().flatMap(span => (span.kind === 'action' ? [span.outcome] : []));
  expect(outcomes.sort()).toEqual(['denied', 'interrupted']);
});

test('a call that runs when a signal ends the program is recorded, although the chat lacks it', () => {
  house.write(main, ...rows().slice(0, 3));
  hook(1, 'BeforeAgent', { prompt: 'go' });
  hook(3.1, 'BeforeTool', shell);
  hook(5, 'SessionEnd', { reason: 'exit' });
  house.round();
  expect(house.spans().flatMap(span => (span.kind === 'action' ? [[span.tool, span.outcome]] : []))).toEqual([
    ['run_shell_command', 'abandoned'],
  ]);
});

test('only its own file reports a subagent, under the call that the chat names', () => {
  const agents = join(main, '..', ROOT, 'agent-7.jsonl');
  house.write(
    main,
    header,
    messageRow(1, 'u1', 'user', [{ text: 'go' }]),
    messageRow(3, 'g1', 'gemini', '', {
      ...tokens(10, 1),
      toolCalls: [
        { ...launch, id: 'l1' },
        { ...launch, id: 'l2', agentId: 'agent-7' },
      ],
    }),
    messageRow(9, 'g2', 'gemini', 'done', tokens(120, 3)),
  );
  house.write(
    agents,
    { ...header, startTime: at(3.2), lastUpdated: at(3.2), kind: 'subagent' },
    messageRow(3.3, 's1', 'user', [{ text: 'look' }]),
    messageRow(4, 's2', 'gemini', '', {
      ...tokens(50, 5),
      toolCalls: [{ ...call, name: 'complete_task', timestamp: at(4.5) }],
    }),
  );
  hook(1, 'BeforeAgent', { prompt: 'go' });
  hook(3.1, 'BeforeTool', { tool_name: 'invoke_agent', tool_input: { agent_name: 'scout', prompt: 'look' } });
  hook(5, 'AfterTool', {
    tool_name: 'invoke_agent',
    tool_input: { agent_name: 'scout', prompt: 'look' },
    tool_response: { llmContent: 'seen', returnDisplay: 'seen' },
  });
  hook(9.1, 'AfterAgent', { prompt: 'go', prompt_response: 'done', stop_hook_active: false });
  hook(20, 'SessionEnd', { reason: 'exit' });
  house.round();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session gemini-cli                          +0ms    19.0s  exit
    +- invoke_agent gemini-cli                  +0ms    8.10s
       +- chat gemini-3-pro                     +0ms    2.00s
       +- execute_tool invoke_agent           +2.00s    2.00s
          +- invoke_agent scout               +2.20s    1.30s
             +- chat gemini-3-pro             +2.30s    700ms
             +- execute_tool complete_task    +3.00s    500ms
       +- execute_tool invoke_agent           +2.00s    2.00s
       +- chat gemini-3-pro                   +4.00s    4.00s
    "
  `);
  expect(tokensOf(house.spans())).toEqual({ calls: 3, input: 180, output: 15 });
});
