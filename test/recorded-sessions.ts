/** Sessions of two days in a state folder, for the commands that show recorded sessions. */
import { step } from '../src/assemble/assemble.ts';
import type { Event } from '../src/event/event.ts';
import { foldFrom } from '../src/journal/journal-events.ts';
import { indexDocument, indexedText, shardOf } from '../src/journal/session-index.ts';
import { sessionKey } from '../src/session/session-state.ts';
import { openStore } from '../src/store/store.ts';

/** Seconds after the beginning, type, data, our facts, and further fields of the event. */
export type Line = [seconds: number, type: string, data?: object, facts?: object, more?: object];

/** Noon, so that each session stays within a day in every time zone between -11 and +11 hours. */
export const FIRST_DAY = Date.parse('2026-09-21T12:00:00.000Z');
export const SECOND_DAY = FIRST_DAY + 86_400_000;
/** The time at which the commands run. */
export const NOW = SECOND_DAY + 600_000;

export function record(folder: string, agent: string, session: string, startMs: number, all: readonly Line[]): void {
  const key = sessionKey(agent, session);
  const events = all.map(([seconds, event_type, data = {}, facts = {}, more = {}], i): Event => {
    const shaped = {
      spec_version: '0.1.0',
      event_id: `00000000-0000-8000-8000-${session.slice(0, 4).padStart(4, '0')}${String(i).padStart(8, '0')}`,
      event_type,
      timestamp: new Date(startMs + seconds * 1_000).toISOString(),
      source: { tool: agent },
      session_id: session,
      data,
      ...more,
      metadata: { 'dev.otel-hooks': { v: 1, seq: i + 1, time: 'native', ...facts } },
    };
    return shaped as unknown as Event;
  });
  const [first] = events;
  if (first === undefined) throw new Error('a session without events');
  const { fold } = foldFrom(first);
  for (const event of events) step(fold, event);

  const store = openStore({ folder, access: 'own' });
  const lines = events.map(event => `${JSON.stringify(event)}\n`).join('');
  const shard = indexDocument.of(shardOf(key));
  const index = { ...store.read(shard), [key]: indexedText(lines) };
  const sessions = [{ key, state: { v: 1, key, pinned: {}, fold } }];
  const documents = [{ name: shard.name, version: shard.version, value: index }];
  if (store.commit({ journal: [{ key, lines }], sessions, documents }) !== 'committed')
    throw new Error('the round was lost');
  store.close();
}

const shop = { owner: 'acme', name: 'shop', branch: 'main' };
const docs = { owner: 'acme', name: 'docs', branch: 'rewrite' };
const repository = (facts: object): Line => [0, 'vendor.otel-hooks.Repository', facts];

const response = (seconds: number, model: string, usage: object, usd: number | undefined, more: object = {}): Line => {
  const { input_tokens, output_tokens, ...parts } = usage as { input_tokens: number; output_tokens: number };
  const facts = { model, response: `r${seconds}`, usage: parts, cost: { usd, prices: 'list' }, turn: 't1', ...more };
  return [seconds, 'Model.Responded', { model_id: model, input_tokens, output_tokens }, facts];
};

const shell = (result: object) => ({ action: { name: 'bash.execute', result } });
const bash = (call: string, more: object = {}) => ({ turn: 't1', call, tool: 'Bash', executable: 'npm', ...more });

/** A session of yesterday that has ended: a failure, a denial, a subagent, a loop, and a response without a price. */
export const ENDED = 'e2d1aaaa-0000-4000-8000-000000000001';
/** It runs, and its action waits for the answer of a person. */
export const WAITING = 'f00dbbbb-0000-4000-8000-000000000002';
/** It runs without a known cost. */
export const WORKING = 'c0decccc-0000-4000-8000-000000000003';

