/**
 * The cost of a hook, as a ratio to an empty Node program (`node -e 0`), by two methods. The second one starts what
 * `enable` registered, with the files on a disk (parts/as-started.ts). The first one, here, excludes what a disk and
 * another process add, and also measures circumstances:
 *
 *     node   `otel-hooks hook` by the absolute paths of Node and of the bin, as a command in settings names them
 *     link   the same by the link and the shebang that npm makes: `env` runs before it, and Node resolves the link
 *     sh     the command that `enable` writes into an agent's settings, behind the agent's own `sh -c`
 *
 * "Cold" is a burst that finds no deliver alive: its first hook starts one, each other hook finds that the first one
 * did.
 *
 * Every round runs every variant once, in random order, with pipes on stdin and stdout and a clean environment. A small
 * shell starts the processes; it reads the commands from named pipes. A fork of this process would also copy the memory
 * map of Node, which costs three times as much as the start of the shell hook.
 *
 * Wall time is compared by medians, CPU time (user and system, of the processes that are waited for) by means. CPU time
 * comes from /proc in ticks of 10 ms, so cheap variants run several times in a row per round; errors cancel out.
 *
 *     node scripts/bench.mjs hook [--rounds 60] [--only memory|disk]
 *
 * Exits 1 when a gate is missed in each of five runs: other work on the machine can only make a hook look worse. With
 * `--gate`, for shared machines, a ratio may exceed its gate by the usual variation of such machines.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KICK_STEP_S } from '../src/hook/kick.ts';
import { shellCommand } from '../src/hook/script.ts';
import { measureAsStarted } from './parts/as-started.ts';
import { noteFigure } from './parts/figures.ts';
import { writeScript } from './parts/front-ends.ts';
import { median, numberAfter, shuffled } from './parts/sides.ts';
import { type Started, startCollector, startStarter } from './parts/starter.ts';

interface Variant extends Started {
  /** Runs in a row per round. */
  repeats: number;
  gate?: number;
  aim?: number;
  /** The processes that it starts continue after it; the next variant must not pay for them. */
  kicks?: true;
  /** The gate is on the ratio to this variant: the cost of the circumstances. */
  against?: string;
  /** A state folder of its own, in which a real delivery takes the fragments. */
  delivered?: true;
  /** No deliver lives: the first hook of a burst starts one, the others find the marker of the first. */
  cold?: 'first' | 'other';
}

interface Result {
  name: string;
  wallMs: number;
  cpuMs: number;
}

const baseline = 'node -e 0';
/** A larger backlog than a delivery can finish, and no process that takes it. */
const FULL_OUTBOX = 50_000;
const authorities = ['/etc/ssl/certs/ca-certificates.crt', '/etc/ssl/cert.pem', '/etc/pki/tls/certs/ca-bundle.crt'];
const words = process.argv.slice(2);
const isGate = words.includes('--gate');
const rounds = numberAfter(words, '--rounds', 60);
const allowance = isGate ? 1.05 : 1;
const only = words.includes('--only') ? words[words.indexOf('--only') + 1] : undefined;
const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-bench-'));
const root = fileURLToPath(new URL('..', import.meta.url));
const inMemory = only === 'disk' ? 0 : measureInMemory();
rmSync(folder, { recursive: true, force: true });
const onDisk =
  only === 'memory' ? 0 : await measureAsStarted(root, numberAfter(words, '--rounds', isGate ? 10 : 40), allowance);
process.exitCode = Math.max(inMemory, onDisk);

function measureInMemory(): number {
  const { variants, state, close } = install();
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder };
  console.log(`node ${process.version}, ${process.platform}, ${cpus().length} cores, ${rounds} rounds, random order`);

  try {
    let left = variants;
    for (let attempt = 1; ; attempt++) {
      const results = measure(left, env, state);
      const missed = print(left, results);
      if (missed.length === 0) return 0;
      console.log(`missed in run ${attempt}: ${missed.join(', ')}`);
      if (attempt === 5) return 1;
      const again = left.filter(each => missed.includes(each.name));
      const needed = [baseline, ...again.flatMap(each => [each.name, each.against ?? ''])];
      left = left.filter(each => needed.includes(each.name));
    }
  } finally {
    close();
  }
}

