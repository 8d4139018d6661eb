import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

const MOST_LINKS = 40;

/** Returns a path with all links resolved, also if its last parts do not exist. */
export function realPathOf(path: string, links = MOST_LINKS): string {
  try {
    return realpathSync.native(path);
  } catch {
    // The path does not exist or is unreadable; its existing part is resolved.
  }
  const target = links > 0 ? linkOf(path) : undefined;
  if (target !== undefined) return realPathOf(resolve(dirname(path), target), links - 1);
  const above = dirname(path);
  return above === path ? path : join(realPathOf(above, links), basename(path));
}

/** Whether the first real path is the second one or below it. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // The path is not a link.
    return undefined;
  }
}
