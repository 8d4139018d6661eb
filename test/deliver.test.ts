/** Deliver as a whole, in this process, over a real folder. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { claudeCode } from '../src/agents/claude-code/claude-code.ts';
import { problemsNow } from '../src/commands/problems-now.ts';
import type { Destination } from '../src/config/destinations.ts';
import { loadConfig } from '../src/config/files.ts';
import { type Delivered, deliver } from '../src/deliver/deliver.ts';
import { imbalances, waitingIn } from '../src/deliver/status-books.ts';
import { documents as stored } from '../src/documents/documents.ts';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { configuredIn } from '../src/session/pin.ts';
import { openStore } from '../src/store/store.ts';
import { type Collector, startCollector } from './collector.ts';
import { receivedIn, takenBy } from './obligations/received.ts';

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

const hook = (fields: object, header: Record<string, string> = {}): void =>
  send(
    JSON.stringify({ session_id: 's-1', transcript_path: '/h/.claude/projects/x.jsonl', cwd: home, ...fields }),
    'claude-code',
    header,
  );

const send = (payload: string, tool = '', header: Record<string, string> = {}): void => {
  count += 1;
  const unique = `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
  const name = fragmentName('0000beef', String(1_000 + count), 100 + count, unique);
  writeFileSync(
    join(state, 'inbox', name),
    encodeFragment(unique, { tool, ppid: '1', ...header }, Buffer.from(payload)),
    {
      mode: 0o600,
    },
  );
};

const run = (now?: () => number, configured?: Destination[]): Promise<Delivered> =>
  deliver({
    stateFolder: state,
    byHand: true,
    waitMs: 5_000,
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
    configured,
    ...(now ? { now } : {}),
  });

test('a fragment whose processing fails does not affect the others', async () => {
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
  const { openStore } = await import('../src/store/store.ts');
  const store = openStore({ folder: state, access: 'read' });
  const config = loadConfig({ env: {}, home: state, platform: 'linux', cwd: state });
  const problems = problemsNow(store, {
    folders: { state, config },
    now: [],
    io: { now: Date.now, home: state, platform: 'linux' },
  });
  store.close();
  expect(problems).toEqual([{ code: 'fragment-failed', folder: state, why: 'failed' }]);
});

test('a bad event in a list affects only itself; the list has one fate, and the removed event is kept and counted', async () => {
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

test('a round ends a silent session, at the time of its last event', async () => {
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
])('a silent session whose state %s does not affect other sessions', async (_, damaged) => {
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

test('without work a delivery ends at once, with balanced accounts', async () => {
  const { outcome, books } = await run();
  expect(outcome).toBe('done');
  expect(books?.fragments.received).toBe(0);
});

test('the same hook from commands for two providers goes to both, as with the Python package of the same name', async () => {
  const folder = join(home, '.config', 'otel-hooks');
  mkdirSync(folder, { recursive: true });
  // The file names no provider; the commands of its hooks do.
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ file: { path: join(home, 'out.jsonl') } }));
  for (const hook_event_name of ['SessionStart', 'UserPromptSubmit', 'Stop', 'SessionEnd']) {
    for (const provider of ['console', 'file']) hook({ hook_event_name, prompt_id: 'p' }, { provider });
  }
  const { books } = await run();
  expect(books?.fragments).toMatchObject({ received: 8, journaled: 4, dropped: { duplicate: 4 } });
  const made = books?.destinations.map(({ provider, spans, logs }) => [provider, spans.produced, logs.produced]);
  expect(made?.sort()).toEqual([
    ['console', 2, 4],
    ['file', 2, 4],
  ]);
  expect(books && imbalances(books)).toEqual([]);
});

test('a provider that is named a round later also gets the data that was sent before', async () => {
  const folder = join(home, '.config', 'otel-hooks');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ file: { path: join(home, 'out.jsonl') } }));
  const hooks = [
    { hook_event_name: 'SessionStart', source: 'startup' },
    { hook_event_name: 'UserPromptSubmit', prompt_id: 'p', prompt: 'x' },
    { hook_event_name: 'PreToolUse', prompt_id: 'p', tool_name: 'Bash', tool_use_id: 't' },
    { hook_event_name: 'PostToolUse', prompt_id: 'p', tool_name: 'Bash', tool_use_id: 't', duration_ms: 3 },
    { hook_event_name: 'Stop', prompt_id: 'p' },
  ];
  const at = String(Date.now());
  for (const each of hooks) hook(each, { provider: 'console', at });
  await run();
  for (const each of hooks) hook(each, { provider: 'file', at });
  hook({ hook_event_name: 'SessionEnd', reason: 'other' }, { provider: 'console', at });
  const { books } = await run();
  expect(books?.fragments).toMatchObject({ received: 11, journaled: 6, dropped: { duplicate: 5 } });
  const made = books?.destinations.map(each => [each.provider, each.spans.produced, each.logs.produced]);
  expect(made?.sort()).toEqual([
    ['console', 3, 6],
    ['file', 3, 6],
  ]);
  expect(books && imbalances(books)).toEqual([]);
});

/** The data that each destination received so far. */
const madeFor = ({ books }: Delivered): unknown[] => {
  expect(books && imbalances(books)).toEqual([]);
  return books?.destinations.map(({ provider, spans, logs }) => [provider, spans.produced, logs.produced]).sort() ?? [];
};
/** Three spans and six records. */
const wholeSession = (source: string, prompt_id: string): object[] => [
  { hook_event_name: 'SessionStart', source },
  { hook_event_name: 'UserPromptSubmit', prompt_id, prompt: 'x' },
  { hook_event_name: 'PreToolUse', prompt_id, tool_name: 'Bash', tool_use_id: prompt_id },
  { hook_event_name: 'PostToolUse', prompt_id, tool_name: 'Bash', tool_use_id: prompt_id, duration_ms: 3 },
  { hook_event_name: 'Stop', prompt_id },
  { hook_event_name: 'SessionEnd', reason: 'other' },
];
const EIGHT_DAYS_MS = 8 * 24 * 3_600_000;

