/**
 * Converts the time of an envelope to RFC 3339. ISO 8601 also allows zones without colon or minutes, and a comma before
 * the fraction; the published pattern requires an uppercase T.
 */
import { isDateTime } from '../agent-hooks/schema.ts';

/** Returns undefined if the text is not an ISO 8601 time with a zone. */
export function zonedTime(time: string): string | undefined {
  const plain = time
    .replace(/^(.{19}),(?=\d)/, '$1.')
    .replace(/(T.*[+-]\d\d)(?::?(\d\d))?$/, (_, until: string, minutes = '00') => `${until}:${minutes}`);
  return time[10] === 'T' && isDateTime(plain) ? plain : undefined;
}
