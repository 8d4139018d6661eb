/** Shows events while they are recorded, one line each. */
import { type Event, type Facts, factsOf, rootSessionOf } from '../event/event.ts';
import { eventsIn, partOf } from '../journal/journal-events.ts';
import { asShown } from '../lib/shown.ts';
import { styled } from '../lib/terminal.ts';
import { wildcards } from '../lib/wildcard.ts';
import type { Store } from '../store/store.ts';
import { lineOf } from '../telemetry/line.ts';
import { type Level, levelOf } from '../telemetry/logs.ts';
import { dollars } from './amounts.ts';
import { percentText } from './context-share.ts';
import { localTime } from './local-time.ts';
import { cutTo, type Drawing } from './tree.ts';
import { isTrial } from './trial-sessions.ts';

export const levels = ['debug', 'info', 'warn', 'error'] as const;

export interface Wanted {
  agent?: string | undefined;
  session?: string | undefined;
  /** `session` is a whole id and not a prefix. */
  isWholeId?: boolean | undefined;
  /** Names of types; `*` stands for any characters. */
  types?: readonly string[] | undefined;
  level?: (typeof levels)[number] | undefined;
  /** Includes trial sessions. A trial session that is requested by its id is always included. */
  trials?: boolean | undefined;
  /** Leaves out events that otel-hooks writes about its own work. */
  withoutInternal?: boolean | undefined;
}

export type Follower = (isWanted: (event: Event) => boolean) => Event[];

/** Each call returns the events since the previous call, in order of time. The first call starts at the current end. */
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

/** Returns the last wanted events of all journals. */
export function lastOf(store: Store, lines: number, isWanted: (event: Event) => boolean): Event[] {
  if (lines === 0) return [];
  const found = store.journals().flatMap(key => lastOfOne(store, key, lines, isWanted));
  return inTime(found).slice(-lines);
}

/** Reads further back in a journal while it has too few wanted events. */
function lastOfOne(store: Store, key: string, lines: number, isWanted: (event: Event) => boolean): Event[] {
  for (let most = lines; ; most *= 4) {
    const read = eventsIn(store.journalTail(key, most) ?? '');
    const found = read.filter(isWanted);
    if (found.length >= lines || read.length < most || most >= MOST_READ) return found.slice(-lines);
  }
}

/** The most events that are read of a journal with too few wanted events. */
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
/** Narrower terminals do not show the share of the context. */
const WIDE_FOR_SHARE = 72;

/** `share`: the used share of the context window of the session. */
export function drawLine(event: Event, { color, columns, unicode }: Drawing, share?: number): string {
  const facts = factsOf(event) ?? {};
  const level = levelOf(event, facts);
  const isNarrow = columns < NARROW;
  const time = localTime(Date.parse(event.timestamp)).slice(0, isNarrow ? 8 : undefined);
  const session = asShown(rootSessionOf(event).slice(0, 8)).padEnd(8);
  const context = columns < WIDE_FOR_SHARE ? '' : ` ${percentText(share).padStart(4)}`;
  // The event gets more columns than agent and session, which `--tool` and `--session` can select.
  const source = isNarrow ? session : `${asShown(event.source.tool).padEnd(11)} ${session}${context}`;
  const room = Math.max(20, columns - time.length - source.length - 4);
  const shown = cutTo(asShown(textOf(event, facts)), { columns: room, unicode });
  if (!color) return `${time}  ${source}  ${shown}`;
  const painted = level === 'ERROR' ? styled('red', shown) : level === 'WARN' ? styled('yellow', shown) : shown;
  return `${styled('dim', `${time}  ${source}`)}  ${painted}`;
}

/** The cost is before the text, because a narrow terminal cuts the end. */
function textOf(event: Event, facts: Partial<Facts>): string {
  // The line ends with the first digits of the id of the event, which only back ends need.
  const line = lineOf(event, facts).replace(/ [0-9a-f]{8}$/, '');
  if (event.event_type !== 'Model.Responded') return line;
  const { cache_read_tokens: read, cache_write_tokens: written, reasoning_tokens: reasoning } = facts.usage ?? {};
  const parts: [value: number | undefined, word: string][] = [
    [read, 'from cache'],
    [written, 'to cache'],
    [reasoning, 'reasoning'],
  ];
  const tokens = parts.flatMap(([value, word]) => (value ? [`${value} ${word}`] : []));
  return [dollars(facts.cost?.usd ?? facts.cost_usd), line, ...tokens].filter(word => word !== '').join(' ');
}
