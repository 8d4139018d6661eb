/**
 * What a fragment holds. An agent's hook is one object. The open standards also come as an array or as one event per line,
 * and inside CloudEvents; there a bad item among good ones costs itself alone.
 *
 * Books: a fragment has one fate. It is journaled as soon as one of its items can be read, and set aside whole when none
 * can; so `received` stays the sum of the fates. The bad items of a journaled fragment are set aside as well, all of one
 * reason in one file, and counted one by one under a name of their own (`bad-events.<reason>`).
 */
import type { Fields } from '../event/event.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { isFields } from '../lib/read.ts';
import { prune } from '../lib/shorten-json.ts';
import { isAgentHooks, readAgentHooks } from '../standards/agent-hooks/agent-hooks.ts';
import { isBaseCoat, readBaseCoat } from '../standards/base-coat/base-coat.ts';
import { isCloudEvent, unwrap, type Wrapped } from '../standards/cloudevents/cloudevents.ts';
import { isUnreadable, type ToldEvent, type Unreadable } from '../standards/foreign-event.ts';
import { isOpenHook, readOpenHook } from '../standards/openhook/openhook.ts';

export type Unread =
  | 'empty'
  | 'not-json'
  | 'not-an-object'
  | 'invalid-event'
  | 'no-session-id'
  | 'too-many-events'
  | 'too-many-values'
  | 'unknown-agent';

export interface Item {
  readonly fields: Fields;
  /** What it says, where it is an event of a standard; else it is an agent's own payload. */
  readonly event?: ToldEvent | undefined;
  readonly wrapped?: Wrapped | undefined;
}

export interface Bad<Reason = Unread> {
  readonly reason: Reason;
  readonly text: string;
}

export type Items =
  | { readonly reason: Unread }
  | {
      readonly items: readonly Item[];
      readonly bad: readonly Bad[];
      /** It held more than is kept in memory: long texts and long lists in it were cut. */
      readonly isCut?: true;
    };

/** A round holds all events of its fragments in memory. */
const MOST_ITEMS = 10_000;
/** Parsed, 60 MB of `{},{},…` are some 2 GB. No agent sends so many values, and what does is cut before it is parsed. */
const MOST_VALUES = 1_000_000;
/** So many lines must show an event before a text that is no JSON counts as a stream of events. */
const FIRST_LINES = 16;

export function itemsIn(payload: Buffer): Items {
  const marked = payload.toString('utf8');
  const text = marked.startsWith('\uFEFF') ? marked.slice(1) : marked;
  if (text.trim() === '') return { reason: 'empty' };
  if (hasMoreValues(text, MOST_VALUES)) return itemsOfMany(text, payload);
  const value = parsed(text);
  if (value !== undefined) return itemsOf(value);
  return linesOf(text) ?? { reason: 'not-json' };
}

/** Of one object what fits; of a list nothing, since a list of so many values is no list of events. */
function itemsOfMany(text: string, payload: Buffer): Items {
  if (text.trimStart().startsWith('[')) return { reason: 'too-many-events' };
  const kept = prune(payload);
  if (kept === undefined) return { reason: text.includes('\n') ? 'too-many-events' : 'too-many-values' };
  const items = itemsOf(kept);
  return 'reason' in items ? items : { ...items, isCut: true };
}

function itemsOf(value: unknown): Items {
  if (Array.isArray(value)) {
    if (value.length > MOST_ITEMS) return { reason: 'too-many-events' };
    return several(value.map(item => ({ value: item, text: () => textOf(item) })));
  }
  if (!isFields(value)) return { reason: 'not-an-object' };
  const read = itemOf(value);
  if (typeof read === 'string') return { reason: read };
  return Array.isArray(read) ? { items: read, bad: [] } : { items: [read], bad: [] };
}

interface Part {
  value: unknown;
  text(): string;
}

/** Nobody's hook sends a list: only events of standards come in one. */
function several(parts: readonly Part[]): Items {
  if (parts.length > MOST_ITEMS) return { reason: 'too-many-events' };
  const items: Item[] = [];
  const bad: { reason: Unread; text(): string }[] = [];
  for (const { value, text } of parts) {
    const read = isFields(value) ? itemOf(value, 'listed') : value === undefined ? 'not-json' : 'not-an-object';
    if (typeof read === 'string') bad.push({ reason: read, text });
    else for (const item of Array.isArray(read) ? read : [read]) items.push(item);
    // An envelope in a list may hold a list itself.
    if (items.length > MOST_ITEMS) return { reason: 'too-many-events' };
  }
  const [first] = bad;
  if (items.length > 0) return { items: inTime(items), bad: bad.map(({ reason, text }) => ({ reason, text: text() })) };
  if (first === undefined) return { reason: 'empty' };
  return { reason: first.reason === 'unknown-agent' ? 'not-an-object' : first.reason };
}

