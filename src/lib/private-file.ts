/** Opens files with secrets, which only their owner may read. */
import type { BigIntStats } from 'node:fs';
import { readRegularFile } from './regular-file.ts';

const LARGEST_BYTES = 1024 * 1024;

export function whyUnsafe(facts: BigIntStats): string | undefined {
  if (!facts.isFile()) return 'it is no plain file';
  // Windows has no such ids and modes; the rights of the profile folder protect the file.
  if (process.geteuid === undefined) return undefined;
  if (facts.uid !== BigInt(process.geteuid())) return 'it belongs to another user';
  return (facts.mode & 0o077n) === 0n ? undefined : 'others can read it';
}

/**
 * A key may belong to root and be readable by a group, because systems and service managers provide keys in this way.
 */
function whyKeyUnsafe(facts: BigIntStats): string | undefined {
  if (process.geteuid === undefined) return undefined;
  if (facts.uid !== 0n && facts.uid !== BigInt(process.geteuid())) return 'it belongs to another user';
  return (facts.mode & 0o027n) === 0n ? undefined : 'others can read or change it';
}

/**
 * Reads the private key of a server. Follows links, because certificate tools renew certificates with them. Throws an
 * error that states the problem.
 */
export const readKey = (file: string): Buffer => readRegularFile(file, LARGEST_BYTES, { refuse: whyKeyUnsafe });

/** Throws an error that states the problem. */
export function readPrivate(file: string): string {
  return readRegularFile(file, LARGEST_BYTES, { follow: false, refuse: whyUnsafe }).toString('utf8');
}
