/**
 * Finds the problems that exist now. Problems of sessions and deliveries are stored when they occur, because no person
 * reads the output of a detached process. Each stored problem is compared with the present state: a solved problem is
 * not shown, and a problem that cannot be compared is shown for a week, or until `otel-hooks prune --problems`.
 */
import { existsSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { destinationsOf, MOST_DESTINATIONS } from '../config/destinations.ts';
import { type LoadedConfig, loadConfig, PROJECT_FILE } from '../config/files.ts';
import { destinationsIn } from '../deliver/known-destinations.ts';
import { documents } from '../documents/documents.ts';
import { outlineOf } from '../pipeline/stored-session.ts';
import type { NotedProblem } from '../problems/noted-problems.ts';
import { isOfPin, type Problem } from '../problems/problem.ts';
import type { SessionState } from '../session/session-state.ts';
import { refusedFile } from '../ship/lanes.ts';
import { isRefusingMetrics, noStanding, shipProblems } from '../ship/standing.ts';
import type { Store } from '../store/store.ts';
import type { Io } from './command.ts';

const NEWS_MS = 7 * 86_400_000;

/** The sign that hooks leave while the package is missing. */
const PROGRAM_MISSING = 'hook-kick-missing';
/** The sign that hooks leave when they stop waiting for a silent writer. A later hook does not bring its events back. */
const INPUT_SILENT = 'hook-input-silent';

export interface Present {
  folders: { state: string; config: LoadedConfig };
  /** The problems of the present configuration. */
  now: readonly Problem[];
  io: Pick<Io, 'now' | 'home' | 'platform'>;
}

/** The problems of the configuration, of sessions, of destinations and of front ends. */
export function problemsNow(store: Store, present: Present): Problem[] {
  const { folders, now } = present;
  const noted = Object.values(store.read(documents.problems) ?? {});
  const all: Problem[] = [
    ...now,
    ...noted.filter(each => isTrueNow(each, store, present)).map(({ problem }) => problem),
    ...refusedInQuarantine(store),
    ...waitingProblems(store),
    ...hookProblems(store, present),
  ];
  const { state } = folders;
  const newer = store.read(documents.leftAlone) ?? 0;
  if (newer > 0) all.push({ code: 'fragments-newer', folder: state, fragments: newer });
  if (isDiskFull(state)) all.push({ code: 'state-unusable', folder: state, error: 'ENOSPC' });
  return [...new Map(all.map(problem => [JSON.stringify(problem), problem])).values()];
}

// ---------------------------------------------------------------- noted problems

function isTrueNow({ problem, lastMs }: NotedProblem, store: Store, present: Present): boolean {
  if (present.io.now() - lastMs >= NEWS_MS) return false;
  if (isOfPin(problem)) return isStillConfigured(problem, lastMs, present);
  switch (problem.code) {
    // The files in quarantine and the metric states show it as long as it exists.
    case 'delivery-rejected':
      return false;
    case 'fragment-failed':
      return store.quarantined().some(name => name.startsWith(`${problem.why}.`));
    case 'transcripts-packed':
      return problem.file === undefined || (existsSync(`${problem.file}.zst`) && !existsSync(problem.file));
    case 'destinations-full':
      return store.idsOf(documents.destinations).length >= MOST_DESTINATIONS;
    default:
      return true;
  }
}

/**
 * Returns true if a problem of a session's configuration still exists. If the problem names a file, the file is read
 * again. A variable of a hook cannot be read here: the next session from the same folder removes its problem. All other
 * problems may be solved once the user's file has changed.
 */
function isStillConfigured(problem: Problem, lastMs: number, { folders, now, io }: Present): boolean {
  const { config } = folders;
  const isSame = (other: Problem): boolean =>
    other.code === problem.code && keyOf(other) === keyOf(problem) && fileOf(other) === fileOf(problem);
  if (now.some(isSame)) return false;
  // The variable names another file than the one that the hooks read.
  if (problem.code === 'config-place') return true;
  if ('variable' in problem && problem.variable !== undefined) return true;
  if ('from' in problem && /^(environment|flag|--)/.test(problem.from)) return true;
  const file = fileOf(problem);
  if (file === undefined) return changedMs(config.globalFile) <= lastMs;
  if (file === config.globalFile || !existsSync(file)) return false;
  const isOfProject = basename(file) === PROJECT_FILE;
  const { home, platform } = io;
  const place = { env: {}, home, platform, cwd: isOfProject ? dirname(file) : home };
  const read = loadConfig({ ...place, project: isOfProject, file: isOfProject ? config.globalFile : file });
  if (problem.code === 'session-silenced') return read.silencedBy === problem.key;
  return [...read.problems, ...destinationsOf(read).problems].some(isSame);
}

const keyOf = (problem: Problem): unknown => ('key' in problem ? problem.key : undefined);
const fileOf = (problem: Problem): string | undefined => ('file' in problem ? problem.file : undefined);

const changedMs = (file: string): number =>
  statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;

// ---------------------------------------------------------------- destinations

/** Data that destinations refused, as long as it is in quarantine and can be sent again. */
function refusedInQuarantine(store: Store): Problem[] {
  const endpoints = new Map(destinationsIn(store).map(({ id, endpoint }) => [id, endpoint]));
  const counts = new Map<string, Extract<Problem, { code: 'delivery-rejected' }>>();
  for (const name of store.quarantined()) {
    const file = refusedFile(name);
    const endpoint = file && endpoints.get(file.destination);
    if (file === undefined || endpoint === undefined) continue;
    const { destination, signal, reason } = file;
    const key = `${destination} ${signal} ${reason}`;
    const known = counts.get(key) ?? { code: 'delivery-rejected', endpoint, signal, reason, items: 0 };
    counts.set(key, { ...known, items: known.items + 1 });
  }
  return [...counts.values()];
}

/** The reasons why data waits. Without waiting data, a past failure is not a problem. */
function waitingProblems(store: Store): Problem[] {
  const all = destinationsIn(store);
  const standing = store.read(documents.ship) ?? noStanding;
  const isWaiting = (id: string): boolean => {
    const metrics = store.read(documents.metrics.of(id));
    return store.next(id).length > 0 || (metrics !== undefined && metrics.accepted < metrics.version);
  };
  const ids = new Set(all.map(({ id }) => id).filter(isWaiting));
  return shipProblems(standing, all, each => ids.has(each.id) || isRefusingMetrics(standing, each));
}

// ---------------------------------------------------------------- hooks

/** A later hook was recorded, so the cause of the failure no longer exists. */
function hookProblems(store: Store, { folders, io }: Present): Problem[] {
  const signs = store.hookProblems();
  if (signs.length === 0) return [];
  const lastMs = Math.max(0, ...store.sessions().map(key => arrivedMs(store, key)));
  const folder = folders.state;
  return signs
    .filter(({ code, atMs }) => io.now() - atMs < NEWS_MS && (lastMs <= atMs || code === INPUT_SILENT))
    .map(({ code, atMs, times }): Problem => {
      if (code === PROGRAM_MISSING) return { code: 'program-missing', folder, hooks: times, lastMs: atMs };
      if (code === INPUT_SILENT) return { code: 'input-not-taken', folder, why: 'silence', inputs: times };
      return { code: 'hook-failed', folder, why: code, lastMs: atMs };
    });
}

const arrivedMs = (store: Store, key: string): number =>
  outlineOf(store, key)?.arrivedMs ?? (store.session(key)?.state as SessionState | undefined)?.arrivedMs ?? 0;

/** There is too little space for a large hook and for a round. */
const LEAST_BYTES = 64 * 1024;

function isDiskFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < LEAST_BYTES;
}
