/**
 * How far the Python package of this name had read a transcript (version 0.15.0): turns that it sent are not sent again.
 *
 * Its file `otel_hook_state.json` has for each session and path, as one SHA-256, the bytes read so far and the text of a row
 * that was not whole by then. Ours to read, never to write: that package may still be at work elsewhere.
 */
import { join } from 'node:path';
import { hexDigestOf } from '../lib/hash.ts';
import { count, fieldsOf, text } from '../lib/read.ts';
import type { Eyes } from './eyes.ts';

const LARGEST_STATE = 16 * 1024 * 1024;
const LONGEST_ROW = 1024 * 1024;

/** Where the first row begins that it had not read; 0 where it knew nothing of the file. */
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
    // It is being written, or is another's: then nothing was sent that we know of.
    return {};
  }
}

/** Rows are read whole. */
function rowBefore(eyes: Eyes, path: string, at: number): number {
  const from = Math.max(0, at - LONGEST_ROW);
  return from + eyes.read(path, from, at - from).lastIndexOf(0x0a) + 1;
}
