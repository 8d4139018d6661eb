/**
 * A profile of each stage behind the hook:
 *
 *     drain      fragments in the inbox become journal lines and states of sessions
 *     assemble   journal lines become spans and records
 *     encode     spans and records become OTLP bodies (protobuf)
 *     send       bodies go through the outbox and HTTP to a receiver that acknowledges them
 *     import     `otel-hooks import` of finished transcripts, the whole command
 *
 * A stage runs several times, each time as a process of its own: as it is (CPU time, median), with a profile
 * of its CPU, with a profile of its allocations, and with a list of its system calls, with and without the option
 * `fsync`. strace makes this list; without strace these columns are empty. All but `import` run once before the recorded
 * part, so that V8 has compiled their code.
 *
 *     npm run bench -- profile [STAGE...] [--events 10000] [--mb 32] [--repeats 3] [--out DIR] [--json]
 *
 *     --events N    fragments of drain, and hooks in the journals of the next stages
 *     --mb N        size of the transcripts of import
 *     --repeats N   runs without a profiler
 *     --out DIR     where STAGE.cpuprofile, STAGE.heapprofile and STAGE.calls go (default: otel-hooks-profile in the
 *                   folder for temporary files). Browsers and editors open profiles: in Chromium, DevTools, Performance
 *                   and Memory.
 *     --json        print JSON instead of tables
 *
 * Works on `dist` for import: build first.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { step } from '../src/assemble/assemble.ts';
import type { Destination } from '../src/config/destinations.ts';
import { ChangedDocuments } from '../src/documents/changed-documents.ts';
import { documents } from '../src/documents/documents.ts';
import { ROOM } from '../src/hook/kick.ts';
import { type Outgoing, outgoingOf } from '../src/pipeline/outgoing.ts';
import type { SessionOutput } from '../src/pipeline/session-in-round.ts';
import { changeOf } from '../src/store/document.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { SESSION_BYTES, writeSessions } from './parts/finished-sessions.ts';
import {
  bytesByFunction,
  callsByName,
  cpuByFunction,
  type Mode,
  PRELOAD,
  recorded,
  type Share,
} from './parts/recorder.ts';
import { destinationOf, pinned, ROUND, START_MS, writeFragments } from './parts/sessions.ts';
import { median, numberAfter, onStage, type Stage, setting } from './parts/sides.ts';
import { drainFragments, eventsOf, gainOf, journalsIn, prepareJournals, sessionOf } from './parts/stages.ts';

import { receive, shipping } from './parts/way.ts';

const FRAGMENT_BYTES = 3_400;
const HOOKS_PER_SESSION = 500;
/** With strace a process is many times slower. */
const TRACED_EVENTS = 2_000;
const TRACED_MB = 2;
const SYNCS = ['fsync', 'fdatasync', 'sync_file_range', 'syncfs', 'msync'];

const stageNames = ['drain', 'assemble', 'encode', 'send', 'import'] as const;
type StageName = (typeof stageNames)[number];

interface Job {
  stage: StageName;
  mode: Mode;
  /** Where the profile goes. */
  file: string;
  /** Empty or new. */
  folder: string;
  /** The journals of the stages behind drain. */
  source: string;
  events: number;
  mb: number;
  url: string;
  fsync: boolean;
}

interface Run {
  /** Events, or spans and records. */
  items: number;
  cpuMs: number;
}

// ---------------------------------------------------------------- the lead

interface Profiled extends Run {
  stage: StageName;
  cpu: Share[];
  allocations: Share[];
  /** Without strace undefined. */
  calls: { items: number; byName: Share[]; syncs: number; syncsWithFsync: number } | undefined;
  files: string[];
}

async function main(stage: Stage, words: readonly string[]): Promise<number> {
  const isJson = words.includes('--json');
  const flags = ['--events', '--mb', '--repeats', '--out'];
  const named = words.filter((word, i) => !word.startsWith('--') && !flags.includes(words[i - 1] ?? ''));
  const wrong = named.find(word => !stageNames.some(each => each === word));
  const unknown = words.find(word => word.startsWith('--') && !['--json', ...flags].includes(word));
  if (wrong !== undefined || unknown !== undefined) {
    console.error(`profile: ${wrong ?? unknown} is neither a stage (${stageNames.join(', ')}) nor an option`);
    return 2;
  }
  const out = resolve(words.includes('--out') ? (words[words.indexOf('--out') + 1] ?? '') : usualFolder());
  mkdirSync(out, { recursive: true });
  const hasStrace = spawnSync('strace', ['-V'], { stdio: 'ignore' }).error === undefined;
  const say = (line: string): void => (isJson ? console.error(line) : console.log(line));
  say(`${setting()}, profiles in ${out}${hasStrace ? '' : '; strace is not installed: no system calls'}`);
  const receiver = stage.start('receiver');
  const url = await new Promise<string>(heard => receiver.once('message', each => heard(String(each))));
  const lead = new Lead(stage.place, out, url, words, hasStrace);
  const profiled: Profiled[] = [];
  for (const name of stageNames) {
    if (named.length > 0 && !named.includes(name)) continue;
    say(`profiling ${name}`);
    profiled.push(await lead.profile(name));
  }
  if (isJson) console.log(JSON.stringify({ setting: setting(), out, stages: profiled.map(jsonOf) }, undefined, 2));
  else print(profiled);
  return 0;
}

