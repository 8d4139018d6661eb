/**
 * Hooks and transcript of one session: the transcript does not repeat facts that hooks report, and alone it is also a
 * session.
 */
import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { START_MS } from '../../play.ts';
import { at, type House, openHouse } from '../../transcripts/house.ts';

const session = '6f0c9a1e-3d52-4b7e-9a4c-2f8f5d0b7a11';
const rows = (
  readFileSync(join(import.meta.dirname, 'conversation.transcript'), 'utf8').split('---- expected')[0] ?? ''
).replace(/^#.*\n/gm, '');
let house: House;
let file: string;
beforeEach(() => {
  house = openHouse('cursor', session);
  file = join(house.home, '.cursor', 'projects', 'tidepool', 'agent-transcripts', session, `${session}.jsonl`);
  house.write(file, rows);
  utimesSync(file, START_MS / 1000, START_MS / 1000);
});
afterEach(() => house.close());

test('hooks report everything; the transcript adds nothing without a shared id', () => {
  const hook = (seconds: number, name: string, fields: object): void =>
    house.hook(seconds, name, {
      conversation_id: session,
      generation_id: 'g1',
      model: 'claude-sonnet-4.5',
      cursor_version: '3.18.25',
      transcript_path: file,
      ...fields,
    });
  hook(-5, 'beforeSubmitPrompt', { prompt: 'why does the gauge drift?' });
  hook(-4, 'preToolUse', { tool_name: 'Read', tool_input: { path: 'gauge.ts' }, tool_use_id: 't1' });
  hook(-3, 'postToolUse', { tool_name: 'Read', tool_input: { path: 'gauge.ts' }, tool_use_id: 't1', duration: 900 });
  hook(-1, 'stop', { status: 'completed', input_tokens: 900, output_tokens: 30, cache_read_tokens: 700 });
  house.round();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session cursor                    +0ms    4.00s  open
    +- invoke_agent cursor            +0ms    4.00s
       +- execute_tool Read         +1.10s    900ms
       +- chat claude-sonnet-4.5    +4.00s      0ms  length unknown
    "
  `);
});

test('the transcript alone has the order of actions and the time of the file', () => {
  house.import();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session cursor                       +0ms      0ms  idle_timeout
    +- invoke_agent cursor               +0ms      0ms
       +- execute_tool find_station      +0ms      0ms  unknown
       +- execute_tool Task              +0ms      0ms  unknown
       +- execute_tool Read              +0ms      0ms  unknown
    +- invoke_agent cursor               +0ms      0ms
       +- execute_tool Write             +0ms      0ms  unknown
    "
  `);
  expect(new Set(house.events().map(event => event.timestamp))).toContain(at(0));
  const before = house.events().length;
  house.import();
  expect(house.events().length).toBe(before);
});
