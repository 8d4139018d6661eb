/** Tokens, cost and context in the commands that show sessions, and their tables on narrow terminals. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { eventsIn } from '../../src/journal/journal-events.ts';
import { openStore } from '../../src/store/store.ts';
import { ContextShares } from '../../src/view/context-share.ts';
import { drawLine } from '../../src/view/live-events.ts';
import { ENDED, NOW, recordAll, WAITING, WORKING } from '../recorded-sessions.ts';
import { ranIn } from './ran.ts';

let home: string;
const state = (): string => join(home, '.local/state/otel-hooks');

beforeAll(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-usage-'));
  recordAll(state());
});
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

const run = (words: string[], change: Partial<Io> = {}) =>
  ranIn(home, words, { now: () => NOW, columns: Number.POSITIVE_INFINITY, ...change });

interface JsonReport {
  rows: ({ by: { [grouping: string]: string } } & { [count: string]: number })[];
  total: { [count: string]: number };
}
const reported = async (...words: string[]): Promise<JsonReport> => {
  const { out, err } = await run(['report', '--json', ...words]);
  expect(err).toBe('');
  return JSON.parse(out) as JsonReport;
};
const rowsOf = async (by: string, ...counts: string[]) =>
  (await reported('--by', by)).rows.map(row => [Object.values(row.by).join(' '), ...counts.map(name => row[name])]);

describe('report', () => {
  it.each<[string, string[], unknown[]]>([
    [
      'day',
      ['sessions', 'actions'],
      [
        ['2026-09-21', 1, 3],
        ['2026-09-22', 2, 2],
      ],
    ],
    [
      'session',
      ['cost_usd', 'input_tokens'],
      [
        [WAITING, 1.5, 86_000],
        [ENDED, 0.26, 9_700],
        [WORKING, undefined, 1_000],
      ],
    ],
    [
      'repository',
      ['sessions', 'cost_usd'],
      [
        ['acme/shop', 2, 1.76],
        ['acme/docs', 1, undefined],
      ],
    ],
    [
      'branch',
      ['sessions', 'unpriced_tokens'],
      [
        ['main', 2, undefined],
        ['rewrite', 1, 1_010],
      ],
    ],
    [
      'agent',
      ['failed', 'denied'],
      [
        ['claude-code', 1, 1],
        ['codex', 0, 0],
      ],
    ],
    [
      'model',
      ['responses', 'output_tokens'],
      [
        ['claude-opus-4-5', 2, 1_200],
        ['claude-haiku-4-5', 1, 70],
        ['in-house', 1, 10],
      ],
    ],
    ['user', ['sessions'], [['unknown', 3]]],
    [
      'action',
      ['actions', 'failed', 'risky'],
      [
        ['Bash', 3, 1, 1],
        ['Read', 1, 0, 0],
        ['shell', 1, 0, 0],
      ],
    ],
    [
      'subagent',
      ['actions', 'cost_usd'],
      [
        ['main agent', 4, 1.75],
        ['Explore', 1, 0.01],
      ],
    ],
    [
      'agent,subagent',
      ['responses'],
      [
        ['claude-code main agent', 2],
        ['claude-code Explore', 1],
        ['codex main agent', 1],
      ],
    ],
  ])('--by %s', async (by, counts, rows) => {
    expect(await rowsOf(by, ...counts)).toEqual(rows);
  });

  it('--since and --until take days, which are included, and times', async () => {
    const sessions = async (...words: string[]) => (await reported(...words)).total.sessions;
    expect(await sessions('--since', '2026-09-21', '--until', '2026-09-21')).toBe(1);
    expect(await sessions('--until', '2026-09-22')).toBe(3);
    expect(await sessions('--until', '12h')).toBe(1);
    expect(await sessions('--since', '12h')).toBe(2);
    for (const words of [
      ['--until', '2026-02-31'],
      ['--since', 'yesterday'],
      ['--since', '1h', '--until', '2h'],
    ]) {
      const { code, err } = await run(['report', ...words]);
      expect([code, err]).toEqual([2, expect.stringMatching(/takes a time such as|must be earlier/)]);
    }
    expect(await run(['report', '--by', 'model,action'])).toMatchObject({ code: 2, out: '' });
  });

  it('--csv has all columns', async () => {
    const { out } = await run(['report', '--csv', '--by', 'repository'], { columns: 40 });
    expect(out.split('\r\n')[0]).toMatch(/^repository,sessions,.*cache_write_tokens,reasoning_tokens,cost_usd,/);
    expect(out).toBe((await run(['report', '--format', 'csv', '--by', 'repository'])).out);
  });

  it('answers from the index if that suffices', async () => {
    const before = await reported('--by', 'day,agent,session,repository,branch');
    const byModel = await reported('--by', 'model');
    const journals = fs.readdirSync(join(state(), 'journal')).map(name => join(state(), 'journal', name));
    const contents = journals.map(path => fs.readFileSync(path, 'utf8'));
    try {
      for (const [i, path] of journals.entries()) fs.writeFileSync(path, contents[i]?.replaceAll(/[{}]/g, '?') ?? '');
      expect(await reported('--by', 'day,agent,session,repository,branch')).toEqual(before);
      expect(await reported('--by', 'model')).not.toEqual(byModel);
    } finally {
      for (const [i, path] of journals.entries()) fs.writeFileSync(path, contents[i] ?? '');
    }
  });
});

it('the tree of a session has tokens by class and cost', async () => {
  const { out } = await run(['show', WAITING.slice(0, 8)]);
  expect(out).toMatch(
    /chat claude-opus-4-5 .* \$1\.50 .*86k in \(80k from cache, 5\.0k to cache\), 900 out \(100 reasoning\)/,
  );
});

it('the list has tokens by class and cost', async () => {
  const [head, , waiting] = (await run(['show'])).out.split('\n');
  expect(head).toMatch(/ in +out +cache read +cache write +reasoning +cost/);
  expect(waiting).toMatch(/ 86k +900 +80k +5\.0k +100 +\$1\.50 +open$/);
});

describe.each([40, 60, 80, 200])('at %i columns', columns => {
  it.each<[string, string[], RegExp]>([
    ['the list', ['show'], /f00dbbbb.*\$1\.50/],
    ['the tree', ['show', WAITING], /chat .*\$1\.50/],
    ['the report by day', ['report'], /2026-09-22.*\$1\.50/],
    ['the report by four', ['report', '--by', 'day,repository,branch,agent'], /20.*\$1\.50/],
    ['the running sessions', ['top', '--once'], /waits.*\$1\.50/],
  ])('%s keeps the cost', async (_, words, cost) => {
    for (const unicode of [true, false]) {
      const { out } = await run(words, { columns, unicode });
      for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
      expect(out).toMatch(cost);
    }
  });

  it('tail keeps the cost', () => {
    const line = drawLine(responseOf(WAITING), { columns, color: false, unicode: true }, 0.43);
    expect(line.length).toBeLessThanOrEqual(columns);
    expect(line).toContain('$1.50 Model.Resp');
    expect(line.includes(' 43% ')).toBe(columns >= 80);
  });
});

function journalOf(session: string) {
  const store = openStore({ folder: state(), access: 'read' });
  try {
    return (
      store
        .journals()
        .map(key => eventsIn(store.journal(key) ?? ''))
        .find(([first]) => first?.session_id === session) ?? []
    );
  } finally {
    store.close();
  }
}

function responseOf(session: string) {
  const found = journalOf(session).find(event => event.event_type === 'Model.Responded');
  if (found === undefined) throw new Error('no response');
  return found;
}

it('the share of the context belongs to the events after its statement, and begins with that of running sessions', () => {
  const shares = new ContextShares();
  const events = journalOf(WAITING);
  for (const event of events) shares.note(event);
  const at = events.findIndex(event => event.event_type === 'Context.UntilCompaction');
  expect(events.map(event => shares.of(event))).toEqual(events.map((_, i) => (i < at ? undefined : 0.43)));
  const later = new ContextShares();
  const store = openStore({ folder: state(), access: 'read' });
  later.begin(store);
  store.close();
  const last = responseOf(WAITING);
  later.note(last);
  expect(later.of(last)).toBe(0.43);
});
