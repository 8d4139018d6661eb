/**
 * Setting an agent up, and taking that back: first a plan that can be shown, then its execution. A plan holds the whole
 * effect, on one file or several; making one writes nothing. Where one of its files cannot be changed, those before it are
 * put back.
 *
 * A person's file is replaced in one rename of a file that was written beside it and synced, so at any moment it is
 * either the former or the new one. It keeps its mode and owner; a link stays a link, and what it points to is changed.
 * A file that is no longer what the plan was made from is left alone. A copy lies beside it while the change runs.
 */
import fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
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
import { makePath } from '../lib/make-path.ts';
import { fieldsOf, own } from '../lib/read.ts';
import { readRegularFile } from '../lib/regular-file.ts';
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

/** Absolute paths that are baked into what agents run. */
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

export type SetupProblem =
  | { code: 'settings-absent'; agent: string; why: string }
  | { code: 'settings-refused'; file: string; line: number; column: number; why: string }
  | { code: 'settings-file'; file: string; why: string };

export type Planned = { ok: true; plan: Plan } | { ok: false; problem: SetupProblem };
export type Applied = { ok: true } | { ok: false; problem: SetupProblem };

/** Parsers of several formats read the whole text, several times each. */
const MAX_SETTINGS_BYTES = 1024 * 1024;

export function planSetup(setup: Setup): Planned {
  const { agent, scope, action, folders } = setup;
  const { settings } = agent;
  const absent = (why: string): Planned => ({
    ok: false,
    problem: { code: 'settings-absent', agent: agent.title, why },
  });
  if (isAbsent(settings)) return absent(settings.absent);
  if (!settings.scopes.includes(scope)) return absent(`it has no settings of the scope ${scope}`);

  const commands = commandsFor(setup, settings);
  const changes: Change[] = [];
  const events = new Set<string>();
  const files = filesOf(setup, settings);
  for (const settingsFile of files) {
    const { path: file } = settingsFile;
    const target = targetOf(file);
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

/** Values for our own configuration file, which gets the same care. It is never shown as a diff: secrets stand in it. */
export function planConfig(
  file: string,
  values: readonly (readonly [path: string[], value: unknown])[],
  data: string,
): Planned {
  const target = targetOf(file);
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
    const found = readSettings(targetOf(path));
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
    const read = readSettings(targetOf(file.path));
    const text = read.ok ? read.text : undefined;
    return text === undefined ? [] : file.entries(text).map(entry => ({ ...entry, file: file.path }));
  });
}

