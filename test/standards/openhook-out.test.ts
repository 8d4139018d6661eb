/** Outgoing OpenHook envelopes, checked against the rules that their readers rely on. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { type Event, isVendor, SETTLED } from '../../src/event/event.ts';
import { keyedHash } from '../../src/lib/hash.ts';
import { isUnreadable } from '../../src/standards/foreign-event.ts';
import { readOpenHook } from '../../src/standards/openhook/openhook.ts';
import { openHook } from '../../src/standards/openhook/openhook-validator.ts';
import {
  type Beyond,
  type Envelope,
  noOpenHook,
  openHookTypes,
  restOfOpenHook,
  toOpenHook,
} from '../../src/standards/openhook/to-openhook.ts';
import type { Asked, Report } from '../../src/standards/validation.ts';
import { samplesOf } from '../agents/samples.ts';
import { readJourney } from '../journeys/read.ts';
import { type PlayedHook, play, START_MS, treeOf } from '../play.ts';

/** The envelopes as they are written; the state goes through JSON between any two events. */
function written(events: readonly Event[], beyond: Beyond = {}): Envelope[] {
  const out: Envelope[] = [];
  const states = new Map<string, string>();
  for (const event of events) {
    const root = event.parent_session_id ?? event.session_id;
    const state = JSON.parse(states.get(root) ?? JSON.stringify(noOpenHook())) as ReturnType<typeof noOpenHook>;
    out.push(...toOpenHook(state, event, beyond));
    states.set(root, JSON.stringify(state));
  }
  for (const state of states.values()) out.push(...restOfOpenHook(JSON.parse(state), beyond));
  return out.map(envelope => JSON.parse(JSON.stringify(envelope)) as Envelope);
}

function judged(out: readonly Envelope[], asked: Asked): Report {
  const validation = openHook.validation('stream.jsonl', asked);
  validation.write(out.map(each => `${JSON.stringify(each)}\n`).join(''));
  return validation.end();
}

const linesOf = (envelopes: readonly Envelope[]): string[] =>
  envelopes.map(
    ({ type, time, data, extensions }) =>
      `${time.slice(11, 19)} ${type} ${JSON.stringify(data ?? {})}${extensions?.['otel-hooks'].agent_id ? ' by a subagent' : ''}`,
  );

const base = { session_id: 's-1', cwd: '/code/a b', permission_mode: 'default' };
const hook = (seconds: number, name: string, fields: object = {}): PlayedHook => ({
  atMs: START_MS + seconds * 1000,
  payload: { ...base, hook_event_name: name, transcript_path: '/t/s-1.jsonl', ...fields },
});
const tool = (id: string, name: string, input: object = {}): object => ({
  tool_use_id: id,
  tool_name: name,
  tool_input: input,
});
const paths = {
  prompt: 'off',
  response: 'off',
  arguments: 'off',
  results: 'off',
  paths: 'full',
  commands: 'off',
  user: 'off',
  host: 'off',
} as const;
const keeper = { modes: paths, longest: 1_000, clean: (text: string) => text };

const session: PlayedHook[] = [
  hook(0, 'SessionStart', { source: 'startup', model: 'claude-sonnet-4-5' }),
  hook(1, 'UserPromptSubmit', { prompt: 'Fix the clock 🕰' }),
  hook(2, 'PreToolUse', tool('t1', 'Edit', { file_path: '/code/a b/clock.ts' })),
  hook(3, 'PostToolUse', {
    ...tool('t1', 'Edit', { file_path: '/code/a b/clock.ts' }),
    duration_ms: 40,
    tool_response: {},
  }),
  hook(4, 'PreToolUse', tool('t2', 'mcp__tracker__close')),
  hook(6, 'PostToolUseFailure', { ...tool('t2', 'mcp__tracker__close'), error: 'no such ticket' }),
  hook(7, 'PreToolUse', tool('t3', 'Bash', { command: 'rm -rf build' })),
  hook(8, 'PermissionDenied', { ...tool('t3', 'Bash', { command: 'rm -rf build' }), reason: 'no' }),
  hook(9, 'PreToolUse', { ...tool('t4', 'Grep'), agent_id: 'sub-1', agent_type: 'Explore' }),
  hook(10, 'PostToolUse', { ...tool('t4', 'Grep'), agent_id: 'sub-1', agent_type: 'Explore', tool_response: {} }),
  hook(11, 'PreToolUse', tool('t5', 'Read', { file_path: '/code/a b/x' })),
  hook(20, 'SessionEnd', { reason: 'prompt_input_exit' }),
];

