/** A file with a secret is one that its owner alone can read. */
import type { BigIntStats } from 'node:fs';
import { readRegularFile } from './regular-file.ts';

const LARGEST_BYTES = 1024 * 1024;

export function whyUnsafe(facts: BigIntStats): string | undefined {
  if (!facts.isFile()) return 'it is no plain file';
  // Windows has no such ids and modes; there the profile folder's rights do this work.
  if (process.geteuid === undefined) return undefined;
  if (facts.uid !== BigInt(process.geteuid())) return 'it belongs to another user';
  return (facts.mode & 0o077n) === 0n ? undefined : 'others can read it';
}

/** Throws what is wrong with it. */
export function readPrivate(file: string): string {
  return readRegularFile(file, LARGEST_BYTES, { follow: false, refuse: whyUnsafe }).toString('utf8');
}
