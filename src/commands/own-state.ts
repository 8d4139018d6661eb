/** Commands that change the state folder hold the lock of deliveries. */
import { keepOf } from '../deliver/state-limits.ts';
import { VERSION } from '../lib/version.ts';
import { takeLock } from '../store/lock.ts';
import { openStore, type Store } from '../store/store.ts';
import { type Io, NoTerminal, type Words } from './command.ts';
import type { Folders } from './place.ts';

const WAIT_MS = 10_000;

/** Returns undefined and prints a message if another process has the lock and does not release it. */
export async function withOwnState<T>(
  { state, config }: Pick<Folders, 'state' | 'config'>,
  io: Io,
  command: string,
  work: (store: Store) => T | Promise<T>,
): Promise<T | undefined> {
  const lock = await takeLock({ folder: state, version: VERSION, byHand: true, waitMs: WAIT_MS });
  if (lock === undefined) {
    io.err(
      `otel-hooks: a delivery is at work and did not hand over in time; nothing was changed.\n  next: otel-hooks ${command}\n`,
    );
    return undefined;
  }
  const { quarantine } = keepOf(config.values);
  const store = openStore({ folder: state, access: 'own', fsync: config.values.fsync, quarantine });
  try {
    return await work(store);
  } finally {
    store.close();
    lock.release();
  }
}

/** Asks before a change that was shown. `--yes` answers the question. */
export async function isAgreed(words: Words, io: Io, question: string): Promise<boolean> {
  if (words.flags['--yes'] !== undefined) return true;
  if (!io.isTerminal || words.flags['--json'] !== undefined) throw new NoTerminal('--yes');
  const answer = await io.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  io.out('Nothing was changed.\n');
  return false;
}
