/** Words for values in findings: short, and safe for a terminal. */
import type { core } from 'zod';
import type { Path } from '../lib/json-position.ts';

export type Values = { readonly [key: string]: unknown };
export type Issue = core.$ZodIssue;

export const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const pathOf = (issue: Issue): (string | number)[] =>
  issue.path.map(part => (typeof part === 'number' ? part : String(part)));

export function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as { [key: string | number]: unknown })[key];
  }
  return at;
}

/** Returns the value that a schema expects; custom checks put it into `params.wants`. */
export function wanted(issue: Issue): string {
  const expected =
    issue.code === 'invalid_type' ? issue.expected : issue.code === 'custom' ? issue.params?.wants : undefined;
  return article(typeof expected === 'string' ? expected : 'the value that the schema requires');
}

/** For values that are neither missing nor from a list. */
export function mistyped(issue: Issue, field: string, actual: unknown): string {
  if (issue.code === 'too_small') return `${field} is ${actual === '' ? 'empty' : shown(actual)}`;
  return `${field} is ${kindOf(actual)}, not ${wanted(issue)}`;
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number')
    return Number.isInteger(value) ? 'an integer' : Number.isFinite(value) ? 'a number' : 'a number too large';
  return article(Array.isArray(value) ? 'array' : typeof value);
}

function article(noun: string): string {
  return /^(what|null)/.test(noun) ? noun : `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

export function notOneOf(actual: unknown, words: readonly unknown[]): string {
  return `${shown(actual)} is not one of ${words.join(', ')}`;
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${plain(value, 60)}'`;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value);
}

const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

export function plain(value: string, max: number): string {
  const cut = value.length > max ? `${value.slice(0, max)}…` : value;
  return cut.replace(UNPRINTABLE, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
