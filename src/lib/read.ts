/** Reading fields of values whose shape nobody promised. */
type Fields = { readonly [key: string]: unknown };

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A string that says something; the empty one does not. */
export const word = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

export const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** A number of things, of which there are never less than none. */
export const count = (value: unknown): number | undefined => {
  const counted = number(value);
  return counted === undefined || counted < 0 ? undefined : counted;
};

/** A length or a sum as standards have it: whole, and never below none. */
export const whole = (value: number | undefined): number | undefined => {
  const counted = count(value);
  return counted === undefined ? undefined : Math.round(counted);
};

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** What a table itself holds. Keys are often strangers' words, and every object has a `constructor`. */
export const own = <T>(table: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** An entry under any key: assigned, `__proto__` would be no entry. */
export function put<T>(table: Record<string, T>, key: string, value: T): void {
  Object.defineProperty(table, key, { value, enumerable: true, writable: true, configurable: true });
}
