/**
 * Parses and checks a body. An event that delivery would put into quarantine is refused here, by the same functions,
 * while the sender waits for the answer. Valid events are written unchanged, byte for byte.
 *
 * The common case is one valid event, and it is parsed once, by Node. Only a value that breaks a rule is read again,
 * for its position.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { agents } from '../agents/index.ts';
import { decoded } from '../config/pairs.ts';
import { type EventType, FACTS, type Fields } from '../event/event.ts';
import { isId } from '../identify/event-ids.ts';
import { BOM, parseJson, positionsIn, skipBlank } from '../lib/json-position.ts';
import { isFields, own } from '../lib/read.ts';
import { type Item, itemOf } from '../receive/items.ts';
import { type Reject, refusalOf } from '../receive/receive.ts';
import { isAgentHooks } from '../standards/agent-hooks/agent-hooks.ts';
import { agentHooks } from '../standards/agent-hooks/agent-hooks-validator.ts';
import { dataSchemas, envelopeSchema } from '../standards/agent-hooks/schema.ts';
import { baseCoat, judgeBaseCoat } from '../standards/base-coat/base-coat-validator.ts';
import { isCloudEvent, lackIn, unwrap } from '../standards/cloudevents/cloudevents.ts';
import type { ForeignEvent } from '../standards/foreign-event.ts';
import { isOpenHook } from '../standards/openhook/openhook.ts';
import { judgeOpenHook, openHook } from '../standards/openhook/openhook-validator.ts';
import type { Standard } from '../standards/validation.ts';

/** The rule that an event breaks, and the position in the body. */
export interface Fault {
  rule: string;
  line: number;
  column: number;
  /** JSON pointer to the field that breaks the rule, if it is a single field. */
  field?: string | undefined;
  why: string;
}

export interface Intake {
  /** The bytes for the inbox; undefined when no event is accepted. */
  payload: Uint8Array | undefined;
  /** The body is one event of a standard, in one line. */
  isLine?: boolean | undefined;
  /** One entry for each event in the order of the body; undefined for an accepted event. */
  verdicts: (Fault | undefined)[];
}

/** The stated kind of a body. `any`: the content decides; `hook`: an agent's own hook. */
export type Form = 'any' | 'one' | 'list' | 'lines' | 'hook';

/** The facts of a request beside its body. */
export interface RequestFacts {
  form: Form;
  /** The type of the body is one of Agent Hooks' own. */
  isAgentHooks?: boolean | undefined;
  /** Header of the fragment: the agent that a hook was registered for, and the event's name. */
  header: Readonly<Record<string, string>>;
  /** The attributes of a CloudEvent in binary mode, whose data the body is. */
  attributes?: Readonly<Record<string, string>> | undefined;
}

const MOST_EVENTS = 1_000;
const MOST_LEVELS = 512;
const MOST_NAMES = 50_000;

const forms: Readonly<Record<string, Form>> = {
  'application/json': 'any',
  'application/vnd.agent-hooks.event+json': 'one',
  'application/vnd.agent-hooks.stream+jsonl': 'lines',
  'application/jsonl': 'lines',
  'application/x-ndjson': 'lines',
  'application/cloudevents+json': 'one',
  'application/cloudevents-batch+json': 'list',
};

/**
 * Returns undefined if the type is not one of events, or its charset is not UTF-8. The types that a web page may send
 * without a preflight request are not types of events.
 */
export function formOf(contentType: string | undefined): Form | undefined {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const strange = parameters.some(each => !/^\s*(charset="?utf-8"?)?\s*$/.test(each) && /^\s*charset=/.test(each));
  return strange ? undefined : own(forms, type.trim());
}

/**
 * Reads CloudEvents in binary mode, whose attributes are percent-encoded headers. Returns the attributes, or the fault
 * in them; undefined without such headers.
 */
export function attributesOf(
  headers: IncomingHttpHeaders,
): { attributes: Readonly<Record<string, string>> } | { fault: Fault } | undefined {
  // The type of the body says that it is an envelope, and the type takes precedence.
  const isEnvelope = headers['content-type']?.toLowerCase().startsWith('application/cloudevents');
  if (headers['ce-specversion'] === undefined || isEnvelope) return undefined;
  const attributes: Record<string, string> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith('ce-')) continue;
    const name = header.slice('ce-'.length);
    const text = typeof value === 'string' ? decoded(value) : undefined;
    // `data` would replace the body.
    if (!/^[a-z0-9]{1,32}$/.test(name) || name === 'data' || text === undefined)
      return { fault: faultOf('cloudevents/attribute', `${header} is no attribute in percent-encoding`) };
    attributes[name] = text;
  }
  return { attributes };
}

