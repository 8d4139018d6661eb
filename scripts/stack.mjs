/**
 * npm run stack [-- --sample] [-- SERVICES]: starts the stack of docker-compose.yml, waits until it is ready, plays a
 * session into it and prints the addresses. With names of services, only those. `--sample` first plays an hour of work of
 * several agents, so that each dashboard has something to show.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const words = process.argv.slice(2);
const isSampled = words.includes('--sample');
const services = words.filter(word => word !== '--sample');
const unknown = services.filter(word => word.startsWith('-'));
if (unknown.length > 0) {
  console.error(`otel-hooks: unknown flag ${unknown.join(' ')}\n  usage: npm run stack [-- --sample] [-- SERVICES]`);
  process.exit(2);
}
const compose = (...words) => execFileSync('docker', ['compose', ...words], { cwd: root, encoding: 'utf8' }).trim();

try {
  compose('version');
  execFileSync('docker', ['info'], { stdio: 'ignore' });
} catch {
  console.error(
    'otel-hooks: the stack needs a Docker engine with the compose plugin; nothing was started.\n' +
      '  next: install and start one until `docker info` and `docker compose version` answer, or see the same session without any: npm run demo',
  );
  process.exit(1);
}
const started = await run('docker', ['compose', 'up', '-d', '--wait', ...services]);
if (started.code !== 0) process.exit(started.code);
await run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
const collector = addressOf('collector', 4318);
const grafana = addressOf('grafana', 3000);
if (grafana !== undefined && !(await isReady(`${grafana}/api/health`))) {
  console.error(`otel-hooks: Grafana does not answer at ${grafana}.\n  next: docker compose logs grafana`);
  process.exit(1);
}
if (isSampled) {
  console.log('\nPlays an hour of work of several agents ...');
  await playSample(collector);
}
const demo = await run(process.execPath, [join(root, 'dist', 'otel-hooks.cjs'), 'demo', '--otlp', collector]);
const session = /session\.id = (\S+)/.exec(demo.out)?.[1] ?? '';
const trace = await traceOf(session);
const places = [
  ['all agents, start here', grafana, '/'],
  ['the session just played', grafana, `/d/otel-hooks-session?var-session=${session}${trace && `&var-trace=${trace}`}`],
  ['all dashboards', grafana, '/dashboards'],
  ['Jaeger', addressOf('jaeger', 16686), '/search'],
  ['Prometheus', addressOf('prometheus', 9090), '/alerts'],
  ['your agents send to', collector, ''],
].filter(([, address]) => address !== undefined);
console.log(`\n${places.map(([what, address, path]) => `${what.padEnd(25)}${address}${path}`).join('\n')}`);
console.log(`\nStop it: npm run stack:down`);
process.exitCode = demo.code;

/** Asks for at most a minute: the container has no health check of its own. */
async function isReady(url) {
  for (let tries = 0; tries < 120; tries += 1) {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
    if (response?.ok) return true;
    await new Promise(resolve => setTimeout(resolve, 500));
  }
  return false;
}

/** The sample is TypeScript, so it is bundled into a file that Node can read. */
async function playSample(endpoint) {
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-sample-'));
  try {
    const outfile = join(folder, 'sample.mjs');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    await esbuild.build({
      entryPoints: [join(root, 'test', 'stack', 'sample-day.ts')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      // The other form of jsonc-parser loads its parts by names that only Node resolves.
      mainFields: ['module', 'main'],
      define: { __VERSION__: JSON.stringify(version) },
      banner: {
        js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
      },
      plugins: [{ name: 'source-folders', setup: keepSourceFolders }],
      outfile,
      logLevel: 'warning',
    });
    const { playSampleDay } = await import(pathToFileURL(outfile).href);
    await playSampleDay(join(root, 'dist', 'otel-hooks.cjs'), endpoint);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A source that reads files beside itself finds them beside the source, not beside the bundle. */
function keepSourceFolders(build) {
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8')
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    loader: 'ts',
  }));
}

/** The id of a session's trace, or an empty text while Tempo does not find it. */
async function traceOf(id) {
  const tempo = addressOf('tempo', 3200);
  if (tempo === undefined || id === '') return '';
  for (let tries = 0; tries < 20; tries += 1) {
    const query = encodeURIComponent(`{ span.session.id = "${id}" }`);
    const response = await fetch(`${tempo}/api/search?q=${query}`).catch(() => undefined);
    const found = response?.ok ? await response.json() : {};
    if (found.traces?.length > 0) return found.traces[0].traceID;
    await new Promise(resolve => setTimeout(resolve, 500));
  }
  return '';
}

/** The address on the host, or undefined if the service does not run. */
function addressOf(service, port) {
  try {
    return `http://${execFileSync('docker', ['compose', 'port', service, String(port)], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()}`;
  } catch {
    return undefined;
  }
}

/** Prints the output immediately, and returns it at the end. */
function run(command, words) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { cwd: root, stdio: ['inherit', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', part => {
      process.stdout.write(part);
      out += part;
    });
    child.on('error', reject).on('close', code => resolve({ code: code ?? 1, out }));
  });
}
