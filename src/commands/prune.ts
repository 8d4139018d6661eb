import { existsSync } from 'node:fs';
import { keepOf } from '../deliver/state-limits.ts';
import { documents } from '../documents/documents.ts';
import { changeOf } from '../store/document.ts';
import type { Excess } from '../store/limits.ts';
import type { Store } from '../store/store.ts';
import type { Io, Words } from './command.ts';
import { withOwnState } from './own-state.ts';
import { foldersOf } from './place.ts';
import { table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const { state, config } = foldersOf(words, io);
  const isJson = words.flags['--json'] !== undefined;
  const isEmptying = words.flags['--quarantine'] !== undefined;
  const isForgetting = words.flags['--problems'] !== undefined;
  if (!existsSync(state)) {
    printPruned(io, isJson, nothing);
    return 0;
  }
  const keep = keepOf(config.values);
  const pruned = await withOwnState({ state, config }, io, 'prune', store => {
    if (isForgetting) forgetProblems(store);
    return prune(store, keep.places, isEmptying);
  });
  if (pruned === undefined) return 1;
  printPruned(io, isJson, pruned);
  return 0;
}

function forgetProblems(store: Store): void {
  store.forgetHookProblems();
  while (store.commit({ documents: [changeOf(documents.problems, undefined)] }) !== 'committed');
}

interface Pruned {
  hooks: number;
  items: number;
  journals: number;
  quarantine: { files: number; sizeBytes: number };
}
const nothing: Pruned = { hooks: 0, items: 0, journals: 0, quarantine: { files: 0, sizeBytes: 0 } };

function prune(store: Store, places: Parameters<Store['within']>[0], isEmptying: boolean): Pruned {
  const before = store.books().quarantine;
  // The inbox is read, so that the number of fragments of later versions is known. No fragment is taken.
  while (store.take({ fragments: 1_000, bytes: 32 * 1024 * 1024 }).more);
  if (isEmptying) store.emptyQuarantine();
  const removed = { hooks: 0, items: 0, journals: 0 };
  for (;;) {
    const over = store.within(places);
    if (over !== undefined && store.commit(over.round) !== 'committed') continue;
    const counts = countsOf(over?.excess);
    removed.hooks += counts.hooks;
    removed.items += counts.items;
    removed.journals += counts.journals;
    if (!store.isListed() || counts.hooks + counts.items + counts.journals > 0) continue;
    // Counts of the quarantine that no other round committed.
    if (over === undefined && isEmptying && store.commit({}) !== 'committed') continue;
    const { files, sizeBytes } = store.books().quarantine;
    return { ...removed, quarantine: { files: before.files - files, sizeBytes: before.sizeBytes - sizeBytes } };
  }
}

const countsOf = (excess: Excess | undefined): Omit<Pruned, 'quarantine'> => ({
  hooks: excess?.fragments.length ?? 0,
  items: excess?.bodies.reduce((sum, { items }) => sum + items, 0) ?? 0,
  journals: excess?.journals.length ?? 0,
});

function printPruned(io: Io, isJson: boolean, { hooks, items, journals, quarantine }: Pruned): void {
  if (isJson) {
    io.out(`${JSON.stringify({ v: 1, removed: { hooks, items, journals, quarantine } }, null, 2)}\n`);
    return;
  }
  io.out(
    table([
      ['removed', ''],
      ['hooks of a later version', String(hooks)],
      ['items that waited', String(items)],
      ['journals', String(journals)],
      ['files in quarantine', `${quarantine.files} (${quarantine.sizeBytes} bytes)`],
    ]),
  );
}
