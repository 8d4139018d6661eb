import { setFlagsFromString } from 'node:v8';

/**
 * V8's thread waits for helpers when it collects garbage: where every core is busy, that wait is more than half of a
 * pause, and the helpers' time is a tenth of a delivery's. (Marking and sweeping stay beside the work: without that,
 * memory grows by some MB.)
 */
const SHARED = ['--no-parallel-scavenge', '--no-concurrent-array-buffer-sweeping'];

/**
 * From now on this process collects its garbage in pauses of its own thread alone. V8 looks at both at each collection.
 */
export function collectAlone(): void {
  for (const flag of SHARED) setFlagsFromString(flag);
}
