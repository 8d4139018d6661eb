/**
 * Droid's hooks (hooks reference of July 2026, checked 2026-11-18): `hooks.json`, or without it the member `hooks` of
 * `settings.json`. A new `hooks.json` would disable the user's hooks in the other file, so our hooks are added to that
 * one. Handlers run in parallel; the timeout is in seconds.
 */
import { join } from 'node:path';
import type { Settings } from '../contract/contract.ts';
import { members, readJson } from '../files/json-edit.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const shape: Shape = {
  root: 'hooks',
  entry: ({ posix, windows }, event) => ({
    ...(/ToolUse$/.test(event) ? { matcher: '*' } : {}),
    hooks: [{ type: 'command', command: posix ?? windows, timeout: 5 }],
  }),
};

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['droid'], folders: ({ home }) => [join(home, '.factory')] },
  runs: { posix: 'sh', windows: 'either' },
  files(scope, { home, project }, read) {
    const folder = join(scope === 'global' ? home : project, '.factory');
    const own = jsonHooks(join(folder, 'hooks.json'), shape);
    const shared = jsonHooks(join(folder, 'settings.json'), shape);
    const isShared = read(own.path) === undefined && hasHooks(read(shared.path) ?? '');
    return isShared ? [{ ...own, add: undefined }, shared] : [own, { ...shared, add: undefined }];
  },
  afterwards:
    'Restart Droid: it reads its hooks when it starts; /hooks lists them. An organization can allow only its own hooks.',
  proof: (session, cwd) => ({
    event: 'SessionStart',
    payload: {
      session_id: session,
      transcript_path: '',
      cwd,
      permission_mode: 'auto-low',
      hook_event_name: 'SessionStart',
      source: 'startup',
    },
  }),
};

function hasHooks(text: string): boolean {
  const read = readJson(text);
  return read.ok && members(read.root).some(([key]) => key === 'hooks');
}
