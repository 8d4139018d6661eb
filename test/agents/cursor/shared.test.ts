/** Payloads and a transcript of Cursor, if they are beside the repository. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transcript } from '../../../src/agents/cursor/transcript.ts';
import { type PlayedHook, play, START_MS } from '../../play.ts';
import { needsShared, overShared, sharedPath } from '../../shared.ts';
import { readRows, textOf } from '../read-transcript.ts';

const recordings = 'fixtures/cursor';
const folder = sharedPath(recordings);
const payloads = join(folder, 'hook-payloads');

function hooksIn(file: string): PlayedHook[] {
  const text = textOf(join(payloads, file));
  const values = file.endsWith('.json') ? [text] : text.split('\n').filter(line => line.trim() !== '');
  return values.map((line, i) => {
    const value = JSON.parse(line) as { stdin?: object };
    return { atMs: START_MS + i * 1_000, payload: value.stdin ?? value };
  });
}

overShared(recordings, 'payloads', () => {
  const files = readdirSync(payloads);
  test('are beside the repository', () => expect(files.length).toBeGreaterThan(0));

  test.each(files)('%s are recognized without a name, and none is lost', file => {
    const { fates, events, states } = play(hooksIn(file));
    expect(fates.filter(fate => fate !== 'journaled' && fate !== 'duplicate')).toEqual([]);
    expect([...states.values()].map(state => state.agent)).toEqual([...states].map(() => 'cursor'));
    const vendor = events.map(event => event.event_type).filter(type => type.startsWith('vendor.cursor.'));
    // The end of a command that the general hook still has to report.
    expect(vendor.filter(type => type !== 'vendor.cursor.afterShellExecution')).toEqual([]);
  });

  /**
   * Computed by hand: `afterAgentResponse` and `stop` of the one turn carry the same counters (41,230 in, of which
   * 36,000 read from the cache and 2,100 written to it; 812 out), so they count once for the turn. Six calls: a command
   * and a read, which both families report and which count once each; an edit; an MCP call whose failure the general
   * family reports; after it another MCP call, which the special family reports from its beginning; an inline edit.
   */
  test('one turn of each event: tokens once, calls once', () => {
    const { events } = play(hooksIn('constructed-all-events.jsonl'));
    const responses = events.filter(event => event.event_type === 'Model.Responded');
    expect(responses.map(event => [event.data, event.metadata?.['dev.otel-hooks']?.usage])).toEqual([
      [
        { model_id: 'claude-sonnet-4.5', input_tokens: 41_230, output_tokens: 812 },
        { cache_read_tokens: 36_000, cache_write_tokens: 2_100 },
      ],
    ]);
    const ended = events.filter(event => event.event_type === 'Action.After');
    expect(ended.map(event => 'action' in event.data && (event.data.action as { name?: string }).name)).toEqual([
      'shell',
      'read_file',
      'code_edit',
      'mcp:create_issue',
      'mcp:create_issue',
      'code_edit',
    ]);
    expect(events.filter(event => event.parent_session_id !== undefined).map(event => event.event_type)).toEqual([
      'Session.Start',
      'Agent.Response',
      'Session.End',
    ]);
  });
});

/** Counted by hand: one question, ten calls in nine messages, the last message is the answer. */
test('a transcript alone reports its prompt, its calls and its answer', context => {
  needsShared(context, recordings);
  const text = textOf(join(folder, 'transcripts/agent-transcript-composer2.jsonl'));
  const { readings } = readRows(transcript, text, 'root');
  const calls = readings.flatMap(each => (each.event_type === 'Action.Before' ? [each.facts?.tool] : []));
  expect(calls).toEqual('Read WebSearch WebFetch Read Read WebSearch Grep WebSearch Write WebSearch'.split(' '));
  expect(readings.filter(each => each.event_type === 'Prompt.Submitted').length).toBe(1);
  expect(readings.filter(each => each.event_type === 'Agent.Response').length).toBe(1);
  expect(readings.filter(each => each.unless !== 'hooked')).toEqual([]);
});
