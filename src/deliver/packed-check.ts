/**
 * Finds packed journals whose bytes changed on the disk, while a delivery has no other work. Commands that read a
 * journal cannot count the loss, because they change no file.
 */
import { documents } from '../documents/documents.ts';
import { isDiskError } from '../lib/disk-error.ts';
import type { Store } from '../store/store.ts';

/** One pass takes about a tenth of the time between two passes. */
const LONGEST_MS = 20;

/** The delivery in which a day begins checks the journals. If it ends before, the next day begins at another journal. */
export class PackedCheck {
  private readonly store: Store;
  private readonly beganOn: number | undefined;
  private left: string[] | undefined;

  constructor(store: Store) {
    this.store = store;
    this.beganOn = dayOf(store);
  }

  pass(): void {
    const { store } = this;
    if (this.left?.length === 0 || dayOf(store) === this.beganOn) return;
    this.left ??= fromSomeOn(store.packed());
    if (this.left === undefined || this.left.length === 0) return;
    const untilMs = performance.now() + LONGEST_MS;
    while (this.left.length > 0 && performance.now() < untilMs) store.journalHead(this.left.pop() ?? '', 1);
    if (this.left.length > 0) return;
    try {
      // A round counts the damaged ones and sets them aside.
      store.commit({});
    } catch (error) {
      if (!isDiskError(error)) throw error;
    }
  }
}

function fromSomeOn(keys: readonly string[] | undefined): string[] | undefined {
  if (keys === undefined) return undefined;
  const at = Math.floor(Math.random() * keys.length);
  return [...keys.slice(at), ...keys.slice(0, at)];
}

/** The round in which the present day of the calendar began. */
const dayOf = (store: Store): number | undefined => store.read(documents.calendar)?.at(-1)?.[0];
