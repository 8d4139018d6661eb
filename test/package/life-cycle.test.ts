/**
 * The whole life of an installation, from the tarball in an empty home to the day after its removal. After each way of
 * removal only the files that docs/upgrade-and-uninstall.md names are left: the table of that page is the expectation.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { removeFolder } from '../../src/lib/remove-folder.ts';
import { type Collector, startCollector } from '../collector.ts';
import { commandsIn, type House, harmless, quiet, type Ran, runHook, status, until } from '../wire/house.ts';
import { counts, sessionOf, tree } from '../wire/session.ts';
import { packInto } from './tarball.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const npmEnv = { npm_config_update_notifier: 'false', npm_config_audit: 'false', npm_config_fund: 'false' };

let place: string;
let tarball: string;
/** npm's global folder with the package, as npm installed it; each machine gets a copy. */
let globalFolder: string;
beforeAll(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'otel-hooks-life-')));
  const env = { PATH: process.env.PATH, HOME: join(place, 'npm-home'), ...npmEnv };
  tarball = packInto(place, env);
  globalFolder = join(place, 'global');
  const install = ['install', '--global', '--offline', '--silent', '--prefix', globalFolder, tarball];
  execFileSync('npm', install, { cwd: place, env });
}, 60_000);
afterAll(() => removeFolder(place));

/** A user's machine: an empty home, with the settings file that the agent made, and npm's global folder. */
let house: House & { prefix: string };
let collector: Collector;
const settings = '{\n  // mine\n  "model": "opus",\n}\n';

beforeEach(async () => {
  collector = await startCollector();
  const folder = mkdtempSync(join(place, 'machine-'));
  const [home, project, prefix] = ['home', 'project', 'prefix'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [home, project]) mkdirSync(each);
  cpSync(globalFolder, prefix, { recursive: true, verbatimSymlinks: true });
  const dist = join(prefix, 'lib', 'node_modules', 'otel-hooks', 'dist');
  const env = {
    HOME: home,
    PATH: `${join(prefix, 'bin')}:${process.env.PATH ?? '/usr/bin:/bin'}`,
    OTEL_HOOKS_LINGER: '500ms',
    npm_config_prefix: prefix,
    ...npmEnv,
  };
  house = {
    folder,
    home,
    project,
    prefix,
    state: join(home, '.local', 'state', 'otel-hooks'),
    settings: join(home, '.claude', 'settings.json'),
    bin: join(dist, 'otel-hooks.cjs'),
    deliver: join(dist, 'deliver.js'),
    env,
  };
  mkdirSync(dirname(house.settings));
  writeFileSync(house.settings, settings);
}, 60_000);
afterEach(async () => {
  await quiet(house);
  await collector.close();
});

/** A command that the user types. This process keeps running meanwhile, because the collector is in it. */
function typed(program: string, ...words: string[]): Promise<Ran> {
  return new Promise((settled, failed) => {
    const child = spawn(program, words, { cwd: house.project, env: house.env });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', part => {
      stdout += part;
    });
    child.stderr.on('data', part => {
      stderr += part;
    });
    child.once('error', failed);
    child.once('close', code => settled({ status: code, stdout, stderr }));
  });
}

const enabled = async (): Promise<void> =>
  expect(await typed('otel-hooks', 'enable', '--yes', '--endpoint', collector.url)).toMatchObject({ status: 0 });

/** The commands of the settings file, called as the agent calls them. */
async function call(hooks: ReturnType<typeof sessionOf>, commands = commandsIn(house)): Promise<void> {
  for (const hook of hooks) expect(await runHook({ house, commands }, hook)).toEqual(harmless);
}

const spanNames = (): string[] =>
  collector
    .spans()
    .map(({ name }) => String(name))
    .sort();

/** Every path below the home that did not exist before, folders with `/` at their end. npm's own cache is left out. */
function leftovers(): string[] {
  return readdirSync(house.home, { recursive: true, encoding: 'utf8' })
    .map(name => (lstatSync(join(house.home, name)).isDirectory() ? `${name}/` : name))
    .filter(name => !/^(\.npm|\.claude)\/|^\.claude$/.test(name))
    .sort();
}

