/**
 * Starting deliver. It is a process of its own, in a session of its own, with nothing of the agent's in its hands: it must
 * outlive the agent, and no agent may wait for it. Who is kicked decides itself whether there is something to do.
 */
import { existsSync, lstatSync, readFileSync } from 'node:fs';

/** The owner touches its lock every 2 s. */
const lockStaleMs = 10_000;

/**
 * Does a deliver seem to be alive? A wrong no costs a process that leaves at once; a wrong yes costs time until the
 * next edge event. So looking is enough and nothing is waited for.
 */
export function isDelivering(stateFolder: string, nowMs: number): boolean {
  const lock = `${stateFolder}/lock`;
  try {
    const found = lstatSync(lock, { throwIfNoEntry: false });
    if (found === undefined || nowMs - found.mtimeMs > lockStaleMs) return false;
    const pid = Number.parseInt(readFileSync(lock, 'utf8'), 10);
    // 0 and less would ask for whole groups of processes.
    if (!(pid > 0)) return false;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there is such a process, somebody else's. Anything else: its owner is gone, or just left.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

export interface Kick {
  deliver: string;
  stateFolder: string;
  args: readonly string[];
}

/** Starts deliver and lets it go. False when there is nothing to start. `ended` hears of its end, if we are still there. */
export function kick({ deliver, stateFolder, args }: Kick, ended?: () => void): boolean {
  if (!existsSync(deliver)) return false;
  // Loading this costs a fifth of a Node start, so only who kicks pays. `require`: the bundle is CommonJS.
  const { spawn } = require('node:child_process') as typeof import('node:child_process');
  const env = { ...process.env };
  // The agent's own debugging of Node is not ours.
  delete env.NODE_OPTIONS;
  const child = spawn(process.execPath, [deliver, ...args, '--state-dir', stateFolder], {
    cwd: '/',
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
    env,
  });
  if (ended !== undefined) {
    child.once('exit', ended);
    child.once('error', ended);
  }
  return child.pid !== undefined;
}
