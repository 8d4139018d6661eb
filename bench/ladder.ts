/**
 * Where the CPU time of an import goes: each step does the work of the step before it and one more. A step runs in a
 * process of its own, which reads some sessions first, so that V8 has compiled its code. The last step is the whole
 * command in one process, from its start.
 *
 *     npm run bench -- ladder [--sessions 1000] [--repeats 3]
 *
 * Prints the CPU time of an event, and the ratio to JSON.parse of the same lines. Works on `dist` for the last step:
 * build first.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claudeCode } from '../src/agents/claude-code/claude-code.ts';
import { isAbsent, readerFor, type TranscriptEntry, type TranscriptReading } from '../src/agents/contract/contract.ts';
import { step } from '../src/assemble/assemble.ts';
import type { Event } from '../src/event/event.ts';
import { judged } from '../src/identify/enrichers.ts';
import { eventId, seenBy } from '../src/identify/event-ids.ts';
import { identify } from '../src/identify/identify.ts';
import { watched } from '../src/identify/watch-notes.ts';
import type { FoundTranscript } from '../src/pipeline/find-transcripts.ts';
import { partReader } from '../src/pipeline/import-processes.ts';
import { importSessions } from '../src/pipeline/import-sessions.ts';
import { enrichersOf } from '../src/pipeline/sessions-of-round.ts';
import { pin } from '../src/session/pin.ts';
import { newSession, noTranscripts, sessionKey } from '../src/session/session-state.ts';
import { openStore } from '../src/store/store.ts';
import { diskEyes } from '../src/transcripts/eyes.ts';
import { rowsFrom } from '../src/transcripts/lines.ts';
import { type Origin, readOn, reportRest } from '../src/transcripts/read-on.ts';
import { writeSessions } from './parts/finished-sessions.ts';
import { median, numberAfter } from './parts/sides.ts';

const WARM_SESSIONS = 300;
const PART_BYTES = 4 * 1024 * 1024;
const NOW_MS = Date.UTC(2026, 10, 20);
const agent = claudeCode;
const transcript = isAbsent(agent.transcript) ? undefined : agent.transcript;
if (transcript === undefined) throw new Error('the agent has no transcripts');

/** What a step reads, and where it writes. */
interface Job {
  home: string;
  state: string;
  url: string;
}

/** Returns the number of events, if the step makes some. */
type Step = (found: readonly FoundTranscript[], job: Job, run: number) => number | Promise<number>;

const steps: readonly { name: string; text: string; run: Step }[] = [
  { name: 'parse', text: 'JSON.parse of each line', run: each(parseAll) },
  { name: 'rows', text: 'rows: long results cut and hashed, limits of values', run: each(rows) },
  { name: 'readings', text: 'readings: the agent, files and offsets', run: (found, job) => readings(found, job, 0) },
  { name: 'ids', text: 'ids, redaction, hashes of content', run: (found, job) => readings(found, job, 1) },
  { name: 'enriched', text: 'risk, price, loops and budgets', run: (found, job) => readings(found, job, 2) },
  { name: 'folded', text: 'spans (fold)', run: (found, job) => readings(found, job, 3) },
  { name: 'lines', text: 'lines as JSON', run: (found, job) => readings(found, job, 4) },
  { name: 'sessions', text: 'ends, settlement, states (gzip), index', run: (found, job) => parts(found, job, {}) },
  { name: 'encoded', text: 'OTLP bodies', run: (found, job) => parts(found, job, environment(job)) },
  { name: 'committed', text: 'rounds: journals, states and bodies on the disk', run: committed },
];

async function lead(): Promise<void> {
  const sessions = numberAfter(process.argv, '--sessions', 1_000);
  const repeats = numberAfter(process.argv, '--repeats', 3);
  const place = mkdtempSync(join(tmpdir(), 'bench-ladder-'));
  const receiver = fork(process.argv[1] ?? '', ['sink'], { execArgv: [] });
  try {
    const url = await new Promise<string>(heard => receiver.once('message', each => heard(String(each))));
    const home = join(place, 'home');
    writeSessions(home, sessions + WARM_SESSIONS);
    const times = new Map<string, number[]>();
    let events = 0;
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      for (const { name } of steps) {
        const state = join(place, `${name}-${repeat}`);
        const done = await inProcess(name, { home, state, url });
        events = Math.max(events, done.events);
        times.set(name, [...(times.get(name) ?? []), done.cpuMs]);
        rmSync(state, { recursive: true, force: true });
      }
      const share = sessions / (sessions + WARM_SESSIONS);
      times.set('command', [
        ...(times.get('command') ?? []),
        share * commandMs({ home, state: join(place, 'c'), url }),
      ]);
      rmSync(join(place, 'c'), { recursive: true, force: true });
    }
    print(times, events);
  } finally {
    receiver.kill();
    rmSync(place, { recursive: true, force: true });
  }
}

