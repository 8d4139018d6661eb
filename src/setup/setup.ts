/**
 * Sets an agent up, or undoes that: first a plan that can be shown, then its execution. A plan holds the whole effect
 * on one or several files, and planning writes nothing. If one of the files cannot be changed, the files before it are
 * restored.
 *
 * A user's file is replaced atomically: the new text is written beside it, synced and renamed. The file keeps its mode
 * and owner. A link stays a link: its target is changed, and the plan names the target. For settings of a project, a
 * target outside of the project is refused, because a clone can contain links to any file of the user. A file that has
 * changed since the plan was made is not replaced.
 *
 * During the change, a copy is beside the file. It is created exclusively under a random name, because a clone can hold
 * a link under any predictable name. A list in the data folder names the copy: the next change removes the copy of a
 * killed process, or restores it if the file is missing.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  type Agent,
  type Edit,
  type Entry,
  type HookCommand,
  isAbsent,
  type Places,
  type Scope,
  type Settings,
  type SettingsFile,
} from '../agents/contract/contract.ts';
import { type Refusal, setValues } from '../agents/files/json-edit.ts';
import { shellHook } from '../hook/script.ts';
import { statusLineCommand, statusLineScript } from '../hook/status-line.ts';
import { unifiedDiff } from '../lib/diff.ts';
import { whileHeld } from '../lib/held-files.ts';
import { makeOwnPath } from '../lib/make-path.ts';
import { fieldsOf, own } from '../lib/read.ts';
import { isInside, realPathOf } from '../lib/real-path.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import type { SetupProblem } from '../problems/problem.ts';
import { commandFor, programFor, scriptPath, statusLinePath } from './commands.ts';
import { type Asked, hasStatusLine, registeredEvents } from './registered-events.ts';

export interface Setup {
  agent: Agent;
  scope: Scope;
  action: 'enable' | 'disable';
  places: Places;
  platform: string;
  program: Program;
  /** An absolute path. */
  folders: { state: string; data: string };
  /** Events beyond those that `enable` registers by default. */
  asked?: Asked | undefined;
  /** Sends the events of these hooks to this provider only. */
  provider?: string | undefined;
}

/** The absolute paths in the commands that agents run. */
export interface Program {
  node: string;
  /** otel-hooks.cjs, the Node front end. */
  bin: string;
  /** deliver.js */
  deliver: string;
  cat: string;
  setsid?: string | undefined;
}

export interface Plan {
  action: Setup['action'];
  /** The file that holds the hooks, or the first of them. */
  file: string;
  changes: Change[];
  changed: boolean;
  /** The agent's events that the plan registers or removes. */
  events: string[];
  /** A unified diff; empty if nothing changes. */
  diff: string;
  /** Folders that are created, for this user alone, and our files in them. */
  folders: string[];
  scripts: { path: string; text: string; mode: number }[];
  /** The file that lists the folders that were created for our files. */
  notes: string;
}

/** The change of one file. */
export interface Change {
  /** The path that the agent uses, and its target if it is a link. */
  file: string;
  target: string;
  /** Undefined: the file does not exist. */
  before: string | undefined;
  after: string | undefined;
  /** The mode of a new file, reduced by the umask. An existing file keeps its mode. */
  mode: number;
  /** The numbers of hooks, for the summary of the change. Absent for files without hooks. */
  hooks?: HookCounts;
}

export interface HookCounts {
  /** Our hooks before and after the change. */
  before: number;
  after: number;
  /** The hooks of other programs, which the change keeps. */
  others: number;
}

export type Planned = { ok: true; plan: Plan } | { ok: false; problem: SetupProblem };
export type Applied = { ok: true } | { ok: false; problem: SetupProblem };

/** The parsers of several formats read the whole text several times. */
const MAX_SETTINGS_BYTES = 1024 * 1024;

