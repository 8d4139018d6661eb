import { dirname, join } from 'node:path';
import { isInside, realPathOf } from './real-path.ts';
import { hasTrustedOwner } from './trusted-owner.ts';

/**
 * The real folder of the working tree that a folder is in, or the folder itself where it is in none. Undefined where
 * that holds the home folder: what lies there is the person's own and no clone.
 */
export function projectTop(folder: string, home: string): string | undefined {
  const ownHome = realPathOf(home);
  let top = realPathOf(folder);
  for (let at = top; at !== dirname(at) && !isInside(ownHome, at); at = dirname(at)) {
    if (hasTrustedOwner(join(at, '.git'))) top = at;
  }
  return isInside(ownHome, top) ? undefined : top;
}
