/**
 * The program that hooks and `serve` start: dist/deliver.js.
 *
 * It takes the lock before it loads the program that delivers, because loading costs more than starting Node. So a
 * process that does not get the lock ends early, and hooks see a live owner early (hook/kick.ts).
 *
 * The program is one file whose name contains a hash of its contents. An upgrade in this moment cannot mix two
 * versions: either that file is still there or this process ends, and the next hook starts the new version.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { durationMs } from './lib/duration.ts';
import { VERSION } from './lib/version.ts';
import { takeLock } from './store/lock.ts';

/**
 * A burst of hooks has started this process, and the other hooks of the burst need the processor now. They see the
 * lock, and their fragments of this time become one round.
 */
const GATHER_MS = 150;

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    kicked: { type: 'boolean' },
    'for-server': { type: 'string' },
    wait: { type: 'string' },
    'state-dir': { type: 'string' },
    from: { type: 'string' },
  },
  strict: false,
});
const folder = typeof values['state-dir'] === 'string' ? values['state-dir'] : undefined;
const from = typeof values.from === 'string' ? values.from : undefined;
/** The pid of the server that started this process. */
const server = typeof values['for-server'] === 'string' ? Number(values['for-server']) : undefined;
const waitMs = typeof values.wait === 'string' ? durationMs(values.wait) : undefined;

try {
  const byHand = waitMs !== undefined;
  const startMs = performance.now();
  const lock =
    folder === undefined
      ? undefined
      : await takeLock({ folder, version: VERSION, byHand, waitMs: waitMs ?? 0, server });
  if (folder !== undefined && lock === undefined) process.exit(1);
  try {
    if (!byHand && server === undefined) await pause(GATHER_MS);
    const { deliverKicked } = await import('./deliver/kicked-program.ts');
    const leftMs = waitMs === undefined ? undefined : Math.max(0, waitMs - (performance.now() - startMs));
    await deliverKicked({
      folder,
      waitMs: leftMs,
      self: fileURLToPath(import.meta.url),
      lock,
      from,
      forServer: server !== undefined,
    });
  } finally {
    lock?.release();
  }
} catch {
  // This process has no reader. `status` reports a state folder that is refused.
  process.exit(1);
}
