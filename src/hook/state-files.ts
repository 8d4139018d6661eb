/**
 * What the Node front end seldom does to the disk: folders made, short writes finished, a sign left where something
 * failed. Nothing is removed.
 */
import { fstatSync, lstatSync, mkdirSync, openSync, statSync, writeSync } from './builtins.ts';

/** Makes what a front end needs. */
export function makeFolders(stateFolder: string): void {
  makePath(stateFolder);
  for (const folder of ['inbox', 'problems']) {
    // In a shared folder another user may have put a link here a moment ago, and what follows would go where it leads.
    if (!lstatSync(stateFolder).isDirectory()) throw new Error('the state folder is a link');
    makePath(`${stateFolder}/${folder}`);
  }
}

/**
 * Root at work in the home of a user would leave folders there that the user's own hooks cannot write to. Nothing is made
 * in a home that the effective user does not own, and by root nothing below a folder of another user.
 */
export function isOfAnother(stateFolder: string, home: string): boolean {
  const user = process.geteuid?.();
  if (user === undefined) return false;
  const ownerOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.uid;
  if (stateFolder.startsWith(`${home}/`) && (ownerOf(home) ?? user) !== user) return true;
  for (let at = stateFolder; user === 0 && at !== ''; at = at.slice(0, at.lastIndexOf('/')))
    if (ownerOf(at)) return true;
  return false;
}

/** Node's own way never ends below a folder that is there and takes none, as /proc. */
function makePath(path: string): void {
  const isThere = () => statSync(path, { throwIfNoEntry: false })?.isDirectory();
  if (isThere()) return;
  const above = path.replace(/[/\\]+[^/\\]*$/, '');
  if (above !== '' && above !== path) makePath(above);
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    // Another hook may have been quicker.
    if (!isThere()) throw error;
  }
}

/** A write may take less than it is given; giving up leaves a file without a trailer, which is counted as torn. */
export function writeAll(fd: number, bytes: Uint8Array, length: number): void {
  for (let at = writeSync(fd, bytes, 0, length); at < length; ) {
    surviveFileSizeLimit();
    at += writeSync(fd, bytes, at, length - at);
  }
}

/**
 * The write that reaches a limit on the size of files is short; it is the next one whose signal ends a process that does
 * not listen. To listen costs too much for the common event, which is one write.
 */
export function surviveFileSizeLimit(): void {
  if (process.listenerCount('SIGXFSZ') === 0) process.on('SIGXFSZ', () => {});
}

/**
 * Leaves a sign in `problems` for whoever looks next; its time is the file's. Names are few, so the folder stays small.
 * Something else may lie in its place: a link is not followed, a pipe not waited for, a file with another name not touched.
 */
export function noteProblem(stateFolder: string, code: string): void {
  try {
    const { constants, futimesSync } = require('node:fs') as typeof import('node:fs');
    const folder = `${stateFolder}/problems`;
    if (!lstatSync(folder).isDirectory()) return;
    const flags = constants.O_WRONLY | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const fd = openSync(`${folder}/hook-${code.replace(/[^0-9A-Za-z-]/g, '').slice(0, 40)}`, flags, 0o600);
    const now = Date.now() / 1_000;
    if (fstatSync(fd).nlink === 1) futimesSync(fd, now, now);
  } catch {
    // Where not even this can be written nobody can be told; the agent must not be disturbed.
  }
}
