/** Delivery as a whole: it reads waiting transcripts again, ends when none waits, and by hand waits for none. */
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { main } from '../../src/cli.ts';
import type { Io } from '../../src/commands/command.ts';
import { type Delivered, deliver } from '../../src/deliver/deliver.ts';
import { imbalances } from '../../src/deliver/status-books.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { replay } from '../../src/journal/replay.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { type Collector, startCollector } from '../collector.ts';
import { START_MS } from '../play.ts';
import { rowsOf, tokensOf } from './house.ts';

const session = 'd-1';
let home = '';
let state = '';
let transcript = '';
let count = 0;
const rows = rowsOf(session);

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'transcripts-deliver-'));
  state = join(home, 'state');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
  transcript = join(home, '.claude', 'projects', 'x', `${session}.jsonl`);
  mkdirSync(join(transcript, '..'), { recursive: true });
  count = 0;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const hook = (seconds: number, event: string, fields: object): void => {
  count += 1;
  const unique = `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
  const payload = { session_id: session, transcript_path: transcript, cwd: home, hook_event_name: event, ...fields };
  writeFileSync(
    join(state, 'inbox', fragmentName('0000beef', String(1_000 + seconds), 100 + count, unique)),
    encodeFragment(
      unique,
      { tool: 'claude-code', ppid: '1', at: String(START_MS + seconds * 1000) },
      Buffer.from(JSON.stringify(payload)),
    ),
    { mode: 0o600 },
  );
};
const write = (...each: object[]): void => {
  appendFileSync(transcript, each.map(row => `${JSON.stringify(row)}\n`).join(''));
};
const spans = () => {
  const store = openStore({ folder: state, access: 'read' });
  try {
    return replay(store.journal(sessionKey('claude-code', session)) ?? '')?.finished ?? [];
  } finally {
    store.close();
  }
};
const run = (byHand: boolean, waitMs: number, now?: () => number): Promise<Delivered> =>
  deliver({
    ...(now ? { now } : {}),
    stateFolder: state,
    byHand,
    waitMs,
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
  });
const turn = (): void => {
  hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
  hook(5, 'Stop', { prompt_id: 'p1' });
};

test('a kicked delivery waits for a late end of a transcript, and ends after it', async () => {
  write(rows.prompt(1, 'p1'));
  turn();
  const delivered = run(false, 50);
  await new Promise(resolve => setTimeout(resolve, 700));
  write(rows.assistant(4, 'm1', rows.text('done'), 7, 'end_turn'));
  const { books } = await delivered;
  expect(spans().find(span => span.kind === 'turn')).toMatchObject({ complete: true, usage: { calls: 1, output: 7 } });
  expect(books && imbalances(books)).toEqual([]);
});

test('a denial that arrives while a round begins is read before the row of its result', async () => {
  write(rows.prompt(1, 'p1'), rows.assistant(4, 'm1', rows.text('done'), 7, 'end_turn'));
  turn();
  hook(6, 'UserPromptSubmit', { prompt_id: 'p2', prompt: 'push' });
  // Each look at the clock is a moment at which the agent may work: a call, its denial, and the row of its result.
  let calls = 0;
  const now = (): number => {
    const seconds = 10 + calls++;
    if (seconds < 40) {
      const call = `toolu_${seconds}`;
      const about = { prompt_id: 'p2', tool_name: 'Bash', tool_input: { command: 'git push' }, tool_use_id: call };
      hook(seconds, 'PreToolUse', about);
      hook(seconds, 'PermissionDenied', { ...about, reason: 'no' });
      const content = [{ type: 'tool_result', tool_use_id: call, content: 'no', is_error: true }];
      write(rows.result(seconds, call, 'p2', { message: { role: 'user', content }, toolUseResult: 'Error: no' }));
    }
    return START_MS + seconds * 1_000;
  };
  await deliver({
    ...{ now, stateFolder: state, byHand: false, waitMs: 50, waits: { turnMs: 500, subagentMs: 500 } },
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
  });
  const actions = spans().filter(span => span.kind === 'action');
  expect(actions.map(span => span.outcome)).toEqual(Array.from({ length: 30 }, () => 'denied'));
});

test('by hand it reads to the present end, and does not wait', async () => {
  write(rows.prompt(1, 'p1'));
  turn();
  await run(true, 5_000);
  expect(spans().find(span => span.kind === 'turn')).toMatchObject({ complete: false, usage: { calls: 0 } });
  write(rows.assistant(4, 'm1', rows.text('done'), 7, 'end_turn'));
  hook(9, 'SessionEnd', { reason: 'other' });
  await run(true, 5_000);
  expect(tokensOf(spans())).toEqual({ calls: 1, input: 3_210, output: 7 });
});

test('a Stop as the first hook of a session ends the turn of its transcript, and begins none', async () => {
  write(rows.prompt(1, 'p1'), rows.assistant(4, 'm1', rows.text('done'), 7, 'end_turn'));
  hook(20, 'Stop', { prompt_id: 'p1' });
  hook(25, 'SessionEnd', { reason: 'other' });
  await run(true, 5_000);
  expect(spans().filter(span => span.kind === 'turn')).toMatchObject([{ outcome: 'completed', usage: { calls: 1 } }]);
});

test('hooks resume a session without state: its ids stay, and its transcript is read further', async () => {
  const weekLater = 8 * 86_400;
  const at = (seconds: number) => (): number => START_MS + seconds * 1000;
  const whole = async (begin: number, prompt: string, message: string, source: string): Promise<void> => {
    hook(begin, 'SessionStart', { source });
    write(rows.prompt(begin + 1, prompt), rows.assistant(begin + 4, message, rows.text('done'), 7, 'end_turn'));
    hook(begin + 1, 'UserPromptSubmit', { prompt_id: prompt, prompt: 'please' });
    hook(begin + 5, 'Stop', { prompt_id: prompt });
    hook(begin + 9, 'SessionEnd', { reason: 'other' });
    await run(true, 5_000, at(begin + 10));
  };
  await whole(0, 'p1', 'm1', 'startup');
  const kept = (): unknown[] => {
    const store = openStore({ folder: state, access: 'read' });
    try {
      return store.sessions();
    } finally {
      store.close();
    }
  };
  expect(kept()).toHaveLength(1);
  await run(true, 5_000, at(weekLater));
  expect(kept()).toEqual([]);
  await whole(weekLater, 'p2', 'm2', 'resume');
  expect(tokensOf(spans())).toEqual({ calls: 2, input: 6_420, output: 14 });
  const names = spans().map(span => JSON.stringify([span.trace, span.key]));
  expect(new Set(names).size).toBe(names.length);
});

/** A person whose output is not a terminal, unless `look` reads the screen. */
function person(env: Io['env'] = {}, look?: (text: string) => void) {
  const output = { out: '', err: '' };
  const io: Io = {
    out: text => {
      output.out += text;
    },
    err: text => {
      output.err += text;
      look?.(text);
    },
    env,
    cwd: home,
    home,
    platform: 'linux',
    color: false,
    columns: 100,
    unicode: false,
    isTerminal: look !== undefined,
    ask: async () => '',
    now: Date.now,
  };
  const otel = async (...words: string[]) => {
    output.out = '';
    output.err = '';
    const code = await main([...words, '--state-dir', state], io);
    return { code, ...output };
  };
  return otel;
}

const manyTurns = (): void => {
  for (let turn = 0; turn < 5; turn += 1)
    write(
      rows.prompt(turn * 10, `p${turn}`),
      rows.assistant(turn * 10 + 3, `m${turn}`, rows.text('done'), 7, 'end_turn'),
    );
};

test('import lists the events with --dry-run, imports them, and adds none the second time', async () => {
  manyTurns();
  const otel = person();
  const dry = await otel('import', transcript, '--dry-run', '--json');
  expect(dry.code).toBe(0);
  expect(JSON.parse(dry.out)).toMatchObject({
    dry_run: true,
    sessions: [{ agent: 'claude-code', session, responses: 5, input_tokens: 16_050, output_tokens: 35 }],
  });
  expect(spans()).toEqual([]);
  const first = await otel('import', '--all');
  expect(first.code).toBe(0);
  expect(first.out).toContain('--metrics');
  expect(first.out).toContain('5 responses');
  const again = await otel('import', transcript, '--json');
  expect(JSON.parse(again.out)).toMatchObject({ sessions: [{ events: 0, spans: 0 }], read: 0 });
  expect(tokensOf(spans())).toEqual({ calls: 5, input: 16_050, output: 35 });
  const status = await otel('status');
  expect(status.out).toMatch(/^transcripts +\d+ +\d+ +0$/m);
});

test('Ctrl-C keeps the sessions read so far, and the same command continues', async () => {
  const turns = 10;
  for (let turn = 0; turn < turns; turn += 1) {
    write(
      rows.prompt(turn * 10, `p${turn}`),
      rows.assistant(turn * 10 + 3, `m${turn}`, rows.text('word '.repeat(200_000)), 7, 'end_turn'),
    );
  }
  const before = process.listenerCount('SIGINT');
  let asked = 0;
  const atWork = person({}, text => {
    if (!text.startsWith('\r') || asked++ > 0) return;
    expect(process.listenerCount('SIGINT')).toBe(before + 1);
    process.listeners('SIGINT').at(-1)?.('SIGINT');
  });
  const stopped = await atWork('import', transcript);
  expect(stopped.code).toBe(1);
  expect(stopped.err).toContain('the sessions read so far are kept');
  expect(process.listenerCount('SIGINT')).toBe(before);
  const { calls } = tokensOf(spans());
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(turns);
  const otel = person();
  expect(await otel('import', transcript)).toMatchObject({ code: 0 });
  expect(tokensOf(spans())).toEqual({ calls: turns, input: turns * 3_210, output: turns * 7 });
  expect(JSON.parse((await otel('import', transcript, '--json')).out)).toMatchObject({ read: 0, interrupted: false });
});

test('import refuses wrong arguments', async () => {
  const otel = person();
  expect(await otel('import')).toMatchObject({ code: 2 });
  expect(await otel('import', '--all', 'x')).toMatchObject({ code: 2 });
  expect(await otel('import', '--all', '--since', 'yesterday')).toMatchObject({ code: 2 });
  expect(await otel('import', '--all', '--tool', 'nobody')).toMatchObject({ code: 2 });
  const { code, err } = await otel('import', 'missing.jsonl');
  expect(code).toBe(1);
  expect(err).toContain('missing.jsonl');
});

test('nothing is imported while a mistake in the configuration prevents delivery', async () => {
  manyTurns();
  const collector: Collector = await startCollector();
  try {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const refused = await person({ ...endpoint, OTEL_HOOKS_PROVIDER: 'otpl' })('import', transcript);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('nothing was imported');
    expect(await person(endpoint)('import', transcript)).toMatchObject({ code: 0 });
    expect(collector.spans().filter(span => String(span.name).startsWith('chat '))).toHaveLength(5);
  } finally {
    await collector.close();
  }
});

test('imported spans are sent with their own times; old logs are not, counters only with --metrics', async () => {
  manyTurns();
  const collector: Collector = await startCollector();
  try {
    const otel = person({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect(await otel('import', transcript)).toMatchObject({ code: 0 });
    const chats = collector.spans().filter(span => String(span.name).startsWith('chat '));
    expect(chats).toHaveLength(5);
    expect(chats[0]?.plain).toMatchObject({
      'gen_ai.usage.input_tokens': 3_210,
      'gen_ai.usage.cache_read.input_tokens': 3_000,
      'gen_ai.usage.output_tokens': 7,
      'session.id': session,
    });
    expect(BigInt(String(chats[0]?.startTimeUnixNano)) / 1_000_000n).toBe(BigInt(START_MS));
    expect(collector.records()).toEqual([]);
    expect(collector.metrics()).toEqual([]);
    write(rows.prompt(100, 'p9'), rows.assistant(103, 'm9', rows.text('done'), 9, 'end_turn'));
    expect(await otel('import', transcript, '--metrics')).toMatchObject({ code: 0 });
    const names = collector.metrics().map(metric => metric.name);
    expect(names).toContain('gen_ai.client.inference.usage.output_tokens');
    expect(collector.spans().filter(span => String(span.name).startsWith('chat '))).toHaveLength(6);
  } finally {
    await collector.close();
  }
});

test.each([
  ['whole rows', ''],
  ['a row that was not whole', '{"type":"assi'],
])('sessions that the Python package sent are not sent again: %s', async (_, buffer) => {
  write(rows.prompt(1, 'p0'), rows.assistant(3, 'm0', rows.text('done'), 5, 'end_turn'));
  const offset = statSync(transcript).size + buffer.length;
  write(rows.prompt(11, 'p1'), rows.assistant(14, 'm1', rows.text('done'), 7, 'end_turn'));
  const former = join(home, '.config/otel-hooks/state');
  mkdirSync(former, { recursive: true });
  const key = createHash('sha256').update(`${session}::${transcript}`).digest('hex');
  const known = { offset, buffer, turn_count: 1, updated: '2026-03-01T09:00:00+00:00' };
  writeFileSync(join(former, 'otel_hook_state.json'), JSON.stringify({ [key]: known }));
  hook(11, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
  hook(15, 'Stop', { prompt_id: 'p1' });
  hook(19, 'SessionEnd', { reason: 'other' });
  const { books } = await run(true, 5_000);
  expect(tokensOf(spans())).toEqual({ calls: 1, input: 3_210, output: 7 });
  expect(spans().filter(span => span.kind === 'turn')).toHaveLength(1);
  expect(books && imbalances(books)).toEqual([]);
});

test.each(['{', '[]', '{"x":1}'])('a damaged state of the Python package is ignored: %s', async text => {
  mkdirSync(join(home, '.config/otel-hooks/state'), { recursive: true });
  writeFileSync(join(home, '.config/otel-hooks/state/otel_hook_state.json'), text);
  write(rows.prompt(1, 'p1'), rows.assistant(4, 'm1', rows.text('done'), 7, 'end_turn'));
  turn();
  await run(true, 5_000);
  expect(tokensOf(spans())).toEqual({ calls: 1, input: 3_210, output: 7 });
});
