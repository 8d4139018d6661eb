/** `show`, `report` and `tail` over a state folder: the listed sessions, and the output on each kind of terminal. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { trialSession } from '../../src/view/trial-sessions.ts';
import { ranIn } from './ran.ts';

const AT = Date.parse('2026-09-21T12:00:00.000Z');
const own = '019ca8d7-1111-7a1b-92c3-0123456789ab';
const trial = trialSession(AT, 'a1b2c3');
let home: string;

beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-looking-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

function recorded(...sessions: string[]): void {
  recordedWith('shell', ...sessions);
}

function recordedWith(tool: string, ...sessions: string[]): void {
  const store = openStore({ folder: join(home, '.local/state/otel-hooks'), access: 'own' });
  for (const session of sessions) {
    const key = sessionKey('codex', session);
    const event = (n: number, event_type: string, data: object, facts: object = {}) => ({
      spec_version: '0.1.0',
      event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
      event_type,
      timestamp: new Date(AT + n * 1_000).toISOString(),
      source: { tool: 'codex' },
      session_id: session,
      data,
      metadata: { 'dev.otel-hooks': { v: 1, seq: n, time: 'native', ...facts } },
    });
    const action = { name: 'shell', result: { success: true } };
    const events = [
      event(1, 'Session.Start', { start_reason: 'new' }),
      event(2, 'Prompt.Submitted', {}, { turn: 't1' }),
      event(3, 'Action.After', { action }, { turn: 't1', tool, call: 'c1', duration_ms: 400 }),
    ];
    const lines = events.map(each => `${JSON.stringify(each)}\n`).join('');
    store.commit({ journal: [{ key, lines }], sessions: [{ key, state: {} }] });
  }
  store.close();
}
const run = (words: string[], change: Partial<Io> = {}) =>
  ranIn(home, words, { now: () => AT + 60_000, columns: Number.POSITIVE_INFINITY, ...change });

it('trials of the hooks are shown only with --all', async () => {
  recorded(own, trial);
  const { out } = await run(['show']);
  expect(out).toContain(own);
  expect(out).not.toContain(trial);
  expect((await run(['show', '--all'])).out).toMatch(new RegExp(`${trial}.* trial`));
  expect((await run(['show', trial])).out).toContain('session codex');
  expect((await run(['show', '019ca8d7'])).code).toBe(0);
  const listed = JSON.parse((await run(['show', '--all', '--json'])).out) as { sessions: { trial: boolean }[] };
  expect(listed.sessions.map(each => each.trial).sort()).toEqual([false, true]);
  const { total } = JSON.parse((await run(['report', '--json'])).out) as { total: { sessions: number } };
  expect(total.sessions).toBe(1);
});

it('with trials only, it prints the next step', async () => {
  recorded(trial);
  expect((await run(['show'])).out).toContain('next: start a session of the agent');
  expect((await run(['report'])).out).toContain('Nothing happened in that time.');
});

it('control characters in names do not reach the terminal, and do not mislead a reader', async () => {
  // Colours, a title, a line that is erased, bidirectional letters, and a line break.
  const hostile = 'x\u001b[31m\u001b]0;t\u0007\u009b2K\r\u202eab\u2066\u200f\u061c\nfine';
  recordedWith(hostile, `${own}${hostile}`);
  const obeyed = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|^fine/m;
  const words = [
    ['show'],
    ['show', own],
    ['report', '--by', 'agent,project'],
    ['status'],
    ['preview', own],
    ['config'],
  ];
  for (const each of words) {
    const { out, err } = await run(each);
    expect(out + err, each[0]).not.toMatch(obeyed);
  }
  expect((await run(['show', own])).out).toContain('execute_tool x\\u{1b}[31m');
  expect((await run(['show', `${own}\u001b[2J`])).err).not.toMatch(obeyed);
  // A program gets the text unchanged; on a terminal the JSON has the same value.
  const piped = (await run(['show', own, '--json'])).out;
  expect(piped).toContain('\u202e');
  const shown = (await run(['show', own, '--json'], { isTerminal: true })).out;
  expect(shown).not.toMatch(obeyed);
  expect(JSON.parse(shown)).toEqual(JSON.parse(piped));
});

it('our own colours stay', async () => {
  recorded(own);
  expect((await run(['show', own], { color: true })).out).toContain('\u001b[2m');
});

it.each([40, 80, 120, 300])('lists and sums keep within %i columns', async columns => {
  recorded(own);
  for (const words of [['show'], ['show', own], ['report', '--by', 'day,agent,model,project,repository']]) {
    for (const unicode of [true, false]) {
      const { out } = await run(words, { columns, unicode });
      for (const line of out.split('\n')) expect(line.length, `${words[0]}: ${line}`).toBeLessThanOrEqual(columns);
      if (!unicode) expect(out).toMatch(/^[\x20-\x7e\n]*$/);
    }
  }
});

it('in a pipe ids are complete, and tables have all columns', async () => {
  recorded(own);
  expect((await run(['show'])).out).toContain(own);
  expect((await run(['report', '--format', 'csv'], { columns: 40 })).out).toContain('cache_read_tokens');
});

it('an exact id names its session, even where it is the prefix of another one', async () => {
  recorded('s1', 's12', 's123');
  expect((await run(['show', 's1'])).out).toContain('session codex');
  expect((await run(['show', 's1', '--json'])).out).toContain('"session": "s1"');
  expect((await run(['preview', 's12', '--json'])).out).toContain('"session": "s12"');
  const exported = await run(['export', 's1']);
  expect(exported.code).toBe(0);
  const ids = exported.out
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { session_id: string }).session_id);
  expect(new Set(ids)).toEqual(new Set(['s1']));
});

it('a prefix of several ids is refused, and all of them are listed', async () => {
  recorded('s12', 's123x', 's123y');
  for (const command of ['show', 'preview', 'export']) {
    const { code, err } = await run([command, 's123']);
    expect(code, command).toBe(1);
    expect(err, command).toContain('2 sessions begin with s123');
    expect(err, command).toMatch(/s123x, s123y|s123y, s123x/);
    expect((await run([command, 's2'])).err, command).toContain('no session begins with s2');
  }
});

describe('show', () => {
  const day = 86_400_000;
  /** Sessions of the given ages in days, each with one event. */
  const aged = (...days: number[]): void => {
    const store = openStore({ folder: join(home, '.local/state/otel-hooks'), access: 'own' });
    const journal = days.map(age => {
      const line = {
        ...{ spec_version: '0.1.0', event_id: `00000000-0000-8000-8000-${String(age).padStart(12, '0')}` },
        ...{ event_type: 'Session.Start', timestamp: new Date(AT - age * day).toISOString() },
        ...{ source: { tool: 'codex' }, session_id: `day-${age}`, data: { start_reason: 'new' } },
      };
      return { key: sessionKey('codex', `day-${age}`), lines: `${JSON.stringify(line)}\n` };
    });
    store.commit({ journal, sessions: journal.map(({ key }) => ({ key, state: {} })) });
    store.close();
  };
  const listed = async (...words: string[]) =>
    [...(await run(['show', ...words])).out.matchAll(/^day-(\d+) /gm)].map(([, age]) => Number(age));

  it('lists the newest 20 first, and states that there are more', async () => {
    aged(...Array.from({ length: 25 }, (_, age) => age + 1));
    expect(await listed()).toEqual(Array.from({ length: 20 }, (_, age) => age + 1));
    expect((await run(['show'])).out).toContain('The newest 20 of 25; --limit 0 lists all.\n');
    expect(await listed('--limit', '2')).toEqual([1, 2]);
    expect(await listed('--limit', '0')).toHaveLength(25);
    expect((await run(['show', '--limit', '0'])).out).not.toContain('--limit');
  });

  it('lists only sessions with events since the named time', async () => {
    aged(1, 3, 10);
    expect(await listed('--since', '4d')).toEqual([1, 3]);
    expect((await run(['show', '--since', '1m'])).out).toContain('No session did anything since then.');
  });

  it('gives programs all sessions, unless they ask for fewer', async () => {
    aged(...Array.from({ length: 25 }, (_, age) => age + 1));
    const json = async (...words: string[]) =>
      JSON.parse((await run(['show', '--json', ...words])).out) as { sessions: { start: string }[]; more: number };
    expect((await json()).sessions).toHaveLength(25);
    expect(await json('--limit', '3')).toMatchObject({ more: 22 });
    expect((await json()).sessions[0]?.start).toBe(new Date(AT - day).toISOString());
  });

  it.each([
    ['show', '--limit', 'x'],
    ['show', '--since', 'x'],
    ['show', 'day-1', '--limit', '3'],
  ])('refuses %s %s %s as wrong usage', async (...words) => {
    aged(1);
    expect((await run(words)).code).toBe(2);
  });

  it.each([
    ['Asia/Kolkata', '2026-09-21 17:30', '+05:30'],
    ['America/St_Johns', '2026-09-21 09:30', '-02:30'],
    ['UTC', '2026-09-21 12:00', '+00:00'],
  ])('prints local time with its offset in %s', async (zone, minute, offset) => {
    const former = process.env.TZ;
    process.env.TZ = zone;
    try {
      recorded(own);
      expect((await run(['show'])).out).toContain(`${minute} ${offset}`);
      expect((await run(['show', own])).out).toContain(`start ${minute}:01 ${offset}\n`);
    } finally {
      if (former === undefined) delete process.env.TZ;
      else process.env.TZ = former;
    }
  });

  describe('on a terminal', () => {
    const terminal = { isTerminal: true, rows: 24, columns: 80 };
    const shown = () => fs.readFileSync(join(home, 'paged'), 'utf8');
    const env = () => ({ PATH: process.env.PATH, PAGER: `cat > '${join(home, 'paged')}'` });

    it('pages output that is longer than the screen', async () => {
      aged(...Array.from({ length: 60 }, (_, age) => age + 1));
      const { out, code } = await run(['show', '--limit', '0'], { ...terminal, env: env() });
      expect({ out, code }).toEqual({ out: '', code: 0 });
      expect(shown().split('\n')).toHaveLength(62);
    });

    it('passes no foreign control characters to the pager', async () => {
      recordedWith('x\u001b[31m', own);
      await run(['show', own], { ...terminal, rows: 3, env: env() });
      expect(shown()).toContain('execute_tool x\\u{1b}[31m');
    });

    it.each<[string, string[], Partial<Io>]>([
      ['what fits the screen', ['show'], { rows: 80 }],
      ['with --no-pager', ['show', '--no-pager'], {}],
      ['with a pager that does not exist', ['show'], { env: { PATH: process.env.PATH, PAGER: 'no-such-pager-here' } }],
      ['with an empty PAGER', ['show'], { env: { PATH: process.env.PATH, PAGER: '' } }],
      ['without PAGER and less', ['show'], { env: { PATH: '' } }],
      ['in a pipe', ['show'], { isTerminal: false }],
    ])('prints directly: %s', async (_, words, change) => {
      aged(...Array.from({ length: 30 }, (_, age) => age + 1));
      const { out } = await run(words, { ...terminal, env: env(), ...change });
      expect(out).toContain('The newest 20 of 30');
      expect(fs.existsSync(join(home, 'paged'))).toBe(false);
    });

    it('continues when the reader quits early', async () => {
      // More than a pipe can buffer.
      recordedWith('x'.repeat(300_000), own);
      const quits = { PATH: process.env.PATH, PAGER: 'head -n 1 > /dev/null' };
      const ran = await run(['show', own, '--json'], { ...terminal, rows: 2, env: quits });
      expect(ran).toMatchObject({ code: 0, out: '' });
    });
  });
});