test.each([
  ['for a second provider', ['console', 'file'], false],
  ['after a mistake in the configuration is mended', ['file'], true],
])('a session whose hooks resume after its state was removed is sent once %s', async (_how, providers, isBroken) => {
  const folder = join(home, '.config', 'otel-hooks');
  mkdirSync(folder, { recursive: true });
  const write = (text: string): void => writeFileSync(join(folder, 'config.json'), text);
  const good = JSON.stringify({ file: { path: join(home, 'out.jsonl') } });
  const now = Date.now();
  const send = (source: string, prompt: string, at: string): void => {
    for (const each of wholeSession(source, prompt)) for (const provider of providers) hook(each, { provider, at });
  };
  write(good);
  send('startup', 'p', String(now));
  expect(madeFor(await run(() => now))).toEqual(providers.map(each => [each, 3, 6]));
  const later = now + EIGHT_DAYS_MS;
  await run(() => later);
  if (isBroken) write('{');
  send('resume', 'q', String(later));
  await run(() => later);
  write(good);
  expect(madeFor(await run(() => later))).toEqual(providers.map(each => [each, 6, 12]));
});

test('a session of two providers, of which one cannot be used, is sent once through the other', async () => {
  const folder = join(home, '.config', 'otel-hooks');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ file: { path: join(home, 'out.jsonl') } }));
  const [end = {}, ...rest] = wholeSession('startup', 'p').reverse();
  for (const each of rest.reverse()) for (const provider of ['grafana-cloud', 'file']) hook(each, { provider });
  expect(madeFor(await run())).toEqual([['file', 2, 5]]);
  hook(end, { provider: 'file' });
  expect(madeFor(await run())).toEqual([['file', 3, 6]]);
});

