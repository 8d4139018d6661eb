/** Recorded rollouts and payloads of Codex, if they are beside the repository. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codex } from '../../../src/agents/codex/codex.ts';
import { isAbsent } from '../../../src/agents/contract/contract.ts';
import { play, START_MS } from '../../play.ts';
import { needsShared, overShared, sharedPath } from '../../shared.ts';
import { readRows, sums, textOf, total } from '../read-transcript.ts';

const recordings = 'fixtures/codex';
const folder = sharedPath(recordings);
const rollouts = join(folder, 'transcripts');

interface Expected {
  lines: number;
  model_sequence: string[];
  final_total_token_usage: Record<string, number> | null;
  changed_token_counts: number;
  calls: number;
  outputs: number;
  turn_aborted: number;
  task_complete: number;
}

overShared(recordings, 'recorded rollouts', () => {
  const expected = Object.entries(JSON.parse(textOf(join(folder, 'expected-usage.json'))) as Record<string, Expected>);
  test('are beside the repository', () => expect(expected.length).toBeGreaterThan(0));
  const { transcript } = codex;
  if (isAbsent(transcript)) throw new Error('no transcript');

  test.each(expected)('%s: tokens, to the token', (name, wanted) => {
    const { readings } = readRows(transcript, textOf(join(rollouts, name)), 'root');
    const sum = total(readings);
    const inherited = name.endsWith('/fork.jsonl') ? 60_561 : 0;
    const all = wanted.final_total_token_usage;
    expect(sum.input + sum.output).toBe((all?.total_tokens ?? 0) - inherited);
    if (inherited > 0) return;
    expect(sum).toMatchObject({
      input: all?.input_tokens ?? 0,
      output: all?.output_tokens ?? 0,
      cacheRead: all?.cached_input_tokens ?? 0,
      cacheWrite: all?.cache_write_input_tokens ?? 0,
      reasoning: all?.reasoning_output_tokens ?? 0,
      responses: wanted.changed_token_counts,
    });
    expect([...sums(readings).keys()].sort()).toEqual(all === null ? [] : [...wanted.model_sequence].sort());
  });

  test.each(expected)('%s: calls and turns', (name, wanted) => {
    const { readings, entries } = readRows(transcript, textOf(join(rollouts, name)), 'root');
    const count = (type: string): number => readings.filter(each => each.event_type === type).length;
    const calls = readings.filter(each => each.event_type === 'Action.Before' && each.facts?.tool !== 'web_search');
    const inherited = name.endsWith('/fork.jsonl') ? 2 : 0;
    expect(calls.length).toBe(wanted.calls);
    expect(count('Agent.Response') + count('Model.Failed')).toBe(
      wanted.task_complete + wanted.turn_aborted - inherited,
    );
    expect(entries.filter(each => 'over' in each).length).toBe(wanted.task_complete + wanted.turn_aborted - inherited);
    const open = new Set(calls.map(each => each.key));
    for (const each of readings) if (each.event_type === 'Action.After') open.delete(each.key);
    expect(open.size).toBeLessThanOrEqual(wanted.calls - wanted.outputs);
  });
});

test('a thread that another spawned is found beside it', context => {
  needsShared(context, recordings);
  const { transcript } = codex;
  if (isAbsent(transcript)) throw new Error('no transcript');
  const threads = join(rollouts, 'subagent-handwritten');
  const main = join(threads, 'rollout-parent.jsonl');
  const files = transcript.files(
    { session: 'sess-parent', cwd: undefined, main, subagents: [], home: '/', env: {} },
    { names: path => readdirSync(path).sort(), head: path => textOf(path).slice(0, 4_096) },
  );
  expect(files.map(file => file.subagent)).toEqual([undefined, 'thread-child']);
  const { readings } = readRows(transcript, textOf(main), 'sess-parent');
  expect(readings.flatMap(each => each.facts?.launches?.id ?? [])).toEqual(['thread-child']);
});

overShared(recordings, 'recorded payloads', () => {
  const payloads = readdirSync(join(folder, 'payloads'));
  test('are beside the repository', () => expect(payloads.length).toBeGreaterThan(0));

  test.each(payloads)('%s is recognized without a name, and kept', name => {
    const value = JSON.parse(textOf(join(folder, 'payloads', name))) as
      | object
      | { received_at: string; payload: object }[];
    const stated = Array.isArray(value)
      ? value.map(each => ({ atMs: Date.parse(each.received_at), payload: each.payload }))
      : [{ atMs: START_MS, payload: value }];
    const { fates, events, spans } = play(stated);
    expect(new Set(fates)).toEqual(new Set(['journaled']));
    expect(new Set(events.map(event => event.source.tool))).toEqual(new Set(['codex']));
    expect(events.filter(event => event.event_type.startsWith('vendor.codex.'))).toEqual([]);
    const count = (event: string): number =>
      stated.filter(({ payload }) => 'hook_event_name' in payload && payload.hook_event_name === event).length;
    if (!Array.isArray(value)) return;
    expect(spans.filter(span => span.kind === 'action')).toHaveLength(count('PreToolUse'));
    expect(spans.filter(span => span.kind === 'turn')).toHaveLength(
      new Set(stated.flatMap(({ payload }) => ('turn_id' in payload ? [payload.turn_id] : []))).size,
    );
  });
});
