/**
 * Gemini CLI's settings files (source of 0.57, checked 2026-11-18). Scopes are added up; every hook is waited for, and equal
 * handlers run once by name and command. The timeout is in milliseconds. Without a matcher a group is for everything.
 */
import { join } from 'node:path';
import type { Places, Settings } from '../contract.ts';
import { jsonHooks, type Shape } from '../json-hooks.ts';

const shape: Shape = {
  root: 'hooks',
  entry: ({ posix, windows }) => ({
    hooks: [{ type: 'command', name: 'otel-hooks', command: posix ?? windows, timeout: 5000 }],
  }),
};

const userFolder = ({ home, env }: Places): string => join(env.GEMINI_CLI_HOME || home, '.gemini');

export const settings: Settings = {
  scopes: ['global', 'project'],
  // The folder alone shows nothing: a successor keeps its own things in it.
  installed: { programs: ['gemini'], folders: places => [join(userFolder(places), 'tmp')] },
  runs: { posix: 'sh', windows: 'powershell' },
  files: (scope, places) => [
    jsonHooks(join(scope === 'global' ? userFolder(places) : join(places.project, '.gemini'), 'settings.json'), shape),
  ],
  afterwards:
    'Start a new session; /hooks lists what runs. In a folder that you do not trust no hook runs; hooks of a project are shown as new there once, to be looked at. Releases before spring 2026 need "tools": { "enableHooks": true }.',
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
