/**
 * Cuts untrusted values to a size: to a number of bytes as JSON text, and to a depth and number of fields that back
 * ends accept. Numbers and halves of characters that cannot be encoded are replaced.
 */

export interface Frame {
  bytes: number;
  /** The most leaves, in all objects and lists together. */
  leaves?: number;
  /**
   * Replaces each text and each name before the value is cut. `name` is the name of the text's field. For a text after
   * a command-line option it is the option, and for a `value` beside a `name` or `key` it is their value.
   */
  text?: (text: string, name?: string) => string;
}

const DEEPEST = 8;
const MOST_LEAVES = 256;
const LONGEST_NAME = 128;
/** The longest text in each try; the first try that fits is used. */
const LENGTHS = [Number.POSITIVE_INFINITY, 16_384, 4_096, 1_024, 256, 64, 16];

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Returns the value cut to the frame; undefined if no part of it fits. */
export function fitted(value: unknown, { bytes, leaves = MOST_LEAVES, text = plain }: Frame): Json | undefined {
  const whole = copied(value, { leavesLeft: leaves, text }, 0);
  for (const length of LENGTHS) {
    const cut = length >= bytes ? whole : shortened(whole, length);
    if (sizeOf(cut) <= bytes) return cut;
    if (typeof whole === 'string') return fittedText(whole, bytes);
  }
  return undefined;
}

/**
 * Cuts a text to a number of characters without splitting a surrogate pair. A text that was cut ends in an ellipsis.
 */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = length < 1 ? 0 : isHigh(text.charCodeAt(length - 2)) ? length - 2 : length - 1;
  return length < 1 ? '' : `${text.slice(0, end)}…`;
}

/** Replaces lone surrogates, which UTF-8 cannot encode. */
export const wellFormed = (text: string): string =>
  SURROGATE.test(text) ? text.replace(LONE_SURROGATES, '\uFFFD') : text;

const SURROGATE = /[\uD800-\uDFFF]/;
const LONE_SURROGATES = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
const sizeOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
const plain = (text: string): string => text;

function fittedText(text: string, bytes: number): string {
  let low = 0;
  let high = Math.min(text.length, bytes);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(cutText(text, middle)) <= bytes) low = middle;
    else high = middle - 1;
  }
  return cutText(text, low);
}

/** What a copy may still hold, and how its texts change. */
interface Copying {
  leavesLeft: number;
  text: NonNullable<Frame['text']>;
}

function copied(value: unknown, copying: Copying, depth: number, fieldName?: string): Json {
  if (typeof value === 'string') return wellFormed(copying.text(value, fieldName));
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= DEEPEST) return '…';
  return Array.isArray(value)
    ? copiedList(value, copying, depth, fieldName)
    : copiedFields(value as { readonly [name: string]: unknown }, copying, depth);
}

/** A text after a command-line option gets the option's name. */
function copiedList(list: readonly unknown[], copying: Copying, depth: number, fieldName?: string): Json[] {
  const items: Json[] = [];
  let before: unknown;
  for (const item of list) {
    if (copying.leavesLeft <= 0) break;
    if (!isGroup(item)) copying.leavesLeft -= 1;
    const isAfterOption = typeof before === 'string' && OPTION.test(before);
    items.push(copied(item, copying, depth + 1, isAfterOption ? String(before).replace(DASHES, '') : fieldName));
    before = item;
  }
  return items;
}

function copiedFields(value: { readonly [name: string]: unknown }, copying: Copying, depth: number): Json {
  const fields: { [name: string]: Json } = {};
  const label = [value.name, value.key].find(each => typeof each === 'string');
  for (const [name, item] of Object.entries(value)) {
    if (copying.leavesLeft <= 0) break;
    if (!isGroup(item)) copying.leavesLeft -= 1;
    const key = wellFormed(cutText(copying.text(name), LONGEST_NAME));
    if (key !== '__proto__') fields[key] = copied(item, copying, depth + 1, name === 'value' ? (label ?? name) : name);
  }
  return fields;
}

const OPTION = /^--?[A-Za-z][\w-]{0,64}$/;
const DASHES = /^-+/;

/** An empty object or list counts as a leaf, so that their number is limited as well. */
const isGroup = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

function shortened(value: Json, length: number): Json {
  if (typeof value === 'string') return cutText(value, length);
  if (Array.isArray(value)) return value.map(item => shortened(item, length));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shortened(item, length)]));
}
