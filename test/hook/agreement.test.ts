/**
 * The front ends have their own copies of some rules, because they may load nothing: the copies must agree with the
 * rest of the program.
 */
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import type { Io, Words } from '../../src/commands/command.ts';
import { foldersOf } from '../../src/commands/place.ts';
import { configFolder, stateFolder } from '../../src/config/folders.ts';
import { factsOf, keys } from '../../src/config/schema.ts';
import { travelling, travellingFrom } from '../../src/hook/environment.ts';
import { defaultFolder, locateStateFolder } from '../../src/hook/state-folder.ts';
import { needsRoot } from '../needs.ts';

const nothing = (): string => {
  throw new Error('no such file');
};
const locate = (
  env: Record<string, string>,
  platform = 'linux',
  readText: (path: string) => string = nothing,
  flag?: string,
) => locateStateFolder(flag, { env, platform, home: () => '/home/u', cwd: () => '/work dir' }, readText);

test('a fragment carries every variable of a setting', () => {
  // A fragment in the folder shows that the search for the folder is over.
  const needed = keys.flatMap(key => factsOf(key).variables ?? []).filter(name => name !== 'OTEL_HOOKS_STATE_DIR');
  expect(needed.filter(name => !travelling().includes(name))).toEqual([]);
});

test('no variable is listed twice, and every name is one that a shell can read', () => {
  expect(new Set(travelling()).size).toBe(travelling().length);
  expect(travelling().filter(name => !/^[A-Z_]+$/.test(name))).toEqual([]);
});

test('every variable of the list is found', () => {
  const all = Object.fromEntries(travelling().map(name => [name, 'x']));
  expect(travellingFrom({ ...all, HOME: '/h', OTEL_OTHER: 'x', TRACER: 'x' })).toEqual(all);
});

test('an empty variable counts as unset', () => {
  expect(travellingFrom({ OTEL_SERVICE_NAME: '', TRACEPARENT: '00-1', SECRET: 'x' })).toEqual({ TRACEPARENT: '00-1' });
});

const environments: Record<string, string>[] = [
  {},
  { XDG_STATE_HOME: '/x/state' },
  { XDG_STATE_HOME: 'relative' },
  { LOCALAPPDATA: '/l', APPDATA: '/a', XDG_CONFIG_HOME: '/c' },
  { APPDATA: '/a' },
  { OTEL_HOOKS_STATE_DIR: '/s', XDG_STATE_HOME: '/x/state' },
];
for (const platform of ['linux', 'darwin', 'win32']) {
  test.each(environments)(`the hook and deliver use the same state folder (${platform}, %j)`, env => {
    expect(locate(env, platform)).toBe(stateFolder({ env, platform, home: '/home/u' }));
    expect(defaultFolder('config', { env, platform, home: () => '/home/u' })).toBe(
      configFolder({ env, platform, home: '/home/u' }),
    );
  });
}

test.each(['darwin', 'win32'])('the place of the file of the Python package counts too (%s)', platform => {
  const text = (path: string) => (path.startsWith('/home/u/.config/') ? '{"state_dir":"/f"}' : '');
  expect(locate({}, platform, text)).toBe('/f');
  expect(locate({ XDG_CONFIG_HOME: '/c' }, platform, text)).not.toBe('/f');
});

test('the state folder of the config file counts below variable and flag', () => {
  const file = (dir: unknown) => () => JSON.stringify({ state_dir: dir });
  expect(locate({}, 'linux', file('/f'))).toBe('/f');
  expect(locate({}, 'linux', file('~/f'))).toBe('/home/u/f');
  expect(locate({}, 'linux', file(7))).toBe('/home/u/.local/state/otel-hooks');
  expect(locate({}, 'linux', () => '{')).toBe('/home/u/.local/state/otel-hooks');
  expect(locate({ OTEL_HOOKS_STATE_DIR: '/e' }, 'linux', file('/f'))).toBe('/e');
  expect(locate({ OTEL_HOOKS_STATE_DIR: '/e' }, 'linux', file('/f'), 'flag')).toBe('/work dir/flag');
  expect(locate({}, 'linux', () => '')).toBe('/home/u/.local/state/otel-hooks');
  const asked: string[] = [];
  locate({ XDG_CONFIG_HOME: '/c' }, 'linux', path => String(asked.push(path)));
  locate({ OTEL_HOOKS_CONFIG: '/my.json' }, 'linux', path => String(asked.push(path)));
  locate({ OTEL_HOOKS_CONFIG: '~/my.json' }, 'linux', path => String(asked.push(path)));
  expect(asked).toEqual(['/c/otel-hooks/config.json', '/my.json', '/home/u/my.json']);
});

