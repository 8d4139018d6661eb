/** A file with a secret is one that its owner alone can read. */
import { type BigIntStats, lstatSync, readFileSync } from 'node:fs';

export function whyUnsafe(facts: BigIntStats): string | undefined {
  if (!facts.isFile()) return 'it is no plain file';
  // Windows has no such ids and modes; there the profile folder's rights do this work.
  if (process.geteuid === undefined) return undefined;
  if (facts.uid !== BigInt(process.geteuid())) return 'it belongs to another user';
  return (facts.mode & 0o077n) === 0n ? undefined : 'others can read it';
}

/** Throws what is wrong with it. */
export function readPrivate(file: string): string {
  const why = whyUnsafe(lstatSync(file, { bigint: true }));
  if (why !== undefined) throw new Error(why);
  return readFileSync(file, 'utf8');
}
