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

/**
 * A key may belong to root, and to a group that may read it: that is how systems and service managers give keys to
 * services.
 */
function whyKeyUnsafe(facts: BigIntStats): string | undefined {
  if (process.geteuid === undefined) return undefined;
  if (facts.uid !== 0n && facts.uid !== BigInt(process.geteuid())) return 'it belongs to another user';
  return (facts.mode & 0o027n) === 0n ? undefined : 'others can read or change it';
}

/**
 * The private key of a server. Links are followed, because certificate tools renew by them. Throws what is wrong with
 * it.
 */
export const readKey = (file: string): Buffer => readRegularFile(file, LARGEST_BYTES, { refuse: whyKeyUnsafe });

/** Throws what is wrong with it. */
export function readPrivate(file: string): string {
  return readRegularFile(file, LARGEST_BYTES, { follow: false, refuse: whyUnsafe }).toString('utf8');
}
