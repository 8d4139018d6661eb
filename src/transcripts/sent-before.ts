/**
 * How far the Python package otel-hooks (0.15.0) had read a transcript: turns that it sent are not sent again. Stays until
 * 1.0.
 *
 * Its file `otel_hook_state.json` holds the bytes read so far and the text of an incomplete row, by a SHA-256 of session
 * and path. This code reads the file and never writes it, because the Python package may still run elsewhere.
 */
import { join } from 'node:path';
import { hexDigestOf } from '../lib/hash.ts';
import { count, fieldsOf, text } from '../lib/read.ts';
import type { Eyes } from './eyes.ts';

const LARGEST_STATE = 16 * 1024 * 1024;
const LONGEST_ROW = 1024 * 1024;

/** The offset of the first row that the Python package had not read. 0 if it did not know the file. */
export function sentBefore(eyes: Eyes, folders: readonly string[], session: string, path: string): number {
  const key = hexDigestOf(Buffer.from(`${session}::${path}`));
  for (const folder of folders) {
    const { offset, buffer } = fieldsOf(stateIn(eyes, join(folder, 'otel_hook_state.json'))[key]);
    const readBytes = (count(offset) ?? 0) - Buffer.byteLength(text(buffer) ?? '');
    if (readBytes > 0 && readBytes <= (eyes.stat(path)?.sizeBytes ?? 0)) return rowBefore(eyes, path, readBytes);
  }
  return 0;
}

function stateIn(eyes: Eyes, file: string): Readonly<Record<string, unknown>> {
  const stat = eyes.stat(file);
  if (stat === undefined || stat.sizeBytes > LARGEST_STATE) return {};
  try {
    return fieldsOf(JSON.parse(eyes.read(file, 0, stat.sizeBytes).toString('utf8')));
  } catch {
    // Being written, or not readable: no known rows were sent.
    return {};
  }
}

/** Only whole rows count. */
function rowBefore(eyes: Eyes, path: string, at: number): number {
  const from = Math.max(0, at - LONGEST_ROW);
  return from + eyes.read(path, from, at - from).lastIndexOf(0x0a) + 1;
}
