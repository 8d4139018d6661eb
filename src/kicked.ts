/**
 * The process that hooks start: dist/deliver.js, one file, loaded whole, so that an upgrade under it changes nothing. Within
 * `serve` it is a thread, which delivers until it is told to stop.
 * Nobody reads what it prints. Its own OTEL_* variables are those of whichever project's hook happened to start it, so
 * they count for nothing: every session brings its own.
 */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parentPort } from 'node:worker_threads';
import { loadConfig } from './config/files.ts';
import { homeOf, stateFolder } from './config/folders.ts';
import { deliver } from './deliver/deliver.ts';
import { keepOf } from './deliver/state-limits.ts';
import { durationMs } from './lib/duration.ts';
import { collectAlone } from './lib/garbage.ts';

const LINGER_MS = 30_000;
/** Within `serve`, where events may come by the thousand. */
const GATHER_MS = 250;

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { kicked: { type: 'boolean' }, wait: { type: 'string' }, 'state-dir': { type: 'string' } },
  strict: false,
});
const { env, platform } = process;
const home = homeOf(env);
/** Where the server was told to look; a hook that starts us speaks for its own sessions only. */
const configFile = parentPort === null ? undefined : env.OTEL_HOOKS_CONFIG;
const surroundings = { env, home, platform, ownVariables: false, configFile };
const named = values['state-dir'];
const waitMs = typeof values.wait === 'string' ? durationMs(values.wait) : undefined;
const stop = new AbortController();
if (parentPort === null) collectAlone();
else {
  parentPort.once('message', () => stop.abort());
  standBack();
}

try {
  // Where the file is counts; what it says is the user's, whichever hook started us.
  const { values: config } = loadConfig({
    env: { XDG_CONFIG_HOME: env.XDG_CONFIG_HOME, APPDATA: env.APPDATA },
    home,
    platform,
    cwd: home,
    file: env.OTEL_HOOKS_CONFIG,
  });
  const { outcome } = await deliver({
    stateFolder: typeof named === 'string' ? named : stateFolder({ env, home, platform }),
    // A hook with --flush waits for us: then we leave when all is sent.
    byHand: waitMs !== undefined,
    waitMs: waitMs ?? (parentPort === null ? lingerMs() : Number.POSITIVE_INFINITY),
    surroundings,
    fsync: config.fsync,
    keep: keepOf(config),
    self: fileURLToPath(import.meta.url),
    gatherMs: parentPort === null ? undefined : GATHER_MS,
    stop: stop.signal,
    staysForCommands: parentPort === null && waitMs === undefined,
  });
  process.exit(outcome === 'busy' ? 1 : 0);
} catch {
  // Nobody listens. What is wrong with the folder is wrong for `status` too, which says so.
  process.exit(1);
}

/** Tests and demonstrations shorten the wait for more. */
function lingerMs(): number {
  return durationMs(env.OTEL_HOOKS_LINGER ?? '') ?? LINGER_MS;
}

/** Where a thread has a priority of its own, senders come before delivery. */
function standBack(): void {
  try {
    setPriority(Number(/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self'))?.[1]), 5);
  } catch {
    // Not Linux: then both are equal.
  }
}
