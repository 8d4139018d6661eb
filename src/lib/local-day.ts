const two = (value: number): string => String(value).padStart(2, '0');

/** `2026-09-21`, in the zone of the machine. */
export function localDay(ms: number): string {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Returns the first moment of the day. */
export function midnightBefore(ms: number): number {
  const at = new Date(ms);
  return new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
}
