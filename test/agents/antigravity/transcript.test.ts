/** Antigravity's transcripts: with hooks, and the recorded ones if they are beside the repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transcript } from '../../../src/agents/antigravity/transcript.ts';
import { FACTS, type Fields } from '../../../src/event/event.ts';
import { play, START_MS } from '../../play.ts';
import { overShared, sharedPath } from '../../shared.ts';
import { openHouse } from '../../transcripts/house.ts';
import { readRows, textOf } from '../read-transcript.ts';

const sample = textOf(join(import.meta.dirname, 'commands.transcript'))
  .split('\n')
  .filter(line => line.startsWith('{'))
  .join('\n');

test('a copy in another folder is recognized by its rows', () => {
  const rows = sample.split('\n').map(line => JSON.parse(line) as object as Fields);
  expect(transcript.sessions({ path: '/copies/c1.jsonl' }, { rows, document: undefined })).toEqual([{ session: 'c1' }]);
  const others = [{ type: 'USER_INPUT', source: 'startup', step_index: 1 }];
  expect(transcript.sessions({ path: '/copies/c1.jsonl' }, { rows: others, document: undefined })).toEqual([]);
});

test('hook and transcript give a call the same id', () => {
  const payload = {
    hookEventName: 'PostToolUse',
    conversationId: 'c-1',
    artifactDirectoryPath: '/x',
    stepIdx: 3,
    error: 'command exited with code 101',
  };
  const [event] = play([{ atMs: START_MS, payload }]).events;
  const after = readRows(transcript, sample, 'c-1').readings.find(
    each => each.key === 'step-3' && each.event_type === 'Action.After',
  );
  expect(event?.metadata?.[FACTS]?.call).toBe(after?.key);
  expect(event?.data).toMatchObject({ action: { result: { success: false, exit_code: 101 } } });
  expect(after?.data).toMatchObject({ action: { result: { success: false, exit_code: 101 } } });
});

test('older builds report only the ends of calls: names, starts and times come from the transcript', () => {
  const session = '5d0c11aa-7e52-4c1b-9a36-0b6f2d8e4c21';
  const house = openHouse('antigravity', session);
  try {
    const path = join(house.home, '.gemini/antigravity-cli/brain', session, '.system_generated/logs/transcript.jsonl');
    house.write(path, ...sample.split('\n').map(line => `${line}\n`));
    const startMs = Date.parse('2026-06-21T08:00:00.000Z');
    const hook = (after: number, hookEventName: string, fields: object = {}): void =>
      house.hook((startMs - START_MS) / 1_000 + after, '', {
        hookEventName,
        conversationId: session,
        transcriptPath: path,
        ...fields,
      });
    hook(0.4, 'PreInvocation');
    hook(2.5, 'PostInvocation');
    hook(4.2, 'PostToolUse', { stepIdx: 4, error: 'no such file' });
    hook(9.3, 'PostToolUse', { stepIdx: 3, error: 'command exited with code 101' });
    hook(10.5, 'PreInvocation', { invocationNum: 1 });
    hook(11.5, 'PostInvocation', { invocationNum: 1 });
    hook(12.6, 'PostToolUse', { stepIdx: 7 });
    hook(16.4, 'Stop', { terminationReason: 'completed', fullyIdle: true });
    house.round({ nowMs: startMs + 30_000 });
    house.round({ nowMs: startMs + 60_000 });
    expect(house.tree()).toMatchInlineSnapshot(`
      "session antigravity                     +0ms    16.0s  open
      +- invoke_agent antigravity             +0ms    16.0s
         +- chat                              +0ms    2.10s
         +- execute_tool view_file          +2.60s    1.00s  ERROR tool_error
         +- execute_tool run_command        +2.60s    6.00s  ERROR exit_code, exit 101
         +- chat                            +10.1s    1.00s
         +- execute_tool invoke_subagent    +11.6s      0ms
      "
    `);
    const actions = house
      .spans()
      .flatMap(span => (span.kind === 'action' ? [[span.tool, span.name, span.duration]] : []));
    expect(actions).toEqual([
      ['run_command', 'shell', 'transcript'],
      ['view_file', 'read_file', 'transcript'],
      ['invoke_subagent', 'agent', 'transcript'],
    ]);
    const { transcripts, counters } = house.ledger();
    expect(transcripts.read).toBe(transcripts.journaled + transcripts.duplicate);
    expect(Object.keys(counters).filter(name => name.startsWith('odd.'))).toEqual([]);
  } finally {
    house.close();
  }
});

test('the files of a conversation are found in both programs', () => {
  const there = '/h/.gemini/antigravity-cli/brain/c-1/.system_generated/logs/transcript.jsonl';
  const look = {
    names: (folder: string) => (folder.includes('-cli') ? ['c-1'] : []),
    head: (path: string) => (path === there ? '{' : ''),
  };
  const place = { session: 'c-1', cwd: undefined, home: '/h', env: {}, main: undefined, subagents: [] };
  expect(transcript.files(place, look)).toEqual([{ path: there }]);
  expect(transcript.files({ ...place, main: '/told' }, look)).toEqual([{ path: '/told' }]);
  expect(transcript.files({ ...place, session: 'c-2' }, look)).toEqual([]);
  expect(transcript.installed({ home: '/h', project: '/p', env: {} }, look)).toEqual([{ path: there }]);
});

// ---------------------------------------------------------------- recorded transcripts

const recordings = 'fixtures/antigravity';
const folder = sharedPath(recordings);

overShared(recordings, 'recorded', () => {
  /**
   * Counted by hand in the rows: USER_INPUT; PLANNER_RESPONSE; rows of source MODEL of another type; ERROR_MESSAGE;
   * planner responses with content and without calls. None of them has tokens, so no event may state tokens.
   */
  const expected: Record<string, [prompts: number, responses: number, calls: number, errors: number, answers: number]> =
    {
      '1-1_session-start.jsonl': [1, 1, 0, 0, 1],
      '2-12_context-compaction.jsonl': [2, 2, 0, 0, 2],
      '2-2_auto-executed-tool-call.jsonl': [1, 2, 1, 0, 1],
      '2-4_self-correction-iteration.jsonl': [1, 3, 2, 0, 1],
      '3-1_foreground-subagent.jsonl': [1, 3, 1, 1, 0],
      'codeburn-current-cli.jsonl': [1, 1, 0, 0, 1],
    };
  const files = readdirSync(join(folder, 'transcripts'));
  test('each has its expectation', () => expect(files.sort()).toEqual(Object.keys(expected)));

  test.each(files)('%s', file => {
    const { readings } = readRows(transcript, textOf(join(folder, 'transcripts', file)), 'root');
    const count = (type: string): number => readings.filter(each => each.event_type === type).length;
    expect([
      count('Prompt.Submitted'),
      count('Model.Responded'),
      count('Action.After'),
      count('Agent.Error'),
      count('Agent.Response'),
    ]).toEqual(expected[file]);
    expect(count('Action.Before')).toBe(count('Action.After'));
    for (const { data } of readings) expect(data).not.toHaveProperty('input_tokens');
  });

  test('a failed command has its exit code, a launched subagent its conversation', () => {
    const of = (file: string) => readRows(transcript, textOf(join(folder, 'transcripts', file)), 'root').readings;
    const results = of('2-4_self-correction-iteration.jsonl').flatMap(each =>
      each.event_type === 'Action.After' ? [each.data.action.result] : [],
    );
    expect(results).toEqual([
      { success: false, exit_code: 1 },
      { success: true, exit_code: undefined },
    ]);
    const launched = of('3-1_foreground-subagent.jsonl').find(each => each.event_type === 'Action.After');
    expect(launched?.facts?.launches).toEqual({ agent: 'research', id: expect.stringMatching(/^d635cb50-/) });
  });

  test('its payloads become the expected events', () => {
    const lines = readFileSync(join(folder, 'hook-payloads', 'constructed.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const timed = lines.map((line, i) => {
      const { event, stdin } = JSON.parse(line) as { event: string; stdin: object };
      return { atMs: START_MS + i * 1000, payload: stdin, header: { event, ppid: String(i) } };
    });
    const { events, fates } = play(timed);
    expect(new Set(fates)).toEqual(new Set(['journaled']));
    expect(events.map(event => event.event_type).filter(type => !type.startsWith('vendor.'))).toEqual([
      'Prompt.Submitted',
      'Model.Requested',
      'Action.Before',
      'Action.Before',
      'Action.After',
      'Action.After',
      'Model.Responded',
      'Agent.Response',
    ]);
  });
});
