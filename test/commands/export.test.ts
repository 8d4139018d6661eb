/** `export` writes the content of the journal in formats that other programs, and our own inputs, accept. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CloudEvent } from 'cloudevents';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Event } from '../../src/event/event.ts';
import { isFields } from '../../src/lib/read.ts';
import { intakeOf } from '../../src/serve/intake.ts';
import { validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import { standards } from '../../src/standards/standards.ts';
import { openStore } from '../../src/store/store.ts';
import { trialSession } from '../../src/view/trial-sessions.ts';
import { ranIn } from './ran.ts';

let home: string;
let state: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-export-'));
  state = join(home, '.local/state/otel-hooks');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const START = Date.parse('2026-09-20T10:00:00.000Z');

/** A session of one prompt and this number of actions. */
function session(id: string, tool: string, atMs: number, actions = 1): Event[] {
  const payloads: object[] = [
    { event_type: 'Session.Start', data: { start_reason: 'new' } },
    { event_type: 'Prompt.Submitted', data: { prompt_length: 20 } },
  ];
  for (let i = 0; i < actions; i += 1) {
    const metadata = { call: `c${i}`, tool: 'Bash' };
    payloads.push({ event_type: 'Action.Before', data: { action: { name: 'shell' } }, metadata });
    payloads.push({
      event_type: 'Action.After',
      data: { action: { name: 'shell', result: { success: true } } },
      metadata: { ...metadata, duration_ms: 7 },
    });
  }
  payloads.push({ event_type: 'Agent.Response', data: { response_length: 8, final: true } });
  payloads.push({ event_type: 'Session.End', data: { end_reason: 'exit' } });
  return payloads.map((each, i) => {
    const { metadata, ...rest } = each as { metadata?: object };
    return {
      spec_version: '0.1.0',
      event_id: `${id.padStart(8, '0')}-0000-8000-8000-${String(i).padStart(12, '0')}`,
      timestamp: new Date(atMs + i * 1_000).toISOString(),
      source: { tool },
      session_id: id,
      metadata: { 'dev.otel-hooks': { v: 1, seq: i + 1, time: 'native', ...metadata } },
      ...rest,
    } as unknown as Event;
  });
}

function record(sessions: { readonly [key: string]: readonly Event[] }): void {
  fs.mkdirSync(join(home, '.local/state'), { recursive: true });
  const store = openStore({ folder: state, access: 'own' });
  for (const [key, events] of Object.entries(sessions)) {
    const lines = events.map(event => `${JSON.stringify(event)}\n`).join('');
    store.commit({ journal: [{ key, lines }] });
  }
  store.close();
}

const late = session('a1', 'claude-code', START + 3_600_000);
const early = session('b2', 'codex', START);
const exported = (...words: string[]) => ranIn(home, ['export', ...words], { now: () => START + 7_200_000 });
const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line));
const refusals = (body: string, form: 'lines' | 'list'): unknown[] =>
  intakeOf(Buffer.from(body), { form, header: {} }).verdicts.filter(verdict => verdict !== undefined);

