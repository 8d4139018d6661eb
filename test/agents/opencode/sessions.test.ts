/** Sessions of OpenCode, both versions: recorded ones if they are beside the repository, and our own. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { factsOf } from '../../../src/event/event.ts';
import { play, START_MS, treeOf } from '../../play.ts';
import { overShared, sharedPath } from '../../shared.ts';
import { textOf } from '../read-transcript.ts';

const recordings = 'fixtures/opencode';
const folder = sharedPath(recordings);

const playEvents = (payloads: readonly (string | object)[]) =>
  play(payloads.map((payload, i) => ({ atMs: START_MS + i, payload })));

overShared(recordings, 'recorded events of V2', () => {
  const events = (name: string) =>
    playEvents(
      textOf(join(folder, 'v2-events', name))
        .trim()
        .split('\n'),
    );

  // Computed by hand: two steps, 3643 and 3737 tokens of input, each with 3328 from the cache; 19 and 4 of output, with
  // 47 and 19 of reasoning. The session's own running total has 29, 6, 85 and 512 more: the tokens of the request for
  // its title. Two events name no session: the end of a shell's process, and a message about the project.
  test('a turn', () => {
    const { fates, events: recorded, spans } = events('turn.jsonl');
    expect(fates.filter(fate => fate !== 'journaled')).toEqual(['no-session-id', 'no-session-id']);
    const responses = recorded.flatMap(event => (event.event_type === 'Model.Responded' ? [event] : []));
    expect(responses.map(event => [event.data.input_tokens, event.data.output_tokens])).toEqual([
      [3_643 + 3_328, 19 + 47],
      [3_737 + 3_328, 4 + 19],
    ]);
    expect(responses.map(event => event.data.latency_ms)).toEqual([
      1_790_708_786_759 - 1_790_708_782_327,
      1_790_708_830_344 - 1_790_708_826_820,
    ]);
    expect(new Set(responses.map(event => factsOf(event)?.turn))).toEqual(new Set(['msg_0ee8f94710015Z5jXW9r1VajsI']));
    const [action] = spans.filter(span => span.kind === 'action');
    expect(action).toMatchObject({ tool: 'shell', executable: 'sleep', outcome: 'success', exitCode: 0 });
    expect(action && action.endMs - action.startMs).toBe(1_790_708_826_784 - 1_790_708_786_757);
    expect(spans.filter(span => span.kind === 'turn')).toMatchObject([{ outcome: 'completed' }]);
  });

  test('a call that the user refused', () => {
    const { spans, events: recorded } = events('permission-rejected-tail.jsonl');
    expect(spans.filter(span => span.kind === 'action')).toMatchObject([
      { outcome: 'denied', decision: { outcome: 'deny', source: 'user' } },
    ]);
    expect(recorded.filter(event => event.event_type === 'Model.Responded')).toMatchObject([
      { data: { input_tokens: 46 + 7_040, output_tokens: 18 + 43 } },
    ]);
  });
});

const root = 'ses_root',
  child = 'ses_child';

/** The form in which the plugin forwards it. */
const v1 = (seconds: number, type: string, properties: object): object => ({
  type,
  properties,
  session_id: root,
  event_time: START_MS + seconds * 1_000,
  directory: '/home/dev/shop',
  opencode_version: '1.18.18',
});
const v2 = (seconds: number, type: string, data: object): object => ({
  id: `evt_${seconds}`,
  created: START_MS + seconds * 1_000,
  type,
  data: { sessionID: root, ...data },
  session_id: root,
  directory: '/home/dev/shop',
  opencode_version: '2.0.32',
});
const part = (
  seconds: number,
  sessionID: string,
  callID: string,
  tool: string,
  status: string,
  [start, end]: [number, number?],
  more: object = {},
): object =>
  v1(seconds, 'message.part.updated', {
    part: {
      sessionID,
      type: 'tool',
      callID,
      tool,
      state: {
        status,
        input: { command: 'npm test', subagent_type: 'explore' },
        time: { start: START_MS + start * 1_000, ...(end === undefined ? {} : { end: START_MS + end * 1_000 }) },
        ...more,
      },
    },
  });