/** `npm run bench` sets TMPDIR to a folder in memory; profiles should survive longer. */
const usualFolder = (): string => join(process.platform === 'win32' ? tmpdir() : '/tmp', 'otel-hooks-profile');

class Lead {
  readonly #place: string;
  readonly #out: string;
  readonly #hasStrace: boolean;
  readonly #usual: Pick<Job, 'source' | 'url' | 'events' | 'mb'>;
  readonly #repeats: number;
  #runs = 0;

  constructor(place: string, out: string, url: string, words: readonly string[], hasStrace: boolean) {
    this.#place = place;
    this.#out = out;
    this.#hasStrace = hasStrace;
    this.#repeats = numberAfter(words, '--repeats', 3);
    const events = numberAfter(words, '--events', 10_000);
    this.#usual = { url, events, mb: numberAfter(words, '--mb', 32), source: this.#prepare('source', events) };
  }

  #prepare(name: string, events: number): string {
    const source = join(this.#place, name);
    prepareJournals(source, Math.ceil(events / HOOKS_PER_SESSION), Math.min(events, HOOKS_PER_SESSION));
    return source;
  }

  async profile(stage: StageName): Promise<Profiled> {
    const plain: Run[] = [];
    for (let repeat = 0; repeat < this.#repeats; repeat += 1) plain.push(await this.#run(stage, 'plain'));
    const files: string[] = [];
    const filesOf = async (mode: 'cpu' | 'heap'): Promise<string[]> => {
      const ending = `.${mode}profile`;
      // Each process writes a file of its own; files of an earlier run must not count.
      const written = (): string[] =>
        readdirSync(this.#out)
          .filter(each => each.startsWith(`${stage}.`) && each.endsWith(ending))
          .map(each => join(this.#out, each));
      for (const old of written()) rmSync(old);
      await this.#run(stage, mode, join(this.#out, `${stage}${stage === 'import' ? '.%p' : ''}${ending}`));
      files.push(...written());
      return written();
    };
    return {
      stage,
      items: plain[0]?.items ?? 0,
      cpuMs: median(plain.map(each => each.cpuMs)),
      cpu: cpuByFunction(await filesOf('cpu')),
      allocations: bytesByFunction(await filesOf('heap')),
      calls: this.#hasStrace ? await this.#callsOf(stage, files) : undefined,
      files,
    };
  }

  async #callsOf(stage: StageName, files: string[]): Promise<Profiled['calls']> {
    const fewer = { events: Math.min(this.#usual.events, TRACED_EVENTS), mb: Math.min(this.#usual.mb, TRACED_MB) };
    const source = this.#prepare(`traced-${stage}`, fewer.events);
    const file = join(this.#out, `${stage}.calls`);
    const fsyncFile = join(this.#out, `${stage}.fsync.calls`);
    const { items } = await this.#run(stage, 'calls', file, { ...fewer, source });
    await this.#run(stage, 'calls', fsyncFile, { ...fewer, source, fsync: true });
    files.push(file, fsyncFile);
    const syncsIn = (path: string): number =>
      callsByName(path).reduce((sum, { name, amount }) => sum + (SYNCS.includes(name) ? amount : 0), 0);
    return { items, byName: callsByName(file), syncs: syncsIn(file), syncsWithFsync: syncsIn(fsyncFile) };
  }

  async #run(stage: StageName, mode: Mode, file = '', more: Partial<Job> = {}): Promise<Run> {
    this.#runs += 1;
    const folder = join(this.#place, `run-${this.#runs}`);
    mkdirSync(folder);
    const job: Job = { stage, mode, file, folder, fsync: false, ...this.#usual, ...more };
    try {
      return await (stage === 'import' ? importRun(job) : workerRun(job));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

async function workerRun(job: Job): Promise<Run> {
  const node = [process.execPath, ROOM, process.argv[1] ?? '', 'work', JSON.stringify(job)];
  return JSON.parse(await outputOf(traced(job, node), { PATH: process.env.PATH, HOME: job.folder }));
}

async function importRun(job: Job): Promise<Run> {
  const { folder, mode, file, mb, fsync } = job;
  const [preload, facts] = [join(folder, 'preload.cjs'), join(folder, 'facts')];
  writeSessions(folder, Math.ceil((mb * 1024 * 1024) / SESSION_BYTES));
  writeFileSync(preload, mode === 'plain' || mode === 'calls' ? FACTS : PRELOAD);
  const bin = fileURLToPath(new URL('../dist/otel-hooks.cjs', import.meta.url));
  const node = [process.execPath, bin, 'import', '--all', '--json', '--wait', '0s'];
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    NODE_OPTIONS: `--require ${preload}`,
    PROFILE_MODE: mode,
    PROFILE_FILE: mode === 'plain' ? facts : file,
  };
  const traceable = mode === 'calls' ? { ...env, PROFILE_FILE: facts } : env;
  const text = await outputOf(traced(job, node), { ...traceable, ...(fsync ? { OTEL_HOOKS_FSYNC: 'true' } : {}) });
  const { sessions } = JSON.parse(text) as { sessions: { events: number }[] };
  const items = sessions.reduce((sum, { events }) => sum + events, 0);
  if (items === 0) throw new Error('nothing was imported');
  if (mode !== 'plain') return { items, cpuMs: 0 };
  const lines = readFileSync(facts, 'utf8').trim().split('\n');
  return { items, cpuMs: lines.reduce((sum, line) => sum + Number(line), 0) };
}

/** Loaded before the command: each process adds its CPU time at its end. */
const FACTS = `'use strict';
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  require('node:fs').appendFileSync(process.env.PROFILE_FILE, (user + system) / 1000 + '\\n');
});
`;

const traced = ({ mode, file }: Job, command: string[]): string[] =>
  mode === 'calls' ? ['strace', '-f', '-qq', '-o', file, ...command] : command;

function outputOf([program = '', ...args]: string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', more => {
      text += more;
    });
    child.once('error', fail);
    child.once('close', code => (code === 0 ? done(text) : fail(new Error(`${basename(program)} ended with ${code}`))));
  });
}

// ---------------------------------------------------------------- the stages

async function work(job: Job): Promise<Run> {
  const prepared = await prepare(job);
  if (job.mode !== 'calls') await prepared();
  const before = process.cpuUsage();
  const items = await recorded(job.mode, job.file, prepared);
  const { user, system } = process.cpuUsage(before);
  return { items, cpuMs: (user + system) / 1000 };
}

/** Prepares two runs and returns the function for one. */
async function prepare(job: Job): Promise<() => number | Promise<number>> {
  const { stage, folder, source, events, fsync } = job;
  let run = 0;
  const next = (): string => {
    run += 1;
    return join(folder, `state-${run}`);
  };
  if (stage === 'drain') {
    for (const name of ['state-1', 'state-2']) writeFragments(join(folder, name), events, FRAGMENT_BYTES);
    return () => drainFragments(next(), folder, fsync);
  }
  const texts = journalsIn(source);
  if (stage === 'assemble') return () => countEvents(assembled(texts, ''));
  const destination = destinationOf({ url: job.url, gzip: false, metrics: stage === 'encode' });
  const stores = [next(), next()].map(state => {
    const store = openStore({ folder: state, access: 'own', fsync });
    store.commit({ documents: [changeOf(documents.destinations.of(destination.id), destination)] });
    return store;
  });
  const rounds = roundsOf(assembled(texts, destination.id));
  const encode = (store: Store): Outgoing[] =>
    rounds.map(outputs => outgoingOf(outputs, new ChangedDocuments(store), START_MS));
  const [first] = stores;
  if (stage === 'encode') {
    return () => {
      if (first !== undefined) encode(first);
      return countItems(rounds);
    };
  }
  const sending = stores.map(store => ({ store, outgoing: encode(store) }));
  return async () => {
    const next = sending.pop();
    if (next === undefined) throw new Error('a third run');
    const accepted = await send(next.store, next.outgoing, destination);
    if (accepted !== countItems(rounds)) throw new Error(`${accepted} items were accepted`);
    return accepted;
  };
}

function assembled(texts: readonly string[], destination: string): SessionOutput[] {
  return texts.flatMap(text => {
    const events = eventsOf(text);
    const session = sessionOf(events, pinned(destination));
    const outputs: SessionOutput[] = [];
    for (const [i, event] of events.entries()) {
      if (i % ROUND.fragments === 0) outputs.push(gainOf(session.state));
      const { spans, records } = step(session.state.fold, event);
      const output = outputs.at(-1);
      output?.events.push(event);
      output?.spans.push(...spans);
      output?.records.push(...records);
    }
    return outputs;
  });
}

/** As many sessions as a round takes. */
function roundsOf(outputs: readonly SessionOutput[]): SessionOutput[][] {
  const rounds: SessionOutput[][] = [];
  let room = 0;
  for (const output of outputs) {
    if (room < output.events.length) {
      rounds.push([]);
      room = ROUND.fragments;
    }
    rounds.at(-1)?.push(output);
    room -= output.events.length;
  }
  return rounds;
}

async function send(store: Store, rounds: readonly Outgoing[], destination: Destination): Promise<number> {
  const { ship, flush, close } = shipping(store, () => [destination]);
  for (const { bodies, tallies } of rounds) {
    store.commit({
      bodies,
      tally: ledger => {
        for (const tally of tallies) tally(ledger);
      },
    });
    ship();
    await new Promise(resolve => setImmediate(resolve));
  }
  await flush();
  close();
  const accounts = store.ledger().destinations[destination.id];
  store.close();
  return (accounts?.traces.accepted ?? 0) + (accounts?.logs.accepted ?? 0);
}

const countEvents = (outputs: readonly SessionOutput[]): number =>
  outputs.reduce((sum, { events }) => sum + events.length, 0);
const countItems = (rounds: readonly SessionOutput[][]): number =>
  rounds.flat().reduce((sum, { spans, records }) => sum + spans.length + records.length, 0);

// ---------------------------------------------------------------- the output

const total = (shares: readonly Share[]): number => shares.reduce((sum, { amount }) => sum + amount, 0);
const isGarbage = ({ name }: Share): boolean => name === '(garbage collector)';

function jsonOf({ stage, items, cpuMs, cpu, allocations, calls, files }: Profiled) {
  const shareOf = (shares: readonly Share[]) =>
    shares.slice(0, 20).map(({ name, amount }) => ({ name, share: amount / total(shares) }));
  return {
    stage,
    items,
    cpu_us: (cpuMs / items) * 1000,
    garbage_share: total(cpu.filter(isGarbage)) / total(cpu),
    allocated_bytes: total(allocations) / items,
    system_calls: calls && total(calls.byName) / calls.items,
    fsyncs: calls?.syncs,
    fsyncs_with_option: calls?.syncsWithFsync,
    traced_items: calls?.items,
    cpu_by_function: shareOf(cpu),
    allocations_by_function: shareOf(allocations),
    system_calls_by_name: calls && shareOf(calls.byName),
    files,
  };
}

function print(profiled: readonly Profiled[]): void {
  const rows = profiled.map(jsonOf);
  const heads = ['stage', 'items', 'CPU us', 'garbage', 'allocated KB', 'calls', 'fsyncs', 'with fsync'];
  const cells = rows.map(row => [
    row.stage,
    String(row.items),
    row.cpu_us.toFixed(1),
    percent(row.garbage_share),
    (row.allocated_bytes / 1024).toFixed(1),
    row.system_calls?.toFixed(2) ?? '-',
    String(row.fsyncs ?? '-'),
    String(row.fsyncs_with_option ?? '-'),
  ]);
  const widths = heads.map((head, i) => Math.max(head.length, ...cells.map(row => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ');
  console.log(`\n${line(heads)}`);
  for (const row of cells) console.log(line(row));
  console.log('CPU, allocations and calls are of one item; fsyncs are of the traced run');
  const traced = rows.map(({ stage, traced_items }) => `${stage} ${traced_items ?? '-'}`).join(', ');
  console.log(`items of the traced runs: ${traced}`);
  for (const row of rows) {
    console.log(`\n${row.stage}`);
    const list = (shares: { name: string; share: number }[] | undefined, count: number): string =>
      shares
        ?.slice(0, count)
        .map(({ name, share }) => `${name} ${percent(share)}`)
        .join(', ') ?? '-';
    console.log(`  CPU           ${list(row.cpu_by_function, 8)}`);
    console.log(`  allocations   ${list(row.allocations_by_function, 6)}`);
    console.log(`  system calls  ${list(row.system_calls_by_name, 8)}`);
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

// The classes and constants above exist when this runs.
const [role, jobText = ''] = process.argv.slice(2);
if (role === 'receiver') receive();
else if (role === 'work') console.log(JSON.stringify(await work(JSON.parse(jobText))));
else process.exitCode = await onStage(stage => main(stage, process.argv.slice(2)));
