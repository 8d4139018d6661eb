/** Droid's files: its side file, sessions with hooks, and the recorded session if it is beside the repository. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { transcript } from '../../../src/agents/droid/transcript.ts';
import { memoryOver, type Remembered } from '../../../src/agents/shared/memory.ts';
import type { Fields } from '../../../src/event/event.ts';
import { play, START_MS, treeOf } from '../../play.ts';
import { overShared, sharedPath } from '../../shared.ts';
import { type House, openHouse } from '../../transcripts/house.ts';
import { readRows, textOf, total } from '../read-transcript.ts';

const rows = textOf(join(import.meta.dirname, 'session.transcript'))
  .split('\n')
  .filter(line => line.startsWith('{'))
  .join('\n');

const settings = (inputTokens: number, outputTokens: number, more: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: 'glm-5',
      providerLock: 'zai',
      tokenUsage: { inputTokens, outputTokens, cacheCreationTokens: 0, cacheReadTokens: 900, ...more },
    }),
  );

test('the tokens of a session are those of its side file, with the cache in the input', () => {
  const { readings } = readRows(transcript, rows, 's', { companions: [settings(100, 40, { thinkingTokens: 30 })] });
  expect(total(readings)).toMatchObject({ input: 1_000, output: 40, cacheRead: 900, cacheWrite: 0, reasoning: 30 });
  const sum = readings.find(each => each.facts?.sum === 'session');
  expect(sum).toMatchObject({ data: { model_id: 'glm-5' }, facts: { provider: 'zai' } });
});

test('a file without its first row is recognized by its path', () => {
  const [, ...others] = rows.split('\n').map(line => JSON.parse(line) as object as Fields);
  const start = { rows: others, document: undefined };
  expect(transcript.sessions({ path: '/h/.factory/sessions/-w/d1.jsonl' }, start)).toEqual([
    { session: 'd1', cwd: undefined },
  ]);
  expect(transcript.sessions({ path: '/h/elsewhere/d1.jsonl' }, start)).toEqual([]);
});

test('a call that the user cancels is interrupted, and ends its turn', () => {
  const message = (id: string, second: number, role: string, content: unknown): string =>
    JSON.stringify({ type: 'message', id, timestamp: `2026-11-19T09:00:0${second}.000Z`, message: { role, content } });
  const text = [
    JSON.stringify({ type: 'session_start', id: 's', version: 2, cwd: '/home/dev/orchard' }),
    message('m1', 1, 'user', [{ type: 'text', text: 'go' }]),
    message('m2', 2, 'assistant', [{ type: 'tool_use', id: 'c1', name: 'Execute', input: { command: 'rm made' } }]),
    message('m3', 3, 'user', [
      { type: 'tool_result', tool_use_id: 'c1', is_error: true, content: 'Tool execution cancelled by user' },
    ]),
  ].join('\n');
  const { entries, readings } = readRows(transcript, text, 's');
  expect(
    readings.flatMap(({ event_type, facts }) =>
      ['Action.After', 'Agent.Response'].includes(event_type)
        ? [[event_type, facts?.interrupted, facts?.error_type]]
        : [],
    ),
  ).toEqual([
    ['Action.After', true, undefined],
    ['Agent.Response', true, undefined],
  ]);
  expect(entries.filter(each => 'over' in each)).toEqual([{ over: 'turn', atMs: Date.UTC(2026, 10, 19, 9, 0, 3) }]);
});

test('a second reading reports only the tokens added since', () => {
  if (transcript.read.format !== 'lines') throw new Error('not read by lines');
  const remembered: Remembered = {};
  const memory = memoryOver(remembered, content => content);
  const asked = (companion: Buffer) =>
    transcript.read.format === 'lines' &&
    transcript.read.rest?.(memory, { path: '', root: 's', companions: [companion] });
  expect(asked(settings(100, 40))).toMatchObject([{ data: { input_tokens: 1_000, output_tokens: 40 } }]);
  expect(asked(settings(100, 40))).toEqual([]);
  expect(asked(settings(150, 60))).toMatchObject([{ data: { input_tokens: 50, output_tokens: 20 } }]);
  expect(asked(settings(1, 1))).toEqual([]);
  expect(asked(Buffer.from('{"model":'))).toEqual([]);
});

test('a class that the side file does not name is unknown', () => {
  const { readings } = readRows(transcript, rows, 's', { companions: [settings(100, 40)] });
  expect(readings.find(each => each.facts?.sum === 'session')?.facts?.usage?.reasoning_tokens).toBeUndefined();
});

test('files are found in the folders of sessions', () => {
  const look = {
    names: (folder: string) =>
      folder.endsWith('sessions') ? ['-home-dev-x', 'old.jsonl'] : ['a.jsonl', 'a.settings.json', 'b.jsonl'],
    head: () => '',
  };
  const place = { session: 'a', cwd: undefined, home: '/h', env: {}, main: undefined, subagents: [] };
  const root = '/h/.factory/sessions';
  expect(transcript.files(place, look)).toEqual([
    { path: `${root}/-home-dev-x/a.jsonl`, beside: [`${root}/-home-dev-x/a.settings.json`] },
  ]);
  expect(transcript.installed({ home: '/h', project: '/p', env: {} }, look).map(file => file.path)).toEqual([
    `${root}/-home-dev-x/a.jsonl`,
    `${root}/-home-dev-x/b.jsonl`,
    `${root}/old.jsonl`,
  ]);
});

// ---------------------------------------------------------------- hooks

const hook = (second: number, name: string, fields: object = {}) => ({
  atMs: START_MS + second * 1_000,
  payload: { session_id: 's', cwd: '/x', permission_mode: 'auto-low', hook_event_name: name, ...fields },
  header: { ppid: String(second) },
});
const task = { tool_name: 'Task', tool_input: { subagent_type: 'reviewer', prompt: 'x' } };

test.each([
  ['reported by its own hook', [hook(6, 'SubagentStop')]],
  ['reported only by the end of its call', []],
])('a subagent is below the call that launched it: %s', (_, own) => {
  const { spans } = play([
    hook(0, 'SessionStart', { source: 'startup' }),
    hook(1, 'UserPromptSubmit', { prompt: 'x' }),
    hook(2, 'PreToolUse', task),
    ...own,
    hook(7, 'PostToolUse', { ...task, tool_response: { success: true } }),
    hook(8, 'Stop', { stop_hook_active: false }),
    hook(9, 'SessionEnd', { reason: 'other' }),
  ]);
  const tree = treeOf(spans)
    .trimEnd()
    .split('\n')
    .map(line => line.replace(/ +\+[\d.]+m?s.*/, ''));
  expect(tree).toEqual([
    'session droid',
    '+- invoke_agent droid',
    '   +- execute_tool Task',
    '      +- invoke_agent reviewer',
  ]);
});

