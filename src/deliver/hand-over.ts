/** The end of a delivery: commands of projects, problems to report, and fragments that arrived at the last moment. */
import { noted } from '../documents/problem-notes.ts';
import { createDispatcher, type Dispatcher } from '../openhook/dispatch.ts';
import { recalled } from '../pipeline/rebuild.ts';
import type { Problem } from '../problems/problem.ts';
import { openStore, type Store } from '../store/store.ts';
import type { DeliverOptions } from './options.ts';
import type { Sender } from './sender.ts';

/** The time that commands of a project may still take after the time limit of a delivery by hand. */
const DISPATCH_GRACE_MS = 1_000;
/** The time for which a hand-over waits for them, because the commands of a session run in the order of its events. */
const DISPATCH_ORDER_MS = 3_000;

export const dispatcherOver = (
  store: Store,
  { surroundings, dispatchLimits }: DeliverOptions,
  now: () => number,
): Dispatcher =>
  createDispatcher(store, {
    ...surroundings,
    limits: dispatchLimits,
    recalled: key => recalled(store, key),
    noted: problems => noted(store, problems, now()),
  });

/** Returns true if commands continue during the next delivery, so that this process must not end yet. */
export async function endDispatch(
  dispatcher: Dispatcher,
  { dispatchLimits, staysForCommands, byHand }: DeliverOptions,
  isHandedOver: boolean,
): Promise<boolean> {
  const orderMs = dispatchLimits?.orderMs ?? DISPATCH_ORDER_MS;
  if (isHandedOver && staysForCommands === true) {
    await dispatcher.handOver(orderMs);
    return true;
  }
  const graceMs = byHand ? DISPATCH_GRACE_MS : 0;
  await dispatcher.stop(isHandedOver ? orderMs : graceMs);
  return false;
}

/** Problems of single answers count once. Problems of the last pass count until the next pass. */
export function problemsOf(store: Store, { incidents, passed }: Sender): Problem[] {
  const all = [...incidents, ...passed.problems];
  const problems = [...new Map(all.map(problem => [JSON.stringify(problem), problem])).values()];
  return store.canSettle()
    ? problems
    : [...problems, { code: 'state-unusable', folder: store.folder, error: 'ENOSPC' }];
}

/** Fragments that are still being written, and those of a later version, do not count. */
export function hasCompleteFragment(stateFolder: string): boolean {
  const store = openStore({ folder: stateFolder, access: 'read' });
  try {
    return store.take({ fragments: 1_000, bytes: 0 }).fragments.length > 0;
  } finally {
    store.close();
  }
}