const faultOf = (rule: string, why: string): Fault => ({ rule, line: 1, column: 1, why });

export function intakeOf(body: Uint8Array, request: RequestFacts): Intake {
  if (!isUtf8(body)) return refused(faultOf('json/utf-8', 'the body is no UTF-8'));
  const marked = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  const text = marked.charCodeAt(0) === BOM ? marked.slice(1) : marked;
  const limit = limitOver(body);
  if (limit !== undefined) return refused(limit);
  const { attributes } = request;
  if (attributes !== undefined) return wrapped(text, attributes, request);
  const value = parsed(text);
  if (value === undefined) return several(text, request);
  if (Array.isArray(value)) return listed(value, text, body, request);
  if (request.form === 'list') return refused(faultOf('body/list', 'the body is no list'));
  const verdict = verdictOn(value, wholeOf(text), request);
  if (verdict !== undefined) return refused(verdict);
  return {
    payload: body,
    isLine: request.form !== 'hook' && text === marked && !body.includes(NEWLINE),
    verdicts: taken,
  };
}

const taken: Intake['verdicts'] = [undefined];
const refused = (why: Fault): Intake => ({ payload: undefined, verdicts: [why] });

function listed(values: readonly unknown[], text: string, body: Uint8Array, request: RequestFacts): Intake {
  if (request.form === 'one' || request.form === 'hook' || request.form === 'lines')
    return refused(faultOf('body/one', 'a list stands where an event is expected'));
  // A batch of CloudEvents may be empty.
  if (values.length === 0)
    return request.form === 'list'
      ? { payload: undefined, verdicts: [] }
      : refused(faultOf('body/empty', 'the list is empty'));
  if (values.length > MOST_EVENTS) return refused(tooMany);
  // The body is complete and valid, like nearly all bodies.
  if (values.every(value => verdictOn(value, undefined, request) === undefined))
    return { payload: body, verdicts: values.map(() => undefined) };
  const parts: Part[] = [];
  const position = positionsIn(text);
  for (let at = skipBlank(text, text.indexOf('[') + 1); parts.length < values.length; ) {
    const read = parseJson(text, { start: at });
    if (!read.ok) return refused(faultOf('json/syntax', read.why));
    parts.push({ text, from: read.start, end: read.end, position });
    at = skipBlank(text, skipBlank(text, read.end) + 1);
  }
  return sifted(
    parts,
    values.map((value, i) => verdictOn(value, parts[i], request)),
  );
}

