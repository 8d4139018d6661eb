/**
 * Looks at the tarball as npm would publish it, and at what the sources no longer use. Each gate prints one line; the
 * exit code is 1 when one of them found something. `--only NAME` runs one.
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
    // CommonJS callers are told so by Node itself; the bin is the only CommonJS here.
    types: () => tool('attw', [tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-color']),
    dependencies: () => dependencies(tarball),
  };
  if (only !== undefined && gates[only] === undefined) {
    console.error(`usage: npm run check:package -- [--only ${Object.keys(gates).join('|')}]`);
    process.exit(2);
  }
  for (const [name, gate] of Object.entries(gates)) {
    if (only !== undefined && only !== name) continue;
    const found = gate();
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

/** Undefined when the tool has nothing to say against it. */
function tool(name, words) {
  const done = spawnSync(join(root, 'node_modules', '.bin', name), words, { cwd: root, encoding: 'utf8' });
  return done.status === 0 ? undefined : `${done.stdout}${done.stderr}${done.error ?? ''}`;
}

function dependencies(tarball) {
  const done = spawnSync('tar', ['-xOzf', tarball, 'package/package.json'], { encoding: 'utf8' });
  if (done.status !== 0) return `tar could not read the package: ${done.stderr}`;
  const packed = JSON.parse(done.stdout);
  const kinds = [
    'dependencies',
    'peerDependencies',
    'optionalDependencies',
    'bundledDependencies',
    'bundleDependencies',
  ];
  const named = kinds.flatMap(kind => Object.keys(packed[kind] ?? {}).map(name => `${kind}: ${name}`));
  return named.length === 0 ? undefined : named.join('\n');
}
