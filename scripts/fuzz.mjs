/**
 * Fuzzes every reader for a long time, and measures the growth of every pattern with texts of up to a megabyte.
 *
 *     npm run fuzz -- [--runs N] [--seed N] [vitest's own arguments]
 *     npm run fuzz -- manifests [--runs 4000] [--seed N]     random manifests at every target of `convert`
 *
 * Without a seed a new one is taken and printed, so that the run can be repeated.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const words = process.argv.slice(2);
const seed = flag('--seed') ?? String(Math.floor(Math.random() * 1_000_000));
const isManifests = words[0] === 'manifests';
if (isManifests) words.shift();
const runs = flag('--runs') ?? (isManifests ? '4000' : '2000');
console.log(
  `seed ${seed} (npm run fuzz -- ${isManifests ? 'manifests ' : ''}--runs ${runs} --seed ${seed} repeats it)`,
);
const files = isManifests ? ['test/interchange/random-manifests.test.ts'] : ['test/fuzz', 'test/enrich/linear.test.ts'];
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...files, ...words],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, OTEL_HOOKS_FUZZ: 'long', OTEL_HOOKS_FUZZ_RUNS: runs, OTEL_HOOKS_SEED: seed },
  },
);
process.exitCode = status ?? 1;

/** Removes a flag and its value from the arguments. */
function flag(name) {
  const at = words.indexOf(name);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}
