import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

const MOST_LINKS = 40;

/** Where a path really leads: every link of it followed, also where nothing is there yet. */
export function realPathOf(path: string, links = MOST_LINKS): string {
  try {
    return realpathSync.native(path);
  } catch {
    // Nothing is there, or a part of the path cannot be read: what is there of it still counts.
  }
  const target = links > 0 ? linkOf(path) : undefined;
  if (target !== undefined) return realPathOf(resolve(dirname(path), target), links - 1);
  const above = dirname(path);
  return above === path ? path : join(realPathOf(above, links), basename(path));
}

/** Of two real paths: is the first the second, or below it? */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // No link.
    return undefined;
  }
}
