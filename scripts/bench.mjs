/**
 * Runs the benchmarks of bench/; HELP below has all forms. Node 20 does not read TypeScript, so a benchmark is bundled
 * first; packages stay outside the bundle, so that the benchmark runs the packages that npm installed.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { compare } from './bench-compare.mjs';
import { figuresIn, jsonOf, printFigures } from './bench-figures.mjs';

const HELP = `npm run bench                                  all benchmarks, then the table of all figures
npm run bench -- NAME [OPTIONS]                one benchmark, then its figures
npm run bench -- NAME --help                   what it measures, and its options
npm run bench -- compare COMMIT [NAME...] [--turns 5] [--most 5]
                                               this tree and an older commit in turns; exits with 1 when a ratio is worse
                                               by more than 5 %
npm run bench -- profile [STAGE...] [--out DIR]  where each stage spends CPU time, allocations and system calls
npm run bench -- ladder                        what each step of an import adds to the CPU time of an event

  --json   print the figures as JSON; what the benchmark prints goes to standard error (\`npm run --silent bench\` or
           \`node scripts/bench.mjs\`, because npm prints lines of its own)
  --gate   a shorter run for CI; exits with 1 when a gate is missed in each of its attempts
  TMPDIR   the folder for files; without it a folder in memory, where the machine has one

Each figure stands beside its gate, its goal, and the figures of other programs where there are some (bench/peers.json).
`;
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'bench');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const words = process.argv.slice(2);
const isJson = words.includes('--json');
const names = (existsSync(folder) ? readdirSync(folder) : [])
  .filter(file => file.endsWith('.ts'))
  .map(file => file.slice(0, -3));
/** `stack` needs Docker and back ends that run there. `profile` and `ladder` have no figures. */
const APART = ['stack', 'profile', 'ladder'];
const MEMORY = '/dev/shm';
const STOPS = ['SIGINT', 'SIGTERM'];
process.exit(await main());

async function main() {
  const isHelp = words.includes('--help') || words.includes('-h');
  const [name, ...rest] = words[0]?.startsWith('-') ? [undefined, ...words] : words;
  if (name === undefined && isHelp) {
    console.log(`${HELP}\nBenchmarks:\n${names.map(each => `  ${each.padEnd(12)} ${aboutOf(each)[0]}`).join('\n')}`);
    return 0;
  }
  if (name === 'compare') return compare(root, rest);
  const extra = name === undefined ? rest.find(word => word !== '--json') : undefined;
  if (extra !== undefined || (name !== undefined && !names.includes(name))) {
    console.error(`bench: ${extra ?? name} is no benchmark and no option here\n\n${HELP}`);
    console.error(`Benchmarks: ${names.join(', ')}`);
    return 2;
  }
  if (isHelp) {
    console.log(aboutOf(name).join('\n'));
    return 0;
  }
  // The profile has a --json of its own.
  if (name === 'profile') return run(name, rest);
  return runWithFigures(name === undefined ? names.filter(each => !APART.includes(each)) : [name], rest);
}

/** Returns the lines of the comment at the beginning of a benchmark. */
function aboutOf(name) {
  const [, text = ''] = /^\/\*\*\n([\s\S]*?)\n \*\//.exec(readFileSync(join(folder, `${name}.ts`), 'utf8')) ?? [];
  return text.split('\n').map(line => line.replace(/^ \* ?/, ''));
}

async function runWithFigures(chosen, rest) {
  const found = [];
  let status = 0;
  for (const name of chosen) {
    if (chosen.length > 1) say(`\n== ${name}`);
    const file = join(root, 'node_modules', '.cache', 'bench', `${name}.figures`);
    rmSync(file, { force: true });
    const code = await run(
      name,
      rest.filter(word => word !== '--json'),
      file,
    );
    status = Math.max(status, code);
    found.push(...figuresIn(file, name, folder));
  }
  if (isJson)
    console.log(JSON.stringify({ v: 1, version, node: process.version, figures: jsonOf(found) }, undefined, 2));
  else printFigures(found);
  return status;
}

function say(line) {
  if (isJson) console.error(line);
  else console.log(line);
}

/** `figures`: the file that the benchmark notes its figures in (bench/parts/figures.ts). */
async function run(name, words, figures) {
  const outfile = join(root, 'node_modules', '.cache', 'bench', `${name}.mjs`);
  await esbuild.build({
    entryPoints: [join(folder, `${name}.ts`)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    define: { __VERSION__: JSON.stringify(version) },
    plugins: [{ name: 'source-urls', setup: keepSourceUrls }],
    logLevel: 'warning',
  });
  // One folder for all files of the run, so that nothing stays when it is interrupted.
  const place = mkdtempSync(join(process.env.TMPDIR ?? (isWritable(MEMORY) ? MEMORY : tmpdir()), 'otel-hooks-'));
  const env = { ...process.env, TMPDIR: place };
  if (figures !== undefined) env.OTEL_HOOKS_BENCH_FIGURES = figures;
  // 2: standard output of the benchmark goes to standard error.
  const stdio = ['inherit', isJson && figures !== undefined ? 2 : 'inherit', 'inherit'];
  const child = spawn(process.execPath, ['--enable-source-maps', outfile, ...words], { stdio, cwd: root, env });
  // A Ctrl-C reaches the benchmark too; this process outlives it to remove the folder.
  const stop = signal => child.kill(signal);
  for (const signal of STOPS) process.on(signal, stop);
  const code = await new Promise(resolve => child.once('exit', code => resolve(code ?? 1)));
  for (const signal of STOPS) process.off(signal, stop);
  rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  return code;
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A source that looks for files beside itself must find them beside the source, not beside the bundle. */
function keepSourceUrls(build) {
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    loader: 'ts',
  }));
}
