/**
 * Validates texts against OpenHook 0.1: each envelope and its data, the order of a session's envelopes, the level that
 * each source reaches, and discovery files. Two texts of the standard disagree about the fields at the top;
 * docs/conformance.md describes which one the validator follows.
 *
 * The state of a stream is bounded: MAX_IDS ids, and MAX_SESSIONS sessions of MAX_CALLS calls each. Envelopes beyond
 * these limits are judged alone.
 */
import { canonicalJson, hexDigest } from '../../lib/hash.ts';
import type { Position } from '../../lib/json-position.ts';
import { own, text } from '../../lib/read.ts';
import { type EventJudge, eventsValidation, type Remark as RemarkOf } from '../events-text.ts';
import type { Asked, Reached, Standard } from '../validation.ts';
import { type Issue, isObject, kindOf, notOneOf, pathOf, shown, type Values, valueAt, wanted } from '../wording.ts';
import { isDiscovery, judgeDiscovery } from './discovery.ts';
import { type RuleId, rules } from './rules.ts';
import { dataSchemas, envelopeSchema, OPENHOOK_VERSION, reservedTypes, types } from './schema.ts';
import { zonedTime } from './time.ts';
import type { OpenHookType } from './to-openhook.ts';

export const openHook: Standard = {
  title: 'OpenHook',
  version: OPENHOOK_VERSION,
  rules,
  validation: (name, asked) => eventsValidation({ id: 'openhook', ...openHook }, name, asked, judge(name, asked)),
};

export type Remark = RemarkOf<RuleId>;
type Found = Remark & { at: Position };

const MAX_IDS = 1_000_000;
const MAX_SESSIONS = 100_000;
const MAX_CALLS = 1_024;
const CLOCK_MS = 1_000;

interface Session {
  source: string;
  first: Position;
  isStarted: boolean;
  isEnded: boolean;
  /** The rules of whole sessions that were reported, so that each is reported once. */
  reported: Set<RuleId>;
  newestMs: number;
  /** Calls that have begun, by id or by the tool's name, and how many of them are open. */
  open: Map<string, { at: Position; count: number }>;
  calls: Set<string>;
}

/** The facts that decide which level a source reaches. */
interface Emitter {
  first: Position;
  seen: Set<string>;
  /** Errors keep a source from level 1; unpaired calls and a missing transcript keep it from level 2. */
  faults: number;
  unpaired: boolean;
  withoutTranscript: boolean;
}

function judge(name: string, asked: Asked): EventJudge<RuleId> {
  const ids = new Map<string, string>();
  const sessions = new Map<string, Session>();
  const emitters = new Map<string, Emitter>();
  const isNamedDiscovery = /(^|[\\/])\.openhook\.json$/.test(name);
  let isFile = isNamedDiscovery;

  function event(value: unknown, at: Position, inStream: boolean): Remark[] {
    if (isNamedDiscovery || isDiscovery(value)) {
      isFile = true;
      return judgeDiscovery(value);
    }
    const remarks = judgeOpenHook(value);
    // The rules of streams apply to a single envelope as well if the caller requires a level.
    if (!isObject(value) || !(inStream || asked.level !== undefined)) return remarks;
    remarks.push(...judgeRepetition(value));
    const session = sessionOf(value, at);
    const emitter = emitterOf(value, at);
    if (session) remarks.push(...judgeInSession(value, session, at, emitter));
    if (emitter) {
      emitter.seen.add(text(value.type) ?? '');
      if (remarks.some(({ rule }) => rules[rule].level === 'error')) emitter.faults += 1;
    }
    return remarks;
  }

  function judgeRepetition(value: Values): Remark[] {
    const { source, id } = value;
    if (typeof id !== 'string' || id === '' || id.length > 256) return [];
    const key = `${text(source)?.slice(0, 64)}\0${id}`;
    const content = hexDigest(canonicalJson(value)).slice(0, 16);
    const known = ids.get(key);
    if (known === undefined) {
      if (ids.size < MAX_IDS) ids.set(key, content);
      return [];
    }
    return known === content
      ? [{ rule: 'stream/repeated', path: ['id'], why: `${shown(id)} was seen before, with the same content` }]
      : [{ rule: 'stream/id-reused', path: ['id'], why: `${shown(id)} was seen before, with another content` }];
  }

  function sessionOf({ session_id: id, source }: Values, at: Position): Session | undefined {
    if (typeof id !== 'string' || id === '' || id.length > 1_024 || typeof source !== 'string') return undefined;
    const known = sessions.get(id);
    if (known !== undefined || sessions.size >= MAX_SESSIONS) return known;
    const session: Session = {
      source,
      first: at,
      isStarted: false,
      isEnded: false,
      reported: new Set(),
      newestMs: Number.NEGATIVE_INFINITY,
      open: new Map(),
      calls: new Set(),
    };
    sessions.set(id, session);
    return session;
  }

  function emitterOf({ source }: Values, at: Position): Emitter | undefined {
    if (typeof source !== 'string' || source.length > 256) return undefined;
    const known = emitters.get(source);
    if (known !== undefined || emitters.size >= 1_000) return known;
    const emitter = { first: at, seen: new Set<string>(), faults: 0, unpaired: false, withoutTranscript: false };
    emitters.set(source, emitter);
    return emitter;
  }

  return {
    event,
    // A list of discovery files is not a discovery file.
    isOneValue: isNamedDiscovery,
    end() {
      if (isFile) return { found: [], format: 'file' };
      const found: Found[] = [];
      for (const [id, session] of sessions) {
        if (!asked.open && !session.isEnded) {
          found.push({
            rule: 'session/no-end',
            path: ['session_id'],
            at: session.first,
            why: `${shown(id)} has no session.end`,
          });
          const emitter = emitters.get(session.source);
          if (emitter) emitter.faults += 1;
        }
      }
      const levels =
        emitters.size === 0 ? undefined : [...emitters].map(([source, emitter]) => reached(source, emitter));
      for (const { source, level, missing } of levels ?? []) {
        const at = emitters.get(source)?.first ?? { line: 1, column: 1 };
        if (level >= (asked.level ?? 0)) continue;
        const why = `${shown(source)} reaches level ${level}; the next one lacks ${missing.join(', ')}`;
        found.push({ rule: 'level/not-reached', path: ['source'], at, why });
      }
      return { found, levels };
    },
  };
}

