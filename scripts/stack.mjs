/**
 * npm run stack [-- SERVICES]: starts the stack of docker-compose.yml, waits until it is ready, plays a session into it
 * and prints the addresses. With names of services, only those.
 */
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
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
const started = await run('docker', ['compose', 'up', '-d', '--wait', ...process.argv.slice(2)]);
if (started.code !== 0) process.exit(started.code);
await run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
const collector = addressOf('collector', 4318);
const grafana = addressOf('grafana', 3000);
if (grafana !== undefined && !(await isReady(`${grafana}/api/health`))) {
  console.error(`otel-hooks: Grafana does not answer at ${grafana}.\n  next: docker compose logs grafana`);
  process.exit(1);
}
const demo = await run(process.execPath, [join(root, 'dist', 'otel-hooks.cjs'), 'demo', '--otlp', collector]);
const session = /session\.id = (\S+)/.exec(demo.out)?.[1] ?? '';
const places = [
  ['all dashboards', grafana, '/dashboards'],
  ['this session', grafana, `/d/otel-hooks-session?var-session=${session}`],
  ['all agents', grafana, '/d/otel-hooks-fleet'],
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
