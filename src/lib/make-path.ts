import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * As `mkdir -p`, for us alone where nothing else is said. Node's own never ends below a folder that is there and takes none, as /proc. Throws like it
 * where it cannot.
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

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
