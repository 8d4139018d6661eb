/**
 * Delivery in the process that hooks or `serve` start. kicked.ts loads it, and passes the lock if it has it.
 *
 * Its output is not read. Its OTEL_* variables come from the project whose hook started it, so they are ignored: every
 * session has its own.
 */
import { getPriority, setPriority } from 'node:os';
import { loadConfig } from '../config/files.ts';
import { homeOf, stateFolder } from '../config/folders.ts';
import { compileBriefly } from '../lib/compile.ts';
import { durationMs } from '../lib/duration.ts';
import { collectAlone, limitGarbage } from '../lib/garbage.ts';
import type { Lock } from '../store/lock.ts';
import { deliver } from './deliver.ts';
import { keepOf } from './state-limits.ts';

const LINGER_MS = 30_000;
/** For `serve`, which may receive thousands of events. */
const GATHER_MS = 250;
/** A round holds its events several times, as text, values and bodies, and `serve` has a limit for its memory. */
const ROUND = { fragments: 2_000, bytes: 2 * 1024 * 1024 };
/**
 * Answers come first. In a group of processes that wants more than there is, one with this value gets a tenth of the time
 * of one with 0.
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
  /** `serve` started this process. It ends with the server. */
  forServer: boolean;
}

/** Ends the process. */
export async function deliverKicked({ folder, waitMs, self, lock, from, forServer }: Kicked): Promise<never> {
  compileBriefly();
  const { env, platform } = process;
  const home = homeOf(env);
  /** `serve` names the configuration file. The variable of a hook counts for that hook's sessions only. */
  const configFile = forServer ? env.OTEL_HOOKS_CONFIG : undefined;
  const surroundings = { env, home, platform, ownVariables: false, configFile };
  const stop = new AbortController();
  if (forServer) standBesideServer(stop);
  else collectAlone();
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
    waitMs: waitMs ?? (forServer ? Number.POSITIVE_INFINITY : lingerMs()),
    surroundings,
    fsync: config.fsync,
    keep: keepOf(config),
    self,
    ...(forServer ? { gatherMs: GATHER_MS, round: ROUND } : {}),
    stop: stop.signal,
    staysForCommands: !forServer && waitMs === undefined,
    lock,
  });
  return process.exit(outcome === 'busy' ? 1 : 0);
}

/** Tests and demonstrations shorten the wait for more fragments. */
function lingerMs(): number {
  return durationMs(process.env.OTEL_HOOKS_LINGER ?? '') ?? LINGER_MS;
}

/** Gives the server precedence, and ends at the next pause when the server stops or was killed. */
function standBesideServer(stop: AbortController): void {
  const end = (): void => stop.abort();
  process.once('disconnect', end);
  if (!process.connected) end();
  // Ctrl-C and service managers send their signal to the server and to this process.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  limitGarbage();
  try {
    // A server that was started with a lower priority has passed it on, and only root may raise it.
    if (getPriority() < NICE) setPriority(NICE);
  } catch {
    // A sandbox forbids it: both have the same priority.
  }
}
