/** The page's values of a long session, whose details are read from the journal again. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { SessionFeed } from '../../src/view/page-data.ts';
import { journalLine } from '../journal-line.ts';

const AT = Date.parse('2026-09-21T12:00:00.000Z');
const session = '019ca8d7-3333-7a1b-92c3-0123456789ab';
const key = sessionKey('some-agent', session);
let folder: string;
let store: ReturnType<typeof openStore>;

beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-feed-'));
  store = openStore({ folder, access: 'own' });
});
afterEach(() => {
  store.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const lineOf = (n: number, type: string, data: object, facts?: object): string =>
  journalLine({ session, atMs: AT }, n, type, data, facts);

/** Turns of two actions. The second action of every turn ends in the next one, far away in the journal. */
function* linesOf(turns: number): Generator<string, undefined> {
  const before = (n: number, call: string, turn: string): string =>
    lineOf(n, 'Action.Before', { action: { name: call } }, { turn, call, tool: call });
  const after = (n: number, call: string, turn: string): string =>
    lineOf(n, 'Action.After', { action: { name: call, result: { success: true } } }, { turn, call, tool: call });
  yield lineOf(1, 'Session.Start', { start_reason: 'new' });
  for (let turn = 0; turn < turns; turn += 1) {
    const [n, name] = [2 + turn * 10, `t${turn}`];
    yield lineOf(n, 'Prompt.Submitted', {}, { turn: name }) + before(n + 1, `first-${turn}`, name);
    yield after(n + 2, `first-${turn}`, name) + before(n + 3, `second-${turn}`, name);
    if (turn > 0) yield after(n + 4, `second-${turn - 1}`, `t${turn - 1}`);
    yield lineOf(n + 5, 'Turn.End', {}, { turn: name });
  }
}

const append = (lines: string): void => {
  const next = { journal: [{ key, lines }], sessions: [{ key, state: {} }] };
  expect(store.commit(next)).toBe('committed');
};

function updated(): SessionFeed {
  const feed = new SessionFeed(key);
  expect(feed.update(store)).toBe(true);
  return feed;
}

it('reads the details of a span of each part, with its records', () => {
  append([...linesOf(700)].join(''));
  // Several parts.
  expect(store.journalSize(key)).toBeGreaterThan(1_200_000);
  const feed = updated();
  const { spans, open } = feed.part(undefined);
  const all = new Map(feed.allDetails(store));
  expect([...all.keys()]).toEqual([...new Set([...spans, ...open].map(({ id }) => id))]);
  for (const [id, details] of [...all].filter((_, i) => i % 50 === 0)) expect(feed.details(store, id)).toEqual(details);
  const actions = spans.filter(({ kind }) => kind === 'action');
  for (const { id } of [actions[0], actions[700], actions.at(-1)].flatMap(each => each ?? []))
    expect(all.get(id)?.records.map(({ line }) => line.split(' ')[0])).toEqual(['Action.Before', 'Action.After']);
});

it('has the same values after many updates as after one', () => {
  const feed = new SessionFeed(key);
  const lines = [...linesOf(700)];
  for (let i = 0; i < lines.length; i += 150) {
    append(lines.slice(i, i + 150).join(''));
    feed.update(store);
  }
  const once = updated();
  expect({ ...feed.part(undefined), made: '' }).toEqual({ ...once.part(undefined), made: '' });
  expect([...feed.allDetails(store)]).toEqual([...once.allDetails(store)]);
});

it('has no details of a journal that is gone', () => {
  append([...linesOf(3)].join(''));
  const feed = updated();
  const id = feed.part(undefined).spans[0]?.id ?? '';
  expect(feed.details(store, id)).toBeDefined();
  fs.rmSync(join(folder, 'journal'), { recursive: true });
  expect(feed.details(store, id)).toBeUndefined();
});
