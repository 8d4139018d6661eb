/**
 * Removes a state folder. The user may have named a folder with other files. So only the files of otel-hooks are
 * removed, and the folder only if it is empty then.
 */
import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, isMissing } from './files.ts';
import { FOLDERS } from './folder.ts';

/** Files at the top of a state folder, with the names that they have while they are written. */
const FILES = /^(version|ledger\.json|reserve|lock|lock\.[\w.-]+|kick[\w.-]*)([.-][\w.-]+)?$/;

const isOfState = (name: string): boolean => FOLDERS.includes(name) || FILES.test(name);

/** An entry that remains. `isForeign`: otel-hooks did not make it, so another try would not remove it either. */
export interface LeftThere {
  path: string;
  why: string;
  isForeign: boolean;
}

/** Returns an empty list when the folder is gone. Never follows a link. */
export function removeState(folder: string): LeftThere[] {
  const left: LeftThere[] = [];
  const attempt = (path: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!isMissing(error)) left.push({ path, why: codeOf(error) ?? String(error), isForeign: false });
    }
  };
  attempt(folder, () => {
    if (!lstatSync(folder).isDirectory()) {
      left.push({ path: folder, why: 'it is a link or a file', isForeign: true });
      return;
    }
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (isOfState(name)) attempt(path, () => rmSync(path, { recursive: true, force: true }));
      else left.push({ path, why: 'otel-hooks did not make it', isForeign: true });
    }
    if (left.length === 0) rmdirSync(folder);
  });
  return left;
}
