/** What files of a state folder hold, including their packed parts: journals, and the states of sessions. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);

export function unpackedBytes(path: string): Buffer {
  const bytes = readFileSync(path);
  const at = /[\\/](sessions|journal)[\\/]/.test(path) ? bytes.indexOf(GZIP) : -1;
  return at < 0 ? bytes : Buffer.concat([bytes, gunzipSync(bytes.subarray(at))]);
}