export function planSetup(setup: Setup): Planned {
  const { agent, scope, action, folders } = setup;
  const { settings } = agent;
  const absent = (why: string, scopes: readonly Scope[]): Planned => ({
    ok: false,
    problem: { code: 'settings-absent', agent: agent.title, why, scopes },
  });
  if (isAbsent(settings)) return absent(settings.absent, []);
  if (!settings.scopes.includes(scope)) return absent(`it has no settings of the scope ${scope}`, settings.scopes);

  const commands = commandsFor(setup, settings, entriesOf(setup));
  const changes: Change[] = [];
  const events = new Set<string>();
  const files = filesOf(setup, settings);
  for (const settingsFile of files) {
    const { path: file } = settingsFile;
    const target = realPathOf(file);
    if (scope !== 'global' && !isInside(target, realPathOf(setup.places.project))) {
      return { ok: false, problem: { code: 'settings-outside', file, target } };
    }
    const read = readSettings(target);
    if (!read.ok) return { ok: false, problem: { code: 'settings-file', file, why: read.why } };
    const edit = editOf(settingsFile, action, read.text, commands);
    if (!edit.ok) return { ok: false, problem: { code: 'settings-refused', file, ...placeOf(edit) } };
    if (action === 'disable' || settingsFile.add) for (const event of edit.events) events.add(event);
    if (edit.changed) {
      const mode = settingsFile.isExecutable ? 0o755 : 0o666;
      changes.push({
        file,
        target,
        before: read.text,
        after: edit.text,
        mode,
        hooks: countsOf(settingsFile, read.text, edit.text),
      });
    }
  }
  return {
    ok: true,
    plan: {
      action,
      file: (changes[0]?.file ?? files.find(each => each.add)?.path ?? files[0]?.path) || '',
      changes,
      changed: changes.length > 0,
      events: [...events],
      diff: changes.map(diffOf).join(''),
      folders: action === 'enable' ? [folders.state, join(folders.state, 'inbox'), folders.data] : [],
      scripts: action === 'enable' ? scriptsFor(setup, settings, commands) : [],
      notes: join(folders.data, 'folders.json'),
    },
  };
}

/**
 * Plans a change of our own configuration file, with the same guarantees. It is never shown as a diff, because it holds
 * secrets.
 */
export function planConfig(
  file: string,
  values: readonly (readonly [path: string[], value: unknown])[],
  data: string,
): Planned {
  const target = realPathOf(file);
  const read = readSettings(target);
  if (!read.ok) return { ok: false, problem: { code: 'settings-file', file, why: read.why } };
  const edit = setValues(read.text, values);
  if (!edit.ok) return { ok: false, problem: { code: 'settings-refused', file, ...placeOf(edit) } };
  const { changed, text } = edit;
  const change: Change = { file, target, before: read.text, after: text, mode: 0o600 };
  const changes = changed ? [change] : [];
  const ours = { folders: [dirname(file)], scripts: [], notes: join(data, 'folders.json') };
  return { ok: true, plan: { action: 'enable', file, changes, changed, events: [], diff: '', ...ours } };
}

function filesOf({ scope, places, platform }: Pick<Setup, 'scope' | 'places' | 'platform'>, settings: Settings) {
  return settings.files(scope, { ...places, platform }, textIn, namesIn);
}

function textIn(path: string): string | undefined {
  const found = readSettings(path);
  return found.ok ? found.text : undefined;
}

/** Returns every file of an agent's scope that may hold our entries. */
export function filesIn(setup: Pick<Setup, 'agent' | 'scope' | 'places' | 'platform'>): string[] {
  const { settings } = setup.agent;
  return isAbsent(settings) ? [] : filesOf(setup, settings).map(({ path }) => path);
}

/** Returns our present entries of an agent in a scope, each with its file. */
export function entriesOf(setup: Pick<Setup, 'agent' | 'scope' | 'places' | 'platform'>): (Entry & { file: string })[] {
  const { settings } = setup.agent;
  if (isAbsent(settings) || !settings.scopes.includes(setup.scope)) return [];
  return filesOf(setup, settings).flatMap(file => {
    const read = readSettings(file.path);
    const text = read.ok ? read.text : undefined;
    return text === undefined ? [] : file.entries(text).map(entry => ({ ...entry, file: file.path }));
  });
}