/** The types that level 2 requires besides session.end. */
const observable = ['session.start', 'prompt.submit', 'tool.start', 'tool.end'];

/** A stream can prove at most level 2: it does not show whether discovery files are read. */
function reached(source: string, { seen, faults, unpaired, withoutTranscript }: Emitter): Reached {
  const first = [
    ...(seen.has('session.end') ? [] : ['session.end']),
    ...(faults > 0 ? ['a stream without errors'] : []),
  ];
  if (first.length > 0) return { source, level: 0, missing: first };
  const second = [
    ...observable.filter(type => !seen.has(type)),
    ...(unpaired ? ['a tool.end for each tool.start'] : []),
    ...(withoutTranscript ? ['transcript_path'] : []),
  ];
  return second.length > 0
    ? { source, level: 1, missing: second }
    : { source, level: 2, missing: ['.openhook.json, which no stream can show'] };
}

/** Judges one envelope without its stream. */
export function judgeOpenHook(value: unknown): Remark[] {
  if (!isObject(value) || !Object.hasOwn(value, 'openhook')) {
    const why = isObject(value) ? 'the key openhook is missing' : `an envelope is an object, not ${kindOf(value)}`;
    return [{ rule: 'envelope/key', path: [], why }];
  }
  const remarks: Remark[] = [];
  const read = envelopeSchema.safeParse(value);
  if (!read.success) for (const issue of read.error.issues) remarks.push(envelopeRemark(issue, value));
  judgeStrings(value, remarks);
  for (const key of Object.keys(value).slice(0, 50)) {
    if (Object.hasOwn(envelopeSchema.shape, key)) continue;
    remarks.push(
      key === 'cwd'
        ? { rule: 'envelope/cwd', path: [key], why: 'cwd is the field of drafts of 0.1; use context' }
        : { rule: 'envelope/extra', path: [key], why: `${shown(key)} is no field of the envelope` },
    );
  }
  for (const part of ['data', 'extensions']) {
    for (const path of contentIn(value[part], [part])) {
      remarks.push({ rule: 'privacy/content', path, why: `${path.join('.')} looks like content` });
    }
  }
  const { type, data = {} } = value;
  const schema = own(dataSchemas, text(type) ?? '');
  return schema === undefined || !isObject(data) ? remarks : [...remarks, ...judgeData(text(type), data, schema)];
}

