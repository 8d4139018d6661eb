import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Like `mkdir -p`, with mode 0700 unless the caller sets another one. Node's own recursive mkdir never ends below an
 * existing folder that accepts no files, such as /proc. Throws if a folder cannot be made.
 */
export function makePath(path: string, mode = 0o700): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makePath(above, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have made the folder.
    if (!isFolder(path)) throw error;
  }
}

/**
 * Returns the nearest existing folder on the way to a path if it belongs to a user other than root. Folders that root
 * makes there would make the hooks of that user fail silently. Undefined if the process does not run as root.
 */
export function foreignAbove(path: string): { folder: string; owner: number } | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  for (let folder = path; ; folder = dirname(folder)) {
    const owner = statSync(folder, { throwIfNoEntry: false })?.uid ?? 0;
    if (owner !== 0) return { folder, owner };
    if (folder === dirname(folder)) return undefined;
  }
}

/** Makes a folder for our own files. Throws if root would make it in the home of another user. */
export function makeOwnPath(path: string): void {
  const foreign = foreignAbove(path);
  if (foreign !== undefined) {
    const { folder, owner } = foreign;
    throw new Error(
      `${folder} belongs to user ${owner}, who could not write to what root makes there; run it as this user`,
    );
  }
  makePath(path);
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
