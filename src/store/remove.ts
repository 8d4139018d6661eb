/**
 * Removing a state folder. The folder may be one that a person named, with other things in it: only what otel-hooks makes is
 * removed, and the folder itself when nothing else is left.
 */
import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, isMissing } from './files.ts';
import { FOLDERS } from './folder.ts';

/** Files at the top of a state folder, with the names that they have while they are written. */
const FILES = /^(version|ledger\.json|reserve|lock|lock\.[\w.-]+|kick[\w.-]*)([.-][\w.-]+)?$/;

export const isOfState = (name: string): boolean => FOLDERS.includes(name) || FILES.test(name);

/** Returns what is left there and why; empty when the folder is gone. Never follows a link. */
export function removeState(folder: string): { path: string; why: string }[] {
  const left: { path: string; why: string }[] = [];
  try {
    if (!lstatSync(folder).isDirectory()) return [{ path: folder, why: 'it is a link or a file' }];
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (!isOfState(name)) {
        left.push({ path, why: 'otel-hooks did not make it' });
        continue;
      }
      try {
        rmSync(path, { recursive: true, force: true });
      } catch (error) {
        left.push({ path, why: codeOf(error) ?? String(error) });
      }
    }
    if (left.length === 0) rmdirSync(folder);
  } catch (error) {
    if (!isMissing(error)) left.push({ path: folder, why: codeOf(error) ?? String(error) });
  }
  return left;
}
