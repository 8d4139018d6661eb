import { text } from '../../lib/read.ts';

/** Returns the Unix milliseconds of a text that holds a date and a time. */
export function timeOf(value: unknown): number | undefined {
  const atMs = Date.parse(text(value) ?? '');
  return Number.isNaN(atMs) ? undefined : atMs;
}
