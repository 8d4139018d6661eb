/** What a delivery repairs in the state folder before its first round. */
import type { Store } from '../store/store.ts';
import { finishErasures } from './erasure.ts';
import { noteCorrections } from './known-destinations.ts';
import type { DeliverOptions } from './options.ts';
import { reconciliation } from './reconciliation.ts';

/** Finishes what an earlier process left: erasures, counts after damage, corrected addresses. */
export function repair(store: Store, { configured = [] }: DeliverOptions, nowMs: number): void {
  finishErasures(store);
  const reconciled = reconciliation(store);
  if (reconciled !== undefined) store.commit(reconciled);
  noteCorrections(store, configured, nowMs);
}