test('a session makes envelopes of all six types', () => {
  const { events } = play(session, false, undefined, keeper);
  const out = written(events, { cwd: '/code/a b', transcript: '/t/s-1.jsonl' });
  expect(linesOf(out)).toMatchInlineSnapshot(`
    [
      "09:00:00 session.start {"model":"claude-sonnet-4-5"}",
      "09:00:01 prompt.submit {"prompt_length":16}",
      "09:00:02 tool.start {"tool_name":"Edit","tool_call_id":"t1"}",
      "09:00:03 tool.end {"tool_name":"Edit","tool_call_id":"t1","status":"success","duration_ms":40}",
      "09:00:03 file.write {"path":"clock.ts","model":"claude-sonnet-4-5","tool_call_id":"t1"}",
      "09:00:04 tool.start {"tool_name":"mcp__tracker__close","tool_call_id":"t2"}",
      "09:00:06 tool.end {"tool_name":"mcp__tracker__close","tool_call_id":"t2","status":"error","duration_ms":2000}",
      "09:00:07 tool.start {"tool_name":"Bash","tool_call_id":"t3"}",
      "09:00:08 tool.end {"tool_name":"Bash","tool_call_id":"t3","status":"error","duration_ms":1000}",
      "09:00:09 tool.start {"tool_name":"Grep","tool_call_id":"t4"} by a subagent",
      "09:00:10 tool.end {"tool_name":"Grep","tool_call_id":"t4","status":"success","duration_ms":1000} by a subagent",
      "09:00:11 tool.start {"tool_name":"Read","tool_call_id":"t5"}",
      "09:00:20 tool.end {"tool_name":"Read","tool_call_id":"t5"}",
      "09:00:20 session.end {"transcript_path":"/t/s-1.jsonl","reason":"user_exit","model":"claude-sonnet-4-5","duration_ms":20000}",
    ]
  `);
  expect(new Set(out.map(({ type }) => type))).toEqual(new Set(openHookTypes));
  expect(judged(out, { level: 2, strict: true }).findings).toEqual([]);
  expect(out[0]).toMatchInlineSnapshot(`
    {
      "context": "file:///code/a%20b",
      "data": {
        "model": "claude-sonnet-4-5",
      },
      "extensions": {
        "otel-hooks": {
          "native_event": "SessionStart",
          "seq": 1,
        },
      },
      "id": "52037d3d-2ae6-85c8-afd3-5d9879f64e14",
      "openhook": "0.1",
      "session_id": "s-1",
      "source": "claude-code",
      "time": "2026-03-02T09:00:00.000Z",
      "type": "session.start",
    }
  `);
  expect(out.find(({ data }) => data?.tool_call_id === 't3' && data.status)?.extensions?.['otel-hooks']).toMatchObject({
    decision: 'deny',
    decision_source: 'classifier',
  });
});

