/**
 * `uninstall`: shows the planned removal, asks, ends the processes that deliver, restores all settings, removes the
 * scripts, and with `--purge` the folders.
 *
 * The order matters. The lock is taken first and held to the end, so that hooks that still run start no delivery.
 * Settings and scripts are removed before the state folder, so that no hook writes into it any more.
 */
import { lstatSync, readdirSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agents } from '../agents/index.ts';
import { configFolder } from '../config/folders.ts';
import { readStatusBooks, type StatusBooks } from '../deliver/status-books.ts';
import { VERSION } from '../lib/version.ts';
import { explain, type SetupProblem } from '../problems/problem.ts';
import { knownPlaces } from '../setup/places.ts';
import { planRestorations, type Restorations, removeScripts, scriptsIn } from '../setup/restore.ts';
import { applySetup, settleInterrupted } from '../setup/setup.ts';
import { summaryOf } from '../setup/summary.ts';
import { StateRefused } from '../store/folder.ts';
import { isAlive, type Lock, lockOwner, type ProcessId, takeLock } from '../store/lock.ts';
import { removeState } from '../store/remove.ts';
import { openStore } from '../store/store.ts';
import { type Io, NoTerminal, type Words } from './command.ts';
import { foldersOf } from './place.ts';
import { mayRemove } from './questions.ts';
import { surroundingsOf } from './setup.ts';
import { problemText, shownPath, table } from './text.ts';

/** A delivery releases the lock after its round and its current request. */
const HANDOVER_MS = 15_000;
/** A delivery that has released the lock ends at once. */
const DELIVERY_MS = 1_000;
/** A server answers its present requests and ends its round. */
const SERVER_MS = 20_000;
const LOOK_MS = 50;
/** The time that a process that hooks have just started may need until it creates its folder. */
const SETTLING_MS = 300;
const MOST_REMOVALS = 10;

const asPerson = { version: VERSION, byHand: true, waitMs: HANDOVER_MS };

interface Folder {
  kind: 'state' | 'data' | 'config';
  path: string;
  files: number;
  sizeBytes: number;
}

interface Uninstallation {
  io: Io;
  isPurge: boolean;
  state: string;
  data: string;
  settings: Restorations;
  /** Reads the settings again. */
  plan: () => Restorations;
  scripts: string[];
  folders: Folder[];
  /** The number of waiting items in the state folder; undefined if it cannot be read. */
  waiting: { hooks: number; items: number } | undefined;
  owner: ProcessId | undefined;
}

/** A failed step, as a sentence and a next step. */
interface Left {
  path: string;
  why: string;
  next: string;
}

export async function run(words: Words, io: Io): Promise<number> {
  const has = (flag: string): boolean => words.flags[flag] !== undefined;
  const isJson = has('--json');
  const whole = lookAt(words, io, has('--purge'));
  const isEmpty = isNothingToDo(whole);
  if (!isJson) io.out(pageOf(whole, has('--diff'), isEmpty));
  if (has('--dry-run') || isEmpty) return endUnchanged(whole, isJson);
  if (!has('--yes')) {
    if (isJson || !io.isTerminal) {
      if (isJson) io.out(jsonOf(whole, true, []));
      throw new NoTerminal('--yes');
    }
    if (!(await mayRemove(io, () => whole.settings.planned.map(({ plan }) => plan.diff).join('')))) {
      io.out('Nothing was changed.\n');
      return 0;
    }
  }
  const left = await remove(whole);
  if (isJson) io.out(jsonOf(whole, false, left));
  else {
    for (const { path, why, next } of left) io.err(`otel-hooks: ${path} is left (${why}).\n  next: ${next}\n`);
    io.out(doneText(whole, left));
  }
  return left.length > 0 ? 1 : 0;
}

const isNothingToDo = ({ settings, scripts, isPurge, folders }: Uninstallation): boolean =>
  settings.planned.length === 0 &&
  settings.refused.length === 0 &&
  scripts.length === 0 &&
  (!isPurge || folders.length === 0);

function endUnchanged(whole: Uninstallation, isJson: boolean): number {
  const { io, settings } = whole;
  if (isJson) io.out(jsonOf(whole, true, []));
  else for (const { problem } of settings.refused) io.err(problemText(problem));
  return settings.refused.length > 0 ? 1 : 0;
}

function lookAt(words: Words, io: Io, isPurge: boolean): Uninstallation {
  const folders = foldersOf(words, io);
  const { state, data } = folders;
  const plan = (): Restorations => planRestorations(agents, surroundingsOf(folders, io), knownPlaces(data));
  const places: [Folder['kind'], string][] = [
    ['state', state],
    ['data', data],
    ['config', configFolder(io)],
  ];
  return {
    io,
    isPurge,
    state,
    data,
    settings: plan(),
    plan,
    scripts: scriptsIn(data),
    folders: places.flatMap(([kind, path]) => (isThere(path) ? [{ kind, path, ...contentsOf(path) }] : [])),
    waiting: waitingIn(state),
    owner: lockOwner(state),
  };
}