describe('a session that begins while the configuration cannot be read', () => {
  const folder = (): string => join(home, '.config', 'otel-hooks');
  const write = (text: string): void => {
    mkdirSync(folder(), { recursive: true });
    writeFileSync(join(folder(), 'config.json'), text);
  };
  const start = { hook_event_name: 'SessionStart', source: 'startup' };
  const turn = [
    { hook_event_name: 'UserPromptSubmit', prompt_id: 'p', prompt: 'x' },
    { hook_event_name: 'PreToolUse', prompt_id: 'p', tool_name: 'Bash', tool_use_id: 't' },
    { hook_event_name: 'PostToolUse', prompt_id: 'p', tool_name: 'Bash', tool_use_id: 't', duration_ms: 3 },
    { hook_event_name: 'Stop', prompt_id: 'p' },
  ];
  const end = { hook_event_name: 'SessionEnd', reason: 'other' };
  const all = [start, ...turn, end];
  /** The same session with its configuration from the beginning. */
  const whole = { spans: 3, records: 6, counted: 6 };
  const takenIn = (): typeof whole => {
    const { spans, records, counted } = receivedIn(takenBy(collector));
    return { spans: spans.size, records: records.size, counted };
  };

  test.each([
    ['text', '{"provider": "otlp", '],
    ['provider', '{"provider": "otpl", "otlp": {"endpoint": "http://127.0.0.1:1"}}'],
    ['address', '{"provider": "otlp", "otlp": {"endpoint": "127.0.0.1"}}'],
    ['setting that is missing', '{"provider": "grafana-cloud"}'],
  ])('is sent completely after its %s is repaired, although it has ended', async (_what, broken) => {
    collector = await startCollector();
    try {
      const mended = JSON.stringify({ provider: 'otlp', otlp: { endpoint: collector.url }, service_name: 'mended' });
      write(broken);
      for (const each of all) hook(each);
      expect((await run()).books?.destinations).toEqual([]);
      write(mended);
      const { problems, books } = await run();
      expect(problems).toEqual([]);
      expect(books && imbalances(books)).toEqual([]);
      expect(takenIn()).toEqual(whole);
      expect(takenBy(collector).every(({ body }) => Buffer.from(body).includes('mended'))).toBe(true);
      await run();
      expect(receivedIn(takenBy(collector)).repeatedItems).toBe(0);
    } finally {
      await collector.close();
    }
  });

  test('continues under the repaired configuration, with its shape of traces', async () => {
    collector = await startCollector();
    try {
      const mended = { provider: 'otlp', otlp: { endpoint: collector.url }, trace: { shape: 'turn' } };
      write(JSON.stringify(mended));
      for (const each of all) hook(each);
      await run();
      const { spans } = receivedIn(takenBy(collector));
      collector.requests.length = 0;
      rmSync(state, { recursive: true });
      mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });

      write('{');
      for (const each of [start, ...turn.slice(0, 2)]) hook(each);
      await run();
      write(JSON.stringify(mended));
      for (const each of [...turn.slice(2), end]) hook(each);
      const { books } = await run();
      expect(books && imbalances(books)).toEqual([]);
      expect(takenIn()).toEqual(whole);
      expect(receivedIn(takenBy(collector)).spans).toEqual(spans);
    } finally {
      await collector.close();
    }
  });

  test('keeps the user of its first event, not the user who is logged in', async () => {
    collector = await startCollector();
    try {
      write('{');
      const events = ['Session.Start', 'Session.End'].map((event_type, i) => ({
        ...{ spec_version: '0.1.0', event_id: `00000000-0000-4000-8000-00000000000${i}`, session_id: 's' },
        ...{ timestamp: new Date(1_000_000 + i * 1_000).toISOString(), source: { tool: 'goose' } },
        ...{ event_type, data: {}, user: { id: 'kim@example.com' } },
      }));
      send(JSON.stringify(events));
      await run();
      expect(
        readdirSync(join(state, 'sessions')).map(name => readFileSync(join(state, 'sessions', name), 'utf8')),
      ).not.toContainEqual(expect.stringContaining('kim'));
      write(JSON.stringify({ provider: 'otlp', otlp: { endpoint: collector.url }, content: { user: 'full' } }));
      await run();
      expect(collector.spans().map(({ name, plain }) => [name, plain['user.id']])).toEqual([
        ['session goose', undefined],
      ]);
    } finally {
      await collector.close();
    }
  });

  test('stays on this machine if the repaired configuration sends no data', async () => {
    collector = await startCollector();
    try {
      write('{');
      for (const each of all) hook(each);
      await run();
      write(JSON.stringify({ enabled: false, otlp: { endpoint: collector.url } }));
      await run();
      write(JSON.stringify({ otlp: { endpoint: collector.url } }));
      await run();
      expect(takenIn()).toEqual({ spans: 0, records: 0, counted: 0 });
    } finally {
      await collector.close();
    }
  });
});

