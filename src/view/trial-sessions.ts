/**
 * Trial sessions, which `enable` and `doctor` play to test hooks. The last part of their id is a hash of the rest, so
 * that a journal needs no mark for trial sessions.
 */
import { hexDigest } from '../lib/hash.ts';

/**
 * Returns a UUID of version 7, the kind that most agents use and that one of them is recognized by. `chance`: six hex
 * digits.
 */
export function trialSession(nowMs: number, chance: string): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const head = `${time.slice(0, 8)}-${time.slice(8)}-7${chance.slice(0, 3)}-8${chance.slice(3, 6)}`;
  return `${head}-${endOf(head)}`;
}

/** Agents may add a prefix to the id. */
export function isTrial(session: string): boolean {
  const [, head = '', end] = /([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3})-([0-9a-f]{12})$/.exec(session) ?? [];
  return end !== undefined && end === endOf(head);
}

const endOf = (head: string): string => hexDigest('otel-hooks/trial/1', head).slice(0, 12);