test('equal calls are paired in order, and never twice', () => {
  const call = { tool_name: 'Read', tool_input: { file_path: '/x/a' } };
  const { spans } = play([
    hook(0, 'UserPromptSubmit', { prompt: 'x' }),
    hook(1, 'PreToolUse', call),
    hook(2, 'PreToolUse', call),
    hook(4, 'PostToolUse', { ...call, tool_response: {} }),
    hook(8, 'PostToolUse', { ...call, tool_response: {} }),
  ]);
  expect(spans.map(span => (span.endMs - span.startMs) / 1_000)).toEqual([3, 6]);
});

describe('a session with hooks and files', () => {
  const session = '3f1d8b52-90aa-4c1e-8d77-5be0a1c2d3e4';
  const write = (house: House): string => {
    const path = join(house.home, '.factory', 'sessions', '-w', `${session}.jsonl`);
    house.write(path, ...rows.split('\n').map(line => `${line}\n`));
    house.write(path.replace(/jsonl$/, 'settings.json'), settings(100, 40).toString());
    return path;
  };
  const tokens = (house: House) =>
    house.spans().flatMap(span => (span.kind === 'session' ? [[span.usage.input, span.usage.output]] : []));

  test('prompts, calls and tokens come from the file, each once', () => {
    const house = openHouse('droid', session);
    try {
      // Hooks at the times of the rows, which have another date.
      const startMs = Date.parse('2026-02-03T08:00:00.000Z');
      const seconds = (after: number): number => (startMs - START_MS) / 1_000 + after;
      const path = write(house);
      const shared = { transcript_path: path, permission_mode: 'auto-low' };
      const call = { ...shared, tool_name: 'Execute', tool_input: { command: 'cargo test' } };
      house.hook(seconds(0), 'SessionStart', { ...shared, source: 'startup' });
      house.hook(seconds(0.1), 'UserPromptSubmit', { ...shared, prompt: 'Prune the tree' });
      house.hook(seconds(4.1), 'PreToolUse', call);
      house.hook(seconds(9), 'PostToolUse', { ...call, tool_response: { exitCode: 0 } });
      house.hook(seconds(13), 'Stop', { ...shared, stop_hook_active: false });
      house.hook(seconds(20), 'SessionEnd', { ...shared, reason: 'other' });
      house.round({ nowMs: startMs + 60_000 });
      house.round({ nowMs: startMs + 120_000 });
      expect(house.tree()).toMatchInlineSnapshot(`
        "session droid                           +0ms    20.0s
        +- invoke_agent droid                 +100ms    12.4s
           +- chat glm-5                      +100ms    3.90s
           +- execute_tool Task               +4.00s    5.00s  ERROR tool_error
           +- execute_tool Execute (cargo)    +4.00s    5.00s
           +- chat glm-5                      +9.00s    3.50s
        +- chat glm-5                         +13.0s      0ms  length unknown
        "
      `);
      expect(tokens(house)).toEqual([[1_000, 40]]);
    } finally {
      house.close();
    }
  });

  const child = '5a1d8b52-90aa-4c1e-8d77-5be0a1c2d3e4';
  /** Droid 0.215: a call launches a subagent, whose file names the call. */
  const writeFamily = (house: House): string => {
    const folder = join(house.home, '.factory', 'sessions', '-w');
    const path = join(folder, `${session}.jsonl`);
    const row = (id: string, second: number, role: string, content: object[], more: object = {}): object => ({
      type: 'message',
      id,
      timestamp: new Date(START_MS + second * 1_000).toISOString(),
      message: { role, content, ...(role === 'assistant' ? { modelId: 'm' } : {}), ...more },
    });
    const ran = (id: string, second: number, name: string, call: string): object =>
      row(id, second + 0.2, 'user', [], {
        visibility: 'user_only',
        hookEventName: name,
        hookToolCallId: call,
        hookStartTime: START_MS + second * 1_000,
      });
    const use = (id: string, name: string, input: object): object => ({ type: 'tool_use', id, name, input });
    const result = (id: string, content: string, failed = false): object => ({
      type: 'tool_result',
      tool_use_id: id,
      content,
      is_error: failed,
    });
    const said = (words: string): object => ({ type: 'text', text: words });
    house.write(
      path,
      { type: 'session_start', id: session, version: 2, cwd: '/w' },
      row('context-p1', 0.9, 'user', [said('tools')]),
      row('p1', 1, 'user', [said('Go')]),
      row('r1', 2, 'assistant', [
        use('c1', 'Task', { subagent_type: 'worker', prompt: 'x' }),
        use('c2', 'Execute', { command: 'exit 3' }),
      ]),
      ran('h1', 8, 'PostToolUse', 'c1'),
      row('u1', 9, 'user', [
        result('c1', `session_id: ${child}\ndone`),
        result('c2', 'Error: Command failed (exit code: 3)\n\n[Process exited with code 3]', true),
      ]),
      row('r2', 10, 'assistant', [said('All done')]),
    );
    house.write(
      join(folder, `${child}.jsonl`),
      { type: 'session_start', id: child, callingSessionId: session, callingToolUseId: 'c1', version: 2 },
      row('q1', 3, 'user', [said('Task')]),
      row('s1', 4, 'assistant', [use('d1', 'Execute', { command: 'exit 0' })]),
      row('v1', 5, 'user', [result('d1', '[Process exited with code 7]\n\n[Process exited with code 0]')]),
      row('s2', 6, 'assistant', [said('done')]),
    );
    return path;
  };
  const family = `session droid
+- invoke_agent droid
   +- chat m
   +- execute_tool Task
      +- invoke_agent worker
         +- chat m
         +- execute_tool Execute (exit)
         +- chat m
   +- execute_tool Execute (exit)  ERROR exit_code, exit 3
   +- chat m
`;
  const shape = (house: House): string =>
    house
      .tree()
      .replace(/ +\+[\d.]+m?s +[\d.]+m?s/g, '')
      .replace(/ {2}(completed|idle_timeout)$/gm, '');

  test('the hooks of a subagent open no session, and its actions are below the call that launched it', () => {
    const house = openHouse('droid', session);
    try {
      const transcript_path = writeFamily(house);
      const own = { transcript_path, permission_mode: 'auto-high' };
      const its = { ...own, session_id: child, transcript_path: transcript_path.replace(session, child) };
      house.hook(0.5, 'SessionStart', { ...own, source: 'startup' });
      house.hook(2.1, 'PreToolUse', { ...own, tool_name: 'Task', tool_input: { subagent_type: 'worker' } });
      house.hook(2.9, 'SessionStart', { ...its, source: 'startup', calling_session_id: session });
      house.hook(3, 'UserPromptSubmit', { ...its, prompt: 'x' });
      house.hook(4.1, 'PreToolUse', { ...its, tool_name: 'Execute', tool_input: {} });
      house.hook(6.1, 'Stop', { ...its, message_id: 's2' });
      house.hook(6.2, 'SessionEnd', { ...its, reason: 'other' });
      house.hook(7, 'SubagentStop', { ...own, task_name: 'x' });
      house.hook(10.1, 'Stop', { ...own, message_id: 'r2' });
      house.hook(11, 'SessionEnd', { ...own, reason: 'other' });
      house.round({ nowMs: START_MS + 60_000 });
      house.round({ nowMs: START_MS + 120_000 });
      expect(shape(house)).toBe(family);
    } finally {
      house.close();
    }
  });

  test('an import gives the same tree, and a subagent is not a session of its own', () => {
    const house = openHouse('droid', session);
    try {
      writeFamily(house);
      expect(house.import().length).toBeGreaterThan(0);
      expect(shape(house)).toBe(family);
    } finally {
      house.close();
    }
  });

  test('without hooks an import reads the file alone', () => {
    const house = openHouse('droid', session);
    try {
      write(house);
      house.import();
      expect(house.tree()).toMatchInlineSnapshot(`
        "session droid                           +0ms    12.9s  idle_timeout
        +- invoke_agent droid                   +0ms    12.4s
           +- chat glm-5                        +0ms    3.90s
           +- execute_tool Task               +3.90s    5.00s  ERROR tool_error
           +- execute_tool Execute (cargo)    +3.90s    5.00s
           +- chat glm-5                      +8.90s    3.50s
        +- chat glm-5                         +12.9s      0ms  length unknown
        "
      `);
      expect(tokens(house)).toEqual([[1_000, 40]]);
      const before = house.events().length;
      house.import();
      expect(house.events().length).toBe(before);
    } finally {
      house.close();
    }
  });
});

