/**
 * Checks the tarball as npm would publish it, unused code in the sources, and known advisories. Each gate prints one
 * line; the exit code is 1 when one of them has a finding. `--only NAME` runs one.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const only = process.argv[2] === '--only' ? process.argv[3] : undefined;
const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-pack-'));

try {
  const tarball = pack();
  const gates = {
    knip: () => tool('knip', ['--no-progress']),
    publint: () => tool('publint', ['run', tarball, '--strict']),
    // `node10` knows no `exports`: it finds the main entry only.
    types: () => tool('attw', [tarball, '--profile', 'node16', '--format', 'ascii', '--no-color']),
    dependencies: () => dependencies(tarball),
    licences: () => licences(tarball),
    audit: () => audit(tarball),
  };
  if (only !== undefined && gates[only] === undefined) {
    console.error(`usage: npm run check:package -- [--only ${Object.keys(gates).join('|')}]`);
    process.exit(2);
  }
  for (const [name, gate] of Object.entries(gates)) {
    if (only !== undefined && only !== name) continue;
    const found = gate();
    if (found?.notDone !== undefined) {
      console.log(`${name}: NOT DONE: ${found.notDone}`);
      continue;
    }
    console.log(`${name}: ${found === undefined ? 'ok' : 'failed'}`);
    if (found === undefined) continue;
    console.log(found);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function pack() {
  const done = spawnSync('npm', ['pack', '--pack-destination', folder], { cwd: root, encoding: 'utf8' });
  const name = readdirSync(folder).find(file => file.endsWith('.tgz'));
  if (done.status !== 0 || name === undefined) throw new Error(`npm pack failed:\n${done.stderr}`);
  return join(folder, name);
}

/** Undefined when the tool has no finding. */
function tool(name, words) {
  const done = spawnSync(join(root, 'node_modules', '.bin', name), words, { cwd: root, encoding: 'utf8' });
  return done.status === 0 ? undefined : `${done.stdout}${done.stderr}${done.error ?? ''}`;
}

/** The text of a file of the package. */
function read(tarball, file) {
  const done = spawnSync('tar', ['-xOzf', tarball, `package/${file}`], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.status !== 0) throw new Error(`tar could not read ${file} of the package: ${done.stderr}`);
  return done.stdout;
}

/**
 * Each package of the bill of materials has a licence that allows to pass its text on, and the text is in the package.
 */
function licences(tarball) {
  const texts = read(tarball, 'dist/THIRD-PARTY-LICENSES.txt');
  const { components } = JSON.parse(read(tarball, 'dist/sbom.cdx.json'));
  if (components.length === 0) return 'the bill of materials is empty';
  const found = components.flatMap(({ name, version, licenses = [] }) => {
    const ids = licenses.map(({ license, expression }) => license?.id ?? expression ?? 'unknown');
    const title = `${name} ${version} (${ids.join(' and ')})`;
    if (!texts.split('\n').includes(title)) return `${title} has no text in THIRD-PARTY-LICENSES.txt`;
    return [];
  });
  return found.length === 0 ? undefined : found.join('\n');
}

/**
 * Known advisories. Each advisory of a bundled package fails; of the tools that build and test, only critical ones
 * fail.
 *
 * A registry without an audit endpoint (it answers 404, 405 or 501) has no answer: the gate prints that and passes,
 * because no change of this project could repair it. Every other failure to get an answer fails.
 */
function audit(tarball) {
  const bundled = new Set(JSON.parse(read(tarball, 'dist/sbom.cdx.json')).components.map(({ name }) => name));
  const done = spawnSync('npm', ['audit', '--json'], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  let audit;
  try {
    audit = JSON.parse(done.stdout);
  } catch {
    return `npm audit did not answer in JSON: ${done.stdout}${done.stderr}`;
  }
  if (audit.vulnerabilities === undefined) {
    const status = Number(audit.statusCode ?? /\b([45]\d\d) [A-Z]/.exec(done.stderr)?.[1]);
    if (![404, 405, 501].includes(status)) return `npm audit got no answer: ${audit.message ?? done.stderr}`;
    return { notDone: `the registry has no audit endpoint (${status}); nothing is known of advisories` };
  }
  const found = Object.values(audit.vulnerabilities).filter(
    ({ name, severity }) => bundled.has(name) || severity === 'critical',
  );
  const lines = found.map(
    ({ name, severity, range }) => `${name} ${range}: ${severity}${bundled.has(name) ? ', bundled' : ''}`,
  );
  return lines.length === 0 ? undefined : lines.join('\n');
}

function dependencies(tarball) {
  const packed = JSON.parse(read(tarball, 'package.json'));
  const peers = Object.keys(packed.peerDependencies ?? {}).filter(
    name => packed.peerDependenciesMeta?.[name]?.optional !== true,
  );
  const kinds = ['dependencies', 'optionalDependencies', 'bundledDependencies', 'bundleDependencies'];
  const named = kinds.flatMap(kind => Object.keys(packed[kind] ?? {}).map(name => `${kind}: ${name}`));
  named.push(...peers.map(name => `peerDependencies: ${name} is not optional`));
  return named.length === 0 ? undefined : named.join('\n');
}
