/** What the front ends know by themselves, because they may load nothing, must be what the rest of the program knows. */
import { expect, test } from 'vitest';
import { resolve } from '../../src/config/config.ts';
import { configFolder, stateFolder } from '../../src/config/folders.ts';
import { factsOf, keys } from '../../src/config/schema.ts';
import { travelling, travellingFrom } from '../../src/hook/environment.ts';
import { defaultFolder, locateStateFolder } from '../../src/hook/state-folder.ts';

const nothing = (): string => {
  throw new Error('no such file');
};
const locate = (
  env: Record<string, string>,
  platform = 'linux',
  readText: (path: string) => string = nothing,
  flag?: string,
) => locateStateFolder(flag, { env, platform, home: () => '/home/u', cwd: () => '/work dir' }, readText);

test('every variable that sets something travels with a fragment', () => {
  // Where the folder lies is already decided when a fragment lies in it.
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

test('an empty variable is an unset one', () => {
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
  test.each(environments)(`the state folder is where deliver looks for it (${platform}, %j)`, env => {
    expect(locate(env, platform)).toBe(stateFolder({ env, platform, home: '/home/u' }));
    expect(defaultFolder('config', { env, platform, home: () => '/home/u' })).toBe(
      configFolder({ env, platform, home: '/home/u' }),
    );
  });
}

test.each([
  ['{ "state_dir": "/f" }', '/f'],
  ['\uFEFF{ // moved\n "a": "// no \\" comment", /* here */ "state_dir": "rel", }', 'rel'],
])('the state folder of %j is where other commands look', (text, told) => {
  const file = '/home/u/.config/otel-hooks/config.json';
  const { values } = resolve({ global: { file, text }, env: {}, home: '/home/u', cwd: '/work dir' });
  expect(locate({}, 'linux', () => text)).toBe(values.state_dir);
  expect(values.state_dir).toMatch(new RegExp(`${told}$`));
});

test.each(['darwin', 'win32'])('where the Python package of this name keeps its file counts too (%s)', platform => {
  const text = (path: string) => (path.startsWith('/home/u/.config/') ? '{"state_dir":"/f"}' : nothing());
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
  const asked: string[] = [];
  locate({ XDG_CONFIG_HOME: '/c' }, 'linux', path => String(asked.push(path)));
  locate({ OTEL_HOOKS_CONFIG: '/my.json' }, 'linux', path => String(asked.push(path)));
  expect(asked).toEqual(['/c/otel-hooks/config.json', '/my.json']);
});
