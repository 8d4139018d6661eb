/** Recorded chats of Gemini CLI, and payloads made from them, if they are beside the repository. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import { isAbsent } from '../../../src/agents/contract/contract.ts';
import { geminiCli } from '../../../src/agents/gemini-cli/gemini-cli.ts';
import { play, START_MS } from '../../play.ts';
import { overShared, sharedPath } from '../../shared.ts';
import { readDocument, readRows, sums, textOf, total } from '../read-transcript.ts';

const recordings = 'fixtures/gemini-cli';
const folder = sharedPath(recordings);

interface Expected {
  responses: number;
  tokens: { input?: number; output?: number; cached?: number; thoughts?: number; total?: number };
  models: string[];
  tool_calls: number;
}

overShared(recordings, 'recorded chats', () => {
  const expected = Object.entries(JSON.parse(textOf(join(folder, 'expected-usage.json'))) as Record<string, Expected>);
  test('are beside the repository', () => expect(expected.length).toBeGreaterThan(0));
  const { transcript } = geminiCli;
  if (isAbsent(transcript)) throw new Error('no transcript');

  test.each(expected)('%s: tokens, to the token, and calls', (name, wanted) => {
    const { readings } = readRows(transcript, textOf(join(folder, 'transcripts', name)), 'root');
    const { input = 0, output = 0, cached = 0, thoughts = 0, total: all = 0 } = wanted.tokens;
    const sum = total(readings);
    expect(sum).toMatchObject({ responses: wanted.responses, input, cacheRead: cached, reasoning: thoughts });
    expect(sum.output).toBe(output + thoughts);
    expect(sum.input + sum.output).toBe(all);
    expect([...sums(readings).keys()].sort()).toEqual([...wanted.models].sort());
    const count = (type: string): number => readings.filter(each => each.event_type === type).length;
    expect(count('Action.Before')).toBe(wanted.tool_calls);
    expect(count('Action.After')).toBe(wanted.tool_calls);
  });

  test.each(expected)('%s, in the older form: the same tokens', (name, wanted) => {
    const rows = textOf(join(folder, 'transcripts', name))
      .split('\n')
      .flatMap(line =>
        line === '' ? [] : [JSON.parse(line) as { id?: string; $set?: { messages?: { id: string }[] } }],
      );
    const messages = new Map<string | undefined, unknown>();
    for (const row of rows) {
      for (const each of row.$set?.messages ?? []) if (!messages.has(each.id)) messages.set(each.id, each);
      if (row.id !== undefined) messages.set(row.id, row);
    }
    const chat = Buffer.from(JSON.stringify({ ...rows[0], messages: [...messages.values()] }));
    const { input = 0, output = 0, cached = 0, thoughts = 0 } = wanted.tokens;
    expect(total(readDocument(transcript, chat, 'root', { path: 'session-x.json' }).readings)).toMatchObject({
      responses: wanted.responses,
      input,
      cacheRead: cached,
      output: output + thoughts,
    });
  });

  test('report how turns ended', () => {
    const ends = (name: string): string[] =>
      readRows(transcript, textOf(join(folder, 'transcripts', name)), 'root').readings.flatMap(each =>
        each.event_type === 'Prompt.Submitted'
          ? 'prompt'
          : each.event_type === 'Agent.Response'
            ? each.facts?.interrupted
              ? 'interrupted'
              : 'answered'
            : each.event_type === 'Model.Failed'
              ? `failed ${each.facts?.error_type}`
              : [],
      );
    expect(ends('2-20_user-esc-interrupt--2026-06-13-14-33-04.jsonl')).toEqual([
      'prompt',
      'interrupted',
      'prompt',
      'answered',
    ]);
    expect(ends('2-14_turn-aborted-by-error--2026-06-12-14-25-05.jsonl')).toEqual([
      'prompt',
      'failed invalid_argument',
    ]);
    expect(ends('2-2_auto-executed-tool-call--2026-06-11-23-05-11.jsonl')).toEqual(['prompt', 'answered']);
  });
});

overShared(recordings, 'payloads', () => {
  const payloads = readdirSync(join(folder, 'payloads'));
  test('are beside the repository', () => expect(payloads.length).toBeGreaterThan(0));

  test.each(payloads)('%s is recognized without a name, and kept', name => {
    const value = JSON.parse(textOf(join(folder, 'payloads', name))) as
      | object
      | { payload: { hook_event_name: string } }[];
    const payloads = Array.isArray(value) ? value.map(each => each.payload) : [value];
    // Without a chat, hooks report the calls.
    const alone = payloads.map(payload => ({ ...payload, transcript_path: '' }));
    const { fates, events, spans } = play(alone.map(payload => ({ atMs: START_MS, payload })));
    expect(new Set(fates)).toEqual(new Set(['journaled']));
    expect(events.filter(event => event.source.tool !== 'gemini-cli')).toEqual([]);
    expect(events.filter(event => event.event_type.startsWith('vendor.gemini-cli.'))).toEqual([]);
    if (!Array.isArray(value)) return;
    const count = (event: string): number =>
      payloads.filter(payload => 'hook_event_name' in payload && payload.hook_event_name === event).length;
    const actions = spans.filter(span => span.kind === 'action');
    expect(actions).toHaveLength(count('BeforeTool'));
    expect(actions.filter(span => span.outcome !== 'success')).toEqual([]);
    expect(spans.filter(span => span.kind === 'turn')).toHaveLength(count('BeforeAgent'));
  });
});
