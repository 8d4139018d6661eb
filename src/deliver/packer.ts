/**
 * Packs the journals of sessions that are over, while a delivery has no other work. The compression runs in threads of
 * Node, so that no round waits for it; the result becomes part of a round of its own.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isDiskError } from '../lib/disk-error.ts';
import type { PackedJournal, Store } from '../store/store.ts';

const compress = promisify(gzip);

/** The bytes and the number of journals that are packed at once. A larger journal is packed alone. */
const BATCH_BYTES = 2 * 1024 * 1024;
const BATCH_FILES = 100;

export class Packer {
  private readonly store: Store;
  private waiting: { key: string; plainBytes: number }[] | undefined;
  private isPacking = false;
  private packed: PackedJournal[] = [];

  constructor(store: Store) {
    this.store = store;
  }

  /** Commits the journals that are packed, and begins with the next ones. */
  pass(): void {
    if (this.isPacking) return;
    const { packed } = this;
    this.packed = [];
    try {
      if (packed.length > 0) this.store.commit({ packed });
    } catch (error) {
      // A full disk has no room for the packed form beside the plain one. The journals stay as they are.
      if (!isDiskError(error)) throw error;
      this.waiting = [];
    }
    this.waiting ??= this.store.packable();
    const batch = this.nextBatch();
    if (batch.length > 0) void this.pack(batch);
  }

  private nextBatch(): string[] {
    const keys: string[] = [];
    for (let bytes = 0; this.waiting?.[0] !== undefined && keys.length < BATCH_FILES; ) {
      bytes += this.waiting[0].plainBytes;
      if (keys.length > 0 && bytes > BATCH_BYTES) break;
      keys.push(this.waiting[0].key);
      this.waiting.shift();
    }
    return keys;
  }

  private async pack(keys: readonly string[]): Promise<void> {
    this.isPacking = true;
    try {
      this.packed = await Promise.all(
        keys.map(async key => {
          const text = Buffer.from(this.store.journal(key) ?? '');
          return { key, bytes: await compress(text, { level: 9 }), textBytes: text.length };
        }),
      );
    } catch {
      // The journal stays as it is, and the next delivery tries again.
    }
    this.isPacking = false;
  }
}
