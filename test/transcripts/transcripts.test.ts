/** Hooks and a transcript of one session, in every order. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { spansToSend } from '../../src/telemetry/spans.ts';
import { patient } from '../../src/transcripts/settlement.ts';
import { START_MS } from '../play.ts';
import { at, type House, openHouse, overwrite, rowsOf, short, tokensOf } from './house.ts';

let house: House;
let rows: ReturnType<typeof rowsOf>;
beforeEach(() => {
  house = openHouse();
  rows = rowsOf(house.session);
});
afterEach(() => house.close());

/** One turn: a prompt, a call, the answer. Two responses. */
const turnRows = (start: number, prompt: string, call: string): object[] => [
  rows.prompt(start, prompt),
  rows.assistant(start + 2, `${prompt}-a`, rows.text('I look'), 40, 'tool_use'),
  rows.assistant(start + 3, `${prompt}-a`, rows.call(call), 40, 'tool_use'),
  rows.result(start + 5, call, prompt),
  rows.assistant(start + 8, `${prompt}-b`, rows.text('done'), 7, 'end_turn'),
];
const turnHooks = (start: number, prompt: string, call: string): void => {
  const input = { tool_name: 'Bash', tool_use_id: call, tool_input: { command: 'make check' }, prompt_id: prompt };
  house.hook(start, 'UserPromptSubmit', { prompt_id: prompt, prompt: 'please' });
  house.hook(start + 3.1, 'PreToolUse', input);
  house.hook(start + 5, 'PostToolUse', { ...input, tool_response: {}, duration_ms: 1_500 });
  house.hook(start + 8.2, 'Stop', { prompt_id: prompt });
};