/** The forms in which a configuration file can name the folder and which the configuration's own reader accepts. */
const files = [
  '{ "state_dir": "/f" }',
  '{ "state_dir": "~" }',
  '{ "state_dir": "~/f" }',
  '{ "state_dir": "kept/f" }',
  '{ "state_dir": "../f" }',
  '{ "state_dir": "" }',
  '\uFEFF{ "state_dir": "/f" }',
  '{\n  // where it lies: "state_dir": "/g"\n  "state_dir": "/f", /* "a", */\n}\n',
  '{ "attributes": { "a": "http://x/,}" , }, "state_dir": "/f//g\\"/*h*/", }',
  '{ "state_dir": "/f", "state_dir": "/g" }',
  '{ "state_dir": "/f" ',
  '[{ "state_dir": "/f" }]',
];
test.each(files)('both read the same folder from a file: %s', text => {
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-agreement-'));
  try {
    const file = join(folder, 'config.json');
    writeFileSync(file, text);
    const env = { OTEL_HOOKS_CONFIG: file };
    const io = { env, home: '/home/u', platform: 'linux', cwd: '/work dir' } as unknown as Io;
    const { state } = foldersOf({ flags: {}, rest: [] }, io);
    expect(normalize(locate(env, 'linux', path => readFileSync(path, 'utf8')))).toBe(state);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('both ignore a .git of another user when they search the project of a file', context => {
  needsRoot(context);
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-agreement-'));
  try {
    const file = join(folder, 'config.json');
    const cwd = join(folder, 'sub');
    writeFileSync(file, '{ "state_dir": "/s" }');
    mkdirSync(join(folder, '.git'));
    mkdirSync(cwd);
    const env = { OTEL_HOOKS_CONFIG: file };
    const io = { env, home: '/home/u', platform: 'linux', cwd } as unknown as Io;
    const both = () => [
      foldersOf({ flags: {}, rest: [] }, io).state,
      locateStateFolder(undefined, { ...io, home: () => '/home/u', cwd: () => cwd }, path =>
        readFileSync(path, 'utf8'),
      ),
    ];
    expect(both()).toEqual(['/home/u/.local/state/otel-hooks', '/home/u/.local/state/otel-hooks']);
    chownSync(join(folder, '.git'), 4321, 4321);
    expect(both()).toEqual(['/s', '/s']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const named: [env: Record<string, string>, flag: string | undefined, where: string][] = [
  [{ OTEL_HOOKS_STATE_DIR: '' }, undefined, '/home/u/.local/state/otel-hooks'],
  [{ OTEL_HOOKS_STATE_DIR: 'rel' }, undefined, '/work dir/rel'],
  [{ OTEL_HOOKS_STATE_DIR: '/e' }, './flag', '/work dir/flag'],
  [{ OTEL_HOOKS_STATE_DIR: '/e' }, '', '/e'],
];
test.each(named)('commands read the folder that hooks write: %j, --state-dir %s', (env, flag, where) => {
  const io = { env, home: '/home/u', platform: 'linux', cwd: '/work dir' } as unknown as Io;
  const flags: Words['flags'] = flag === undefined ? {} : { '--state-dir': flag };
  expect(foldersOf({ flags, rest: [] }, io).state).toBe(where);
  expect(normalize(locate(env, 'linux', nothing, flag))).toBe(where);
});
