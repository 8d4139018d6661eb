/**
 * The second method of `bench hook`: the commands as an agent starts them.
 *
 *     sh      the line that `otel-hooks enable` wrote into the agent's settings, behind the agent's own `sh -c`
 *     node    the bin by the link that npm makes: the kernel runs `env` by the shebang, and `env` runs Node
 *     floor   a program that does only the unavoidable work of a Node hook, behind the same shebang and link
 *
 * The state folder is on a disk. `otel-hooks serve` runs and takes the fragments, so that no hook starts a delivery, and
 * a collector takes what it sends. The next variant waits until the fragments of the one before are taken: the measured
 * time is that of the hook, and not that of a delivery beside it. At the end the accounts must state every run.
 *
 * The ratio is the smaller of two: that of the medians and that of the lower quartiles of wall time.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { FLOOR } from './floor-hook.ts';
import { fileSystemOf, judged, median, quartile, shuffled } from './sides.ts';
import { type Started, startCollector, startStarter } from './starter.ts';

interface Variant extends Started {
  repeats: number;
  gate?: number;
  goal?: number;
  /** The name of the variant that shows what the best program needs. */
  floor?: string;
}

interface Place {
  folder: string;
  inbox: string;
  variants: Variant[];
  env: Record<string, string>;
  bin: string;
  /** The number of hooks that ran. */
  hooks: number;
}

const BASELINE = 'node -e 0';
const MEMORY_TYPES = [0x1021994, 0x858458f6];
/** The place of the running number in a payload: equal payloads within a second count as a double registration. */
const NUMBER = '000000000';
const MOST_ATTEMPTS = 5;

