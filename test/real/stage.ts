/**
 * One run of one scenario, inside a network namespace of its own: the model server, the receiver, the agent without
 * hooks, the agent with hooks, and the commands of otel-hooks afterwards. Writes `seen.json` and `otlp.json` into the
 * folder of the run. It checks no results.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parse } from 'yaml';
import { decodeFragment, readFragmentName } from '../../src/hook/fragment.ts';
import type { AgentRun, Driver, Place, Scenario, Seen, Step } from './contract.ts';
import { type ModelServer, startModelServer } from './model-server.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { tapInbox } from './tap.ts';
import { playTerminal } from './terminal.ts';

export interface Orders {
  folder: string;
  scenario: string;
  /** The installed agent: the folder that has `node_modules`. */
  agent: string;
  /** The clone, for `dist` and the definitions of OTLP. */
  root: string;
  /** Only the run with hooks, without the commands and imports after it. */
  isRepeated: boolean;
}

export async function stage(driver: Driver, orders: Orders): Promise<void> {
  const receiver = await startReceiver(orders.root);
  // `$PROJECT` is the folder of the project, `$OTEL_HOOKS` the built program, `$TRACED_BUILD` a command that sends a span.
  const build = join(orders.root, 'examples', 'traced-build.mjs');
  const text = readFileSync(orders.scenario, 'utf8')
    .replaceAll('$PROJECT', join(orders.folder, 'project'))
    .replaceAll('$OTEL_HOOKS', `${process.execPath} ${join(orders.root, 'dist', 'otel-hooks.cjs')}`)
    .replaceAll(
      '$TRACED_BUILD',
      `OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:${receiver.port}/commands ${process.execPath} ${build}`,
    );
  const scenario = parse(text) as Scenario;
  const model = await startModelServer(scenario);
  const { folder } = orders;
  const place: Place = {
    folder,
    home: join(folder, 'home'),
    temporary: join(folder, 'tmp'),
    project: join(folder, 'project'),
    agent: orders.agent,
    modelPort: model.port,
  };
  const bin = join(orders.root, 'dist', 'otel-hooks.cjs');
  const path = [
    join(orders.agent, 'node_modules', '.bin'),
    dirname(process.execPath),
    '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  ].join(':');
  const base = { HOME: place.home, TMPDIR: place.temporary, PATH: path, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  const env = {
    ...base,
    NO_COLOR: '1',
    SHELL: '/bin/bash',
    ...driver.environment(place, scenario),
    ...Object.fromEntries(
      Object.entries(scenario.environment ?? {}).map(([name, value]) => [
        name,
        value.replaceAll('$PORT', String(model.port)).replaceAll('$BIN', bin),
      ]),
    ),
  };
  const commands: Seen['commands'] = [];
  const otelHooks = async (words: string[], more: Record<string, string> = {}): Promise<Seen['commands'][number]> => {
    const child = spawn(process.execPath, [bin, ...words], {
      cwd: place.project,
      env: { ...base, NO_COLOR: '1', ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    const seen = { words, ...(await outputOf(child)) };
    commands.push(seen);
    return seen;
  };

  const furnish = (): void => {
    for (const each of [place.home, place.temporary, place.project]) {
      if (existsSync(each)) renameSync(each, `${each}-plain`);
      mkdirSync(each, { recursive: true });
    }
    writeFiles(place.project, { 'readme.md': '# A project\n\nIt has two files.\n', ...scenario.files });
    makeRepository(place.project, base);
    driver.prepare(place, scenario);
  };
  const agent = {
    driver,
    scenario,
    place,
    env,
    model,
    bin: join(orders.agent, 'node_modules', '.bin', driver.command),
  };

  furnish();
  const { isRepeated } = orders;
  const plainRuns = scenario.expect.notCompared === undefined && !isRepeated ? await perform(agent, false) : [];
  const plainServed = model.served;
  writeFileSync(join(folder, 'bodies-plain.json'), JSON.stringify(model.bodies, null, 1));
  model.reset();
  furnish();

  const before = snapshot(place.home);
  const endpoint = `http://127.0.0.1:${receiver.port}`;
  await otelHooks([
    'enable',
    '--tool',
    driver.id,
    '--global',
    '--yes',
    '--no-proof',
    '--endpoint',
    `${endpoint}/hooks`,
    ...(scenario.enable ?? []),
  ]);
  const enabled = snapshot(place.home);
  const tap = tapInbox(join(place.home, '.local', 'state', 'otel-hooks'));
  const runs = await perform(agent, true);
  const { served, unknownPaths } = model;
  const quietFrom = Date.now();
  const isSilent = scenario.expect.silent !== undefined;
  await quiet(receiver, isSilent ? 1 : (scenario.expect.open ?? 0));
  const quietAfterMs = Date.now() - quietFrom;

  tap.close();
  const killedHooks = hooksKilledWith(runs, join(place.home, '.local', 'state', 'otel-hooks', 'inbox'));
  writeFileSync(join(folder, 'payloads.json'), JSON.stringify(tap.tapped, null, 1));
  const requests = receiver.count();
  const wait = ['--wait', '20s'];
  await otelHooks(['deliver', ...wait], isSilent ? { NODE_OPTIONS: anHourLater } : {});
  const late = isSilent ? 0 : receiver.count() - requests;
  const status = await otelHooks(['status', '--json']);
  const commandsAfter = async (): Promise<typeof nothingAfter> => {
    const doctor = await otelHooks(['doctor', '--tool', driver.id, '--offline', '--no-proof']);
    const listed = await otelHooks(['show', '--json']);
    const shows: Seen['shows'] = [];
    for (const session of sessionsOf(listed.stdout)) {
      shows.push({ session, tree: (await otelHooks(['show', session, '--json'])).stdout });
    }
    // An import beside the hooks adds nothing; one into an empty state gives the same; a second one adds nothing.
    await otelHooks(['import', '--all', '--tool', driver.id, '--json', ...wait]);
    const elsewhere = { OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/import` };
    const apart = ['--state-dir', join(folder, 'import-state'), '--config', join(folder, 'import.yaml')];
    await otelHooks(['import', '--all', '--tool', driver.id, '--metrics', '--json', ...wait, ...apart], elsewhere);
    const again = { OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/again` };
    await otelHooks(['import', '--all', '--tool', driver.id, '--metrics', '--json', ...wait, ...apart], again);
    await otelHooks(['disable', '--tool', driver.id, '--global', '--yes']);
    const settingsLeft = differences(before, enabled, snapshot(place.home), driver.rewrites ?? []);
    return { doctor: { exit: doctor.exit, output: doctor.stdout + doctor.stderr }, shows, settingsLeft };
  };
  const after = isRepeated ? nothingAfter : await commandsAfter();
  appendFileSync(join(folder, 'bodies.json'), JSON.stringify(model.bodies, null, 1));

  const seen: Seen = {
    served,
    unknownPaths,
    runs,
    plainRuns,
    plainServed,
    status: jsonOf(status.stdout),
    ...after,
    commands,
    killedHooks,
    isRepeated,
    late,
    quietAfterMs,
  };
  writeFileSync(join(folder, 'seen.json'), JSON.stringify(seen, null, 1));
  writeFileSync(join(folder, 'otlp.json'), JSON.stringify(receiver.received, null, 1));
  await receiver.close();
  await model.close();
  endLeftovers(orders.agent, false);
}

/** The clock of this process and its children is ahead by more than the hour that ends a silent session. */
const anHourLater = `--import=data:text/javascript,${encodeURIComponent(
  'const now = Date.now; Date.now = () => now() + 3_900_000;',
)}`;

const nothingAfter: Pick<Seen, 'doctor' | 'shows' | 'settingsLeft'> = {
  doctor: { exit: 0, output: '' },
  shows: [],
  settingsLeft: [],
};

interface Agent {
  driver: Driver;
  scenario: Scenario;
  place: Place;
  env: Record<string, string>;
  model: ModelServer;
  bin: string;
}

async function perform(agent: Agent, isHooked: boolean): Promise<AgentRun[]> {
  const runs: AgentRun[] = [];
  const beside: Promise<void>[] = [];
  for (const [index, step] of agent.scenario.steps.entries()) {
    if (step.pauseMs !== undefined) await sleep(step.pauseMs);
    const run = performStep(agent, step, index).then(done => {
      runs.push(done);
    });
    if (step.beside) beside.push(run);
    else await run;
  }
  await Promise.all(beside);
  endLeftovers(agent.place.agent, isHooked);
  return runs.sort((a, b) => a.step - b.step);
}

async function performStep(agent: Agent, step: Step, index: number): Promise<AgentRun> {
  const { driver, scenario, place, env, model } = agent;
  const fromMs = Date.now();
  const previous = (): string => driver.newestSession?.(place) ?? '';
  const known = { ...step, args: step.args?.map(word => word.replaceAll('$PREVIOUS', previous)) } as Step;
  const done = (exit: number | string, stdout: string, stderr: string): AgentRun => {
    const toMs = Date.now();
    return { step: index, exit, stdout, stderr, tookMs: toMs - fromMs, fromMs, toMs };
  };
  if (step.terminal !== undefined) {
    const words = driver.terminal?.(known, place, scenario) ?? [];
    const { exit, screen } = await playTerminal([agent.bin, ...words], place.project, env, step.terminal, model);
    writeFileSync(join(place.folder, `screen-${index}.txt`), screen);
    return done(exit, '', '');
  }
  const [program, ...words] =
    step.shell === undefined ? [agent.bin, ...driver.headless(known, place, scenario)] : ['sh', '-c', step.shell];
  const child = spawn(program ?? '', words, {
    cwd: place.project,
    env,
    detached: true,
    stdio: [step.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const ended = outputOf(child);
  void typeInto(child, step.input ?? [], model);
  if (step.stop !== undefined) {
    await Promise.race([model.whenServed(step.stop.served), ended]);
    await sleep(step.stop.afterMs ?? 500);
    signalGroup(child.pid, step.stop.signal);
  }
  const timer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), 150_000);
  const { exit, stdout, stderr } = await ended;
  clearTimeout(timer);
  return done(exit, stdout, stderr);
}

async function typeInto(child: ChildProcess, lines: NonNullable<Step['input']>, model: ModelServer): Promise<void> {
  child.stdin?.on('error', () => undefined);
  for (const each of lines) {
    if (typeof each !== 'string') await model.whenServed(each.after).then(() => sleep(600));
    child.stdin?.write(`${typeof each === 'string' ? each : each.line}\n`);
  }
  child.stdin?.end();
}

/** The output of a process and how it ended. A synchronous call would stop the servers of this process meanwhile. */
async function outputOf(child: ChildProcess): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exit = await new Promise<number | string>(resolve => {
    child.on('error', error => resolve(`not started: ${error.message}`));
    child.on('close', (code, signal) => resolve(signal ?? code ?? -1));
  });
  return { exit, stdout, stderr };
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The process has ended already.
  }
}

/**
 * Ends servers and children that an agent left behind. They share the namespace. Processes of otel-hooks keep running
 * after a run with hooks; the path of the cache of agents contains the same name.
 */
function endLeftovers(agent: string, isHooked: boolean): void {
  const own = readlinkSync('/proc/self/ns/net');
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    if (Number(pid) === process.pid || Number(pid) === process.ppid) continue;
    try {
      if (readlinkSync(`/proc/${pid}/ns/net`) !== own) continue;
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      if (isHooked && /otel-hooks|deliver\.js/.test(line.replaceAll(agent, ''))) continue;
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // The process ended meanwhile.
    }
  }
}

/** A hook writes until its agent ends, and an agent may kill its last hook. */
const KILL_MS = 500;

/**
 * The number of fragments without an end whose writers no longer exist, and that were written last when an agent ended.
 * A hook that was killed at another moment is a fault of otel-hooks, and is not counted here.
 */
function hooksKilledWith(runs: readonly AgentRun[], inbox: string): number {
  return readdirSync(inbox).filter(name => {
    const path = join(inbox, name);
    const { mtimeMs } = lstatSync(path);
    const decoded = decodeFragment(name, readFileSync(path), mtimeMs);
    const pid = readFragmentName(name)?.pid;
    const isAtEnd = runs.some(({ toMs }) => Math.abs(toMs - mtimeMs) < KILL_MS);
    return !decoded.ok && decoded.why === 'torn' && isAtEnd && !existsSync(`/proc/${pid}`);
  }).length;
}

/** Waits until all traces have their roots and no request has come for a while. */
async function quiet(receiver: Receiver, open: number): Promise<void> {
  const fromMs = Date.now();
  for (;;) {
    await sleep(250);
    const silentMs = Date.now() - Math.max(fromMs, receiver.lastMs());
    const isWhole = receiver.rootless('hooks') <= open && receiver.traces('hooks') > 0;
    if (silentMs > (isWhole && open === 0 ? 3_500 : 14_000)) return;
    if (Date.now() - fromMs > 90_000) return;
  }
}

function writeFiles(folder: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

function makeRepository(folder: string, env: Record<string, string>): void {
  const date = '2026-01-02T03:04:05Z';
  const who = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.com', GIT_AUTHOR_DATE: date };
  const also = { GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.com', GIT_COMMITTER_DATE: date };
  const git = (...words: string[]): void => {
    spawnSync('git', words, { cwd: folder, env: { ...env, ...who, ...also }, stdio: 'ignore' });
  };
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
}

/** Every file below the folder with its content, except what otel-hooks itself keeps. */
function snapshot(folder: string): Map<string, string> {
  const files = new Map<string, string>();
  const walk = (at: string): void => {
    for (const name of readdirSync(at)) {
      const path = join(at, name);
      const key = relative(folder, path);
      if (/(^|\/)\.(local\/state|config|local\/share)\/otel-hooks($|\/)/.test(key)) continue;
      const stat = lstatSync(path);
      if (stat.isDirectory()) walk(path);
      else if (stat.isFile() && stat.size < 5_000_000)
        files.set(key, `${stat.mode.toString(8)} ${readFileSync(path, 'latin1')}`);
    }
  };
  walk(folder);
  return files;
}

function differences(
  before: Map<string, string>,
  enabled: Map<string, string>,
  after: Map<string, string>,
  rewrites: string[],
): string[] {
  const touched = [...enabled].filter(([key, content]) => before.get(key) !== content).map(([key]) => key);
  return touched.flatMap(key => {
    if (before.get(key) === after.get(key)) return [];
    if (rewrites.includes(key) && !/otel-hooks/.test(after.get(key) ?? '')) return [];
    return [`${key}: ${JSON.stringify(before.get(key))} became ${JSON.stringify(after.get(key))}`];
  });
}

function sessionsOf(listed: string): string[] {
  const value = jsonOf(listed);
  const sessions = Array.isArray(value) ? value : ((value as { sessions?: unknown[] } | undefined)?.sessions ?? []);
  return sessions.flatMap(each => {
    const id = (each as { session?: string; id?: string }).session ?? (each as { id?: string }).id;
    return id === undefined ? [] : [id];
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
