/** Its hooks file (page of its hooks for 1.0, checked 2026-11-18): a list of commands for each event. */
import { join } from 'node:path';
import type { Settings } from '../contract/contract.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const shape: Shape = { root: 'hooks', entry: ({ posix, windows }) => ({ command: posix ?? windows }) };

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['your-agent'], folders: ({ home }) => [join(home, '.your-agent')] },
  runs: { posix: 'sh', windows: 'cmd' },
  files: (scope, { home, project }) => [
    jsonHooks(join(scope === 'global' ? home : project, '.your-agent', 'hooks.json'), shape),
  ],
  afterwards: 'Start a new session.',
  proof: (session, folder, atMs) => ({
    event: 'session_started',
    payload: {
      event: 'session_started',
      your_agent_session: session,
      cwd: folder,
      at: new Date(atMs).toISOString(),
    },
  }),
};
