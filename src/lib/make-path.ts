import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * As `mkdir -p`, for us alone where nothing else is said. Node's own never ends below a folder that is there and takes
 * none, as /proc. Throws like it where it cannot.
 */
export function makePath(path: string, mode = 0o700): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makePath(above, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another may have been quicker.
    if (!isFolder(path)) throw error;
  }
}

/**
 * Where root would leave folders that a user cannot write to, whose own hooks then fail without a word: the nearest
 * folder on the way to a path that belongs to a user other than root. Undefined where another user than root is at
 * work.
 */
export function foreignAbove(path: string): { folder: string; owner: number } | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  for (let folder = path; ; folder = dirname(folder)) {
    const owner = statSync(folder, { throwIfNoEntry: false })?.uid ?? 0;
    if (owner !== 0) return { folder, owner };
    if (folder === dirname(folder)) return undefined;
  }
}

/** Makes a folder for our own files; throws where that would be in the home of another user. */
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
