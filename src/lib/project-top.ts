import { dirname, join } from 'node:path';
import { isInside, realPathOf } from './real-path.ts';
import { hasTrustedOwner } from './trusted-owner.ts';

/**
 * Returns the real folder of the working tree that contains a folder, or the folder itself outside of a working tree.
 * Undefined if that folder contains the home folder, because files there are the user's own and not a clone.
 */
export function projectTop(folder: string, home: string): string | undefined {
  const ownHome = realPathOf(home);
  let top = realPathOf(folder);
  for (let at = top; at !== dirname(at) && !isInside(ownHome, at); at = dirname(at)) {
    if (hasTrustedOwner(join(at, '.git'))) top = at;
  }
  return isInside(ownHome, top) ? undefined : top;
}
