/** An import with further processes has the result of an import without them: the same lines, states, spans, counts. */
import { fork } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { documents } from '../../src/documents/documents.ts';
import { findSessions } from '../../src/pipeline/find-transcripts.ts';
import { type Imported, importSessions } from '../../src/pipeline/import-sessions.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { changeOf } from '../../src/store/document.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import { sessionText } from '../../src/store/state-files.ts';
import { openStore } from '../../src/store/store.ts';
import { decodeRequest } from '../../src/telemetry/otlp-decode.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { START_MS } from '../play.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'import-process.js');
const MB = 1024 * 1024;
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'otel-hooks-processes-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const fileOf = (session: string): string => join(home, '.claude', 'projects', '-w', `${session}.jsonl`);

/** Appends turns. `bytes`: the result of each call. `from`: the session whose rows it begins with. */
function write(order: number, session: string, turns: number, { bytes = 2_000, first = 0, from = session } = {}): void {
  const rows: object[] = [];
  const add = (turn: number, step: number, more: object): void => {
    const uuid = `${from}-${turn}-${step}`;
    const timestamp = new Date(START_MS + (order * 1_000 + turn * 10 + step) * 1_000).toISOString();
    rows.push({ uuid, parentUuid: null, sessionId: session, timestamp, cwd: home, version: '2.1.280', ...more });
  };
  for (let turn = first; turn < first + turns; turn += 1) {
    const use = `toolu_${from}_${turn}`;
    const usage = { input_tokens: 10, output_tokens: 20 };
    const answer = (step: number, block: object): void =>
      add(turn, step, {
        type: 'assistant',
        requestId: `req_${from}_${turn}_${step}`,
        message: {
          id: `msg_${from}_${turn}_${step}`,
          role: 'assistant',
          model: 'claude-sonnet-5',
          content: [block],
          usage,
        },
      });
    add(turn, 1, { type: 'user', promptId: `${from}-p${turn}`, message: { role: 'user', content: `prompt ${turn}` } });
    answer(2, { type: 'tool_use', id: use, name: 'Bash', input: { command: `ls ${turn}` } });
    const content = [{ type: 'tool_result', tool_use_id: use, content: `${turn} `.padEnd(bytes, 'x') }];
    add(turn, 3, { type: 'user', message: { role: 'user', content } });
    answer(4, { type: 'text', text: `done ${turn}` });
  }
  mkdirSync(join(home, '.claude', 'projects', '-w'), { recursive: true });
  appendFileSync(fileOf(session), rows.map(row => `${JSON.stringify(row)}\n`).join(''));
  utimesSync(fileOf(session), START_MS / 1000 + order, START_MS / 1000 + order);
}

/** Small sessions, large ones that take several parts, and forks of sessions in earlier parts and in the same one. */
function writeAll(): void {
  for (let order = 1; order <= 12; order += 1) write(order, `small-${order}`, 3);
  write(20, 'large-1', 24, { bytes: MB / 4 });
  for (let order = 21; order <= 28; order += 1) write(order, `after-${order}`, 2, { bytes: MB / 4 });
  // The first turns are those of another session; then its own ones follow.
  write(30, 'fork-of-small', 3, { from: 'small-3' });
  write(30, 'fork-of-small', 2, { first: 3 });
  write(31, 'fork-of-large', 24, { bytes: MB / 4, from: 'large-1' });
  write(31, 'fork-of-large', 3, { bytes: MB / 4, first: 24 });
  write(32, 'origin', 2);
  write(33, 'fork-beside', 2, { from: 'origin' });
  write(33, 'fork-beside', 1, { first: 2 });
  write(40, 'last', 2);
}

interface Result {
  isWhole: boolean;
  files: { [path: string]: string };
  spans: string[];
  ledger: Partial<Ledger>;
  noted: { done: number; read: number; erased: number; events: number };
}

interface How {
  processes?: number;
  program?: string;
  isAsked?: () => boolean;
  state?: string;
}

async function imported({
  processes = 0,
  program = PROGRAM,
  isAsked = () => false,
  state = 'state',
}: How): Promise<Result> {
  const folder = join(home, state);
  mkdirSync(join(folder, 'inbox'), { recursive: true, mode: 0o700 });
  const store = openStore({ folder, access: 'own' });
  const erased = { done: { [sessionKey('claude-code', 'after-22')]: 1 }, pending: {} };
  store.commit({ documents: [changeOf(documents.erased, erased)] });
  const eyes = diskEyes();
  const world = {
    ...{ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, home, platform: 'linux' as const },
    ...{ ownVariables: true, configFile: undefined, installation: 'i', hashKey: 'k', eyes, pins: new Map() },
  };
  const { found } = findSessions({ agents, paths: [], places: { home, project: home, env: {} }, eyes, sinceMs: 0 });
  const noted = { done: 0, read: 0, erased: 0, events: 0 };
  const now = (): number => START_MS + 10 * 86_400_000;
  const isWhole = await importSessions({
    ...{ store, found, now, isAsked, program, processes },
    world: nowMs => ({ ...world, nowMs }),
    selection: { metrics: false, logsSinceMs: 0 },
    documents: [changeOf(documents.installation, { id: 'i', key: 'k' })],
    note({ done, counts, erased, summaries }: Imported) {
      noted.done += done;
      noted.read += counts.read;
      noted.erased += erased;
      for (const { events } of summaries) noted.events += events;
    },
  });
  const { n, nonce, ...ledger } = store.ledger();
  const spans = store.destinations().flatMap(id => store.next(id).flatMap(({ name }) => spansIn(store.body(id, name))));
  const files = Object.fromEntries(
    ['journal', 'sessions', 'documents'].flatMap(kind =>
      readdirSync(join(folder, kind)).map(name => [`${kind}/${name}`, textOf(join(folder, kind, name))]),
    ),
  );
  store.close();
  return { isWhole, files, spans: spans.sort(), ledger, noted };
}

