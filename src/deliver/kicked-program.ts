/**
 * Delivery in the process that hooks start, and in a thread of `serve`. kicked.ts loads it, and passes the lock if it
 * has it.
 *
 * Its output is not read. Its OTEL_* variables come from the project whose hook started it, so they are ignored: every
 * session has its own.
 */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { loadConfig } from '../config/files.ts';
import { homeOf, stateFolder } from '../config/folders.ts';
import { compileBriefly } from '../lib/compile.ts';
import { durationMs } from '../lib/duration.ts';
import { collectAlone, keepYoungSmall } from '../lib/garbage.ts';
import type { Lock } from '../store/lock.ts';
import { deliver } from './deliver.ts';
import { keepOf } from './state-limits.ts';

const LINGER_MS = 30_000;
/** True within `serve`, which may receive thousands of events. */
const GATHER_MS = 250;
/** A round holds its events several times, as text, values and bodies, and `serve` has a limit for its memory. */
const ROUND = { fragments: 2_000, bytes: 2 * 1024 * 1024 };
/**
 * Answers come first. In a group of threads that wants more than there is, a thread with this value gets a tenth of the
 * time of one with 0.
 */
const NICE = 10;

export interface Kicked {
  /** Absent: the folder of the user's configuration. */
  folder: string | undefined;
  /** A hook with --flush waits for the end, so delivery ends as soon as all data is sent. */
  waitMs: number | undefined;
  /** The file that was started. If it is missing, an upgrade has replaced it. */
  self: string;
  lock: Lock | undefined;
  /** The working folder of the hook that started this process. */
  from: string | undefined;
}

/** Ends the process. */
export async function deliverKicked({ folder, waitMs, self, lock, from }: Kicked): Promise<never> {
  compileBriefly();
  const { env, platform } = process;
  const home = homeOf(env);
  /** `serve` names the configuration file. The variable of a hook counts for that hook's sessions only. */
  const configFile = parentPort === null ? undefined : env.OTEL_HOOKS_CONFIG;
  const surroundings = { env, home, platform, ownVariables: false, configFile };
  const stop = new AbortController();
  if (parentPort === null) collectAlone();
  else {
    parentPort.once('message', () => stop.abort());
    standBack();
    keepYoungSmall();
  }
  // Only the path of the file is passed on. Its content belongs to the user, independent of the hook that started this
  // process.
  const { XDG_CONFIG_HOME, APPDATA, OTEL_HOOKS_CONFIG } = env;
  const { values: config } = loadConfig({
    env: { XDG_CONFIG_HOME, APPDATA, ...(configFile === undefined ? { OTEL_HOOKS_CONFIG } : {}) },
    home,
    platform,
    // Used only for the variable: the file of one project must not configure the state folder of all projects.
    cwd: from ?? home,
    project: false,
    file: configFile,
  });
  const { outcome } = await deliver({
    stateFolder: folder ?? stateFolder({ env, home, platform }),
    byHand: waitMs !== undefined,
    waitMs: waitMs ?? (parentPort === null ? lingerMs() : Number.POSITIVE_INFINITY),
    surroundings,
    fsync: config.fsync,
    keep: keepOf(config),
    self,
    ...(parentPort === null ? {} : { gatherMs: GATHER_MS, round: ROUND }),
    stop: stop.signal,
    staysForCommands: parentPort === null && waitMs === undefined,
    lock,
  });
  return process.exit(outcome === 'busy' ? 1 : 0);
}

/** Tests and demonstrations shorten the wait for more fragments. */
function lingerMs(): number {
  return durationMs(process.env.OTEL_HOOKS_LINGER ?? '') ?? LINGER_MS;
}

/** If the system has priorities for threads, senders get a higher one than delivery. */
function standBack(): void {
  try {
    setPriority(Number(/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self'))?.[1]), NICE);
  } catch {
    // Not Linux: both have the same priority.
  }
}
