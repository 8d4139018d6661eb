/**
 * An import of finished transcripts, from the files to acknowledged OTLP: the built program with its processes and a
 * local collector that discards, by wall time. It is compared with `JSON.parse` of the same lines. `floor` does only
 * unavoidable work with two threads of its own: it parses each line, computes one id and one hash of content, and
 * writes one line of a journal for each.
 *
 *     node scripts/bench.mjs import [--sessions 2000] [--repeats 3] [--gate]
 *
 * Each session has 130 KB. All sides are processes of their own and take turns; medians are compared. Further rows: the
 * maximum of memory of all processes together; four times the files; the share of the CPU time that the first process
 * needs if there are as many processes as on 8 cores, with an estimate for them by Amdahl's law; rows that are skipped
 * by their first bytes, beside reading the same file. `--gate`: 500 sessions.
 *
 * Memory and CPU time are read from /proc, so they need Linux. Pages of files, such as the code of Node, count once for
 * all processes.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { keyedHash, uuidOf } from '../src/lib/hash.ts';
import { diskEyes } from '../src/transcripts/eyes.ts';
import { rowsFrom } from '../src/transcripts/lines.ts';
import { noteFigure } from './parts/figures.ts';
import { writeSessions } from './parts/finished-sessions.ts';
import { childrenOf, median, memoryOf, numberAfter } from './parts/sides.ts';

const GOAL = { ratio: 0.15, memoryMb: 200, growth: 4.2, scan: 0.6 };
/**
 * With room for a busy machine, where wall time says little: so the gates are about CPU time. With the few files of a
 * gate, a third of it is the start of the processes.
 */
const GATE = { cpu: 0.012, memoryMb: 240, growth: 6, scan: 0.3 };
const CORES = 8;
/** The processes of an import on so many cores. */
const PROCESSES = 5;
/** Clock ticks are hundredths of a second on Linux. */
const TICK_MS = 10;
const STEP_BYTES = 1024 * 1024;
const SKIPPED = ['api-request'];

interface Done {
  wallMs: number;
  cpuMs: number;
  memoryMb: number;
  /** Memory with shared pages counted for each process. */
  residentMb: number;
  /** CPU time of the first process. */
  firstMs: number;
}

const roles: { [role: string]: (folder: string) => Promise<void> | void } = {
  sink,
  parse: home => each(home, line => JSON.parse(line)),
  floor,
  half: floorOfHalf,
  read: readFile,
  scan: scanFile,
};
const [, , role = 'lead', folder = ''] = process.argv;
const own = roles[role];
if (process.send !== undefined && own !== undefined) {
  const before = { cpu: process.cpuUsage(), atMs: performance.now() };
  await own(folder);
  const { user, system } = process.cpuUsage(before.cpu);
  process.send({ cpuMs: (user + system) / 1_000, wallMs: performance.now() - before.atMs });
  if (role !== 'sink') process.disconnect();
} else if (role === 'half') await own?.(folder);
else process.exitCode = await lead();

async function lead(): Promise<number> {
  const isGate = process.argv.includes('--gate');
  const sessions = numberAfter(process.argv, '--sessions', isGate ? 500 : 2_000);
  const repeats = numberAfter(process.argv, '--repeats', 3);
  const place = mkdtempSync(join(tmpdir(), 'bench-import-'));
  const server = await started('sink', place);
  try {
    const [small, large] = ['small', 'large'].map(name => join(place, name)) as [string, string];
    const bytes = writeSessions(small, sessions / 4);
    const all = writeSessions(large, sessions);
    writeRequests(join(place, 'requests.jsonl'), 200 * 1024 * 1024);
    console.log(`${sessions} sessions, ${mb(all)} MB; a quarter of them has ${mb(bytes)} MB; medians of ${repeats}\n`);
    for (let attempt = 1; ; attempt += 1) {
      const isMet = await measured({ place, small, large, repeats, url: server.url, all });
      if (isMet || !isGate) return 0;
      if (attempt === 3) return 1;
    }
  } finally {
    server.child.kill();
    rmSync(place, { recursive: true, force: true });
  }
}

interface Setting {
  place: string;
  small: string;
  large: string;
  repeats: number;
  url: string;
  all: number;
}

