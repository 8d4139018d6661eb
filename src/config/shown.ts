/** Values in the form that commands and problems show: without secrets. */
import type { Config } from './config.ts';
import { shownTables } from './named-destinations.ts';
import { parsePairs } from './pairs.ts';
import { factsOf, isAddress, type Key } from './schema.ts';

/** Returns the value of a key as the user wrote it: a reference in it may stand for a secret. */
export const writtenValue = ({ values, written }: Pick<Config, 'values' | 'written'>, key: Key): unknown =>
  written[key] ?? values[key];

/** Returns a value in the form that `config` shows. */
export function shownValue(key: Key, value: unknown): string {
  if (value === undefined) return 'not set';
  if (key === 'destinations') return JSON.stringify(shownTables(value, shownValue));
  if (factsOf(key).secret) {
    const pairs = typeof value === 'string' ? parsePairs(value) : value;
    if (factsOf(key).text !== 'pairs') return masked(String(value));
    const names = typeof pairs === 'object' && pairs !== null ? Object.keys(pairs) : [];
    return names.map(name => `${name}=***`).join(',');
  }
  if (isAddress(key) && typeof value === 'string') return shownEndpoint(value);
  if (typeof value === 'string') return value;
  return JSON.stringify(value);
}

/** Returns the same for programs: a number stays a number, and a list stays a list. */
export function shownJson(key: Key, value: unknown): unknown {
  if (key === 'destinations') return shownTables(value, shownValue);
  return typeof value === 'string' || factsOf(key).secret ? shownValue(key, value) : value;
}

/**
 * The last characters distinguish long keys. A short secret shows nothing, because each character makes it easier to
 * guess.
 */
const masked = (text: string): string => (text.length < SHORTEST_SHOWN ? '***' : `***${text.slice(-4)}`);
const SHORTEST_SHOWN = 24;

/** Without user name, password, query and fragment: all of them may hold keys. */
export function shownEndpoint(endpoint: string): string {
  if (!URL.canParse(endpoint)) return endpoint;
  const { protocol, host, pathname } = new URL(endpoint);
  // A path of Windows would be read as an address with the scheme `c:`.
  return host === '' ? endpoint : `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}