/** A package as npm installs it, the script as `enable` writes it, and a deliver that ends at once. */
function install(): { variants: Variant[]; state: string; close: () => void } {
  const dist = join(folder, 'lib', 'node_modules', 'otel-hooks', 'dist');
  const links = join(folder, 'bin');
  const state = join(folder, '.local', 'state', 'otel-hooks');
  const config = join(folder, '.config', 'otel-hooks');
  const inbox = join(state, 'inbox');
  const bin = join(dist, 'otel-hooks.cjs');
  for (const path of [dist, links, inbox, join(state, 'problems'), config])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  copyFileSync(join(root, 'dist', 'otel-hooks.cjs'), bin);
  copyFileSync(join(root, 'package.json'), join(dist, '..', 'package.json'));
  writeFileSync(join(dist, 'deliver.js'), '');
  writeFileSync(join(config, 'config.json'), '{"provider": "otlp", "otlp": {"endpoint": "http://127.0.0.1:4318"}}\n');
  symlinkSync(bin, join(links, 'otel-hooks'));
  const script = writeScript({ folder, dist, state });

  const node = (...more: string[]): string[] => {
    return [process.execPath, bin, 'hook', '--tool', 'claude-code', ...more];
  };
  const sh = (shell: string[], edge: boolean): string[] => {
    const command = shellCommand({ script, tool: 'claude-code', event: 'PostToolUse', edge });
    return [...shell, '-c', command];
  };

  const common = payloadOf(3_400);
  // The same for the hook and for its counterpart: a program that has just run runs faster.
  const nodeRepeats = 4;
  const variants: Variant[] = [
    { name: baseline, command: [process.execPath, '-e', '0'], payload: Buffer.alloc(0), repeats: nodeRepeats },
  ];
  const sizes: [name: string, bytes: number, sh: [number, number?], node: [number, number?]][] = [
    ['0.5 KB', 500, [0.15, 0.11], [1.1, 1.05]],
    ['3.4 KB', 3_400, [0.15, 0.11], [1.1, 1.05]],
    ['64 KB', 64_000, [0.15, 0.11], [1.1, 1.05]],
    ['1.2 MB', 1_200_000, [0.3], [1.25]],
    ['10 MB', 10_000_000, [1], [2]],
  ];
  for (const [size, bytes, [shGate, shAim], [nodeGate, nodeAim]] of sizes) {
    const payload = payloadOf(bytes);
    const repeats = bytes > 1_000_000 ? 2 : 10;
    variants.push(
      { name: `sh    ${size}`, command: sh(['/bin/sh'], false), payload, repeats, gate: shGate, aim: shAim },
      {
        name: `node  ${size}`,
        command: node(),
        payload,
        repeats: bytes > 1_000_000 ? 2 : nodeRepeats,
        gate: nodeGate,
        aim: nodeAim,
      },
    );
  }
  variants.push({
    name: 'link  3.4 KB',
    command: [join(links, 'otel-hooks'), 'hook', '--tool', 'claude-code'],
    payload: common,
    repeats: nodeRepeats,
    gate: 1.1,
    aim: 1.05,
  });
  const more: [string, string[]][] = [
    ['bash  3.4 KB', ['bash']],
    ['zsh   3.4 KB', ['zsh']],
  ];
  for (const [name, shell] of more) {
    const [program = ''] = shell;
    if (spawnSync(program, ['-c', ':']).error !== undefined) continue;
    variants.push({ name, command: sh(shell, false), payload: common, repeats: 5 });
  }
  variants.push(
    { name: 'sh    3.4 KB, kicks', command: sh(['/bin/sh'], true), payload: common, repeats: 1, kicks: true },
    { name: 'node  3.4 KB, kicks', command: node('--edge'), payload: common, repeats: 1, kicks: true },
    {
      name: 'sh    cold, first',
      command: sh(['/bin/sh'], false),
      payload: common,
      repeats: 1,
      kicks: true,
      cold: 'first',
    },
    { name: 'node  cold, first', command: node(), payload: common, repeats: 1, kicks: true, cold: 'first' },
    {
      name: 'sh    cold, other',
      command: sh(['/bin/sh'], false),
      payload: common,
      repeats: 10,
      cold: 'other',
      against: 'sh    3.4 KB',
      gate: 1.3,
    },
    {
      name: 'node  cold, other',
      command: node(),
      payload: common,
      repeats: nodeRepeats,
      cold: 'other',
      against: 'node  3.4 KB',
      gate: 1.1,
    },
    { name: '/bin/true', command: ['/bin/true'], payload: Buffer.alloc(0), repeats: 10 },
  );
  const circumstances = inCircumstances(node, sh, common, dist);
  variants.push(...circumstances.variants);
  return { variants, state, close: circumstances.close };
}

