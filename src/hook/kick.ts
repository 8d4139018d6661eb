/**
 * Starting deliver. It is a process of its own, in a session of its own, with nothing of the agent's in its hands: it must
 * outlive the agent, and no agent may wait for it. Who is kicked decides itself whether there is something to do.
 */
import { existsSync, lstatSync, readFileSync } from './builtins.ts';

/**
 * Does a deliver seem to be alive? A wrong no costs a process that leaves at once; a wrong yes (a pid that another has
 * by now) costs time until the next edge event. So looking is enough and nothing is waited for.
 */
export function isDelivering(stateFolder: string): boolean {
  try {
    // A pipe or a device in its place would be read for ever.
    if (!lstatSync(`${stateFolder}/lock`).isFile()) return false;
    // Read as UTF-8, Node takes a short cut through all its layers; a number at the start is all that counts.
    const pid = Number.parseInt(readFileSync(`${stateFolder}/lock`, 'utf8'), 10);
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // EPERM: there is such a process, somebody else's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Rounds fill the young generation many times over: with Node's half of this, a tenth of delivery's time is collecting. */
export const ROOM = '--max-semi-space-size=32';

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
  const child = spawn(process.execPath, [ROOM, deliver, ...args, '--state-dir', stateFolder], {
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
