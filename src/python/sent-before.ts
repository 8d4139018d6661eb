/**
 * Finds how far the Python package (0.15.0) had read a transcript, so that turns that it sent are not sent again.
 *
 * Its file `otel_hook_state.json` holds, for each session and path (as one SHA-256), the number of bytes read and the
 * text of an incomplete row. otel-hooks never writes that file, because the package may still run elsewhere.
 */
import { join } from 'node:path';
import { hexDigestOf } from '../lib/hash.ts';
import { count, fieldsOf, text } from '../lib/read.ts';
import type { Eyes } from '../transcripts/eyes.ts';
import { PYTHON_STATE_FILE } from './folder.ts';

const LARGEST_STATE = 16 * 1024 * 1024;
const LONGEST_ROW = 1024 * 1024;

/** Returns the offset of the first row that the Python package had not read; 0 if it did not read the file. */
export function sentBefore(eyes: Eyes, folders: readonly string[], session: string, path: string): number {
  const key = hexDigestOf(Buffer.from(`${session}::${path}`));
  for (const folder of folders) {
    const { offset, buffer } = fieldsOf(stateIn(eyes, join(folder, PYTHON_STATE_FILE))[key]);
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
    // The file is being written or is not readable, so no row is known to be sent.
    return {};
  }
}

/** Only whole rows count. */
function rowBefore(eyes: Eyes, path: string, at: number): number {
  const from = Math.max(0, at - LONGEST_ROW);
  return from + eyes.read(path, from, at - from).lastIndexOf(0x0a) + 1;
}
