import { setFlagsFromString } from 'node:v8';

/**
 * V8's main thread waits for helper threads when it collects garbage. On a busy machine, this wait is more than half of
 * each pause, and the helpers use a tenth of the CPU time of a delivery. Marking and sweeping stay concurrent:
 * otherwise the memory of a delivery grows by some MB.
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
 * Makes this process mark the old generation on its main thread. While both processors are busy, the helper threads that
 * V8 uses for this take the time of the main thread.
 */
export function markAlone(): void {
  setFlagsFromString('--no-concurrent-marking');
}

/**
 * Stops the young generation of this process from growing. A collection of a small one is short, and the memory that it
 * may fill stays small.
 */
export function keepYoungSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** A server and its delivery run for months beside other programs, so they trade time for memory. */
const SERVER_GARBAGE = '--heap-growing-percent=40';

/**
 * Limits the garbage of the old generation of this process to a part of its live values. V8 allows three times as much
 * garbage as live values where the machine has much memory. A limit for the whole memory would end a process that needs
 * more than usual.
 */
export function limitGarbage(): void {
  setFlagsFromString(SERVER_GARBAGE);
}

/** Turns off V8's second compiler that optimizes, which Node 22 and later use. A server needs 15 MB less without it. */
export function compileWithOneOptimizer(): void {
  setFlagsFromString('--no-maglev');
}
