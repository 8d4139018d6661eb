import { FileRefused, type Opening, readRegularFile } from './regular-file.ts';

const LARGEST_BYTES = 1024 * 1024;

/**
 * Returns the text of a small file of the user, or the reason why it cannot be read; undefined if it does not exist.
 */
export function readSmallFile(file: string, opening?: Opening): { text: string } | { why: string } | undefined {
  try {
    return { text: readRegularFile(file, LARGEST_BYTES, opening).toString('utf8') };
  } catch (error) {
    if (error instanceof FileRefused) return { why: error.message };
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : { why: code };
  }
}
