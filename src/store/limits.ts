/**
 * Chooses the files to remove when the state folder exceeds its limits, and their order.
 *
 * Constraints
 * - Recorded data is kept as long as possible. So a fragment that can be processed is never removed: processing frees
 *   its space nearly as fast as deleting it would, and the result is smaller. The limits of the inbox apply to
 *   fragments of a later version, which no round of this version can take.
 * - The newest data is the most valuable, and a session with its frame is still readable. So the oldest content
 *   (actions, records, events) is removed first, and the frame (sessions, turns, subagents) last.
 * - A destination that does not answer must not cause a loss for another destination: bodies of the largest backlog are
 *   removed.
 * - A body that is being sent stays, because otherwise it would be counted as dropped and still arrive.
 * - The journal is a copy for people. Journals of ended sessions whose states are removed are deleted first. If the
 *   state of a session is still kept, only its journal is removed, so that the sent data does not depend on the
 *   journal.
 * - A jump of the clock removes no file. Age is counted in days on which delivery ran: the document `calendar` has the
 *   round and the time at which each day began. Each check adds at most one day, even if the clock jumped further. The
 *   age of a body is the number of days since its round; the age of a file without a round is the number of days since
 *   its time.
 */

import { number } from '../lib/read.ts';
import { documentNamed } from './document.ts';
import type { LeftAlone } from './inbox.ts';
import { type JournalFile, MOST_PACKED_BYTES } from './journal.ts';
import { increase, type Ledger, type Signal } from './ledger.ts';
import { type BodyFile, parseBodyName } from './outbox.ts';

export interface PlaceLimits {
  sizeBytes: number;
  files: number;
  days: number;
}

/** Infinity if there is no limit. */
export type Limits = Record<'inbox' | 'outbox' | 'journal', PlaceLimits>;

export type Reason = 'over-age' | 'over-size' | 'over-files';

/** The files to remove. */
export interface Excess {
  bodies: { destination: string; name: string; signal: Signal; items: number; reason: Reason }[];
  fragments: { name: string; reason: Reason }[];
  journals: { key: string; reason: Reason }[];
}

export interface Holdings {
  /** By destination, oldest first. */
  outbox: ReadonlyMap<string, readonly BodyFile[]>;
  isUnderWay: IsUnderWay;
  leftAlone: readonly LeftAlone[];
  journals: ReadonlyMap<string, JournalFile>;
  /** Returns true if a session's state is still kept. */
  isKnown: (key: string) => boolean;
  calendar: Calendar;
}

/** Returns true while a body is being sent. */
export type IsUnderWay = (destination: string, name: string) => boolean;

/** The last round and the time when a day began. */
export type Calendar = readonly (readonly [round: number, atMs: number])[];

export const calendarDocument = documentNamed<Calendar>('calendar', 1, value =>
  Array.isArray(value) ? value : undefined,
);
/** The number of fragments of a later version, for `status`. */
export const leftAloneDocument = documentNamed('left-alone', 1, number);

const DAY_MS = 24 * 3_600_000;
/** The largest value of the setting. */
const MOST_DAYS = 3_660;

/** Returns the calendar as of now, or undefined if it stays the same. */
export function turnPage(calendar: Calendar, round: number, nowMs: number): Calendar | undefined {
  const last = calendar.at(-1);
  if (last === undefined) return [[round, nowMs]];
  // The clock was set back: a time in the future counts as now, and the day begins once more.
  if (nowMs < last[1]) return calendar.map(([n, atMs]) => [n, Math.min(atMs, nowMs)]);
  return nowMs - last[1] < DAY_MS ? undefined : [...calendar, [round, nowMs] as const].slice(-MOST_DAYS);
}

export function excessOf(limits: Limits, held: Holdings): Excess {
  const excess: Excess = { bodies: [], fragments: [], journals: [] };
  overOutbox(limits.outbox, held, excess);
  const { isKnown, calendar } = held;

  const writtenBy = endOfDay(calendar, limits.inbox.days);
  const isOld = (each: LeftAlone): boolean => isBefore(each.writtenMs, writtenBy);
  for (const { item, reason } of over(limits.inbox, held.leftAlone, isOld, byTime))
    excess.fragments.push({ name: item.name, reason });

  const closedBy = endOfDay(calendar, limits.journal.days);
  const isOver = (each: JournalFile): boolean => isBefore(each.writtenMs, closedBy) && !isKnown(each.key);
  const forgottenFirst = (a: JournalFile, b: JournalFile): number =>
    Number(isKnown(a.key)) - Number(isKnown(b.key)) || byTime(a, b);
  for (const { item, reason } of over(limits.journal, [...held.journals.values()], isOver, forgottenFirst))
    excess.journals.push({ key: item.key, reason });
  return {
    bodies: excess.bodies.slice(0, MOST_AT_ONCE),
    fragments: excess.fragments.slice(0, MOST_AT_ONCE),
    journals: excess.journals.slice(0, MOST_AT_ONCE),
  };
}

/** Files of each kind that one round removes, so that no round takes long. */
export const MOST_AT_ONCE = 250;

const PACKED_AFTER_DAYS = 7;

