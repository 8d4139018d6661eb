/** Parts of delivery that several benchmarks run: from the inbox to the journal, and from the journal to events. */
import { agentNamed } from '../../src/agents/index.ts';
import { type Event, rootSessionOf } from '../../src/event/event.ts';
import { computeRound } from '../../src/pipeline/round.ts';
import type { SessionOutput } from '../../src/pipeline/session-in-round.ts';
import { newSession, type SessionState } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { fragmentOf, hooksOf, ROUND, worldIn } from './sessions.ts';

/** Fragments become journal lines and states; the sessions have no destination. Returns the number of events. */
export function drainFragments(state: string, home: string, fsync = false): number {
  const store = openStore({ folder: state, access: 'own', fsync });
  let records = 0;
  for (let taken = store.take(ROUND); taken.fragments.length > 0; taken = store.take(ROUND)) {
    const { round, journaled } = computeRound(store, taken, {}, worldIn(home));
    if (store.commit(round) !== 'committed') throw new Error('a round was lost');
    records += journaled;
  }
  store.close();
  return records;
}

export function prepareJournals(state: string, sessions: number, hooksPerSession: number): void {
  const store = openStore({ folder: state, access: 'own' });
  for (let session = 0; session < sessions; session++) {
    const hooks = hooksOf(`bench-${session}`, 500);
    const fragments = Array.from({ length: hooksPerSession }, () => fragmentOf(hooks.next().value, undefined));
    const { round } = computeRound(store, { fragments, rejects: [] }, {}, worldIn(state));
    store.commit({ ...round, eaten: [] });
  }
  store.close();
}

export function journalsIn(state: string): string[] {
  const store = openStore({ folder: state, access: 'read' });
  return store.journals().map(key => store.journal(key) ?? '');
}

export const eventsOf = (text: string): Event[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(eventOf);

/** It has a name for the sake of profiles. */
const eventOf = (line: string): Event => JSON.parse(line) as Event;

export const gainOf = (state: SessionState): SessionOutput => ({
  state,
  lines: '',
  count: 0,
  events: [],
  spans: [],
  records: [],
});

export function sessionOf([first]: readonly Event[], pin: SessionState['pinned']): SessionOutput {
  if (first === undefined) throw new Error('an empty journal');
  const agent = agentNamed(first.source.tool);
  const session = rootSessionOf(first);
  if (agent === undefined) throw new Error('an unknown agent');
  return gainOf(newSession({ agent, session, key: session }, pin));
}
