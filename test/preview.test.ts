/** `preview` shows the requests that are sent afterwards: byte for byte, to a real receiver. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../src/commands/preview.ts';
import { type DestinationPreview, previewOf, previewOfAll } from '../src/deliver/preview-round.ts';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { fieldsOf } from '../src/lib/read.ts';
import { otlpOf } from '../src/pipeline/otlp-json.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { decodeRequest } from '../src/telemetry/otlp-decode.ts';
import { diskEyes } from '../src/transcripts/eyes.ts';
import { impatient } from '../src/transcripts/settlement.ts';
import { type Collector, startCollector } from './collector.ts';
import { deliverHere, exporting, founded, room } from './obligations/stage.ts';

const NOW = Date.parse('2026-03-02T10:00:00.000Z');
const MESSAGES = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';

let collector: Collector;
const leaves: (() => void)[] = [];
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(async () => {
  for (const leave of leaves) leave();
  await collector.close();
});

const session = (id: string): object[] =>
  [
    { hook_event_name: 'SessionStart', source: 'startup' },
    { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: `Deploy with ghp_${'a1B2'.repeat(9)}` },
    {
      hook_event_name: 'PreToolUse',
      prompt_id: 'p1',
      tool_name: 'Bash',
      tool_use_id: 'c1',
      tool_input: { command: 'ls' },
    },
    {
      hook_event_name: 'PostToolUse',
      prompt_id: 'p1',
      tool_name: 'Bash',
      tool_use_id: 'c1',
      tool_input: { command: 'ls' },
    },
    { hook_event_name: 'Stop', prompt_id: 'p1', last_assistant_message: 'Done\u001b[31m.' },
    { hook_event_name: 'SessionEnd', reason: 'logout' },
  ].map(fields => ({ session_id: id, transcript_path: '/nowhere/t.jsonl', cwd: '/nowhere', ...fields }));

/** Hooks that wait in an inbox. */
function waiting(events: readonly object[], env: Record<string, string>): string {
  const { folder, leave } = room();
  leaves.push(leave);
  const state = founded(join(folder, 'state'));
  arrive(state, events, env);
  return state;
}

function arrive(state: string, events: readonly object[], env: Record<string, string>, after = 0): void {
  for (const [i, event] of events.entries()) {
    const at = after + i;
    const unique = String(at).padStart(12, '0');
    const header = { tool: 'claude-code', at: String(NOW - 60_000 + at * 100), ppid: '1', ...env };
    const path = join(state, 'inbox', fragmentName('abcdef01', `${1_000 + at}.00`, 100 + at, unique));
    writeFileSync(path, encodeFragment(unique, header, Buffer.from(JSON.stringify(event))), { mode: 0o600 });
  }
}

function looked<T>(state: string, look: (store: Store, world: Parameters<typeof previewOf>[2]) => T): T {
  const store = openStore({ folder: state, access: 'read' });
  const world = {
    ...{ env: {}, home: state, platform: process.platform, ownVariables: false, configFile: undefined },
    ...{ nowMs: NOW, eyes: diskEyes(), waits: impatient },
  };
  try {
    return look(store, world);
  } finally {
    store.close();
  }
}

async function sent(state: string): Promise<{ signal: string | undefined; body: Buffer }[]> {
  const first = collector.requests.length;
  await deliverHere(state, { now: () => NOW });
  return collector.requests.slice(first).map(({ signal, body }) => ({ signal, body }));
}

const decodedBy = (signal: string | undefined, body: Buffer): unknown =>
  body[0] === 0x7b ? JSON.parse(body.toString()) : decodeRequest(signal as 'traces', body);
/** Spans, records and metrics, in any combination of requests. */
const itemsIn = (request: unknown): string[] =>
  Object.values(fieldsOf(request)).flatMap(resources =>
    (resources as object[]).flatMap(resource =>
      Object.entries(resource).flatMap(([name, scopes]) =>
        name.startsWith('scope')
          ? scopes.flatMap(({ spans, logRecords, metrics }: { [name: string]: unknown[] }) =>
              (spans ?? logRecords ?? metrics ?? []).map(item => JSON.stringify(item)),
            )
          : [],
      ),
    ),
  );