function print(times: ReadonlyMap<string, number[]>, events: number): void {
  const parseMs = median(times.get('parse') ?? []);
  let before = 0;
  const all = [...steps, { name: 'command', text: 'the whole command: find, compile, load prices, send' }];
  for (const { name, text } of all) {
    const us = (median(times.get(name) ?? []) / events) * 1_000;
    const ratio = ((parseMs / events) * 1_000) / us;
    console.log(
      `${us.toFixed(1).padStart(6)} us  +${(us - before).toFixed(1).padStart(5)}  ${ratio.toFixed(2)}x  ${text}`,
    );
    before = us;
  }
  console.log(`${events} events; a ratio by wall time on two cores is at most twice as large`);
}

function inProcess(name: string, job: Job): Promise<{ cpuMs: number; events: number }> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = fork(process.argv[1] ?? '', [name, JSON.stringify(job)], {
      execArgv: ['--single-threaded'],
    });
    child.once('message', message => resolve(message as { cpuMs: number; events: number }));
    child.once('exit', code => reject(new Error(`${name} ended with ${code}`)));
  });
}

async function measureStep(run: Step, job: Job): Promise<void> {
  mkdirSync(job.state, { recursive: true, mode: 0o700 });
  const found = foundIn(job.home);
  await run(found.slice(0, WARM_SESSIONS), job, 0);
  const before = process.cpuUsage();
  const events = await run(found.slice(WARM_SESSIONS), job, 1);
  const { user, system } = process.cpuUsage(before);
  process.send?.({ cpuMs: (user + system) / 1_000, events });
  process.disconnect();
}

/** The CPU time of the whole command with one process. */
function commandMs({ home, state, url }: Job): number {
  const [preload, facts] = [join(home, 'preload.cjs'), join(home, 'facts')];
  writeFileSync(
    preload,
    `require('node:os').availableParallelism = () => 1;
require('node:module').syncBuiltinESMExports();
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  require('node:fs').writeFileSync(${JSON.stringify(facts)}, String((user + system) / 1000));
});`,
  );
  const program = join(process.cwd(), 'dist', 'otel-hooks.cjs');
  const words = ['--require', preload, program, 'import', '--all', '--json', '--state-dir', state];
  const env = { HOME: home, PATH: process.env.PATH, OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const { status } = spawnSync(process.execPath, words, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`the import ended with ${status}`);
  return Number(readFileSync(facts, 'utf8'));
}

function sink(): void {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

function foundIn(home: string): FoundTranscript[] {
  const folder = join(home, '.claude', 'projects', '-w');
  const eyes = diskEyes();
  return readdirSync(folder).map(name => {
    const path = join(folder, name);
    const { sizeBytes = 0, writtenMs: atMs = 0 } = eyes.stat(path) ?? {};
    return { agent, session: name.slice(0, -'.jsonl'.length), file: { path }, cwd: '/home/dev/shop', atMs, sizeBytes };
  });
}

// ---------------------------------------------------------------- steps

function each(take: (path: string, size: number) => void): Step {
  return found => {
    for (const { file, sizeBytes } of found) take(file.path, sizeBytes);
    return 0;
  };
}

function parseAll(path: string): void {
  const bytes = readFileSync(path);
  let at = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, at)) {
    JSON.parse(bytes.toString('utf8', at, end));
    at = end + 1;
  }
}

function rows(path: string, size: number): void {
  const reader = transcript && readerFor(transcript, path);
  if (reader?.format !== 'lines') return;
  const { isBrief, skips } = reader;
  const read = rowsFrom(diskEyes(), path, 0, size, () => undefined, { isBrief, skips });
  while (read.peek() !== undefined) read.take();
}