function judgeData(type: string | undefined, data: Values, schema: (typeof dataSchemas)[OpenHookType]): Remark[] {
  const remarks: Remark[] = [];
  const judged = schema.safeParse(data);
  if (!judged.success) for (const issue of judged.error.issues) remarks.push(dataRemark(issue, data));
  const { path: written, start_line: start, end_line: end, transcript_path: transcript } = data;
  if (type === 'file.write' && written === '')
    remarks.push({ rule: 'data/required', path: ['data', 'path'], why: 'data.path is empty' });
  if (type === 'file.write' && typeof start === 'number' && typeof end === 'number' && end < start) {
    remarks.push({ rule: 'data/lines', path: ['data', 'end_line'], why: `${end} is before start_line ${start}` });
  }
  if (type === 'session.end' && typeof transcript === 'string' && !/^(\/|[A-Za-z]:[\\/]|\\\\)/.test(transcript)) {
    remarks.push({
      rule: 'data/transcript-path',
      path: ['data', 'transcript_path'],
      why: `${shown(transcript)} is not absolute`,
    });
  }
  return remarks;
}

const required = ['openhook', 'id', 'source', 'type', 'time', 'session_id'];

function envelopeRemark(issue: Issue, value: Values): Remark {
  const path = pathOf(issue);
  const actual = valueAt(value, path);
  const field = path.join('.');
  if (actual === undefined) return { rule: 'envelope/required', path, why: `${field} is missing` };
  return { rule: 'envelope/type', path, why: `${field} is ${kindOf(actual)}, not ${wanted(issue)}` };
}

/** Judges the format of required strings. The schema reports those that are missing or of another type. */
function judgeStrings(value: Values, remarks: Remark[]): void {
  for (const field of required) {
    if (value[field] === '') remarks.push({ rule: 'envelope/empty', path: [field], why: `${field} is empty` });
  }
  const { openhook, source, type, time, context } = value;
  const is = (field: unknown): field is string => typeof field === 'string' && field !== '';
  if (is(openhook) && !/^\d+\.\d+$/.test(openhook)) {
    remarks.push({
      rule: 'envelope/version',
      path: ['openhook'],
      why: `${shown(openhook)} is not a version such as '0.1'`,
    });
  } else if (is(openhook) && openhook !== OPENHOOK_VERSION) {
    const why = `${shown(openhook)} was judged as ${OPENHOOK_VERSION}`;
    remarks.push({ rule: 'envelope/unknown-version', path: ['openhook'], why });
  }
  if (is(source) && !/^[a-z][a-z0-9-]*$/.test(source)) {
    remarks.push({
      rule: 'envelope/source',
      path: ['source'],
      why: `${shown(source)} is not a name such as 'some-tool'`,
    });
  }
  if (is(type) && !types.includes(type)) {
    const isNewer = openhook !== OPENHOOK_VERSION && /^[a-z]+(\.[a-z]+)+$/.test(type);
    const hint = reservedTypes.includes(type) ? '; it is reserved for a later version' : '';
    if (!isNewer) remarks.push({ rule: 'envelope/event-type', path: ['type'], why: `${notOneOf(type, types)}${hint}` });
  }
  if (is(time) && zonedTime(time) === undefined) {
    const why = `${shown(time)} is not a time with a zone such as '2026-02-08T19:22:11.123Z'`;
    remarks.push({ rule: 'envelope/time', path: ['time'], why });
  }
  if (typeof context === 'string' && !URI.test(context)) {
    const why = `${shown(context)} is not a URI such as 'file:///home/ada/shop'`;
    remarks.push({ rule: 'envelope/context', path: ['context'], why });
  }
}

