/**
 * Antigravity's hooks file (documents that the CLI ships, issues up to 1.2.7; checked 2026-11-18). Hooks are below a
 * name. Hooks of actions are groups, the others are not: a wrong form, or a timeout that is not a whole number of
 * seconds, silently drops the whole file. 1.0 starts the command without a shell, so it is a program with plain
 * arguments.
 */
import { join } from 'node:path';
import type { Settings } from '../contract/contract.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const shape: Shape = {
  root: 'otel-hooks',
  entry({ posix, windows }, event) {
    const handler = { type: 'command', command: posix ?? windows, timeout: 5 };
    return /ToolUse$/.test(event) ? { matcher: '.*', hooks: [handler] } : handler;
  },
};

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: {
    programs: ['agy', 'antigravity'],
    folders: ({ home }) => ['antigravity', 'antigravity-cli'].map(name => join(home, '.gemini', name)),
  },
  runs: { posix: 'program', windows: 'either' },
  files: (scope, { home, project }) => [
    jsonHooks(
      scope === 'global' ? join(home, '.gemini', 'config', 'hooks.json') : join(project, '.agents', 'hooks.json'),
      shape,
    ),
  ],
  afterwards:
    'Hooks run at once, without approval; `agy -p "/hooks"` shows the loaded hooks. Register them in one scope only, because all files are merged.',
  runsToo({ home }, _, names) {
    const plugins = join(home, '.gemini', 'config', 'plugins');
    return names(plugins).map(name => join(plugins, name, 'hooks.json'));
  },
  proof: (session, folder) => ({
    event: 'PreInvocation',
    payload: {
      conversationId: session,
      hookEventName: 'PreInvocation',
      transcriptPath: '',
      workspacePaths: [folder],
      invocationNum: 1,
      initialNumSteps: 1,
    },
  }),
};