/** The same hook in different circumstances, which must not matter; each beside its counterpart without them. */
function inCircumstances(
  node: (...more: string[]) => string[],
  sh: (shell: string[], edge: boolean) => string[],
  payload: Buffer,
  dist: string,
): { variants: Variant[]; close: () => void } {
  const WITHIN = 1.05;
  const variants: Variant[] = [];
  const started: ChildProcess[] = [];
  const authority = authorities.find(path => existsSync(path));
  if (authority !== undefined) {
    const env = { NODE_EXTRA_CA_CERTS: authority };
    variants.push(
      {
        name: 'sh    extra CA',
        command: sh(['/bin/sh'], false),
        payload,
        repeats: 10,
        env,
        against: 'sh    3.4 KB',
        gate: WITHIN,
      },
      // Node reads these variables before it runs our code. The command that `enable` writes for shells does not start
      // Node.
      { name: 'node  extra CA', command: node(), payload, repeats: 2, env, against: 'node  3.4 KB' },
    );
  }

  const script = (name: string): { state: string; command: string[] } => {
    const state = join(folder, name);
    for (const path of ['inbox', 'problems', 'outbox/0123456789abcdef'])
      mkdirSync(join(state, path), { recursive: true, mode: 0o700 });
    const file = writeScript({ folder, dist, state }, `${name}.sh`);
    return {
      state,
      command: ['/bin/sh', '-c', shellCommand({ script: file, tool: 'claude-code', event: 'PostToolUse' })],
    };
  };
  const full = script('full');
  for (let i = 0; i < FULL_OUTBOX; i++)
    writeFileSync(join(full.state, 'outbox/0123456789abcdef', `${String(i).padStart(12, '0')}-00000-logs-1-1`), 'x');
  writeFileSync(join(full.state, 'lock'), `${process.pid} {"v":1}\n`);
  variants.push(
    {
      name: 'sh    full outbox',
      command: full.command,
      payload,
      repeats: 10,
      against: 'sh    3.4 KB',
      gate: WITHIN,
      delivered: true,
    },
    {
      name: 'node  full outbox',
      command: node('--state-dir', full.state),
      payload,
      repeats: 4,
      against: 'node  3.4 KB',
      gate: WITHIN,
      delivered: true,
    },
  );

  // A delivery at work beside the hook has its cost; whether its collector answers must not matter.
  const collector = startCollector(folder);
  started.push(collector.process);
  for (const [name, endpoint] of [
    ['collector up', collector.url],
    ['collector down', 'http://127.0.0.1:9'],
  ] as const) {
    const { state, command } = script(name.replace(' ', '-'));
    const against = name === 'collector down' ? 'collector up' : undefined;
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
    const of = (mouth: string): Partial<Variant> =>
      against === undefined ? {} : { against: `${mouth}${against}`, gate: WITHIN };
    variants.push(
      { name: `sh    ${name}`, command, payload, repeats: 10, env, delivered: true, ...of('sh    ') },
      {
        name: `node  ${name}`,
        command: node('--state-dir', state),
        payload,
        repeats: 4,
        env,
        delivered: true,
        ...of('node  '),
      },
    );
    started.push(
      spawn(process.execPath, [join(root, 'dist', 'deliver.js'), '--kicked', '--state-dir', state], {
        env: { HOME: folder, OTEL_HOOKS_LINGER: '1h' },
        stdio: 'ignore',
      }),
    );
  }
  return {
    variants,
    close() {
      for (const each of started) each.kill('SIGKILL');
    },
  };
}

/** A tool's result as an agent would send it: one JSON object with a long text. */
function payloadOf(bytes: number): Buffer {
  const shape = (text: string): string =>
    JSON.stringify({
      session_id: '0f9d',
      hook_event_name: 'PostToolUse',
      tool_name: 'Bash',
      tool_response: { stdout: text },
    });
  const line = 'drwxr-xr-x  2 user user  4096 Jan  1 00:00 folder "quoted"\n';
  const room = bytes - shape('').length;
  return Buffer.from(
    shape(line.repeat(Math.ceil(room / line.length)).slice(0, Math.floor(room * 0.95))).padEnd(bytes, ' '),
  );
}

