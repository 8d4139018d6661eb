import type { Reading } from '../agents/contract/contract.ts';
import { boundId, eventId, shortOf } from '../identify/event-ids.ts';
import type { SessionState } from './session-state.ts';

export const MOST_IN_PLACE = 256;

export const inPlaceOf = ({ event_type: type, subagent, facts }: Reading): string =>
  subagent === undefined ? `${type}|${facts?.turn ?? ''}` : `${type}/${boundId(subagent)}`;

/**
 * Hooks that come late, of a session whose transcript was there before them (it was imported, or a recording is played):
 * what both tell without an id that both share is one thing. They are matched by subagent or turn; where one of the two
 * names no turn, in their order, if these hooks tell of the whole session: others tell how it went on.
 */
export function isToldInPlace(state: SessionState, reading: Reading, seen: ReadonlySet<string>): boolean {
  const { event_type: type, key, data, subagent, facts } = reading;
  const isMain = subagent === undefined;
  if (type === 'Session.Start' && isMain && data.start_reason === 'new') state.isHookedWhole = true;
  const { inPlace = [] } = state;
  if (inPlace.length === 0) return false;
  // Told under an id that both share, so what waits here is another.
  if (key !== undefined && seen.has(shortOf(eventId(state, boundId(subagent) ?? state.session, type, key))))
    return true;
  const isNamed = !isMain || facts?.turn !== undefined;
  let at = isNamed ? inPlace.indexOf(inPlaceOf(reading)) : -1;
  if (at < 0 && isMain && state.isHookedWhole)
    at = isNamed ? inPlace.indexOf(`${type}|`) : inPlace.findIndex(each => each.startsWith(`${type}|`));
  if (at >= 0) inPlace.splice(at, 1);
  return at >= 0;
}