/** The body is not one JSON text: it has one event per line, or is damaged. */
function several(text: string, request: RequestFacts): Intake {
  if (text.trim() === '') return refused(faultOf('body/empty', 'the body is empty'));
  const isStream = request.form === 'lines' || (request.form === 'any' && /^\s*\{[^\n]*\r?\n\s*\{/.test(text));
  const parts = isStream ? linesOf(text) : [wholeOf(text)];
  if (parts.length > MOST_EVENTS) return refused(tooMany);
  return sifted(
    parts,
    parts.map(part => verdictOn(parsed(part.text.slice(part.from, part.end)), part, request)),
  );
}

const tooDeep = faultOf('limit/depth', `nested deeper than ${MOST_LEVELS} levels`);
const tooManyNames = faultOf('limit/names', `more than ${MOST_NAMES} names of fields`);
const tooMany = faultOf('limit/events', `more than ${MOST_EVENTS} events in one request`);

/** The position of an event in the body. */
interface Part {
  text: string;
  from: number;
  end: number;
  /** One function for all parts: called in their order, it reads the text once. */
  position: ReturnType<typeof positionsIn>;
}

const wholeOf = (text: string): Part => ({ text, from: 0, end: text.length, position: positionsIn(text) });

function linesOf(text: string): Part[] {
  const parts: Part[] = [];
  const position = positionsIn(text);
  for (let from = 0; from < text.length && parts.length <= MOST_EVENTS; ) {
    const newline = text.indexOf('\n', from);
    const end = newline < 0 ? text.length : newline;
    if (skipBlank(text, from, end) < end) parts.push({ text, from, end, position });
    from = end + 1;
  }
  return parts;
}

/** Returns the accepted events as a list of their unchanged texts. */
function sifted(parts: readonly Part[], verdicts: (Fault | undefined)[]): Intake {
  const good = parts.filter((_, i) => verdicts[i] === undefined).map(({ text, from, end }) => text.slice(from, end));
  return { payload: good.length === 0 ? undefined : Buffer.from(`[${good.join(',')}]`), verdicts };
}

/** Puts the body into an envelope, which carries the facts of the headers. */
function wrapped(text: string, attributes: Readonly<Record<string, string>>, request: RequestFacts): Intake {
  const { form } = request;
  const data = form === 'lines' ? JSON.stringify(text) : text;
  const inside = parsed(data);
  if (inside === undefined) return several(text, { ...request, form: 'one' });
  const envelope = `${JSON.stringify(attributes).slice(0, -1)},"data":${data}}`;
  const verdict = verdictOn({ ...attributes, data: inside }, undefined, request);
  return { payload: verdict === undefined ? Buffer.from(envelope) : undefined, verdicts: [verdict] };
}

function verdictOn(value: unknown, part: Part | undefined, request: RequestFacts): Fault | undefined {
  if (value === undefined) return part && unparsed(part);
  const blame = (rule: string, why: string): Fault => ({ rule, ...placeOf(part), why });
  if (!isFields(value)) return blame('event/object', 'an event is an object');
  if (isSurelyGood(value)) return undefined;
  for (const inner of innerTexts(value)) {
    const limit = limitOver(inner);
    if (limit !== undefined) return blame(limit.rule, limit.why);
  }
  const read = itemOf(value, request.form === 'hook' ? undefined : 'listed');
  if (typeof read === 'string') return unreadFault(value, part, request) ?? blame(...reasons[read]);
  for (const item of Array.isArray(read) ? read : [read]) {
    const refusal = refusalOf(item, { header: request.header }, agents);
    if (refusal !== undefined) return blame(...reasons[refusal]);
    const found = breachOf(item, part, request);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An event that a reader would accept although its standard forbids it. The sender gets the fault. */
function breachOf(item: Item, part: Part | undefined, { form }: RequestFacts): Fault | undefined {
  const { event, fields } = item;
  if (event?.standard === 'agent-hooks') return isValid(fields) ? undefined : breachIn(agentHooks, item, part);
  if (event === undefined || form === 'hook') return undefined;
  const [standard, judged] =
    event.standard === 'openhook' ? [openHook, judgeOpenHook(fields)] : [baseCoat, judgeBaseCoat(fields)];
  const broken = judged.filter(({ rule }) => standard.rules[rule]?.level === 'error' && !isUnderstood(rule, event));
  return broken.length === 0 ? undefined : breachIn(standard, item, part, new Set(broken.map(({ rule }) => rule)));
}

/** A time without a zone counts as UTC, and the platforms' names of hook points are known. */
const isUnderstood = (rule: string, { atMs, readings }: ForeignEvent): boolean =>
  (rule === 'envelope/time' && atMs !== undefined) ||
  (rule === 'event/hook' && readings.every(({ event_type: type }) => !type.startsWith('vendor.')));

function unparsed({ text, from, end, position }: Part): Fault {
  const read = parseJson(text, { start: from, end });
  const offset = read.ok ? skipBlank(text, read.end, end) : read.offset;
  return {
    rule: 'json/syntax',
    ...position(offset),
    why: read.ok ? 'more text after the event' : read.why,
  };
}

const placeOf = (part: Part | undefined): { line: number; column: number } =>
  part === undefined ? { line: 1, column: 1 } : part.position(skipBlank(part.text, part.from, part.end));

const reasons: Readonly<Record<Reject, [rule: string, why: string]>> = {
  empty: ['body/empty', 'there is no event'],
  'not-json': ['json/syntax', 'the event is no JSON'],
  'not-an-object': ['event/object', 'an event is an object'],
  'invalid-event': [
    'event/envelope',
    'lacks a field that its standard requires of every event, or has it in another form',
  ],
  'no-session-id': ['event/session', 'does not name its session'],
  'bad-session-id': [
    'event/session',
    'the id of its session is longer than 256 characters or holds control characters',
  ],
  'no-event-name': ['event/name', 'has no event name'],
  'too-many-events': ['limit/events', `more than ${MOST_EVENTS} events in one request`],
  'too-many-values': ['limit/values', 'the event holds more values than are kept'],
  'unknown-agent': [
    'event/unknown',
    "is no event of Agent Hooks, OpenHook or Base Coat, and no CloudEvent; an agent's own hook is sent to /hooks/<agent>",
  ],
};

/** Checks the common case with less work: these checks include those of the drain for such an event. */
function isSurelyGood(fields: Fields): boolean {
  const { session_id: session, parent_session_id: parent, metadata } = fields;
  const isPlain = isAgentHooks(fields) && !isOpenHook(fields) && !isCloudEvent(fields) && parent === undefined;
  if (!isPlain || typeof session !== 'string' || session === '' || !isId(session)) return false;
  return !(isFields(metadata) && FACTS in metadata) && isValid(fields);
}

/** True: the event is certainly valid. False: it may be valid, and the full check decides. */
function isValid(fields: Fields): boolean {
  const { event_type: type, data } = fields;
  const schema = own(dataSchemas as Readonly<Record<string, (typeof dataSchemas)[EventType]>>, String(type));
  return envelopeSchema.safeParse(fields).success && (schema === undefined || schema.safeParse(data ?? {}).success);
}

/** Returns the fault of an event that no reader accepts, as a rule of the standard that the event seems to follow. */
function unreadFault(fields: Fields, part: Part | undefined, request: RequestFacts): Fault | undefined {
  const isWrapper = isCloudEvent(fields);
  const wrapped = isWrapper ? unwrap(fields) : undefined;
  if (isWrapper && wrapped === undefined) {
    const name = lackIn(fields);
    return {
      rule: 'cloudevents/required',
      ...placeOf(part),
      field: `/${name}`,
      why: `${name} is missing, or not as CloudEvents 1.0 has it`,
    };
  }
  const inside = wrapped === undefined ? fields : wrapped.inside;
  if (request.form === 'hook' || !isFields(inside)) return undefined;
  const standard = standardMeant(inside, request);
  return standard && breachIn(standard, { fields: inside, wrapped }, part);
}

function standardMeant(fields: Fields, { isAgentHooks = false }: RequestFacts): Standard | undefined {
  if (isOpenHook(fields)) return openHook;
  if (isAgentHooks || 'spec_version' in fields || 'event_type' in fields) return agentHooks;
  return 'hook' in fields && 'sessionId' in fields ? baseCoat : undefined;
}

/**
 * Returns the first rule of the standard that an event breaks, with its position. Inside an envelope only the field is
 * known.
 */
function breachIn(
  standard: Standard,
  { fields, wrapped }: Item,
  part: Part | undefined,
  broken?: ReadonlySet<string>,
): Fault | undefined {
  const own = wrapped === undefined ? part : undefined;
  const validation = standard.validation('event', {});
  validation.write(own === undefined ? JSON.stringify(fields) : own.text.slice(own.from, own.end));
  const { findings } = validation.end();
  const found = findings.find(({ level, rule }) => level === 'error' && (broken?.has(rule) ?? true));
  if (found === undefined) return undefined;
  const { rule, field, why, line, column } = found;
  if (own === undefined) return { rule, ...placeOf(part), field, why };
  const start = own.position(own.from);
  return { rule, line: start.line + line - 1, column: line === 1 ? start.column + column - 1 : column, field, why };
}

/** Text inside an envelope of CloudEvents is read as JSON too. */
function innerTexts({ data, data_base64 }: Fields): Buffer[] {
  const texts = typeof data === 'string' ? [Buffer.from(data)] : [];
  return typeof data_base64 === 'string' ? [...texts, Buffer.from(data_base64, 'base64')] : texts;
}

/**
 * Checks the bytes before any parser reads them: a million levels or names keep Node's parser busy for seconds, and a walk
 * over so many levels overflows the stack.
 */
function limitOver(bytes: Uint8Array): Fault | undefined {
  let levels = 0;
  let names = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === COLON) {
      names += 1;
      if (names > MOST_NAMES) return tooManyNames;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      levels += 1;
      if (levels > MOST_LEVELS) return tooDeep;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) levels -= 1;
  }
  return undefined;
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const [OPEN_BRACKET, CLOSE_BRACKET] = [0x5b, 0x5d];
const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d];

/** Returns the position of the closing quote: an even number of backslashes precedes it. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let before = at - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  return bytes.length;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON. The caller reads it again to find the position.
    return undefined;
  }
}
