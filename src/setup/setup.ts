/**
 * Setting an agent up, and taking that back: first a plan that can be shown, then its execution. A plan holds the whole
 * effect; making one writes nothing.
 *
 * A person's file is replaced in one rename of a file that was written beside it and synced, so at any moment it is
 * either the former or the new one. It keeps its mode and owner; a link stays a link, and what it points to is changed.
 * A file that is no longer what the plan was made from is left alone. A copy lies beside it while the change runs.
 */
import fs from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { type Agent, isAbsent, type Places, type Scope } from '../agents/contract.ts';
import { shellCommand, shellHook } from '../hook/script.ts';
import { unifiedDiff } from '../lib/diff.ts';

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
  /** The settings file as the agent knows it, and what a link there leads to. */
  file: string;
  target: string;
  /** Undefined: there is no such file. */
  before: string | undefined;
  after: string | undefined;
  changed: boolean;
  /** The agent's events that are registered, or were. */
  events: string[];
  /** Unified; empty when nothing changes. */
  diff: string;
  /** Folders that are made, for this user alone, and files of ours that are written there. */
  folders: string[];
  scripts: { path: string; text: string }[];
}

export type SetupProblem =
  | { code: 'settings-absent'; agent: string; why: string }
  | { code: 'settings-refused'; file: string; line: number; column: number; why: string }
  | { code: 'settings-file'; file: string; why: string };

export type Planned = { ok: true; plan: Plan } | { ok: false; problem: SetupProblem };
export type Applied = { ok: true } | { ok: false; problem: SetupProblem };

const MAX_SETTINGS_BYTES = 16 * 1024 * 1024;

export function planSetup(setup: Setup): Planned {
  const { agent, scope, action, places, folders } = setup;
  const { settings } = agent;
  const absent = (why: string): Planned => ({
    ok: false,
    problem: { code: 'settings-absent', agent: agent.title, why },
  });
  if (isAbsent(settings)) return absent(settings.absent);
  if (!settings.scopes.includes(scope)) return absent(`it has no settings of the scope ${scope}`);

  const file = settings.path(scope, places);
  const target = targetOf(file);
  const read = readSettings(target);
  if (!read.ok) return { ok: false, problem: { code: 'settings-file', file, why: read.why } };

  const isAbsentFile = read.text === undefined;
  const edit =
    action === 'enable'
      ? settings.add(read.text, commandsFor(setup))
      : isAbsentFile
        ? ({ ok: true, text: undefined, changed: false, events: [] } as const)
        : settings.remove(read.text ?? '');
  if (!edit.ok) {
    const { line, column, why } = edit;
    return { ok: false, problem: { code: 'settings-refused', file, line, column, why } };
  }

  const isScripted = action === 'enable' && runsScript(setup);
  return {
    ok: true,
    plan: {
      action,
      file,
      target,
      before: read.text,
      after: edit.text,
      changed: edit.changed,
      events: [...edit.events],
      diff: unifiedDiff(read.text ?? '', edit.text ?? '', {
        from: isAbsentFile ? '/dev/null' : file,
        to: edit.text === undefined ? '/dev/null' : file,
      }),
      folders: action === 'enable' ? [folders.state, join(folders.state, 'inbox'), folders.data] : [],
      scripts: isScripted ? [{ path: scriptPath(setup), text: scriptText(setup) }] : [],
    },
  };
}

/** Does what the plan says, or leaves the settings as they are. Doing it again changes nothing. */
export function applySetup(plan: Plan): Applied {
  const failed = (file: string, why: string): Applied => ({ ok: false, problem: { code: 'settings-file', file, why } });
  const now = readSettings(plan.target);
  if (!now.ok) return failed(plan.file, now.why);
  if (now.text !== plan.before) return failed(plan.file, 'it was changed since the plan was made');

  // The script comes first: settings never name one that is not there.
  for (const folder of plan.folders) {
    const why = attempt(() => fs.mkdirSync(folder, { recursive: true, mode: 0o700 }));
    if (why !== undefined) return failed(folder, why);
  }
  for (const { path, text } of plan.scripts) {
    const why = attempt(() => {
      if (readIfThere(path) !== text) replaceFile(path, text, 0o600);
    });
    if (why !== undefined) return failed(path, why);
  }
  if (!plan.changed) return { ok: true };
  const why = attempt(() => changeSettings(plan));
  return why === undefined ? { ok: true } : failed(plan.file, why);
}

