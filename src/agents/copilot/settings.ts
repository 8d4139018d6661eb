/**
 * Copilot's hook files (vendor's hook reference of autumn 2026, checked 2026-11-18): a file of our own in a folder of
 * hook files. Commands are named by shell. A `PreToolUse` command with another exit code than 0 denies the call; our
 * command never has one. There is no asynchronous form; the timeout is in seconds.
 */
import { join } from 'node:path';
import { fieldsOf } from '../../lib/read.ts';
import type { Obstacle, Places, Settings, SettingsPlaces } from '../contract/contract.ts';
import { jsonValue } from '../files/json-edit.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const shape: Shape = {
  root: 'hooks',
  version: 1,
  entry: ({ posix, windows }) => ({
    type: 'command',
    ...(posix === undefined ? {} : { bash: posix }),
    ...(windows === undefined ? {} : { powershell: windows }),
    timeoutSec: 10,
  }),
};

const userFolder = ({ home, env }: Places): string => env.COPILOT_HOME || join(home, '.copilot');

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['copilot'], folders: places => [userFolder(places)] },
  runs: { posix: 'sh', windows: 'powershell' },
  files: (scope, places) => [
    jsonHooks(
      join(scope === 'global' ? userFolder(places) : join(places.project, '.github'), 'hooks', 'otel-hooks.json'),
      shape,
    ),
  ],
  afterwards:
    'Start a new session. Hooks of a project run only in trusted folders. The cloud agent runs only the hooks of the default branch, and only if its image contains otel-hooks.',
  obstacles,
  runsToo(places, _, names) {
    const hooks = join(userFolder(places), 'hooks');
    const plugins = join(userFolder(places), 'installed-plugins');
    const folders = names(plugins).flatMap(market =>
      names(join(plugins, market)).map(name => join(plugins, market, name)),
    );
    return [
      ...names(hooks)
        .filter(name => name.endsWith('.json') && name !== 'otel-hooks.json')
        .map(name => join(hooks, name)),
      join(userFolder(places), 'settings.json'),
      ...folders.flatMap(folder => [join(folder, 'hooks.json'), join(folder, 'hooks', 'hooks.json')]),
    ];
  },
  proof: (session, cwd, atMs) => ({
    event: 'SessionStart',
    payload: {
      hook_event_name: 'SessionStart',
      session_id: session,
      timestamp: new Date(atMs).toISOString(),
      cwd,
      source: 'new',
    },
  }),
};

/** Reads the setting that disables all hooks, in each settings file and each hook file. */
function obstacles(places: SettingsPlaces, read: (path: string) => string | undefined): Obstacle[] {
  const project = join(places.project, '.github');
  const files = [
    join(userFolder(places), 'settings.json'),
    join(userFolder(places), 'hooks', 'otel-hooks.json'),
    join(project, 'copilot', 'settings.json'),
    join(project, 'copilot', 'settings.local.json'),
    join(project, 'hooks', 'otel-hooks.json'),
  ];
  return files
    .filter(file => fieldsOf(jsonValue(read(file) ?? '')).disableAllHooks === true)
    .map(file => ({ file, why: 'disableAllHooks switches hooks off', next: `take disableAllHooks out of ${file}.` }));
}
