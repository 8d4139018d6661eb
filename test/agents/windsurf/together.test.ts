/**
 * Hooks and transcript of one session: the transcript does not repeat facts that hooks report, and alone it is also a
 * session.
 */
import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { START_MS } from '../../play.ts';
import { at, type House, openHouse } from '../../transcripts/house.ts';

const session = '7d2b6c1e-0f4a-4a55-9c7e-3b8e1a6f5d20';
const rows = (
  readFileSync(join(import.meta.dirname, 'trajectory.transcript'), 'utf8').split('---- expected')[0] ?? ''
).replace(/^#.*\n/gm, '');
let house: House;
let file: string;
beforeEach(() => {
  house = openHouse('windsurf', session);
  file = join(house.home, '.windsurf', 'transcripts', `${session}.jsonl`);
  house.write(file, rows);
  utimesSync(file, START_MS / 1000, START_MS / 1000);
});
afterEach(() => house.close());

test('hooks report everything; the transcript adds nothing without a shared id', () => {
  const hook = (seconds: number, name: string, info: object): void =>
    house.hook(seconds, '', {
      agent_action_name: name,
      trajectory_id: session,
      execution_id: 'e1',
      timestamp: at(seconds),
      tool_info: info,
    });
  hook(-5, 'pre_user_prompt', { user_prompt: 'why does the gauge drift?' });
  hook(-4, 'pre_run_command', { command_line: 'npm test', cwd: '/w' });
  hook(-2, 'post_run_command', { command_line: 'npm test', cwd: '/w' });
  hook(-1, 'post_cascade_response_with_transcript', { transcript_path: file });
  house.round();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session windsurf                          +0ms    4.00s  open
    +- invoke_agent windsurf                  +0ms    4.00s
       +- execute_tool run_command (npm)    +1.00s    2.00s  unknown
    "
  `);
});

test('the transcript alone has the order of actions, the exit codes, and the time of the file', () => {
  house.import();
  expect(house.tree()).toMatchInlineSnapshot(`
    "session windsurf                          +0ms      0ms  idle_timeout
    +- invoke_agent windsurf                  +0ms      0ms
       +- execute_tool list_resources         +0ms      0ms  ERROR tool_error
       +- execute_tool run_command (rm)       +0ms      0ms  denied (user)
       +- execute_tool grep_search            +0ms      0ms
       +- execute_tool read_code              +0ms      0ms
       +- execute_tool run_command (npm)      +0ms      0ms  exit 1
    +- invoke_agent windsurf                  +0ms      0ms
       +- execute_tool write_code             +0ms      0ms
    "
  `);
  expect(new Set(house.events().map(event => event.timestamp))).toContain(at(0));
  const before = house.events().length;
  house.import();
  expect(house.events().length).toBe(before);
});
