/** Recorded event logs and payloads of GitHub Copilot, if they are beside the repository. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import type { TranscriptReading } from '../../../src/agents/contract/contract.ts';
import { transcript } from '../../../src/agents/copilot/transcript.ts';
import { type PlayedHook, play, START_MS } from '../../play.ts';
import { overShared, sharedPath } from '../../shared.ts';
import { readRows, sums, textOf } from '../read-transcript.ts';

const recordings = 'fixtures/copilot';
const folder = sharedPath(recordings);
const namesIn = (name: string): string[] => readdirSync(join(folder, name)).sort();

/**
 * Computed by hand from the logs, because no log states its totals in one place: for each model `modelMetrics.usage` of
 * the last shutdown (it continues to count after a resume, and a log that repeats its rows repeats it), plus
 * `compactionTokensUsed` of each compaction, which are not part of that usage. The log of 2-12: 21,940 + 11,842 in, 247
 * + 1,075 out, 9,728 + 10,624 from the cache. The sums agree with the shutdown's own `tokenDetails`, which have another
 * form: uncached and cached input apart, over all models, compactions within. Order: input, output, cache read, cache
 * write, reasoning; calls; subagents.
 */
const expected: Record<string, { models: Record<string, number[]>; calls: number; subagents: number }> = {
  '1-1_session-start': { models: { 'gpt-5-mini': [10_548, 99, 0, 0, 64] }, calls: 0, subagents: 0 },
  '1-4_session-resume': {
    models: { 'claude-haiku-4.5': [12_612, 35, 0, 12_602, 28], 'gpt-5-mini': [10_813, 88, 1_536, 0, 64] },
    calls: 0,
    subagents: 0,
  },
  '2-12_context-compaction': { models: { 'gpt-5-mini': [33_782, 1_322, 20_352, 0, 192] }, calls: 0, subagents: 0 },
  '2-14_turn-aborted-by-error': { models: {}, calls: 0, subagents: 0 },
  // The command that the person typed is not a call of the agent.
  '2-15_shell-escape-command': { models: { 'gpt-5-mini': [21_621, 93, 12_288, 0, 0] }, calls: 0, subagents: 0 },
  '2-19_tool-gate-permission-prompt': { models: { 'gpt-5-mini': [10_586, 281, 0, 0, 192] }, calls: 1, subagents: 0 },
  '2-2_auto-executed-tool-call': { models: { 'gpt-5-mini': [21_619, 464, 12_544, 0, 384] }, calls: 1, subagents: 0 },
  '3-1_foreground-subagent': { models: { 'gpt-5-mini': [91_815, 2_133, 60_928, 0, 1_600] }, calls: 3, subagents: 2 },
};

const countOf = (readings: readonly TranscriptReading[], fits: (reading: TranscriptReading) => boolean): number =>
  readings.filter(fits).length;

overShared(recordings, 'recorded event logs', () => {
  const logs = namesIn('cli-events').filter(name => name.endsWith('.events.jsonl'));
  test('equal those that were computed by hand', () =>
    expect(logs.map(name => name.replace('.events.jsonl', ''))).toEqual(Object.keys(expected).sort()));

  test.each(logs)('%s: tokens, to the token; calls; subagents', name => {
    const text = textOf(join(folder, 'cli-events', name));
    const { readings } = readRows(transcript, text, 'root');
    const wanted = expected[name.replace('.events.jsonl', '')];
    const byModel = Object.fromEntries(
      [...sums(readings)].map(([model, { input, output, cacheRead, cacheWrite, reasoning }]) => [
        model,
        [input, output, cacheRead, cacheWrite, reasoning],
      ]),
    );
    expect(byModel).toEqual(wanted?.models);
    expect(countOf(readings, each => each.event_type === 'Action.Before')).toBe(wanted?.calls);
    expect(countOf(readings, each => each.event_type === 'Session.Start' && each.subagent !== undefined)).toBe(
      wanted?.subagents,
    );

    const shutdown = /"type":"session.shutdown".*"tokenDetails":(\{"input".*?\}\}),"totalApi/.exec(
      text.slice(text.lastIndexOf('"type":"session.shutdown"')),
    )?.[1];
    expect(shutdown === undefined).toBe(Object.keys(byModel).length === 0);
    if (shutdown === undefined) return;
    const details = JSON.parse(shutdown) as Record<string, { tokenCount: number } | undefined>;
    const count = (kind: string): number => details[kind]?.tokenCount ?? 0;
    const all = Object.values(byModel).reduce((sum, each) => sum.map((part, i) => part + (each[i] ?? 0)), [0, 0, 0, 0]);
    expect(all).toEqual([
      count('input') + count('cache_read') + count('cache_write'),
      count('output'),
      count('cache_read'),
      count('cache_write'),
    ]);
  });

  test.each(logs)('%s: as a session alone, every subagent and call has its place', name => {
    const { readings } = readRows(transcript, textOf(join(folder, 'cli-events', name)), 'root');
    const calls = new Set(readings.flatMap(each => (each.event_type === 'Action.Before' ? [each.key] : [])));
    for (const each of readings) {
      if (each.event_type === 'Action.After') expect(calls).toContain(each.key);
      if (each.event_type === 'Session.Start' && each.subagent !== undefined) expect(calls).toContain(each.subagent);
    }
  });

  test('an old log without tokens states only the model of its response', () => {
    const { readings } = readRows(
      transcript,
      textOf(join(folder, 'cli-events/git-ai_copilot_cli_session_events.jsonl')),
      'root',
    );
    expect(readings.filter(each => each.event_type === 'Model.Responded').map(each => each.data)).toEqual([
      { model_id: 'gpt-4.1', output_tokens: undefined },
    ]);
    expect(readings.filter(each => each.event_type === 'Action.After').map(each => each.data)).toMatchObject([
      { action: { name: 'write_file', result: { success: true } } },
    ]);
  });
});

overShared(recordings, 'recorded payloads', () => {
  const files = namesIn('hook-payloads');
  test('are beside the repository', () => expect(files.length).toBeGreaterThan(0));

  test.each(files)('%s are recognized without a name, and none is lost', file => {
    const hooks: PlayedHook[] = textOf(join(folder, 'hook-payloads', file))
      .split('\n')
      .filter(line => line.trim() !== '')
      .map((line, i) => {
        const value = JSON.parse(line) as { event?: string; stdin?: object };
        const header: Record<string, string> = value.event === undefined ? {} : { event: value.event };
        return { atMs: START_MS + i * 1_000, payload: value.stdin ?? value, header };
      });
    const { fates, events, states } = play(hooks);
    expect(fates.filter(fate => fate !== 'journaled' && fate !== 'duplicate')).toEqual([]);
    expect([...states.values()].map(state => state.agent)).toEqual([...states].map(() => 'copilot'));
    const unknown = events.filter(
      event =>
        event.event_type.startsWith('vendor.') &&
        !/^vendor\.(copilot\.[sS]ubagent|otel-hooks\.)/.test(event.event_type),
    );
    expect(unknown.map(event => event.event_type)).toEqual([]);
    const ends = events.filter(event => event.event_type === 'Action.After').length;
    expect(ends).toBeLessThanOrEqual(events.filter(event => event.event_type === 'Action.Before').length);
  });
});