it('a report in Markdown contains no foreign image, link or HTML', async () => {
  const hostile =
    '![x](https://evil.example/p.png) <img src=//evil.example> [a](javascript:b) |c| `d` @e https://f.example';
  const store = openStore({ folder: join(home, '.local/state/otel-hooks'), access: 'own' });
  const event = {
    spec_version: '0.1.0',
    event_id: '00000000-0000-8000-8000-000000000001',
    event_type: 'Session.Start',
    timestamp: new Date(AT).toISOString(),
    source: { tool: 'codex' },
    session_id: own,
    data: { start_reason: 'new' },
    metadata: { 'dev.otel-hooks': { v: 1, seq: 1, time: 'native', cwd: hostile } },
  };
  const key = sessionKey('codex', own);
  store.commit({ journal: [{ key, lines: `${JSON.stringify(event)}\n` }], sessions: [{ key, state: {} }] });
  store.close();
  const { out } = await run(['report', '--by', 'project', '--format', 'markdown']);
  const [, , row = ''] = out.split('\n');
  expect(row).not.toMatch(/[<>[\]()!`@]|:\/\//);
  expect(row.split('|')).toHaveLength(out.split('\n')[0]?.split('|').length ?? 0);
  const back = row.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  expect(back).toContain(hostile);
});

describe('show SESSION as a file', () => {
  const file = (name: string): string => join(home, name);
  const read = (name: string): string => fs.readFileSync(file(name), 'utf8');

  it.each([
    ['--html', 'session.html', '<!doctype html>'],
    ['--svg', 'session.svg', '<svg xmlns'],
  ])('writes %s for its owner alone, and says what it holds', async (flag, name, start) => {
    recorded(own);
    const { out, code } = await run(['show', own.slice(0, 8), flag, file(name)]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^Wrote .*: 3 spans, \d+ kB\. It holds no content\. /)]);
    expect(read(name).startsWith(start)).toBe(true);
    if (process.platform !== 'win32') expect(fs.statSync(file(name)).mode & 0o777).toBe(0o600);
  });

  it('replaces a file with --force alone', async () => {
    recorded(own);
    fs.writeFileSync(file('a.svg'), 'mine');
    const { err, code } = await run(['show', own, '--svg', file('a.svg')]);
    expect([code, err, read('a.svg')]).toEqual([1, expect.stringContaining('it exists'), 'mine']);
    expect((await run(['show', own, '--svg', file('a.svg'), '--force'])).code).toBe(0);
    expect(read('a.svg')).toContain('<svg');
    expect(fs.readdirSync(home).filter(name => name.startsWith('a.svg'))).toEqual(['a.svg']);
  });

  it('writes to standard output', async () => {
    recorded(own);
    const { out } = await run(['show', own, '--svg', '-', '--redact']);
    expect(out.startsWith('<svg')).toBe(true);
    expect(out).not.toContain(own);
  });

  it('describes the file in JSON', async () => {
    recorded(own);
    const { out } = await run(['show', own, '--svg', file('a.svg'), '--json', '--redact']);
    expect(JSON.parse(out)).toMatchObject({ v: 1, format: 'svg', spans: 3, redacted: true, content: [] });
  });

  it.each([
    [['show', '--html', 'x'], 'take a SESSION'],
    [['show', own, '--html', 'x', '--svg', 'y'], 'give one'],
    [['show', own, '--redact'], '--redact is for'],
    [['show', own, '--svg', '-', '--json'], 'not possible'],
  ])('refuses %j', async (words, reason) => {
    recorded(own);
    const { err, code } = await run(words);
    expect([code, err]).toEqual([2, expect.stringContaining(reason)]);
  });

  it('states why a file was not written, and the next step', async () => {
    recorded(own);
    const { err, code } = await run(['show', own, '--svg', file('none/a.svg')]);
    expect([code, err]).toEqual([1, expect.stringMatching(/was not written: ENOENT\.\n {2}next: /)]);
  });
});
