/** Runs the command of a hook: with a time limit, and with the signals that reach this process. */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Ended } from '../agents/contract/dialect.ts';

export type Ran =
  | { readonly kind: 'ended'; readonly ended: Ended }
  | { readonly kind: 'timed out' }
  /** The program could not be started, was interrupted, or printed too much. */
  | { readonly kind: 'failed'; readonly why: string };

export interface Order {
  readonly command: readonly string[];
  readonly input: string | Buffer;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

const largestOutput = 16 * 1024 * 1024;
/** How long a child in the background may hold the output open after the command has ended. */
const heldOpenMs = 250;
/** How long a command may take to end after a signal. */
const graceMs = 5_000;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function runCommand({ command, input, cwd, env, timeoutMs }: Order): Promise<Ran> {
  const [file = '', ...args] = command;
  return new Promise(resolve => {
    let stoppedBy: string | undefined;
    const passOn = (signal: NodeJS.Signals): void => {
      stoppedBy = signal;
      child.kill(signal);
      setTimeout(() => stop({ kind: 'failed', why: `interrupted by ${signal}` }), graceMs).unref();
    };
    // Before the command starts: it may be interrupted at once. The handlers run later than this function.
    for (const name of signals) process.on(name, passOn);
    const child = spawn(file, args, { cwd, env, shell: command.length === 1, windowsHide: true });
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let size = 0;
    const finish = (ran: Ran): void => {
      clearTimeout(timer);
      for (const name of signals) process.removeListener(name, passOn);
      resolve(ran);
    };
    const stop = (ran: Ran): void => {
      killTree(child.pid);
      finish(ran);
    };
    const take = (into: Buffer[]) => (data: Buffer) => {
      size += data.length;
      if (size > largestOutput) stop({ kind: 'failed', why: 'it printed more than 16 MB' });
      else into.push(data);
    };
    const timer = setTimeout(() => stop({ kind: 'timed out' }), timeoutMs);
    child.stdout.on('data', take(output.stdout));
    child.stderr.on('data', take(output.stderr));
    // The command may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.on('error', error => finish({ kind: 'failed', why: `it could not be started (${error.message})` }));
    const end = (code: number | null, signal: string | null): void => {
      const stdout = Buffer.concat(output.stdout).toString('utf8');
      const stderr = Buffer.concat(output.stderr).toString('utf8');
      if (stoppedBy !== undefined) finish({ kind: 'failed', why: `interrupted by ${stoppedBy}` });
      else if (code === null) finish({ kind: 'failed', why: `ended by ${signal}` });
      else finish({ kind: 'ended', ended: { code, stdout, stderr } });
    };
    child.on('close', end);
    child.on('exit', (code, signal) => setTimeout(() => end(code, signal), heldOpenMs));
  });
}

/** Ends a process and its descendants. A descendant that has left the tree, such as a daemon, stays. */
function killTree(root: number | undefined): void {
  if (root === undefined) return;
  if (process.platform === 'win32') {
    spawnSync('taskkill', ['/pid', String(root), '/T', '/F'], { windowsHide: true });
    return;
  }
  const children = childrenByParent();
  const all = [root];
  for (const pid of all) all.push(...(children.get(pid) ?? []));
  for (const pid of all)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  const add = (pid: number, parent: number): void => {
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  };
  if (process.platform === 'linux') {
    for (const name of readdirSync('/proc')) if (/^\d+$/.test(name)) add(Number(name), parentOf(name));
    return children;
  }
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  for (const line of (stdout ?? '').split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number);
    if (pid !== undefined && parent !== undefined) add(pid, parent);
  }
  return children;
}

/** The name of a program, in parentheses, can contain anything. */
function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It has ended.
    return -1;
  }
}