const bySignal = (each: readonly { signal: string | undefined; body: Uint8Array }[]): string[] =>
  each.map(({ signal, body }) => `${signal} ${Buffer.from(body).toString('base64')}`).sort();
const previewed = (destinations: readonly DestinationPreview[] | undefined): string[] =>
  bySignal((destinations ?? []).flatMap(each => each.requests.map(({ signal, bytes }) => ({ signal, body: bytes }))));

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => `${path} ${readFileSync(path).toString('base64')}`)
    .sort();
}

describe.each([
  ['as it comes', {}],
  ['with content', { [MESSAGES]: 'true' }],
  ['as JSON', { [MESSAGES]: 'true', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }],
])('a session %s', (_, more) => {
  it('has a preview while it waits, the same requests when it is sent, and the same preview afterwards', async () => {
    const state = waiting(session('s-1'), exporting(collector.url, more));
    const before = filesIn(state);
    const [one] = looked(state, (store, world) => previewOf(store, 's-', world));
    const all = looked(state, previewOfAll);
    expect(filesIn(state)).toEqual(before);
    expect(one).toMatchObject({ session: 's-1', isOpen: false, destinations: [{ isAssumed: false }] });
    expect(one?.waiting).toBe(one?.events);
    const requests = await sent(state);
    expect(new Set(requests.map(each => each.signal))).toEqual(new Set(['traces', 'logs', 'metrics']));
    expect(previewed(all)).toEqual(bySignal(requests));
    expect(previewed(one?.destinations)).toEqual(bySignal(requests));
    const [after] = looked(state, (store, world) => previewOf(store, 's-1', world));
    expect(after).toMatchObject({ waiting: 0 });
    expect(previewed(after?.destinations)).toEqual(bySignal(requests));
    expect(looked(state, previewOfAll)).toEqual([]);
    const exported = looked(state, (store, world) => [...otlpOf(store, store.journals(), world)]);
    expect(exported.flatMap(part => part.requests.flatMap(itemsIn)).sort()).toEqual(
      requests.flatMap(({ signal, body }) => itemsIn(decodedBy(signal, body))).sort(),
    );
    expect(Buffer.concat(requests.map(each => each.body)).includes('redacted:github')).toBe(MESSAGES in more);
  });
});

it('the preview shows data that waits for an unreachable collector together with newer data', async () => {
  const away = await startCollector({ answer: () => ({ status: 503 }) });
  const state = waiting(session('s-1'), exporting(away.url));
  await deliverHere(state, { now: () => NOW, waitMs: 0 });
  await away.close();
  arrive(state, session('s-2'), exporting(away.url), 10);
  const [first] = looked(state, previewOfAll);
  const signals = first?.requests.map(each => each.signal);
  expect(signals).toEqual(expect.arrayContaining(['traces', 'logs']));
  const text = Buffer.concat(first?.requests.map(each => each.bytes) ?? []).toString('latin1');
  expect(text).toContain('s-1');
  expect(text).toContain('s-2');
});

it('a session of many rounds is sent as previewed, all at once', async () => {
  const away = await startCollector({ answer: () => ({ status: 503 }) });
  const state = waiting([], {});
  for (const [i, event] of session('s-1').entries()) {
    arrive(state, [event], exporting(away.url), i);
    await deliverHere(state, { now: () => NOW, waitMs: 0 });
  }
  const [one] = looked(state, (store, world) => previewOf(store, 's-1', world));
  const all = looked(state, previewOfAll);
  expect(previewed(one?.destinations).filter(body => !body.startsWith('metrics'))).toHaveLength(2);
  expect(previewed(one?.destinations)).toEqual(previewed(all));
  await away.close();
});

