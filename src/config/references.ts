/**
 * References in values: `${env:NAME}` and `${file:PATH}`. They are expanded only in texts that the user wrote or agreed
 * to: the global file, flags, and a project's file with consent. In another project's file they stay as they are, so
 * that a clone cannot send a private key as an attribute.
 */

/** Returns the text of a reference, or the reason why there is none. */
export type Lookup = (kind: 'env' | 'file', name: string) => { text: string } | { why: string };

const REFERENCE = /\$\{(env|file):([^}]*)\}/g;

/** Whether a value, or a part of it, contains a reference. */
export const hasReference = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.search(REFERENCE) >= 0
    : typeof value === 'object' && value !== null && Object.values(value).some(hasReference);

/** Returns the value with all references expanded, or the reason why one cannot be. */
export function expanded(value: unknown, lookup: Lookup): { value: unknown } | { why: string } {
  let why: string | undefined;
  const walk = (part: unknown): unknown => {
    if (typeof part === 'string') {
      // The result of an expansion is not expanded again.
      return part.replace(REFERENCE, (whole, kind: 'env' | 'file', name: string) => {
        const found = lookup(kind, name.trim());
        if ('text' in found) return found.text;
        why ??= `contains ${whole}, but ${found.why}`;
        return '';
      });
    }
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, walk(each)]));
  };
  const result = walk(value);
  return why === undefined ? { value: result } : { why };
}

/**
 * A project can set the variables of hooks, and hooks start deliveries. So an address may contain no variable:
 * otherwise a project could send the user's data, and the key in the same file, to a host of its own.
 */
export const withoutVariables =
  (lookup: Lookup): Lookup =>
  (kind, name) =>
    kind === 'env'
      ? { why: 'an address may not depend on a variable, because a project can set it' }
      : lookup(kind, name);
