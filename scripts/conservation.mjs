/**
 * Injects faults and prints the fate of every event: the conservation report.
 *
 *     npm run conservation -- [--size quick|ci|full] [--seed N] [vitest's own arguments]
 *     node scripts/conservation.mjs --print REPORT [RESULTS]
 *
 * Without a seed a new one is taken and printed, so that the run can be repeated. `--print` only prints the rows that a
 * run of the tests wrote to the file in OTEL_HOOKS_REPORT (and reads vitest's JSON results for the rows that failed).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Rows that a complete report must have; it may have others too. */
const expected = [
  ...Array.from({ length: 17 }, (_, i) => `R${i + 1}`),
  ...['H1', 'H2', 'H3', 'H4', 'S1', 'S2', 'S3', 'S4', 'S5'],
];

const root = fileURLToPath(new URL('..', import.meta.url));
const words = process.argv.slice(2);

function run() {
  const size = flag('--size') ?? 'ci';
  const seed = flag('--seed') ?? process.env.OTEL_HOOKS_SEED ?? String(Math.floor(Math.random() * 100_000));
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-report-'));
  const report = join(folder, 'report');
  const results = join(folder, 'results.json');
  console.log(`seed ${seed} (npm run conservation -- --size ${size} --seed ${seed} repeats it)`);
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const { status } = spawnSync(
    process.execPath,
    [
      ...[vitest, 'run', 'test/obligations', ...words],
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${results}`],
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, OTEL_HOOKS_TEST_SIZE: size, OTEL_HOOKS_SEED: seed, OTEL_HOOKS_REPORT: report },
    },
  );
  const printed = print(report, results);
  rmSync(folder, { recursive: true });
  return status || printed;
}

/** Removes a flag and its value from the arguments. */
function flag(flag) {
  const at = words.indexOf(flag);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}

function print(report, results) {
  const rows = linesOf(report).toSorted((a, b) => order(a.id) - order(b.id));
  const failed = new Set(failedIn(results));
  const known = new Set(rows.map(each => each.id));
  const cells = rows.map(each => cellsOf(each, failed.has(each.id)));
  for (const id of failed) if (!known.has(id)) cells.push(sparse(id, '', 'FAILED before it had figures'));
  const missing = expected.filter(id => !known.has(id) && !failed.has(id));
  for (const id of missing) cells.push(sparse(id, '', 'not run: no test of this run reported it'));
  const all = [columns, ...cells];
  const widths = columns.map((_, i) => Math.max(...all.map(row => row[i].length)));
  console.log(
    `\nNode ${process.version}, ${process.platform} ${release()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB`,
  );
  for (const row of all)
    console.log(
      row
        .map((cell, i) => padded(cell, widths[i], i))
        .join('  ')
        .trimEnd(),
    );
  const skipped = rows.filter(each => each.notRun !== undefined);
  console.log(
    `\n${rows.length - skipped.length} rows reported, ${skipped.length} could not be run here, ${missing.length} missing, ${failed.size} failed`,
  );
  const isWhole = skipped.length + missing.length === 0 || !process.env.CI;
  return failed.size === 0 && isWhole ? 0 : 1;
}

function linesOf(file) {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));
}

function failedIn(results) {
  if (results === undefined || !existsSync(results)) return [];
  const { testResults } = JSON.parse(readFileSync(results, 'utf8'));
  return testResults
    .flatMap(file => file.assertionResults)
    .filter(test => test.status === 'failed')
    .map(test => /\b[A-Z]\d+\b/.exec(test.fullName)?.[0] ?? test.fullName);
}

const columns = [
  ...['row', 'fault', 'faults', 'obligations', 'delivered', 'duplicated', 'lost', 'quarantined', 'dropped'],
  ...['longest hook', 'RSS', 'seed', ''],
];
const count = value => (value === undefined ? '' : String(value));

function cellsOf(each, hasFailed) {
  if (each.notRun !== undefined) return sparse(each.id, each.fault, `not run: ${each.notRun}`);
  return [
    each.id,
    each.fault,
    ...[each.faults, each.obligations, each.delivered, each.duplicated, each.lost, each.quarantined].map(count),
    count(each.dropped),
    each.longestHookMs === undefined ? '' : `${Math.round(each.longestHookMs)} ms`,
    each.rssMb === undefined ? '' : `${Math.round(each.rssMb)} MB`,
    count(each.seed),
    [hasFailed ? 'FAILED' : '', each.note ?? ''].filter(text => text !== '').join('; '),
  ];
}

const sparse = (id, fault, note = '') => [id, fault, ...Array(columns.length - 3).fill(''), note];

function padded(cell, width, i) {
  return i < 2 || i === columns.length - 1 ? cell.padEnd(width) : cell.padStart(width);
}

function order(id) {
  const at = expected.indexOf(id);
  return at < 0 ? expected.length : at;
}

process.exit(words[0] === '--print' ? print(words[1] ?? '', words[2]) : run());