test('a session keeps its pinned configuration after changes of the configuration and further hooks', async () => {
  const folder = join(home, '.config', 'otel-hooks');
  mkdirSync(folder, { recursive: true });
  const names = (path: string): void => writeFileSync(join(folder, 'config.json'), JSON.stringify({ file: { path } }));
  names(join(home, 'first.jsonl'));
  const twice = (hook_event_name: string): void => {
    for (let i = 0; i < 2; i += 1) hook({ hook_event_name, prompt_id: 'p' }, { provider: 'file' });
  };
  for (const event of ['SessionStart', 'UserPromptSubmit']) twice(event);
  await run();
  names(join(home, 'second.jsonl'));
  for (const event of ['Stop', 'SessionEnd']) twice(event);
  const { books } = await run();
  expect(books?.fragments).toMatchObject({ received: 8, journaled: 4, dropped: { duplicate: 4 } });
  expect(books?.destinations.map(({ spans, logs }) => [spans.produced, logs.produced])).toEqual([[2, 4]]);
});

const configure = (key: string): void => {
  const folder = join(home, '.config', 'otel-hooks');
  mkdirSync(folder, { recursive: true });
  const otlp = { endpoint: collector.url, headers: { 'x-key': key } };
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ provider: 'otlp', otlp }));
};
let collector: Collector;
/** Accepts requests with the right key. */
const guarded = async (): Promise<void> => {
  collector = await startCollector({ answer: ({ headers }) => ({ status: headers['x-key'] === 'right' ? 200 : 401 }) });
};
const keysSeen = (): Set<unknown> => new Set(collector.requests.map(({ headers }) => headers['x-key']));
const aSession = (session_id: string, header: Record<string, string> = {}): void => {
  hook({ session_id, hook_event_name: 'SessionStart', source: 'startup' }, header);
  hook({ session_id, hook_event_name: 'SessionEnd', reason: 'other' }, header);
};

test('data and metrics that waited for a refused key are sent with its replacement', async () => {
  await guarded();
  try {
    configure('wrong');
    aSession('s-1');
    const refused = await run(() => 1_000_000);
    expect(refused.problems.map(({ code }) => code)).toEqual(['delivery-refused']);
    configure('right');
    aSession('s-2');
    const { problems, books } = await run(() => 2_000_000);
    expect(problems).toEqual([]);
    expect(books && waitingIn(books)).toBe(0);
    expect(books && imbalances(books)).toEqual([]);
    const { records, counted, fallen, repeatedItems } = receivedIn(takenBy(collector));
    expect([records.size, counted, fallen, repeatedItems]).toEqual([4, 4, [], 0]);
    // The rest of a session that began with the former key is sent in the same way.
    hook({ session_id: 's-1', hook_event_name: 'SessionStart', source: 'resume' });
    const later = await run(() => 3_000_000);
    expect(later.books && waitingIn(later.books)).toBe(0);
    expect(receivedIn(takenBy(collector))).toMatchObject({ counted: 5, fallen: [] });
  } finally {
    await collector.close();
  }
});

test('a corrected key counts at once when a person delivers, and one that is wrong again changes nothing', async () => {
  await guarded();
  try {
    configure('wrong');
    aSession('s-1');
    await run(() => 1_000_000);
    let nowMs = 1_000_000;
    const byKey = (key: string): Promise<Delivered> => {
      nowMs += 1_000;
      configure(key);
      const config = loadConfig({ env: {}, home, platform: 'linux', cwd: home });
      return run(() => nowMs, configuredIn(config, home).destinations);
    };
    const still = await byKey('wrong too');
    expect(still.books && waitingIn(still.books)).toBeGreaterThan(0);
    expect(still.books && imbalances(still.books)).toEqual([]);
    const mended = await byKey('right');
    expect(mended).toMatchObject({ problems: [] });
    expect(mended.books && waitingIn(mended.books)).toBe(0);
    expect(receivedIn(takenBy(collector))).toMatchObject({ counted: 2, repeatedItems: 0 });
  } finally {
    await collector.close();
  }
});