const answer = (seconds: number, sessionID: string, id: string, parentID: string, done?: number): object =>
  v1(seconds, 'message.updated', {
    info: {
      id,
      sessionID,
      role: 'assistant',
      parentID,
      modelID: 'gpt-5.5',
      providerID: 'openai',
      cost: done === undefined ? 0 : 0.25,
      tokens:
        done === undefined
          ? { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
          : { input: 100, output: 10, reasoning: 5, cache: { read: 1_000, write: 50 } },
      time: {
        created: START_MS + seconds * 1_000,
        ...(done === undefined ? {} : { completed: START_MS + done * 1_000 }),
      },
    },
  });

test('V1: a turn with a question to the user, a failed command and a child session', () => {
  const { spans, oddities } = playEvents([
    v1(0, 'session.created', { sessionID: root, info: { id: root } }),
    v1(1, 'chat.message', { sessionID: root, agent: 'build', messageID: 'm1', parts: [{ type: 'text', text: 'go' }] }),
    answer(1.1, root, 'a1', 'm1'),
    part(2, root, 'c1', 'bash', 'running', [2]),
    v1(2.1, 'permission.asked', { id: 'p1', sessionID: root, tool: { messageID: 'a1', callID: 'c1' } }),
    v1(5.1, 'permission.replied', { sessionID: root, requestID: 'p1', reply: 'once' }),
    part(6, root, 'c1', 'bash', 'running', [2]),
    part(7, root, 'c1', 'bash', 'completed', [2, 7], { metadata: { exit: 1 } }),
    answer(7.1, root, 'a1', 'm1', 7.1),
    answer(7.2, root, 'a1', 'm1', 7.1),
    part(8, root, 'c2', 'task', 'running', [8], { metadata: { sessionId: child } }),
    v1(8.1, 'session.created', { sessionID: child, info: { id: child, parentID: root, agent: 'explore' } }),
    v1(8.2, 'chat.message', { sessionID: child, messageID: 'm2', parts: [{ type: 'text', text: 'look' }] }),
    part(9.5, child, 'c3', 'read', 'error', [9, 9.5], { error: 'no such file' }),
    answer(8.3, child, 'a2', 'm2', 11),
    v1(11.1, 'session.idle', { sessionID: child }),
    part(11.2, root, 'c2', 'task', 'completed', [8, 11.2], { metadata: { sessionId: child } }),
    answer(11.3, root, 'a3', 'm1', 13),
    v1(13.1, 'session.idle', { sessionID: root }),
    v1(20, 'chat.message', {
      sessionID: root,
      agent: 'build',
      messageID: 'm3',
      parts: [{ type: 'text', text: 'more' }],
    }),
    v1(21, 'session.error', { sessionID: root, error: { name: 'MessageAbortedError', data: { message: 'x' } } }),
    v1(21.1, 'session.idle', { sessionID: root }),
    v1(30, 'dispose', { sessionID: root }),
  ]);
  expect(treeOf(spans)).toMatchInlineSnapshot(`
    "session opencode                   +0ms    30.0s  exit
    +- invoke_agent opencode         +1.00s    12.1s
       +- execute_tool bash (npm)    +5.00s    2.00s  ERROR exit_code, allowed (user), exit 1, waited 2900ms
       +- chat gpt-5.5               +7.10s      0ms  length unknown
       +- execute_tool task          +8.00s    3.20s
          +- invoke_agent explore    +8.10s    3.00s
             +- execute_tool read    +9.00s    500ms  ERROR tool_error
             +- chat gpt-5.5         +11.0s      0ms  length unknown
       +- chat gpt-5.5               +13.0s      0ms  length unknown
    +- invoke_agent opencode         +20.0s    1.00s  ERROR interrupted
    "
  `);
  expect(oddities).toEqual({});
  expect(spans.find(span => span.kind === 'action' && span.call === 'c1')).toMatchObject({
    waitMs: 2_900,
    decision: { outcome: 'allow', source: 'user', basis: 'observed' },
    exitCode: 1,
  });
  expect(spans.filter(span => span.kind === 'turn').map(span => span.outcome)).toEqual(['completed', 'interrupted']);
  const chats = spans.filter(span => span.kind === 'chat');
  expect(
    chats.map(span => [span.input, span.output, span.cacheRead, span.cacheWrite, span.reasoning, span.costUsd]),
  ).toEqual([1, 2, 3].map(() => [1_150, 15, 1_000, 50, 5, 0.25]));
});

test('V1: a message that fails after repeated requests is one failed response, and a title is none', () => {
  const params = (seconds: number, agent: string): object =>
    v1(seconds, 'chat.params', { sessionID: root, messageID: 'a1', agent, model: { id: 'gpt-5.5' } });
  const { spans, oddities } = playEvents([
    v1(0, 'session.created', { sessionID: root, info: { id: root } }),
    v1(1, 'chat.message', { sessionID: root, agent: 'build', messageID: 'm1', parts: [{ type: 'text', text: 'go' }] }),
    params(1.5, 'title'),
    params(2, 'build'),
    v1(2.5, 'session.status', { sessionID: root, status: { type: 'retry', attempt: 1 } }),
    params(3, 'build'),
    v1(4, 'session.error', { sessionID: root, messageID: 'a1', error: { name: 'APIError', data: {} } }),
    v1(4.1, 'message.updated', {
      info: {
        id: 'a1',
        sessionID: root,
        role: 'assistant',
        parentID: 'm1',
        error: { name: 'APIError' },
        tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
        time: { created: START_MS + 1_400, completed: START_MS + 4_100 },
      },
    }),
    v1(4.2, 'session.idle', { sessionID: root }),
    v1(5, 'dispose', { sessionID: root }),
  ]);
  expect(treeOf(spans)).toMatchInlineSnapshot(`
    "session opencode              +0ms    5.00s  exit
    +- invoke_agent opencode    +1.00s    3.00s  ERROR api
       +- chat gpt-5.5          +2.00s    2.00s  ERROR api
    "
  `);
  expect(oddities).toEqual({});
});

test('V1: a fork copies messages and calls, which are not counted again', () => {
  const { spans } = playEvents([
    v1(10, 'session.created', { sessionID: root, info: { id: root, time: { created: START_MS + 10_000 } } }),
    answer(1, root, 'a1', 'm1', 2),
    part(10.1, root, 'c1', 'bash', 'completed', [1, 2]),
    v1(11, 'chat.message', { sessionID: root, messageID: 'm2', parts: [{ type: 'text', text: 'go' }] }),
    answer(12, root, 'a2', 'm2', 13),
    v1(14, 'session.idle', { sessionID: root }),
    v1(15, 'dispose', { sessionID: root }),
  ]);
  expect(spans.map(span => span.kind)).toEqual(['chat', 'turn', 'session']);
});

test('V1: a rule and a run without a person refuse calls', () => {
  const rejected = { error: 'The user rejected permission to use this specific tool call.' };
  const ruled = { error: 'The user has specified a rule which prevents you from using this specific tool call. [...]' };
  const { spans } = playEvents([
    v1(0, 'session.created', {
      sessionID: root,
      info: { id: root, permission: [{ permission: 'question', pattern: '*', action: 'deny' }] },
    }),
    v1(1, 'chat.message', { sessionID: root, messageID: 'm1', parts: [{ type: 'text', text: 'go' }] }),
    part(2, root, 'c1', 'bash', 'error', [2, 2.1], ruled),
    part(3, root, 'c2', 'bash', 'running', [3]),
    v1(3.1, 'permission.asked', { id: 'p1', sessionID: root, tool: { messageID: 'a1', callID: 'c2' } }),
    v1(3.2, 'permission.replied', { sessionID: root, requestID: 'p1', reply: 'reject' }),
    part(3.3, root, 'c2', 'bash', 'error', [3, 3.3], rejected),
    part(4, root, 'c3', 'invalid', 'completed', [4, 4.1]),
    v1(5, 'session.idle', { sessionID: root }),
  ]);
  expect(
    spans.flatMap(span => (span.kind === 'action' ? [[span.outcome, span.decision?.source, span.errorType]] : [])),
  ).toEqual([
    ['denied', 'config', undefined],
    ['denied', 'mode', undefined],
    ['failure', undefined, 'tool_error'],
  ]);
});

test('V1: a call that the user interrupts is interrupted, though its end follows the end of the turn', () => {
  const output = '(no output)\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>';
  const { spans } = playEvents([
    v1(0, 'session.created', { sessionID: root, info: { id: root } }),
    v1(1, 'chat.message', { sessionID: root, messageID: 'm1', parts: [{ type: 'text', text: 'go' }] }),
    part(2, root, 'c1', 'bash', 'running', [2]),
    v1(3, 'session.error', { sessionID: root, error: { name: 'MessageAbortedError', data: { message: 'Aborted' } } }),
    v1(3, 'session.idle', { sessionID: root }),
    part(3.1, root, 'c1', 'bash', 'completed', [2, 3.1], { output, metadata: { output, exit: null } }),
  ]);
  expect(spans.flatMap(span => ('outcome' in span ? [[span.kind, span.outcome]] : []))).toEqual([
    ['action', 'interrupted'],
    ['turn', 'interrupted'],
  ]);
});

test('V1: a compaction and the prompt that follows it belong to the running turn', () => {
  const { spans } = playEvents([
    v1(0, 'session.created', { sessionID: root, info: { id: root } }),
    v1(1, 'chat.message', { sessionID: root, messageID: 'm1', parts: [{ type: 'text', text: 'go' }] }),
    answer(2, root, 'a1', 'm1', 3),
    answer(4, root, 'a2', 'compaction', 5),
    answer(6, root, 'a3', 'continue', 7),
    v1(8, 'session.idle', { sessionID: root }),
  ]);
  expect(spans.filter(span => span.kind === 'turn').map(span => [span.turn, span.usage.calls])).toEqual([['m1', 3]]);
});

test('V2: input during a turn belongs to it, and waiting input begins the next turn', () => {
  const prompt = (seconds: number, inboxID: string): object =>
    v2(seconds, 'session.inbox.enqueued', { inboxID, item: { type: 'user', payload: { text: 'go' } } });
  const { spans, events } = playEvents([
    v2(0, 'session.created', { agent: 'build' }),
    prompt(1, 'm1'),
    v2(1.1, 'session.execution.started', {}),
    v2(1.2, 'session.inbox.delivered', { inboxID: 'm1' }),
    prompt(3, 'm2'),
    v2(3.1, 'session.inbox.delivered', { inboxID: 'm2' }),
    prompt(4, 'm3'),
    v2(5, 'session.execution.succeeded', {}),
    v2(6, 'session.execution.started', {}),
    v2(6.1, 'session.inbox.delivered', { inboxID: 'm3' }),
    v2(6.2, 'session.step.started', { assistantMessageID: 'a1', model: { id: 'm' }, started: START_MS + 6_150 }),
    v2(7, 'session.execution.failed', { error: { type: 'provider.transport', message: 'canary' } }),
  ]);
  expect(spans.filter(span => span.kind === 'turn').map(span => [span.turn, span.prompts, span.outcome])).toEqual([
    ['m1', 3, 'completed'],
    ['m3', 0, 'failed'],
  ]);
  expect(JSON.stringify(events)).not.toContain('canary');
});

test('a failed response names the model that was asked', () => {
  const { events: recorded } = playEvents([
    v2(1, 'session.inbox.enqueued', { inboxID: 'm1', item: { type: 'user', payload: { text: 'go' } } }),
    v2(2, 'session.step.started', { assistantMessageID: 'a1', model: { id: 'gpt-5', providerID: 'openai' } }),
    v2(3, 'session.step.failed', { assistantMessageID: 'a1', error: { type: 'provider.invalid-request' } }),
    v2(4, 'session.execution.failed', { error: { type: 'provider.invalid-request', message: 'no' } }),
  ]);
  const failed = recorded.find(event => event.event_type === 'Model.Failed');
  expect(failed?.data).toMatchObject({ model_id: 'gpt-5', error_type: 'provider_invalid_request' });
  expect(failed && factsOf(failed)).toMatchObject({ model: 'gpt-5', provider: 'openai' });
});
