/** The tarball as a user gets it: installed into an empty folder, with an empty home and a bare environment. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
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
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../..', import.meta.url));
let place: string;
let app: string;
let installed: string;
let env: NodeJS.ProcessEnv;
let installation: string;

beforeAll(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'otel-hooks-package-')));
  app = join(place, 'app');
  installed = join(app, 'node_modules', 'otel-hooks');
  mkdirSync(app);
  mkdirSync(join(place, 'home'));
  env = { PATH: process.env.PATH, HOME: join(place, 'home'), npm_config_update_notifier: 'false' };
  // The build has just been done for all tests; `prepack` would do it again.
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', place], { cwd: root });
  const tarball = readdirSync(place).find(name => name.endsWith('.tgz')) ?? '';
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true }\n');
  installation = execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', join(place, tarball)], {
    cwd: app,
    env,
    encoding: 'utf8',
  });
}, 60_000);
afterAll(() => rmSync(place, { recursive: true, force: true }));

function run(...words: string[]): string {
  return execFileSync(join(app, 'node_modules', '.bin', 'otel-hooks'), words, { cwd: app, env, encoding: 'utf8' });
}

describe('the packed tarball', () => {
  it('installs without a registry, as the only package', () => {
    expect(installation).toMatch(/added 1 package\b/);
    expect(readdirSync(join(app, 'node_modules')).filter(name => !name.startsWith('.'))).toEqual(['otel-hooks']);
  });

  it('needs nothing: no dependency of any kind, no script that runs at installation', () => {
    const packed = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies', 'bundledDependencies']) {
      expect(packed).not.toHaveProperty(kind);
    }
    expect(Object.keys(packed.scripts).filter(name => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
  });

  it('holds what is run, what is read and nothing else', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name).slice(installed.length + 1));
    const known =
      /^(dist\/(otel-hooks\.cjs|cli\.js|deliver\.js|index\.js|(re2|prices)\.cjs|chunks\/[\w-]+\.js|types\/[\w/-]+\.d\.ts)|(README|CHANGELOG|SECURITY)\.md|LICENSE|THIRD-PARTY-LICENSES\.txt|package\.json)$/;
    expect(files.filter(file => !known.test(file))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'CHANGELOG.md',
        'THIRD-PARTY-LICENSES.txt',
        'dist/otel-hooks.cjs',
        'dist/cli.js',
        'dist/deliver.js',
        'dist/index.js',
        'dist/re2.cjs',
        'dist/prices.cjs',
        'dist/types/index.d.ts',
      ]),
    );
  });

  it('carries a licence text for each package whose code is inside', () => {
    const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    expect(licences).toMatch(/^@opentelemetry\/otlp-transformer [\d.]+ \(Apache-2\.0\)$/m);
    expect(licences).toMatch(/^zod [\d.]+ \(MIT\)$/m);
  });

  it('tells its version', () => {
    expect(run('version')).toContain(manifest.version);
  });

  it('tells what it can do', () => {
    expect(run('help')).toMatch(/\bhook\b[\s\S]*\bdeliver\b[\s\S]*\bstatus\b/);
  });

  it('can be imported', () => {
    const text = execFileSync(
      process.execPath,
      ['--input-type=module', '-e', "console.log(Object.keys(await import('otel-hooks')).length)"],
      { cwd: app, env, encoding: 'utf8' },
    );
    expect(Number(text)).toBeGreaterThan(0);
  });

  it('has types that stand alone, under the strictest settings of an application', () => {
    const file = "import * as otelHooks from 'otel-hooks';\nexport const names: string[] = Object.keys(otelHooks);\n";
    writeFileSync(join(app, 'uses.mts'), file);
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const settings = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', ''];
    const found = spawnSync(process.execPath, [tsc, ...settings, 'uses.mts'], { cwd: app, env, encoding: 'utf8' });
    expect(found.stdout).toBe('');
    expect(found.status).toBe(0);
  });

  it('writes nothing into the home of someone who only looks', () => {
    expect(readdirSync(dirname(join(place, 'home', 'x'))).filter(name => name !== '.npm')).toEqual([]);
    expect(existsSync(join(app, 'dist'))).toBe(false);
  });
});
