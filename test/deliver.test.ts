/** Deliver as a whole, in this process, over a real folder. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { claudeCode } from '../src/agents/claude-code/claude-code.ts';
import { type Delivered, deliver } from '../src/deliver.ts';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { imbalances } from '../src/view/books.ts';

let home = '';
let state = '';
let count = 0;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'deliver-test-'));
  state = join(home, 'state');
  mkdirSync(state, { mode: 0o700 });
  mkdirSync(join(state, 'inbox'), { mode: 0o700 });
  count = 0;
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(home, { recursive: true, force: true });
});

const hook = (fields: object): void =>
  send(
    JSON.stringify({ session_id: 's-1', transcript_path: '/h/.claude/projects/x.jsonl', cwd: home, ...fields }),
    'claude-code',
  );

const send = (payload: string, tool = ''): void => {
  count += 1;
  const unique = `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
  const name = fragmentName('0000beef', String(1_000 + count), 100 + count, unique);
  writeFileSync(join(state, 'inbox', name), encodeFragment(unique, { tool, ppid: '1' }, Buffer.from(payload)), {
    mode: 0o600,
  });
};

const run = (now?: () => number): Promise<Delivered> =>
  deliver({
    stateFolder: state,
    byHand: true,
    waitMs: 5_000,
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
    ...(now ? { now } : {}),
  });

test('one fragment that something inside cannot bear costs itself alone', async () => {
  const { Stop } = claudeCode.events;
  if (Stop === undefined) throw new Error('Claude Code has a Stop hook');
  const { read } = Stop;
  vi.spyOn(Stop, 'read').mockImplementation((fields, memory) => {
    if (fields.poison) throw new TypeError('cannot bear it');
    return read(fields, memory);
  });
  for (let i = 0; i < 9; i += 1) hook({ hook_event_name: 'UserPromptSubmit', prompt_id: `p${i}`, prompt: `${i}` });
  hook({ hook_event_name: 'Stop', prompt_id: 'p8', poison: true });
  for (let i = 9; i < 14; i += 1) hook({ hook_event_name: 'UserPromptSubmit', prompt_id: `p${i}`, prompt: `${i}` });
  const { books } = await run();
  expect(books?.fragments).toMatchObject({ received: 15, journaled: 14, quarantined: 1, waiting: 0 });
  expect(books && imbalances(books)).toEqual([]);
});

test('a bad event in a list costs itself; the list has one fate, and what was cut out of it is kept and counted', async () => {
  const event = (id: string, session_id: string): string =>
    JSON.stringify({
      openhook: '0.1',
      id,
      source: 'acme',
      type: 'session.start',
      time: '2026-03-02T09:00:00Z',
      session_id,
    });
  send([event('1', 'a'), event('2', ''), '{"openhook":', event('3', 'b'), event('4', '')].join('\n'));
  send(`[${event('5', '')},${event('6', '')}]`);
  send([event('1', 'a'), event('3', 'b')].join('\n'));
  const { books } = await run();
  expect(books?.fragments).toEqual({
    received: 3,
    waiting: 0,
    journaled: 1,
    quarantined: 1,
    dropped: { duplicate: 1 },
  });
  expect(books && imbalances(books)).toEqual([]);
  const { openStore } = await import('../src/store/store.ts');
  const store = openStore({ folder: state, access: 'read' });
  expect(store.journals()).toHaveLength(2);
  expect(store.books().counters).toMatchObject({
    'bad-events.no-session-id': 2,
    'bad-events.not-json': 1,
    'quarantined.no-session-id': 1,
  });
  store.close();
  const kept = readdirSync(join(state, 'quarantine'));
  expect(kept.map(name => name.replace(/\..*/, '')).sort()).toEqual(['no-session-id', 'no-session-id', 'not-json']);
  const cut = kept.find(name => name.startsWith('no-session-id.event-')) ?? '';
  expect(
    readFileSync(join(state, 'quarantine', cut), 'utf8')
      .trim()
      .split('\n'),
  ).toHaveLength(2);
});

test('a silent session is ended by the drain, at its last sign of life', async () => {
  hook({ hook_event_name: 'SessionStart', source: 'startup' });
  hook({ hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'x' });
  await run();
  const later = Date.now() + 2 * 3_600_000;
  await run(() => later);
  const { openStore } = await import('../src/store/store.ts');
  const store = openStore({ folder: state, access: 'read' });
  const [key = ''] = store.journals();
  const types = (store.journal(key) ?? '')
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { event_type: string }).event_type);
  store.close();
  expect(types).toContain('Session.Abort');
  expect(types.filter(type => type === 'Session.Abort')).toHaveLength(1);
  await run(() => later + 60_000);
  expect(types.filter(type => type === 'Session.Abort')).toHaveLength(1);
});

test.each([
  ['cannot be ended', (fold: { [name: string]: unknown }) => ({ ...fold, subagents: { a: null } })],
  ['has lost half of itself', ({ held: _held, actions: _actions, ...fold }: { [name: string]: unknown }) => fold],
])('a silent session whose state %s costs nobody else anything', async (_, damaged) => {
  hook({ hook_event_name: 'SessionStart', source: 'startup' });
  hook({ hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'x' });
  await run();
  const [file = ''] = readdirSync(join(state, 'sessions')).map(name => join(state, 'sessions', name));
  const written = JSON.parse(readFileSync(file, 'utf8')) as { state: { fold: { [name: string]: unknown } } };
  const { fold } = written.state;
  expect(fold).toMatchObject({ held: [], actions: {}, subagents: {} });
  writeFileSync(file, JSON.stringify({ ...written, state: { ...written.state, fold: damaged(fold) } }));
  const others = ['SessionStart', 'UserPromptSubmit', 'Stop'];
  for (const hook_event_name of others) hook({ session_id: 's-2', hook_event_name, prompt_id: 'p2', prompt: 'y' });
  send('no JSON');
  const { books } = await run(() => Date.now() + 2 * 3_600_000);
  expect(books?.fragments).toMatchObject({ received: 6, journaled: 5, quarantined: 1, waiting: 0 });
  expect(books && imbalances(books)).toEqual([]);
});

test('nothing to do: leaves at once, with balanced books', async () => {
  const { outcome, books } = await run();
  expect(outcome).toBe('done');
  expect(books?.fragments.received).toBe(0);
});