describe('export', () => {
  it('writes every event of every session in the form of the journal, the earliest session first', async () => {
    record({ 'key-1': late, 'key-2': early });
    const { code, out, err } = await exported();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(linesOf(out)).toEqual([...early, ...late]);
    expect(validateAgentHooks(out, 'out')).toMatchObject({ ok: true, events: 12, valid: 12, findings: [] });
    expect(refusals(out, 'lines')).toEqual([]);
  });

  it('exports the named sessions', async () => {
    record({ 'key-1': late, 'key-2': early });
    const sessionsOf = async (...words: string[]) =>
      new Set(linesOf((await exported(...words)).out).map(each => isFields(each) && each.session_id));
    expect(await sessionsOf('b')).toEqual(new Set(['b2']));
    expect(await sessionsOf('b2', 'a')).toEqual(new Set(['b2', 'a1']));
    expect(await sessionsOf('--tool', 'claude')).toEqual(new Set(['a1']));
    expect(await sessionsOf('--since', '70m')).toEqual(new Set(['a1']));
    expect(await sessionsOf('--since', '5m')).toEqual(new Set());
    const trial = trialSession(START, 'abcdef');
    record({ 'key-3': session(trial, 'codex', START) });
    expect(await sessionsOf()).toEqual(new Set(['a1', 'b2']));
    expect(await sessionsOf('--all')).toEqual(new Set(['a1', 'b2', trial]));
    expect(await sessionsOf(trial.slice(0, 9))).toEqual(new Set([trial]));
  });

  it('writes CloudEvents that the SDK of CloudEvents and our own bridge accept', async () => {
    record({ 'key-1': late });
    const { out } = await exported('--format', 'cloudevents');
    const events = linesOf(out);
    expect(events.map(each => new CloudEvent(each as object).data)).toEqual(late);
    expect(new Set(events.map(each => isFields(each) && `${each.source} ${each.id}`)).size).toBe(late.length);
    expect(refusals(JSON.stringify(events), 'list')).toEqual([]);
  });

  it('writes OpenHook without findings, and Base Coat, which our own inputs accept', async () => {
    record({ 'key-1': late, 'key-2': early.slice(0, -1) });
    const { out } = await exported('--format', 'openhook', 'a1');
    expect(linesOf(out).map(each => isFields(each) && each.type)).toEqual([
      ...['session.start', 'prompt.submit', 'tool.start', 'tool.end', 'session.end'],
    ]);
    const validation = standards.openhook?.validation('out', {});
    validation?.write(out);
    expect(validation?.end()).toMatchObject({ ok: true, errors: 0, events: 5 });
    expect(refusals(out, 'lines')).toEqual([]);
    const coat = await exported('--format', 'base-coat');
    expect(linesOf(coat.out).map(each => isFields(each) && each.hook)).toContain('PreToolUse');
    expect(refusals(coat.out, 'lines')).toEqual([]);
  });

  it('writes the data that is sent as OTLP, one request per line', async () => {
    record({ 'key-1': late, 'key-2': early });
    const requests = linesOf((await exported('--format', 'otlp-json')).out).filter(isFields);
    expect(new Set(requests.flatMap(Object.keys))).toEqual(
      new Set(['resourceSpans', 'resourceLogs', 'resourceMetrics']),
    );
    const text = JSON.stringify(requests);
    expect([...text.matchAll(/"spanId":"([^"]*)"/g)].every(([, id]) => /^[0-9a-f]{16}$/.test(id ?? ''))).toBe(true);
    expect(text).toMatch(/"startTimeUnixNano":"\d{19}"/);
    // The counters of both sessions are in one state, so they need as many requests as one session.
    const alone = linesOf((await exported('a1', '--format', 'otlp-json')).out).filter(isFields);
    const counted = (all: typeof requests) => all.filter(each => each.resourceMetrics).length;
    expect(counted(requests)).toBe(counted(alone));
    expect(Object.keys(requests.at(-1) ?? {})).toEqual(['resourceMetrics']);
  });

  it('reads a journal in parts, also where a line is longer than a part', async () => {
    const long = session('c3', 'codex', START, 1_000);
    const [start, prompt, ...others] = long;
    const wide = { ...prompt, data: { prompt: 'x'.repeat(1024 * 1024) } } as unknown as Event;
    record({ 'key-1': [start as Event, wide, ...others] });
    let parts = 0;
    let untaken = 0;
    const { code } = await ranIn(home, ['export'], {
      out: text => {
        parts += 1;
        untaken += 1;
        expect([text.endsWith('\n'), untaken]).toEqual([true, 1]);
      },
      async drained() {
        untaken = 0;
      },
    });
    expect(code).toBe(0);
    expect(parts).toBe(2);
  });

  it('moves a file to its place when it is complete, readable by its owner only', async () => {
    record({ 'key-1': late });
    const file = join(home, 'events.jsonl');
    fs.writeFileSync(file, 'old');
    const { code, out } = await exported('--output', 'events.jsonl');
    expect({ code, out }).toEqual({ code: 0, out: 'events.jsonl: 6 events of 1 session\n' });
    expect(linesOf(fs.readFileSync(file, 'utf8'))).toEqual(late);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(home).sort()).toEqual(['.local', 'events.jsonl']);
    fs.symlinkSync(file, join(home, 'link'));
    expect(await exported('-o', 'link')).toMatchObject({ code: 2 });
    expect(fs.lstatSync(join(home, 'link')).isSymbolicLink()).toBe(true);
  });

  it('stops between two lines on request, and leaves no partial file', async () => {
    record({ 'key-1': late, 'key-2': early });
    let seen = '';
    const ended = await ranIn(home, ['export'], {
      out: text => {
        seen += text;
        process.emit('SIGINT');
      },
    });
    expect(ended).toMatchObject({ code: 1, err: 'otel-hooks: stopped before the end.\n' });
    expect(linesOf(seen)).toEqual(early);
    const progress = { isErrTerminal: true, err: () => void process.emit('SIGINT') };
    expect((await ranIn(home, ['export', '-o', 'half'], progress)).code).toBe(1);
    expect(fs.readdirSync(home)).toEqual(['.local']);
  });

  it('names a missing session and an unknown format', async () => {
    expect(await exported()).toMatchObject({ code: 0, out: '' });
    record({ 'key-1': late });
    expect(await exported('zz')).toMatchObject({ code: 1, out: '' });
    expect((await exported('zz')).err).toContain('no session begins with zz');
    expect(await exported('--format', 'xml')).toMatchObject({ code: 2 });
    expect(await exported('--tool', 'nobody')).toMatchObject({ code: 2 });
    expect(await exported('--since', 'yesterday')).toMatchObject({ code: 2 });
  });
});

