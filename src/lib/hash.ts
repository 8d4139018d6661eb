import { createHash, createHmac } from 'node:crypto';

/** SHA-256 over NUL-separated parts: no two lists of parts without NUL meet. */
export function digest(...parts: string[]): Buffer {
  return createHash('sha256').update(parts.join('\0')).digest();
}

export const digestBytes = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** UUID-shaped (version 8, RFC 9562), computed from its parts. */
export function uuidOf(...parts: string[]): string {
  const bytes = digest(...parts);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A hash of content that only this installation can compute, so that short secrets cannot be guessed from it. */
export function keyedHash(key: string, content: string): string {
  return `hmac-sha256:${createHmac('sha256', key).update(content).digest('hex').slice(0, 32)}`;
}

/**
 * JSON with sorted keys, for comparing inputs. Bounded: below 64 levels a value stands for itself only by its kind, and
 * the text ends at 1 MB, so a hostile payload costs no more than a large one.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (depth > 64) return '"…"';
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item, depth + 1)).join(',')}]`;
  const fields = value as Record<string, unknown>;
  const parts = Object.keys(fields)
    .sort()
    .map(name => `${JSON.stringify(name)}:${canonicalJson(fields[name], depth + 1)}`);
  return `{${parts.join(',')}}`;
}
