/**
 * Gemini CLI's settings files (source of 0.57, checked 2026-11-18). Scopes are merged, the agent waits for every hook,
 * and handlers with the same name and command run once. The timeout is in milliseconds. A group without a matcher
 * matches everything.
 */
import { join } from 'node:path';
import { fieldsOf } from '../../lib/read.ts';
import type { Obstacle, Places, Scope, Settings, SettingsPlaces } from '../contract/contract.ts';
import { jsonValue } from '../files/json-edit.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const shape: Shape = {
  root: 'hooks',
  entry: ({ posix, windows }) => ({
    hooks: [{ type: 'command', name: 'otel-hooks', command: posix ?? windows, timeout: 5000 }],
  }),
};

const userFolder = ({ home, env }: Places): string => join(env.GEMINI_CLI_HOME || home, '.gemini');

export const settings: Settings = {
  scopes: ['global', 'project'],
  // The folder alone does not prove an installation: a successor of Gemini CLI has its files in the same folder.
  installed: { programs: ['gemini'], folders: places => [join(userFolder(places), 'tmp')] },
  runs: { posix: 'sh', windows: 'powershell' },
  files: (scope, places) => [jsonHooks(fileOf(scope, places), shape)],
  afterwards:
    'Start a new session; /hooks lists the hooks that run. No hook runs in an untrusted folder. Hooks of a project are shown once, for review. Releases before spring 2026 need "tools": { "enableHooks": true }. The status line names each hook while it runs; "hooksConfig": { "notifications": false } in settings.json hides that.',
  obstacles,
  runsToo(places, _, names) {
    const extensions = join(userFolder(places), 'extensions');
    return names(extensions).map(name => join(extensions, name, 'hooks', 'hooks.json'));
  },
  proof: (session, cwd, atMs) => ({
    event: 'SessionStart',
    payload: {
      session_id: session,
      transcript_path: '',
      cwd,
      hook_event_name: 'SessionStart',
      timestamp: new Date(atMs).toISOString(),
      source: 'startup',
    },
  }),
};

const fileOf = (scope: Scope, places: Places): string =>
  join(scope === 'global' ? userFolder(places) : join(places.project, '.gemini'), 'settings.json');

function obstacles(places: SettingsPlaces, read: (path: string) => string | undefined): Obstacle[] {
  return (['global', 'project'] as const).flatMap(scope => {
    const file = fileOf(scope, places);
    const { enabled, disabled } = fieldsOf(fieldsOf(jsonValue(read(file) ?? '')).hooksConfig);
    if (enabled === false)
      return [
        {
          file,
          why: 'hooksConfig.enabled switches all hooks off',
          next: `set hooksConfig.enabled to true in ${file}.`,
        },
      ];
    if (!Array.isArray(disabled) || !disabled.includes('otel-hooks')) return [];
    return [{ file, why: 'hooksConfig.disabled names them', next: 'run /hooks enable otel-hooks in Gemini CLI.' }];
  });
}
