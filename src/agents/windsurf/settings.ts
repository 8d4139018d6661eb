/**
 * Windsurf's hooks file (vendor's hook pages of 2026, checked 2026-11-18). Files of all scopes are merged; a timeout
 * cannot be set. The plugin for JetBrains has a separate file, which is changed if it exists.
 */
import { join } from 'node:path';
import type { Settings } from '../contract/contract.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const shape: Shape = {
  root: 'hooks',
  entry: ({ posix, windows }) => ({
    ...(posix === undefined ? {} : { command: posix }),
    ...(windows === undefined ? {} : { powershell: windows }),
    show_output: false,
  }),
};

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['windsurf'], folders: ({ home }) => [join(home, '.codeium', 'windsurf')] },
  runs: { posix: 'sh', windows: 'powershell' },
  files(scope, { home, project }, read) {
    if (scope === 'project') return [jsonHooks(join(project, '.windsurf', 'hooks.json'), shape)];
    const editor = jsonHooks(join(home, '.codeium', 'windsurf', 'hooks.json'), shape);
    const plugin = join(home, '.codeium', 'hooks.json');
    return read(plugin) === undefined ? [editor] : [editor, jsonHooks(plugin, shape)];
  },
  afterwards:
    'Restart Windsurf. From now on it keeps transcripts in ~/.windsurf/transcripts, because a hook requests them.',
  proof: (session, folder, atMs) => ({
    event: 'post_run_command',
    payload: {
      agent_action_name: 'post_run_command',
      trajectory_id: session,
      execution_id: session,
      timestamp: new Date(atMs).toISOString(),
      tool_info: { command_line: 'true', cwd: folder },
    },
  }),
};
