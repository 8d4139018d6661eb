/**
 * Large amounts: the memory of the delivery, and its CPU time for an event at the beginning and at the end.
 *
 *     fragments   this many events wait in the inbox, one in each file, of sessions with 500 hooks
 *     journals    the same events, journaled under a configuration that could not be read, and sent once it can be
 *     actions     one session with this many actions: its delivery, then `show` and `report`
 *
 *     node scripts/bench.mjs scale [--events 1000000] [--actions 200000] [--only fragments] [--gate]
 *
 * Each delivery is the built program with the options of hooks, in a process of its own: build first. `--gate`: 30,000
 * events and 30,000 actions; exits 1 when a gate is missed in each of two runs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { ROOM } from '../src/hook/kick.ts';
import { openStore } from '../src/store/store.ts';
import { fragmentOf, hooksOf } from './parts/sessions.ts';
import { judged, numberAfter, onStage, type Stage, setting } from './parts/sides.ts';
import { receive } from './parts/way.ts';

const MOST_MB = 256;
/** The CPU time of an event in the last quarter, compared with the second one: the first one compiles the program. */
const MOST_GROWTH = 1.3;
const HOOKS_PER_SESSION = 500;
const PAYLOAD_BYTES = 500;
const LOOK_MS = 100;
/** The unit of the times of a process in /proc. */
const TICK_MS = 10;

const NOW_MS = Date.now() - 600_000;

const words = process.argv.slice(2);
if (words[0] === 'receiver') receive();
else process.exitCode = await onStage(main);

async function main(stage: Stage): Promise<number> {
  const isGate = words.includes('--gate');
  const events = numberAfter(words, '--events', isGate ? 30_000 : 1_000_000);
  const actions = numberAfter(words, '--actions', isGate ? 30_000 : 200_000);
  const only = words.includes('--only') ? words[words.indexOf('--only') + 1] : undefined;
  console.log(`${setting()}, ${events} waiting events, a session of ${actions} actions`);
  const receiver = stage.start('receiver');
  const url = await new Promise<string>(resolve => receiver.once('message', each => resolve(String(each))));
  const rows: [name: string, run: () => Promise<boolean>][] = [
    ['fragments', () => fragments(stage.place, url, events)],
    ['journals', () => journals(stage.place, url, events)],
    ['actions', () => oneSession(stage.place, url, actions)],
  ];
  let isMet = true;
  for (const [name, run] of rows) {
    if (only !== undefined && only !== name) continue;
    const isGood = (await run()) || (isGate && (await run()));
    isMet &&= isGood;
  }
  return isGate && !isMet ? 1 : 0;
}

// ---------------------------------------------------------------- rows

async function fragments(place: string, url: string, events: number): Promise<boolean> {
  const home = homeIn(place, 'fragments', url);
  writeSessions(home.state, events);
  return over(home, async () => verdict(`${events} waiting fragments`, await delivered(home, events)));
}

async function journals(place: string, url: string, events: number): Promise<boolean> {
  const home = homeIn(place, 'journals', undefined);
  writeSessions(home.state, events);
  return over(home, async () => {
    const journaled = await delivered(home, events, false);
    console.log(
      `${`${events} events without a configuration`.padEnd(46)} ${journaled.mostMb.toFixed(0).padStart(5)} MB`,
    );
    configure(home.folder, url);
    return verdict(`${events} events that wait in journals`, await delivered(home, 0));
  });
}

async function oneSession(place: string, url: string, actions: number): Promise<boolean> {
  const home = homeIn(place, 'actions', url);
  let seen = 0;
  const isEnd = (payload: string): boolean => {
    if (payload.includes('"PreToolUse"')) seen += 1;
    return seen >= actions && payload.includes('"Stop"');
  };
  const hooks = writeSession(home.state, 'long', 0, isEnd);
  return over(home, async () => {
    const all = [verdict(`a session of ${actions} actions, delivery`, await delivered(home, hooks))];
    const commands = {
      show: ['show', 'long'],
      'show --json': ['show', 'long', '--json'],
      report: ['report', '--since', '99999d'],
    };
    for (const [name, command] of Object.entries(commands)) all.push(verdict(`  ${name}`, await ran(home, command)));
    return all.every(Boolean);
  });
}

function verdict(what: string, { mostMb, growth, cpuMs, events }: Ran): boolean {
  const each =
    events > 0
      ? `, ${((cpuMs / events) * 1_000).toFixed(0)} us of CPU each`
      : `, ${(cpuMs / 1_000).toFixed(1)} s of CPU`;
  console.log(
    `${judged(what, mostMb / MOST_MB, [{ name: 'gate', most: 1 }])} (${mostMb.toFixed(0)} MB of ${MOST_MB}${each})`,
  );
  if (growth !== undefined)
    console.log(judged('  the last quarter, beside the second', growth, [{ name: 'gate', most: MOST_GROWTH }]));
  return mostMb <= MOST_MB && (growth ?? 1) <= MOST_GROWTH;
}

// ---------------------------------------------------------------- state folders

interface Home {
  folder: string;
  state: string;
}

