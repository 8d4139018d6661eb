/**
 * The project's own compose file, started once for all tests: free ports, a project name of its own, and a complete
 * removal afterwards. Grafana also gets the alert rules of `grafana/alerting`, as in a team that uses Grafana's own
 * alerting.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DockerComposeEnvironment, Wait } from 'testcontainers';
import type { TestProject } from 'vitest/node';

export interface Stack {
  project: string;
  collector: string;
  collectorGrpc: string;
  collectorHealth: string;
  tempo: string;
  loki: string;
  prometheus: string;
  jaeger: string;
  jaegerOtlp: string;
  grafana: string;
  /** The packed tarball, installed as a user installs it. */
  program: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    stack: Stack;
  }
}

const root = join(import.meta.dirname, '..', '..');

/** The admin of the Grafana under test, which lives as long as the tests. */
export const ADMIN = { user: 'admin', password: 'of-these-tests' };

/** On containers that tests start beside the stack. */
export const besideLabel = (project: string): string => `otel-hooks.beside=${project}`;

export default async function compose(vitest: TestProject): Promise<() => void> {
  try {
    execFileSync('docker', ['compose', 'version'], { stdio: 'ignore' });
    execFileSync('docker', ['info'], { stdio: 'ignore' });
  } catch {
    throw new Error(
      'these tests run against real back ends and need a Docker engine with the compose plugin; nothing was tested.\n' +
        '  next: install and start one until `docker info` and `docker compose version` answer (DOCKER_HOST names an engine ' +
        'elsewhere), then `npm run test:stack`.',
    );
  }
  const names = [
    'COLLECTOR_HTTP',
    'COLLECTOR_GRPC',
    'COLLECTOR_HEALTH',
    'TEMPO',
    'LOKI',
    'PROMETHEUS',
    'JAEGER',
    'JAEGER_OTLP',
    'GRAFANA',
  ];
  const ports = Object.fromEntries(await freePorts(names));
  const url = (name: string): string => `http://127.0.0.1:${ports[`${name}_PORT`]}`;
  const project = `otel-hooks-test-${process.pid}`;
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-stack-'));
  const program = install(folder);
  // Ryuk would be one more image to download; the teardown below removes the containers.
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
  // The ports of the compose file listen on this address only.
  process.env.TESTCONTAINERS_HOST_OVERRIDE = '127.0.0.1';
  const services = ['tempo', 'loki', 'prometheus', 'jaeger', 'collector', 'grafana'];
  const health = Wait.forHealthCheck();
  const environment = new DockerComposeEnvironment(root, ['docker-compose.yml', 'test/stack/alerting.yaml'])
    .withProjectName(project)
    .withProfiles('jaeger')
    .withEnvironment({
      COMPOSE_PROFILES: 'jaeger',
      GRAFANA_PASSWORD: ADMIN.password,
      ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
    })
    .withWaitStrategy('tempo-1', health)
    .withWaitStrategy('loki-1', health)
    .withWaitStrategy('prometheus-1', health)
    .withWaitStrategy('collector-1', Wait.forHttp('/', 13133).forStatusCode(200))
    .withWaitStrategy('jaeger-1', Wait.forHttp('/api/services', 16686).forStatusCode(200))
    .withWaitStrategy('grafana-1', Wait.forHttp('/api/health', 3000).forStatusCode(200))
    .withStartupTimeout(90_000);
  const down = (): void => {
    const docker = (...words: string[]): string => execFileSync('docker', words, { cwd: root, encoding: 'utf8' });
    const beside = docker('ps', '-aq', '--filter', `label=${besideLabel(project)}`).trim();
    if (beside !== '') docker('rm', '-f', '-v', ...beside.split('\n'));
    // Without a profile compose would leave the containers of the profile.
    const named = ['compose', '--progress', 'quiet', '-p', project, '--profile', '*'];
    docker(...named, 'down', '--volumes', '--remove-orphans', '--timeout', '1');
    rmSync(folder, { recursive: true, force: true });
  };
  // An interrupted run leaves no containers either.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      down();
      process.exit(1);
    });
  }
  try {
    await environment.up(services);
  } catch (error) {
    down();
    throw error;
  }
  vitest.provide('stack', {
    project,
    collector: url('COLLECTOR_HTTP'),
    collectorGrpc: url('COLLECTOR_GRPC'),
    collectorHealth: url('COLLECTOR_HEALTH'),
    tempo: url('TEMPO'),
    loki: url('LOKI'),
    prometheus: url('PROMETHEUS'),
    jaeger: url('JAEGER'),
    jaegerOtlp: url('JAEGER_OTLP'),
    grafana: url('GRAFANA'),
    program,
  });
  return down;
}

/** The tarball into an empty folder, without scripts and without the network. */
function install(folder: string): string {
  const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
  });
  const tarball = join(folder, packed.trim().split('\n').at(-1) ?? '');
  const prefix = ['--prefix', join(folder, 'installed')];
  execFileSync('npm', ['install', '--offline', '--silent', '--no-audit', '--no-fund', ...prefix, tarball], {
    cwd: folder,
    env: { ...process.env, HOME: folder },
  });
  return join(folder, 'installed', 'node_modules', '.bin', 'otel-hooks');
}

async function freePorts(names: readonly string[]): Promise<[string, number][]> {
  const servers = await Promise.all(
    names.map(
      () =>
        new Promise<ReturnType<typeof createServer>>(resolve => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map(server => {
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  });
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return names.map((name, i) => [`${name}_PORT`, ports[i] ?? 0]);
}
