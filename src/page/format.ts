/** Numbers and times as the page shows them. */

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** An unknown number is shown as a dash, because it is not zero. */
export function count(value: number | undefined): string {
  return value === undefined ? '–' : value.toLocaleString('en');
}

/** `1 response`, `2 responses`. */
export const counted = (value: number, name: string): string => `${count(value)} ${name}${value === 1 ? '' : 's'}`;

export function short(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value < 1_000) return String(value);
  return value < 999_500 ? `${digits(value / 1_000)}k` : `${digits(value / 1_000_000)}M`;
}

const digits = (value: number): string => (value < 10 ? value.toFixed(1) : String(Math.round(value)));

export const dollars = (value: number | undefined): string =>
  value === undefined ? '–' : `$${value.toFixed(value < 1 ? 4 : 2)}`;

const two = (value: number): string => String(value).padStart(2, '0');

/** The day in the time zone of the viewer. */
export function day(ms: number): string {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function clock(ms: number): string {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** The time of day; with the day, if it is not the day on which the session began. */
export const moment = (ms: number, firstMs: number): string =>
  day(ms) === day(firstMs) ? clock(ms) : `${day(ms)} ${clock(ms)}`;

export const minute = (ms: number): string => `${day(ms)} ${clock(ms).slice(0, 5)}`;

export const utc = (ms: number): string => new Date(ms).toISOString();
