import type { Memory } from './contract.ts';

/** What a session's state keeps of it: kind, then entries in order of age. */
export type Remembered = { [kind: string]: [key: string, value: string][] };

const MOST_ENTRIES = 256;
const MOST_CHARACTERS = 512;

/** A memory over plain data, which it changes in place. */
export function memoryOver(remembered: Remembered, hash: (content: string) => string): Memory {
  const entries = (kind: string): [string, string][] => {
    remembered[kind] ??= [];
    return remembered[kind];
  };
  const forget = (kind: string, key: string): void => {
    const at = entries(kind).findIndex(([known]) => known === key);
    if (at >= 0) entries(kind).splice(at, 1);
  };
  return {
    likeness: content => hash(content),
    recall: (kind, key) => remembered[kind]?.find(([known]) => known === key)?.[1],
    remember(kind, key, value) {
      if (key.length > MOST_CHARACTERS || value.length > MOST_CHARACTERS) return;
      const newest = entries(kind).at(-1);
      if (newest?.[0] === key) {
        newest[1] = value;
        return;
      }
      forget(kind, key);
      entries(kind).push([key, value]);
      if (entries(kind).length > MOST_ENTRIES) entries(kind).shift();
    },
    forget,
    list: kind => [...(remembered[kind] ?? [])],
  };
}
