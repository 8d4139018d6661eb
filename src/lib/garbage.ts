import { setFlagsFromString } from 'node:v8';

/**
 * V8's main thread waits for helper threads when it collects garbage. On a busy machine, this wait is more than half of
 * each pause, and the helpers use a tenth of the CPU time of a delivery. (Marking and sweeping stay concurrent: without
 * that, memory grows by some MB.)
 */
const ALONE = ['--no-parallel-scavenge', '--no-concurrent-array-buffer-sweeping'];

/**
 * V8 lets the old generation grow to several times of what is in use before it collects. A backlog of fragments then
 * takes 60 MB more, and no less CPU time.
 */
const SMALL = '--heap-growing-percent=100';

/** Makes this process collect garbage on its main thread only, and in time. V8 reads the flags at each collection. */
export function collectAlone(): void {
  for (const flag of [...ALONE, SMALL]) setFlagsFromString(flag);
}

/**
 * Stops the young generations of all threads from growing. A collection of a small one is short, and the memory that it
 * may fill stays small. V8 undoes this when it creates a thread, so each new thread must call it too.
 */
export function keepYoungSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Limits the garbage of the old generations of all threads to a part of their live values. V8 allows three times as much
 * garbage as live values where the machine has much memory. A limit for the whole memory would end a thread that needs
 * more than usual.
 */
export function limitGarbage(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/** Sets the size with which the young generations of further threads start. */
export function startYoungAt(semiSpaceMb: number): void {
  setFlagsFromString(`--min-semi-space-size=${semiSpaceMb}`);
}
