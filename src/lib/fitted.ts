/**
 * Values of strangers made to fit: as JSON text within so many bytes, never deeper or with more fields than a back end
 * takes, without numbers and halves of characters that no encoding has.
 */

export interface Frame {
  bytes: number;
  /** Leaves, those of all objects and lists together. */
  leaves?: number;
  /**
   * What each text and each name becomes first. A text of a field comes with the field's name; one behind an option in a list
   * with the option's, and a `value` beside a `name` or a `key` with what that says.
   */
  text?: (text: string, name?: string) => string;
}

const DEEPEST = 8;
const MOST_LEAVES = 256;
const LONGEST_NAME = 128;
/** Each text of the value is at most so long, in the first of these rounds that fits. */
const LENGTHS = [Number.POSITIVE_INFINITY, 16_384, 4_096, 1_024, 256, 64, 16];

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Undefined: nothing of it fits. */
export function fitted(value: unknown, { bytes, leaves = MOST_LEAVES, text = plain }: Frame): Json | undefined {
  const whole = copied(value, { left: leaves }, 0, text);
  for (const length of LENGTHS) {
    const cut = length >= bytes ? whole : shortened(whole, length);
    if (sizeOf(cut) <= bytes) return cut;
    if (typeof whole === 'string') return fittedText(whole, bytes);
  }
  return undefined;
}

/** At most so many characters, whole ones; what was cut ends in an ellipsis. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = length < 1 ? 0 : isHigh(text.charCodeAt(length - 2)) ? length - 2 : length - 1;
  return length < 1 ? '' : `${text.slice(0, end)}…`;
}

/** Halves of characters have no encoding. */
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

function copied(
  value: unknown,
  room: { left: number },
  depth: number,
  text: NonNullable<Frame['text']>,
  of?: string,
): Json {
  if (typeof value === 'string') return wellFormed(text(value, of));
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= DEEPEST) return '…';
  if (Array.isArray(value)) {
    const items: Json[] = [];
    let before: unknown;
    for (const item of value) {
      if (room.left <= 0) break;
      if (!isGroup(item)) room.left -= 1;
      const isOptions = typeof before === 'string' && OPTION.test(before);
      items.push(copied(item, room, depth + 1, text, isOptions ? String(before).replace(DASHES, '') : of));
      before = item;
    }
    return items;
  }
  const fields: { [name: string]: Json } = {};
  const { name: called, key } = value as { name?: unknown; key?: unknown };
  const label = typeof called === 'string' ? called : typeof key === 'string' ? key : undefined;
  for (const [name, item] of Object.entries(value)) {
    if (room.left <= 0) break;
    if (!isGroup(item)) room.left -= 1;
    const as = wellFormed(cutText(text(name), LONGEST_NAME));
    if (as !== '__proto__') fields[as] = copied(item, room, depth + 1, text, name === 'value' ? (label ?? name) : name);
  }
  return fields;
}

const OPTION = /^--?[A-Za-z][\w-]{0,64}$/;
const DASHES = /^-+/;

/** Empty ones count, or there could be any number of them. */
const isGroup = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

function shortened(value: Json, length: number): Json {
  if (typeof value === 'string') return cutText(value, length);
  if (Array.isArray(value)) return value.map(item => shortened(item, length));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shortened(item, length)]));
}
