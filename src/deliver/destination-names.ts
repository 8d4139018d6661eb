/**
 * Names of destinations for the command line: the name in the configuration, otherwise one of provider and address. A
 * name never contains a credential.
 */
import { basename } from 'node:path';
import type { Destination } from '../config/destinations.ts';

export type Nameable = Pick<Destination, 'id' | 'provider' | 'endpoint' | 'pinnedMs' | 'name'>;

/**
 * Returns a name for each id. If several destinations have one provider and one address (a former key and the present
 * one), the newest has the plain name, and the others have the beginning of their id as a suffix.
 */
export function namesOf(all: readonly Nameable[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const newestFirst = [...all].sort((a, b) => (b.pinnedMs ?? 0) - (a.pinnedMs ?? 0) || (a.id < b.id ? -1 : 1));
  for (const each of newestFirst) {
    const plain = plainName(each);
    names.set(each.id, taken.has(plain) ? `${plain}-${each.id.slice(0, 6)}` : plain);
    taken.add(plain);
  }
  return names;
}

function plainName({ provider, endpoint, name }: Nameable): string {
  if (name !== undefined) return name;
  if (provider === 'console') return provider;
  const place = URL.canParse(endpoint) ? new URL(endpoint).host : basename(endpoint);
  const plain = place.replace(/[^\w.:[\]-]+/g, '-').slice(0, 80);
  return [provider || 'unknown', plain].filter(part => part !== '').join('-');
}

/** Returns the destinations that a word names: by name or id, otherwise by address, otherwise by provider. */
export function destinationsNamed<T extends Nameable>(all: readonly T[], word: string): T[] {
  const names = namesOf(all);
  const tests: ((each: T) => boolean)[] = [
    ({ id }) => id === word || names.get(id) === word,
    ({ endpoint }) => endpoint === word || endpoint === `${word}/` || `${endpoint}/` === word,
    ({ provider }) => provider === word,
  ];
  for (const test of tests) {
    const found = all.filter(test);
    if (found.length > 0) return found;
  }
  return [];
}