async function measured({ place, small, large, repeats, url, all }: Setting): Promise<boolean> {
  const done = { parse: [], floor: [], quarter: [], import: [], eight: [], read: [], scan: [] } as {
    [side: string]: Done[];
  };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    done.parse?.push(await inProcess('parse', large));
    done.import?.push(await imported(large, place, url));
    done.floor?.push(await inProcess('floor', large));
    done.quarter?.push(await imported(small, place, url));
    done.eight?.push(await imported(large, place, url, CORES));
    done.read?.push(await inProcess('read', place));
    done.scan?.push(await inProcess('scan', place));
  }
  const of = (side: string, what: keyof Done): number => median((done[side] ?? []).map(run => run[what]));
  const [parseMs, importMs] = [of('parse', 'wallMs'), of('import', 'wallMs')];
  const ratio = parseMs / importMs;
  const growth = importMs / of('quarter', 'wallMs');
  const cpuRatio = of('parse', 'cpuMs') / of('import', 'cpuMs');
  const cpuGrowth = of('import', 'cpuMs') / of('quarter', 'cpuMs');
  const most = (what: 'memoryMb' | 'residentMb'): number => Math.max(...(done.import ?? []).map(run => run[what]));
  const memoryMb = most('memoryMb');
  const share = of('eight', 'firstMs') / of('eight', 'cpuMs');
  const faster = 1 / (share + (1 - share) / PROCESSES);
  const scan = of('read', 'cpuMs') / of('scan', 'cpuMs');
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  console.log(`  JSON.parse        ${ms(parseMs)} wall, ${ms(of('parse', 'cpuMs'))} CPU
  floor, 2 threads  ${ms(of('floor', 'wallMs'))} wall, ${ms(of('floor', 'cpuMs'))} CPU, ${(parseMs / of('floor', 'wallMs')).toFixed(3)}x
  import            ${ms(importMs)} wall, ${ms(of('import', 'cpuMs'))} CPU, ${ratio.toFixed(3)}x by wall time, ${cpuRatio.toFixed(3)}x by CPU, ${(all / 1_048_576 / (importMs / 1_000)).toFixed(0)} MB/s
  memory            ${memoryMb.toFixed(0)} MB (all processes; the sum of their resident sets: ${most('residentMb').toFixed(0)} MB)
  4 times the files ${growth.toFixed(2)} times the time, ${cpuGrowth.toFixed(2)} times the CPU
  first process     ${ms(of('eight', 'firstMs'))} CPU, ${(share * 100).toFixed(0)} % of all: on ${CORES} cores ${faster.toFixed(1)} times as fast as one process (Amdahl, ${PROCESSES} processes)
  skipped rows      ${scan.toFixed(2)}x of reading the file (${ms(of('scan', 'cpuMs'))} and ${ms(of('read', 'cpuMs'))} CPU)
`);
  note('files to acknowledged, wall time', ratio, 'x', undefined, { least: GOAL.ratio });
  note('files to acknowledged, CPU of all processes', cpuRatio, 'x', { least: GATE.cpu }, undefined);
  note('memory', memoryMb, 'MB', { most: GATE.memoryMb }, { most: GOAL.memoryMb });
  note('four times the files, wall time', growth, 'x', undefined, { most: GOAL.growth });
  note('four times the files, CPU', cpuGrowth, 'x', { most: GATE.growth }, undefined);
  note('rows that are skipped, CPU, beside reading', scan, 'x', { least: GATE.scan }, { least: GOAL.scan });
  return cpuRatio >= GATE.cpu && memoryMb <= GATE.memoryMb && cpuGrowth <= GATE.growth && scan >= GATE.scan;
}

interface Bound {
  least?: number;
  most?: number;
}

function note(work: string, value: number, unit: 'x' | 'MB', gate: Bound | undefined, goal: Bound | undefined): void {
  const limits = [
    ...(gate === undefined ? [] : [{ name: 'gate' as const, ...gate }]),
    ...(goal === undefined ? [] : [{ name: 'goal' as const, ...goal }]),
  ];
  noteFigure({ work, value, unit, limits });
}

// ---------------------------------------------------------------- sides