/** A scheme, and no characters that a URI cannot hold. A single letter before the colon is a drive, not a scheme. */
const URI = /^[a-z][a-z0-9+.-]+:[^\s<>"{}|\\^`]+$/i;

function dataRemark(issue: Issue, data: Values): Remark {
  const inner = pathOf(issue);
  const path = ['data', ...inner];
  const actual = valueAt(data, inner);
  const field = path.join('.');
  if (actual === undefined) return { rule: 'data/required', path, why: `${field} is missing` };
  if (issue.code === 'invalid_value' && typeof actual === 'string')
    return { rule: 'data/enum', path, why: notOneOf(actual, issue.values) };
  if (issue.code === 'too_small')
    return { rule: 'data/range', path, why: `${shown(actual)} is below ${issue.minimum}` };
  return { rule: 'data/type', path, why: `${field} is ${kindOf(actual)}, not ${wanted(issue)}` };
}

/** Field names under which payloads of agents carry prompts, answers, and the inputs and outputs of tools. */
const contents = new Set(
  `prompt prompt_text user_prompt content message text thought reasoning response last_assistant_message input tool_input
  arguments args command output tool_output tool_response tool_result result stdout stderr diff patch old_string new_string`.split(
    /\s+/,
  ),
);
const MAX_CONTENTS = 10;

/** Returns the paths of content: the outermost fields with such a name and a value. */
function contentIn(
  value: unknown,
  path: readonly (string | number)[],
  found: (string | number)[][] = [],
): (string | number)[][] {
  if (path.length > 8 || typeof value !== 'object' || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (found.length >= MAX_CONTENTS) break;
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    const isContent =
      contents.has(key) && (typeof inner === 'string' ? inner !== '' : isObject(inner) || Array.isArray(inner));
    if (isContent) found.push(at);
    else contentIn(inner, at, found);
  }
  return found;
}

function judgeInSession(value: Values, session: Session, at: Position, emitter: Emitter | undefined): Remark[] {
  const remarks: Remark[] = [];
  const { type, source, time } = value;
  const data = isObject(value.data) ? value.data : {};
  const once = (rule: RuleId, field: string, why: string): void => {
    if (session.reported.has(rule)) return;
    session.reported.add(rule);
    remarks.push({ rule, path: [field], why });
  };
  if (source !== session.source) {
    once('session/source', 'source', `${shown(source)}, and ${shown(session.source)} before in this session`);
  }
  const ms = Date.parse(zonedTime(text(time) ?? '') ?? '');
  if (ms < session.newestMs - CLOCK_MS) {
    once('session/clock', 'time', `${(session.newestMs - ms) / 1_000} s before the newest one of this session`);
  }
  session.newestMs = Math.max(session.newestMs, Number.isNaN(ms) ? session.newestMs : ms);
  if (type === 'session.start') {
    if (!session.isEnded && session.first !== at) {
      once('session/start-first', 'type', 'session.start after other events of this session');
    }
    session.isStarted = true;
    session.isEnded = false;
  } else if (session.isEnded && type !== 'session.end') {
    once('session/end-last', 'type', `${shown(type)} after the session.end of this session`);
  }
  remarks.push(...judgeCalls(value, data, session, at, emitter));
  if (type === 'session.end') endSession(value, data, session, emitter, once);
  return remarks;
}

function endSession(
  value: Values,
  data: Values,
  session: Session,
  emitter: Emitter | undefined,
  once: (rule: RuleId, field: string, why: string) => void,
): void {
  session.isEnded = true;
  if (data.transcript_path === undefined && !hasNoTranscript(value)) {
    if (emitter) emitter.withoutTranscript = true;
    once('session/transcript', 'data', 'session.end without transcript_path');
  }
  for (const [call, { count }] of session.open) {
    if (emitter) emitter.unpaired = true;
    const many = count > 1 ? `, ${count} times` : '';
    once('tool/unfinished', 'type', `${shown(call)} has a tool.start and no tool.end${many}`);
  }
  session.open.clear();
}

/** The standard has no field that states that an agent keeps no transcript. */
const hasNoTranscript = ({ extensions }: Values): boolean =>
  isObject(extensions) && isObject(extensions['otel-hooks']) && extensions['otel-hooks'].transcript === 'none';

const noCall = (call: string): Remark => ({
  rule: 'file/no-call',
  path: ['data', 'tool_call_id'],
  why: `no tool event before has ${shown(call)}`,
});

function judgeCalls(
  { type }: Values,
  { tool_call_id: id, tool_name: tool }: Values,
  { open, calls }: Session,
  at: Position,
  emitter: Emitter | undefined,
): Remark[] {
  const call = typeof id === 'string' && id !== '' ? id : undefined;
  const key = call ?? (typeof tool === 'string' ? tool : '');
  if (key.length > 1_024) return [];
  if (type === 'file.write') return call === undefined || calls.has(call) ? [] : [noCall(call)];
  if (type !== 'tool.start' && type !== 'tool.end') return [];
  if (call !== undefined && calls.size < MAX_CALLS * 16) calls.add(call);
  const known = open.get(key);
  if (type === 'tool.end') return endCall(call, key, open, emitter);
  if (known) known.count += 1;
  else if (open.size < MAX_CALLS) open.set(key, { at, count: 1 });
  return [];
}

function endCall(call: string | undefined, key: string, open: Session['open'], emitter: Emitter | undefined): Remark[] {
  const known = open.get(key);
  if (known === undefined) {
    if (emitter) emitter.unpaired = true;
    const why = `no tool.start before it ${call === undefined ? 'is of this tool' : `has ${shown(call)}`}`;
    return [{ rule: 'tool/end-without-start', path: call === undefined ? ['data'] : ['data', 'tool_call_id'], why }];
  }
  known.count -= 1;
  if (known.count === 0) open.delete(key);
  return [];
}