it('into a missing folder names the folder, and writes nothing', async () => {
  record({ a: late });
  expect(await exported('--output', 'none/events.jsonl')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/none does not exist, so none\/events\.jsonl was not written; make the folder first/),
  });
  expect(fs.existsSync(join(home, 'none'))).toBe(false);
});

describe('tail', () => {
  const tailed = async (...words: string[]) => {
    let seen = '';
    const out = (text: string): void => {
      seen += text;
      process.emit('SIGINT');
    };
    const { code } = await ranIn(home, ['tail', ...words], { out });
    return { code, lines: linesOf(seen) };
  };

  it.each([
    ['before the first hook', [], /^otel-hooks: no hook has run yet; waiting for the first\. Ctrl-C ends\.\n$/],
    ['after the last events', late, /^otel-hooks: waiting for events\. Ctrl-C ends\.\n$/],
  ])('reports on standard error that it waits, %s', async (_when, events, says) => {
    if (events.length > 0) record({ 'key-1': events });
    const waits = setInterval(() => {
      if (message !== '') process.emit('SIGINT');
    }, 20);
    let message = '';
    const err = (text: string): void => {
      message += text;
    };
    try {
      expect((await ranIn(home, ['tail', '--lines', '0'], { err })).code).toBe(0);
    } finally {
      clearInterval(waits);
    }
    expect(message).toMatch(says);
  });

  it('prints the same lines when they arrive', async () => {
    record({ 'key-1': late, 'key-2': early });
    const format = ['--format', 'cloudevents'];
    const all = linesOf((await exported(...format)).out);
    expect(await tailed(...format, '--lines', '12')).toEqual({ code: 0, lines: all });
    expect((await tailed('--format', 'agent-hooks', '--session', 'a1')).lines).toEqual(late);
    expect((await tailed('--json', '--lines', '2')).lines).toEqual(late.slice(-2));
    expect(await ranIn(home, ['tail', '--format', 'otlp-json'])).toMatchObject({ code: 2, out: '' });
  });
});

describe('an export as OpenHook', () => {
  const id = '3f2a1c9e-6b0d-4a57-9c1e-8d2f4b6a7c10';
  const transcript = () => join(home, '.claude/projects/shop', `${id}.jsonl`);
  const levelOf = async (): Promise<string[]> => {
    await exported('--format', 'openhook', '--output', join(home, 'out.jsonl'));
    const ran = await ranIn(home, ['validate', '--standard', 'openhook', '--level', '2', join(home, 'out.jsonl')]);
    return [String(ran.code), ran.out];
  };

  it('prints the number of envelopes', async () => {
    record({ key: session(id, 'claude-code', START, 4) });
    const file = join(home, 'out.jsonl');
    const { out } = await exported('--format', 'openhook', '--output', file);
    const written = linesOf(fs.readFileSync(file, 'utf8')).length;
    // Fewer than the 12 events of the journal: OpenHook has no event for the agent's answer.
    expect(written).toBe(11);
    expect(out).toBe(`~/out.jsonl: ${written} events of 1 session\n`);
  });

  it("reaches the level of the agent, with the transcript in the agent's own folder", async () => {
    record({ key: session(id, 'claude-code', START) });
    fs.mkdirSync(join(home, '.claude/projects/shop'), { recursive: true });
    fs.writeFileSync(transcript(), '{}\n');
    const [code, out] = await levelOf();
    expect(out).toContain('claude-code reaches level 2');
    expect(code).toBe('0');
    expect(fs.readFileSync(join(home, 'out.jsonl'), 'utf8')).toContain(`"transcript_path":"${transcript()}"`);
  });

  it('states that there is no transcript if none is found, and reaches the level', async () => {
    record({ key: session(id, 'claude-code', START) });
    const [code, out] = await levelOf();
    expect(out).toContain('claude-code reaches level 2');
    expect(code).toBe('0');
    expect(fs.readFileSync(join(home, 'out.jsonl'), 'utf8')).toContain('"transcript":"none"');
  });

  it('counts requests if its output consists of requests', async () => {
    record({ key: session(id, 'claude-code', START) });
    const file = join(home, 'out.jsonl');
    const { out } = await exported('--format', 'otlp-json', '--output', file);
    expect(out).toBe(`~/out.jsonl: ${linesOf(fs.readFileSync(file, 'utf8')).length} requests of 1 session\n`);
  });
});
