/** OpenCode's plugins: OpenCode loads every file in its plugin folder as a plugin. */
import { join } from 'node:path';
import type { Places, Scope, Settings } from '../contract/contract.ts';
import { isOurCommand } from '../files/our-command.ts';
import { wholeFile } from '../files/whole-file.ts';
import { commandsIn, isPlugin, pluginText } from './plugin.ts';

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['opencode'], folders: places => [userFolder(places)] },
  // The plugin starts the commands as Node does: with sh, and with cmd on Windows.
  runs: { posix: 'sh', windows: 'cmd' },
  files: (scope, places) => [
    wholeFile({
      path: fileOf(scope, places),
      text: pluginText,
      isOurs: isPlugin,
      entries: source => commandsIn(source).filter(({ command: { posix, windows } }) => isOurCommand(posix ?? windows)),
    }),
  ],
  afterwards:
    'Restart OpenCode and its background server. At its first start with a plugin, OpenCode fetches the package @opencode-ai/plugin; without a network it waits for more than a minute. Every user who opens a project with OpenCode runs the plugins of the project.',
  proof: (session, directory) => ({
    event: 'session.created',
    payload: {
      type: 'session.created',
      properties: { sessionID: `ses_${session}`, info: { id: `ses_${session}`, directory, version: '1.18.18' } },
      session_id: `ses_${session}`,
      directory,
      opencode_version: '1.18.18',
    },
  }),
};

const userFolder = ({ home, env }: Places): string =>
  env.OPENCODE_CONFIG_DIR || join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');

const fileOf = (scope: Scope, places: Places): string =>
  join(scope === 'global' ? userFolder(places) : join(places.project, '.opencode'), 'plugins', 'otel-hooks.js');
