/**
 * The image of the Dockerfile: built here, run as the documentation for platform engineers describes, before the
 * Collector of the compose file.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { traceIdOf } from '../../src/telemetry/ids.ts';
import { agentHooks } from '../serve/standing.ts';
import { eventually, tempoSpans } from './backends.ts';
import { besideLabel } from './compose.ts';

const root = join(import.meta.dirname, '..', '..');
const stack = inject('stack');
const tag = `otel-hooks-image-${process.pid}`;
const base = `otel-hooks-base-${process.pid}`;
const TOKEN = 't'.repeat(43);
let place: string;
let built: string;
let withOwnBase = false;

const docker = (...words: string[]): string =>
  execFileSync('docker', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
const label = ['--label', besideLabel(stack.project)];

/** The image that the Dockerfile names when the engine has it; otherwise one with this machine's Node and shell. */
function chooseBase(): string[] {
  try {
    docker('image', 'inspect', 'node:24-bookworm-slim');
    return [];
  } catch {
    importBase();
    withOwnBase = true;
    return ['--build-arg', `BASE=${base}`];
  }
}

function importBase(): void {
  const files = join(place, 'base');
  const programs = [process.execPath, ...['sh', 'mkdir', 'chown', 'ln', 'env'].map(name => findProgram(name))];
  for (const program of programs) {
    const name = program === process.execPath ? 'node' : basename(program);
    copyInto(files, realpathSync(program), `/usr/bin/${name}`);
    for (const library of librariesOf(program)) copyInto(files, realpathSync(library), library);
  }
  symlinkSync('usr/bin', join(files, 'bin'));
  mkdirSync(join(files, 'tmp'));
  mkdirSync(join(files, 'usr/local/bin'), { recursive: true });
  execFileSync('tar', ['-cf', join(place, 'base.tar'), '-C', files, '.']);
  docker('import', '--change', 'ENV PATH=/usr/local/bin:/usr/bin:/bin', join(place, 'base.tar'), base);
}

const findProgram = (name: string): string =>
  execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();

const librariesOf = (program: string): string[] =>
  [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)].map(match => match[1] ?? '');

function copyInto(folder: string, from: string, to: string): void {
  const target = join(folder, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(from, target);
  chmodSync(target, 0o755);
}

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'otel-hooks-image-'));
  built = docker('build', '--quiet', '--force-rm', '--tag', tag, ...chooseBase(), '.');
  // As an orchestrator mounts a secret: owned by root, readable by the group of the container.
  mkdirSync(join(place, 'token'), { mode: 0o755 });
  writeFileSync(join(place, 'token', 'token'), `${TOKEN}\n`, { mode: 0o440 });
  chmodSync(place, 0o755);
  chownSync(join(place, 'token', 'token'), 0, 1000);
});
afterAll(() => {
  const own = docker('ps', '-aq', '--filter', `ancestor=${tag}`);
  if (own !== '') docker('rm', '-f', '-v', ...own.split('\n'));
  docker('rmi', '-f', tag, ...(withOwnBase ? [base] : []));
  rmSync(place, { recursive: true, force: true });
});

interface Sent {
  path: string;
  host: string;
  body?: string;
}

function send(port: string, { path, host, body }: Sent): Promise<number> {
  const headers = { host, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const asked = request({ port, path, headers, method: body === undefined ? 'GET' : 'POST' }, answer => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

test('runs without root, and is not reachable from other machines by default', () => {
  const [{ Config: config }] = JSON.parse(docker('image', 'inspect', built)) as [
    { Config: { User: string; Cmd: string[]; ExposedPorts: object } },
  ];
  expect([config.User, config.Cmd, Object.keys(config.ExposedPorts)]).toEqual(['1000:1000', ['serve'], ['4319/tcp']]);
  expect(docker('run', '--rm', ...label, tag, 'version')).toMatch(/^\d+\.\d+\.\d+/);
  const refused = (): string => docker('run', '--rm', ...label, tag, 'serve', '--listen', '0.0.0.0:4319');
  expect(refused).toThrow('can be reached from other machines');
});

test('on a read-only file system it takes events under its name, and the Collector gets their trace', async () => {
  const session = `image-${process.pid}`;
  const container = docker(
    ...['run', '-d', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', ...label],
    ...['--network', `${stack.project}_stack`, '-p', '127.0.0.1::4319'],
    ...['-v', '/var/lib/otel-hooks', '-v', `${join(place, 'token')}:/run/secrets/otel-hooks:ro`],
    ...['-e', 'OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318', tag],
    ...['serve', '--listen=0.0.0.0:4319', '--tls-elsewhere', '--allow-host=otel-hooks'],
    '--token-file=/run/secrets/otel-hooks/token',
  );
  const port = docker('port', container, '4319').split(':').at(-1) ?? '';
  await eventually(
    () => send(port, { path: '/readyz', host: 'balancer.example' }),
    status => status === 200,
  );
  const event = (n: number, event_type: string, data: object): object =>
    agentHooks(n, { event_type, data, session_id: session, timestamp: new Date().toISOString() });
  const body = JSON.stringify([
    event(1, 'Session.Start', { start_reason: 'new' }),
    event(2, 'Session.End', { end_reason: 'exit' }),
  ]);
  expect(await send(port, { path: '/v1/events', host: 'otel-hooks:4319', body })).toBe(200);
  expect(await send(port, { path: '/v1/events', host: 'evil.example', body })).toBe(421);
  const spans = await eventually(
    () => tempoSpans(stack, traceIdOf({ agent: 'my-agent', session, segment: 0 })),
    found => found.length > 0,
  );
  expect(spans.map(({ service }) => service)).toContain('my-agent');

  const [{ Config: config }] = JSON.parse(docker('inspect', container)) as [
    { Config: { Healthcheck: { Test: string[] } } },
  ];
  docker('exec', container, ...config.Healthcheck.Test.slice(1));
  expect(docker('exec', container, 'otel-hooks', 'status')).toContain('/var/lib/otel-hooks/state');
  docker('stop', '--time', '20', container);
  expect(docker('inspect', '--format', '{{.State.ExitCode}}', container)).toBe('0');
});
