/** The form in which the state of a session is stored. */
import { awaited, isOpen } from '../assemble/assemble.ts';
import { fieldsOf, isFields, number } from '../lib/read.ts';
import type { SessionState } from '../session/session-state.ts';
import type { Round, Store } from '../store/store.ts';
import { isUnfinishedImport } from './session-in-round.ts';

/** What deliveries ask of each session that is over. They ask often, and most sessions are over. */
export interface Outline {
  arrivedMs: number;
  destinations: readonly string[];
}

/** Only hooks of the same second are compared with these. */
const RECENT_WHEN_OVER = 8;

/** The state of a session that is over is packed. */
export function stored(state: SessionState): NonNullable<Round['sessions']>[number] {
  const { key } = state;
  if (!isOver(state)) return { key, state };
  const outline: Outline = { arrivedMs: state.arrivedMs, destinations: state.pinned.destinations };
  return { key, state: { ...state, recent: state.recent.slice(-RECENT_WHEN_OVER) }, outline };
}

const isOver = (state: SessionState): boolean =>
  state.fold.endedMs !== undefined &&
  !isOpen(state.fold) &&
  awaited(state.fold).length === 0 &&
  state.pinned.undecided === undefined &&
  !isUnfinishedImport(state);

/** Undefined unless the session is over and its state is packed. */
export function outlineOf(store: Pick<Store, 'outline'>, key: string): Outline | undefined {
  const outline = store.outline(key);
  const { arrivedMs, destinations } = fieldsOf(outline);
  return isFields(outline) && number(arrivedMs) !== undefined && Array.isArray(destinations)
    ? { arrivedMs: Number(arrivedMs), destinations: destinations.filter(id => typeof id === 'string') }
    : undefined;
}
