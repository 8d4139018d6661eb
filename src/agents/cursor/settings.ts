/**
 * Cursor's hooks file (hook documentation of June 2026, the CLI 2026.09.10 measured; checked 2026-11-18). One unknown event,
 * or an unknown member in an entry, silently disables the whole file: so nothing stands in ours but what is documented.
 * Every hook is waited for; the timeout is in seconds.
 */
import { join } from 'node:path';
import type { Settings } from '../contract.ts';
import { jsonHooks, type Shape } from '../json-hooks.ts';

const shape: Shape = {
  root: 'hooks',
  version: 1,
  entry: ({ posix, windows }) => ({ command: posix ?? windows, timeout: 10 }),
};

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['cursor', 'cursor-agent'], folders: ({ home }) => [join(home, '.cursor')] },
  runs: { posix: 'sh', windows: 'either' },
  files: (scope, { home, project }) => [
    jsonHooks(join(scope === 'global' ? home : project, '.cursor', 'hooks.json'), shape),
  ],
  afterwards:
    'Cursor reads the file again by itself. Hooks of a project run only in a workspace that you trust; cloud agents run these alone.',
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
