/**
 * The states of sessions are limited, with real files: which states are removed, and the data that a resumed session
 * lacks.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Delivered, deliver } from '../../src/deliver/deliver.ts';
import { keepOf } from '../../src/deliver/state-limits.ts';
import { imbalances } from '../../src/deliver/status-books.ts';
import { documents } from '../../src/documents/documents.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { type SessionLimits, sessionLimits } from '../../src/pipeline/session-limits.ts';
import { type SessionState, sessionKey } from '../../src/session/session-state.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { type Collector, startCollector } from '../collector.ts';

let home = '';
let state = '';
let collector: Collector;
let count = 0;
const startMs = Date.now() - 600_000;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'session-limits-'));
  state = join(home, 'state');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
  collector = await startCollector();
  count = 0;
});
afterEach(async () => {
  await collector.close();
  rmSync(home, { recursive: true, force: true });
});

const keyOf = (session: string): string => sessionKey('claude-code', session);

function hook(session_id: string, hook_event_name: string, fields: object = {}): void {
  count += 1;
  const unique = `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
  const header = {
    tool: 'claude-code',
    ppid: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_HOOKS_PROVIDER: 'otlp',
    at: String(startMs + count * 1_000),
  };
  const payload = {
    session_id,
    hook_event_name,
    transcript_path: join(home, `${session_id}.jsonl`),
    cwd: home,
    ...fields,
  };
  writeFileSync(
    join(state, 'inbox', fragmentName('0000beef', String(1_000 + count), 100 + count, unique)),
    encodeFragment(unique, header, Buffer.from(JSON.stringify(payload))),
    { mode: 0o600 },
  );
}

function begin(session: string, prompt = 'p'): void {
  hook(session, 'SessionStart', { source: prompt === 'p' ? 'startup' : 'resume' });
  hook(session, 'UserPromptSubmit', { prompt_id: prompt, prompt });
  hook(session, 'PreToolUse', { prompt_id: prompt, tool_name: 'Bash', tool_use_id: `t-${prompt}` });
  hook(session, 'PostToolUse', { prompt_id: prompt, tool_name: 'Bash', tool_use_id: `t-${prompt}`, duration_ms: 3 });
}

function end(session: string, prompt = 'p'): void {
  hook(session, 'Stop', { prompt_id: prompt });
  hook(session, 'SessionEnd', { reason: 'other' });
}

const run = (sessions: SessionLimits = sessionLimits): Promise<Delivered> =>
  deliver({
    stateFolder: state,
    byHand: true,
    waitMs: 20_000,
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
    keep: { ...keepOf(), sessions },
  });

function inStore<T>(look: (store: Store) => T): T {
  const store = openStore({ folder: state, access: 'own' });
  try {
    return look(store);
  } finally {
    store.close();
  }
}

const known = (): string[] => readdirSync(join(state, 'sessions')).map(name => name.replace('.json', ''));
const typesOf = (session: string): string[] =>
  inStore(store => store.journal(keyOf(session)) ?? '')
    .split('\n')
    .filter(line => line !== '')
    .map(line => (JSON.parse(line) as { event_type: string }).event_type);
const problems = (): string => JSON.stringify(inStore(store => store.read(documents.problems) ?? {}));
const counters = (): Record<string, number> => inStore(store => store.ledger().counters);

/** Copies of an ended session, each in its own file; the first one ended first. */
function copies(of: string, many: number, padding = ''): string[] {
  const file = inStore(store => store.session(keyOf(of))) as { state: SessionState; journalBytes: number };
  const lines = readFileSync(join(state, 'journal', `${keyOf(of)}.jsonl`));
  return Array.from({ length: many }, (_, i) => {
    const session = `copy-${i}`;
    const key = keyOf(session);
    const arrivedMs = file.state.arrivedMs - (many - i) * 1_000;
    const copy = { v: 1, n: 1, ...file, state: { ...file.state, key, session, arrivedMs, padding } };
    writeFileSync(join(state, 'sessions', `${key}.json`), JSON.stringify(copy), { mode: 0o600 });
    writeFileSync(join(state, 'journal', `${key}.jsonl`), lines, { mode: 0o600 });
    return key;
  });
}

