/**
 * Cline's hooks (extension 4.1, CLI 3.0 and its SDK; checked 2026-11-18): a hook is a program that is named after its
 * event, `.ps1` on Windows. A folder holds one file of a name, and the files of all folders run: if the user's own file
 * is in one folder, ours is written into the other. The extension waits 30 seconds for a hook, the SDK 120; neither can
 * be changed.
 */
import { join } from 'node:path';
import type { HookCommand, Places, Scope, Settings, SettingsFile } from '../contract/contract.ts';
import { commandOf, isOurCommand } from '../files/our-command.ts';
import { wholeFile } from '../files/whole-file.ts';

/** Names of files, with the event of their command: payloads of the SDK use different names. */
const programs: Readonly<Record<string, string>> = {
  TaskStart: 'TaskStart',
  TaskResume: 'TaskResume',
  TaskCancel: 'TaskCancel',
  TaskComplete: 'TaskComplete',
  TaskError: 'agent_error',
  UserPromptSubmit: 'UserPromptSubmit',
  PreToolUse: 'PreToolUse',
  PostToolUse: 'PostToolUse',
  PreCompact: 'PreCompact',
  Notification: 'Notification',
  SessionShutdown: 'session_shutdown',
};

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: {
    programs: ['cline'],
    folders: ({ home }) => [join(home, '.cline'), join(home, 'Documents', 'Cline')],
  },
  runs: { posix: 'itself', windows: 'powershell' },
  files(scope, places, read) {
    const suffix = places.platform === 'win32' ? '.ps1' : '';
    return Object.entries(programs).flatMap(([name, event]) => {
      const files = foldersOf(scope, places).map(folder => program(join(folder, name + suffix), event));
      const isFree = (file: SettingsFile) => {
        const text = read(file.path);
        return text === undefined || isOurs(text);
      };
      const chosen = files.find(isFree) ?? files[0];
      return files.map(file => (file === chosen ? file : { ...file, add: undefined }));
    });
  },
  afterwards:
    'Enable hooks in Cline’s settings (Features) if they are disabled. Hooks of a project are files in it: every user who clones it runs them.',
  proof: (session, folder, atMs) => ({
    event: 'TaskStart',
    payload: {
      clineVersion: '4.1.0',
      hookName: 'TaskStart',
      timestamp: String(atMs),
      taskId: session,
      workspaceRoots: [folder],
      userId: '',
      taskStart: { taskMetadata: { taskId: session } },
    },
  }),
};

function foldersOf(scope: Scope, { home, project }: Places): string[] {
  return scope === 'global'
    ? [join(home, 'Documents', 'Cline', 'Hooks'), join(home, '.cline', 'hooks')]
    : [join(project, '.clinerules', 'hooks'), join(project, '.cline', 'hooks')];
}

function program(path: string, event: string): SettingsFile {
  const note = '# Written by `otel-hooks enable`, removed by `otel-hooks disable`; changes are overwritten.\n';
  const file = wholeFile({
    path,
    isExecutable: true,
    isOurs,
    entries: text => [{ event, command: commandOf({ command: commandIn(text) }) }],
    text(commands) {
      const { posix, windows } = commands.get(event) ?? ({} satisfies HookCommand);
      if (path.endsWith('.ps1')) return `${note}${windows ?? ''}\n`;
      return `#!/bin/sh\n${note}${posix ?? ''}\n`;
    },
  });
  return {
    ...file,
    remove(before) {
      const rest = before.replace(ITS_LAST_LINE, '\n');
      return isOurs(before) || rest === before
        ? file.remove(before)
        : { ok: true, text: rest, changed: true, events: [event] };
    },
  };
}

/** The text that the Python package of this name appended to the user's own program. */
const ITS_LAST_LINE = /\n(?:uvx |pipx run )?otel-hooks hook(?: --(?:provider|tool)[ =]\w+)*\n?$/;

/**
 * A program that only runs a command of ours; the programs of the Python package of this name are shell scripts too.
 */
const isOurs = (text: string): boolean => isOurCommand(commandIn(text));

const commandIn = (text: string): string =>
  text
    .split(/\r?\n/)
    .filter(line => !/^\s*(#|$)/.test(line))
    .join('\n');
