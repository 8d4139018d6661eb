/** Hooks and event log of one session: together they are the union, and the log alone is also a session. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { copilot } from '../../../src/agents/copilot/copilot.ts';
import { transcript } from '../../../src/agents/copilot/transcript.ts';
import { awaited } from '../../../src/assemble/assemble.ts';
import type { FinishedSpan } from '../../../src/assemble/finished.ts';
import { SETTLED } from '../../../src/event/event.ts';
import { newSession, sessionKey } from '../../../src/session/session-state.ts';
import { patient } from '../../../src/transcripts/settlement.ts';
import { pinned, playerOf, START_MS, treeOf } from '../../play.ts';
import { at, type House, openHouse, tokensOf } from '../../transcripts/house.ts';
import { readRows } from '../read-transcript.ts';

const session = '3e9a7c10-54d2-4f6b-b1e8-0c7a2d9f4e61';
let house: House;
let log: string;
beforeEach(() => {
  house = openHouse('copilot', session);
  log = join(house.home, '.copilot', 'session-state', session, 'events.jsonl');
});
afterEach(() => house.close());

let number = 0;
const row = (seconds: number, type: string, data: object, agentId?: string): object => {
  number += 1;
  return { type, data, agentId, id: `row-${number}`, timestamp: at(seconds), parentId: null };
};
const hook = (seconds: number, event: string, fields: object = {}): void =>
  house.hook(seconds, event, { timestamp: at(seconds), transcript_path: log, ...fields });

test('events of both sources count once, and the log adds responses, subagents and tokens', () => {
  const task = { agent_type: 'explore', prompt: 'find clocks' };
  hook(0, 'SessionStart', { source: 'new' });
  hook(1, 'UserPromptSubmit', { prompt: 'mend it' });
  hook(4.1, 'PreToolUse', { tool_name: 'Agent', tool_input: task });
  hook(8, 'PostToolUse', { tool_name: 'Agent', tool_input: task, tool_result: { result_type: 'success' } });
  hook(10.5, 'Stop', { stop_reason: 'end_turn' });
  hook(12, 'SessionEnd', { reason: 'complete' });
  const usage = { inputTokens: 5_000, outputTokens: 170, cacheReadTokens: 4_000, cacheWriteTokens: 0 };
  house.write(
    log,
    row(0, 'session.start', { sessionId: session, producer: 'copilot-agent' }),
    row(1, 'user.message', { content: 'mend it' }),
    row(1.5, 'assistant.turn_start', { turnId: '0' }),
    row(4, 'assistant.message', {
      messageId: 'm1',
      model: 'gpt-5-mini',
      content: '',
      toolRequests: [{}],
      outputTokens: 90,
    }),
    row(4.1, 'tool.execution_start', { toolCallId: 'call_1', toolName: 'task', arguments: task }),
    row(4.2, 'subagent.started', { toolCallId: 'call_1', agentName: 'explore' }, 'call_1'),
    row(4.3, 'user.message', { content: 'find clocks', source: 'agent-1' }, 'call_1'),
    row(7, 'assistant.message', { messageId: 'm2', model: 'gpt-5-mini', content: 'two', outputTokens: 60 }, 'call_1'),
    row(7.5, 'subagent.completed', { toolCallId: 'call_1', agentName: 'explore' }, 'call_1'),
    row(8, 'tool.execution_complete', { toolCallId: 'call_1', success: true, result: { content: 'two' } }),
    row(8.5, 'assistant.turn_start', { turnId: '1' }),
    row(10, 'assistant.message', { messageId: 'm3', model: 'gpt-5-mini', content: 'mended', outputTokens: 20 }),
    row(12, 'session.shutdown', { shutdownType: 'routine', modelMetrics: { 'gpt-5-mini': { usage } } }),
  );
  house.round();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session copilot                    +0ms    12.0s  completed
    +- invoke_agent copilot          +1.00s    9.00s
       +- chat gpt-5-mini            +1.50s    2.50s
       +- execute_tool task          +4.10s    3.90s
          +- invoke_agent explore    +4.20s    3.30s
             +- chat gpt-5-mini      +4.30s    2.70s
       +- chat gpt-5-mini            +8.50s    1.50s
    +- chat gpt-5-mini               +12.0s      0ms  length unknown
    "
  `);
  expect(tokensOf(house.spans())).toMatchObject({ input: 5_000, output: 170 });
  const counted = house.spans().flatMap(span => (span.kind === 'session' ? [span.usage] : []));
  expect(counted).toMatchObject([{ calls: 3, input: 5_000, output: 170, cacheRead: 4_000 }]);
  const before = house.events().length;
  hook(20, 'SessionStart', { source: 'resume' });
  house.round();
  expect(house.events().length).toBe(before + 1);
});

test('a failure that the log states after the end of the session fails its turn', () => {
  hook(0, 'SessionStart', { source: 'new' });
  hook(1, 'UserPromptSubmit', { prompt: 'mend it' });
  house.write(
    log,
    row(0, 'session.start', { sessionId: session, producer: 'copilot-agent' }),
    row(1, 'user.message', { content: 'mend it' }),
    row(1.5, 'assistant.turn_start', { turnId: '0' }),
  );
  hook(3, 'SessionEnd', { reason: 'error' });
  const { waiting } = house.round({ nowMs: START_MS + 3_005, waits: patient });
  house.write(
    log,
    row(3.02, 'session.error', { errorType: 'query', statusCode: 400, message: 'no' }),
    row(3.05, 'session.shutdown', { shutdownType: 'routine' }),
  );
  house.round({ nowMs: START_MS + 4_000, waits: patient, due: { waiting } });
  expect(house.tree()).toMatchInlineSnapshot(`
    "session copilot              +0ms    3.02s  ERROR abandoned, error
    +- invoke_agent copilot    +1.00s    2.02s  ERROR 400
       +- chat                 +1.50s    1.52s  ERROR 400
    "
  `);
});

test('rows that are written after the hook about the end of the session complete its turn and its subagent', () => {
  hook(0, 'SessionStart', { source: 'new' });
  const task = { agent_type: 'explore', prompt: 'find clocks' };
  house.write(
    log,
    row(0, 'session.start', { sessionId: session, producer: 'copilot-agent' }),
    row(1, 'user.message', { content: 'mend it' }),
    row(4.1, 'tool.execution_start', { toolCallId: 'call_1', toolName: 'task', arguments: task }),
    row(4.2, 'subagent.started', { toolCallId: 'call_1', agentName: 'explore' }, 'call_1'),
    row(4.5, 'tool.execution_start', { toolCallId: 'call_2', toolName: 'bash', arguments: {} }, 'call_1'),
  );
  hook(12, 'SessionEnd', { reason: 'complete' });
  const { waiting } = house.round({ nowMs: START_MS + 12_005, waits: patient });
  house.write(
    log,
    row(7, 'tool.execution_complete', { toolCallId: 'call_2', success: true, result: { content: '' } }, 'call_1'),
    row(7.5, 'subagent.completed', { toolCallId: 'call_1', agentName: 'explore' }, 'call_1'),
    row(8, 'tool.execution_complete', { toolCallId: 'call_1', success: true, result: { content: 'two' } }),
    row(10, 'assistant.message', { messageId: 'm3', model: 'gpt-5-mini', content: 'mended', outputTokens: 20 }),
    row(12.04, 'session.shutdown', { shutdownType: 'routine' }),
  );
  house.round({ nowMs: START_MS + 13_000, waits: patient, due: { waiting } });
  expect(house.tree()).toMatchInlineSnapshot(`
    "session copilot                    +0ms    12.0s  completed
    +- invoke_agent copilot          +1.00s    9.00s
       +- execute_tool task          +4.10s    3.90s
          +- invoke_agent explore    +4.20s    3.30s
             +- execute_tool bash    +4.50s    2.50s
       +- chat gpt-5-mini            +8.00s    2.00s
    "
  `);
});

test('a turn whose rows all follow the hook about the end of the session is in the session', () => {
  hook(0, 'SessionStart', { source: 'new' });
  house.write(
    log,
    row(0, 'session.start', { sessionId: session, producer: 'copilot-agent', copilotVersion: '1.0.102' }),
    row(1, 'session.shutdown', { shutdownType: 'routine' }),
  );
  hook(1, 'SessionEnd', { reason: 'complete' });
  house.round({ nowMs: START_MS + 2_000, waits: patient });
  hook(10, 'SessionStart', { source: 'resume' });
  hook(13, 'SessionEnd', { reason: 'complete' });
  const { waiting } = house.round({ nowMs: START_MS + 13_005, waits: patient });
  house.write(
    log,
    row(11, 'user.message', { content: 'mend it' }),
    row(11.2, 'tool.execution_start', { toolCallId: 'call_1', toolName: 'bash', arguments: {} }),
    row(11.4, 'tool.execution_complete', { toolCallId: 'call_1', success: true, result: { content: '' } }),
    row(12, 'assistant.message', { messageId: 'm3', model: 'gpt-5-mini', content: 'mended', outputTokens: 20 }),
    row(13.04, 'session.shutdown', { shutdownType: 'routine' }),
  );
  house.round({ nowMs: START_MS + 14_000, waits: patient, due: { waiting } });
  expect(house.tree()).toMatchInlineSnapshot(`
    "session copilot      +0ms    1.00s  completed
    --
    session copilot              +0ms    3.00s  completed
    +- invoke_agent copilot    +1.00s    1.00s
       +- execute_tool bash    +1.20s    200ms
       +- chat gpt-5-mini      +1.40s    600ms
    "
  `);
  const sessions = house.spans().flatMap(span => (span.kind === 'session' ? [[span.turns, span.actions]] : []));
  expect(sessions).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test('the log alone is a session: every subagent is below the call that started it', () => {
  const text = readFileSync(join(import.meta.dirname, 'event-log.transcript'), 'utf8').split('---- expected')[0] ?? '';
  const rows = text.replace(/^#.*$/gm, '');
  const state = newSession({ agent: copilot, session, key: sessionKey('copilot', session) }, pinned);
  const spans: FinishedSpan[] = [];
  for (const reading of readRows(transcript, rows, session).readings) {
    const row = playerOf().session(state);
    row.report(reading, { atMs: undefined, subagent: undefined, isAgain: false });
    for (const { of } of awaited(state.fold))
      row.conclude({ event_type: SETTLED, data: { of, reason: 'read' } }, of, START_MS);
    spans.push(...row.spans);
  }
  expect(treeOf(spans)).toMatchInlineSnapshot(`
    "session copilot                    +0ms    40.0s  completed
    +- invoke_agent copilot          +1.10s    16.1s
       +- chat gpt-5-mini            +1.20s    3.00s
       +- execute_tool bash (npm)    +4.30s    4.70s  ERROR exit_code, exit 1
       +- execute_tool find          +4.40s    600ms  ERROR tool_error
       +- chat gpt-5-mini            +9.20s    2.80s
       +- execute_tool task          +12.2s    1.40s
          +- invoke_agent explore    +12.3s    1.20s
             +- chat gpt-5-mini      +12.4s    1.00s
       +- execute_tool bash (rm)     +13.7s    1.40s  denied (config)
       +- chat gpt-5-mini            +15.2s    2.00s
    +- chat gpt-5-mini               +21.5s    12.5s
    +- chat gpt-5-mini               +40.0s      0ms  length unknown
    --
    session copilot                  +0ms    15.0s  completed, link previous_segment
    +- invoke_agent copilot        +1.00s    1.00s  ERROR 429
       +- chat claude-haiku-4.5    +1.10s    900ms  ERROR 429
    +- invoke_agent copilot        +10.0s    3.00s  ERROR interrupted
       +- chat claude-haiku-4.5    +10.1s    2.00s
       +- execute_tool view        +12.2s    800ms  ERROR abandoned
    +- chat claude-haiku-4.5       +15.0s      0ms  length unknown
    "
  `);
});

test('an import finds the log and reads it once', () => {
  const text = readFileSync(join(import.meta.dirname, 'event-log.transcript'), 'utf8').split('---- expected')[0] ?? '';
  house.write(log, text.replace(/^#.*\n/gm, ''));
  house.import();
  expect(tokensOf(house.spans())).toMatchObject({ input: 9_100 + 20_000 + 7_000, output: 410 + 500 + 90 });
  const before = house.events().length;
  house.import();
  expect(house.events().length).toBe(before);
});
