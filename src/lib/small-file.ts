import { readFileSync, statSync } from 'node:fs';

const LARGEST_BYTES = 1024 * 1024;

/** A person's own small file, or why it cannot be read; undefined where there is none. */
export function readSmallFile(file: string): { text: string } | { why: string } | undefined {
  try {
    const facts = statSync(file);
    // A pipe or a device in its place would hold up the reader for ever.
    if (!facts.isFile()) return { why: 'it is no file' };
    if (facts.size > LARGEST_BYTES) return { why: 'it is larger than 1 MB' };
    return { text: readFileSync(file, 'utf8') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : { why: code };
  }
}
