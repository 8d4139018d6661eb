import { lstatSync, statSync } from 'node:fs';

/**
 * Whether an owner is root or the user of this process. On Windows, which has no such ids, the rights of the folder
 * decide.
 */
export const isTrustedOwner = (uid: number | bigint): boolean =>
  process.geteuid === undefined || BigInt(uid) === 0n || BigInt(uid) === BigInt(process.geteuid());

/** Checks the owner of a path, and of the link if the path is one. False if the path does not exist. */
export function hasTrustedOwner(path: string): boolean {
  try {
    return isTrustedOwner(lstatSync(path).uid) && isTrustedOwner(statSync(path).uid);
  } catch {
    // The path is missing or inside an unreadable folder.
    return false;
  }
}
