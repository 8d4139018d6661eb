/** Finds the sessions that a round visits although it has no fragment for them. */
import { isAbsent } from '../agents/contract/contract.ts';
import { agentNamed } from '../agents/index.ts';
import { awaited, isOpen } from '../assemble/assemble.ts';
import type { SessionState } from '../session/session-state.ts';
import type { Store } from '../store/store.ts';
import { recalled } from './rebuild.ts';
import { isUnfinishedImport, SILENCE_MS, UNFINISHED_IMPORT_MS } from './session-in-round.ts';
import { outlineOf } from './stored-session.ts';

/** The state of an ended session is kept for this time, for late events. */
const TOMBSTONE_MS = 7 * 24 * 3_600_000;

export interface Due {
  silent?: readonly string[];
  /** Sessions with closed spans that wait for a transcript, and open sessions whose end only a transcript states. */
  waiting?: readonly string[];
  /** Sessions without destinations, because the configuration was invalid. It may be valid now. */
  undecided?: readonly string[];
  /** Sessions whose states are removed because there are too many (session-limits.ts). */
  excess?: readonly string[];
}

/**
 * Returns the sessions to visit without a fragment. Silent: open without a recent event, or ended so long ago that
 * their states are removed. Waiting: for a row of a transcript.
 */
export function dueSessions(store: Store, nowMs: number): { [D in Exclude<keyof Due, 'excess'>]-?: string[] } {
  const due = { silent: [] as string[], waiting: [] as string[], undecided: [] as string[] };
  for (const key of store.sessions()) {
    const outline = outlineOf(store, key);
    if (outline !== undefined) {
      if (isOld(outline, nowMs)) due.silent.push(key);
      continue;
    }
    const state = recalled(store, key);
    if (state === undefined) continue;
    const isLeft = isUnfinishedImport(state);
    const isSilent = isOpen(state.fold) && nowMs - state.arrivedMs > SILENCE_MS;
    if (isLeft ? nowMs - state.arrivedMs > UNFINISHED_IMPORT_MS : isForgotten(state, nowMs) || isSilent)
      due.silent.push(key);
    if (!isLeft && (awaited(state.fold).length > 0 || mayHaveEnded(state))) due.waiting.push(key);
    if (state.pinned.undecided) due.undecided.push(key);
  }
  return due;
}

/** Returns true for an open session whose transcript may state an end that no hook reports. */
function mayHaveEnded({ agent, fold }: SessionState): boolean {
  const transcript =
    fold.segment !== undefined && fold.endedMs === undefined ? agentNamed(agent)?.transcript : undefined;
  return transcript !== undefined && !isAbsent(transcript) && transcript.statesEnd === true;
}

export const isForgotten = (state: SessionState, nowMs: number): boolean => !isOpen(state.fold) && isOld(state, nowMs);

const isOld = ({ arrivedMs }: { arrivedMs: number }, nowMs: number): boolean => nowMs - arrivedMs > TOMBSTONE_MS;
