import { lstatSync, statSync } from 'node:fs';

/**
 * Belongs this to the user that runs this process, or to root? On Windows, which has no such ids, the folder's rights
 * decide.
 */
export const isTrustedOwner = (uid: number | bigint): boolean =>
  process.geteuid === undefined || BigInt(uid) === 0n || BigInt(uid) === BigInt(process.geteuid());

/** The same of what a path names, and of the link where it is one. Nothing there: false. */
export function hasTrustedOwner(path: string): boolean {
  try {
    return isTrustedOwner(lstatSync(path).uid) && isTrustedOwner(statSync(path).uid);
  } catch {
    // Missing, or behind a folder that we may not enter.
    return false;
  }
}
