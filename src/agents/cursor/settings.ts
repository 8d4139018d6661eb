/**
 * Cursor's hooks file (hook documentation of June 2026, the CLI 2026.09.10 measured; checked 2026-11-18). One unknown
 * event, or an unknown member in an entry, silently disables the whole file: our entries contain only documented
 * members. The agent waits for every hook; the timeout is in seconds.
 */
import { join } from 'node:path';
import { fieldsOf } from '../../lib/read.ts';
import type { Obstacle, Settings, SettingsPlaces } from '../contract/contract.ts';
import { jsonValue } from '../files/json-edit.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const shape: Shape = {
  root: 'hooks',
  version: 1,
  entry: ({ posix, windows }) => ({ command: posix ?? windows, timeout: 10 }),
};

const hooksFile = (folder: string): string => join(folder, '.cursor', 'hooks.json');

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['cursor', 'cursor-agent'], folders: ({ home }) => [join(home, '.cursor')] },
  runs: { posix: 'sh', windows: 'either' },
  files: (scope, { home, project }) => [jsonHooks(hooksFile(scope === 'global' ? home : project), shape)],
  afterwards:
    'Cursor reloads the file automatically. Hooks of a project run only in a trusted workspace; cloud agents run only the hooks of a project.',
  proof: (session, folder) => ({
    event: 'sessionStart',
    payload: {
      hook_event_name: 'sessionStart',
      conversation_id: session,
      session_id: session,
      generation_id: '',
      model: 'default',
      cursor_version: '3.18.25',
      workspace_roots: [folder],
      user_email: null,
      transcript_path: null,
      is_background_agent: false,
    },
  }),
};

/** `known`: one event that Cursor does not know silently disables the whole file. */
export const obstaclesOf =
  (known: readonly string[]) =>
  ({ home, project }: SettingsPlaces, read: (path: string) => string | undefined): Obstacle[] =>
    [home, project].flatMap(folder => {
      const file = hooksFile(folder);
      const unknown = Object.keys(fieldsOf(fieldsOf(jsonValue(read(file) ?? '')).hooks)).filter(
        event => !known.includes(event),
      );
      if (unknown.length === 0) return [];
      const why = `Cursor passes over the whole file where it does not know an event, such as ${unknown.join(', ')}`;
      return [
        { file, why, next: `look whether your Cursor knows ${unknown.join(', ')}; if not, take it out of ${file}.` },
      ];
    });
