/**
 * What the Node front end seldom does to the disk: folders made, short writes finished, a sign left where something
 * failed. Nothing is removed.
 */
import { mkdirSync, writeFileSync, writeSync } from './builtins.ts';

/** Makes what a front end needs. */
export function makeFolders(stateFolder: string): void {
  // The modes below are narrow by themselves; this is for a umask that would take the owner's own rights.
  process.umask(0o077);
  for (const folder of ['inbox', 'problems']) mkdirSync(`${stateFolder}/${folder}`, { recursive: true, mode: 0o700 });
}

/** A write may take less than it is given; giving up leaves a file without a trailer, which is counted as torn. */
export function writeAll(fd: number, bytes: Uint8Array, length: number): void {
  for (let at = 0; at < length; ) at += writeSync(fd, bytes, at, length - at);
}

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
