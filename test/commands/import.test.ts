/** What `import` says while it works, and of files that belong to another session. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ranIn } from './ran.ts';

let home: string;
let folder: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'otel-hooks-import-'));
  folder = join(home, '.claude', 'projects', 'shop');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(file: string, ...rows: object[]): string {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, rows.map(row => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

const row = (session: string, n: number, more: object) => ({
  ...{ uuid: `${session}-${n}`, parentUuid: n === 1 ? null : `${session}-${n - 1}`, sessionId: session },
  ...{ timestamp: new Date(Date.parse('2026-09-21T12:00:00.000Z') + n * 1_000).toISOString(), cwd: home },
  ...more,
});
const prompt = (session: string, n: number, more: object = {}) =>
  row(session, n, { type: 'user', message: { role: 'user', content: 'go on' }, ...more });
const answer = (session: string, n: number, more: object = {}) =>
  row(session, n, {
    type: 'assistant',
    message: {
      ...{ id: `msg-${session}-${n}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' },
      ...{ content: [{ type: 'text', text: 'done' }], stop_reason: 'end_turn' },
      usage: { input_tokens: 10, output_tokens: 2 },
    },
    ...more,
  });

it('a dry run shows on a terminal how far it is', async () => {
  for (const session of ['a-1', 'a-2']) write(join(folder, `${session}.jsonl`), prompt(session, 1), answer(session, 2));
  const { err, out } = await ranIn(home, ['import', '--all', '--dry-run'], { isTerminal: true, isErrTerminal: true });
  expect(err).toContain('100 %  2/2 sessions');
  expect(err + out).not.toMatch(/NaN|Infinity/);
});
