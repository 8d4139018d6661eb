/**
 * Claude Code's settings files (hook documentation, checked 2026-11-18). Settings of all scopes are merged. Our entries
 * have no matcher, so they match all actions; since 2.1.288, a matcher that fails blocks actions. They are not
 * asynchronous, because an asynchronous hook is killed at the end of a headless run. The timeout is in seconds. On
 * Windows, Git Bash or PowerShell runs a command, depending on which is installed, unless the entry names the shell. A
 * status line names no shell, so there a command around the user's own would change the shell that runs it.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, own, text } from '../../lib/read.ts';
import type { Obstacle, Places, Scope, Settings, SettingsPlaces } from '../contract/contract.ts';
import { jsonValue } from '../files/json-edit.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';
import { usersLineIn, withStatusLine } from '../files/json-status-line.ts';

const TIMEOUT_S = 10;

const shape: Shape = {
  root: 'hooks',
  entry: ({ posix, windows, files }) => ({
    ...(files === undefined ? {} : { matcher: files }),
    hooks: [
      posix === undefined
        ? { type: 'command', command: windows, shell: 'powershell', timeout: TIMEOUT_S }
        : { type: 'command', command: posix, timeout: TIMEOUT_S },
    ],
  }),
};

const userFolder = ({ home, env }: Places): string => env.CLAUDE_CONFIG_DIR || join(home, '.claude');

export const settings: Settings = {
  scopes: ['global', 'project', 'local'],
  installed: { programs: ['claude'], folders: places => [userFolder(places)] },
  runs: { posix: 'sh', windows: 'powershell' },
  files: (scope, places, read) => [
    withStatusLine(jsonHooks(fileOf(scope, places), shape), {
      ...statusLine,
      inherited: widerStatusLine(scope, places, read),
    }),
  ],
  afterwards:
    'Running sessions continue without hooks: start a new one. If your organization allows managed hooks only, our hooks do not run.',
  replacesLine,
  obstacles,
  runsToo,
  proof: (session, cwd) => ({
    event: 'SessionStart',
    payload: { hook_event_name: 'SessionStart', session_id: session, cwd, source: 'startup' },
  }),
};

/** A status line of a project or of a user in a folder replaces the wider one. */
const statusLine = { member: 'statusLine', event: 'StatusLine' };

function widerStatusLine(scope: Scope, places: Places, read: (path: string) => string | undefined): unknown {
  const wider = scope === 'local' ? (['project', 'global'] as const) : [];
  const values = wider.map(each => fieldsOf(jsonValue(read(fileOf(each, places)) ?? ''))[statusLine.member]);
  const found = fieldsOf(values.find(each => each !== undefined));
  const users = usersLineIn(text(found.command) ?? '');
  return users === undefined ? found : { ...found, command: users.command };
}

/** The narrowest scope wins. A line of ours there is recorded as well. */
const narrower: Readonly<Record<Scope, readonly Scope[]>> = {
  global: ['local', 'project'],
  project: ['local'],
  local: [],
};

function replacesLine(scope: Scope, places: Places, read: (path: string) => string | undefined) {
  for (const each of narrower[scope]) {
    const file = fileOf(each, places);
    const line = fieldsOf(fieldsOf(jsonValue(read(file) ?? ''))[statusLine.member]);
    const command = text(line.command);
    if (command === undefined || file === fileOf(scope, places)) continue;
    return usersLineIn(command) === undefined ? [{ file, scope: each }] : [];
  }
  return [];
}

function fileOf(scope: Scope, places: Places): string {
  if (scope === 'global') return join(userFolder(places), 'settings.json');
  return join(places.project, '.claude', scope === 'project' ? 'settings.json' : 'settings.local.json');
}

/** The folder of an organization's settings. */
const managed: Readonly<Record<string, string>> = {
  linux: '/etc/claude-code/managed-settings.json',
  darwin: '/Library/Application Support/ClaudeCode/managed-settings.json',
  win32: 'C:\\Program Files\\ClaudeCode\\managed-settings.json',
};

function obstacles(places: SettingsPlaces, read: (path: string) => string | undefined): Obstacle[] {
  const found: Obstacle[] = [];
  const ofOrganization = own(managed, places.platform) ?? '';
  for (const file of [
    ofOrganization,
    ...(['global', 'project', 'local'] as const).map(scope => fileOf(scope, places)),
  ]) {
    const values = fieldsOf(jsonValue(read(file) ?? ''));
    if (values.disableAllHooks === true)
      found.push({ file, why: 'disableAllHooks switches all hooks off', next: `take disableAllHooks out of ${file}.` });
    if (file === ofOrganization && values.allowManagedHooksOnly === true) {
      const why = 'the organization allows managed hooks only (allowManagedHooksOnly)';
      found.push({ file, why, next: 'have the hooks put into the managed settings.' });
    }
  }
  return found;
}

/** Managed settings, and the hooks of the plugins that are switched on (plugin reference, checked 2026-11-19). */
function runsToo(places: SettingsPlaces, read: (path: string) => string | undefined): string[] {
  const values = (file: string) => fieldsOf(jsonValue(read(file) ?? ''));
  const scopes = ['global', 'project', 'local'] as const;
  const isOn = Object.assign({}, ...scopes.map(scope => values(fileOf(scope, places)).enabledPlugins)) as Fields;
  const installed = fieldsOf(values(join(userFolder(places), 'plugins', 'installed_plugins.json')).plugins);
  const plugins = Object.entries(installed).flatMap(([name, installations]) => {
    if (isOn[name] !== true) return [];
    // Older versions have one installation of each plugin.
    const all = Array.isArray(installations) ? installations : [installations];
    return all.flatMap(each => text(fieldsOf(each).installPath) ?? []);
  });
  return [
    own(managed, places.platform) ?? '',
    ...plugins.flatMap(folder => [join(folder, 'hooks', 'hooks.json'), join(folder, '.claude-plugin', 'plugin.json')]),
  ];
}