/** Runs the built program as a person does. `cores`: the program finds so many. */
async function imported(home: string, place: string, url: string, cores?: number): Promise<Done> {
  const state = mkdtempSync(join(place, 'state-'));
  const preload = join(place, 'cores.cjs');
  writeFileSync(
    preload,
    `require('node:os').availableParallelism = () => ${cores};
require('node:module').syncBuiltinESMExports();`,
  );
  const options = cores === undefined ? {} : { NODE_OPTIONS: `--require ${preload}` };
  const program = join(process.cwd(), 'dist', 'otel-hooks.cjs');
  const startMs = performance.now();
  const child = spawn(process.execPath, [program, 'import', '--all', '--json', '--state-dir', state], {
    env: { HOME: home, PATH: process.env.PATH, OTEL_EXPORTER_OTLP_ENDPOINT: url, ...options },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const seen = { memoryMb: 0, residentMb: 0, firstMs: 0, cpuMs: 0 };
  const ticks = new Map<number, number>();
  const timer = setInterval(() => look(child, seen, ticks), 50);
  const code = await new Promise(resolve => child.once('exit', resolve));
  clearInterval(timer);
  const wallMs = performance.now() - startMs;
  rmSync(state, { recursive: true });
  if (code !== 0) throw new Error(`the import ended with ${code}`);
  return { wallMs, ...seen };
}

/** `ticks`: the CPU time of each process, which stays when it has ended. */
function look({ pid = 0 }: ChildProcess, seen: Omit<Done, 'wallMs'>, ticks: Map<number, number>): void {
  const pids = [pid, ...childrenOf(pid)];
  for (const each of pids)
    try {
      ticks.set(each, ticksOf(`/proc/${each}/stat`));
    } catch {
      // The process has ended.
    }
  const { mb, residentMb } = memoryOf(pids);
  seen.memoryMb = Math.max(seen.memoryMb, mb);
  seen.residentMb = Math.max(seen.residentMb, residentMb);
  seen.cpuMs = [...ticks.values()].reduce((sum, each) => sum + each, 0) * TICK_MS;
  seen.firstMs = (ticks.get(pid) ?? 0) * TICK_MS;
}

function ticksOf(file: string): number {
  const text = readFileSync(file, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

function inProcess(side: string, where: string): Promise<Done> {
  return new Promise((resolve, reject) => {
    const child = fork(process.argv[1] ?? '', [side, where], { execArgv: [] });
    child.once('message', message => resolve(message as Done));
    child.once('error', reject);
    child.once('exit', code => {
      if (code !== 0) reject(new Error(`${side} ended with ${code}`));
    });
  });
}

async function started(side: string, where: string): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(process.argv[1] ?? '', [side, where], { execArgv: [] });
  const url = await new Promise<string>(resolve => {
    child.on('message', message => {
      if (typeof message === 'string') resolve(message);
    });
  });
  return { child, url };
}

/** Reads each request and answers at once. */
async function sink(): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function each(home: string, take: (line: string) => void, isWanted: (number: number) => boolean = () => true): void {
  const projects = join(home, '.claude', 'projects', '-w');
  for (const [number, name] of readdirSync(projects).entries()) {
    if (!isWanted(number)) continue;
    const bytes = readFileSync(join(projects, name));
    let at = 0;
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, at)) {
      take(bytes.toString('utf8', at, end));
      at = end + 1;
    }
  }
}

async function floor(home: string): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), 'bench-floor-'));
  const halves = [0, 1].map(
    half => new Worker(process.argv[1] ?? '', { argv: ['half', JSON.stringify({ home, out, half })] }),
  );
  await Promise.all(halves.map(worker => new Promise(resolve => worker.once('exit', resolve))));
  rmSync(out, { recursive: true });
}

interface FloorRow {
  uuid: string;
  sessionId: string;
  timestamp: string;
  message?: { content?: string | { text?: string; content?: string }[] };
}

function floorOfHalf(words: string): void {
  const { home, out, half } = JSON.parse(words) as { home: string; out: string; half: number };
  const lines: string[] = [];
  each(
    home,
    line => {
      const row = JSON.parse(line) as FloorRow;
      const content = row.message?.content ?? '';
      const [block] = typeof content === 'string' ? [{ text: content }] : content;
      lines.push(
        JSON.stringify({
          event_id: uuidOf('bench', row.sessionId, row.uuid),
          event_type: 'Action.After',
          timestamp: new Date(Date.parse(row.timestamp)).toISOString(),
          session_id: row.sessionId,
          metadata: { call: row.uuid, hash: keyedHash('k', block?.text ?? block?.content ?? '') },
        }),
      );
      if (lines.length < 100) return;
      writeFileSync(join(out, `${row.uuid}.jsonl`), lines.join('\n'));
      lines.length = 0;
    },
    number => number % 2 === half,
  );
}

// ---------------------------------------------------------------- skipped rows

function writeRequests(path: string, bytes: number): void {
  const text = 'a long prompt with "quotes"\nand lines '.repeat(100);
  const messages = Array.from({ length: 50 }, (_, i) => ({ role: i % 2 ? 'user' : 'assistant', content: text }));
  const row = `${JSON.stringify({ type: 'api-request', uuid: 'u', body: { messages } })}\n`;
  const file = openSync(path, 'w');
  for (let written = 0; written < bytes; written += row.length) writeFileSync(file, row);
  closeSync(file);
}

function readFile(place: string): void {
  const file = openSync(join(place, 'requests.jsonl'), 'r');
  const step = Buffer.allocUnsafe(STEP_BYTES);
  while (readSync(file, step) > 0);
  closeSync(file);
}

function scanFile(place: string): void {
  const path = join(place, 'requests.jsonl');
  const rows = rowsFrom(diskEyes(), path, 0, statSync(path).size, () => undefined, { skips: SKIPPED });
  if (rows.peek() !== undefined) throw new Error('a row was not skipped');
}

function mb(bytes: number): string {
  return (bytes / 1_048_576).toFixed(0);
}
