/**
 * Starts deliver as a process and a session of its own, without any open file of the agent: deliver must outlive the
 * agent, and no agent may wait for it. The started process decides whether there is work.
 *
 * One burst of hooks starts one process, not one for each hook. Between a start and the lock, which shows that deliver
 * runs, about 50 ms pass (more under load), and each process takes 50 MB and 0.1 s of CPU. Therefore the hooks of one
 * moment agree by a marker, the empty file `kick.<boot>-<step>` in the state folder. `boot` is the first group of the
 * kernel's boot id and `step` its uptime divided by KICK_STEP_S. Without /proc `boot` is 0 and `step` counts from 1970.
 * Both front ends use the same names, and every process that takes or asks for the lock removes them (store/lock.ts).
 *
 * A front end takes these steps: (W) write the fragment; (L) look at the lock, except at an edge, and leave when its
 * owner lives; (M) create the marker with O_EXCL, and leave when it exists; start deliver. A started process K takes
 * these: take the lock; (R) remove all markers; if another process has the lock, (C) try once more after R, and end if
 * it is still taken. An owner lists the inbox (I) as long as it works, and once more after it released the lock.
 *
 * No fragment stays in the inbox unless a process ends early. It ends early when it is killed, when it fails (a full
 * disk), when its file is gone (an upgrade), when `deliver --wait` runs out of time, or when a process that asked for
 * the lock gives up in the moment in which the owner leaves. Then the next hook starts another process.
 * - A hook that left at L saw a live owner. The release of this owner comes after L, its last I after its release, and
 *   W before L: the owner sees the fragment. An owner that is asked to leave leaves the listing to the process that
 *   asked.
 * - A hook that left at M saw the marker, so the R that removes it comes later, and W before both. Where R is followed
 *   by ownership, the new owner's I comes after R. Where C finds the lock taken, the release of that owner comes after
 *   C, and its last I after that. So one of the two sees the fragment. R must come before C: otherwise the owner could
 *   release the lock and list the inbox between K's only try and W, while the marker still holds the hook back.
 * - A hook that creates the marker starts K, and K lists the inbox or ends at C, as above. When K, or the hook between
 *   M and the start, is killed, the marker stays. It holds hooks back for the rest of its step, KICK_STEP_S at most.
 *   Then no hook asks for its name, and the next hook starts another process. The same holds when Node cannot be
 *   started at all. Fragments stay in the inbox in the meantime.
 *
 * At most three such processes live at once, unless one takes longer than a step to reach the lock: one for each step,
 * and at the border between two steps the hooks that read the clock before it and create their marker after it.
 *
 * Clocks. The kernel's clock neither jumps nor runs backwards, and a marker of an earlier boot has another name. A wall
 * clock that jumps leads to another name, and so to one more process. When the clock returns to a step whose marker was
 * left, this marker holds hooks back until the step is over. Where no marker can be created (full disk, read-only
 * folder), only edges start deliver.
 *
 * Markers do not pile up: the process that starts deliver first removes those that are neither of this step nor of the
 * one before. Hooks that read the clock in the step before may still need its marker.
 */
import { lstatSync, openSync, readFileSync } from './builtins.ts';

/**
 * Returns true if a deliver process seems to run. A wrong false costs a process that ends at once. A wrong true (the
 * pid now belongs to another process) delays delivery until the next edge event. So one check is enough.
 */
export function isDelivering(stateFolder: string): boolean {
  try {
    // The read of a pipe or a device in its place would not end.
    if (!lstatSync(`${stateFolder}/lock`).isFile()) return false;
    // Node reads UTF-8 on a faster path, and only a number at the start is needed.
    const pid = Number.parseInt(readFileSync(`${stateFolder}/lock`, 'utf8'), 10);
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Rounds fill the young generation many times. With half of this size (Node's default), delivery spends a tenth of its
 * time on garbage collection.
 */
export const ROOM = '--max-semi-space-size=32';

/**
 * Longer than a process takes to reach the lock on a busy machine. The marker of a killed process holds hooks back until
 * its step is over.
 */
export const KICK_STEP_S = 15;

/**
 * Variables that the agent, and settings of a project, set for their own programs. Deliver sends the sessions of all
 * projects, so it must not use a CA, module or library of one project.
 */
export const NOT_FOR_DELIVERY =
  'NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED NODE_USE_SYSTEM_CA NODE_USE_ENV_PROXY ' +
  'NODE_REDIRECT_WARNINGS NODE_V8_COVERAGE NODE_REPL_EXTERNAL_MODULE NODE_ICU_DATA SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE ' +
  'OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES ENV BASH_ENV';

export interface Kick {
  deliver: string;
  stateFolder: string;
  args: readonly string[];
  /** The folder that the hook works in. */
  from: string;
}

/** Starts deliver unless another hook has just started it. `boot` and `uptime` are the values from /proc, or ''. */
export function kickOnce(kicked: Kick, isEdge: boolean, boot: string, uptime: string): void {
  const { stateFolder } = kicked;
  const step = Math.floor((Number.parseFloat(uptime) || Date.now() / 1_000) / KICK_STEP_S);
  const markerOf = (at: number): string => `kick.${boot || '0'}-${at}`;
  try {
    openSync(`${stateFolder}/${markerOf(step)}`, 'wx', 0o600);
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (isThere || !isEdge) return;
  }
  try {
    const { readdirSync, rmSync } = require('node:fs') as typeof import('node:fs');
    for (const name of readdirSync(stateFolder))
      if (name.startsWith('kick.') && name !== markerOf(step) && name !== markerOf(step - 1))
        rmSync(`${stateFolder}/${name}`, { force: true });
  } catch {
    // For example, the name belongs to a folder. The owner of the lock removes it too.
  }
  kick(kicked);
}

/**
 * Starts deliver without waiting for it. Returns false if it could not be started. `ended` is called when deliver ends,
 * if this process still runs then.
 */
export function kick({ deliver, stateFolder, args, from }: Kick, ended?: () => void): boolean {
  // Loading this module costs a fifth of a Node start, so only a process that kicks loads it. `require`: the bundle is
  // CommonJS.
  const { spawn } = require('node:child_process') as typeof import('node:child_process');
  const env = { ...process.env };
  for (const name of NOT_FOR_DELIVERY.split(' ')) delete env[name];
  const child = spawn(process.execPath, [ROOM, deliver, ...args, '--from', from, '--state-dir', stateFolder], {
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