/** Measures in turns and prints; returns 1 when a gate is missed in each of five runs. */
export async function measureAsStarted(root: string, rounds: number, allowance: number): Promise<number> {
  const disk = diskFolder(root);
  const folder = mkdtempSync(join(disk, 'otel-hooks-bench-'));
  const processes: ChildProcess[] = [];
  try {
    const collector = startCollector(folder);
    processes.push(collector.process);
    const place = install(root, folder, collector.url);
    processes.push(await startServe(place));
    console.log(`\nas an agent starts them: files on ${fileSystemOf(folder)}, serve runs, ${rounds} rounds`);
    let left = place.variants;
    for (let attempt = 1; ; attempt += 1) {
      const missed = report(left, measure(place, left, rounds), allowance);
      if (missed.length === 0) break;
      console.log(`missed in run ${attempt}: ${missed.join(', ')}`);
      if (attempt === MOST_ATTEMPTS) return 1;
      const needed = place.variants.filter(each => missed.includes(each.name));
      const names = [BASELINE, ...needed.flatMap(each => [each.name, each.floor ?? ''])];
      left = left.filter(each => names.includes(each.name));
    }
    return 0;
  } finally {
    await Promise.all(processes.map(ended));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The first usual folder that is on a disk. */
function diskFolder(root: string): string {
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const isDisk = (path: string): boolean => existsSync(path) && !MEMORY_TYPES.includes(statfsSync(path).type);
  return ['/var/tmp', cache].find(isDisk) ?? cache;
}

/** The package and its link as `npm install -g` leaves them, and the settings as `enable` leaves them. */
function install(root: string, folder: string, collector: string): Place {
  const home = join(folder, 'home');
  const installed = join(folder, 'lib', 'node_modules', 'otel-hooks');
  const bin = join(folder, 'bin', 'otel-hooks');
  for (const path of [dirname(bin), installed, join(home, '.config', 'otel-hooks'), join(home, '.claude')])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  cpSync(join(root, 'dist'), join(installed, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(installed, 'package.json'));
  symlinkSync('../lib/node_modules/otel-hooks/dist/otel-hooks.cjs', bin);
  const config = { provider: 'otlp', otlp: { endpoint: collector } };
  writeFileSync(join(home, '.config', 'otel-hooks', 'config.json'), JSON.stringify(config));
  const env = { PATH: `${dirname(bin)}:${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home };
  execFileSync(bin, ['enable', '--tool', 'claude-code', '--global', '--provider', 'otlp', '--yes'], {
    env,
    cwd: home,
    stdio: 'ignore',
  });
  const { hooks } = JSON.parse(readFileSync(join(home, '.claude', 'settings.json'), 'utf8'));
  const registered: string = hooks.PostToolUse[0].hooks[0].command;
  const inbox = join(home, '.local', 'state', 'otel-hooks', 'inbox');
  const floor = join(folder, 'bin', 'floor');
  const floorFile = join(folder, 'lib', 'floor.cjs');
  writeFileSync(floorFile, FLOOR, { mode: 0o755 });
  symlinkSync('../lib/floor.cjs', floor);
  const floors = join(folder, 'floors');
  mkdirSync(floors, { mode: 0o700 });
  return { folder, inbox, bin, env, hooks: 0, variants: variantsOf(registered, bin, [floor, floors]) };
}

function variantsOf(registered: string, bin: string, floor: string[]): Variant[] {
  const variants: Variant[] = [
    { name: BASELINE, command: [process.execPath, '-e', '0'], payload: Buffer.alloc(0), repeats: 4 },
  ];
  const sizes: [name: string, bytes: number, sh: [gate: number, goal: number], node: [gate: number, goal: number]][] = [
    ['3.4 KB', 3_400, [0.15, 0.11], [1.2, 1.05]],
    ['64 KB', 64_000, [0.15, 0.11], [1.2, 1.05]],
    ['1.2 MB', 1_200_000, [0.3, 1.2], [1.35, 1.2]],
    ['10 MB', 10_000_000, [0.7, 1.35], [1.7, 1.35]],
  ];
  for (const [size, bytes, [shGate, shGoal], [nodeGate, nodeGoal]] of sizes) {
    const payload = payloadOf(bytes);
    const repeats = bytes > 1_000_000 ? 2 : 4;
    variants.push(
      { name: `sh    ${size}`, command: ['/bin/sh', '-c', registered], payload, repeats, gate: shGate, goal: shGoal },
      {
        name: `node  ${size}`,
        command: [bin, 'hook', '--tool', 'claude-code'],
        payload,
        repeats,
        gate: nodeGate,
        goal: nodeGoal,
        floor: `floor ${size}`,
      },
      { name: `floor ${size}`, command: floor, payload, repeats },
    );
  }
  return variants;
}

async function startServe({ bin, env, inbox }: Place): Promise<ChildProcess> {
  const child = spawn(bin, ['serve', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const lock = join(dirname(inbox), 'lock');
  for (let waitedMs = 0; !existsSync(lock); waitedMs += 20) {
    if (child.exitCode !== null || waitedMs > 30_000) throw new Error('serve did not start');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  return child;
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise(resolve => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

interface Samples {
  wallsMs: number[];
  cpuMs: number;
}

function measure(place: Place, variants: readonly Variant[], rounds: number): Map<string, Samples> {
  const samples = new Map<string, Samples>(variants.map(each => [each.name, { wallsMs: [], cpuMs: 0 }]));
  const starter = startStarter(place.folder, variants, place.env);
  const earlier = received(place) - place.hooks;
  // The first two rounds warm the page cache.
  for (let round = -2; round < rounds; round += 1) {
    for (const variant of shuffled(variants)) {
      const isHook = !variant.name.startsWith('floor') && variant.name !== BASELINE;
      const wallsMs: number[] = [];
      const before = starter.childrenCpuMs();
      for (let run = 0; run < variant.repeats; run += 1) {
        if (isHook) {
          place.hooks += 1;
          number(variant.payload, place.hooks);
        }
        wallsMs.push(starter.run(variant));
      }
      if (isHook) taken(place.inbox);
      if (variant.name.startsWith('floor')) empty(join(place.folder, 'floors'), variant.repeats);
      const sample = samples.get(variant.name);
      if (round < 0 || sample === undefined) continue;
      sample.wallsMs.push(...wallsMs);
      sample.cpuMs += starter.childrenCpuMs() - before;
    }
  }
  starter.end();
  const stored = received(place) - earlier;
  if (stored !== place.hooks) throw new Error(`${place.hooks} hooks ran, and the accounts state ${stored} fragments`);
  return samples;
}

function report(variants: readonly Variant[], samples: Map<string, Samples>, allowance: number): string[] {
  const wallsOf = (name: string): number[] => samples.get(name)?.wallsMs ?? [];
  const ratioOf = (name: string): number => {
    const [own, bare] = [wallsOf(name), wallsOf(BASELINE)];
    return Math.min(median(own) / median(bare), quartile(own) / quartile(bare));
  };
  const cpuOf = (name: string): number => (samples.get(name)?.cpuMs ?? 0) / wallsOf(name).length;
  const cpuRatioOf = (name: string): string => `CPU ${(cpuOf(name) / cpuOf(BASELINE)).toFixed(3)}x`;
  const missed: string[] = [];
  for (const { name, gate, goal, floor } of variants) {
    if (gate === undefined || goal === undefined) continue;
    const ratio = ratioOf(name);
    if (ratio > gate * allowance) missed.push(name);
    const beside = floor === undefined ? '' : `; floor ${ratioOf(floor).toFixed(3)}x, ${cpuRatioOf(floor)}`;
    const bars = [{ name: 'gate', most: gate } as const, { name: 'goal', most: goal } as const];
    console.log(`${judged(`as started: ${name}, wall time`, ratio, bars)}; ${cpuRatioOf(name)}${beside}`);
  }
  const bare = wallsOf(BASELINE);
  console.log(`${BASELINE}: median ${median(bare).toFixed(2)} ms, lower quartile ${quartile(bare).toFixed(2)} ms`);
  return missed;
}

/** Waits until delivery has taken what is in the inbox. */
function taken(inbox: string): void {
  for (let waitedMs = 0; readdirSync(inbox).length > 0; waitedMs += 5) {
    if (waitedMs > 30_000) throw new Error('serve did not take the fragment');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
}

function empty(folder: string, files: number): void {
  const names = readdirSync(folder);
  if (names.length !== files) throw new Error(`the floor wrote ${names.length} files`);
  for (const name of names) rmSync(join(folder, name));
}

function received({ bin, env }: Place): number {
  const { stdout } = spawnSync(bin, ['status', '--json'], { env, encoding: 'utf8' });
  const { fragments, balanced } = JSON.parse(stdout);
  if (!balanced || fragments.quarantined > 0 || Object.keys(fragments.dropped).length > 0)
    throw new Error(`the accounts state ${JSON.stringify(fragments)}`);
  return fragments.received;
}

/** A tool's result as Claude Code sends it. */
function payloadOf(bytes: number): Buffer {
  const shape = (text: string): string =>
    JSON.stringify({
      session_id: '0f9d61a2-54a5-4d0e-8b9c-0d1f6f2f6a11',
      hook_event_name: 'PostToolUse',
      tool_use_id: `toolu_${NUMBER}`,
      tool_name: 'Bash',
      tool_input: { command: 'ls -l' },
      tool_response: { stdout: text, stderr: '', interrupted: false },
    });
  const line = 'drwxr-xr-x  2 user user  4096 Jan  1 00:00 folder "quoted"\n';
  const lineBytes = JSON.stringify(line).length - 2;
  const text = line.repeat(Math.floor((bytes - shape('').length) / lineBytes));
  return Buffer.from(shape(text + '.'.repeat(bytes - shape(text).length)));
}

function number(payload: Buffer, count: number): void {
  payload.write(String(count).padStart(NUMBER.length, '0'), payload.indexOf('toolu_') + 'toolu_'.length);
}
