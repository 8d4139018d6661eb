/** The files of collector-config, checked by the real program. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const folder = join(import.meta.dirname, '..', '..', 'collector-config');
const image = 'otel/opentelemetry-collector-contrib:0.158.0';
const variables = {
  OTEL_HOOKS_GATEWAY_TOKEN: 'token',
  OTEL_HOOKS_GATEWAY_CERT: '/cert.pem',
  OTEL_HOOKS_GATEWAY_KEY: '/key.pem',
  OTEL_HOOKS_QUEUE_ENDPOINT: 'http://back-end.invalid:4318',
  OTEL_HOOKS_JOURNAL: '/journal/*',
  APPLICATIONINSIGHTS_CONNECTION_STRING:
    'InstrumentationKey=00000000-0000-0000-0000-000000000000;IngestionEndpoint=https://ingest.invalid/',
};

test.each(readdirSync(folder).filter(name => name.endsWith('.yaml')))(
  'the collector accepts %s, and warns of nothing',
  name => {
    const env = Object.entries(variables).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
    const mount = ['-v', `${join(folder, name)}:/config.yaml:ro`];
    const checked = spawnSync(
      'docker',
      ['run', '--rm', '-u', '0:0', ...env, ...mount, image, 'validate', '--config=/config.yaml'],
      { encoding: 'utf8' },
    );
    expect(checked.stderr).toBe('');
    expect(checked.status).toBe(0);
  },
);

test.each(readdirSync(join(folder, 'also')))('the collector accepts local.yaml with also/%s', name => {
  const mount = ['-v', `${folder}:/config:ro`];
  const merged = ['--config=/config/local.yaml', `--config=/config/also/${name}`];
  const checked = spawnSync('docker', ['run', '--rm', '-u', '0:0', ...mount, image, 'validate', ...merged], {
    encoding: 'utf8',
  });
  expect(checked.stderr).toBe('');
  expect(checked.status).toBe(0);
});

test.each([
  ['check', 'rules', 'agents.yaml'],
  ['test', 'rules', 'agents.test.yaml'],
])('the alert rules: promtool %s %s %s', (...words) => {
  const mount = ['-v', `${join(folder, '..', 'grafana', 'rules')}:/rules:ro`, '-w', '/rules'];
  const program = ['--entrypoint', '/bin/promtool', 'prom/prometheus:v3.14.0'];
  const checked = spawnSync('docker', ['run', '--rm', ...mount, ...program, ...words], { encoding: 'utf8' });
  expect(checked.stdout + checked.stderr).toContain('SUCCESS');
  expect(checked.status).toBe(0);
});

test('every collector that takes OTLP masks secrets, and all know the same ones', () => {
  const blocked = (name: string): unknown =>
    (parse(readFileSync(join(folder, name), 'utf8')) as { processors: { redaction: object } }).processors.redaction;
  for (const other of ['gateway.yaml', 'queue.yaml', 'azure-monitor.yaml'])
    expect(blocked(other)).toEqual(blocked('local.yaml'));
});

interface Service {
  image: string;
  mem_limit?: string;
  restart?: string;
  ports?: { host_ip?: string }[];
  environment?: { [name: string]: string };
}
const read = (env: NodeJS.ProcessEnv = {}): { [name: string]: Service } => {
  const words = ['compose', '--profile', 'jaeger', 'config', '--format', 'json'];
  const text = execFileSync('docker', words, {
    cwd: join(folder, '..'),
    encoding: 'utf8',
    env: { ...process.env, OTEL_HOOKS_STACK_LISTEN: '', ...env },
  });
  return (JSON.parse(text) as { services: { [name: string]: Service } }).services;
};

test.each(Object.entries(read()))(
  '%s of the compose file is pinned, bounded, and on this machine alone',
  (_, service) => {
    expect(service.image).toMatch(/:v?\d+\.\d+\.\d+$/);
    expect(Number(service.mem_limit)).toBeGreaterThan(0);
    expect(service.restart).toBe('unless-stopped');
    expect(service.ports?.length).toBeGreaterThan(0);
    for (const port of service.ports ?? []) expect(port.host_ip).toBe('127.0.0.1');
  },
);

test('Grafana accepts no default password', () => {
  const passwordWith = (env: NodeJS.ProcessEnv): string | undefined =>
    read(env).grafana?.environment?.GF_SECURITY_ADMIN_PASSWORD;
  expect(passwordWith({ GRAFANA_PASSWORD: '' })).toMatch(/__file\{.*random/);
  expect(passwordWith({ GRAFANA_PASSWORD: 'of my own' })).toBe('of my own');
});
