/** Measures the backlog of the inbox and the free space of the disk, at intervals and independent of requests. */
import { accessSync, constants, lstatSync, statfsSync } from 'node:fs';
import { opendir } from 'node:fs/promises';

/** Beyond these limits, senders must wait: delivery has a backlog, or the disk is nearly full. */
export interface RoomLimits {
  fragments: number;
  bytes: number;
}
const MOST_WAITING: RoomLimits = { fragments: 200_000, bytes: 4 * 1024 ** 3 };
const LEAST_FREE_BYTES = 32 * 1024 * 1024;
/** Node passes on this many names in one go, and answers no request meanwhile. */
const NAMES_AT_ONCE = 128;
/** The number of fragments from whose sizes the size of all is estimated. */
const SAMPLE = 256;

export class Room {
  readonly #stateFolder: string;
  readonly #inbox: string;
  readonly #most: RoomLimits;
  /** The number of fragments in the inbox at the last count, at most the limit, and their size. */
  waiting = 0;
  waitingBytes = 0;
  #freeBytes = Number.POSITIVE_INFINITY;
  #hasNew = true;
  #nextCountMs = 0;
  #isCounting = false;

  constructor(stateFolder: string, most: Partial<RoomLimits> = {}) {
    this.#stateFolder = stateFolder;
    this.#most = { ...MOST_WAITING, ...most };
    this.#inbox = `${stateFolder}/inbox`;
  }

  /** The reason why a new fragment has to wait. */
  whyFull(): string | undefined {
    const { fragments, bytes } = this.#most;
    if (this.waiting >= fragments) return `${fragments} hooks wait for delivery`;
    if (this.waitingBytes >= bytes) return `${Math.round(bytes / 1024 ** 2)} MB wait for delivery`;
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
        this.waitingBytes = 0;
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
    let every = 1;
    let sample: string[] = [];
    for await (const { name } of await opendir(this.#inbox, { bufferSize: NAMES_AT_ONCE })) {
      if (found % every === 0) sample.push(name);
      if (sample.length > SAMPLE) {
        sample = sample.filter((_, i) => i % 2 === 0);
        every *= 2;
      }
      found += 1;
      if (found >= this.#most.fragments) break;
    }
    this.waiting = found;
    this.waitingBytes = this.#meanBytes(sample) * found;
    // Counting a long list takes time: at most a twentieth of all time is spent on it.
    this.#nextCountMs = performance.now() + 20 * (performance.now() - startMs);
  }

  /** The mean size of these fragments, without those that were delivered meanwhile. */
  #meanBytes(names: readonly string[]): number {
    const sizes = names.flatMap(name => {
      const stats = lstatSync(`${this.#inbox}/${name}`, { throwIfNoEntry: false });
      return stats === undefined ? [] : [stats.size];
    });
    return sizes.length === 0 ? 0 : sizes.reduce((all, each) => all + each, 0) / sizes.length;
  }
}