it('a session without a destination is shown as it would be sent, without control characters', async () => {
  const state = waiting(session('s-1'), { [MESSAGES]: 'true' });
  await deliverHere(state, { now: () => NOW });
  let out = '';
  const io = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      out += text;
    },
    ...{ env: {}, cwd: state, home: state, platform: process.platform, now: () => NOW },
    ...{ color: false, columns: 100, unicode: false, isTerminal: false, ask: async () => '' },
  };
  expect(run({ flags: { '--state-dir': state }, rest: ['s-1'] }, io)).toBe(0);
  expect(out).toContain('This session has no destination and none of this leaves.');
  expect(out).toContain('otlp http://localhost:4318/v1/traces');
  expect(out).toContain('gen_ai.output.messages = [{"role":"assistant","parts":[{"type":"text","content":"Done');
  expect(out).not.toContain('\u001b');
  out = '';
  expect(run({ flags: { '--state-dir': state, '--json': true }, rest: ['s-1'] }, io)).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ v: 1, session: 's-1', destinations: [{ supposed: true, provider: 'otlp' }] });
  out = '';
  expect(run({ flags: { '--state-dir': state, '--raw': join(state, '..', 'raw') }, rest: ['s-1'] }, io)).toBe(0);
  const [preview] = looked(state, (store, world) => previewOf(store, 's-1', world));
  expect(filesIn(join(state, '..', 'raw')).map(line => line.split(' ')[1])).toEqual(
    preview?.destinations.flatMap(each => each.requests.map(({ bytes }) => Buffer.from(bytes).toString('base64'))),
  );
  out = '';
  expect(run({ flags: { '--state-dir': state }, rest: ['x'] }, io)).toBe(1);
  expect(out).toContain('no session begins with x');
});

describe('only its user can read the files of preview', () => {
  const key = 'api_key=sk-0123456789';
  const session1 = (): string =>
    waiting(session('s-1'), {
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `https://me:secret@collector.example/v1/traces?${key}`,
    });
  const world = (state: string, out: (text: string) => void) => ({
    ...{ out, err: out, env: {}, cwd: state, home: state, platform: process.platform, now: () => NOW },
    ...{ color: false, columns: 100, unicode: false, isTerminal: false, ask: async () => '' },
  });

  it.each<Record<string, true>>([{}, { '--json': true }])(
    'addresses are shown without user, password and query %j',
    flags => {
      const state = session1();
      let out = '';
      const io = world(state, text => {
        out += text;
      });
      expect(run({ flags: { '--state-dir': state, ...flags }, rest: [] }, io)).toBe(0);
      expect(out).toContain('https://collector.example/v1/traces');
      expect(out).not.toMatch(/api_key|sk-0123|secret/);
    },
  );

  it.skipIf(process.platform === 'win32')('bodies replace a link and a file that others can read', () => {
    const state = session1();
    const raw = join(state, '..', 'raw-bodies');
    const io = world(state, () => undefined);
    const write = () => run({ flags: { '--state-dir': state, '--raw': raw }, rest: ['s-1'] }, io);
    expect(write()).toBe(0);
    const names = readdirSync(raw);
    const [first = ''] = names;
    const victim = join(state, '..', 'victim');
    writeFileSync(victim, 'mine');
    rmSync(join(raw, first));
    symlinkSync(victim, join(raw, first));
    expect(write()).toBe(0);
    expect(lstatSync(join(raw, first)).isFile()).toBe(true);
    chmodSync(join(raw, first), 0o644);
    expect(write()).toBe(0);
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    expect(readdirSync(raw)).toEqual(names);
    for (const name of names) {
      const facts = lstatSync(join(raw, name));
      expect([name, facts.isFile(), facts.mode & 0o777]).toEqual([name, true, 0o600]);
    }
    expect(lstatSync(raw).mode & 0o777).toBe(0o700);
  });

  it.skipIf(process.platform === 'win32')('a link in place of the folder is refused', () => {
    const state = session1();
    const elsewhere = join(state, '..', 'elsewhere');
    mkdirSync(elsewhere);
    const raw = join(state, '..', 'link');
    symlinkSync(elsewhere, raw);
    const io = world(state, () => undefined);
    expect(() => run({ flags: { '--state-dir': state, '--raw': raw }, rest: ['s-1'] }, io)).toThrow(/not a folder/);
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});
