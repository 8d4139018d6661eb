/**
 * The tests of test/scale in full size, and their figures as a table. OTEL_HOOKS_SEED chooses the seed; without it, it
 * is a new one, printed so that a run can be repeated.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-figures-'));
const figures = join(folder, 'figures');
const seed = process.env.OTEL_HOOKS_SEED ?? String(Math.floor(Math.random() * 100_000));
console.log(`seed ${seed} (OTEL_HOOKS_SEED=${seed} npm run scale repeats it)`);
const run = spawnSync(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', 'test/scale'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, OTEL_HOOKS_TEST_SIZE: 'full', OTEL_HOOKS_SEED: seed, OTEL_HOOKS_FIGURES: figures },
});
const lines = existsSync(figures) ? readFileSync(figures, 'utf8').trim().split('\n') : [];
rmSync(folder, { recursive: true });

const columns = ['run', 'hooks', 'kills', 'seconds', 'spans', 'records', 'counted', 'repeated', 'in requests'];
const rows = lines.map(line => rowOf(JSON.parse(line)));
const widths = columns.map((column, i) => Math.max(column.length, ...rows.map(row => row[i].length)));
for (const row of [columns, ...rows]) {
  console.log(row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '));
}
process.exit(run.status ?? 1);

function rowOf({ what, sh, node, parallel, kills, fragments, bytes, seconds, ...rest }) {
  const most = fragments > 0 ? `${short(fragments)} fragments, ${short(bytes)} bytes` : 'as usual';
  const name = what === 'rounds' ? `rounds: ${most}` : `${sh} sh, ${node} Node, ${parallel} at a time`;
  return [
    name,
    what === 'rounds' ? '' : String(sh + node),
    kills === undefined ? '' : String(kills),
    seconds.toFixed(1),
    ...[rest.spans, rest.records, rest.counted, rest.repeatedItems, rest.repeatedRequests].map(String),
  ];
}

function short(limit) {
  return limit >= 1e9 ? 'any' : String(limit);
}
