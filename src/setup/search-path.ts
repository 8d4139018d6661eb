/**
 * Which folders of PATH may supply a program that a command of ours starts. A folder of the project that somebody works in
 * may not: `node_modules/.bin` and `.` of a clone hold programs of the clone's author, and package managers and shells with
 * per-folder environments put them first.
 */
import fs from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { isInside, realPathOf } from '../lib/real-path.ts';

interface Where {
  home: string;
  /** The folder that somebody works in. */
  project: string;
}

/** The folders of PATH without relative ones and without those whose real place is in the project. */
export function searchPath(path: string | undefined, where: Where): string[] {
  const top = topOf(where);
  const folders = (path ?? '').split(delimiter).filter(folder => isAbsolute(folder));
  return top === undefined ? folders : folders.filter(folder => !isInside(realPathOf(folder), top));
}

/** The real folder of the working tree; undefined where it holds the home folder, which is no clone of somebody else. */
function topOf({ home, project }: Where): string | undefined {
  const [real, ownHome] = [realPathOf(project), realPathOf(home)];
  let top = real;
  for (let folder = real; folder !== dirname(folder) && !isInside(ownHome, folder); folder = dirname(folder)) {
    if (fs.existsSync(join(folder, '.git'))) top = folder;
  }
  return isInside(ownHome, top) ? undefined : top;
}
