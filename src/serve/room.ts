/** Measures the backlog of the inbox and the free space of the disk, at intervals and independent of requests. */
import { accessSync, constants, statfsSync } from 'node:fs';
import { opendir } from 'node:fs/promises';

/** Beyond these limits, senders must wait: delivery has a backlog, or the disk is nearly full. */
const MOST_WAITING = 100_000;
const LEAST_FREE_BYTES = 32 * 1024 * 1024;

export class Room {
  readonly #stateFolder: string;
  readonly #inbox: string;
  /** The number of fragments in the inbox at the last count, at most MOST_WAITING. */
  waiting = 0;
  #freeBytes = Number.POSITIVE_INFINITY;
  #hasNew = true;
  #nextCountMs = 0;
  #isCounting = false;

  constructor(stateFolder: string) {
    this.#stateFolder = stateFolder;
    this.#inbox = `${stateFolder}/inbox`;
  }

  /** The reason why a new fragment has to wait. */
  whyFull(): string | undefined {
    if (this.waiting >= MOST_WAITING) return `${MOST_WAITING} hooks wait for delivery`;
    return this.#freeBytes < LEAST_FREE_BYTES ? 'the disk is nearly full' : undefined;
  }

  /** The reason why no fragment can be written, as a probe shows it. */
  whyUnusable(): string | undefined {
    try {
      accessSync(this.#inbox, constants.W_OK | constants.X_OK);
      return undefined;
    } catch (error) {
      return error instanceof Error && 'code' in error ? `inbox ${error.code}` : 'inbox';
    }
  }

  /** Records that a fragment was written since the last count. */
  noteNew(): void {
    this.#hasNew = true;
  }

  /** Counts again, unless the numbers cannot have changed, or the last count was slow and recent. */
  refresh(): void {
    if ((!this.#hasNew && this.waiting === 0) || this.#isCounting || performance.now() < this.#nextCountMs) return;
    this.#hasNew = false;
    this.#isCounting = true;
    this.#count()
      // The folder does not exist, so it has no fragments. The next fragment creates it.
      .catch(() => {
        this.waiting = 0;
      })
      .finally(() => {
        this.#isCounting = false;
      });
  }

  async #count(): Promise<void> {
    const startMs = performance.now();
    const { bavail, bsize } = statfsSync(this.#stateFolder);
    this.#freeBytes = bavail * bsize;
    let found = 0;
    for await (const _ of await opendir(this.#inbox, { bufferSize: 1_024 })) {
      found += 1;
      if (found >= MOST_WAITING) break;
    }
    this.waiting = found;
    // Counting a long list takes time: at most a twentieth of all time is spent on it.
    this.#nextCountMs = performance.now() + 20 * (performance.now() - startMs);
  }
}
