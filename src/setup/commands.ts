/**
 * The commands that agents run, for each kind of shell. Only this file knows how systems differ. The commands for POSIX
 * shells were run on Linux; the commands for Windows are tested as text.
 *
 * A POSIX shell sources our script, which costs least. Windows has no such shell, and a file that is shared with other
 * machines must not contain paths of this machine. Both run the Node front end. A shared file finds it in PATH and
 * checks that it exists, because agents report a missing program to users without otel-hooks. Each command ends with 0
 * and clears NODE_OPTIONS, because a missing module in it would end the program before its start.
 */
import { posix, win32 } from 'node:path';
import type { HookCommand, PosixRunner, WindowsRunner } from '../agents/contract/contract.ts';
import { shellCommand } from '../hook/script.ts';

export interface Wanted {
  tool: string;
  event: string;
  edge: boolean;
  provider?: string | undefined;
  /** The text that the agent requires on standard output. */
  reply: string;
  runs: { readonly posix: PosixRunner; readonly windows: WindowsRunner };
  platform: string;
  /** The settings file is shared with other machines. */
  isShared: boolean;
  /** The folder of our scripts. */
  data: string;
  node: string;
  /** The Node front end. */
  bin: string;
}

export function commandFor(wanted: Wanted): HookCommand {
  if (wanted.isShared) return { posix: portable(wanted), windows: inWindows(wanted, portableScript, portableCmd) };
  if (wanted.platform === 'win32') return { windows: inWindows(wanted, installedScript, installedCmd) };
  return { posix: sourced(wanted) };
}

/** The script that agents' shells source. */
export const scriptPath = (data: string): string => posix.join(data, 'hook.sh');

/** The script around the command of a status line. */
export const statusLinePath = (data: string): string => posix.join(data, 'status-line.sh');

/** The same for agents that may start a program without a shell: a program that starts the shell. */
export function programFor({ tool, reply, data }: Pick<Wanted, 'tool' | 'reply' | 'data'>): {
  path: string;
  text: string;
} {
  const script = quoted(scriptPath(data));
  const say = reply === '' ? '' : `trap '' PIPE\nprintf '%s\\n' ${quoted(reply)} 2>/dev/null\n`;
  return {
    path: posix.join(data, `otel-hooks-${tool}.sh`),
    text: `#!/bin/sh\n# Written by \`otel-hooks enable\`; changes are overwritten.\ntrap 'exit 0' 0\n${say}otel_hooks="${tool} $*"\n[ ! -r ${script} ] || . ${script} 2>/dev/null\n`,
  };
}

function sourced(wanted: Wanted): string {
  const { tool, event, edge, provider, reply, runs, data } = wanted;
  if (runs.posix === 'program') {
    const { path } = programFor(wanted);
    const words = [event, ...(edge || provider ? [edge ? 'edge' : '-'] : []), ...(provider ? [provider] : [])];
    return [/[^\w./-]/.test(path) ? quoted(path) : path, ...words].join(' ');
  }
  const command = shellCommand({ script: scriptPath(data), tool, event, edge, provider, reply: reply || undefined });
  return runs.posix === 'any shell' ? `/bin/sh -c ${quoted(command)}` : command;
}

function portable({ reply, runs, ...wanted }: Wanted): string {
  const say = reply === '' ? '' : `printf '%s\\n' ${quoted(reply)}; `;
  const command = `${say}! command -v otel-hooks >/dev/null 2>&1 || NODE_OPTIONS= otel-hooks ${hookWords(wanted)}`;
  return runs.posix === 'any shell' ? `/bin/sh -c ${quoted(command)}` : command;
}

type Script = (wanted: Wanted) => string;

function inWindows(wanted: Wanted, script: Script, cmd: Script): string {
  const { windows } = wanted.runs;
  if (windows === 'cmd') return cmd(wanted);
  return windows === 'powershell'
    ? script(wanted)
    : // The script has no character that cmd, or an outer PowerShell, would interpret.
      `powershell -NoProfile -NonInteractive -Command "${script(wanted)}"`;
}

const CLEAR = "[Environment]::SetEnvironmentVariable('NODE_OPTIONS','')";
const inPowerShell = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const installedScript: Script = wanted =>
  `${CLEAR}; & ${inPowerShell(wanted.node)} ${inPowerShell(wanted.bin)} ${hookWords(wanted, "'{}'")}; exit 0`;
const portableScript: Script = wanted =>
  `${CLEAR}; if (Get-Command otel-hooks.cmd -ErrorAction SilentlyContinue) { otel-hooks.cmd ${hookWords(wanted, "'{}'")} }; exit 0`;
const installedCmd: Script = wanted =>
  `set NODE_OPTIONS=& "${win32.normalize(wanted.node)}" "${win32.normalize(wanted.bin)}" ${hookWords(wanted, '{}')} & exit 0`;
const portableCmd: Script = wanted =>
  `set NODE_OPTIONS=& where /q otel-hooks.cmd && otel-hooks.cmd ${hookWords(wanted, '{}')} & exit 0`;

/** `braces`: the neutral answer `{}` in the syntax of this shell. Agents require no other text. */
function hookWords(
  { tool, event, edge, provider, reply }: Pick<Wanted, 'tool' | 'event' | 'edge' | 'provider'> & { reply?: string },
  braces?: string,
): string {
  const words = ['hook', '--tool', tool, '--event', event];
  if (edge) words.push('--edge');
  if (provider !== undefined) words.push('--provider', provider);
  if (reply && braces) words.push('--reply', braces);
  for (const word of words) {
    if (!/^[\w.:,/{}'-]+$/.test(word)) throw new RangeError(`not a word for a hook command: ${JSON.stringify(word)}`);
  }
  return words.join(' ');
}

/** One word for a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns our command as a program with arguments, as the agent starts it. */
export function startedAs(
  { posix: forPosix, windows }: HookCommand,
  runs: Wanted['runs'],
  platform: string,
): [program: string, args: string[]] {
  if (platform !== 'win32') return ['/bin/sh', ['-c', forPosix ?? windows ?? '']];
  const command = windows ?? forPosix ?? '';
  return runs.windows === 'powershell'
    ? ['powershell', ['-NoProfile', '-NonInteractive', '-Command', command]]
    : ['cmd', ['/d', '/c', command]];
}
