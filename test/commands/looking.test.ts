/** `show`, `report` and `tail` over a state folder: whose sessions they show, and how on which terminal. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { trialSession } from '../../src/view/trial.ts';
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

it('trials of the hooks are nobody’s sessions, and are there for who asks', async () => {
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

it('where there are but trials, it says what to do', async () => {
  recorded(trial);
  expect((await run(['show'])).out).toContain('next: start a session of the agent');
  expect((await run(['report'])).out).toContain('Nothing happened in that time.');
});

it('no terminal obeys what others wrote into names, and no reader is misled by it', async () => {
  // Colours, a title, a line that is wiped out, letters that turn around, a line of its own.
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
  // A program gets what was said; a person who looks at the same gets the same JSON.
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

it('in a pipe ids are whole, and data is data', async () => {
  recorded(own);
  expect((await run(['show'])).out).toContain(own);
  expect((await run(['report', '--format', 'csv'], { columns: 40 })).out).toContain('cache_read_tokens');
});
