/**
 * Sixty-four hooks at once, as ratios to sixty-four bare starts of Node at once, the same with nothing alive at the
 * start (parts/cold.ts), and the memory of one Node hook beside that of a bare start.
 *
 *     node scripts/bench.mjs burst [--rounds 20] [--gate]
 *
 * A separate shell starts each burst, so that only a shell is forked. The burst is over when all processes have ended;
 * then every fragment must exist. Rounds run every variant once, in random order; each is compared with the bare one of
 * its own round, by wall time, and the median is printed. Each process reports its own memory at its end, by the same
 * preload in both variants.
 *
 * `--gate`: eight rounds; exits 1 when a gate is missed by more than shared machines vary (an eighth), in each of three
 * runs.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printCold } from './parts/cold.ts';
import { noteFigure } from './parts/figures.ts';
import { commandsOfBurst } from './parts/front-ends.ts';
import { judged, median, numberAfter, setting } from './parts/sides.ts';

const AT_ONCE = 64;
const NODE_BAR = 1.05;
const NODE_GATE = 1.1;
const SH_BAR = 0.12;
const SH_GATE = 0.15;
const MOST_MORE_MB = 5;
const ALLOWANCE = 1.2;

interface Variant {
  name: string;
  command: string[];
  hooks: number;
}

const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-bench-'));
const BURST = `i=0; while [ $i -lt ${AT_ONCE} ]; do "$@" <payload >/dev/null & i=$((i+1)); done; wait`;
const environment = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder };

/** Loaded before all other code; prints the maximum of memory at the end, in KB. */
const MEMORY = `const { writeFileSync } = require('node:fs');
const say = () => writeFileSync(process.env.MEMORY_FILE, String(process.resourceUsage().maxRSS));
const { reallyExit } = process;
process.reallyExit = code => {
  say();
  reallyExit.call(process, code);
};
process.on('exit', say);
`;

process.exitCode = await main(process.argv.slice(2));
rmSync(folder, { recursive: true, force: true });

async function main(words: readonly string[]): Promise<number> {
  const isGate = words.includes('--gate');
  const rounds = numberAfter(words, '--rounds', isGate ? 8 : 20);
  const { state, node, sh } = install();
  const allowance = isGate ? ALLOWANCE : 1;
  console.log(`${setting()}, ${rounds} rounds of ${AT_ONCE} at once, wall time`);
  for (let attempt = 1; attempt <= 3; attempt++) {
    emptied(state);
    const [bareMs = [], nodeMs = [], shMs = []] = measure(rounds, state, [
      { name: 'node -e 0', command: [process.execPath, '-e', '0'], hooks: 0 },
      { name: 'node', command: node, hooks: AT_ONCE },
      { name: 'sh', command: sh, hooks: AT_ONCE },
    ]);
    const [forNode = 0, forSh = 0] = [nodeMs, shMs].map(each => median(each.map((ms, i) => ms / (bareMs[i] ?? ms))));
    console.log(
      `\nbare starts ${median(bareMs).toFixed(0)} ms, Node hooks ${median(nodeMs).toFixed(0)} ms, sh hooks ${median(shMs).toFixed(0)} ms`,
    );
    const bars = (gate: number, bar: number) => [
      { name: 'gate', most: gate } as const,
      { name: 'bar', most: bar } as const,
    ];
    console.log(judged(`${AT_ONCE} Node hooks at once`, forNode, bars(NODE_GATE, NODE_BAR)));
    console.log(judged(`${AT_ONCE} sh hooks at once`, forSh, bars(SH_GATE, SH_BAR)));
    const isWarm = await printCold(folder, rounds, allowance);
    const moreMb = memoryOf(node) - memoryOf([process.execPath, '-e', '0']);
    const isSmall = moreMb <= MOST_MORE_MB;
    const work = 'memory of a Node hook beyond a bare start';
    noteFigure({ work, value: moreMb, unit: 'MB', limits: [{ name: 'gate', most: MOST_MORE_MB }] });
    console.log(
      `${work.padEnd(46)} ${moreMb.toFixed(1).padStart(7)}   MB, bar <= ${MOST_MORE_MB} ${isSmall ? 'met' : 'missed'}`,
    );
    if (forNode <= NODE_GATE * allowance && forSh <= SH_GATE * allowance && isSmall && isWarm) return 0;
  }
  return isGate ? 1 : 0;
}

/** The state folder as npm and `enable` leave it, with a lock of a living process: this one. */
function install(): { state: string; node: string[]; sh: string[] } {
  const dist = join(folder, 'otel-hooks', 'dist');
  const state = join(folder, 'state');
  for (const path of [dist, join(state, 'inbox')]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const root = fileURLToPath(new URL('..', import.meta.url));
  copyFileSync(join(root, 'dist', 'otel-hooks.cjs'), join(dist, 'otel-hooks.cjs'));
  copyFileSync(join(root, 'package.json'), join(dist, '..', 'package.json'));
  writeFileSync(join(dist, 'deliver.js'), '');
  writeFileSync(join(state, 'lock'), `${process.pid} {"v":1}\n`);
  writeFileSync(join(folder, 'memory.cjs'), MEMORY);
  return { state, ...commandsOfBurst({ folder, dist, state }) };
}

function measure(rounds: number, state: string, variants: readonly Variant[]): number[][] {
  const walls = variants.map((): number[] => []);
  // The first round warms the page cache.
  for (let round = -1; round < rounds; round++) {
    for (const i of shuffled(variants.map((_, at) => at))) {
      const { name, command, hooks } = variants[i] ?? { name: '', command: [], hooks: 0 };
      const start = performance.now();
      const { status } = spawnSync('/bin/sh', ['-c', BURST, 'burst', ...command], { cwd: folder, env: environment });
      const wallMs = performance.now() - start;
      const written = emptied(state);
      if (status !== 0 || written !== hooks) throw new Error(`${name}: ${written} of ${hooks} fragments`);
      if (round >= 0) walls[i]?.push(wallMs);
    }
  }
  return walls;
}

/** MB at most, as the median of several runs. */
function memoryOf([program = '', ...words]: readonly string[]): number {
  const file = join(folder, 'memory');
  const env = { ...environment, MEMORY_FILE: file };
  const found: number[] = [];
  for (let run = 0; run < 7; run++) {
    rmSync(file, { force: true });
    spawnSync(program, ['--require', join(folder, 'memory.cjs'), ...words], {
      cwd: folder,
      env,
      input: 'x'.repeat(3_400),
    });
    found.push(Number(readFileSync(file, 'utf8')) / 1024);
  }
  return median(found);
}

function emptied(state: string): number {
  const inbox = join(state, 'inbox');
  const written = readdirSync(inbox);
  for (const each of written) rmSync(join(inbox, each));
  return written.length;
}

function shuffled(items: readonly number[]): number[] {
  return items
    .map(item => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