/** A link counts with its own size, because its target is not removed. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function contentsOf(folder: string): { files: number; sizeBytes: number } {
  const sum = { files: 0, sizeBytes: 0 };
  if (lstatSync(folder).isSymbolicLink()) return sum;
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      sum.files += 1;
      sum.sizeBytes += lstatSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
    }
  } catch {
    // A part of it cannot be read, or was removed meanwhile. The sum is only shown to the user.
  }
  return sum;
}

function waitingIn(state: string): Uninstallation['waiting'] {
  let books: StatusBooks;
  try {
    const store = openStore({ folder: state, access: 'read' });
    try {
      books = readStatusBooks(store);
    } finally {
      store.close();
    }
  } catch (error) {
    if (error instanceof StateRefused) return undefined;
    throw error;
  }
  const items = books.destinations.flatMap(({ spans, logs, metrics, events }) =>
    [spans, logs, metrics, events].map(({ waiting }) => waiting),
  );
  return { hooks: books.fragments.waiting, items: items.reduce((all, each) => all + each, 0) };
}

function pageOf(whole: Uninstallation, isDiff: boolean, isEmpty: boolean): string {
  const { io, isPurge, settings, scripts, folders, owner } = whole;
  if (isEmpty) return `Nothing is set up on this machine.\n${isPurge ? '' : keptText(whole)}`;
  const shown = (path: string): string => shownPath(path, io.home);
  const rows: string[][] = [];
  for (const { agent, plan } of settings.planned) {
    for (const [at, { file, says }] of summaryOf(plan).entries())
      rows.push([at === 0 ? agent.title : '', shown(file), says]);
  }
  for (const [at, script] of scripts.entries())
    rows.push([at === 0 ? 'Scripts' : '', shown(script), 'the file is removed']);
  if (isPurge) {
    for (const [at, folder] of folders.entries())
      rows.push([at === 0 ? 'Folders' : '', shown(folder.path), `the ${folder.kind} folder: ${sizeText(folder)}`]);
  }
  const stops = owner === undefined ? '' : `Process ${owner.pid} delivers or serves; it is asked to end first.\n`;
  const diff = isDiff ? settings.planned.map(({ plan }) => plan.diff).join('') : '';
  return `${table(rows)}${isPurge ? lossText(whole) : keptText(whole)}${stops}${diff}`;
}

const sizeText = ({ files, sizeBytes }: Folder): string =>
  `${files} ${files === 1 ? 'file' : 'files'}, ${bytesText(sizeBytes)}`;

function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function waitingText({ hooks, items }: NonNullable<Uninstallation['waiting']>): string {
  return `${hooks} ${hooks === 1 ? 'hook' : 'hooks'} and ${items} ${items === 1 ? 'item' : 'items'} of telemetry`;
}

function lossText({ waiting }: Uninstallation): string {
  if (waiting === undefined) return '';
  if (waiting.hooks + waiting.items === 0) return 'Nothing waits to be delivered.\n';
  return `${waitingText(waiting)} wait to be delivered, and are lost. To deliver them before: otel-hooks deliver\n`;
}

function keptText({ io, folders, scripts, waiting }: Uninstallation): string {
  const kept = folders.filter(({ kind, files }) => kind !== 'data' || files > scripts.length);
  if (kept.length === 0) return '';
  const paths = kept.filter(({ kind }) => kind !== 'data').map(({ path }) => shownPath(path, io.home));
  const waits =
    waiting === undefined || waiting.hooks + waiting.items === 0 ? '' : `; ${waitingText(waiting)} wait there`;
  return paths.length === 0 ? '' : `Kept: ${paths.join(', ')}${waits}. --purge removes this, too.\n`;
}

async function remove(whole: Uninstallation): Promise<Left[]> {
  const { isPurge, data, folders } = whole;
  const stopped = await stopDelivery(whole);
  if (stopped.isAtWork) return [stopped.isAtWork];
  try {
    const settings = settledSettings(whole);
    const left = settings.refused.map(({ problem }) => leftOf(problem));
    const refused = settings.refused.map(({ agent }) => agent);
    for (const { agent, plan } of settings.planned) {
      const applied = applySetup(plan);
      if (applied.ok) continue;
      refused.push(agent);
      left.push(leftOf(applied.problem));
    }
    removeScripts(data, refused);
    if (!isPurge) return left;
    for (const { kind, path } of folders) {
      if (kind === 'state') left.push(...(stopped.unusable ? [stopped.unusable] : await removeStateFolder(path)));
      else if (kind === 'config' || refused.length === 0) left.push(...removed(path));
    }
    return left;
  } finally {
    stopped.lock?.release();
    // If all three folders are inside one, that one is removed last. rmdir removes only an empty folder.
    for (const { path } of folders)
      if (basename(dirname(path)) === 'otel-hooks') attempt(() => rmdirSync(dirname(path)));
  }
}

/** A file of an interrupted change is restored first. Our hooks are then removed from it, as from all other files. */
function settledSettings({ data, settings, plan }: Uninstallation): Restorations {
  return settleInterrupted(data) ? plan() : settings;
}