/** Where this installation lies, and the programs that its script calls by absolute path. */
export function programAt(dist: string, node: string, env: Readonly<Record<string, string | undefined>>): Program {
  return {
    node,
    bin: join(dist, 'otel-hooks.cjs'),
    deliver: join(dist, 'deliver.js'),
    cat: findProgram('cat', env.PATH) ?? '/bin/cat',
    setsid: findProgram('setsid', env.PATH),
  };
}

/** The events that an agent's table allows us to register, each with the command for them. */
function commandsFor(setup: Setup): Map<string, string> {
  const events = Object.entries(setup.agent.events).filter(([, event]) => event.register !== false);
  return new Map(events.map(([name, event]) => [name, commandFor(setup, name, event.edge === true)]));
}

/**
 * A shell sources the script: the cheapest way there is. Windows has no such shell, and a file that is shared with
 * other machines must not name paths of this one: both get the Node front end, found by PATH where the file is shared,
 * and there guarded, because a missing program would be reported to whoever has not installed us.
 */
function commandFor(setup: Setup, event: string, edge: boolean): string {
  const { agent, provider, program } = setup;
  if (runsScript(setup)) {
    const reply = agent.reply.stdout || undefined;
    return shellCommand({ script: scriptPath(setup), tool: agent.id, event, edge, provider, reply });
  }
  const words = ['hook', '--tool', agent.id, '--event', event];
  if (edge) words.push('--edge');
  if (provider !== undefined) words.push('--provider', provider);
  if (agent.reply.stdout) words.push('--reply', `'${agent.reply.stdout}'`);
  if (setup.scope !== 'project') return `"${program.node}" "${program.bin}" ${words.join(' ')}`;
  // What an agent's user has set for Node is not for this one: a module that is gone would end it before it began.
  return `! command -v otel-hooks >/dev/null 2>&1 || NODE_OPTIONS= otel-hooks ${words.join(' ')}`;
}

const runsScript = ({ platform, scope }: Setup): boolean => platform !== 'win32' && scope !== 'project';
const scriptPath = ({ folders }: Setup): string => join(folders.data, 'hook.sh');

function scriptText({ folders, program }: Setup): string {
  const { node, bin, deliver, cat, setsid } = program;
  return shellHook({ stateFolder: folders.state, node, bin, deliver, cat, setsid });
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

type Settings = { ok: true; text: string | undefined } | { ok: false; why: string };

function readSettings(path: string): Settings {
  try {
    const stat = fs.statSync(path);
    // Looked at first: opening a pipe would wait for ever.
    if (!stat.isFile()) return { ok: false, why: 'it is not a regular file' };
    if (stat.size > MAX_SETTINGS_BYTES) return { ok: false, why: `it is larger than ${MAX_SETTINGS_BYTES} bytes` };
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(path));
    return { ok: true, text };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { ok: true, text: undefined };
    return { ok: false, why: codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : whyOf(error) };
  }
}

function changeSettings({ file, target, before, after }: Plan): void {
  const backup = `${target}.otel-hooks-backup`;
  if (before === undefined) fs.mkdirSync(dirname(target), { recursive: true });
  else {
    // A rename would also replace a file that its owner has locked.
    fs.accessSync(target, fs.constants.W_OK);
    fs.copyFileSync(target, backup);
  }
  try {
    if (after === undefined) {
      fs.unlinkSync(target);
      // The folder came with the file. rmdir takes none that holds anything else.
      if (before !== undefined) fs.unlinkSync(backup);
      if (target === file) attempt(() => fs.rmdirSync(dirname(file)));
      return;
    }
    replaceFile(target, after);
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
function replaceFile(path: string, text: string, mode?: number): void {
  const former = fs.statSync(path, { throwIfNoEntry: false });
  const beside = join(dirname(path), `.${basename(path)}.otel-hooks-${process.pid}`);
  attempt(() => fs.unlinkSync(beside));
  const handle = fs.openSync(beside, 'wx', former ? 0o600 : (mode ?? 0o666));
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

/** Absolute paths only: a relative entry of PATH means another program in each folder. */
function findProgram(name: string, path: string | undefined): string | undefined {
  const folders = ['/bin', '/usr/bin', ...(path ?? '').split(delimiter).filter(folder => isAbsolute(folder))];
  return folders
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
  return (code === undefined ? undefined : reasons[code]) ?? (error instanceof Error ? error.message : String(error));
}
