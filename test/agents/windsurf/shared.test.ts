/** Payloads and a part of a transcript of Windsurf, if they are beside the repository. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transcript } from '../../../src/agents/windsurf/transcript.ts';
import type { Fields } from '../../../src/event/event.ts';
import { play } from '../../play.ts';
import { needsShared, sharedPath } from '../../shared.ts';
import { readRows, textOf } from '../read-transcript.ts';

const recordings = 'fixtures/windsurf';
const folder = sharedPath(recordings);

/**
 * Counted by hand: fourteen payloads of one execution. Two commands run at once and end in the opposite order; five
 * calls in all, each with its end; the second hook of the turn's end repeats the first.
 */
test('payloads are recognized without a name, and none is lost', context => {
  needsShared(context, recordings);
  const lines = textOf(join(folder, 'hook-payloads/constructed-all-events.jsonl')).split('\n');
  const payloads = lines.filter(line => line !== '').map(line => (JSON.parse(line) as { stdin: object }).stdin);
  const { fates, events, states, spans } = play(
    payloads.map((payload, i) => ({ atMs: 1_800_000_000_000 + i, payload })),
  );
  expect(fates.filter(fate => fate !== 'journaled')).toEqual(['duplicate']);
  expect([...states.values()].map(state => state.agent)).toEqual(['windsurf']);
  expect(events.filter(event => event.event_type.startsWith('vendor.windsurf.')).length).toBe(1);
  const actions = spans.filter(span => span.kind === 'action');
  expect(actions.map(span => [span.name, span.outcome, span.endMs - span.startMs])).toEqual([
    ['read_file', 'success', 1_037],
    ['code_edit', 'success', 1_037],
    ['shell', 'unknown', 1_037],
    ['shell', 'unknown', 3_111],
    ['mcp:create_issue', 'unknown', 1_037],
  ]);
});

/**
 * Counted by hand: three prompts, six steps that are calls (both commands ended with 0), the last text before each
 * prompt.
 */
test('a transcript alone reports prompts, calls, exit codes and answers', context => {
  needsShared(context, recordings);
  const { readings } = readRows(transcript, textOf(join(folder, 'transcripts/session-part1.jsonl')), 'root');
  const ends = readings.flatMap(each =>
    each.event_type === 'Action.After' ? [[each.data.action.name, each.data.action.result?.exit_code]] : [],
  );
  expect(ends).toEqual([
    ['read_file', undefined],
    ['write_file', undefined],
    ['shell', 0],
    ['shell', 0],
    ['read_file', undefined],
    ['write_file', undefined],
  ]);
  expect(readings.filter(each => each.event_type === 'Prompt.Submitted').length).toBe(3);
  expect(readings.filter(each => each.event_type === 'Agent.Response').length).toBe(3);
  expect(readings.filter(each => each.unless !== 'hooked')).toEqual([]);
});

test('a copy in another folder is recognized by its rows', () => {
  const row = { status: 'done', type: 'grep_search', grep_search: { query: 'q' } };
  const start = (rows: object[]) => ({ rows: rows as Fields[], document: undefined });
  expect(transcript.sessions({ path: '/copies/t1.jsonl' }, start([row]))).toEqual([{ session: 't1' }]);
  expect(transcript.sessions({ path: '/copies/t1.jsonl' }, start([{ type: 'grep_search', status: 'done' }]))).toEqual(
    [],
  );
});