/** Journals to pack, the oldest first. A journal that is packed in part stays as it is. */
export const packableOf = (
  journals: ReadonlyMap<string, JournalFile>,
  isKnown: (key: string) => boolean,
  calendar: Calendar,
): JournalFile[] => {
  const writtenBy = endOfDay(calendar, PACKED_AFTER_DAYS);
  const isDue = (each: JournalFile): boolean =>
    !each.isPacked && each.plainBytes <= MOST_PACKED_BYTES && isBefore(each.writtenMs, writtenBy) && !isKnown(each.key);
  return writtenBy === undefined ? [] : [...journals.values()].filter(isDue).sort(byTime);
};

/** Adds the removed files to the ledger. */
export function bookExcess(ledger: Ledger, { fragments, journals, bodies }: Excess): void {
  for (const { reason } of fragments) increase(ledger.fragments.dropped, reason);
  for (const { reason } of journals) increase(ledger.counters, `dropped.journal.${reason}`);
  for (const { destination, signal, items, reason } of bodies) {
    const account = ledger.destinations[destination]?.[signal];
    if (account !== undefined) increase(account.dropped, reason, items);
  }
}

/** Returns the round and the time of a given number of whole days ago. */
function endOfDay(calendar: Calendar, days: number): readonly [round: number, atMs: number] | undefined {
  return calendar[calendar.length - 1 - days];
}

/** otel-hooks did not exist before this time, so an earlier time comes from a clock that was not set. */
const FIRST_MS = Date.UTC(2020, 0);

/** A file's time has fractions of a millisecond; the start of a day has none. */
const isBefore = (writtenMs: number, day: readonly [number, number] | undefined): boolean =>
  day !== undefined && writtenMs >= FIRST_MS && Math.floor(writtenMs) <= day[1];

const byTime = (a: { writtenMs: number }, b: { writtenMs: number }): number => a.writtenMs - b.writtenMs;

/** Returns files over the age limit, then files in the given order until the rest is within the limits. */
function over<T extends { sizeBytes: number }>(
  limits: PlaceLimits,
  items: readonly T[],
  isOld: (item: T) => boolean,
  order: (a: T, b: T) => number,
): { item: T; reason: Reason }[] {
  const gone: { item: T; reason: Reason }[] = [];
  let files = items.length;
  let sizeBytes = items.reduce((sum, item) => sum + item.sizeBytes, 0);
  const go = (item: T, reason: Reason): void => {
    gone.push({ item, reason });
    files -= 1;
    sizeBytes -= item.sizeBytes;
  };
  for (const item of items) if (isOld(item)) go(item, 'over-age');
  if (sizeBytes <= limits.sizeBytes && files <= limits.files) return gone;
  for (const item of items.filter(each => !isOld(each)).sort(order)) {
    if (sizeBytes > limits.sizeBytes) go(item, 'over-size');
    else if (files > limits.files) go(item, 'over-files');
    else break;
  }
  return gone;
}

function overOutbox(limits: PlaceLimits, { outbox, isUnderWay, calendar }: Holdings, excess: Excess): void {
  const madeBy = endOfDay(calendar, limits.days)?.[0] ?? -1;
  const lines = [...outbox].map(([destination, bodies]): Line => {
    const isFree = ({ name }: BodyFile): boolean => !isUnderWay(destination, name);
    const isOld = ({ name }: BodyFile): boolean => madeBy >= 0 && (parseBodyName(name)?.born ?? 0) <= madeBy;
    const kept = bodies.filter(body => !(isFree(body) && isOld(body)));
    for (const body of bodies) if (isFree(body) && isOld(body)) note(excess, destination, body, 'over-age');
    const content = kept.filter(body => isFree(body) && !body.isSkeleton);
    const skeleton = kept.filter(body => isFree(body) && body.isSkeleton);
    return {
      destination,
      files: kept.length,
      sizeBytes: kept.reduce((sum, body) => sum + body.sizeBytes, 0),
      inOrder: [...content, ...skeleton].reverse(),
    };
  });
  takeLargest(lines, 'sizeBytes', limits.sizeBytes, (destination, body) =>
    note(excess, destination, body, 'over-size'),
  );
  takeLargest(lines, 'files', limits.files, (destination, body) => note(excess, destination, body, 'over-files'));
}

/**
 * Removes the next body of the destination with the largest backlog, until all backlogs together are within the limit.
 */
function takeLargest(
  lines: readonly Line[],
  measure: 'files' | 'sizeBytes',
  limit: number,
  take: (destination: string, body: BodyFile) => void,
): void {
  for (let total = lines.reduce((sum, line) => sum + line[measure], 0); total > limit; ) {
    const giving = lines.filter(line => line.inOrder.length > 0);
    const [first] = giving;
    if (first === undefined) return;
    const line = giving.reduce((most, each) => (each[measure] > most[measure] ? each : most), first);
    const body = line.inOrder.pop();
    if (body === undefined) return;
    take(line.destination, body);
    line.files -= 1;
    line.sizeBytes -= body.sizeBytes;
    total -= measure === 'files' ? 1 : body.sizeBytes;
  }
}

interface Line {
  destination: string;
  files: number;
  sizeBytes: number;
  /** The body at the end of the list is removed first. */
  inOrder: BodyFile[];
}

function note(excess: Excess, destination: string, body: BodyFile, reason: Reason): void {
  const { name, signal, items } = body;
  excess.bodies.push({ destination, name, signal, items, reason });
}