// ---------------------------------------------------------------- recorded session

const recordings = 'fixtures/droid';
const folder = sharedPath(recordings);

overShared(recordings, 'recorded', () => {
  test('a part of a session: its calls, and the tokens of its side file to the token', () => {
    const beside = readFileSync(join(folder, 'transcripts', 'session.settings.json'));
    const text = textOf(join(folder, 'transcripts', 'session-part1.jsonl'));
    const { readings } = readRows(transcript, text, 's', { companions: [beside] });
    // The input is 6,743 new tokens and 42,496 from the cache; the cache was not written. Thinking is part of the
    // output.
    expect(total(readings)).toMatchObject({
      input: 49_239,
      output: 1_450,
      cacheRead: 42_496,
      cacheWrite: 0,
      reasoning: 1_088,
    });
    const count = (type: string): number => readings.filter(each => each.event_type === type).length;
    // The part ends with a call whose result is in the next part.
    expect([count('Prompt.Submitted'), count('Action.Before'), count('Action.After'), count('Agent.Response')]).toEqual(
      [1, 3, 2, 0],
    );
  });

  test('payloads of a session without a transcript become the expected events', () => {
    const lines = readFileSync(join(folder, 'hook-payloads', 'constructed.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const timed = lines.map((line, i) => ({
      atMs: START_MS + i * 1_000,
      payload: { ...(JSON.parse(line) as { stdin: object }).stdin, transcript_path: '' },
      header: { ppid: String(i) },
    }));
    const { events, fates } = play(timed);
    expect(new Set(fates)).toEqual(new Set(['journaled']));
    expect(events.map(event => event.event_type).filter(type => !type.startsWith('vendor.otel-hooks.'))).toEqual([
      'Session.Start',
      'Prompt.Submitted',
      'Action.Before',
      'Action.After',
      'Agent.Notification',
      'Context.Compaction',
      'vendor.droid.SubagentStop',
      'Agent.Response',
      'Session.End',
    ]);
  });
});