/** Returns the files whose own status line replaces the one that the setup writes. */
export function linesInstead({ agent, scope, places, platform, asked }: Setup): readonly { file: string }[] {
  const { settings } = agent;
  if (isAbsent(settings) || asked?.statusLine !== true || !hasStatusLine(scope, platform)) return [];
  return settings.replacesLine?.(scope, { ...places, platform }, textIn) ?? [];
}

export function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder).sort();
  } catch {
    // The folder does not exist, or it is not readable.
    return [];
  }
}

function editOf(
  file: SettingsFile,
  action: Setup['action'],
  text: string | undefined,
  commands: ReadonlyMap<string, HookCommand>,
): Edit {
  if (action === 'enable' && file.add) return file.add(text, commands);
  return text === undefined ? { ok: true, text, changed: false, events: [] } : file.remove(text);
}

function countsOf(file: SettingsFile, before: string | undefined, after: string | undefined): HookCounts {
  const ours = (text: string | undefined): number => (text === undefined ? 0 : file.entries(text).length);
  return { before: ours(before), after: ours(after), others: after === undefined ? 0 : (file.others?.(after) ?? 0) };
}

const placeOf = ({ line, column, why }: Refusal) => ({ line, column, why });

const diffOf = (change: Change): string =>
  (isLinked(change) ? `${change.file} is a link to ${change.target}\n` : '') + diffText(change);

/** Returns the real path if the file or its folder is a link, so that the user sees which file changes. */
export function isLinked({ file, target }: Change): boolean {
  const folder = dirname(file);
  return join(realPathOf(dirname(folder)), basename(folder), basename(file)) !== target;
}

const diffText = ({ file, before, after }: Change): string =>
  unifiedDiff(before ?? '', after ?? '', {
    from: before === undefined ? '/dev/null' : file,
    to: after === undefined ? '/dev/null' : file,
  });

/** Executes the plan, or leaves the settings unchanged. It is idempotent. */
export function applySetup(plan: Plan): Applied {
  const failed = (file: string, why: string): Applied => ({ ok: false, problem: { code: 'settings-file', file, why } });
  const notes = readNotes(plan.notes);
  settleCopies(notes);
  for (const { file, target, before } of plan.changes) {
    if (realPathOf(file) !== target) return failed(file, 'it leads to another place than when the plan was made');
    const now = readSettings(target);
    if (!now.ok) return failed(file, now.why);
    if (now.text !== before) return failed(file, 'it was changed since the plan was made');
  }

  // The script is written first, so that settings never name a missing script.
  for (const folder of plan.folders) {
    const why = attempt(() => makeOwnPath(folder));
    if (why !== undefined) return failed(folder, why);
  }
  for (const { path, text, mode } of plan.scripts) {
    const why = attempt(() => {
      if (readIfThere(path) !== text) replaceFile(path, text, mode);
    });
    if (why !== undefined) return failed(path, why);
  }
  // If the list cannot be written, an empty folder or a copy may stay later.
  const keepNotes = (): void => void attempt(() => writeNotes(plan.notes, notes));
  let failure: Applied | undefined;
  for (const [at, change] of plan.changes.entries()) {
    const why = attempt(() => changeSettings(change, notes, keepNotes));
    if (why === undefined) continue;
    for (const done of plan.changes.slice(0, at).reverse()) {
      attempt(() => changeSettings({ ...done, before: done.after, after: done.before }, notes, keepNotes));
    }
    failure = failed(change.file, why);
    break;
  }
  keepNotes();
  return failure ?? { ok: true };
}

interface Notes {
  /**
   * A folder that was created for our file is removed with it. A folder that existed before stays, even if it is empty.
   */
  made: Set<string>;
  /** The copies beside files that are being changed, each with its file. */
  copies: Map<string, string>;
}

function readNotes(file: string): Notes {
  try {
    const { made, copies } = fieldsOf(JSON.parse(readRegularFile(file, MAX_SETTINGS_BYTES).toString('utf8')));
    const pairs = Object.entries(fieldsOf(copies)).flatMap(([copy, of]): [string, string][] =>
      typeof of === 'string' ? [[copy, of]] : [],
    );
    return { made: new Set(textsOf(made)), copies: new Map(pairs) };
  } catch {
    // The list is missing or damaged.
    return { made: new Set(), copies: new Map() };
  }
}

