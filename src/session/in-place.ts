import type { Reading } from '../agents/contract/contract.ts';
import { boundId, eventId, shortOf } from '../identify/event-ids.ts';
import type { SessionState } from './session-state.ts';

export const MOST_IN_PLACE = 256;

export const inPlaceOf = ({ event_type: type, subagent, facts }: Reading): string =>
  subagent === undefined ? `${type}|${facts?.turn ?? ''}` : `${type}/${boundId(subagent)}`;

/**
 * Whether a transcript reported the event of a hook before: the session was imported, or a recording is replayed. Events
 * without a shared id are matched by subagent or turn. If one side names no turn, they are matched in order, but only if
 * the hooks cover the whole session: other hooks report its continuation.
 */
export function isReportedInPlace(state: SessionState, reading: Reading, seen: ReadonlySet<string>): boolean {
  const { event_type: type, key, data, subagent, facts } = reading;
  const isMain = subagent === undefined;
  if (type === 'Session.Start' && isMain && data.start_reason === 'new') state.isHookedWhole = true;
  const { inPlace = [] } = state;
  if (inPlace.length === 0) return false;
  // Both sources share an id, so the entry here is another event.
  if (key !== undefined && seen.has(shortOf(eventId(state, boundId(subagent) ?? state.session, type, key))))
    return true;
  const isNamed = !isMain || facts?.turn !== undefined;
  let at = isNamed ? inPlace.indexOf(inPlaceOf(reading)) : -1;
  if (at < 0 && isMain && state.isHookedWhole)
    at = isNamed ? inPlace.indexOf(`${type}|`) : inPlace.findIndex(each => each.startsWith(`${type}|`));
  if (at >= 0) inPlace.splice(at, 1);
  return at >= 0;
}