describe('hooks and a transcript', () => {
  test('responses count once, and belong to their turn', () => {
    house.write(house.main, ...turnRows(1, 'p1', 'c1'));
    house.hook(0, 'SessionStart', { source: 'startup' });
    turnHooks(1, 'p1', 'c1');
    house.hook(12, 'SessionEnd', { reason: 'other' });
    house.round();
    expect(house.tree()).toMatchInlineSnapshot(`
      "session claude-code                 +0ms    12.0s
      +- invoke_agent claude-code       +1.00s    8.20s
         +- chat claude-sonnet-5        +1.00s    3.00s
         +- execute_tool Bash (make)    +4.50s    1.50s
         +- chat claude-sonnet-5        +6.00s    3.00s
      "
    `);
    expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 2 * 3_210, output: 47 });
    expect(short(house.events())).toMatchInlineSnapshot(`
      [
        "Session.Start",
        "Prompt.Submitted",
        "Action.Before c1",
        "Action.After c1",
        "Model.Responded T",
        "Model.Responded T",
        "Agent.Response",
        "Session.End",
        "Settled action:c1 read",
        "Settled turn:p1:0 read",
        "Settled session:0 read",
      ]
    `);
    const { transcripts } = house.ledger();
    expect(transcripts.read).toBe(transcripts.journaled + transcripts.duplicate);
    expect(transcripts).toMatchInlineSnapshot(`
      {
        "duplicate": 4,
        "journaled": 2,
        "read": 6,
      }
    `);
  });

  test('a response beside a compaction is not marked, the first one after it is', () => {
    house.hook(0, 'SessionStart', { source: 'startup' });
    house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'x' });
    house.hook(2, 'PreCompact', { trigger: 'auto' });
    house.write(
      house.main,
      rows.prompt(1, 'p1'),
      rows.assistant(4, 'beside', rows.call('c1'), 9, 'tool_use'),
      rows.result(5, 'c1', 'p1'),
      rows.system(6, 'compact_boundary', { compactMetadata: { trigger: 'auto', preTokens: 900, postTokens: 90 } }),
      rows.assistant(8, 'after', rows.call('c2'), 9, 'tool_use'),
      rows.result(9, 'c2', 'p1'),
      rows.assistant(10, 'last', rows.text('done'), 7, 'end_turn'),
    );
    house.hook(11, 'Stop', { prompt_id: 'p1' });
    house.hook(12, 'SessionEnd', { reason: 'other' });
    house.round();
    const chats = house.spans().flatMap(span => (span.kind === 'chat' ? [[span.response, span.compacted]] : []));
    expect(chats).toEqual([
      ['beside', undefined],
      ['after', true],
      ['last', undefined],
    ]);
  });

  test('a session waits for the totals of its run, which follow its last hook and hold the compaction', () => {
    const recent = { version: '2.1.327' };
    const totals = (input: number, output: number) => ({
      type: 'cost-state',
      sessionId: house.session,
      modelUsage: {
        'claude-sonnet-5': {
          inputTokens: input,
          outputTokens: output,
          cacheReadInputTokens: 3_000,
          cacheCreationInputTokens: 200,
        },
      },
    });
    house.hook(0, 'SessionStart', { source: 'startup' });
    house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'x' });
    house.hook(3, 'Stop', { prompt_id: 'p1' });
    house.hook(4, 'PreCompact', { trigger: 'manual' });
    house.hook(7, 'SessionEnd', { reason: 'other' });
    const compactMetadata = { trigger: 'manual', preTokens: 900, postTokens: 90 };
    house.write(
      house.main,
      rows.prompt(1, 'p1', 'x', recent),
      rows.assistant(2, 'm1', rows.text('done'), 7, 'end_turn', recent),
      rows.system(6, 'compact_boundary', { compactMetadata, ...recent }),
      rows.prompt(8, 'p2', '<local-command-stdout>Compacted', recent),
    );
    const nowMs = START_MS + 8_000;
    house.round({ waits: patient, nowMs });
    expect(house.spans().filter(span => span.kind === 'session')).toEqual([]);
    house.write(house.main, totals(60, 19));
    house.hook(10, 'SessionStart', { source: 'resume' });
    house.round({ waits: patient, nowMs: nowMs + 2_000 });
    const sessions = house.spans().flatMap(span => (span.kind === 'session' ? [span.usage] : []));
    expect(sessions).toMatchObject([{ calls: 2, input: 3_210 + 50, output: 19 }]);
    expect(house.spans().filter(span => span.kind === 'chat' && span.untold === 'compaction')).toHaveLength(1);
  });

  test('the rest of the totals is counted without a span if there were several compactions, and the cost as it is stated', () => {
    const recent = { version: '2.1.327' };
    house.hook(0, 'SessionStart', { source: 'startup' });
    house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'x' });
    house.hook(3, 'Stop', { prompt_id: 'p1' });
    for (const start of [4, 6]) {
      house.hook(start, 'PreCompact', { trigger: 'manual' });
      house.hook(start + 1, 'PostCompact', { trigger: 'manual' });
    }
    house.hook(9, 'SessionEnd', { reason: 'other' });
    const used = { inputTokens: 110, outputTokens: 27, cacheReadInputTokens: 3_000, cacheCreationInputTokens: 200 };
    house.write(
      house.main,
      rows.prompt(1, 'p1', 'x', recent),
      rows.assistant(2, 'm1', rows.text('done'), 7, 'end_turn', recent),
      { type: 'cost-state', sessionId: house.session, modelUsage: { 'claude-sonnet-5': { ...used, costUSD: 0.0417 } } },
    );
    house.round();
    const spans = house.spans();
    const sessions = spans.flatMap(span => (span.kind === 'session' ? [span.usage] : []));
    expect(sessions).toMatchObject([{ calls: 1, input: 3_210 + 100, output: 27, costUsd: 0.0417 }]);
    expect(spansToSend(spans, { turns: undefined }).filter(({ kind }) => kind === 'chat')).toHaveLength(1);
    const counted = incrementsOf([], spans, 'claude-code', () => true);
    const sum = (metric: string): number =>
      counted.reduce((all, each) => (each.metric === metric ? all + Number(each.value) : all), 0);
    expect([sum('costReported'), sum('outputTokens')]).toEqual([0.0417, 27]);
  });

  test("the agent's version, which only rows state, is on their events and on their turn and session, also for late rows", () => {
    const [prompt = {}, ...rows] = turnRows(1, 'p1', 'c1');
    house.write(house.main, prompt);
    house.hook(0, 'SessionStart', { source: 'startup' });
    turnHooks(1, 'p1', 'c1');
    house.hook(12, 'SessionEnd', { reason: 'other' });
    const first = house.round({ nowMs: START_MS + 13_000, waits: patient });
    house.write(house.main, ...rows.map(row => ({ ...row, version: '2.1.143' })));
    house.round({ nowMs: START_MS + 14_000, waits: patient, due: { waiting: first.waiting } });
    expect(Object.fromEntries(house.spans().map(({ kind, version }) => [kind, version]))).toEqual({
      action: undefined,
      chat: '2.1.143',
      turn: '2.1.143',
      session: '2.1.143',
    });
    const stated = house.events().map(({ event_type: type, source }) => [type, source.version]);
    expect(new Set(stated.filter(([, version]) => version !== undefined).map(([type]) => type))).toEqual(
      new Set(['Model.Responded']),
    );
  });

  test('turn and session have the sums', () => {
    house.write(house.main, ...turnRows(1, 'p1', 'c1'));
    turnHooks(1, 'p1', 'c1');
    house.hook(12, 'SessionEnd', { reason: 'other' });
    house.round();
    const sums = house.spans().flatMap(span => ('usage' in span ? [[span.kind, span.usage, span.complete]] : []));
    const all = { calls: 2, input: 6_420, output: 47, cacheRead: 6_000, cacheWrite: 400, pricedUsd: 0.00271 };
    expect(sums).toEqual([
      ['turn', all, true],
      ['session', all, true],
    ]);
  });

  test('delivery waits for a tail that is not written yet, and a later round reads it', () => {
    const all = turnRows(1, 'p1', 'c1');
    house.write(house.main, ...all.slice(0, 4));
    turnHooks(1, 'p1', 'c1');
    const first = house.round({ nowMs: START_MS + 10_000, waits: patient });
    expect(first.waiting).toHaveLength(1);
    expect(house.spans().filter(span => span.kind === 'turn')).toEqual([]);
    house.write(house.main, ...all.slice(4));
    const second = house.round({ nowMs: START_MS + 11_000, waits: patient, due: { waiting: first.waiting } });
    expect(second.waiting).toEqual([]);
    expect(house.spans().find(span => span.kind === 'turn')).toMatchObject({ complete: true, usage: { calls: 2 } });
    expect(short(house.events()).at(-1)).toBe('Settled turn:p1:0 read');
  });

  test('the wait for a missing tail is limited; later rows still count, once', () => {
    const all = turnRows(1, 'p1', 'c1');
    house.write(house.main, ...all.slice(0, 4));
    turnHooks(1, 'p1', 'c1');
    const { waiting } = house.round({ nowMs: START_MS + 10_000, waits: patient });
    house.round({ nowMs: START_MS + 19_000, waits: patient, due: { waiting } });
    expect(house.spans().some(span => span.kind === 'turn')).toBe(false);
    house.round({ nowMs: START_MS + 20_000, waits: patient, due: { waiting } });
    expect(house.spans().find(span => span.kind === 'turn')).toMatchObject({ complete: false });
    house.write(house.main, ...all.slice(4));
    house.hook(30, 'SessionEnd', { reason: 'other' });
    house.round();
    expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 6_420, output: 47 });
    const [turn] = house.spans().filter(span => span.kind === 'turn');
    const chats = house.spans().filter(span => span.kind === 'chat');
    expect(chats.map(chat => chat.parent)).toEqual([turn?.key, turn?.key]);
    expect(house.spans().find(span => span.kind === 'session')).toMatchObject({ complete: false, usage: { calls: 2 } });
  });

  test('without its folder, delivery does not wait for a file', () => {
    turnHooks(1, 'p1', 'c1');
    expect(house.round({ nowMs: START_MS + 10_000, waits: patient }).waiting).toEqual([]);
    expect(short(house.events()).at(-1)).toBe('Settled turn:p1:0 absent');
  });

  test('in an empty folder a file may still appear', () => {
    mkdirSync(dirname(house.main), { recursive: true });
    turnHooks(1, 'p1', 'c1');
    expect(house.round({ nowMs: START_MS + 10_000, waits: patient }).waiting).toHaveLength(1);
  });

  test('a file that appears late is read, and its events are recorded once', () => {
    turnHooks(1, 'p1', 'c1');
    house.round();
    house.write(house.main, ...turnRows(1, 'p1', 'c1'));
    house.hook(20, 'UserPromptSubmit', { prompt_id: 'p2', prompt: 'more' });
    house.round();
    expect(tokensOf(house.spans()).calls).toBe(2);
    const [turn] = house.spans().filter(span => span.kind === 'turn');
    expect(house.spans().flatMap(span => (span.kind === 'chat' ? [span.parent] : []))).toEqual([turn?.key, turn?.key]);
  });

  test('without a file the wait ends as absent, and no tokens are stated', () => {
    house.write(`${house.main}.other`, '');
    turnHooks(1, 'p1', 'c1');
    const { waiting } = house.round({ nowMs: START_MS + 10_000, waits: patient });
    house.round({ nowMs: START_MS + 20_000, waits: patient, due: { waiting } });
    expect(short(house.events()).at(-1)).toBe('Settled turn:p1:0 absent');
    expect(house.spans().find(span => span.kind === 'turn')).toMatchObject({ complete: true, usage: { calls: 0 } });
  });

  test('a torn last line is read when it is whole', () => {
    const all = turnRows(1, 'p1', 'c1');
    house.write(house.main, ...all.slice(0, 4));
    const last = JSON.stringify(all[4]);
    house.write(house.main, last.slice(0, 120));
    turnHooks(1, 'p1', 'c1');
    const { waiting } = house.round({ nowMs: START_MS + 10_000, waits: patient });
    house.write(house.main, last.slice(120));
    house.round({ nowMs: START_MS + 11_000, waits: patient, due: { waiting } });
    expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 6_420, output: 47 });
    expect(house.ledger().counters).not.toHaveProperty('odd.transcript_bad_line');
  });

  test('a file that is rewritten or shortened adds no known event again', () => {
    const all = turnRows(1, 'p1', 'c1');
    house.write(house.main, ...all);
    turnHooks(1, 'p1', 'c1');
    house.round();
    const before = house.events().length;
    const again = [...turnRows(1, 'p1', 'c1'), ...turnRows(21, 'p2', 'c2')];
    overwrite(house.main, rows.system(0, 'informational'), ...again);
    turnHooks(21, 'p2', 'c2');
    house.round();
    expect(tokensOf(house.spans())).toEqual({ calls: 4, input: 4 * 3_210, output: 94 });
    overwrite(house.main, ...turnRows(1, 'p1', 'c1').slice(0, 3));
    turnHooks(41, 'p3', 'c3');
    house.round();
    expect(tokensOf(house.spans()).calls).toBe(4);
    expect(house.events().length).toBeGreaterThan(before);
  });

  test('a call whose end no hook reported takes it from the transcript', () => {
    const failed = {
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'Exit code 2\nno', is_error: true }],
      },
      toolUseResult: 'Error: Exit code 2\nno',
    };
    const all = turnRows(1, 'p1', 'c1');
    house.write(house.main, ...all.slice(0, 3), rows.result(5, 'c1', 'p1', failed), ...all.slice(4));
    house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
    house.hook(4, 'PreToolUse', {
      prompt_id: 'p1',
      tool_name: 'Bash',
      tool_use_id: 'c1',
      tool_input: { command: 'ls' },
    });
    house.hook(9.2, 'Stop', { prompt_id: 'p1' });
    house.round();
    expect(house.spans().find(span => span.kind === 'action')).toMatchObject({
      outcome: 'failure',
      exitCode: 2,
      duration: 'transcript',
      startMs: Date.parse(at(4)),
      endMs: Date.parse(at(5)),
    });
  });

  test('an interrupted turn is marked, although no hook reports it', () => {
    house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
    house.round();
    house.write(
      house.main,
      rows.prompt(1, 'p1'),
      rows.assistant(2, 'm1', { type: 'thinking', thinking: '' }, 1, null),
      rows.prompt(3, 'p1', '[Request interrupted by user]'),
      rows.prompt(20, 'p2'),
    );
    house.hook(20, 'UserPromptSubmit', { prompt_id: 'p2', prompt: 'again' });
    house.round();
    expect(house.spans().find(span => span.kind === 'turn')).toMatchObject({
      outcome: 'interrupted',
      endMs: Date.parse(at(3)),
    });
  });

  test('a row that comes after its turn was sent never ends the next turn', () => {
    const all = turnRows(1, 'p1', 'c1');
    house.write(house.main, ...all.slice(0, 4));
    turnHooks(1, 'p1', 'c1');
    house.round();
    house.hook(20, 'UserPromptSubmit', { prompt_id: 'p2', prompt: 'more' });
    house.round();
    house.write(
      house.main,
      ...all.slice(4),
      rows.prompt(20, 'p2'),
      rows.assistant(22, 'm9', rows.text('yes'), 5, 'end_turn'),
    );
    house.hook(23, 'Stop', { prompt_id: 'p2' });
    house.round();
    const turns = house.spans().filter(span => span.kind === 'turn');
    expect(turns.map(turn => [turn.turn, turn.ordinal, turn.outcome])).toEqual([
      ['p1', 0, 'completed'],
      ['p2', 0, 'completed'],
    ]);
    expect(tokensOf(house.spans()).calls).toBe(3);
  });

  test('the rows of a lost round are read again', () => {
    house.write(house.main, ...turnRows(1, 'p1', 'c1'));
    turnHooks(1, 'p1', 'c1');
    house.round({ commit: false });
    expect(house.events()).toEqual([]);
    house.round();
    expect(tokensOf(house.spans()).calls).toBe(2);
  });
});
