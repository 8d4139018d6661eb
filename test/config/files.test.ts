import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig, type Place, trustProject } from '../../src/config/files.ts';
import { configFolder, dataFolder, stateFolder } from '../../src/config/folders.ts';
import { explain, type Problem } from '../../src/problems/problem.ts';
import { cannotRun } from '../needs.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'otel-hooks-config-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, text: string): string => {
  const file = join(root, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
};
const place = (more: Partial<Place> = {}): Place => ({
  env: {},
  home: join(root, 'home'),
  platform: 'linux',
  cwd: join(root, 'home/app/src'),
  ...more,
});

describe('files', () => {
  it('may all be missing', () => {
    expect(loadConfig(place())).toMatchObject({ projectFile: undefined, projectTrusted: false, problems: [] });
  });

  it.each(['darwin', 'win32'])('may be where the Python package of this name has it on every system (%s)', platform => {
    const former = write('home/.config/otel-hooks/config.json', '{"service_name": "former"}');
    expect(loadConfig(place({ platform })).globalFile).toBe(former);
    expect(loadConfig(place({ platform, env: { XDG_CONFIG_HOME: root } })).globalFile).not.toBe(former);
    const usual = write(
      `home/${platform === 'darwin' ? 'Library/Application Support' : 'AppData/Roaming'}/otel-hooks/config/config.json`,
      '{}',
    );
    expect(loadConfig(place({ platform })).globalFile).toBe(usual);
  });

  it('are the one in the config folder and the nearest one above the working folder', () => {
    const globalFile = write('home/.config/otel-hooks/config.json', '{"semconv": "latest", "debug": true}');
    const projectFile = write('home/app/.otel-hooks.json', '{"service_name": "project", "semconv": "both"}');
    write('home/.otel-hooks.json', '{"service_name": "home"}');
    const config = loadConfig(place());
    expect(config).toMatchObject({
      globalFile,
      projectFile,
      values: { service_name: 'project', semconv: 'both', debug: true },
    });
  });

  it.each([
    ['longer than any disk allows', '/\ufffd'.repeat(3_000)],
    ['with one name too long', `/${'x'.repeat(5_000)}`],
    ['with a NUL', '/a\0b/c'],
  ])('are not searched along a folder %s', (_, cwd) => {
    expect(loadConfig(place({ cwd }))).toMatchObject({ projectFile: undefined, problems: [] });
  });

  it('of the home folder belong to no project', () => {
    write('home/.otel-hooks.json', '{"service_name": "home"}');
    expect(loadConfig(place()).projectFile).toBeUndefined();
  });

  it('can be named by OTEL_HOOKS_CONFIG and above it by --config', () => {
    const a = write('a.json', '{"service_name": "a"}');
    const b = write('b.json', '{"service_name": "b"}');
    expect(loadConfig(place({ env: { OTEL_HOOKS_CONFIG: a } })).values.service_name).toBe('a');
    expect(loadConfig(place({ env: { OTEL_HOOKS_CONFIG: a }, file: b })).values.service_name).toBe('b');
    expect(loadConfig(place({ env: { XDG_CONFIG_HOME: join(root, 'x') } })).globalFile).toBe(
      join(root, 'x/otel-hooks/config.json'),
    );
  });

  it('that cannot be read are a problem, and the program continues', () => {
    mkdirSync(join(root, 'home/.config/otel-hooks/config.json'), { recursive: true });
    expect(loadConfig(place()).problems).toMatchObject([
      { code: 'config-unreadable', why: 'it is not a regular file' },
    ]);
    const large = write('large.json', `{"service_name": "${'x'.repeat(1_100_000)}"}`);
    expect(loadConfig(place({ file: large })).problems).toMatchObject([
      { code: 'config-unreadable', why: 'it is larger than 1 MB' },
    ]);
  });

  it('that are pipes do not block', context => {
    if (process.platform === 'win32') cannotRun(context, 'needs named pipes of POSIX');
    mkdirSync(join(root, 'home/app'), { recursive: true });
    execFileSync('mkfifo', [join(root, 'home/app/.otel-hooks.json'), join(root, 'pipe')]);
    expect(loadConfig(place({ file: join(root, 'pipe') })).problems).toMatchObject([{ code: 'config-unreadable' }]);
  });
});

describe('consent', () => {
  it('is given to a text, and a changed text needs a new consent', () => {
    const file = write('home/app/.otel-hooks.json', '{"otlp": {"endpoint": "http://theirs"}}');
    expect(loadConfig(place()).values['otlp.endpoint']).toBeUndefined();
    trustProject(place(), file, readFileSync(file, 'utf8'));
    expect(loadConfig(place())).toMatchObject({
      projectTrusted: true,
      values: { 'otlp.endpoint': 'http://theirs' },
      problems: [],
    });
    write('home/app/.otel-hooks.json', '{"otlp": {"endpoint": "http://evil"}}');
    expect(loadConfig(place())).toMatchObject({ projectTrusted: false });
    expect(loadConfig(place()).values['otlp.endpoint']).toBeUndefined();
    expect(statSync(join(root, 'home/.config/otel-hooks/trusted.json')).mode & 0o777).toBe(0o600);
  });

  // A link stands for the other spelling of a folder, as `c:\\Work` and `C:\\work` are on Windows.
  it('trust holds for every spelling of the folder', () => {
    const text = JSON.stringify({ otlp: { endpoint: 'http://team:4318' } });
    const file = write('home/app/.otel-hooks.json', text);
    symlinkSync(dirname(file), join(root, 'spelled'));
    const spelled = { ...place(), cwd: join(root, 'spelled') };
    expect(loadConfig(spelled).projectTrusted).toBe(false);
    trustProject(place(), file, text);
    expect(loadConfig(spelled)).toMatchObject({ projectTrusted: true });
    trustProject(spelled, join(root, 'spelled/.otel-hooks.json'), text);
    expect(loadConfig(place())).toMatchObject({ projectTrusted: true });
  });

  it('a link to a trusted file is not trusted', () => {
    const text = JSON.stringify({ otlp: { endpoint: 'http://team:4318' } });
    const file = write('home/app/.otel-hooks.json', text);
    trustProject(place(), file, text);
    mkdirSync(join(root, 'home/clone'));
    symlinkSync(file, join(root, 'home/clone/.otel-hooks.json'));
    expect(loadConfig({ ...place(), cwd: join(root, 'home/clone') })).toMatchObject({ projectTrusted: false });
  });

  it('finds the end of the search also under another spelling of the home folder', () => {
    write('home/.otel-hooks.json', '{}');
    symlinkSync(join(root, 'home'), join(root, 'home-spelled'));
    mkdirSync(join(root, 'home/other'), { recursive: true });
    const found = loadConfig({ ...place(), cwd: join(root, 'home-spelled/other') });
    expect(found.projectFile).toBe(undefined);
  });

  it('to one project does not count for another with the same text', () => {
    const text = '{"otlp": {"endpoint": "http://theirs"}}';
    trustProject(place(), write('home/app/.otel-hooks.json', text), text);
    write('home/other/.otel-hooks.json', text);
    expect(loadConfig(place({ cwd: join(root, 'home/other') })).projectTrusted).toBe(false);
  });

  it('is not read from a damaged list', () => {
    write('home/.config/otel-hooks/trusted.json', 'rubbish');
    const file = write('home/app/.otel-hooks.json', '{"debug": true}');
    expect(loadConfig(place()).projectTrusted).toBe(false);
    trustProject(place(), file, readFileSync(file, 'utf8'));
    expect(loadConfig(place()).projectTrusted).toBe(true);
  });
});

it.each<[string, Record<string, string>, string[]]>([
  ['linux', {}, ['/h/.config/otel-hooks', '/h/.local/state/otel-hooks', '/h/.local/share/otel-hooks']],
  [
    'linux',
    { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_DATA_HOME: '/d' },
    ['/c/otel-hooks', '/s/otel-hooks', '/d/otel-hooks'],
  ],
  [
    'linux',
    { XDG_STATE_HOME: 'relative' },
    ['/h/.config/otel-hooks', '/h/.local/state/otel-hooks', '/h/.local/share/otel-hooks'],
  ],
  ['linux', { OTEL_HOOKS_STATE_DIR: '/mine' }, ['/h/.config/otel-hooks', '/mine', '/h/.local/share/otel-hooks']],
  ['darwin', {}, ['config', 'state', 'data'].map(part => `/h/Library/Application Support/otel-hooks/${part}`)],
  [
    'win32',
    { APPDATA: '/r', LOCALAPPDATA: '/l' },
    ['/r/otel-hooks/config', '/l/otel-hooks/state', '/l/otel-hooks/data'],
  ],
  [
    'win32',
    {},
    ['/h/AppData/Roaming/otel-hooks/config', '/h/AppData/Local/otel-hooks/state', '/h/AppData/Local/otel-hooks/data'],
  ],
])('folders on %s with %o', (platform, env, expected) => {
  const where = { env, home: '/h', platform };
  expect([configFolder(where), stateFolder(where), dataFolder(where)]).toEqual(expected);
});

const MB = 1024 * 1024;
const hostile: [what: string, text: string][] = [
  ['nested 200,000 levels deep', '{"a":'.repeat(MB / 5)],
  ['of a million brackets', '['.repeat(MB - 1)],
  ['nested deeply behind a comment', `//\r${'['.repeat(MB - 10)}`],
  ['of 100,000 keys', `{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join(',')}}`],
  ['of one key of a megabyte', `{"${'x'.repeat(MB - 10)}":1}`],
  ['of 9,000 keys that are nearly right', `{${Array.from({ length: 9_000 }, (_, i) => `"provid${i}":1`).join(',')}}`],
  ['of one key 9,000 times', `{${Array.from({ length: 9_000 }, (_, i) => `"enabled":"p${i}"`).join(',')}}`],
  ['of a million lines', `${'\n'.repeat(MB - 20)}{"unknown":1}`],
];

describe('a hostile file of a project', () => {
  it.each(hostile)('%s costs little, and the global file stays valid', (_, text) => {
    write('home/.config/otel-hooks/config.json', '{"service_name": "mine"}');
    const file = write('home/app/.otel-hooks.json', text);
    const startedAt = process.cpuUsage();
    const { values, problems } = loadConfig(place());
    const { user, system } = process.cpuUsage(startedAt);
    expect((user + system) / 1_000).toBeLessThan(1_500);
    expect(values.service_name).toBe('mine');
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThan(30);
    for (const problem of problems) expect(problem).toMatchObject({ file });
    for (const problem of problems) expect(JSON.stringify(problem).length).toBeLessThan(500);
  });

  it.each(hostile)('%s is named by file and line if it is the global file', (_, text) => {
    const file = write('home/.config/otel-hooks/config.json', text);
    const { problems } = loadConfig(place());
    expect(explain(problems[0] as Problem).what).toContain(file);
  });

  it('names 20 unknown keys and counts the others', () => {
    const keys = Array.from({ length: 50 }, (_, i) => `"zzz${i}":1`).join(',');
    write('home/app/.otel-hooks.json', `{${keys}}`);
    const { problems } = loadConfig(place());
    expect(problems.map(({ code }) => code)).toEqual([...Array(20).fill('config-key'), 'config-keys']);
    expect(problems.at(-1)).toMatchObject({ more: 30 });
  });
});
