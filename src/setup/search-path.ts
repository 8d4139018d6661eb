/**
 * The folders of PATH in which otel-hooks may find a program that it starts. Folders of the present project are
 * excluded: `node_modules/.bin` and `.` of a clone hold programs of the clone's author, and package managers and shells
 * with per-folder environments put them first.
 */
import { delimiter, isAbsolute } from 'node:path';
import { projectTop } from '../lib/project-top.ts';
import { isInside, realPathOf } from '../lib/real-path.ts';

interface Where {
  home: string;
  /** The current working folder. */
  project: string;
}

/** Returns the folders of PATH without relative paths and without folders whose real path is in the project. */
export function searchPath(path: string | undefined, where: Where): string[] {
  const top = projectTop(where.project, where.home);
  const folders = (path ?? '').split(delimiter).filter(folder => isAbsolute(folder));
  return top === undefined ? folders : folders.filter(folder => !isInside(realPathOf(folder), top));
}
