/** Reads fields of values of unknown shape. */
type Fields = { readonly [key: string]: unknown };

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Returns a string that is not empty. */
export const word = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

export const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** Returns a count, which is never negative. */
export const count = (value: unknown): number | undefined => {
  const found = number(value);
  return found === undefined || found < 0 ? undefined : found;
};

/** Returns a whole number that is not negative, as standards define lengths and sums. */
export const whole = (value: number | undefined): number | undefined => {
  const found = count(value);
  return found === undefined ? undefined : Math.round(found);
};

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** Returns an own property of a table. Keys are often untrusted, and every object inherits a `constructor`. */
export const own = <T>(table: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** Sets a property under any key. A plain assignment to `__proto__` would not create a property. */
export function put<T>(table: Record<string, T>, key: string, value: T): void {
  Object.defineProperty(table, key, { value, enumerable: true, writable: true, configurable: true });
}
