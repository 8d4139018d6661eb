/**
 * Runs scenarios with real agents against a scripted model.
 *
 *     npm run test:agents -- [--all] [--agent NAME,...] [--scenario NAME,...] [--repeat N] [--keep]
 *                             [--update] [--record] [--install-only]
 *     npm run agents:newest -- [the same]
 *
 * Without flags: the scenarios marked `ci`. The agents come from npm in the versions of test/real/agents.json, into a
 * cache outside the repository (OTEL_HOOKS_AGENTS_CACHE, or otel-hooks/agents in the user's cache folder). Needs
 * `unshare`, `ip`, `git`, `python3`.
 *
 *     --newest  takes the newest published versions, and prints their events, fields, row types and tools that the
 *               pinned versions do not have (test/real/shapes.json)
 *     --repeat  runs each scenario N times; each time must give the expected tree
 *     --update  writes the received trees into the scenarios: read them before you commit
 *     --record  writes the results into test/real/results.json, from which `npm run docs` writes the tables of agents,
 *               and the shapes into test/real/shapes.json
 *     --keep    keeps the folders of successful runs too; those of failed runs are always kept and named
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const words = process.argv.slice(2);
const isNewest = flag('--newest');
const isAll = flag('--all');
const keeps = flag('--keep');
const updates = flag('--update');
const records = flag('--record');
const installsOnly = flag('--install-only');
const chosen = value('--agent');
const scenarios = value('--scenario');
const repeats = value('--repeat');
if (records && (updates || repeats !== undefined))
  fail('--record takes one run as it is: leave --update and --repeat out');

const { env } = process;
const cache = resolve(
  env.OTEL_HOOKS_AGENTS_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'otel-hooks', 'agents'),
);
const manifest = JSON.parse(readFileSync(join(root, 'test', 'real', 'agents.json'), 'utf8'));
const drivers = Object.keys(manifest).filter(agent => existsSync(join(root, 'test', 'real', 'agents', `${agent}.ts`)));
const agents = chosen === undefined ? drivers : chosen.split(',');
const versions = {};
for (const agent of agents) {
  const { package: name, version, scripts, beside } = manifest[agent] ?? {};
  if (name === undefined)
    fail(`no agent ${agent} in test/real/agents.json; it has ${Object.keys(manifest).join(', ')}`);
  versions[agent] = isNewest ? newestOf(name) : version;
  install(agent, name, versions[agent], scripts, beside);
}
if (installsOnly) process.exit(0);

// Vitest takes a file without tests as a failure: the choice of scenarios leaves one of the two without any.
const named = scenarios?.split(',');
const suites = ['agents', 'guards']
  .filter(suite => named?.some(name => (name === 'guards') === (suite === 'guards')) ?? true)
  .map(suite => `test/real/${suite}.test.ts`);
const folder = mkdtempSync(join(tmpdir(), 'real-agents-'));
const results = env.OTEL_HOOKS_RESULTS ?? join(folder, 'results.jsonl');
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '-c', 'vitest.agents.config.ts', ...suites, ...words],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...env,
      OTEL_HOOKS_AGENTS_CACHE: cache,
      OTEL_HOOKS_RESULTS: results,
      OTEL_HOOKS_AGENTS: agents.join(','),
      OTEL_HOOKS_AGENT_VERSIONS: JSON.stringify(versions),
      ...(isAll ? { OTEL_HOOKS_ALL: '1' } : {}),
      ...(updates ? { OTEL_HOOKS_UPDATE: '1' } : {}),
      ...(records ? { OTEL_HOOKS_RECORD: '1' } : {}),
      ...(keeps ? { OTEL_HOOKS_KEEP: '1' } : {}),
      ...(scenarios === undefined ? {} : { OTEL_HOOKS_SCENARIOS: scenarios }),
      ...(repeats === undefined ? {} : { OTEL_HOOKS_REPEAT: repeats }),
    },
  },
);
process.exitCode = status ?? 1;
if (isNewest) printUnknown();
rmSync(folder, { recursive: true, force: true });

/** Lists the parts of the newest versions that no pinned version has. */
function printUnknown() {
  const rows = existsSync(results) ? readFileSync(results, 'utf8').trim().split('\n').filter(Boolean) : [];
  const all = rows.map(row => JSON.parse(row));
  for (const agent of agents) {
    const of = all.filter(row => row.agent === agent);
    const unknown = [...new Set(of.flatMap(row => row.unknown))].sort();
    const parts = unknown.length === 0 ? 'nothing unknown' : `${unknown.length} unknown`;
    const found = of.length === 0 ? 'no scenario ran' : `${parts} in ${of.length} scenarios`;
    console.log(`${agent} ${versions[agent]} (checked with ${manifest[agent].version}): ${found}`);
    for (const each of unknown) console.log(`  ${each}`);
  }
}

/** Installs into a temporary folder and renames it, so that an interrupted installation does not count as complete. */
function install(agent, name, version, scripts, beside = []) {
  const folder = join(cache, `${agent}-${version}`);
  const modules = join(folder, 'node_modules');
  if (['.bin', ...beside].every(each => existsSync(join(modules, each)))) return;
  mkdirSync(cache, { recursive: true });
  console.log(`installing ${name} ${version} into ${folder}`);
  const fresh = mkdtempSync(join(cache, `.${basename(folder)}-`));
  const card = {
    private: true,
    // A package beside the agent has the agent's version.
    dependencies: Object.fromEntries([name, ...beside].map(each => [each, version])),
    allowScripts: Object.fromEntries(scripts.map(each => [each, true])),
  };
  writeFileSync(join(fresh, 'package.json'), JSON.stringify(card));
  const npmOf = join(dirname(process.execPath), 'npm');
  const done = spawnSync(
    existsSync(npmOf) ? npmOf : 'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: fresh,
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  if (done.status !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    fail(`npm could not install ${name} ${version}`);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
}

function newestOf(name) {
  const done = spawnSync('npm', ['view', name, 'version'], { encoding: 'utf8' });
  if (done.status !== 0) fail(`npm does not say the newest version of ${name}: ${done.stderr}`);
  return done.stdout.trim();
}

function flag(name) {
  const at = words.indexOf(name);
  if (at >= 0) words.splice(at, 1);
  return at >= 0;
}

function value(name) {
  const at = words.indexOf(name);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}

function fail(why) {
  console.error(why);
  process.exit(1);
}