test('no data is sent with the key of another folder, even to the same address', async () => {
  await guarded();
  try {
    const given = (key: string) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-key=${key}`,
    });
    hook({ session_id: 'theirs', hook_event_name: 'SessionStart', source: 'startup', cwd: '/theirs' }, given('wrong'));
    await run(() => 1_000_000);
    hook({ session_id: 'ours', hook_event_name: 'SessionStart', source: 'startup', cwd: '/ours' }, given('right'));
    const { books } = await run(() => 2_000_000);
    expect([...keysSeen()]).toEqual(['wrong', 'right']);
    expect(receivedIn(takenBy(collector)).records.size).toBe(1);
    expect(books?.destinations.map(({ logs }) => logs.waiting)).toEqual([1, 0]);
  } finally {
    await collector.close();
  }
});

test('a destination is forgotten a week after its last session, and its metrics are counted as too old', async () => {
  await guarded();
  const DAY_MS = 24 * 3_600_000;
  let nowMs = Date.now();
  try {
    configure('right');
    aSession('s-1');
    await run(() => nowMs);
    configure('wrong');
    aSession('s-2');
    nowMs += 1_000;
    await run(() => nowMs);
    configure('right');
    nowMs += 8 * DAY_MS;
    aSession('s-3');
    // The first delivery removes the sessions, the second one the destination to which only they were pinned.
    await run(() => nowMs);
    const { books } = await run(() => nowMs);
    const left = readdirSync(join(state, 'documents')).filter(name => /^(destination|metrics)-/.test(name));
    expect(left).toHaveLength(2);
    expect(books && waitingIn(books)).toBe(0);
    expect(books && imbalances(books)).toEqual([]);
    // The text of the refusal does not occur; its status may also occur in an id or a time.
    expect(readFileSync(join(state, 'documents', 'ship.json'), 'utf8')).not.toContain('"status":401');
  } finally {
    await collector.close();
  }
});

test('reachable destinations get metrics about waiting data, until none waits, and about the duration of requests', async () => {
  let isAway = true;
  const collector = await startCollector({
    answer: ({ signal }) => ({ status: isAway && signal === 'traces' ? 503 : 200 }),
  });
  const pipeline = (name: string): unknown[] =>
    collector
      .metrics()
      .filter(metric => metric.name === `agent_hooks.pipeline.${name}`)
      .map(metric => metric.sum ?? metric.histogram);
  const spans = (): number[] =>
    pipeline('spool.size').map(sum => {
      const { isMonotonic, dataPoints } = sum as { isMonotonic?: boolean; dataPoints: { asInt: string }[] };
      expect(isMonotonic).toBeFalsy();
      return Number(dataPoints[0]?.asInt);
    });
  try {
    const to = { OTEL_HOOKS_PROVIDER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const session = (session_id: string): void => {
      hook({ session_id, hook_event_name: 'SessionStart', source: 'startup' }, to);
      hook({ session_id, hook_event_name: 'SessionEnd', reason: 'other' }, to);
    };
    for (const id of ['s-1', 's-2']) {
      session(id);
      await run();
    }
    expect(spans().at(-1)).toBeGreaterThan(500);
    isAway = false;
    const { books } = await run();
    expect(spans().at(-1)).toBe(0);
    const before = spans().length;
    await run();
    expect(spans()).toHaveLength(before);
    expect(JSON.stringify(pipeline('export.duration').at(-1))).toContain('"stringValue":"log"');
    expect(books && imbalances(books)).toEqual([]);
  } finally {
    await collector.close();
  }
});

test('a session that continues in a new process links to its earlier trace', async () => {
  const collector = await startCollector();
  try {
    const to = { OTEL_HOOKS_PROVIDER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const session = (session_id: string, source: string, ppid: string): void => {
      hook({ session_id, hook_event_name: 'SessionStart', source }, { ...to, ppid });
      hook({ session_id, hook_event_name: 'SessionEnd', reason: 'clear' }, { ...to, ppid });
    };
    session('first', 'startup', '7');
    session('stranger', 'startup', '8');
    session('second', 'clear', '7');
    session('alone', 'clear', '9');
    await run();
    const of = (id: string) => collector.spans().find(({ plain }) => plain['session.id'] === id);
    expect(of('second')?.links).toMatchObject([{ traceId: of('first')?.traceId, spanId: of('first')?.spanId }]);
    expect(of('second')?.plain['session.previous_id']).toBe('first');
    const start = collector.records().find(({ plain }) => plain['session.previous_id'] !== undefined);
    expect(start?.plain).toMatchObject({ 'session.id': 'second', 'event.name': 'agent_hooks.session.start' });
    for (const id of ['first', 'stranger', 'alone']) expect(of(id)?.links ?? []).toEqual([]);
  } finally {
    await collector.close();
  }
});

test('a session of a foreign event names its agent, version and user, as configured', async () => {
  collector = await startCollector();
  try {
    const folder = join(home, '.config', 'otel-hooks');
    mkdirSync(folder, { recursive: true });
    const config = {
      ...{ provider: 'otlp', otlp: { endpoint: collector.url }, logs: { level: 'warn' } },
      ...{ content: { user: 'full', results: 'redacted' }, metadata: { include: ['dev.goose.recipe'] } },
    };
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    const metadata = { 'dev.goose': { recipe: 'nightly', host: 'build-7' } };
    const rows: object[] = [
      { event_type: 'Session.Start', data: { start_reason: 'new' }, user: { id: 'kim' }, metadata },
      { event_type: 'Prompt.Submitted', data: { prompt_length: 4 }, actor: { type: 'user', id: 'kim' } },
      { event_type: 'Model.Responded', data: { model_id: 'gpt-5.2', input_tokens: 10, output_tokens: 2 } },
      { event_type: 'Model.Failed', data: { model_id: 'gpt-5.2', error_type: 'Overloaded', error_message: 'not now' } },
      { event_type: 'Session.End', data: { end_reason: 'exit' } },
    ];
    const events = rows.map((event, i) => ({
      ...{ spec_version: '0.1.0', event_id: `00000000-0000-4000-8000-00000000000${i}`, session_id: 's' },
      ...{ timestamp: new Date(1_000_000 + i * 1_000).toISOString(), source: { tool: 'goose', version: '1.9.0' } },
      ...event,
    }));
    send(events.map(event => JSON.stringify(event)).join('\n'));
    const { books } = await run(() => 2_000_000);
    expect(books && imbalances(books)).toEqual([]);

    const [session] = collector.spans().filter(({ name }) => name === 'session goose');
    expect(session).toMatchObject({
      plain: { 'user.id': 'kim', 'agent_hooks.metadata.dev.goose.recipe': 'nightly' },
      resource: { 'service.name': 'goose', 'service.version': '1.9.0' },
    });
    const turn = collector.spans().find(({ name }) => name === 'invoke_agent goose');
    expect(turn?.plain).toMatchObject({ 'agent_hooks.actor.type': 'user', 'agent_hooks.actor.id': 'kim' });
    const chats = collector.spans().filter(({ name }) => name === 'chat gpt-5.2');
    expect(chats.map(({ plain }) => [plain['gen_ai.provider.name'], plain['gen_ai.response.model']])).toEqual([
      ['openai', 'gpt-5.2'],
      ['openai', undefined],
    ]);

    const records = collector.records();
    const heard = (['agent_hooks.model.failed', 'gen_ai.client.operation.exception'] as const).map(name =>
      records.filter(({ plain }) => plain['event.name'] === name),
    );
    expect([records.length, ...heard.map(({ length }) => length)]).toEqual([2, 1, 1]);
    const [[failed], [exception]] = heard as [[(typeof records)[0]], [(typeof records)[0]]];
    expect(exception.plain).toMatchObject({ 'exception.type': 'Overloaded', 'exception.message': 'not now' });
    for (const same of ['spanId', 'traceId', 'timeUnixNano']) expect(exception[same]).toEqual(failed[same]);
    expect(exception.plain['agent_hooks.event.id']).toBe(failed.plain['agent_hooks.event.id']);
    expect(exception.body).not.toEqual(failed.body);
    expect(exception.resource['service.version']).toBe('1.9.0');

    const ofAgents = collector.metrics().filter(({ name }) => String(name) !== 'agent_hooks.pipeline.export.duration');
    for (const { resource } of ofAgents) expect(resource).not.toHaveProperty(['service.version']);
    const everything = JSON.stringify([collector.spans(), records, collector.metrics()]);
    expect(everything).not.toContain('build-7');
    expect(JSON.stringify(collector.metrics())).not.toContain(
      '"gen_ai.provider.name","value":{"stringValue":"unknown"',
    );
  } finally {
    await collector.close();
  }
});

test('a complete session in one list names its repository', async () => {
  collector = await startCollector();
  try {
    configure('any');
    const git = join(home, 'shop', '.git');
    mkdirSync(join(git, 'objects'), { recursive: true });
    mkdirSync(join(git, 'refs', 'heads'), { recursive: true });
    writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(git, 'config'), '[remote "origin"]\n\turl = https://git.example/acme/shop.git\n');
    const events = ['Session.Start', 'Session.End'].map((event_type, i) => ({
      ...{ spec_version: '0.1.0', event_id: `00000000-0000-4000-8000-00000000000${i}`, session_id: 's' },
      ...{ timestamp: new Date(1_000_000 + i * 1_000).toISOString(), source: { tool: 'goose' } },
      ...{ event_type, data: {} },
    }));
    send(JSON.stringify(events), '', { cwd: join(home, 'shop') });
    await run(() => 2_000_000);
    expect(collector.spans().map(({ plain }) => plain['vcs.repository.url.full'])).toEqual([
      'https://git.example/acme/shop',
    ]);
  } finally {
    await collector.close();
  }
});

describe('a delivery that releases the lock', () => {
  /** An event that arrives at the moment of the release, after the last look into the inbox. */
  const released = async (comes: () => void): Promise<Delivered> => {
    let isReleased = false;
    return deliver({
      stateFolder: state,
      byHand: false,
      waitMs: 0,
      surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
      lock: {
        touch: () => true,
        wanted: () => false,
        release() {
          if (!isReleased) comes();
          isReleased = true;
        },
      },
    });
  };

  test('takes it again for a fragment whose hook saw the lock before', async () => {
    const { journaled } = await released(() => hook({ hook_event_name: 'UserPromptSubmit', prompt: 'late' }));
    expect(journaled).toBeGreaterThan(0);
    expect(readdirSync(join(state, 'inbox'))).toEqual([]);
    expect(readdirSync(state)).not.toContain('lock');
  });

  test('leaves a fragment that is being written to its hook, which looks at the lock later', async () => {
    let looks = 0;
    const { journaled } = await released(() => {
      looks += 1;
      writeFileSync(join(state, 'inbox', fragmentName('0000beef', '1', 1, 'u')), 'otel-hooks/1 tool=');
    });
    expect([looks, journaled]).toEqual([1, 0]);
    expect(readdirSync(join(state, 'inbox'))).toHaveLength(1);
  });
});

test('destinations are limited, and a session without a place is sent when there is one', async () => {
  const most = 256;
  const collector = await startCollector();
  try {
    const store = openStore({ folder: state, access: 'own' });
    const documents = Array.from({ length: most }, (_, i) => {
      const id = i.toString(16).padStart(16, '0');
      return {
        name: `destination-${id}`,
        value: { v: 1, id, provider: 'otlp', endpoint: `http://127.0.0.1:9/${i}`, signals: {}, pinnedMs: Date.now() },
      };
    });
    store.commit({ documents });
    store.close();
    const where = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_HOOKS_PROVIDER: 'otlp' };
    hook({ hook_event_name: 'SessionStart', source: 'startup' }, where);
    hook({ hook_event_name: 'SessionEnd', reason: 'logout' }, where);
    const { books } = await run();
    expect(collector.spans()).toEqual([]);
    expect(books?.fragments).toMatchObject({ journaled: 2 });
    const again = openStore({ folder: state, access: 'own' });
    expect(JSON.stringify(again.read(stored.problems))).toContain('destinations-full');
    again.commit({ documents: documents.slice(0, 10).map(({ name }) => ({ name, value: undefined })) });
    again.close();
    await run();
    expect(collector.spans().length).toBeGreaterThan(0);
  } finally {
    await collector.close();
  }
});