describe('file.write', () => {
  const writesOf = (hooks: readonly PlayedHook[], keep?: typeof keeper): (object | undefined)[] =>
    written(play(hooks, false, undefined, keep).events)
      .filter(({ type }) => type === 'file.write')
      .map(({ data }) => data);
  const header = { tool: 'claude-code' };
  const edit = (id: string, tool_name: string, input: object, response: object): PlayedHook[] => [
    { ...hook(2, 'PreToolUse', tool(id, tool_name, input)), header },
    { ...hook(3, 'PostToolUse', { ...tool(id, tool_name, input), tool_response: response }), header },
  ];
  const hunk = (newStart: number, lines: string[]): object => ({ oldStart: newStart, newStart, lines });

  test('has a keyed hash in place of the path by default, and no path is recorded', () => {
    const { events } = play(session);
    const [write] = written(events).filter(({ type }) => type === 'file.write');
    expect(write?.data).toEqual({
      path: keyedHash('test', 'clock.ts'),
      model: 'claude-sonnet-4-5',
      tool_call_id: 't1',
    });
    expect(JSON.stringify(events)).not.toContain('clock.ts');
    expect(judged(written(events), { open: true }).errors).toBe(0);
  });

  test('has the operation and all lines of a file that was created', () => {
    const file = '/code/a b/src/new.ts';
    const response = { type: 'create', filePath: file, content: 'one\ntwo\n', structuredPatch: [], originalFile: null };
    expect(writesOf(edit('t1', 'Write', { file_path: file, content: 'one\ntwo\n' }, response), keeper)).toEqual([
      { path: 'src/new.ts', operation: 'create', start_line: 1, end_line: 2, tool_call_id: 't1' },
    ]);
  });

  test('is one envelope for each contiguous part of the structured patch', () => {
    const file = '/code/a b/src/old.ts';
    const structuredPatch = [
      hunk(4, [' a', ' b', '-c', '+C', '+D', ' e', '+F', ' g']),
      hunk(30, [' x', '-y', ' z']),
      hunk(50, ['+end', '\\ No newline at end of file']),
    ];
    const response = { filePath: file, oldString: 'c', newString: 'C', structuredPatch };
    const found = writesOf(edit('t1', 'Edit', { file_path: file, old_string: 'c', new_string: 'C' }, response), keeper);
    const about = { path: 'src/old.ts', operation: 'update', tool_call_id: 't1' };
    expect(found).toEqual([
      { ...about, start_line: 6, end_line: 7 },
      { ...about, start_line: 9, end_line: 9 },
      { ...about, start_line: 50, end_line: 50 },
    ]);
  });

  test('has no lines and no operation if the agent states neither', () => {
    const file = '/code/a b/x';
    expect(writesOf(edit('t1', 'Write', { file_path: file }, {}), keeper)).toEqual([{ path: 'x', tool_call_id: 't1' }]);
  });

  test('has the full path of a file outside the folder of the session', () => {
    const found = writesOf(edit('t1', 'Write', { file_path: '/code/a bc/x' }, {}), keeper);
    expect(found).toMatchObject([{ path: '/code/a bc/x' }]);
  });

  test('is absent for a call that failed', () => {
    const failed = hook(3, 'PostToolUseFailure', { ...tool('t1', 'Edit', { file_path: '/x' }), error: 'no match' });
    expect(writesOf([hook(2, 'PreToolUse', tool('t1', 'Edit', { file_path: '/x' })), failed], keeper)).toEqual([]);
  });

  test('is one envelope for each file of a patch, and a file that moves is deleted and created', () => {
    const patch = [
      '*** Begin Patch',
      '*** Add File: new.md',
      '+*** Delete File: not-a-header.md',
      '*** Update File: src/a.ts',
      '@@',
      '-a',
      '+b',
      '*** Update File: src/from.ts',
      '*** Move to: src/to.ts',
      '*** Delete File: gone.ts',
      '*** End Patch',
    ].join('\n');
    const call = { turn_id: 'turn-1', ...tool('t1', 'apply_patch', { command: patch }) };
    const hooks = [hook(2, 'PreToolUse', call), hook(3, 'PostToolUse', { ...call, tool_response: 'Success.' })];
    const codex = hooks.map(each => ({ ...each, header: { tool: 'codex' } }));
    expect(writesOf(codex, keeper)).toMatchObject([
      { path: 'new.md', operation: 'create' },
      { path: 'src/a.ts', operation: 'update' },
      { path: 'src/from.ts', operation: 'delete' },
      { path: 'src/to.ts', operation: 'create' },
      { path: 'gone.ts', operation: 'delete' },
    ]);
  });

  test('of another program is passed on', () => {
    const envelope = {
      openhook: '0.1',
      id: 'e-1',
      source: 'some-tool',
      type: 'file.write',
      time: '2026-03-02T09:00:00.000Z',
      session_id: 's-2',
      context: 'file:///code/a%20b',
      data: { path: '/code/a b/x.ts', operation: 'delete', start_line: 2, end_line: 3, tool_call_id: 'c-1' },
    };
    const [write] = writesOf([{ atMs: START_MS, payload: envelope }]);
    expect(write).toEqual({ ...envelope.data, path: keyedHash('test', 'x.ts') });
  });
});

