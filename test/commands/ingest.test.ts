/** `ingest`: events from files, in every form, each of them accounted for. */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ranIn } from './ran.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'otel-hooks-ingest-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));

const state = (): string => join(home, '.local/state/otel-hooks');
const put = (name: string, content: string | Buffer): string => {
  writeFileSync(join(home, name), content);
  return name;
};

interface Result {
  read: number;
  recorded: number;
  duplicate: number;
  refused: Record<string, number>;
  faults: { file: string; line: number; column: number; rule: string; field?: string }[];
  files: { from_line: number }[];
  interrupted: boolean;
}

async function ingested(...words: string[]): Promise<Result & { code: number; err: string }> {
  const ran = await ranIn(home, ['ingest', ...words, '--json']);
  return { ...(JSON.parse(ran.out) as Result), code: ran.code, err: ran.err };
}

const journal = (): { event_type: string; session_id: string }[] =>
  readdirSync(join(state(), 'journal')).flatMap(name =>
    readFileSync(join(state(), 'journal', name), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
  );

const SESSION = '0198f0c2-1111-7000-8000-000000000001';

/** Events of one session: its start, prompts, and its end. */
const events = (count: number, session = SESSION): object[] =>
  Array.from({ length: count }, (_, i) => ({
    spec_version: '0.1.0',
    event_id: `0198f0c2-2222-7000-8000-${session.slice(-4)}${String(i).padStart(8, '0')}`,
    session_id: session,
    timestamp: new Date(Date.parse('2026-09-21T12:00:00.000Z') + i * 10).toISOString(),
    source: { tool: 'my-agent' },
    actor: { type: i === 0 || i === count - 1 ? 'system' : 'user' },
    event_type: i === 0 ? 'Session.Start' : i === count - 1 ? 'Session.End' : 'Prompt.Submitted',
    data: i === 0 ? {} : i === count - 1 ? { end_reason: 'completed' } : { prompt: { text: 'go on' } },
  }));

const lines = (all: readonly object[]): string => all.map(each => `${JSON.stringify(each)}\n`).join('');

describe('every form of input gives the same events', () => {
  const all = events(6);
  const enveloped = all.map((data, i) => ({
    ...{ specversion: '1.0', id: `e-${i}`, source: '/my-agent', type: 'dev.agent-hooks.event', data },
  }));
  it.each([
    ['lines', lines(all)],
    ['a list', JSON.stringify(all)],
    ['a list over several lines', JSON.stringify(all, null, 2)],
    ['values over several lines', all.map(each => `${JSON.stringify(each, null, 2)}\n`).join('')],
    ['CloudEvents', lines(enveloped)],
    ['a batch of CloudEvents', JSON.stringify(enveloped)],
    ['gzip', gzipSync(lines(all))],
  ])('%s', async (_name, content) => {
    const file = put('events', content);
    expect(await ingested(file)).toMatchObject({
      code: 0,
      read: 6,
      recorded: 6,
      duplicate: 0,
      refused: {},
      faults: [],
    });
    const types = journal().map(each => each.event_type);
    expect(types.filter(type => !type.startsWith('vendor.otel-hooks.'))).toEqual(
      all.map(each => (each as { event_type: string }).event_type),
    );
  });

  it('a hook of an agent, if --tool names the agent', async () => {
    const hook = { hook_event_name: 'SessionStart', session_id: 's1', source: 'startup', cwd: '/shop' };
    const file = put('hooks', lines([hook, { ...hook, hook_event_name: 'SessionEnd', reason: 'other' }]));
    expect(await ingested(file)).toMatchObject({ code: 1, refused: { 'event/unknown': 2 } });
    const again = put('hooks-2', readFileSync(join(home, file)));
    expect(await ingested(again, '--tool', 'claude-code')).toMatchObject({ code: 0, recorded: 2 });
  });
});

describe('our own output is valid input', () => {
  it.each(['agent-hooks', 'openhook'])('an export as %s, and no event of it is recorded twice', async format => {
    await ingested(put('events', lines(events(5))));
    const { out } = await ranIn(home, ['export', '--format', format]);
    const file = put('export', out);
    const count = out.trim().split('\n').length;
    rmSync(state(), { recursive: true });
    expect(await ingested(file)).toMatchObject({ code: 0, read: count, recorded: count });
    expect(await ingested(put('copy', out))).toMatchObject({ code: 0, read: count, duplicate: count });
  });

  it('a journal', async () => {
    await ingested(put('events', lines(events(5))));
    const [name = ''] = readdirSync(join(state(), 'journal'));
    const own = readFileSync(join(state(), 'journal', name));
    const before = journal();
    rmSync(state(), { recursive: true });
    expect(await ingested(put('journal', own))).toMatchObject({ code: 0, recorded: before.length, refused: {} });
    expect(journal()).toEqual(before);
  });
});

describe('bad input', () => {
  const [first, second, third] = events(3);

  it('affects only itself, and is shown with its place, its rule and the next step', async () => {
    const text = `${JSON.stringify(first)}\n{"spec_version":"0.1.0","event\n${JSON.stringify({ ...second, timestamp: 7 })}\n${JSON.stringify(third)}\n`;
    const file = put('events', text);
    const { code, err, out } = await ranIn(home, ['ingest', file]);
    expect(code).toBe(1);
    expect(out).toMatch(/events read +4\nrecorded +2\nknown already +0\nrefused +2\n/);
    expect(err).toContain('events:2:25: ');
    expect(err).toContain('[json/syntax]');
    expect(err).toMatch(/^events:3:\d+: .*\(\/timestamp\) \[envelope\//m);
    expect(err).toContain('next: correct these events');
    const bad = readdirSync(join(state(), 'quarantine')).map(name => name.split('.')[0]);
    expect(bad.toSorted()).toEqual(['envelope-type', 'json-syntax']);
  });

  it('in a list affects only its line', async () => {
    const file = put(
      'events',
      `[\n${JSON.stringify(first)},\n{"spec_version":"0.1.0", {,\n${JSON.stringify(third)}\n]\n`,
    );
    expect(await ingested(file)).toMatchObject({
      ...{ code: 1, read: 3, recorded: 2, refused: { 'json/syntax': 1 } },
      faults: [{ file: 'events', line: 3, rule: 'json/syntax' }],
    });
  });

  it('is one file of several', async () => {
    const ran = await ingested('gone', put('events', lines(events(3))));
    expect(ran).toMatchObject({ code: 1, recorded: 3, unread: [{ file: 'gone' }] });
    expect(ran.err).toContain('gone could not be read');
  });
});

describe('a second call', () => {
  it('continues after the last event, and records no event twice', async () => {
    const all = events(9);
    const file = put('events', lines(all.slice(0, 4)));
    expect(await ingested(file)).toMatchObject({ read: 4, recorded: 4 });
    expect(await ingested(file)).toMatchObject({ read: 0 });
    // The writer is in the middle of a line.
    const rest = lines(all.slice(4));
    appendFileSync(join(home, file), rest.slice(0, 20));
    expect(await ingested(file)).toMatchObject({ code: 1, refused: { 'json/syntax': 1 }, faults: [{ line: 5 }] });
    appendFileSync(join(home, file), rest.slice(20));
    expect(await ingested(file)).toMatchObject({ code: 0, read: 5, recorded: 5, files: [{ from_line: 4 }] });
  });

  it('reads another file of the same name from its beginning', async () => {
    const file = put('events', lines(events(3)));
    await ingested(file);
    put('events', lines(events(3, '0198f0c2-1111-7000-8000-000000000002')));
    expect(await ingested(file)).toMatchObject({ read: 3, recorded: 3 });
  });
});

it('the books balance, and count each event once', async () => {
  const text = `${lines(events(40))}broken\n`;
  await ingested(put('events', text), put('copy', text));
  const { out } = await ranIn(home, ['status', '--json']);
  expect(JSON.parse(out)).toMatchObject({
    ...{ balanced: true, transcripts: { read: 80, journaled: 40, duplicate: 40 } },
    counters: { 'bad-events.json-syntax': 2 },
  });
});

it('more events than one round takes are all recorded', async () => {
  const all = ['a', 'b', 'c'].flatMap((_, i) => events(800, `0198f0c2-1111-7000-8000-00000000001${i}`));
  expect(await ingested(put('events', lines(all)))).toMatchObject({ code: 0, read: 2_400, recorded: 2_400 });
});

describe('a stream', () => {
  const bin = fileURLToPath(new URL('../../dist/otel-hooks.cjs', import.meta.url));
  const started = (...words: string[]) => {
    const child = spawn(process.execPath, [bin, 'ingest', ...words, '--json'], { cwd: home, env: { HOME: home } });
    let out = '';
    child.stdout.on('data', chunk => {
      out += chunk;
    });
    const ended = new Promise<Result & { code: number | null }>(resolve =>
      child.on('close', code => resolve({ ...(JSON.parse(out) as Result), code })),
    );
    return { child, ended };
  };

  it('is read to its end, and its events are recorded while it is open', async () => {
    const all = events(6);
    const { child, ended } = started('-');
    child.stdin.write(lines(all.slice(0, 2)));
    await vi.waitFor(() => expect(journal()).toHaveLength(2), { timeout: 40_000, interval: 100 });
    child.stdin.end(lines(all.slice(2)));
    expect(await ended).toMatchObject({ code: 0, read: 6, recorded: 6 });
  }, 60_000);

  it('of a growing file is followed until Ctrl-C', async () => {
    const all = events(6);
    const file = put('events', lines(all.slice(0, 2)));
    const { child, ended } = started(file, '--follow');
    await vi.waitFor(() => expect(journal()).toHaveLength(2), { timeout: 40_000, interval: 100 });
    appendFileSync(join(home, file), lines(all.slice(2)));
    await vi.waitFor(() => expect(journal().length).toBeGreaterThanOrEqual(6), { timeout: 40_000, interval: 100 });
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0, read: 6, recorded: 6, interrupted: true });
  }, 90_000);

  it('that a kill ends in the middle is continued from there, and each event is recorded once', async () => {
    const all = events(20_000);
    const file = put('events', lines(all));
    const child = spawn(process.execPath, [bin, 'ingest', file], { cwd: home, env: { HOME: home }, stdio: 'ignore' });
    const ended = new Promise<NodeJS.Signals | null>(resolve => child.on('close', (_, signal) => resolve(signal)));
    // The first round is committed, and most of the file is not read yet.
    await vi.waitFor(() => expect(journal().length).toBeGreaterThan(0), { timeout: 40_000, interval: 5 });
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    const before = journal().length;
    expect(before).toBeLessThan(all.length);

    const rest = await ingested(file);
    expect(rest).toMatchObject({ code: 0, refused: {}, interrupted: false });
    expect(rest.files[0]?.from_line).toBeGreaterThan(1);
    expect(journal()).toHaveLength(all.length);
    const { transcripts, balanced } = JSON.parse((await ranIn(home, ['status', '--json'])).out) as {
      transcripts: { read: number; journaled: number; duplicate: number };
      balanced: boolean;
    };
    expect(balanced).toBe(true);
    expect(transcripts).toMatchObject({ journaled: all.length, read: all.length + transcripts.duplicate });
  }, 90_000);
});
