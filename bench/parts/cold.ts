/**
 * A burst of hooks that finds no deliver, as ratios to the same burst while one is alive: wall time until all hooks
 * have ended, and CPU time of all processes together until all their events are journaled. Deliver is the built one in
 * both, behind a few lines that print its cost. Each round runs both in random order, each in a state folder of its
 * own.
 *
 * 64 shell hooks and their delivery need less CPU time than starting Node three times, so that starting deliver once is
 * more than 0.3 of it. The remaining cost of a start is therefore also compared with `node -e 0`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandsOfBurst } from './front-ends.ts';
import { judged, median } from './sides.ts';

const AT_ONCE = 64;
const MOST = 1.3;
/** The start of Node, loading the program, its first round in code that is not compiled yet, and its end. */
const MOST_STARTS = 9;
const BARE_RUNS = 10;
/**
 * The time that a started deliver waits for more, and the time that a living one is watched after it took all
 * fragments.
 */
const LINGER_MS = 300;
const BURST = `i=0; while [ $i -lt ${AT_ONCE} ]; do "$@" <payload >/dev/null & i=$((i+1)); done; wait`;

/** Writes its start time and its cost so far into the folder beside it, on request and at its end. */
const TELLING = `const { mkdirSync, renameSync, writeFileSync } = require('node:fs');
const said = __dirname + '/said/' + process.pid;
mkdirSync(__dirname + '/said', { recursive: true });
const say = isOver => {
  const { user, system } = process.cpuUsage();
  const endMs = isOver ? performance.timeOrigin + performance.now() : null;
  writeFileSync(said + '.new', JSON.stringify({ cpuMs: (user + system) / 1000, startMs: performance.timeOrigin, endMs }));
  renameSync(said + '.new', said);
};
say(false);
process.on('exit', () => say(true));
process.on('SIGUSR2', () => say(false));
import('./real/deliver.js');
`;

interface Side {
  state: string;
  dist: string;
  commands: { sh: string[]; node: string[] };
  env: Record<string, string>;
}

interface FileMeasure {
  cpuMs: number;
  startMs: number;
  endMs: number | null;
}

interface Cost {
  wallMs: number;
  cpuMs: number;
  /** The number of processes that hooks started, and how many of them lived at once. */
  started: number;
  atOnce: number;
}

/** True when each ratio is within the usual variation of shared machines. */
export async function printCold(folder: string, rounds: number, allowance: number): Promise<boolean> {
  const place = mkdtempSync(join(folder, 'cold-'));
  const cold = install(place, 'cold');
  const warm = install(place, 'warm');
  const living = await startLiving(warm);
  const bareMs = bareCpuMs();
  let isMet = true;
  try {
    for (const mouth of ['sh', 'node'] as const) {
      const colds: Cost[] = [];
      const warms: Cost[] = [];
      for (let round = -1; round < rounds; round++) {
        const sides = [
          async () => ({ costs: colds, cost: await runCold(cold, mouth) }),
          async () => ({ costs: warms, cost: await runWarm(warm, living, mouth) }),
        ];
        if (Math.random() < 0.5) sides.reverse();
        for (const side of sides) {
          const { costs, cost } = await side();
          // The first round warms the page cache.
          if (round >= 0) costs.push(cost);
        }
      }
      const ratio = (of: (cost: Cost) => number): number =>
        median(colds.map((cost, i) => of(cost) / of(warms[i] ?? cost)));
      const wall = ratio(cost => cost.wallMs);
      // CPU time comes in ticks of 10 ms, so sums are compared.
      const sum = (costs: readonly Cost[]): number => costs.reduce((all, { cpuMs }) => all + cpuMs, 0);
      const cpu = sum(colds) / sum(warms);
      const most = Math.max(...colds.map(({ atOnce }) => atOnce));
      console.log(
        `\n${mouth}: alive ${wordsOf(warms)}; nothing alive ${wordsOf(colds)}, ${median(colds.map(each => each.started))} started, at most ${most} at once`,
      );
      const starts = (sum(colds) - sum(warms)) / rounds / bareMs;
      console.log(judged(`cold start, ${mouth}, wall time`, wall, [{ name: 'gate', most: MOST }]));
      // For Node hooks the ratio is more exact: the difference is small beside the variation of 64 of them.
      const isGate = mouth === 'node';
      console.log(
        judged(`cold start, ${mouth}, CPU of all processes`, cpu, [{ name: isGate ? 'gate' : 'bar', most: MOST }]),
      );
      if (!isGate)
        console.log(
          judged(`cold start, ${mouth}, CPU in starts of Node`, starts, [{ name: 'gate', most: MOST_STARTS }]),
        );
      const isCheap = isGate ? cpu <= MOST * allowance : starts <= MOST_STARTS * allowance;
      isMet &&= wall <= MOST * allowance && isCheap && most <= 3;
    }
  } finally {
    living.kill();
  }
  return isMet;
}

