import { setFlagsFromString } from 'node:v8';

/**
 * Who collects garbage. V8 shares it with helpers that its thread waits for: where every core is busy, that wait is most of a
 * pause, and the helpers' own time is lost to whoever else works on the machine.
 */
const SHARED_PAUSES = ['--no-parallel-scavenge', '--no-concurrent-array-buffer-sweeping'];
/** What is done beside the work makes pauses shorter, and in all takes longer. */
const BESIDE = ['--no-concurrent-sweeping', '--no-concurrent-marking'];

/** Pauses are for its own thread alone: for one that somebody waits for. */
export function collectAlone(): void {
  for (const flag of SHARED_PAUSES) setFlagsFromString(flag);
}

/** No other thread helps at all: for one that nobody waits for, and that is to take as little as it can. V8 looks at these at each collection. */
export function collectWithoutHelp(): void {
  for (const flag of [...SHARED_PAUSES, ...BESIDE]) setFlagsFromString(flag);
}