/** Without the number of the round that wrote the file. */
const textOf = (path: string): string => sessionText(readFileSync(path)).replace(/^(\{"v":\d+,"n":)\d+/, '$1');

function spansIn(body: Buffer | undefined): string[] {
  const request = decodeRequest('traces', body ?? Buffer.alloc(0));
  const resources = (request?.resourceSpans ?? []) as { scopeSpans: { spans: object[] }[] }[];
  return resources.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map(span => JSON.stringify(span))),
  );
}

test('further processes give the same lines, states, index, spans and counts, also for forks and for sessions of many parts', async () => {
  writeAll();
  const alone = await imported({ state: 'alone' });
  const shared = await imported({ processes: 2, state: 'shared' });
  expect(shared).toEqual(alone);
  expect(alone).toMatchObject({ isWhole: true, noted: { done: 26, erased: 1 } });
  expect(alone.noted.read).toBe(alone.noted.events + (alone.ledger.transcripts?.duplicate ?? 0) - derived(alone));
  expect(alone.spans.length).toBeGreaterThan(300);
  // A fork adds only its own turns.
  expect(alone.ledger.transcripts?.duplicate).toBeGreaterThan(90);
});

/** Events that no row reports. */
const derived = ({ files }: Result): number =>
  Object.entries(files)
    .filter(([path]) => path.startsWith('journal/'))
    .flatMap(([, text]) => text.split('\n'))
    .filter(line => /"event_type":"(vendor\.otel-hooks\.|Session\.End)/.test(line)).length;

test('sessions that grow after an import are continued, and a third import adds nothing', async () => {
  writeAll();
  for (const state of ['alone', 'shared']) await imported({ processes: state === 'shared' ? 2 : 0, state });
  for (const order of [2, 20]) write(order, order === 2 ? 'small-2' : 'large-1', 2, { first: 50 });
  write(50, 'new', 3);
  const alone = await imported({ state: 'alone' });
  expect(await imported({ processes: 2, state: 'shared' })).toEqual(alone);
  const again = await imported({ processes: 2, state: 'shared' });
  expect(again.noted.read).toBe(0);
  expect(again.ledger).toEqual(alone.ledger);
});

test('an import that is stopped again and again ends with the same result', async () => {
  writeAll();
  const alone = await imported({ state: 'alone' });
  let stops = 0;
  for (let isWhole = false; !isWhole; stops += 1) {
    let asked = 0;
    const isAsked = (): boolean => {
      asked += 1;
      return asked > 3 * (1 + stops);
    };
    const result = await imported({ processes: 2, state: 'shared', isAsked });
    isWhole = result.isWhole;
    if (!isWhole) continue;
    const journals = (of: Result): string[] => Object.keys(of.files).filter(path => path.startsWith('journal/'));
    for (const path of journals(alone)) expect(result.files[path]).toBe(alone.files[path]);
    expect(result.spans).toEqual(alone.spans);
    expect(result.ledger).toEqual(alone.ledger);
  }
  expect(stops).toBeGreaterThan(1);
});

test('without the program of the processes, the import reads all sessions itself', async () => {
  writeAll();
  const alone = await imported({ state: 'alone' });
  expect(await imported({ processes: 2, program: join(home, 'missing.js'), state: 'missing' })).toEqual(alone);
});

/** The program of the processes, with more lines. */
function programWith(...lines: string[]): string {
  const program = join(home, 'program.mjs');
  writeFileSync(program, [`import ${JSON.stringify(pathToFileURL(PROGRAM).href)};`, ...lines].join('\n'));
  return program;
}

test('each process gets tasks, and ends with the import', async () => {
  writeAll();
  const log = join(home, 'log');
  const program = programWith(
    "import { appendFileSync } from 'node:fs';",
    `const log = text => appendFileSync(${JSON.stringify(log)}, text + '\\n');`,
    "process.on('message', ({ task }) => task === undefined || log('order ' + process.pid));",
    "process.on('exit', () => log('end ' + process.pid));",
  );
  expect(await imported({ processes: 2, program })).toMatchObject({ isWhole: true });
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  expect(new Set(lines.filter(line => line.startsWith('order'))).size).toBe(2);
  expect(lines.filter(line => line.startsWith('end'))).toHaveLength(2);
});

test('processes that are killed again and again change nothing', async () => {
  writeAll();
  const alone = await imported({ state: 'alone' });
  const program = programWith(
    'let messages = 0;',
    "process.on('message', () => ++messages === 4 && process.kill(process.pid, 'SIGKILL'));",
  );
  expect(await imported({ processes: 2, program, state: 'killed' })).toEqual(alone);
});

test('a process ends when the import was killed', async () => {
  // Node exits when no timer and no connection is left, so the timer keeps the process alive.
  const program = programWith('setInterval(() => undefined, 1_000);');
  const child = fork(program, { serialization: 'advanced', execArgv: [] });
  const ended = new Promise(resolve => child.once('exit', resolve));
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  child.disconnect();
  expect(await ended).toBe(0);
  clearTimeout(late);
});
