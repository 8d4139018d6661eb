/**
 * Loads a file that lies beside the program. Large parts are separate files, so that only commands that need them read
 * them.
 */
import { createRequire } from 'node:module';

/**
 * Returns the first file that exists: the files of commands lie one folder deeper than the program that hooks start.
 */
export function besideUs<T>(places: readonly string[]): T | undefined {
  const load = createRequire(import.meta.url);
  for (const place of places) {
    try {
      return load(place) as T;
    } catch {
      // Try the next place.
    }
  }
  return undefined;
}
