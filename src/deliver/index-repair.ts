/** Repairs the index of sessions while a delivery has no other work. */
import { documents } from '../documents/documents.ts';
import { isDiskError } from '../lib/disk-error.ts';
import { indexRepair } from '../pipeline/index-round.ts';
import type { Store } from '../store/store.ts';

/** No day has this number. */
const NEVER = -1;

/**
 * The repair reads the sizes of all journals, which takes longer than a short delivery. So it happens once in a day on
 * which delivery runs, and when a shard of the index is missing or of another version.
 */
export class IndexRepair {
  private readonly store: Store;
  private doneOn: number | undefined;

  constructor(store: Store) {
    this.store = store;
    this.doneOn = isRead(store) ? dayOf(store) : NEVER;
  }

  /** Repairs as much as one round may. On a full disk, the next day continues. */
  pass(): void {
    const { store } = this;
    if (this.doneOn === dayOf(store)) return;
    const { epoch } = store;
    const changes = indexRepair(store);
    try {
      if (changes !== undefined) store.commit({ epoch, documents: changes });
    } catch (error) {
      if (!isDiskError(error)) throw error;
      this.doneOn = dayOf(store);
    }
    if (changes === undefined) this.doneOn = dayOf(store);
  }
}

/** The repair goes through the shards in order, so the last one shows whether an earlier delivery reached the end. */
function isRead(store: Store): boolean {
  const last = store.idsOf(documents.index).at(-1);
  return last !== undefined && store.read(documents.index.of(last)) !== undefined;
}

/** The round in which the present day of the calendar began. */
const dayOf = (store: Store): number | undefined => store.read(documents.calendar)?.at(-1)?.[0];
