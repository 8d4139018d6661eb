/**
 * Setting an agent up, and undoing that: first a plan that can be shown, then its execution. A plan holds the whole
 * effect, on one file or several; making one writes nothing. Where one of its files cannot be changed, those before it
 * are put back.
 *
 * A person's file is replaced in one rename of a file that was written beside it and synced, so at any moment it is
 * either the former or the new one. It keeps its mode and owner. A link stays a link: its target is changed, and named
 * before. A target outside of the project is refused where the settings are those of a project, because a clone can
 * bring links to any file of the person. A file that is no longer what the plan was made from is left alone.
 *
 * A copy lies beside the file while the change runs. It is created exclusively under a random name, since a clone can
 * hold a link under any name that can be guessed, and the data folder remembers it: the next change removes a copy that
 * a killed process left, or restores it where the file is gone.
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
import { unifiedDiff } from '../lib/diff.ts';
import { makeOwnPath } from '../lib/make-path.ts';
import { fieldsOf, own } from '../lib/read.ts';
import { isInside, realPathOf } from '../lib/real-path.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import type { SetupProblem } from '../problems/problem.ts';
import { commandFor, programFor, scriptPath } from './commands.ts';

export interface Setup {
  agent: Agent;
  scope: Scope;
  action: 'enable' | 'disable';
  places: Places;
  platform: string;
  program: Program;
  /** Absolute. */
  folders: { state: string; data: string };
  /** Sends the events of these hooks to this provider only. */
  provider?: string | undefined;
}

/** Absolute paths in the commands that agents run. */
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
  /** The agent's events that are registered, or were. */
  events: string[];
  /** Unified; empty when nothing changes. */
  diff: string;
  /** Folders that are made, for this user alone, and files of ours that are written there. */
  folders: string[];
  scripts: { path: string; text: string; mode: number }[];
  /** Where it is noted which folders came with files of ours. */
  notes: string;
}

/** Of one file. */
export interface Change {
  /** The file as the agent knows it, and what a link there leads to. */
  file: string;
  target: string;
  /** Undefined: there is no such file. */
  before: string | undefined;
  after: string | undefined;
  /** For a new file, less what the user's mask takes; one that is there keeps its own. */
  mode: number;
  /** The numbers of hooks, for the summary of the change. Absent for files that hold none. */
  hooks?: HookCounts;
}

export interface HookCounts {
  /** Our hooks before and after the change. */
  before: number;
  after: number;
  /** Hooks of other programs, which the change keeps. */
  others: number;
}

export type Planned = { ok: true; plan: Plan } | { ok: false; problem: SetupProblem };
export type Applied = { ok: true } | { ok: false; problem: SetupProblem };

/** Parsers of several formats read the whole text, several times each. */
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

  const commands = commandsFor(setup, settings);
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
      scripts: action === 'enable' ? scriptsFor(setup, settings) : [],
      notes: join(folders.data, 'folders.json'),
    },
  };
}

/**
 * Values for our own configuration file, which gets the same care. It is never shown as a diff: secrets stand in it.
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
  const read = (path: string): string | undefined => {
    const found = readSettings(path);
    return found.ok ? found.text : undefined;
  };
  return settings.files(scope, { ...places, platform }, read, namesIn);
}

/** Every file of an agent's scope that may hold entries of ours. */
export function filesIn(setup: Pick<Setup, 'agent' | 'scope' | 'places' | 'platform'>): string[] {
  const { settings } = setup.agent;
  return isAbsent(settings) ? [] : filesOf(setup, settings).map(({ path }) => path);
}

