/**
 * A time of an envelope as RFC 3339 has it. ISO 8601 lets the colon and the minutes of a zone go and takes a comma
 * before the fraction as well; the T of the published pattern is a large one.
 */
import { isDateTime } from '../agent-hooks/schema.ts';

/** Undefined for what is no ISO 8601 time with a zone. */
export function zonedTime(time: string): string | undefined {
  const plain = time
    .replace(/^(.{19}),(?=\d)/, '$1.')
    .replace(/(T.*[+-]\d\d)(?::?(\d\d))?$/, (_, until: string, minutes = '00') => `${until}:${minutes}`);
  return time[10] === 'T' && isDateTime(plain) ? plain : undefined;
}
