/**
 * Rare disk operations of the Node front end: makes folders, finishes short writes, and leaves a sign when a step
 * failed. It removes nothing.
 */
import { fstatSync, lstatSync, mkdirSync, openSync, readSync, statSync, writeSync } from './builtins.ts';

/** Creates the folders that a front end needs. */
export function makeFolders(stateFolder: string): void {
  makePath(stateFolder);
  for (const folder of ['inbox', 'problems']) {
    // In a shared folder another user may have put a link here a moment ago, and the following writes would go to its
    // target.
    if (!lstatSync(stateFolder).isDirectory()) throw new Error('the state folder is a link');
    makePath(`${stateFolder}/${folder}`);
  }
}

/**
 * If root created folders in the home of a user, the hooks of that user could not write to them. So no folder is
 * created in a home that the effective user does not own, and root creates no folder below a folder of another user.
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

/** Node's own recursive `mkdir` never ends below a folder that exists and accepts no entries, such as /proc. */
function makePath(path: string): void {
  const isThere = () => statSync(path, { throwIfNoEntry: false })?.isDirectory();
  if (isThere()) return;
  const above = path.replace(/[/\\]+[^/\\]*$/, '');
  if (above !== '' && above !== path) makePath(above);
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    // Another hook was quicker.
    if (!isThere()) throw error;
  }
}

/** A write may be short. Without a retry the file would have no trailer and would count as torn. */
export function writeAll(fd: number, bytes: Uint8Array, length: number): void {
  for (let at = writeSync(fd, bytes, 0, length); at < length; ) {
    surviveFileSizeLimit();
    at += writeSync(fd, bytes, at, length - at);
  }
}

/**
 * The write that reaches a limit on file size is short; the next one raises a signal, which ends a process without a
 * listener. A listener is too expensive for the common event, which is one write.
 */
export function surviveFileSizeLimit(): void {
  if (process.listenerCount('SIGXFSZ') === 0) process.on('SIGXFSZ', () => {});
}

/**
 * Leaves a sign in `problems` for `status`. The time of the file is the time of the problem, its text the number of
 * times. The number of names is limited, so the folder stays small. The entry may be of another kind: a link is not
 * followed, a pipe does not block, and a file with a second name is not changed.
 */
export function noteProblem(stateFolder: string, code: string): void {
  try {
    const { constants, futimesSync } = require('node:fs') as typeof import('node:fs');
    const folder = `${stateFolder}/problems`;
    if (!lstatSync(folder).isDirectory()) return;
    const flags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const fd = openSync(`${folder}/hook-${code.replace(/[^0-9A-Za-z-]/g, '').slice(0, 40)}`, flags, 0o600);
    const now = Date.now() / 1_000;
    const facts = fstatSync(fd);
    if (facts.nlink !== 1 || !facts.isFile()) return;
    futimesSync(fd, now, now);
    const text = Buffer.alloc(16);
    const times = Number.parseInt(text.toString('latin1', 0, readSync(fd, text, 0, 9, 0)), 10) || 0;
    writeSync(fd, `${times + 1}\n`, 0);
  } catch {
    // If this write fails too, the problem cannot be recorded. The agent must not be disturbed.
  }
}
