import { expect, test } from 'vitest';
import { factsOf } from '../../src/event/event.ts';
import { validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import { play, START_MS } from '../play.ts';

const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };
const prompt = (text: string, second = 0) => ({
  atMs: START_MS + second * 1000,
  payload: { ...session, hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: text },
});

test('the id of an event does not depend on its content', () => {
  const [yes] = play([prompt('yes')]).events;
  const [nay] = play([prompt('nay')]).events;
  expect(yes?.event_id).toBe(nay?.event_id);
  expect(yes?.data).not.toEqual(nay?.data);
});

test('two equal events are two events, and the same order gives the same ids', () => {
  const ids = () => play([prompt('yes'), prompt('yes', 5), prompt('yes', 9)]).events.map(event => event.event_id);
  expect(new Set(ids()).size).toBe(3);
  expect(ids()).toEqual(ids());
});

test('a call without an id of its own gets a number, not a hash of its input', () => {
  const { events } = play([
    {
      atMs: START_MS,
      payload: { ...session, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'date' } },
    },
  ]);
  expect(events[0]?.metadata?.['dev.otel-hooks']?.call).toBe('call-1');
});

test('thousands of equal events cost no more each than the first', () => {
  const hooks = Array.from({ length: 3_000 }, (_, i) => prompt('yes', i * 2));
  const { events } = play(hooks);
  expect(new Set(events.map(event => event.event_id)).size).toBe(events.length);
});

test.each([
  ['', 'empty'],
  ['  \n', 'empty'],
  ['{"a":', 'not-json'],
  ['\u0000\u0001binary', 'not-json'],
  ['[1,2]', 'not-an-object'],
  ['"text"', 'not-an-object'],
  ['{"hello":1}', 'unknown-agent'],
  [`${'['.repeat(100_000)}`, 'not-json'],
])('%j is set aside: %s', (payload, reason) => {
  expect(play([{ atMs: START_MS, payload }]).fates).toEqual([reason]);
});

test.each([
  [undefined, 'no-session-id'],
  ['', 'no-session-id'],
  [42, 'no-session-id'],
  ['x'.repeat(10_000), 'bad-session-id'],
  ['a\u0000b', 'bad-session-id'],
  ['../../etc/passwd', 'journaled'],
  ['__proto__', 'journaled'],
  ['constructor', 'journaled'],
])('the session id %j: %s', (id, fate) => {
  const payload = { ...session, session_id: id, hook_event_name: 'Stop' };
  const played = play([{ atMs: START_MS, payload, header: { tool: 'claude-code' } }]);
  expect(played.fates).toEqual([fate]);
  for (const state of played.states.values()) expect(state.key).toMatch(/^[0-9a-f]{32}$/);
});

test('a jump of the clock does not change durations within a session', () => {
  const played = play([
    {
      atMs: START_MS,
      upMs: 1_000,
      payload: { ...session, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 'c1', tool_input: {} },
    },
    {
      atMs: START_MS - 3_600_000,
      upMs: 3_000,
      payload: { ...session, hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_use_id: 'c1', tool_input: {} },
    },
  ]);
  expect(played.spans.map(span => span.endMs - span.startMs)).toEqual([2_000]);
});

test.each([
  [12.5, 13],
  [-3, undefined],
])('a session with a stated length of %d ms has a length that the standard allows', (stated, kept) => {
  const ending = { hook_event_name: 'sessionEnd', conversation_id: 'c-1', reason: 'user_close', duration_ms: stated };
  const { events } = play([{ atMs: START_MS, header: { tool: 'cursor' }, payload: ending }]);
  const [end] = events;
  expect(end?.event_type === 'Session.End' && end.data.usage?.duration_ms).toBe(kept);
  expect(validateAgentHooks(JSON.stringify(end), 'event').findings).toEqual([]);
});

test.each([1e300, -1, 9e15])('an invalid time, %d, is replaced by the time of arrival', timestamp => {
  const payload = { timestamp, sessionId: 's', cwd: '/', toolName: 'view', toolArgs: {} };
  const { events } = play([{ atMs: START_MS, payload, header: { tool: 'copilot' } }]);
  expect(events.map(event => event.timestamp)).toEqual([new Date(START_MS).toISOString()]);
  expect(events.map(event => factsOf(event)?.time)).toEqual(['arrival']);
});

// ---------------------------------------------------------------- payloads from entries of the Python package

const stop = { ...session, hook_event_name: 'Stop', permission_mode: 'default', stop_hook_active: false };

test.each([
  ['a variable that travels with the hook', stop, { OTEL_HOOKS_SOURCE_TOOL: 'claude' }],
  ['a field of the payload', { ...stop, source_tool: 'claude' }, {}],
])('%s names the agent, under the names of that package too', (_, payload, header) => {
  const { events } = play([{ atMs: START_MS, payload, header }]);
  expect(events.map(event => [event.source.tool, event.event_type])[0]).toEqual(['claude-code', 'Agent.Response']);
});

test('a step that was only counted there is an event here', () => {
  const metric = (metric_name: string, second: number, metric_attributes: object = {}) => ({
    atMs: START_MS + second * 1000,
    payload: {
      source_tool: 'gemini',
      session_id: 's-9',
      kind: 'metric',
      metric_name,
      metric_value: 1,
      metric_attributes,
    },
    header: { ppid: String(second) },
  });
  const { events, spans, fates } = play([
    metric('session_started', 0),
    metric('prompt_submitted', 1),
    metric('tool_started', 2, { tool_name: 'run_shell_command' }),
    metric('tool_completed', 5, { tool_name: 'run_shell_command' }),
    metric('tool_started', 5, { tool_name: 'read_file' }),
    metric('tool_failed', 6, { tool_name: 'read_file' }),
    metric('repo_session_end', 6, { diff: 'a secret' }),
    metric('session_idle', 7),
    metric('session_ended', 8),
  ]);
  expect(new Set(fates)).toEqual(new Set(['journaled']));
  expect(events.map(event => event.event_type).filter(type => !type.startsWith('vendor.otel-hooks.'))).toEqual([
    'Session.Start',
    'Prompt.Submitted',
    'Action.Before',
    'Action.After',
    'Action.Before',
    'Action.After',
    'vendor.gemini-cli.repo_session_end',
    'Agent.Response',
    'Session.End',
  ]);
  const actions = spans.flatMap(span => (span.kind === 'action' ? [[span.outcome, span.endMs - span.startMs]] : []));
  expect(actions).toEqual([
    ['success', 3_000],
    ['failure', 1_000],
  ]);
  expect(JSON.stringify(events)).not.toContain('secret');
});

test('a payload that only points to a transcript is the event that it names', () => {
  const payload = {
    source_tool: 'opencode',
    opencode_event_type: 'session.idle',
    session_id: 'ses_1',
    transcript_path: '/tmp/otel-hooks/opencode/ses_1.jsonl',
  };
  const { fates, states } = play([{ atMs: START_MS, payload }]);
  expect(fates).toEqual(['journaled']);
  expect([...states.values()].map(state => [state.agent, state.session])).toEqual([['opencode', 'ses_1']]);
});

test('a guessed answer is counted as a guess', () => {
  const guess = { session_id: 's-3', hook_event_name: 'Stop', cwd: '/x', stop_hook_active: false, prompt_id: 'p' };
  expect(play([{ atMs: START_MS, payload: guess }]).odd).toEqual(['unsure_agent']);
  expect(play([{ atMs: START_MS, payload: guess, header: { tool: 'claude-code' } }]).odd).toEqual([]);
});
