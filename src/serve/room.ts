/** How much the inbox and the disk hold. Both are measured now and then, and beside the requests. */
import { accessSync, constants, statfsSync } from 'node:fs';
import { opendir } from 'node:fs/promises';

/** Above these limits senders must wait: delivery is behind, or the disk is nearly full. */
const MOST_WAITING = 100_000;
const LEAST_FREE_BYTES = 32 * 1024 * 1024;

export class Room {
  readonly #stateFolder: string;
  readonly #inbox: string;
  /** Fragments in the inbox when it was last counted, at most MOST_WAITING. */
  waiting = 0;
  #freeBytes = Number.POSITIVE_INFINITY;
  #hasNew = true;
  #nextCountMs = 0;
  #isCounting = false;

  constructor(stateFolder: string) {
    this.#stateFolder = stateFolder;
    this.#inbox = `${stateFolder}/inbox`;
  }

  /** Why a new fragment has to wait. */
  whyFull(): string | undefined {
    if (this.waiting >= MOST_WAITING) return `${MOST_WAITING} hooks wait for delivery`;
    return this.#freeBytes < LEAST_FREE_BYTES ? 'the disk is nearly full' : undefined;
  }

  /** Why no fragment can be written at all, in the words that a probe shows. */
  whyUnusable(): string | undefined {
    try {
      accessSync(this.#inbox, constants.W_OK | constants.X_OK);
      return undefined;
    } catch (error) {
      return error instanceof Error && 'code' in error ? `inbox ${error.code}` : 'inbox';
    }
  }

  /** A fragment was written since the last count. */
  noteNew(): void {
    this.#hasNew = true;
  }

  /** Counts, unless nothing can have changed or the last count was long and recent. */
  refresh(): void {
    if ((!this.#hasNew && this.waiting === 0) || this.#isCounting || performance.now() < this.#nextCountMs) return;
    this.#hasNew = false;
    this.#isCounting = true;
    this.#count()
      // A folder that does not exist holds nothing; the next fragment makes it.
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
