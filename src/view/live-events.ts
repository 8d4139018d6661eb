/** Events as they are recorded, one line each. */
import { type Event, factsOf, rootSessionOf } from '../event/event.ts';
import { eventsIn, partOf } from '../journal/journal-events.ts';
import { asShown } from '../lib/shown.ts';
import { styled } from '../lib/terminal.ts';
import { wildcards } from '../lib/wildcard.ts';
import type { Store } from '../store/store.ts';
import { lineOf } from '../telemetry/line.ts';
import { type Level, levelOf } from '../telemetry/logs.ts';
import { localTime } from './local-time.ts';
import { cutTo, type Drawing } from './tree.ts';
import { isTrial } from './trial-sessions.ts';

export const levels = ['debug', 'info', 'warn', 'error'] as const;

export interface Wanted {
  agent?: string | undefined;
  session?: string | undefined;
  /** `session` is an id, not only the beginning of one. */
  isWholeId?: boolean | undefined;
  /** Names of types, where `*` stands for any letters. */
  types?: readonly string[] | undefined;
  level?: (typeof levels)[number] | undefined;
  /** Also sessions that only tried the hooks; one that is asked for by its id is meant. */
  trials?: boolean | undefined;
  /** Leaves out the events with which otel-hooks notes what it did: they say nothing about the agent. */
  withoutInternal?: boolean | undefined;
}

export type Follower = (isWanted: (event: Event) => boolean) => Event[];

/** Each call gives what came since the one before, in the order of time; the first begins at what is there already. */
export function follow(open: () => Store): Follower {
  const read = new Map<string, number>(sizesIn(open));
  return isWanted => {
    const store = open();
    try {
      const found: Event[] = [];
      for (const [key, sizeBytes] of store.journalSizes()) {
        const from = read.get(key) ?? 0;
        if (sizeBytes === from) continue;
        const more = partOf(store, { key, from, sizeBytes });
        if (more === undefined) continue;
        read.set(key, more.endBytes);
        found.push(...eventsIn(more.lines).filter(isWanted));
      }
      return inTime(found);
    } finally {
      store.close();
    }
  };
}

function sizesIn(open: () => Store): Map<string, number> {
  const store = open();
  try {
    return store.journalSizes();
  } finally {
    store.close();
  }
}

/** The last so many of those that are wanted, of all journals. */
export function lastOf(store: Store, lines: number, isWanted: (event: Event) => boolean): Event[] {
  if (lines === 0) return [];
  const found = store.journals().flatMap(key => lastOfOne(store, key, lines, isWanted));
  return inTime(found).slice(-lines);
}

/** More of a journal is read as long as too few of its last events are wanted. */
function lastOfOne(store: Store, key: string, lines: number, isWanted: (event: Event) => boolean): Event[] {
  for (let most = lines; ; most *= 4) {
    const read = eventsIn(store.journalTail(key, most) ?? '');
    const found = read.filter(isWanted);
    if (found.length >= lines || read.length < most || most >= MOST_READ) return found.slice(-lines);
  }
}

/** A session that holds nothing that is wanted is not read to its beginning, however long it is. */
const MOST_READ = 4_096;

const inTime = (events: Event[]): Event[] =>
  events.sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp) || seqOf(a) - seqOf(b));
const seqOf = (event: Event): number => factsOf(event)?.seq ?? 0;

export function matcher(wanted: Wanted): (event: Event) => boolean {
  const { agent, session, isWholeId, types, level, trials, withoutInternal } = wanted;
  const isType = wildcards(types ?? ['*']);
  const least = levels.indexOf(level ?? 'debug');
  const isOf = (id: string): boolean => (isWholeId ? id === session : id.startsWith(session ?? ''));
  return event =>
    (agent === undefined || event.source.tool === agent) &&
    (trials === true || session !== undefined || !isTrial(rootSessionOf(event))) &&
    (session === undefined || isOf(event.session_id) || isOf(rootSessionOf(event))) &&
    !(withoutInternal && event.event_type.startsWith(INTERNAL)) &&
    isType(event.event_type) &&
    rankOf(levelOf(event, factsOf(event) ?? {})) >= least;
}

const INTERNAL = 'vendor.otel-hooks.';

const rankOf = (level: Level): number => (levels as readonly string[]).indexOf(level.toLowerCase());

const NARROW = 60;

export function drawLine(event: Event, { color, columns, unicode }: Drawing): string {
  const facts = factsOf(event) ?? {};
  const level = levelOf(event, facts);
  const isNarrow = columns < NARROW;
  const time = localTime(Date.parse(event.timestamp)).slice(0, isNarrow ? 8 : undefined);
  // Ends in the first digits of the event's id, which only a back end needs.
  const what = asShown(lineOf(event, facts)).replace(/ [0-9a-f]{8}$/, '');
  const session = asShown(rootSessionOf(event).slice(0, 8)).padEnd(8);
  // What happened is worth more room than who it was, which `--tool` and `--session` say as well.
  const who = isNarrow ? session : `${asShown(event.source.tool).padEnd(11)} ${session}`;
  const shown = cutTo(what, { columns: Math.max(20, columns - time.length - who.length - 4), unicode });
  if (!color) return `${time}  ${who}  ${shown}`;
  const painted = level === 'ERROR' ? styled('red', shown) : level === 'WARN' ? styled('yellow', shown) : shown;
  return `${styled('dim', `${time}  ${who}`)}  ${painted}`;
}
