/** The output of `deliver` while it works through a backlog. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { startCollector } from '../collector.ts';
import { ranIn } from './ran.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'otel-hooks-progress-'));
  const inbox = join(home, '.local/state/otel-hooks/inbox');
  mkdirSync(inbox, { recursive: true, mode: 0o700 });
  for (let i = 0; i < 40; i += 1) {
    const unique = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const payload = {
      session_id: 's',
      hook_event_name: 'UserPromptSubmit',
      prompt_id: `p${i}`,
      prompt: 'x',
      cwd: home,
    };
    const bytes = encodeFragment(unique, { tool: 'claude-code', cwd: home }, Buffer.from(JSON.stringify(payload)));
    writeFileSync(join(inbox, fragmentName('0', '0', i, unique)), bytes, { mode: 0o600 });
  }
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('progress of a delivery', () => {
  /** A receiver that takes a second for each request. */
  const delivered = async (words: readonly string[], isErrTerminal: boolean) => {
    const slow = await startCollector({
      answer: async () => {
        await setTimeout(1_200);
        return { status: 200 };
      },
    });
    const config = join(home, '.config/otel-hooks');
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, 'config.json'), JSON.stringify({ provider: 'otlp', otlp: { endpoint: slow.url } }));
    try {
      return await ranIn(home, ['deliver', ...words], { isErrTerminal, now: Date.now });
    } finally {
      await slow.close();
    }
  };

  it('is one line, which each update overwrites and the end clears', async () => {
    const { code, err, out } = await delivered([], true);
    expect(code).toBe(0);
    expect(err).toMatch(/\r\u001b\[K40 of 40 hooks read, \d+ items sent, \d+ waiting/);
    expect(err.endsWith('\r\u001b[K')).toBe(true);
    expect(err).not.toContain('\n');
    expect(out).toMatch(/^fragments journaled {2}40\n/);
  });

  it.each<[string, string[], boolean]>([
    ['where standard error is no terminal', [], false],
    ['with --json', ['--json'], true],
  ])('is not shown %s', async (_, words, isErrTerminal) => {
    expect((await delivered(words, isErrTerminal)).err).toBe('');
  });
});

it('names an endpoint that takes no signal once, with all signals', async () => {
  const config = join(home, '.config/otel-hooks');
  mkdirSync(config, { recursive: true, mode: 0o700 });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ otlp: { endpoint: 'http://127.0.0.1:9' } }));
  const { code, err } = await ranIn(home, ['deliver', '--wait', '1s'], { now: Date.now });
  expect(code).toBe(1);
  expect(err).toMatch(/has not accepted [a-z]+, [a-z]+ and [a-z]+ in \d+ tr/);
  expect(err.match(/has not accepted/g)).toHaveLength(1);
  // For programs each signal is a problem of its own.
  const json = JSON.parse((await ranIn(home, ['status', '--json'], { now: Date.now })).out) as { problems: object[] };
  expect(json.problems).toHaveLength(3);
});
