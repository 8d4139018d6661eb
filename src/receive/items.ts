/**
 * Cuts the payload of a fragment into items. An agent's hook is one object. Events of the open standards also come as an
 * array, as one event per line, and inside CloudEvents. A bad item does not affect its neighbours.
 *
 * Accounting: a fragment has one fate. It is journaled if at least one item can be read, and quarantined otherwise, so that
 * `received` is the sum of the fates. The bad items of a journaled fragment are quarantined as well, one file per reason,
 * and counted one by one (`bad-events.<reason>`).
 */
import type { Fields } from '../event/event.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { isFields } from '../lib/read.ts';
import { pruned } from '../lib/shorten-json.ts';
import { isAgentHooks, readAgentHooks } from '../standards/agent-hooks/agent-hooks.ts';
import { isBaseCoat, readBaseCoat } from '../standards/base-coat/base-coat.ts';
import { isCloudEvent, unwrap, type Wrapped } from '../standards/cloudevents/cloudevents.ts';
import { type ForeignEvent, isUnreadable, type Unreadable } from '../standards/foreign-event.ts';
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
  /** Set for an event of a standard. Otherwise the item is an agent's own payload. */
  readonly event?: ForeignEvent | undefined;
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
      /** Long texts and lists were cut, because the payload held more values than fit into memory. */
      readonly isCut?: true;
    };

/** Most items of a fragment, as a round holds all of them in memory. */
const MOST_ITEMS = 10_000;
/** Most values of a payload. Parsed, 60 MB of `{},{},…` take 2 GB, so longer payloads are cut before parsing. */
const MOST_VALUES = 1_000_000;
/** Lines that are checked for an event before a text counts as a stream of events. */
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

/** Cuts one object. A list is refused, since no list of events has so many values. */
function itemsOfMany(text: string, payload: Buffer): Items {
  if (text.trimStart().startsWith('[')) return { reason: 'too-many-events' };
  const kept = pruned(payload);
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

/** Only events of standards come in lists. Hooks of agents do not. */
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

const isOurs = ({ event }: Item): boolean => event?.readings.some(reading => reading.ours) === true;

/** Orders the events of a list by their times. A journal keeps its own order. */
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

/** Returns the lines that are not blank; at most one more than the limit. */
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

/** The text of a bad item for the quarantine. */
export function textOf(item: unknown): string {
  try {
    return JSON.stringify(item);
  } catch {
    return '"nested too deeply to be kept"';
  }
}

const isStandard = (fields: Fields): boolean =>
  isOpenHook(fields) || isCloudEvent(fields) || isAgentHooks(fields) || isBaseCoat(fields);

/** `listed`: the item is part of a list, where an agent's own payload is not valid. */
export function itemOf(fields: Fields, listed?: 'listed', wrapped?: Wrapped): Item | Item[] | Unread {
  try {
    if (isOpenHook(fields)) return eventOf(fields, readOpenHook(fields), wrapped);
    if (wrapped === undefined && isCloudEvent(fields)) return insideOf(fields);
    if (isAgentHooks(fields)) return eventOf(fields, readAgentHooks(fields), wrapped);
    if (isBaseCoat(fields)) return eventOf(fields, readBaseCoat(fields), wrapped);
  } catch {
    // The item is nested too deeply. Only this item is quarantined.
    return 'invalid-event';
  }
  return listed === undefined ? { fields, wrapped } : 'unknown-agent';
}

function eventOf(fields: Fields, event: ForeignEvent | Unreadable, wrapped: Wrapped | undefined): Item | Unread {
  return isUnreadable(event) ? event.unreadable : { fields, event, wrapped };
}

/** Opens one envelope, not an envelope within it. The inside may be text, and may hold several events. */
function insideOf(fields: Fields): Item | Item[] | Unread {
  const wrapped = unwrap(fields);
  if (wrapped === undefined) return 'invalid-event';
  const { inside } = wrapped;
  if (isFields(inside)) return itemOf(inside, undefined, wrapped);
  const values = Array.isArray(inside) ? inside : typeof inside === 'string' ? valuesIn(inside) : [];
  if (values.length > MOST_ITEMS) return 'too-many-events';
  const [only] = values;
  if (values.length === 1 && isFields(only)) return itemOf(only, undefined, wrapped);
  // The envelope's id serves for a single event. Several events get numbered ids.
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
    // Invalid, or nested too deeply. No JSON text parses to undefined.
    return undefined;
  }
}