const leftOf = (problem: SetupProblem): Left => ({
  path: problem.code === 'settings-absent' ? problem.agent : problem.file,
  why: `${problem.code === 'settings-outside' ? `it leads out of the project, to ${problem.target}` : problem.why}; its hooks were not removed`,
  next: 'repair it, then run `otel-hooks uninstall` again.',
});

interface Stopped {
  lock?: Lock;
  /** A process did not end, so nothing is removed. */
  isAtWork?: Left;
  /** This process must not change the state folder. */
  unusable?: Left;
}

/** Takes the lock, and ends a server, because a server would take the lock again. */
async function stopDelivery({ state, owner }: Uninstallation): Promise<Stopped> {
  if (!isThere(state)) return {};
  let lock: Lock | undefined;
  try {
    lock = await takeLock({ folder: state, ...asPerson });
  } catch (error) {
    if (!(error instanceof StateRefused)) throw error;
    const { what, next } = explain(error.problem);
    return { unusable: { path: state, why: what.replace(/\.$/, ''), next } };
  }
  const isGone = owner === undefined || owner.pid === process.pid || (await ends(owner));
  if (lock !== undefined && isGone) return { lock };
  lock?.release();
  const holder = owner === undefined ? 'a process on another machine or in another container' : `process ${owner.pid}`;
  return {
    isAtWork: {
      path: state,
      why: `${holder} still delivers into it; nothing was removed`,
      next: 'end it, then run `otel-hooks uninstall` again.',
    },
  };
}

/** A delivery ends after it handed over the lock. A server would take the lock back, so it gets a signal. */
async function ends(owner: ProcessId): Promise<boolean> {
  if (await isGoneWithin(owner, DELIVERY_MS)) return true;
  if (attempt(() => process.kill(owner.pid, 'SIGTERM')) !== undefined) return !isAlive(owner);
  return await isGoneWithin(owner, SERVER_MS);
}

async function isGoneWithin(owner: ProcessId, ms: number): Promise<boolean> {
  for (const endMs = performance.now() + ms; isAlive(owner); await sleep(LOOK_MS))
    if (performance.now() > endMs) return false;
  return true;
}

/**
 * Hooks that began before their script was removed still write an event, and may start a delivery, which creates the
 * folder again. They get a moment to end, and the next attempt removes their files.
 */
async function removeStateFolder(state: string): Promise<Left[]> {
  for (let tries = 1; ; tries += 1) {
    await sleep(SETTLING_MS);
    const lock = tries === 1 ? undefined : await takeLock({ folder: state, ...asPerson }).catch(() => undefined);
    const left = removeState(state);
    lock?.release();
    const isFinal = left.length > 0 && left.every(each => each.isForeign);
    if (left.length === 0) {
      await sleep(SETTLING_MS);
      if (!isThere(state)) return [];
    }
    if (isFinal || tries === MOST_REMOVALS) {
      const made = { path: state, why: 'something makes it again' };
      return (left.length > 0 ? left : [made]).map(({ path, why }) => ({
        path,
        why,
        next: `end the agents and services that use it, look at it, then remove it: rm -r ${path}`,
      }));
    }
  }
}

/** Removes a folder with its content, or the link. */
function removed(path: string): Left[] {
  const why = attempt(() => (lstatSync(path).isSymbolicLink() ? unlinkSync(path) : rmSync(path, { recursive: true })));
  return why === undefined || !isThere(path) ? [] : [{ path, why, next: `look at its owner and mode: ls -ld ${path}` }];
}

function doneText({ settings, isPurge }: Uninstallation, left: readonly Left[]): string {
  const restored = settings.planned.filter(
    ({ plan }) => !left.some(({ path }) => plan.changes.some(({ file }) => file === path)),
  );
  const titles = [...new Set(restored.map(({ agent }) => agent.title))];
  const what = titles.length === 0 ? '' : `Restored the settings of ${titles.join(', ')}.\n`;
  if (left.length > 0) return what;
  return `${what}Removed the scripts${isPurge ? ' and all data' : ''}.\n  next: npm uninstall -g otel-hooks\n`;
}

function jsonOf(whole: Uninstallation, isDry: boolean, left: readonly Left[]): string {
  const { settings, scripts, folders, waiting, isPurge, owner } = whole;
  const found = {
    v: 1,
    action: 'uninstall',
    purge: isPurge,
    dryRun: isDry,
    settings: settings.planned.map(({ agent, scope, plan }) => ({
      agent: agent.id,
      scope,
      files: plan.changes.map(({ file }) => file),
      summary: summaryOf(plan),
      diff: plan.diff,
    })),
    refused: settings.refused.map(({ agent, scope, problem }) => ({ agent: agent.id, scope, problem })),
    scripts,
    folders: isPurge ? folders : [],
    ...(waiting ? { waiting } : {}),
    ...(owner ? { delivering: owner.pid } : {}),
    left,
  };
  return `${JSON.stringify(found, null, 2)}\n`;
}

function attempt(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}
