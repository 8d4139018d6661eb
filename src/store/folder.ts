import { accessSync, constants, existsSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { foreignAbove, makePath } from '../lib/make-path.ts';
import type { StateProblem } from '../problems/problem.ts';
import {
  at,
  codeOf,
  createFile,
  type Disk,
  FOLDER_MODE,
  isFolder,
  isMissing,
  names,
  readBytes,
  readVersioned,
} from './files.ts';

/** The format of the state folder as a whole. A folder with a newer format is never changed. */
export const STATE_VERSION = 1;

export const FOLDERS: readonly string[] = [
  'inbox',
  'quarantine',
  'rounds',
  'journal',
  'sessions',
  'outbox',
  'documents',
  'problems',
];
const NAME = /^[0-9a-z-]{1,64}$/;

export class StateRefused extends Error {
  readonly problem: StateProblem;
  constructor(problem: StateProblem) {
    super(`${problem.code}: ${problem.folder}`);
    this.name = 'StateRefused';
    this.problem = problem;
  }
}

/** Checks the owner and the format of the folder, then makes the missing folders in it. */
export function openFolder(disk: Disk, access: 'own' | 'read'): void {
  try {
    const stats = checkFolder(disk, '');
    if (stats === undefined && access === 'read') throw new StateRefused(whyMissing(disk.folder));
    const children = FOLDERS.map(name => ({ name, stats: stats && checkFolder(disk, name) }));
    // Bodies are renamed into these folders, so a link would move them elsewhere.
    for (const id of stats === undefined ? [] : names(disk, 'outbox'))
      if (NAME.test(id)) checkFolder(disk, `outbox/${id}`);
    checkVersion(disk);
    if (access === 'read') return;
    if (stats === undefined) {
      const foreign = foreignAbove(disk.folder);
      if (foreign !== undefined) throw new StateRefused({ code: 'state-foreign', ...foreign });
      makePath(dirname(disk.folder));
    }
    for (const child of [{ name: '', stats }, ...children]) {
      if (child.stats === undefined) {
        makeFolder(disk, child.name);
        // In a shared folder another user may have put a link here a moment ago.
        checkFolder(disk, child.name);
      } else if (isTooOpen(child.stats)) disk.fs.chmodSync(at(disk, child.name), FOLDER_MODE);
    }
    markVersion(disk);
  } catch (error) {
    const code = codeOf(error);
    if (error instanceof StateRefused || code === undefined) throw error;
    throw new StateRefused({ code: 'state-unusable', folder: disk.folder, error: code });
  }
}

/** The folder was never created, or no hook can create it. No other problem reports this. */
function whyMissing(folder: string): StateProblem {
  let above = dirname(folder);
  while (!existsSync(above) && above !== dirname(above)) above = dirname(above);
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    return { code: 'state-missing', folder };
  } catch (error) {
    return { code: 'state-unusable', folder, error: codeOf(error) ?? 'unknown error' };
  }
}

/** Names come from computed keys. Any other text is a programming error and must not become a path. */
export function checkName(name: string): string {
  if (!NAME.test(name)) throw new TypeError(`not a name of the store: ${JSON.stringify(name.slice(0, 80))}`);
  return name;
}

export function makeFolder(disk: Disk, name: string): void {
  try {
    disk.fs.mkdirSync(at(disk, name), FOLDER_MODE);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** Returns the folder's facts if it belongs to this user and is no link; undefined if it is missing. */
function checkFolder(disk: Disk, name: string): Stats | undefined {
  const folder = at(disk, name);
  let stats: Stats;
  try {
    stats = disk.fs.lstatSync(folder);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  if (stats.isSymbolicLink()) throw new StateRefused({ code: 'state-symlink', folder });
  if (!stats.isDirectory()) throw new StateRefused({ code: 'state-not-a-folder', folder });
  // Windows has no such ids; the rights of the profile folder protect it.
  const user = process.geteuid?.();
  if (user !== undefined && stats.uid !== user)
    throw new StateRefused({ code: 'state-foreign', folder, owner: stats.uid });
  return stats;
}

const isTooOpen = (stats: Stats): boolean => process.platform !== 'win32' && (stats.mode & 0o077) !== 0;

function checkVersion(disk: Disk): void {
  // The file could be neither read nor written anew.
  if (isFolder(disk, 'version'))
    throw new StateRefused({ code: 'state-unusable', folder: disk.folder, error: 'EISDIR' });
  const ledger = readVersioned(disk, 'ledger.json');
  const found = Math.max(writtenVersion(disk) ?? 0, typeof ledger === 'object' ? Number(ledger.v) || 0 : 0);
  if (found > STATE_VERSION)
    throw new StateRefused({ code: 'state-newer', folder: disk.folder, found, known: STATE_VERSION });
}

/** Undefined if the file is missing or empty after a power cut. */
const writtenVersion = (disk: Disk): number | undefined => {
  const text = readBytes(disk, 'version')?.toString().trim();
  return text === undefined || !/^\d{1,9}$/.test(text) ? undefined : Number(text);
};

function markVersion(disk: Disk): void {
  if (writtenVersion(disk) !== undefined) return;
  const fresh = `version.${disk.nonce()}`;
  createFile(disk, fresh, Buffer.from(`${STATE_VERSION}\n`));
  disk.fs.renameSync(at(disk, fresh), at(disk, 'version'));
}
