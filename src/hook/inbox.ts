/**
 * The Node front end's way to the disk: folders made or refused, one new file, nothing removed. Errors are thrown as
 * they come; the one catch is in hook.ts.
 */
import { closeSync, lstatSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from './builtins.ts';
import { fragmentName } from './fragment.ts';

/** Makes the state folder and what a front end needs in it; undefined for one that somebody else could have prepared. */
export function openInbox(stateFolder: string): string | undefined {
  const inbox = `${stateFolder}/inbox`;
  for (const folder of [stateFolder, inbox]) {
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found === undefined) {
      // The modes below are narrow by themselves; this is for a umask that would take the owner's own rights.
      process.umask(0o077);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (folder === inbox) mkdirSync(`${stateFolder}/problems`, { recursive: true, mode: 0o700 });
    } else if (!found.isDirectory() || (process.geteuid !== undefined && found.uid !== process.geteuid())) {
      // A link or another user's folder may lead anywhere.
      return undefined;
    }
  }
  return inbox;
}

export interface Opened {
  fd: number;
  unique: string;
}

/** A new file under a name that no other process can have. */
export function createFragment(inbox: string, pid: number, ppid: number): Opened {
  const boot = firstWord('/proc/sys/kernel/random/boot_id').slice(0, 8);
  const uptime = firstWord('/proc/uptime');
  const random = firstWord('/proc/sys/kernel/random/uuid');
  for (let attempt = 0; ; attempt++) {
    const unique = random || `${ppid}.${process.hrtime.bigint()}.${attempt}`;
    try {
      return { fd: openSync(`${inbox}/${fragmentName(boot, uptime, pid, unique)}`, 'wx', 0o600), unique };
    } catch (error) {
      if (attempt === 9 || !(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
}

/** A write may take less than it is given; giving up leaves a file without a trailer, which is counted as torn. */
export function writeAll(fd: number, bytes: Uint8Array, length: number): void {
  for (let at = 0; at < length; ) at += writeSync(fd, bytes, at, length - at);
}

export const closeFragment = (fd: number): void => closeSync(fd);

/**
 * Leaves a sign in `problems` for whoever looks next; its time is the file's. Names are few, so the folder stays small.
 */
export function noteProblem(stateFolder: string, code: string): void {
  try {
    writeFileSync(`${stateFolder}/problems/hook-${code.replace(/[^0-9A-Za-z-]/g, '').slice(0, 40)}`, '', {
      mode: 0o600,
    });
  } catch {
    // Where not even this can be written nobody can be told; the agent must not be disturbed.
  }
}

function firstWord(file: string): string {
  try {
    // Read as UTF-8, Node takes a short cut through all its layers.
    const text = readFileSync(file, 'utf8');
    const end = text.indexOf(' ');
    return text.slice(0, end < 0 ? text.length - 1 : end);
  } catch {
    // Not Linux, or a container without /proc: names do without.
    return '';
  }
}
