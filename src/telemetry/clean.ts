/**
 * Makes attributes safe to serialize: no undefined values, no lone surrogates, bounded strings. Back ends cut attribute
 * values at 2,048 bytes; this cuts before them, at a whole character.
 */
import type { Attributes, AttributeValue } from '@opentelemetry/api';
import { wellFormed } from '../lib/fitted.ts';

const LONGEST_VALUE = 2_048;
const MOST_ITEMS = 64;

export interface Cleaned {
  kept: Attributes;
  dropped: number;
}

/** The standard's limits: attributes beyond the number are dropped, longer values are cut. */
export interface AttributeLimits {
  attributes: number;
  valueLength?: number | undefined;
}

/** The attributes of an item in parts. Joining them into one object would cost as much as encoding them. */
export interface InParts {
  parts: readonly Attributes[];
  limits: AttributeLimits;
}

/** Joins the parts, in order. No name is in two parts. */
export function clean(parts: readonly Attributes[], limits: AttributeLimits): Cleaned {
  const kept: Attributes = {};
  let count = 0;
  let dropped = 0;
  for (const attributes of parts) {
    for (const name in attributes) {
      const value = attributes[name];
      const cleaned = value === undefined ? undefined : cleanValue(value, limits.valueLength);
      if (cleaned === undefined) continue;
      if (count >= limits.attributes) dropped += 1;
      else {
        kept[name] = cleaned;
        count += 1;
      }
    }
  }
  return { kept, dropped };
}

export function cleanValue(value: AttributeValue, longest = Number.POSITIVE_INFINITY): AttributeValue | undefined {
  if (typeof value === 'string') return cleanText(value).slice(0, longest);
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map(item => cleanText(String(item)).slice(0, longest));
  return value;
}

/** Returns well-formed text of at most `longest` bytes of UTF-8. */
export function cleanText(value: string, longest = LONGEST_VALUE): string {
  // A UTF-16 unit takes at most three bytes, so most values need no measuring.
  const short = value.length * 3 <= longest ? value : cut(value, longest);
  return wellFormed(short);
}

function cut(value: string, longest: number): string {
  const bytes = Buffer.from(value.slice(0, longest), 'utf8');
  if (bytes.length <= longest) return value.slice(0, longest);
  let end = longest;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
