/**
 * Timestamps of events (RFC 3339, UTC, milliseconds). Each event's time is written once and read in several places, one
 * directly after the other, so the last second and the last timestamp are kept. A cache by value: no result depends
 * on it.
 */
let second = Number.NaN;
let upToSecond = '';
let lastText = '';
let lastMs = Number.NaN;

/** The latest time that a Date can hold. */
const LATEST_MS = 8_640_000_000_000_000;

/** Returns the same text as `Date.toISOString`. */
export function timestampOf(ms: number): string {
  const whole = Math.trunc(ms);
  const inSecond = Math.floor(whole / 1_000);
  if (Math.abs(whole) > LATEST_MS) throw new RangeError('Invalid time value');
  if (inSecond !== second) {
    upToSecond = new Date(inSecond * 1_000).toISOString().slice(0, -4);
    second = inSecond;
  }
  const millis = whole - inSecond * 1_000;
  const text = `${upToSecond}${millis < 10 ? '00' : millis < 100 ? '0' : ''}${millis}Z`;
  lastText = text;
  lastMs = whole;
  return text;
}

/** Returns the same number as `Date.parse`: NaN if the text is not a time. */
export function msOf(timestamp: string): number {
  if (timestamp === lastText) return lastMs;
  lastMs = Date.parse(timestamp);
  lastText = timestamp;
  return lastMs;
}