describe('the end of a session', () => {
  const at = (seconds: number): string => new Date(START_MS + seconds * 1000).toISOString();
  let events = 0;
  const event = (type: string, seconds: number, data: object = {}, facts: object = {}): Event => {
    events += 1;
    return {
      spec_version: '0.1.0',
      event_id: `00000000-0000-8000-8000-${String(events).padStart(12, '0')}`,
      event_type: type,
      timestamp: at(seconds),
      source: { tool: 'codex' },
      session_id: 's-1',
      data,
      metadata: { 'dev.otel-hooks': { v: 1, seq: events, time: 'arrival', ...facts } },
    } as unknown as Event;
  };
  const settled = (reason: string): Event => event(SETTLED, 30, { of: 'session:0', reason });
  const began = [
    event('Session.Start', 0),
    event('Model.Responded', 4, { model_id: 'gpt-5', input_tokens: 100, output_tokens: 7 }),
  ];
  const late = event('Model.Responded', 9, { model_id: 'gpt-5', input_tokens: 50, output_tokens: 3 });
  const end = event('Session.End', 10, { end_reason: 'exit' });

  test('waits for the transcript, and holds the totals of all responses', () => {
    const state = noOpenHook();
    const before = [...began, end, late].flatMap(each => toOpenHook(state, each));
    expect(before.map(({ type }) => type)).toEqual(['session.start']);
    expect(toOpenHook(state, settled('read'))).toMatchObject([
      {
        type: 'session.end',
        id: end.event_id,
        time: at(10),
        data: { reason: 'user_exit', model: 'gpt-5', duration_ms: 10_000, input_tokens: 150, output_tokens: 10 },
      },
    ]);
    expect(restOfOpenHook(state)).toEqual([]);
  });

  test('has no tokens if the wait ended before the transcript was read', () => {
    const [, ended] = written([...began, end, settled('timeout')]);
    expect(ended?.data).toEqual({ reason: 'user_exit', model: 'gpt-5', duration_ms: 10_000 });
  });

  test('holds the totals of the end if no response had tokens', () => {
    const stated = event('Session.End', 10, { end_reason: 'error' }, { totals: { input_tokens: 9, output_tokens: 2 } });
    expect(written([event('Session.Start', 0), stated]).at(-1)?.data).toMatchObject({
      reason: 'error',
      input_tokens: 9,
      output_tokens: 2,
    });
  });

  test('after a silence is one envelope, and so is the next end of a continued session', () => {
    const silent = event('Session.Abort', 4_000, { end_reason: 'idle_timeout' });
    const again = event('Session.Start', 9_000, { start_reason: 'resume' });
    const out = written([...began, silent, again, event('Session.End', 9_010, { end_reason: 'completed' })]);
    expect(out.map(({ type, data }) => [type, data?.reason])).toEqual([
      ['session.start', undefined],
      ['session.end', 'timeout'],
      ['session.start', undefined],
      ['session.end', 'completed'],
    ]);
  });

  test('has a duration only if both ends are of one clock', () => {
    const other = event('Session.Start', 0, {}, { time: 'transcript' });
    expect(written([other, end]).at(-1)?.data).not.toHaveProperty('duration_ms');
  });
});