function measure(variants: readonly Variant[], env: Record<string, string>, state: string): Result[] {
  const samples = new Map(variants.map(each => [each.name, { wallsMs: [] as number[], cpuMs: 0, runs: 0 }]));
  const starter = startStarter(folder, variants, env);
  for (let round = -2; round < rounds; round++) {
    for (const variant of shuffled(variants)) {
      const sample = samples.get(variant.name);
      prepare(state, variant);
      const cpuBefore = starter.childrenCpuMs();
      const wallsMs: number[] = [];
      for (let run = 0; run < variant.repeats; run++) wallsMs.push(starter.run(variant));
      const cpuMs = starter.childrenCpuMs() - cpuBefore;
      if (variant.kicks) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
      const written = emptied(join(state, 'inbox'));
      const isHook = variant.name !== baseline && variant.name !== '/bin/true';
      if (variant.delivered) emptied(join(folder, 'full', 'inbox'));
      else if (written !== (isHook ? variant.repeats : 0)) throw new Error(`${variant.name}: ${written} fragments`);
      // The first two rounds warm the page cache.
      if (round < 0 || sample === undefined) continue;
      sample.wallsMs.push(...wallsMs);
      sample.cpuMs += cpuMs;
      sample.runs += variant.repeats;
    }
  }
  starter.end();
  return variants.map(({ name }) => {
    const { wallsMs, cpuMs, runs } = samples.get(name) ?? { wallsMs: [], cpuMs: 0, runs: 1 };
    return { name, wallMs: median(wallsMs), cpuMs: cpuMs / runs };
  });
}

/**
 * Either a lock of a living process (this one) or no lock; then with or without the marker of a hook that started a
 * process.
 */
function prepare(state: string, { cold }: Variant): void {
  for (const name of readdirSync(state)) if (name.startsWith('kick.')) rmSync(join(state, name));
  const lock = join(state, 'lock');
  if (cold === undefined) writeFileSync(lock, `${process.pid} {"v":1}\n`);
  else rmSync(lock, { force: true });
  if (cold !== 'other') return;
  const isLinux = existsSync('/proc/uptime');
  const boot = isLinux ? readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8) : '0';
  const seconds = isLinux ? Number.parseFloat(readFileSync('/proc/uptime', 'latin1')) : Date.now() / 1_000;
  const step = Math.floor(seconds / KICK_STEP_S);
  for (const each of [step, step + 1]) writeFileSync(join(state, `kick.${boot}-${each}`), '');
}

function print(variants: readonly Variant[], results: readonly Result[]): string[] {
  const base = results.find(each => each.name === baseline);
  if (base === undefined) throw new Error('nothing to compare with');
  const missed: string[] = [];
  console.log(
    `\n${'variant'.padEnd(22)}${'wall ms'.padStart(9)}${'ratio'.padStart(8)}${'CPU ms'.padStart(9)}${'ratio'.padStart(8)}   gate`,
  );
  for (const variant of variants) {
    const result = results.find(each => each.name === variant.name);
    if (result === undefined) continue;
    const ratio = result.wallMs / base.wallMs;
    const other = results.find(each => each.name === variant.against);
    const compared = other === undefined ? ratio : result.wallMs / other.wallMs;
    const cpu = base.cpuMs > 0 ? [result.cpuMs.toFixed(2), (result.cpuMs / base.cpuMs).toFixed(3)] : ['-', '-'];
    let verdict = variant.against === undefined ? '' : `   ${compared.toFixed(3)} of ${variant.against}`;
    if (variant.gate !== undefined) {
      const limits = [
        { name: 'gate' as const, most: variant.gate },
        { name: 'goal' as const, most: variant.aim },
      ];
      const work = `in memory: ${variant.name}${other === undefined ? '' : ` beside ${variant.against}`}`;
      noteFigure({ work, value: compared, unit: 'x', limits: limits.filter(({ most }) => most !== undefined) });
      const isMet = compared <= variant.gate;
      const isNear = compared <= variant.gate * allowance;
      if (!isNear) missed.push(variant.name);
      const aim = variant.aim === undefined ? '' : `, aim ${variant.aim} ${ratio <= variant.aim ? 'met' : 'missed'}`;
      verdict += `   <= ${variant.gate} ${isMet ? 'met' : isNear ? 'missed, by no more than machines vary' : 'MISSED'}${aim}`;
    }
    console.log(
      variant.name.padEnd(22) +
        result.wallMs.toFixed(2).padStart(9) +
        ratio.toFixed(3).padStart(8) +
        (cpu[0] ?? '').padStart(9) +
        (cpu[1] ?? '').padStart(8) +
        verdict,
    );
  }
  return missed;
}

function emptied(inbox: string): number {
  const names = readdirSync(inbox);
  for (const name of names) rmSync(join(inbox, name));
  return names.length;
}
