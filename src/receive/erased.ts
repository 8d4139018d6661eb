/**
 * The sessions that a person erased from this machine. The tombstone of a session is the hash of its agent and id.
 * Later hooks and transcripts of the session are ignored. The id itself is kept only until the erasure is complete.
 */
import { fieldsOf, number, text } from '../lib/read.ts';

export interface Erased {
  /** The time of each erasure, by the key of the session, the newest last. */
  readonly done: { readonly [key: string]: number };
  /** Erasures that have begun, by the key of the session. */
  readonly pending: { readonly [key: string]: { session: string; atMs: number } };
}

export const noneErased: Erased = { done: {}, pending: {} };

/** Above this number, the oldest tombstones are removed. */
const MOST_TOMBSTONES = 10_000;

export function parseErased(value: unknown): Erased {
  const done = Object.entries(fieldsOf(fieldsOf(value).done)).flatMap(([key, atMs]) =>
    number(atMs) === undefined ? [] : [[key, atMs as number] as const],
  );
  const pending = Object.entries(fieldsOf(fieldsOf(value).pending)).flatMap(([key, entry]) => {
    const session = text(fieldsOf(entry).session);
    return session === undefined ? [] : [[key, { session, atMs: number(fieldsOf(entry).atMs) ?? 0 }] as const];
  });
  return { done: Object.fromEntries(done), pending: Object.fromEntries(pending) };
}

export const isErased = ({ done, pending }: Erased, key: string): boolean =>
  Object.hasOwn(done, key) || Object.hasOwn(pending, key);

export const withPending = (erased: Erased, key: string, session: string, atMs: number): Erased => ({
  ...erased,
  pending: { ...erased.pending, [key]: { session, atMs } },
});

export function withDone({ done, pending }: Erased, key: string): Erased {
  const { [key]: finished, ...others } = pending;
  const { [key]: _former, ...older } = done;
  const all = [...Object.entries(older), [key, finished?.atMs ?? 0] as const].slice(-MOST_TOMBSTONES);
  return { done: Object.fromEntries(all), pending: others };
}