const wordsOf = (costs: readonly Cost[]): string =>
  `${median(costs.map(each => each.wallMs)).toFixed(0)} ms, CPU ${median(costs.map(each => each.cpuMs)).toFixed(0)} ms`;

function install(folder: string, name: string): Side {
  const place = join(folder, name);
  const dist = join(place, 'dist');
  const state = join(place, 'state');
  for (const path of [dist, join(state, 'inbox'), join(state, 'problems')])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  cpSync(fileURLToPath(new URL('../../dist', import.meta.url)), join(dist, 'real'), { recursive: true });
  writeFileSync(join(dist, 'real', 'package.json'), '{ "type": "module" }');
  cpSync(join(dist, 'real', 'otel-hooks.cjs'), join(dist, 'otel-hooks.cjs'));
  writeFileSync(join(dist, 'deliver.js'), TELLING);
  return {
    state,
    dist,
    commands: commandsOfBurst({ folder: place, dist, state }),
    env: {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      HOME: place,
      OTEL_HOOKS_LINGER: `${LINGER_MS}ms`,
    },
  };
}

async function startLiving({ state, dist, env }: Side): Promise<ChildProcess> {
  const words = ['--max-semi-space-size=32', join(dist, 'deliver.js'), '--kicked', '--state-dir', state];
  const child = spawn(process.execPath, words, {
    cwd: '/',
    stdio: 'ignore',
    env: { ...env, OTEL_HOOKS_LINGER: '60m' },
  });
  await until(() => existsSync(join(state, 'ledger.json')) || existsSync(join(state, 'lock')));
  return child;
}

async function runWarm(side: Side, living: ChildProcess, mouth: 'sh' | 'node'): Promise<Cost> {
  const cpuOf = async (): Promise<number> => {
    const before = measuredFiles(side);
    living.kill('SIGUSR2');
    await until(() => measuredFiles(side)[0]?.cpuMs !== before[0]?.cpuMs);
    return measuredFiles(side)[0]?.cpuMs ?? 0;
  };
  const before = await cpuOf();
  const { wallMs, cpuMs } = run(side, mouth);
  await until(() => readdirSync(join(side.state, 'inbox')).length === 0);
  await new Promise(resolve => setTimeout(resolve, LINGER_MS));
  return { wallMs, cpuMs: cpuMs + (await cpuOf()) - before, started: 0, atOnce: 0 };
}

async function runCold(side: Side, mouth: 'sh' | 'node'): Promise<Cost> {
  rmSync(join(side.dist, 'said'), { recursive: true, force: true });
  const { wallMs, cpuMs } = run(side, mouth);
  const all = (): FileMeasure[] => measuredFiles(side);
  const isEmpty = (): boolean => readdirSync(join(side.state, 'inbox')).length === 0;
  await until(() => isEmpty() && all().length > 0 && all().every(({ endMs }) => endMs !== null));
  const lives = all();
  const atOnce = lives.map(
    ({ startMs: ms }) => lives.filter(each => each.startMs <= ms && ms < (each.endMs ?? 0)).length,
  );
  return {
    wallMs,
    cpuMs: cpuMs + lives.reduce((sum, each) => sum + each.cpuMs, 0),
    started: lives.length,
    atOnce: Math.max(...atOnce),
  };
}

/** Runs only the burst. Returns the CPU time of the hooks. */
function run({ dist, commands, env }: Side, mouth: 'sh' | 'node'): { wallMs: number; cpuMs: number } {
  const before = childrenCpuMs();
  const startMs = performance.now();
  const { status } = spawnSync('/bin/sh', ['-c', BURST, 'burst', ...commands[mouth]], { cwd: dirname(dist), env });
  const wallMs = performance.now() - startMs;
  if (status !== 0) throw new Error(`the burst of ${mouth} hooks ended with ${status}`);
  return { wallMs, cpuMs: childrenCpuMs() - before };
}

/** The CPU time of one start of Node. */
function bareCpuMs(): number {
  const before = childrenCpuMs();
  for (let count = 0; count < BARE_RUNS; count++) spawnSync(process.execPath, ['-e', '0']);
  return Math.max(1, (childrenCpuMs() - before) / BARE_RUNS);
}

/** The CPU time of ended children of this process; 0 where there is no /proc. */
function childrenCpuMs(): number {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

function measuredFiles({ dist }: Side): FileMeasure[] {
  const folder = join(dist, 'said');
  const names = existsSync(folder) ? readdirSync(folder).filter(name => !name.endsWith('.new')) : [];
  return names.map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as FileMeasure);
}

async function until(holds: () => boolean): Promise<void> {
  for (const endMs = performance.now() + 60_000; !holds(); ) {
    if (performance.now() > endMs) throw new Error(`not so after a minute: ${holds}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
