/** Readers that quit: `otel-hooks COMMAND | head` ends quickly, quietly and without a stack trace. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { furnish, type House, vacate } from './house.ts';

let house: House;

beforeAll(() => {
  house = furnish('built', 'otel-hooks-pipes-');
  const store = openStore({ folder: house.state, access: 'own' });
  const key = sessionKey('codex', 's1');
  const event = (n: number, event_type: string, data: object) => ({
    ...{ spec_version: '0.1.0', event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`, event_type },
    ...{ timestamp: new Date(Date.parse('2026-09-21T12:00:00.000Z') + n * 1_000).toISOString() },
    ...{ source: { tool: 'codex' }, session_id: 's1', data },
  });
  // The output of each command is larger than a pipe.
  const names = Array.from({ length: 800 }, (_, n) => event(n + 2, 'Action.After', { action: { name: `shell-${n}` } }));
  const lines = [event(1, 'Session.Start', { start_reason: 'new' }), ...names].map(each => `${JSON.stringify(each)}\n`);
  store.commit({ journal: [{ key, lines: lines.join('') }], sessions: [{ key, state: {} }] });
  store.close();
  writeFileSync(join(house.project, 'broken.jsonl'), '{}\n'.repeat(4_000));
}, 60_000);
afterAll(() => vacate(house));

/** `sh` runs it, as a person types it; `status` is that of otel-hooks, not that of the reader. */
function piped(words: string, reader: string, more = '', env: Record<string, string> = {}) {
  const line = `( '${process.execPath}' '${house.bin}' ${words} ${more}; echo "exit $?" >"$HOME/code" ) | ${reader}; cat "$HOME/code"`;
  const { stdout, stderr } = spawnSync('sh', ['-c', line], {
    ...{ cwd: house.project, env: { ...house.env, ...env, TERM: 'dumb' }, encoding: 'utf8', timeout: 30_000 },
  });
  return { stdout, stderr };
}

describe.skipIf(process.platform === 'win32')('a reader that quits', () => {
  it.each([
    'export',
    'show s1 --json',
    'show s1',
    'preview s1 --json',
    'config --schema',
    'status --json',
    'status',
    'report --json',
    'capabilities',
    'conformance --json',
    'validate --standard agent-hooks broken.jsonl',
    'doctor --offline --no-proof',
    'help',
    'import --all --dry-run',
    'deliver',
    'demo --json',
  ])('ends `%s` without a message', words => {
    const { stdout, stderr } = piped(words, 'true');
    expect(stdout).toMatch(/^exit [01]\n$/);
    expect(stderr).not.toMatch(/EPIPE|^\s+at |node:/m);
  });

  it.skipIf(process.platform !== 'linux')('ends `tail`, even if no further event comes', () => {
    const startMs = performance.now();
    expect(piped('tail', 'head -n 1').stdout).toMatch(/shell-790.*\nexit 0\n$/);
    expect(performance.now() - startMs).toBeLessThan(15_000);
  });

  it('of messages does not stop the command', () => {
    // A note on standard error; it is not a problem.
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1/v1/traces' };
    expect(piped('status', 'cat', '2>&1 >/dev/null', env).stdout).toMatch(/path.*\n.*\nexit 0\n$/);
    expect(piped('status', 'true', '2>&1 >/dev/null', env).stdout).toBe('exit 0\n');
  });
});
