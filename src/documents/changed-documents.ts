/**
 * The documents that a round changes, over the documents of the store.
 *
 * A value that `read` of the store returns is shared by all callers and frozen. So a round that fails or is lost has
 * changed nothing: it changed copies, and the copies are dropped with it.
 */
import { changeOf, type Document, type DocumentChange } from '../store/document.ts';
import type { Store } from '../store/store.ts';

export class ChangedDocuments {
  private readonly store: Pick<Store, 'read'>;
  private readonly changed = new Map<string, { value: unknown; change: DocumentChange }>();

  constructor(store: Pick<Store, 'read'>) {
    this.store = store;
  }

  read<T>(document: Document<T>): T | undefined {
    const known = this.changed.get(document.name);
    return known === undefined ? this.store.read(document) : (known.value as T | undefined);
  }

  /** A value that the round may change in place. `write` makes it part of the round. */
  own<T>(document: Document<T>): T | undefined {
    return this.changed.has(document.name) ? this.read(document) : structuredClone(this.store.read(document));
  }

  /** An undefined value removes the document. */
  write<T>(document: Document<T>, value: T | undefined): void {
    this.changed.set(document.name, { value, change: changeOf(document, value) });
  }

  changes(): DocumentChange[] {
    return [...this.changed.values()].map(({ change }) => change);
  }
}
