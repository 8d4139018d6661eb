import type { Memory } from '../contract/contract.ts';

/** The stored form of a memory: for each kind, its entries by age. */
export type Remembered = { [kind: string]: Entry[] };
type Entry = [key: string, value: string];

const MOST_ENTRIES = 256;
const MOST_CHARACTERS = 1_024;

/**
 * The entries of a list by key. Module state, because rows look up keys often and a memory over the same list is
 * created for each row; an index lives as long as its list and never changes a result.
 */
const indices = new WeakMap<Entry[], Map<string, Entry>>();

function indexOf(list: Entry[]): Map<string, Entry> {
  const known = indices.get(list);
  if (known !== undefined) return known;
  const index = new Map(list.map(entry => [entry[0], entry]));
  indices.set(list, index);
  return index;
}

/** Returns a memory over plain data, which it changes in place. */
export function memoryOver(remembered: Remembered, hash: (content: string) => string): Memory {
  const take = (list: Entry[], key: string): Entry | undefined => {
    const index = indexOf(list);
    const entry = index.get(key);
    if (entry === undefined) return undefined;
    index.delete(key);
    list.splice(list.lastIndexOf(entry), 1);
    return entry;
  };
  return {
    likeness: content => hash(content),
    recall(kind, key) {
      const list = remembered[kind];
      return list === undefined ? undefined : indexOf(list).get(key)?.[1];
    },
    remember(kind, key, value) {
      if (key.length > MOST_CHARACTERS || value.length > MOST_CHARACTERS) return;
      remembered[kind] ??= [];
      const list = remembered[kind];
      const newest = list.at(-1);
      if (newest?.[0] === key) {
        newest[1] = value;
        return;
      }
      const entry = take(list, key) ?? [key, value];
      entry[1] = value;
      list.push(entry);
      indexOf(list).set(key, entry);
      const oldest = list.length > MOST_ENTRIES ? list.shift() : undefined;
      if (oldest !== undefined) indexOf(list).delete(oldest[0]);
    },
    forget(kind, key) {
      const list = remembered[kind];
      if (list !== undefined) take(list, key);
    },
    list: kind => (remembered[kind] ?? []).map(([key, value]) => [key, value]),
  };
}
