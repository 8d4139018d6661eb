/** Turns a fragment into the events of its sessions. Every caller of the pipeline takes its fragments here. */
import type { Agent } from '../agents/contract/contract.ts';
import type { Fragment } from '../hook/fragment.ts';
import { hexDigestOf } from '../lib/hash.ts';
import type { Bad } from '../receive/items.ts';
import { type Opening, type Reject, receive } from '../receive/receive.ts';
import { isRepetition } from '../session/arrival.ts';
import { sessionKey } from '../session/session-state.ts';
import type { SessionInRound } from './session-in-round.ts';

export type TakenFragment =
  /** `erased`: all events of the fragment belong to sessions that a person erased. */
  | { fate: 'rejected'; reason: Reject | 'erased' }
  | { fate: 'duplicate'; sessions: readonly SessionInRound[]; opening: Opening | undefined }
  | {
      fate: 'journaled';
      sessions: readonly SessionInRound[];
      /** Items that could not be read, from a list with other items that could. */
      bad: readonly Bad<Reject>[];
      oddities: readonly string[];
    };

/** Finds the session of a source, or begins it. Returns undefined if the session was erased. */
export type OpenSession = (opening: Opening, fragment: Fragment) => SessionInRound | undefined;

export function takeFragment(fragment: Fragment, agents: readonly Agent[], open: OpenSession): TakenFragment {
  const received = receive(fragment, agents);
  if ('reason' in received) return { fate: 'rejected', reason: received.reason };
  const sessions = new Set<SessionInRound>();
  let opening: Opening | undefined;
  let duplicates = 0;
  let events = 0;
  for (const source of received.sources) {
    const { agent, session: id, cwd, user } = source;
    opening = { agent, session: id, key: sessionKey(agent.id, id), cwd, user };
    const session = open(opening, fragment);
    if (session === undefined) continue;
    const isFirst = !sessions.has(session);
    sessions.add(session);
    if (isFirst && isRepetition(session.state, hexDigestOf(fragment.payload), fragment)) {
      duplicates += 1;
      continue;
    }
    const before = session.taken;
    duplicates += session.take(source, fragment);
    events += session.taken - before;
  }
  const { bad, oddities } = received;
  const all = [...sessions];
  if (all.length === 0 && received.sources.length > 0 && bad.length === 0)
    return { fate: 'rejected', reason: 'erased' };
  if (duplicates > 0 && bad.length === 0 && events === 0) return { fate: 'duplicate', sessions: all, opening };
  return { fate: 'journaled', sessions: all, bad, oddities };
}