const environment = ({ url }: Job) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url });

const worldOf = (home: string, env: Record<string, string>) => ({
  ...{ env, home, platform: process.platform, ownVariables: true, configFile: undefined },
  ...{ installation: 'i', hashKey: 'k' },
});

/** `depth`: 0 readings, 1 events, 2 with enrichments, 3 with the fold, 4 with journal lines. */
function readings(found: readonly FoundTranscript[], { home }: Job, depth: number): number {
  const world = worldOf(home, {});
  const { hash, risk, price, keep } = enrichersOf(world);
  const { pinned } = pin({ agent, cwd: '/home/dev/shop' }, { header: {} }, world);
  const eyes = diskEyes();
  let events = 0;
  for (const { session, file } of found) {
    const state = newSession({ agent, session, key: sessionKey(agent.id, session) }, structuredClone(pinned));
    state.transcripts = { ...noTranscripts(), main: file.path, cwd: '/home/dev/shop' };
    let lines = '';
    const add = (event: Event): void => {
      events += 1;
      if (depth >= 3) step(state.fold, event);
      if (depth >= 4) lines += `${JSON.stringify(event)}\n`;
    };
    const report = (entry: TranscriptEntry, from: Origin): void => {
      if ('over' in entry || depth === 0) return;
      const reading: TranscriptReading = { ...entry, atMs: entry.atMs ?? from.atMs };
      const id = eventId(state, session, reading.event_type, reading.key);
      const circumstances = { native: undefined, source: 'transcript', atMs: NOW_MS, traceparent: undefined } as const;
      const isRich = depth >= 2;
      const means = {
        ...{ seen: seenBy(state), hash },
        ...(isRich
          ? { risk: judged(state, reading, risk, undefined, undefined), price, keep: keep(state.pinned) }
          : {}),
      };
      const event = identify(state, reading, { ...circumstances, id, ours: true, version: from.version }, means);
      if (event === undefined) return;
      const notes = isRich ? watched(state, event, reading, hash, undefined) : [];
      add(event);
      for (const note of notes) add(note);
    };
    const readingOn = {
      ...{ transcript, state: state.transcripts, session, home, env: {}, eyes, hash, keepsResults: false },
      untilMs: Number.POSITIVE_INFINITY,
      budget: { bytes: Number.MAX_SAFE_INTEGER },
      listener: { report, origin: () => undefined, odd: () => undefined },
    } as Parameters<typeof readOn>[0];
    const { files } = readOn(readingOn);
    reportRest({ ...readingOn, files });
    if (lines.length > 1e9) throw new Error('too long');
  }
  return events;
}

const selection = { metrics: false, logsSinceMs: NOW_MS - 7 * 86_400_000 };

function parts(found: readonly FoundTranscript[], { home }: Job, env: Record<string, string>): number {
  const reader = partReader(worldOf(home, env), PART_BYTES, selection);
  let events = 0;
  for (let at = 0; at < found.length; at += 30)
    for (const part of reader.partsOf(found.slice(at, at + 30), NOW_MS))
      if (part !== undefined && 'summaries' in part)
        events += part.summaries.reduce((sum, summary) => sum + summary.events, 0);
  return events;
}

async function committed(found: readonly FoundTranscript[], job: Job, run: number): Promise<number> {
  const folder = join(job.state, String(run));
  mkdirSync(join(folder, 'inbox'), { recursive: true, mode: 0o700 });
  const store = openStore({ folder, access: 'own' });
  const world = { ...worldOf(job.home, environment(job)), eyes: diskEyes(), pins: new Map() };
  let events = 0;
  await importSessions({
    ...{ store, found, selection, documents: [], program: undefined, now: () => NOW_MS, isAsked: () => false },
    world: nowMs => ({ ...world, nowMs }),
    note({ summaries }) {
      events += summaries.reduce((sum, summary) => sum + summary.events, 0);
    },
  });
  store.close();
  return events;
}

// The constants above exist when this runs.
const [, , role = 'lead', jobText = '{}'] = process.argv;
const own = steps.find(({ name }) => name === role);
if (role === 'sink') sink();
else if (own !== undefined) await measureStep(own.run, JSON.parse(jobText));
else await lead();