/** Each span and each point of a session arrived once. */
function expectEachOnce(): void {
  const ids = collector.spans().map(span => `${String(span.traceId)}:${String(span.spanId)}`);
  expect(ids.length).toBe(new Set(ids).size);
}

describe('states of sessions', () => {
  test('are at most 5,000: the oldest of thousands of ended sessions are removed, and their journals stay', async () => {
    begin('first');
    end('first');
    await run();
    const keys = copies('first', 5_200);
    const { books } = await run();
    const left = new Set(known());
    expect(left.size).toBe(4_500);
    expect(keys.map(key => left.has(key))).toEqual(keys.map((_, i) => i >= 701));
    expect(inStore(store => store.journals().length)).toBe(5_201);
    expect(counters()).toMatchObject({ 'forgotten.sessions.ended': 701 });
    expect(problems()).not.toContain('sessions-full');
    expect(books && imbalances(books)).toEqual([]);
  }, 60_000);

  test('are bounded in size as well', async () => {
    begin('first');
    end('first');
    await run();
    const keys = copies('first', 40, 'x'.repeat(100_000));
    await run({ files: 5_000, sizeBytes: 1_000_000 });
    const left = new Set(known());
    // Nine tenths of the limit, and one state is a little more than 100,000 bytes.
    expect(keys.filter(key => left.has(key))).toEqual(keys.slice(-8));
  });

  test('that cannot be read are removed first', async () => {
    for (const session of ['a', 'b', 'c']) {
      begin(session);
      end(session);
    }
    await run();
    writeFileSync(join(state, 'sessions', `${keyOf('torn')}.json`), '{"v":1,"n":', { mode: 0o600 });
    await run({ files: 3, sizeBytes: 1e9 });
    expect(known().sort()).toEqual(['b', 'c'].map(keyOf).sort());
  });

  test('of ended sessions are removed before open ones, and those without a journal after those with one', async () => {
    for (const session of ['lost', 'ended', 'open']) begin(session);
    for (const session of ['lost', 'ended']) end(session);
    await run();
    inStore(store => store.commit({ prune: [keyOf('lost')] }));
    await run({ files: 2, sizeBytes: 1e9 });
    expect(known()).toEqual([keyOf('open')]);
    begin('more');
    await run({ files: 1, sizeBytes: 1e9 });
    expect(known()).toEqual([]);
    expect(counters()).toMatchObject({ 'forgotten.sessions.ended': 2, 'forgotten.sessions.open': 2 });
  });
});

describe('an open session whose state must be removed', () => {
  test('is ended, sends all its spans once, and continues with the same ids when its hooks resume', async () => {
    for (const session of ['silent', 'busy']) begin(session);
    await run();
    begin('third');
    const { books } = await run({ files: 2, sizeBytes: 1e9 });
    expect(books && imbalances(books)).toEqual([]);
    expect(known()).toEqual([keyOf('third')]);
    expect(typesOf('silent').filter(type => type === 'Session.Abort')).toHaveLength(1);
    expect(typesOf('silent').at(-1)).toBe('vendor.otel-hooks.Settled');
    expect(problems()).toContain('sessions-full');
    const before = collector.spans().map(span => String(span.traceId));

    begin('silent', 'q');
    end('silent', 'q');
    const again = await run();
    expect(again.books && imbalances(again.books)).toEqual([]);
    expect(typesOf('silent').filter(type => type === 'Prompt.Submitted')).toHaveLength(2);
    expectEachOnce();
    expect(collector.spans().length).toBeGreaterThan(before.length);
  });

  test('records no event again that its hooks repeat', async () => {
    begin('silent');
    begin('busy');
    await run({ files: 1, sizeBytes: 1e9 });
    expect(known()).toEqual([]);
    const lines = typesOf('silent').length;
    begin('silent');
    await run();
    expect(typesOf('silent').filter(type => type === 'Action.After')).toHaveLength(1);
    expect(typesOf('silent').length).toBeLessThanOrEqual(lines + 1);
    expectEachOnce();
  });
});
