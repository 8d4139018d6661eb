/**
 * `convert --out`: plans the changes of the files of a project, shows them, and makes them all or none, with the code
 * of `enable`.
 */
import { existsSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { applyEdits, modify, type ParseError, parse } from 'jsonc-parser';
import { decode } from '../interchange/conversion.ts';
import type { NativeFile, Target } from '../interchange/provider.ts';
import { unifiedDiff } from '../lib/diff.ts';
import { isInside, realPathOf } from '../lib/real-path.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { applySetup, type Change, namesIn } from '../setup/setup.ts';
import { isObject } from '../standards/wording.ts';
import { type Edited, merged, removed } from './convert-merge.ts';

export type Way = 'write' | 'force' | 'merge' | 'remove';

export interface Wanted {
  file: NativeFile;
  /** `undefined` for a script that a hook names. */
  target: Target | undefined;
}

export interface PlannedFiles {
  changes: Change[];
  /** Files that stay as they are. */
  unchanged: string[];
  diff: string;
  /** Without new files. */
  diffOfExisting: string;
  /** Hooks of a file that a replacement deletes, by file. */
  replaced: { file: string; hooks: string[] }[];
  refused: { file: string; why: string }[];
}

const LARGEST_BYTES = 16 * 1024 * 1024;

/**
 * Plans the files in order. `known` are the files that can name a script: a script that one of them still names stays.
 */
export function planFiles(wanted: readonly Wanted[], folder: string, way: Way, known: readonly string[]): PlannedFiles {
  const planned: PlannedFiles = { changes: [], unchanged: [], diff: '', diffOfExisting: '', replaced: [], refused: [] };
  for (const { file, target } of wanted) {
    const path = join(folder, file.path);
    const reach = realPathOf(path);
    // A clone can contain a link to any file of the user.
    if (!isInside(reach, realPathOf(folder))) {
      planned.refused.push({ file: path, why: `leads out of ${folder}, to ${reach}` });
      continue;
    }
    // A second target can change the same file.
    const earlier = planned.changes.find(each => each.file === path);
    const before = earlier === undefined ? textOf(path) : earlier.after;
    const edited = editedText(before, file, target, way);
    if (!edited.ok) {
      planned.refused.push({ file: path, why: edited.why });
      continue;
    }
    const isNamed = way === 'remove' && target === undefined && isNamedIn(file.path, folder, known, planned.changes);
    const after = isNamed ? before : edited.text;
    if (way === 'force' && before !== undefined && target !== undefined)
      planned.replaced.push({ file: path, hooks: lostHooks(before, after ?? '', file, target) });
    if (before === after) planned.unchanged.push(path);
    else if (earlier !== undefined) earlier.after = after;
    else planned.changes.push({ file: path, target: reach, before, after, mode: file.isExecutable ? 0o777 : 0o666 });
  }
  planned.diff = planned.changes.map(diffOf).join('');
  planned.diffOfExisting = planned.changes
    .filter(({ before }) => before !== undefined)
    .map(diffOf)
    .join('');
  return planned;
}

/** Whether a file of an agent still names a script after the planned changes. */
function isNamedIn(script: string, folder: string, known: readonly string[], changes: readonly Change[]): boolean {
  const names = known.flatMap(name =>
    name.endsWith('/') ? namesIn(join(folder, name)).map(each => join(name, each)) : [name],
  );
  return names.some(name => {
    const path = join(folder, name);
    const change = changes.find(({ file }) => file === path);
    const text = change === undefined ? textOf(path) : change.after;
    return text?.includes(script) === true;
  });
}

const textOf = (path: string): string | undefined =>
  existsSync(path) ? readRegularFile(path, LARGEST_BYTES).toString('utf8') : undefined;

function editedText(before: string | undefined, file: NativeFile, target: Target | undefined, way: Way): Edited {
  if (way === 'remove' && before === undefined) return { ok: true, text: undefined };
  if (target === undefined) return scriptText(before, file.text, way);
  const { layout } = target;
  if (way === 'merge') return merged(before, file, layout);
  if (way === 'remove') return removed(before ?? '', file, layout);
  if (before === undefined) return { ok: true, text: file.text };
  const edited = file.path.endsWith('.json') ? inPlace(before, file.text) : file.text;
  if (edited === undefined) return { ok: false, why: way === 'force' ? 'is not JSON that could be kept' : IS_THERE };
  return edited === before || way === 'force' ? { ok: true, text: edited } : { ok: false, why: IS_THERE };
}

const IS_THERE = 'is there already';

/** A script that has another text belongs to the user. */
function scriptText(before: string | undefined, text: string, way: Way): Edited {
  if (way === 'remove') return { ok: true, text: before === text ? undefined : before };
  if (before === undefined || before === text || way === 'force') return { ok: true, text };
  return { ok: false, why: 'is another script' };
}

/** Names the hooks of the former text that the new text lacks. */
function lostHooks(before: string, after: string, { path }: NativeFile, target: Target): string[] {
  const hooksOf = (text: string): string[] => {
    const read = target.layout.read(text, path);
    const decoded = decode(text, path, target);
    if (!read.ok || !decoded.ok) return [];
    return read.entries.map(
      ({ event, matcher, handler }) =>
        `${event}${matcher === undefined ? '' : ` ${matcher}`}: ${String(handler[target.layout.fields.command] ?? handler.command ?? handler.prompt ?? handler.url ?? 'a hook')}`,
    );
  };
  const kept = hooksOf(after);
  return hooksOf(before).filter(each => !kept.includes(each));
}

const diffOf = ({ file, before, after }: Change): string =>
  unifiedDiff(before ?? '', after ?? '', {
    from: before === undefined ? '/dev/null' : file,
    to: after === undefined ? '/dev/null' : file,
  });

export type Made = { ok: true; backups: string[] } | { ok: false; file: string; why: string };

/** Makes the changes. A file that is replaced or merged keeps a copy beside it; a removal deletes the copy again. */
export function makeChanges({ changes }: PlannedFiles, way: Way, notes: string): Made {
  const backups = way === 'force' || way === 'merge' ? changes.flatMap(backUp) : [];
  const [first] = changes;
  const plan = { action: 'enable', file: first?.file ?? '', changed: true, diff: '' } as const;
  const applied = applySetup({ ...plan, changes, events: [], folders: [dirname(notes)], scripts: [], notes });
  dropEmpty(dirname(notes));
  if (!applied.ok) {
    for (const backup of backups) rmSync(backup, { force: true });
    const { problem } = applied;
    return { ok: false, file: first?.file ?? '', why: 'why' in problem ? String(problem.why) : problem.code };
  }
  if (way === 'remove') for (const change of changes) dropBackup(change);
  return { ok: true, backups };
}

/** The data folder holds the notes about folders that came with a file. Without notes, it goes again. */
function dropEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It holds something.
  }
}

const BACKUP = '.otel-hooks-backup';

/** The name ends in no suffix that an agent reads. */
function backUp({ target, before }: Change): string[] {
  if (before === undefined) return [];
  const path = `${target}${BACKUP}`;
  // The first copy is the user's own file. A later one would be a file of this command.
  if (existsSync(path)) return [];
  writeFileSync(path, before, { flag: 'wx', mode: statSync(target).mode & 0o777 });
  return [path];
}

function dropBackup({ target, after }: Change): void {
  const path = `${target}${BACKUP}`;
  if (existsSync(path) && readFileSync(path, 'utf8') === after) rmSync(path);
}

/** Replaces the values of the same names in a JSON file. All other text of the file stays as it is. */
function inPlace(before: string, text: string): string | undefined {
  const errors: ParseError[] = [];
  const root: unknown = parse(before, errors, { allowTrailingComma: true });
  if (errors.length > 0 || !isObject(root)) return undefined;
  const formattingOptions = { insertSpaces: true, tabSize: 2 };
  return Object.entries(JSON.parse(text)).reduce(
    (edited, [key, value]) => applyEdits(edited, modify(edited, [key], value, { formattingOptions })),
    before,
  );
}
