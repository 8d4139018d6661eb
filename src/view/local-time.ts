/** Formats times in the zone of the machine, with the offset to UTC so that the zone is visible. */
import { localDay } from '../lib/local-day.ts';

const two = (value: number): string => String(value).padStart(2, '0');

/** `+02:00`, the offset at that moment, with daylight saving time. */
function offsetAt(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** `2026-09-21 14:00 +02:00` */
export function localMinute(ms: number): string {
  const at = new Date(ms);
  return `${localDay(ms)} ${two(at.getHours())}:${two(at.getMinutes())} ${offsetAt(at)}`;
}

/** `2026-09-21 14:00:01 +02:00` */
export const localSecond = (ms: number): string => `${localDay(ms)} ${clock(new Date(ms))} ${offsetAt(new Date(ms))}`;

/** `14:00:01+02:00`: only the time of day. */
export const localTime = (ms: number): string => `${clock(new Date(ms))}${offsetAt(new Date(ms))}`;

const clock = (at: Date): string => [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