export function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder).sort();
  } catch {
    // Not there, or not ours to read: then nothing in it is.
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

const diffOf = ({ file, before, after }: Change): string =>
  unifiedDiff(before ?? '', after ?? '', {
    from: before === undefined ? '/dev/null' : file,
    to: after === undefined ? '/dev/null' : file,
  });

/** Does what the plan says, or leaves the settings as they are. Doing it again changes nothing. */
export function applySetup(plan: Plan): Applied {
  const failed = (file: string, why: string): Applied => ({ ok: false, problem: { code: 'settings-file', file, why } });
  for (const { file, target, before } of plan.changes) {
    const now = readSettings(target);
    if (!now.ok) return failed(file, now.why);
    if (now.text !== before) return failed(file, 'it was changed since the plan was made');
  }

  // The script comes first: settings never name one that is not there.
  for (const folder of plan.folders) {
    const why = attempt(() => makePath(folder));
    if (why !== undefined) return failed(folder, why);
  }
  for (const { path, text, mode } of plan.scripts) {
    const why = attempt(() => {
      if (readIfThere(path) !== text) replaceFile(path, text, mode);
    });
    if (why !== undefined) return failed(path, why);
  }
  const made = madeFolders(plan.notes);
  const before = [...made].join('\0');
  let failure: Applied | undefined;
  for (const [at, change] of plan.changes.entries()) {
    const why = attempt(() => changeSettings(change, made));
    if (why === undefined) continue;
    for (const done of plan.changes.slice(0, at).reverse()) {
      attempt(() => changeSettings({ ...done, before: done.after, after: done.before }, made));
    }
    failure = failed(change.file, why);
    break;
  }
  // A note that cannot be written costs an empty folder later.
  if ([...made].join('\0') !== before) attempt(() => noteFolders(plan.notes, made));
  return failure ?? { ok: true };
}

/** A folder that came with a file of ours goes with it; one that was there before stays, also empty. */
function madeFolders(notes: string): Set<string> {
  try {
    return new Set(textsOf(fieldsOf(JSON.parse(fs.readFileSync(notes, 'utf8'))).made));
  } catch {
    // None were made, or nobody knows.
    return new Set();
  }
}

function noteFolders(notes: string, made: ReadonlySet<string>): void {
  if (made.size === 0) fs.rmSync(notes, { force: true });
  else replaceFile(notes, `${JSON.stringify({ v: 1, made: [...made] })}\n`, 0o600);
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

function makeFolder(folder: string, made: Set<string>): void {
  if (fs.existsSync(folder)) return;
  makeFolder(dirname(folder), made);
  fs.mkdirSync(folder);
  made.add(folder);
}

/** rmdir takes none that holds anything. */
function removeFolder(folder: string, made: Set<string>): void {
  if (!made.has(folder) || attempt(() => fs.rmdirSync(folder)) !== undefined) return;
  made.delete(folder);
  removeFolder(dirname(folder), made);
}

/** Where this installation lies, and the programs that its script calls by absolute path; `path`: where these may be. */
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

/** What a link leads to, also where nothing is there yet. */
function targetOf(file: string): string {
  let path = file;
  for (let links = 0; links < 40; links++) {
    try {
      path = resolve(dirname(path), fs.readlinkSync(path));
    } catch {
      // Not a link, or nothing there: this is where to read, and reading says what is wrong.
      return path;
    }
  }
  return path;
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

function changeSettings({ target, before, after, mode }: Change, made: Set<string>): void {
  const backup = `${target}.otel-hooks-backup`;
  if (before === undefined) makeFolder(dirname(target), made);
  else {
    // A rename would also replace a file that its owner has locked.
    fs.accessSync(target, fs.constants.W_OK);
    fs.copyFileSync(target, backup);
  }
  try {
    if (after === undefined) {
      fs.unlinkSync(target);
      if (before !== undefined) fs.unlinkSync(backup);
      removeFolder(dirname(target), made);
      return;
    }
    replaceFile(target, after, mode);
    if (readIfThere(target) === after) return;
    if (before !== undefined) fs.copyFileSync(backup, target);
    throw new Error('it did not read back as it was written; the former content was put back');
  } finally {
    // Kept only where the file is neither the former nor the new one.
    attempt(() => {
      const now = readIfThere(target);
      if (now === before || now === after) fs.rmSync(backup, { force: true });
    });
  }
}

/** Written beside, synced, renamed. `mode` is for a new file; one that is there keeps its own, and its owner. */
function replaceFile(path: string, text: string, mode: number): void {
  const former = fs.statSync(path, { throwIfNoEntry: false });
  const beside = join(dirname(path), `.${basename(path)}.otel-hooks-${process.pid}`);
  attempt(() => fs.unlinkSync(beside));
  const handle = fs.openSync(beside, 'wx', former ? 0o600 : mode);
  try {
    try {
      fs.writeFileSync(handle, text);
      if (former) {
        if (former.uid !== fs.fstatSync(handle).uid) fs.fchownSync(handle, former.uid, former.gid);
        fs.fchmodSync(handle, former.mode & 0o7777);
      }
      fs.fsyncSync(handle);
    } finally {
      fs.closeSync(handle);
    }
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
    return fs.readFileSync(path, 'utf8');
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

/** What went wrong, if anything. */
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
