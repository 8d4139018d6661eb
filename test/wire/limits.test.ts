/** The limits as a user sees them: in `status`, and when they are lowered and applied by hand. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fragmentName } from '../../src/hook/fragment.ts';
import { commandsIn, enable, furnish, type House, harmless, otelHooks, runHook, status, vacate } from './house.ts';

let house: House;
beforeEach(() => {
  house = furnish('built', 'otel-hooks-limits-');
  // No server listens there, so produced data waits.
  enable(house, 'http://127.0.0.1:9');
});
afterEach(() => vacate(house));

const keep = (limits: object): void =>
  writeFileSync(
    join(house.home, '.config', 'otel-hooks', 'config.json'),
    JSON.stringify({ otlp: { endpoint: 'http://127.0.0.1:9' }, keep: limits }),
  );
const json = (words: string[]): unknown => JSON.parse(otelHooks(house, [...words, '--json']).stdout);

it('reports dropped and kept files, and drops files by hand after a limit was lowered', async () => {
  for (const [tool, call] of [
    ['claude-code', 'c1'],
    ['claude-code', 'c2'],
  ]) {
    const payload = { hook_event_name: 'PreToolUse', session_id: call, tool_use_id: call, tool_name: 'Read' };
    const hook = { event: 'PreToolUse', mouth: 'node' as const, tool, payload: JSON.stringify(payload) };
    expect(await runHook({ house, commands: commandsIn(house) }, hook)).toEqual(harmless);
  }
  const broken = { event: 'PreToolUse', mouth: 'node' as const, payload: 'no JSON' };
  expect(await runHook({ house, commands: commandsIn(house) }, broken)).toEqual(harmless);
  mkdirSync(join(house.state, 'inbox'), { recursive: true });
  for (const n of [1, 2, 3]) {
    const file = join(house.state, 'inbox', fragmentName('abcdef01', `${n}.00`, 1, `later-${n}`));
    writeFileSync(file, 'otel-hooks/2 of a later version', { mode: 0o600 });
  }
  otelHooks(house, ['deliver', '--wait', '1s']);
  const before = status(house);
  expect(before.problems).toContainEqual({ code: 'fragments-newer', folder: house.state, fragments: 3 });
  expect(before.quarantine.files).toBe(1);
  expect(before.destinations[0]?.logs).toMatchObject({ produced: 2, waiting: 2 });

  keep({ inbox_files: 1, outbox_files: 1, journal_files: 1 });
  expect(json(['prune', '--quarantine'])).toMatchObject({
    v: 1,
    removed: { hooks: 2, journals: 1, quarantine: { files: 1 } },
  });
  const after = status(house);
  expect(after).toMatchObject({
    balanced: true,
    fragments: { received: 6, journaled: 2, waiting: 1, quarantined: 1, dropped: { 'over-files': 2 } },
    counters: { 'dropped.journal.over-files': 1, 'dropped.quarantine.by-hand': 1 },
    quarantine: { files: 0 },
  });
  expect(readdirSync(join(house.state, 'journal'))).toHaveLength(1);
  const { stdout, stderr } = otelHooks(house, ['status']);
  expect(stdout).toMatch(/dropped by limits: \d+ hooks, spans and records, 1 journal over-files, 1 file /);
  expect(stderr).toContain('1 hook in');
});