export function recordAll(folder: string): void {
  record(folder, 'claude-code', ENDED, FIRST_DAY, [
    [0, 'Session.Start', { start_reason: 'new' }],
    repository(shop),
    [1, 'Prompt.Submitted', { prompt_length: 20 }, { turn: 't1' }],
    response(4, 'claude-opus-4-5', { input_tokens: 9_000, output_tokens: 300, cache_read_tokens: 8_000 }, 0.25),
    [5, 'Action.Before', { action: { name: 'bash.execute' } }, bash('c1')],
    [
      9,
      'Action.After',
      shell({ success: false, exit_code: 1 }),
      bash('c1', { duration_ms: 4_000, exit_code: 1, error_type: 'exit_code' }),
    ],
    [
      10,
      'Action.Before',
      { action: { name: 'bash.execute' }, decision: { outcome: 'deny' } },
      bash('c2', { executable: 'rm', decision: { source: 'user', basis: 'observed' } }),
      { risk: { score: 90, level: 'critical', factors: ['DESTRUCTIVE'] } },
    ],
    [12, 'Retry.Loop.Detected', { iteration_count: 3 }, { turn: 't1', tool: 'Bash' }],
    [13, 'Session.Start', {}, { root: ENDED, agent: 'Explore' }, { session_id: 'sub1', parent_session_id: ENDED }],
    [
      14,
      'Action.Before',
      { action: { name: 'file.read' } },
      { turn: 't1', call: 'c3', tool: 'Read', root: ENDED, agent: 'Explore' },
      { session_id: 'sub1', parent_session_id: ENDED },
    ],
    [
      15,
      'Action.After',
      { action: { name: 'file.read', result: { success: true } } },
      { turn: 't1', call: 'c3', tool: 'Read', duration_ms: 30, root: ENDED, agent: 'Explore' },
      { session_id: 'sub1', parent_session_id: ENDED },
    ],
    [
      16,
      'Model.Responded',
      { model_id: 'claude-haiku-4-5', input_tokens: 700, output_tokens: 70 },
      {
        model: 'claude-haiku-4-5',
        response: 'r16',
        turn: 't1',
        cost: { usd: 0.01, prices: 'list' },
        root: ENDED,
        agent: 'Explore',
      },
      { session_id: 'sub1', parent_session_id: ENDED },
    ],
    [17, 'Session.End', {}, { root: ENDED, agent: 'Explore' }, { session_id: 'sub1', parent_session_id: ENDED }],
    [20, 'Agent.Response', { response_length: 12 }, { turn: 't1' }],
    [30, 'Session.End', { end_reason: 'exit' }],
    ...['action:c1', 'action:c2', 'action:c3', 'subagent:sub1:0', 'turn:t1:0', 'session:0'].map(
      (of): Line => [31, 'vendor.otel-hooks.Settled', { of, reason: 'read' }],
    ),
  ]);
  record(folder, 'claude-code', WAITING, SECOND_DAY, [
    [0, 'Session.Start', { start_reason: 'new' }],
    repository(shop),
    [1, 'Prompt.Submitted', { prompt_length: 9 }, { turn: 't1' }],
    response(
      3,
      'claude-opus-4-5',
      {
        input_tokens: 86_000,
        output_tokens: 900,
        cache_read_tokens: 80_000,
        cache_write_tokens: 5_000,
        reasoning_tokens: 100,
      },
      1.5,
    ),
    [4, 'Context.UntilCompaction', { tokens_used: 86_000, tokens_limit: 200_000, percentage_used: 43 }],
    [5, 'Action.Before', { action: { name: 'bash.execute' } }, bash('c1', { executable: 'git' })],
    [
      6,
      'Agent.Decision',
      { decision: { outcome: 'ask' }, action_name: 'bash.execute' },
      bash('c1', { executable: 'git', decision: { source: 'config', basis: 'observed' } }),
    ],
  ]);
  record(folder, 'codex', WORKING, SECOND_DAY + 60_000, [
    [0, 'Session.Start', { start_reason: 'new' }],
    repository(docs),
    [1, 'Prompt.Submitted', { prompt_length: 9 }, { turn: 't1' }],
    response(2, 'in-house', { input_tokens: 1_000, output_tokens: 10 }, undefined),
    [
      3,
      'Action.Before',
      { action: { name: 'bash.execute' } },
      { turn: 't1', call: 'c1', tool: 'shell', executable: 'make' },
    ],
  ]);
}