async function over<T>({ folder }: Home, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function homeIn(place: string, name: string, url: string | undefined): Home {
  const folder = join(place, name);
  mkdirSync(join(folder, '.config', 'otel-hooks'), { recursive: true });
  configure(folder, url);
  const state = join(folder, 'state');
  openStore({ folder: state, access: 'own' }).close();
  return { folder, state };
}

/** Without a URL, the file cannot be read, and sessions wait for a decision. */
function configure(folder: string, url: string | undefined): void {
  const text = url === undefined ? '{' : JSON.stringify({ provider: 'otlp', otlp: { endpoint: url } });
  writeFileSync(join(folder, '.config', 'otel-hooks', 'config.json'), text);
}

function writeSessions(state: string, events: number): void {
  for (let written = 0, session = 0; written < events; session += 1) {
    const most = Math.min(HOOKS_PER_SESSION, events - written);
    written += writeSession(state, `waiting-${session}`, written, (_, count) => count >= most);
  }
}

/** Writes one fragment for each hook, as the front ends do. Returns their number. */
function writeSession(
  state: string,
  session: string,
  after: number,
  isEnd: (payload: string, count: number) => boolean,
): number {
  const hooks = hooksOf(session, PAYLOAD_BYTES);
  for (let count = 1; ; count += 1) {
    const { header, payload: whole } = fragmentOf(hooks.next().value, undefined);
    // A delivery would wait half a minute for each missing transcript.
    const payload = Buffer.from(whole.toString().replace(/"transcript_path":"[^"]*",/, ''));
    const n = after + count;
    // A session of the past would be ended at once.
    header.at = String(NOW_MS + n);
    const unique = `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`;
    const name = fragmentName('0000abcd', (1_000 + n / 100).toFixed(2), 1_000 + n, unique);
    writeFileSync(join(state, 'inbox', name), encodeFragment(unique, header, payload), { mode: 0o600 });
    if (isEnd(payload.toString(), count)) return count;
  }
}

// ---------------------------------------------------------------- processes

interface Ran {
  mostMb: number;
  cpuMs: number;
  events: number;
  growth?: number | undefined;
}

/** Delivers until everything is sent. `events`: the fragments that must be journaled. */
async function delivered({ folder, state }: Home, events: number, isSent = true): Promise<Ran> {
  const before = ledgerIn(state)?.fragments.journaled ?? 0;
  const args = [ROOM, join('dist', 'deliver.js'), '--wait', '3h', '--state-dir', state];
  const child = spawn(process.execPath, args, { env: environment(folder), stdio: ['ignore', 'inherit', 'inherit'] });
  const looks: { done: number; cpuMs: number }[] = [];
  const run = await watched(child, cpuMs => {
    const done = (ledgerIn(state)?.fragments.journaled ?? 0) - before;
    if (done !== looks.at(-1)?.done) looks.push({ done, cpuMs });
  });
  const store = openStore({ folder: state, access: 'read' });
  const books = store.books();
  store.close();
  if (books.fragments.journaled - before !== events || books.fragments.waiting > 0)
    throw new Error('events are missing');
  const accounts = Object.values(books.destinations).flatMap(each => [each.traces, each.logs]);
  if (
    isSent &&
    (accounts.length === 0 || accounts.some(each => each.accepted === 0 || each.accepted !== each.produced))
  )
    throw new Error(`not all was accepted: ${JSON.stringify(accounts)}`);
  return { ...run, events, growth: events > 0 ? growthOf(looks, events) : undefined };
}

/** The CPU time of an event in the last quarter, compared with the second quarter. */
function growthOf(looks: readonly { done: number; cpuMs: number }[], events: number): number | undefined {
  const at = (share: number) => looks.find(({ done }) => done >= events * share);
  const [from, to, late, end] = [at(0.25), at(0.5), at(0.75), looks.at(-1)];
  if (from === undefined || to === undefined || late === undefined || end === undefined) return undefined;
  const each = (a: typeof end, b: typeof end): number => (b.cpuMs - a.cpuMs) / (b.done - a.done);
  const growth = each(late, end) / each(from, to);
  return Number.isFinite(growth) ? growth : undefined;
}

async function ran({ folder, state }: Home, command: readonly string[]): Promise<Ran> {
  const told = join(folder, 'told');
  const tells = `const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const facts = { cpuMs: (userCPUTime + systemCPUTime) / 1000, mostMb: maxRSS / 1024, events: 0 };
    require('node:fs').writeFileSync(${JSON.stringify(told)}, JSON.stringify(facts));`;
  writeFileSync(join(folder, 'tells.cjs'), `process.on('exit', () => { ${tells} });`);
  const bin = join('dist', 'otel-hooks.cjs');
  const args = ['--require', join(folder, 'tells.cjs'), bin, ...command, '--state-dir', state];
  const child = spawn(process.execPath, args, { env: environment(folder), stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.resume();
  const code = await new Promise<number | null>(resolve => child.once('exit', resolve));
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
  return JSON.parse(readFileSync(told, 'utf8'));
}

function environment(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' };
}

/** Looks at memory and CPU time of a process until its end. */
async function watched(child: ChildProcess, look: (cpuMs: number) => void): Promise<Pick<Ran, 'mostMb' | 'cpuMs'>> {
  const most = { mostMb: 0, cpuMs: 0 };
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve));
  while (child.exitCode === null && child.signalCode === null) {
    most.mostMb = Math.max(most.mostMb, memoryMb(child.pid));
    most.cpuMs = Math.max(most.cpuMs, cpuMsOf(child.pid));
    look(most.cpuMs);
    await Promise.race([pause(LOOK_MS), ended]);
  }
  if ((await ended) !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`);
  return most;
}

function memoryMb(pid: number | undefined): number {
  try {
    return Number(/^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    // The process has ended.
    return 0;
  }
}

function cpuMsOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    // The process has ended.
    return 0;
  }
}

function ledgerIn(state: string): { fragments: { journaled: number } } | undefined {
  try {
    return JSON.parse(readFileSync(join(state, 'ledger.json'), 'utf8'));
  } catch {
    // No round was committed yet.
    return undefined;
  }
}
