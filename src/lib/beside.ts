/** What is too large to be read by who does not need it lies beside the program, in a file of its own. */
import { createRequire } from 'node:module';

/** The first of these that is there: the commands lie one folder deeper than the program that hooks start. */
export function besideUs<T>(places: readonly string[]): T | undefined {
  const load = createRequire(import.meta.url);
  for (const place of places) {
    try {
      return load(place) as T;
    } catch {
      // At the next place.
    }
  }
  return undefined;
}