/** Our entries of an agent in a scope, as they stand in its files now, each with its file. */
export function entriesOf(setup: Pick<Setup, 'agent' | 'scope' | 'places' | 'platform'>): (Entry & { file: string })[] {
  const { settings } = setup.agent;
  if (isAbsent(settings) || !settings.scopes.includes(setup.scope)) return [];
  return filesOf(setup, settings).flatMap(file => {
    const read = readSettings(file.path);
    const text = read.ok ? read.text : undefined;
    return text === undefined ? [] : file.entries(text).map(entry => ({ ...entry, file: file.path }));
  });
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

/** Is the file, or its folder, a link? Then a person should read which file the change really reaches. */
export function isLinked({ file, target }: Change): boolean {
  const folder = dirname(file);
  return join(realPathOf(dirname(folder)), basename(folder), basename(file)) !== target;
}

const diffText = ({ file, before, after }: Change): string =>
  unifiedDiff(before ?? '', after ?? '', {
    from: before === undefined ? '/dev/null' : file,
    to: after === undefined ? '/dev/null' : file,
  });

/** Carries out the plan, or leaves the settings unchanged. It is idempotent. */
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

  // The script comes first: settings never name one that is not there.
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
  // If a note cannot be written, an empty folder or a copy may stay later.
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
  /** A folder that came with a file of ours goes with it; one that was there before stays, also empty. */
  made: Set<string>;
  /** Copies that lie beside files while these are changed, each with its file. */
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
    // Nothing was noted, or the notes are damaged.
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
 * Copies of changes that a kill ended: the file was replaced in one step, so its copy matters only where the file is
 * gone.
 */
function settleCopies({ copies }: Notes): void {
  for (const [copy, file] of copies) {
    attempt(() => fs.linkSync(copy, file));
    if (attempt(() => fs.rmSync(copy, { force: true })) === undefined) copies.delete(copy);
  }
}

/** Ends changes that a kill interrupted, before the notes about them go. True when there were any. */
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
 * Where this installation lies, and the programs that its script calls by absolute path; `path`: where these may be.
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

/** The events that an agent's table allows us to register, each with the command for them. */
export function commandsFor(setup: Setup, { runs }: Settings): Map<string, HookCommand> {
  const { agent, program, provider, platform, scope, folders } = setup;
  const events = Object.entries(agent.events).filter(([, event]) => event.register !== false);
  return new Map(
    events.map(([event, { edge }]) => [
      event,
      commandFor({
        tool: agent.id,
        event,
        edge: edge === true,
        provider,
        reply: agent.reply.stdout,
        runs,
        platform,
        isShared: scope === 'project',
        data: folders.data,
        node: program.node,
        bin: program.bin,
      }),
    ]),
  );
}

function scriptsFor({ agent, scope, platform, folders, program }: Setup, { runs }: Settings): Plan['scripts'] {
  if (platform === 'win32' || scope === 'project') return [];
  const { node, bin, deliver, cat, setsid } = program;
  const text = shellHook({ stateFolder: folders.state, node, bin, deliver, cat, setsid });
  const hook = { path: scriptPath(folders.data), text, mode: 0o600 };
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
    // Kept only where the file is neither the former nor the new one.
    attempt(() => {
      const now = readIfThere(target);
      if (copy === undefined || (now !== before && now !== after)) return;
      fs.rmSync(copy, { force: true });
      notes.copies.delete(copy);
    });
    if (after === undefined) removeFolder(dirname(target), notes.made);
  }
}

/** Its name is noted first: a kill in between leaves a note about nothing, never a copy that no note knows. */
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

/** Written beside, synced, renamed. `mode` is for a new file; one that is there keeps its own, and its owner. */
function replaceFile(path: string, text: string, mode: number): void {
  const former = fs.statSync(path, { throwIfNoEntry: false });
  const beside = randomNameBeside(path);
  try {
    writeNew(beside, text, former ? 0o600 : mode, handle => {
      if (!former) return;
      if (former.uid !== fs.fstatSync(handle).uid) fs.fchownSync(handle, former.uid, former.gid);
      fs.fchmodSync(handle, former.mode & 0o7777);
    });
    fs.renameSync(beside, path);
  } catch (error) {
    attempt(() => fs.unlinkSync(beside));
    throw error;
  }
  syncFolder(dirname(path));
}

function syncFolder(folder: string): void {
  // Windows cannot open folders; the rename is on its way to the disk all the same.
  attempt(() => {
    const handle = fs.openSync(folder, 'r');
    fs.fsyncSync(handle);
    fs.closeSync(handle);
  });
}

function readIfThere(path: string): string | undefined {
  try {
    // What was just written is longer than what was read.
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