function writeNotes(file: string, { made, copies }: Notes): void {
  if (made.size === 0 && copies.size === 0) {
    fs.rmSync(file, { force: true });
    return;
  }
  const open = copies.size === 0 ? {} : { copies: Object.fromEntries(copies) };
  const text = `${JSON.stringify({ v: 1, made: [...made], ...open })}\n`;
  if (readIfThere(file) !== text) replaceFile(file, text, 0o600);
}

/**
 * Removes copies of changes that a kill interrupted. The file was replaced atomically, so its copy is needed only if
 * the file is missing.
 */
function settleCopies({ copies }: Notes): void {
  for (const [copy, file] of copies) {
    attempt(() => fs.linkSync(copy, file));
    if (attempt(() => fs.rmSync(copy, { force: true })) === undefined) copies.delete(copy);
  }
}

/**
 * Completes changes that a kill interrupted, before the lists about them are removed. Returns true if there were any.
 */
export function settleInterrupted(data: string): boolean {
  const file = join(data, 'folders.json');
  const notes = readNotes(file);
  if (notes.copies.size === 0) return false;
  settleCopies(notes);
  writeNotes(file, notes);
  return true;
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

function makeFolder(folder: string, made: Set<string>): void {
  if (fs.existsSync(folder)) return;
  makeFolder(dirname(folder), made);
  fs.mkdirSync(folder);
  made.add(folder);
}

/** rmdir removes only empty folders. */
function removeFolder(folder: string, made: Set<string>): void {
  if (!made.has(folder) || attempt(() => fs.rmdirSync(folder)) !== undefined) return;
  made.delete(folder);
  removeFolder(dirname(folder), made);
}

/**
 * Returns the files of this installation, and the programs that its script calls by absolute path. `path`: the folders
 * that are searched for them.
 */
export function programAt(dist: string, node: string, path: readonly string[]): Program {
  return {
    node,
    bin: join(dist, 'otel-hooks.cjs'),
    deliver: join(dist, 'deliver.js'),
    cat: findProgram('cat', path) ?? '/bin/cat',
    setsid: findProgram('setsid', path),
  };
}

/** Returns the events that an agent's table allows us to register, each with its command. */
export function commandsFor(
  setup: Setup,
  { runs }: Settings,
  present: readonly Entry[] = [],
): Map<string, HookCommand> {
  const { agent, asked, program, provider, platform, scope, folders } = setup;
  const canHaveLine = hasStatusLine(scope, platform);
  const events = registeredEvents(agent, asked, present).filter(({ isLine }) => !isLine || canHaveLine);
  return new Map(
    events.map(({ event, isEdge, isLine, files }) => [
      event,
      isLine
        ? { posix: statusLineCommand({ script: statusLinePath(folders.data), tool: agent.id, event, provider }) }
        : {
            ...commandFor({
              tool: agent.id,
              event,
              edge: isEdge,
              provider,
              reply: agent.reply.stdout,
              runs,
              platform,
              isShared: scope === 'project',
              data: folders.data,
              node: program.node,
              bin: program.bin,
            }),
            ...(files === undefined ? {} : { files }),
          },
    ]),
  );
}

function scriptsFor(
  { agent, scope, platform, folders, program }: Setup,
  { runs }: Settings,
  commands: ReadonlyMap<string, HookCommand>,
): Plan['scripts'] {
  if (platform === 'win32' || scope === 'project') return [];
  const { node, bin, deliver, cat, setsid } = program;
  const text = shellHook({ stateFolder: folders.state, node, bin, deliver, cat, setsid });
  const hook = { path: scriptPath(folders.data), text, mode: 0o600 };
  if ([...commands.keys()].some(event => agent.events[event]?.register === 'status-line')) {
    const line = statusLineScript({ hook: hook.path, cat });
    return [hook, { path: statusLinePath(folders.data), text: line, mode: 0o600 }];
  }
  if (runs.posix !== 'program') return [hook];
  return [hook, { ...programFor({ tool: agent.id, reply: agent.reply.stdout, data: folders.data }), mode: 0o700 }];
}

type TextRead = { ok: true; text: string | undefined } | { ok: false; why: string };

function readSettings(path: string): TextRead {
  try {
    const bytes = readRegularFile(path, MAX_SETTINGS_BYTES);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { ok: true, text };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { ok: true, text: undefined };
    return {
      ok: false,
      why: codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8 text' : whyOf(error),
    };
  }
}

function changeSettings({ target, before, after, mode }: Change, notes: Notes, keepNotes: () => void): void {
  if (before === undefined) makeFolder(dirname(target), notes.made);
  // A rename would also replace a file that its owner has locked.
  else fs.accessSync(target, fs.constants.W_OK);
  const copy = before === undefined ? undefined : copyBeside(target, before, notes, keepNotes);
  try {
    if (after === undefined) {
      fs.unlinkSync(target);
      return;
    }
    replaceFile(target, after, mode);
    if (readIfThere(target) === after) return;
    if (before !== undefined) replaceFile(target, before, mode);
    throw new Error('it did not read back as it was written; the former content was put back');
  } finally {
    // The copy is kept only if the file is neither the old nor the new one.
    attempt(() => {
      const now = readIfThere(target);
      if (copy === undefined || (now !== before && now !== after)) return;
      fs.rmSync(copy, { force: true });
      notes.copies.delete(copy);
    });
    if (after === undefined) removeFolder(dirname(target), notes.made);
  }
}

/** Its name is listed first: a kill in between leaves a name without a copy, but never a copy without a name. */
function copyBeside(file: string, text: string, { copies }: Notes, keepNotes: () => void): string {
  const copy = randomNameBeside(file);
  copies.set(copy, file);
  keepNotes();
  writeNew(copy, text, 0o600);
  return copy;
}

const randomNameBeside = (file: string): string =>
  join(dirname(file), `.${basename(file)}.otel-hooks-${randomBytes(8).toString('hex')}`);

/** Throws if the path exists, also as a link. */
function writeNew(path: string, text: string, mode: number, finish: (handle: number) => void = () => undefined): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = fs.constants;
  const handle = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    fs.writeFileSync(handle, text);
    finish(handle);
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

/**
 * Writes a file beside it, syncs it and renames it. `mode` is for a new file. An existing file keeps its mode and
 * owner.
 */
function replaceFile(path: string, text: string, mode: number): void {
  const former = fs.statSync(path, { throwIfNoEntry: false });
  const beside = randomNameBeside(path);
  try {
    writeNew(beside, text, former ? 0o600 : mode, handle => {
      if (!former) return;
      if (former.uid !== fs.fstatSync(handle).uid) fs.fchownSync(handle, former.uid, former.gid);
      fs.fchmodSync(handle, former.mode & 0o7777);
    });
    whileHeld(() => fs.renameSync(beside, path));
  } catch (error) {
    attempt(() => fs.unlinkSync(beside));
    throw error;
  }
  syncFolder(dirname(path));
}

function syncFolder(folder: string): void {
  // Windows cannot open folders. The rename reaches the disk without this sync, but later.
  attempt(() => {
    const handle = fs.openSync(folder, 'r');
    fs.fsyncSync(handle);
    fs.closeSync(handle);
  });
}

function readIfThere(path: string): string | undefined {
  try {
    // The file is now longer than the text that was read.
    return readRegularFile(path, 2 * MAX_SETTINGS_BYTES).toString('utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function findProgram(name: string, path: readonly string[]): string | undefined {
  return ['/bin', '/usr/bin', ...path]
    .map(folder => join(folder, name))
    .find(file => attempt(() => fs.accessSync(file, fs.constants.X_OK)) === undefined);
}

/** Returns why the work failed; undefined when it succeeded. */
function attempt(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return whyOf(error);
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EBUSY: 'another program holds it; try again when that program has closed it',
  EROFS: 'it lies on a read-only file system',
  ENOSPC: 'the disk is full',
  ELOOP: 'its links lead in a circle',
  ENOTDIR: 'a part of its path is no folder',
  EEXIST: 'something else is in its way',
};

function whyOf(error: unknown): string {
  const code = codeOf(error);
  return (
    (code === undefined ? undefined : own(reasons, code)) ?? (error instanceof Error ? error.message : String(error))
  );
}
