/**
 * Installs the packed tarball beside an application on OpenTelemetry SDK 2.x and beside one on 3.x: npm may say nothing
 * new, and every package of the application must be there once, in the version it had. Needs the npm registry.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const applications = {
  'SDK 2.x': {
    '@opentelemetry/api': '1.9.1',
    '@opentelemetry/sdk-trace-node': '2.12.0',
    '@opentelemetry/sdk-metrics': '2.12.0',
    '@opentelemetry/sdk-logs': '0.223.0',
    '@opentelemetry/exporter-trace-otlp-proto': '0.223.0',
  },
  'SDK 3.x': {
    '@opentelemetry/api': '1.10.0',
    '@opentelemetry/sdk-trace': '3.1.1',
    '@opentelemetry/sdk-metrics': '3.1.1',
    '@opentelemetry/sdk-logs': '3.1.1',
    '@opentelemetry/exporter-trace-otlp-proto': '0.301.1',
  },
};

const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-neighbours-'));
try {
  const packed = npm(root, ['pack', '--pack-destination', folder]);
  const tarball = readdirSync(folder).find(file => file.endsWith('.tgz'));
  if (packed.status !== 0 || tarball === undefined) throw new Error(`npm pack failed:\n${packed.stderr}`);
  for (const [name, dependencies] of Object.entries(applications)) {
    const problems = beside(join(folder, name.replace(/\W+/g, '-')), dependencies, join(folder, tarball));
    console.log(`beside ${name}: ${problems.length === 0 ? 'ok' : 'failed'}`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function beside(application, dependencies, tarball) {
  mkdirSync(application);
  writeFileSync(
    join(application, 'package.json'),
    JSON.stringify({ name: 'application', private: true, dependencies }),
  );
  const alone = npm(application, ['install']);
  if (alone.status !== 0) return [`the application itself could not be installed: ${alone.stderr}`];
  const before = copies(application);
  const known = new Set(warnings(alone));

  const both = npm(application, ['install', tarball]);
  if (both.status !== 0) return [`npm install failed: ${both.stderr}`];
  const after = copies(application);
  const problems = warnings(both).filter(line => !known.has(line));
  problems.push(...after.filter(copy => !before.includes(copy)).map(copy => `new in the application: ${copy}`));
  problems.push(...before.filter(copy => !after.includes(copy)).map(copy => `gone from the application: ${copy}`));
  if (!existsSync(join(application, 'node_modules', 'otel-hooks'))) problems.push('otel-hooks is not there');

  // A strict installation from nothing, as a CI of theirs would do it.
  rmSync(join(application, 'node_modules'), { recursive: true });
  rmSync(join(application, 'package-lock.json'));
  const strict = npm(application, ['install', '--strict-peer-deps']);
  if (strict.status !== 0) problems.push(`npm install --strict-peer-deps failed: ${strict.stderr}`);
  const listed = npm(application, ['ls', '--all']);
  if (listed.status !== 0) problems.push(`npm ls finds: ${listed.stderr}`);
  return problems;
}

/** Every installed package but ours, with its place and version. */
function copies(application) {
  const listed = npm(application, ['query', '*']);
  if (listed.status !== 0) throw new Error(`npm query failed: ${listed.stderr}`);
  return JSON.parse(listed.stdout)
    .filter(({ name, location }) => location !== '' && name !== 'otel-hooks')
    .map(({ location, version }) => `${location}@${version}`)
    .sort();
}

function warnings({ stdout, stderr }) {
  return `${stdout}\n${stderr}`.split('\n').filter(line => /\b(warn|ERESOLVE|peer)\b/i.test(line));
}

function npm(cwd, words) {
  return spawnSync('npm', [...words, '--no-audit', '--no-fund'], { cwd, encoding: 'utf8' });
}
