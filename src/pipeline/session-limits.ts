/**
 * Selects the states to remove when the state folder has more sessions than the limit. The journal of such a session
 * stays, and its state is rebuilt from the journal when its hooks resume (rebuild.ts).
 *
 * The states with the smallest loss are removed first. An ended session with a journal loses no data. An ended session
 * without a journal begins anew if it resumes. An open session has to be ended. An undecided session has output that
 * was not sent to any destination yet. Within each of these groups, the session with the longest silence comes first.
 */
import { awaited, isOpen } from '../assemble/assemble.ts';
import type { SessionState } from '../session/session-state.ts';
import type { Store } from '../store/store.ts';
import { recalled } from './rebuild.ts';

export interface SessionLimits {
  files: number;
  sizeBytes: number;
}

export const sessionLimits: SessionLimits = { files: 5_000, sizeBytes: 256 * 1024 * 1024 };

/** The share of the limit that stays, so that not every new session causes a search through all sessions. */
const KEPT_SHARE = 0.9;

export interface ExcessSession {
  key: string;
  /** Undefined: the file cannot be read as a state. */
  arrivedMs: number | undefined;
}

const groups = ['unreadable', 'ended', 'ended-without-journal', 'open', 'undecided'] as const;

/** Returns the sessions to remove, in this order. */
export function excessSessions(store: Store, limits: SessionLimits): ExcessSession[] {
  const sizes = store.sessionSizes();
  let files = sizes.size;
  let sizeBytes = 0;
  for (const size of sizes.values()) sizeBytes += size;
  if (files <= limits.files && sizeBytes <= limits.sizeBytes) return [];
  const journals = new Set(store.journals());
  const inOrder = [...sizes].map(([key, size]) => {
    const state = recalled(store, key);
    return { key, size, arrivedMs: state?.arrivedMs, group: groups.indexOf(groupOf(state, journals.has(key))) };
  });
  inOrder.sort((a, b) => a.group - b.group || (a.arrivedMs ?? 0) - (b.arrivedMs ?? 0));
  const excess: ExcessSession[] = [];
  for (const { key, size, arrivedMs } of inOrder) {
    if (files <= limits.files * KEPT_SHARE && sizeBytes <= limits.sizeBytes * KEPT_SHARE) break;
    excess.push({ key, arrivedMs });
    files -= 1;
    sizeBytes -= size;
  }
  return excess;
}

function groupOf(state: SessionState | undefined, hasJournal: boolean): (typeof groups)[number] {
  if (state === undefined) return 'unreadable';
  if (state.pinned.undecided) return 'undecided';
  if (isOpen(state.fold) || awaited(state.fold).length > 0) return 'open';
  return hasJournal ? 'ended' : 'ended-without-journal';
}

/** Returns the sessions that had no event since the list was made. */
export const stillExcess = (store: Store, excess: readonly ExcessSession[]): string[] =>
  excess.flatMap(({ key, arrivedMs }) => (recalled(store, key)?.arrivedMs === arrivedMs ? [key] : []));