describe('the remaining files are those of docs/upgrade-and-uninstall.md', () => {
  const page = readFileSync(join(root, 'docs/upgrade-and-uninstall.md'), 'utf8');
  const section = /<!-- what-stays:.*?-->([\s\S]*?)<!-- \/what-stays -->/.exec(page)?.[1] ?? '';
  const cells = section
    .trim()
    .split('\n')
    .map(line => line.split('|').map(cell => cell.trim()))
    .map(line => line.slice(1, -1));
  const [head = [], , ...rows] = cells;
  const always = /^\* The empty folders (.*?),\s+where/m.exec(page)?.[1] ?? '';
  const emptyFolders = [...always.matchAll(/`~\/([^`]+)`/g)].map(match => `${match[1]}/`);

  /** `*` is one name, `**` any path below. */
  const matcher = (path: string): RegExp =>
    new RegExp(
      `^${path
        .replace(/^`~\/|`$/g, '')
        .replace(/[.]/g, '\\.')
        .replaceAll('**', '.+')
        .replaceAll(/(?<![.])\*/g, '[^/]+')}$`,
    );

  function checkAgainst(way: string): void {
    const column = head.indexOf(way);
    expect(column, `the column ${way}`).toBeGreaterThan(1);
    const ofFiles = rows.filter(([path = '']) => path.startsWith('`'));
    expect(ofFiles.length).toBeGreaterThan(3);
    const [ofSettings = []] = rows.filter(([path = '']) => path.startsWith('settings of agents'));
    const stays = ofFiles.filter(row => row[column] === 'stay').map(([path = '']) => matcher(path));
    const left = leftovers();
    const files = left.filter(path => !path.endsWith('/'));
    expect(files.filter(path => !stays.some(each => each.test(path)))).toEqual([]);
    for (const row of stays)
      expect(
        files.some(path => row.test(path)),
        `${row} names nothing`,
      ).toBe(true);
    const empty = left.filter(path => path.endsWith('/') && !left.some(each => each !== path && each.startsWith(path)));
    const inStay = (path: string): boolean => stays.some(each => each.test(path.slice(0, -1)));
    expect(empty.filter(path => !inStay(path) && !emptyFolders.includes(path))).toEqual([]);
    const now = readFileSync(house.settings, 'utf8');
    if (ofSettings[column] === 'restored') expect(now).toBe(settings);
    else expect(now).toContain('otel-hooks');
  }

  it('after a session, an outage, its end, and `uninstall --purge`', { timeout: 120_000 }, async () => {
    await enabled();
    const hooks = sessionOf('life-1', house.project, ['sh']);
    const commands = commandsIn(house);
    await call(hooks.slice(0, 4));
    await until(() => collector.records().length >= 4, 20_000);

    await collector.stop();
    await call(hooks.slice(4, 11));
    await typed('otel-hooks', 'deliver', '--wait', '2s');
    const away = await typed('otel-hooks', 'status');
    expect(away.status).toBe(1);
    expect(away.stdout + away.stderr).toContain('are kept and tried again');

    await collector.start();
    await call(hooks.slice(11));
    expect(await typed('otel-hooks', 'deliver', '--wait', '30s')).toMatchObject({ status: 0 });
    expect(spanNames()).toEqual(tree.map(name => name.trim()).sort());
    const { balanced, fragments } = status(house);
    // The trial of `enable` is a further session.
    expect([balanced, fragments.received]).toEqual([true, counts.hooks + 1]);

    expect(await typed('otel-hooks', 'uninstall', '--purge', '--yes')).toMatchObject({ status: 0, stderr: '' });
    // The agent still runs, and still has its hooks in memory.
    await call(hooks.slice(0, 3), commands);
    checkAgainst('`uninstall --purge`');
    expect(await typed('npm', 'uninstall', '--global', '--silent', 'otel-hooks')).toMatchObject({ status: 0 });
    await call(hooks.slice(0, 3), commands);
    checkAgainst('`uninstall --purge`');
    expect(readdirSync(join(house.prefix, 'lib/node_modules'))).toEqual([]);
  });

  it.each([
    ['`uninstall`', ['uninstall', '--yes']],
    ['`disable`', ['disable', '--yes']],
  ])('after %s', { timeout: 60_000 }, async (way, words) => {
    await enabled();
    await call(sessionOf('life-2', house.project, ['sh']).slice(0, 5));
    expect(await typed('otel-hooks', ...words)).toMatchObject({ status: 0, stderr: '' });
    await quiet(house);
    checkAgainst(way);
  });

  it('after the package was removed by force: hooks that are still called record nothing', {
    timeout: 60_000,
  }, async () => {
    await enabled();
    const hooks = sessionOf('life-3', house.project, ['sh']);
    await call(hooks.slice(0, 5));
    expect(await typed('otel-hooks', 'deliver', '--wait', '30s')).toMatchObject({ status: 0 });
    await quiet(house);
    rmSync(join(house.prefix, 'lib/node_modules/otel-hooks'), { recursive: true });
    const before = leftovers();
    await call(hooks.slice(5));
    await quiet(house);
    const sign = '.local/state/otel-hooks/problems/hook-kick-missing';
    expect(leftovers().filter(path => !before.includes(path))).toEqual([sign]);
    expect(before.filter(path => !leftovers().includes(path))).toEqual([]);
    expect(readdirSync(join(house.state, 'inbox'))).toEqual([]);
    checkAgainst('`npm uninstall -g` alone');

    // Installed again, it continues from its state, and reports the events that it missed.
    await typed('npm', 'install', '--global', '--offline', '--silent', tarball);
    await call(hooks.slice(-1));
    expect(await typed('otel-hooks', 'deliver', '--wait', '30s')).toMatchObject({ status: 0 });
    expect(existsSync(join(house.home, sign))).toBe(true);
    expect(status(house).balanced).toBe(true);
  });
});