const timeOf = ({ event, wrapped }: Item): number | undefined => event?.atMs ?? wrapped?.atMs;

const isOurs = ({ event }: Item): boolean => event?.says.some(said => said.ours) === true;

/** What comes together and says when it was is told in the order of time, however it was gathered. A journal has its order. */
const inTime = (items: Item[]): Item[] =>
  items.every(item => timeOf(item) !== undefined && !isOurs(item))
    ? items.sort((one, other) => (timeOf(one) ?? 0) - (timeOf(other) ?? 0))
    : items;

function linesOf(text: string): Items | undefined {
  if (!text.includes('\n')) return undefined;
  const lines = linesIn(text);
  const looksLikeEvents = lines.slice(0, FIRST_LINES).some(line => {
    const value = parsed(line);
    return isFields(value) && isStandard(value);
  });
  if (!looksLikeEvents) return undefined;
  if (lines.length > MOST_ITEMS) return { reason: 'too-many-events' };
  return several(lines.map(line => ({ value: parsed(line), text: () => line })));
}

/** Lines that hold something: all of them, or one more than there may be. */
function linesIn(text: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length && lines.length <= MOST_ITEMS; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(at, end);
    if (line.trim() !== '') lines.push(line);
    at = end + 1;
  }
  return lines;
}

/** As it is kept apart. What is nested too deeply to be written is told from the rest by this alone. */
export function textOf(item: unknown): string {
  try {
    return JSON.stringify(item);
  } catch {
    return '"nested too deeply to be kept"';
  }
}

const isStandard = (fields: Fields): boolean =>
  isOpenHook(fields) || isCloudEvent(fields) || isAgentHooks(fields) || isBaseCoat(fields);

/** `listed`: in a list, where an agent's own payload has no business. */
export function itemOf(fields: Fields, listed?: 'listed', wrapped?: Wrapped): Item | Item[] | Unread {
  try {
    if (isOpenHook(fields)) return eventOf(fields, readOpenHook(fields), wrapped);
    if (wrapped === undefined && isCloudEvent(fields)) return insideOf(fields);
    if (isAgentHooks(fields)) return eventOf(fields, readAgentHooks(fields), wrapped);
    if (isBaseCoat(fields)) return eventOf(fields, readBaseCoat(fields), wrapped);
  } catch {
    // A value too deep to be copied or checked: it is set aside, and its neighbours are not.
    return 'invalid-event';
  }
  return listed === undefined ? { fields, wrapped } : 'unknown-agent';
}

function eventOf(fields: Fields, event: ToldEvent | Unreadable, wrapped: Wrapped | undefined): Item | Unread {
  return isUnreadable(event) ? event.unreadable : { fields, event, wrapped };
}

/** One envelope is opened, not a second one in it. What it holds may be a text, and of several events. */
function insideOf(fields: Fields): Item | Item[] | Unread {
  const wrapped = unwrap(fields);
  if (wrapped === undefined) return 'invalid-event';
  const { inside } = wrapped;
  if (isFields(inside)) return itemOf(inside, undefined, wrapped);
  const values = Array.isArray(inside) ? inside : typeof inside === 'string' ? valuesIn(inside) : [];
  if (values.length > MOST_ITEMS) return 'too-many-events';
  const [only] = values;
  if (values.length === 1 && isFields(only)) return itemOf(only, undefined, wrapped);
  // Ids are the envelope's alone where one event is inside; of several each needs its own.
  const items = values.map((value, i) =>
    isFields(value) ? itemOf(value, 'listed', { ...wrapped, id: `${wrapped.id}\0${i}` }) : 'invalid-event',
  );
  const good = items.filter((item): item is Item => typeof item === 'object' && !Array.isArray(item));
  return good.length === items.length && good.length > 0 ? inTime(good) : 'invalid-event';
}

function valuesIn(text: string): unknown[] {
  if (hasMoreValues(text, MOST_VALUES)) return [];
  const value = parsed(text);
  if (value !== undefined) return Array.isArray(value) ? value : [value];
  return linesIn(text).map(parsed);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever the parser dislikes, and an input too deep for it. No JSON text gives undefined.
    return undefined;
  }
}
