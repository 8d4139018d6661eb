/** Stores the last session of each process of an agent. It is the previous session of the next one. */
import { type Event, FACTS, factsOf } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';

/** Newest last. */
export type Processes = readonly (readonly [process: string, agent: string, session: string])[];

const MOST_PROCESSES = 64;

/** Returns undefined if the event does not begin a session, or its process is unknown. */
export function begun(
  processes: Processes,
  { boot, header }: Pick<Fragment, 'boot' | 'header'>,
  event: Event,
  agent: string,
): { previous: string | undefined; processes: Processes } | undefined {
  const { ppid = '' } = header;
  if (event.event_type !== 'Session.Start' || event.parent_session_id !== undefined) return undefined;
  if (boot === undefined || ppid === '') return undefined;
  const process = `${boot} ${ppid}`;
  const isSame = ([of, by]: Processes[number]): boolean => of === process && by === agent;
  const previous = processes.find(isSame)?.[2];
  const others = processes.filter(each => !isSame(each));
  return { previous, processes: [...others, [process, agent, event.session_id] as const].slice(-MOST_PROCESSES) };
}

/** Adds the id of the previous session, if the agent states that there is one. Changes the event in place. */
export function notePrevious(
  event: Event,
  session: string | undefined,
  segmentOf: (session: string) => number | undefined,
): void {
  const facts = factsOf(event);
  if (facts?.previous === undefined) return;
  const named = facts.previous.session ?? session;
  const previous = named === undefined ? undefined : { session: named, segment: segmentOf(named) };
  event.metadata = { ...event.metadata, [FACTS]: { ...facts, previous } };
}
