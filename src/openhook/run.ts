/**
 * Runs one command of a discovery file for one envelope. The platform's shell gets the command exactly as the file has
 * it, in the project's folder. The envelope goes to standard input and is never part of the text that the shell reads.
 *
 * The command has its own process group, so that its child processes end with it or with its time limit. Its output is
 * discarded. It gets few environment variables, because the environment belongs to the project whose hook started the
 * delivery.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { isAbsolute, sep } from 'node:path';
import { DISPATCHED } from '../session/pin.ts';

export type How = 'done' | 'failed' | 'timeout' | 'unstarted' | 'stopped';

export interface Outcome {
  how: How;
  /** Completes a sentence that begins with "it". */
  why?: string | undefined;
}

export interface RunOptions {
  command: string;
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  input: string;
  limitMs: number;
}

export interface Running {
  ended: Promise<Outcome>;
  /** Ends the whole process group at once. */
  stop(): void;
}

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;

export function runCommand({ command, folder, env, platform, input, limitMs }: RunOptions): Running {
  const isWindows = platform === 'win32';
  const options = {
    cwd: folder,
    env: environmentOf(env, folder, platform),
    stdio: ['pipe', 'ignore', 'ignore'] as ['pipe', 'ignore', 'ignore'],
    detached: !isWindows,
    windowsHide: true,
  };
  let child: ChildProcess;
  try {
    child = isWindows ? spawn(command, { ...options, shell: true }) : spawn('/bin/sh', ['-c', command], options);
  } catch (error) {
    return { ended: Promise.resolve({ how: 'unstarted', why: codeOf(error) }), stop() {} };
  }
  let forced: Outcome | undefined;
  let last: NodeJS.Timeout | undefined;
  const end = (signal: 'SIGTERM' | 'SIGKILL'): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    endAll(child.pid, signal, isWindows);
  };
  const limit = setTimeout(() => {
    forced = { how: 'timeout', why: `took longer than ${limitMs / 1_000} s` };
    end('SIGTERM');
    last = setTimeout(() => end('SIGKILL'), GRACE_MS);
  }, limitMs);
  const ended = new Promise<Outcome>(resolve => {
    const settle = (outcome: Outcome): void => {
      clearTimeout(limit);
      clearTimeout(last);
      resolve(forced ?? outcome);
    };
    child.once('error', error => settle({ how: 'unstarted', why: codeOf(error) }));
    child.once('exit', (code, signal) => {
      // The system does not reuse the group's number while a process of the group lives.
      if (child.pid !== undefined && !isWindows) endAll(child.pid, 'SIGKILL', false);
      if (code === 0) settle({ how: 'done' });
      else settle({ how: 'failed', why: signal === null ? `exited with ${code}` : `was ended by ${signal}` });
    });
  });
  // A command may close its standard input without reading it.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  return {
    ended,
    stop() {
      forced = { how: 'stopped' };
      end('SIGKILL');
    },
  };
}

function endAll(pid: number, signal: 'SIGTERM' | 'SIGKILL', isWindows: boolean): void {
  try {
    if (isWindows) spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    else process.kill(-pid, signal);
  } catch {
    // The process group has ended already.
  }
}

const PASSED =
  /^(HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z_]+|OTEL_HOOKS_(CONFIG|STATE_DIR)|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES(\(X86\))?|TEMP|TMP)$/;

function environmentOf(env: RunOptions['env'], folder: string, platform: NodeJS.Platform): Record<string, string> {
  const isWindows = platform === 'win32';
  const separator = isWindows ? ';' : ':';
  // Programs inside the project are untrusted: they come with the clone.
  const isOutside = (place: string): boolean => isAbsolute(place) && !`${place}${sep}`.startsWith(`${folder}${sep}`);
  const passed: Record<string, string> = { BAGGAGE: DISPATCHED };
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    const known = isWindows ? name.toUpperCase() : name;
    if (known === 'PATH') passed[name] = value.split(separator).filter(isOutside).join(separator);
    else if (PASSED.test(known)) passed[name] = value;
  }
  return passed;
}

const codeOf = (error: unknown): string =>
  `could not be started (${error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'})`;