test.each([
  ['/home/kim/täglich 100%', 'file:///home/kim/t%C3%A4glich%20100%25'],
  ['C:\\src\\x y', 'file:///C:/src/x%20y'],
  ['\\\\server\\share\\x', 'file://server/share/x'],
  ['/odd\\name', 'file:///odd%5Cname'],
])('the folder %s is %s', (cwd, uri) => {
  const { events } = play(session.slice(0, 1));
  expect(written(events, { cwd })[0]?.context).toBe(uri);
});

const journeys = join(import.meta.dirname, '..', 'journeys', 'cases');
const streams: [string, PlayedHook[]][] = [
  ...readdirSync(journeys).map((file): [string, PlayedHook[]] => [
    file,
    readJourney(readFileSync(join(journeys, file), 'utf8')).hooks,
  ]),
  ...agents.map(({ id }): [string, PlayedHook[]] => [
    `samples of ${id}`,
    samplesOf(id).map(({ payload }, i) => ({ atMs: START_MS + i * 1000, payload, header: { tool: id } })),
  ]),
];

test.each(streams)('%s: each envelope is one of the standard, with an id of its own', (_name, hooks) => {
  const out = written(play(hooks, false, undefined, keeper).events, { cwd: '/w', transcript: '/t' });
  expect(judged(out, { open: true }).findings.filter(({ level }) => level === 'error')).toEqual([]);
  for (const each of out) {
    const read = readOpenHook({ ...each });
    expect(isUnreadable(read)).toBe(false);
    const isVendorThere = each.type === 'file.write' || each.extensions?.['otel-hooks'].outcome === 'unknown';
    expect('readings' in read && read.readings.some(reading => reading.event_type.startsWith('vendor.'))).toBe(
      isVendorThere,
    );
  }
  expect(new Set(out.map(({ id }) => id)).size).toBe(out.length);
});

test('envelopes that are read again give the same tree', () => {
  const hooks = session.filter(({ payload }) => !/"t[35]"/.test(JSON.stringify(payload)));
  const first = play(hooks);
  const back = written(first.events, { cwd: '/code/a b' }).map(
    (payload): PlayedHook => ({ atMs: Date.parse(payload.time), payload }),
  );
  const second = play(back);
  const bare = (tree: string): string => tree.replace(/ +/g, ' ');
  // OpenHook has no event for the end of a turn, so the outcome of a turn is unknown.
  expect(bare(treeOf(second.spans))).toBe(bare(treeOf(first.spans)).replaceAll(' unfinished', ''));
});

test('envelopes add nothing to a session that has its own hooks', () => {
  const first = play(session, false, undefined, keeper);
  const back = written(first.events, { cwd: '/code/a b' }).map(
    (payload): PlayedHook => ({ atMs: START_MS + 21_000, payload }),
  );
  const all = play([...session, ...back], false, undefined, keeper);
  const added = all.events.slice(first.events.length);
  expect(added.filter(event => !isVendor(event))).toEqual([]);
  expect(treeOf(all.spans)).toBe(treeOf(first.spans));
});

test('no agent has a native hook with the name of a type of the standard', () => {
  for (const { events } of agents) for (const type of openHookTypes) expect(events).not.toHaveProperty([type]);
});

test.each([
  [3.6, 4],
  [-1, 1000],
])('a length of %s ms that an agent states is written as %s', (stated, left) => {
  const call = tool('t1', 'Bash');
  const { events } = play([
    hook(0, 'SessionStart', { source: 'startup' }),
    hook(1, 'PreToolUse', call),
    hook(2, 'PostToolUse', { ...call, tool_response: {}, duration_ms: stated }),
  ]);
  expect(written(events).at(-1)?.data).toMatchObject({ duration_ms: left });
});
