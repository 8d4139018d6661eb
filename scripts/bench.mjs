/**
 * node scripts/bench.mjs [NAME [arguments]]: runs bench/NAME.ts, or all benchmarks that need no further programs, and
 * then prints each line about a gate again. `compare COMMIT [NAME...]` compares with another commit. Node 20 does not read TypeScript, so a benchmark is bundled first; packages
 * stay outside the bundle, so that the benchmark runs the packages that npm installed.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { compare } from './bench-compare.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'bench');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const [name, ...rest] = process.argv.slice(2);
const names = (existsSync(folder) ? readdirSync(folder) : [])
  .filter(file => file.endsWith('.ts'))
  .map(file => file.slice(0, -3));
/** Benchmarks that need further programs: Docker, and back ends that run there. */
const APART = ['stack'];
const MEMORY = '/dev/shm';
if (name === 'compare') process.exit(await compare(root, rest));
if (name !== undefined && !names.includes(name)) {
  console.error(`usage: npm run bench -- [${['compare COMMIT', ...names].join('|')} [arguments]]`);
  process.exit(2);
}
process.exit(name === undefined ? await runAll() : await run(name, rest));

async function runAll() {
  const table = [];
  let status = 0;
  for (const each of names.filter(known => !APART.includes(known))) {
    console.log(`\n== ${each}`);
    // A benchmark that runs again because of a missed gate prints the same line again: the last line counts.
    const verdicts = new Map();
    const onLine = line => {
      if (/\b(met|missed|MISSED)\b/.test(line) && !line.startsWith('missed in run'))
        verdicts.set(line.slice(0, 22), line);
    };
    status = Math.max(status, await run(each, [], onLine));
    table.push(`\n${each}`, ...verdicts.values());
  }
  console.log(`\n== all${table.map(line => `\n${line}`).join('')}`);
  return status;
}

async function run(name, words, onLine) {
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
  const stdio = ['inherit', onLine === undefined ? 'inherit' : 'pipe', 'inherit'];
  const env = { ...process.env, TMPDIR: process.env.TMPDIR ?? (isWritable(MEMORY) ? MEMORY : tmpdir()) };
  const child = spawn(process.execPath, ['--enable-source-maps', outfile, ...words], { stdio, cwd: root, env });
  if (onLine !== undefined) {
    for await (const line of createInterface({ input: child.stdout })) {
      console.log(line);
      onLine(line);
    }
  }
  return new Promise(resolve =>
    child.exitCode === null ? child.once('exit', code => resolve(code ?? 1)) : resolve(child.exitCode),
  );
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
