/** The output of `import` during its work, and about files that belong to another session. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

it('a dry run shows its progress on a terminal', async () => {
  for (const session of ['a-1', 'a-2']) write(join(folder, `${session}.jsonl`), prompt(session, 1), answer(session, 2));
  const { err, out } = await ranIn(home, ['import', '--all', '--dry-run'], { isTerminal: true, isErrTerminal: true });
  expect(err).toContain('100 %  2/2 sessions');
  expect(err + out).not.toMatch(/NaN|Infinity/);
});

describe('a file of a subagent', () => {
  const child = { isSidechain: true, agentId: 'abc1' };
  const files = () => {
    const main = write(join(folder, 's1.jsonl'), prompt('s1', 1), answer('s1', 2));
    write(join(folder, 's2.jsonl'), prompt('s2', 1), answer('s2', 2));
    const path = join(folder, 's1', 'subagents', 'agent-abc1.jsonl');
    const own = write(path, prompt('s1', 11, child), answer('s1', 12, child));
    return { main, own };
  };
  const imported = async (...paths: string[]) => {
    const ran = await ranIn(home, ['import', ...paths, '--dry-run', '--json']);
    return { ...ran, ...(JSON.parse(ran.out) as { sessions: { session: string; responses: number }[] }) };
  };

  it('is read with its session, and the output names it', async () => {
    const { own } = files();
    const { code, out, err } = await ranIn(home, ['import', own, '--dry-run']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('agent-abc1.jsonl belongs to session s1: all of it is read, from ~/');
    expect((await imported(own)).sessions).toMatchObject([{ session: 's1', responses: 2 }]);
  });

  it('is read once when its session is named as well', async () => {
    const { main, own } = files();
    for (const paths of [
      [main, own],
      [own, main],
    ]) {
      const { code, err, sessions } = await imported(...paths);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(sessions).toMatchObject([{ session: 's1', responses: 2 }]);
    }
  });

  it('without its session is not the transcript of a session', async () => {
    const { main, own } = files();
    rmSync(main);
    const { code, err, sessions } = await imported(own);
    expect({ code, sessions }).toEqual({ code: 1, sessions: [] });
    expect(err).toContain('holds no transcript of a session');
  });
});
