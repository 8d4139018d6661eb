/** The files that an action writes, from its input, and the form in which they are kept. */
import type { Action, Edit, EditFacts } from '../event/event.ts';
import { own } from '../lib/read.ts';
import { pathFields } from './action-facts.ts';
import type { Hash } from './redact.ts';

interface Written extends EditFacts {
  path: string;
}

/** Actions that change a file, with the operation that their name states. */
export const writingActions: Readonly<Record<string, EditFacts['operation'] | 'unknown'>> = {
  write_file: 'unknown',
  code_edit: 'unknown',
  delete_file: 'delete',
};

/** An action with more files is cut. */
const MOST_FILES = 128;

/** Returns the files that the input of an action names; none for an action that writes no files. */
export function writtenBy({ name = '', input }: Action, tool = ''): Written[] {
  const operation = own(writingActions, name);
  if (operation === undefined || input === undefined) return [];
  for (const value of Object.values(input)) {
    if (typeof value === 'string' && value.includes('*** Begin Patch')) return filesInPatch(value);
  }
  for (const field of pathFields) {
    const path = input[field];
    if (typeof path === 'string' && path !== '')
      return [{ path, operation: operation === 'unknown' ? namedBy(tool) : operation }];
  }
  return [];
}

/** A tool with such a name creates a file, and fails if there is one. */
const namedBy = (tool: string): EditFacts['operation'] =>
  /(?:^|_)create(?:_?file)?$/i.test(tool) ? 'create' : undefined;

const HEADER = /^\*\*\* (Add|Update|Delete) File: (.{1,4096})$|^\*\*\* Move to: (.{1,4096})$/;
const operations: Readonly<Record<string, EditFacts['operation']>> = {
  Add: 'create',
  Update: 'update',
  Delete: 'delete',
};

/** Reads the headers of a patch. A file that moves is deleted at its old place and created at the new one. */
function filesInPatch(patch: string): Written[] {
  const files: Written[] = [];
  for (const [, change, path, target] of patch.matchAll(new RegExp(HEADER.source, 'gm'))) {
    const from = files.at(-1);
    if (target !== undefined && from !== undefined) {
      from.operation = 'delete';
      files.push({ path: target.trimEnd(), operation: 'create' });
    } else if (path !== undefined) {
      files.push({ path: path.trimEnd(), operation: own(operations, change ?? '') });
    }
    if (files.length >= MOST_FILES) break;
  }
  return files;
}

/**
 * Returns the edits without their paths: a keyed hash stands for each. `shown` returns the text of a path that the
 * configuration asks for.
 */
export function editsKept(
  files: readonly Written[],
  folder: string | undefined,
  hash: Hash,
  shown: (path: string) => string | undefined,
): Edit[] | undefined {
  if (files.length === 0) return undefined;
  return files.slice(0, MOST_FILES).map(({ path, operation, lines }) => {
    const relative = relativeTo(folder, path);
    return { hash: hash(relative), path: shown(relative), operation, lines };
  });
}

/** Returns a path below the folder without it. Any other path stays as it is. */
export function relativeTo(folder: string | undefined, path: string): string {
  const plain = isWindows(folder ?? path) ? path.replaceAll('\\', '/') : path;
  const from = (isWindows(folder ?? '') ? folder?.replaceAll('\\', '/') : folder)?.replace(/\/+$/, '');
  const below =
    from !== undefined && from !== '' && plain.startsWith(`${from}/`) ? plain.slice(from.length + 1) : plain;
  return below.replace(/^(?:\.\/)+/, '');
}

const isWindows = (path: string): boolean => /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path);
