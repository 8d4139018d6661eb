/**
 * Holds a text against Agent Hooks 0.1: one event, an array of events, or a stream of one event per line.
 *
 * Made for texts from strangers. Events are read one at a time and dropped, nothing recurses with the depth of the
 * text, and what is remembered is bounded: findings, the event's own values, and MAX_IDS event ids.
 */
import type { core } from 'zod';
import { type EventType, eventTypes, SPEC_VERSION } from '../../event/event.ts';
import {
  BOM,
  jsonPointer,
  type Parsed,
  type Path,
  type Position,
  parseJson,
  placeOf,
  positionsIn,
  skipBlank,
} from '../../lib/json-position.ts';
import { type Finding, MAX_FINDINGS, type Report } from '../report.ts';
import { type RuleId, rules } from './rules.ts';
import { conventionFields, dataSchemas, envelopeSchema, errorTypes, notificationTypes, planTypes } from './schema.ts';

const MAX_DEPTH = 512;
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;
const MAX_IDS = 1_000_000;

/** `name` is only shown, except that `.jsonl` and `.ndjson` say how the text is cut into events. */
export function validateAgentHooks(text: string, name: string): Report {
  const format = formatOf(text, name);
  const judge = createJudge(text);
  const { report } = judge;
  if (text.charCodeAt(0) === BOM) judge.finding('json/bom', 0, [], 'starts with a byte order mark; it was skipped');
  const start = text.charCodeAt(0) === BOM ? 1 : 0;

  if (format === 'jsonl') judgeLines(text, start, judge);
  else if (format === 'json-array') judgeArray(text, start, judge);
  else judgeDocument(text, start, judge);

  if (report.events === 0 && report.errors === 0) judge.finding('stream/empty', start, [], 'holds no event');
  return {
    standard: 'agent-hooks',
    version: SPEC_VERSION,
    name,
    format,
    ok: report.errors === 0,
    ...report,
  };
}

/** Two lines that both begin with a brace in the first column can be no single JSON text, so they are a stream. */
function formatOf(text: string, name: string): Report['format'] {
  if (/\.(jsonl|ndjson)$/i.test(name)) return 'jsonl';
  const start = skipBlank(text, text.charCodeAt(0) === BOM ? 1 : 0);
  if (text[start] === '[') return 'json-array';
  const lineEnd = text.indexOf('\n', start);
  if (text[start] !== '{' || lineEnd === -1) return 'json';
  let next = lineEnd + 1;
  while (text[next] === '\n' || text[next] === '\r') next++;
  return text[next] === '{' ? 'jsonl' : 'json';
}

function judgeLines(text: string, start: number, judge: Judge): void {
  for (let lineStart = start; lineStart < text.length; ) {
    const newline = text.indexOf('\n', lineStart);
    const lineEnd = newline === -1 ? text.length : newline;
    const from = skipBlank(text, lineStart, lineEnd);
    if (from < lineEnd) {
      const end = judge.event(from, lineEnd);
      const rest = end === undefined ? lineEnd : skipBlank(text, end, lineEnd);
      if (rest < lineEnd) judge.finding('json/syntax', rest, [], 'more text after the event of this line');
    }
    lineStart = lineEnd + 1;
  }
}

function judgeArray(text: string, start: number, judge: Judge): void {
  let at = skipBlank(text, skipBlank(text, start) + 1);
  if (text[at] === ']') at++;
  else {
    for (;;) {
      const end = judge.event(at, text.length);
      // Without its end an element cannot be told from the next one.
      if (end === undefined) return;
      at = skipBlank(text, end);
      if (text[at] === ']') break;
      if (text[at] !== ',') {
        const what = at >= text.length ? 'the end of the text' : 'something else';
        judge.finding('json/syntax', at, [], `${what} where ',' or ']' is expected`);
        return;
      }
      at = skipBlank(text, at + 1);
    }
    at++;
  }
  at = skipBlank(text, at);
  if (at < text.length) judge.finding('json/syntax', at, [], 'more text after the array');
}

function judgeDocument(text: string, start: number, judge: Judge): void {
  const end = judge.event(start, text.length);
  if (end === undefined) return;
  const rest = skipBlank(text, end);
  if (rest < text.length)
    judge.finding('json/syntax', rest, [], 'more text after the event; a stream has one event per line');
}

interface Judge {
  readonly report: Pick<Report, 'events' | 'valid' | 'errors' | 'warnings' | 'findings' | 'omitted'>;
  finding(rule: RuleId, offset: number, path: Path, why: string): void;
  /** Judges the event that starts at `from`; returns where it ends, or undefined when that cannot be known. */
  event(from: number, end: number): number | undefined;
}

interface Remark {
  rule: RuleId;
  path: Path;
  why: string;
}

function createJudge(text: string): Judge {
  const report: Judge['report'] = { events: 0, valid: 0, errors: 0, warnings: 0, findings: [], omitted: 0 };
  const position = positionsIn(text);
  const ids = new Set<string>();

  function finding(rule: RuleId, offset: number, path: Path, why: string): void {
    const { level } = rules[rule];
    if (level === 'error') report.errors++;
    else report.warnings++;
    if (report.findings.length >= MAX_FINDINGS) {
      report.omitted++;
      return;
    }
    const { line, column }: Position = position(offset);
    report.findings.push({ level, rule, line, column, field: plain(jsonPointer(path), 200), why } satisfies Finding);
  }

  function event(from: number, end: number): number | undefined {
    report.events++;
    const limit = Math.min(end, from + MAX_EVENT_CHARACTERS);
    const parsed = parseJson(text, { start: from, end: limit, maxDepth: MAX_DEPTH });
    if (!parsed.ok) {
      if (parsed.kind === 'depth') finding('limit/depth', parsed.offset, [], parsed.why);
      else if (parsed.kind === 'end' && limit < end)
        finding('limit/size', from, [], `longer than ${MAX_EVENT_CHARACTERS} characters`);
      else finding('json/syntax', parsed.offset, [], parsed.why);
      return undefined;
    }

    const remarks = judgeEvent(parsed.value);
    const id = isObject(parsed.value) ? parsed.value.event_id : undefined;
    if (typeof id === 'string' && id.length <= 64) {
      if (ids.has(id))
        remarks.push({ rule: 'stream/duplicate-event-id', path: ['event_id'], why: `${shown(id)} was seen before` });
      else if (ids.size < MAX_IDS) ids.add(id);
    }
    if (!remarks.some(remark => rules[remark.rule].level === 'error')) report.valid++;
    place(parsed, remarks, from, limit);
    return parsed.end;
  }

  /** Only an event that gave cause is read again for its places. */
  function place(parsed: Parsed & { ok: true }, remarks: Remark[], start: number, end: number): void {
    if (remarks.length === 0 && parsed.duplicates.length === 0) return;
    const placed =
      report.findings.length < MAX_FINDINGS
        ? parseJson(text, { start, end, maxDepth: MAX_DEPTH, places: true })
        : parsed;
    const offsetOf = (path: Path) => (placed.ok ? placeOf(placed, path) : start);
    const found = [
      ...remarks.map(remark => ({ ...remark, offset: offsetOf(remark.path) })),
      ...parsed.duplicates.map(({ offset, path }) => ({
        rule: 'json/duplicate-key' as const,
        offset,
        path,
        why: `${shown(path.at(-1))} stands twice in this object; the last one was judged`,
      })),
    ];
    found.sort((a, b) => a.offset - b.offset);
    for (const { rule, offset, path, why } of found) finding(rule, offset, path, why);
  }

  return { report, finding, event };
}

/** What is wrong with one value, in no order. */
function judgeEvent(value: unknown): Remark[] {
  if (!isObject(value))
    return [{ rule: 'envelope/type', path: [], why: `an event is an object, not ${kindOf(value)}` }];
  const remarks: Remark[] = [];
  const envelope = envelopeSchema.safeParse(value);
  if (!envelope.success) {
    for (const issue of envelope.error.issues) remarks.push(envelopeRemark(issue, value));
  }
  adviseEnvelope(value, remarks);

  const { event_type: type, data } = value;
  if (!isEventType(type)) return remarks;
  if (data === undefined) {
    if (isActionEvent(type)) remarks.push({ rule: 'data/expected', path: [], why: `${type} without data.action` });
    return remarks;
  }
  if (!isObject(data)) return remarks;
  const judged = dataSchemas[type].safeParse(data);
  if (!judged.success) {
    for (const issue of judged.error.issues) remarks.push(dataRemark(issue, type, data));
  }
  adviseData(type, data, remarks);
  return remarks;
}

type Issue = core.$ZodIssue;
type Values = { readonly [key: string]: unknown };

function envelopeRemark(issue: Issue, value: Values): Remark {
  const path = pathOf(issue);
  const actual = valueAt(value, path);
  const field = path.join('.');
  if (actual === undefined) return { rule: 'envelope/required', path, why: `${field} is missing` };
  if (issue.code === 'invalid_value') {
    const hint = field === 'actor.type' && actual === 'agent' ? "; the code of an agent is 'ai_agent'" : '';
    return { rule: 'envelope/enum', path, why: `${notOneOf(actual, issue.values)}${hint}` };
  }
  if (issue.code === 'too_small' || issue.code === 'too_big') {
    return { rule: 'envelope/range', path, why: `${shown(actual)} is outside 0 to 100` };
  }
  if (field === 'spec_version' && typeof actual === 'string') {
    return { rule: 'envelope/spec-version', path, why: `${shown(actual)} is not a version such as '0.1.0'` };
  }
  if (field === 'event_id' && typeof actual === 'string') {
    return { rule: 'envelope/event-id', path, why: `${shown(actual)} has not the form of a UUID` };
  }
  if (field === 'timestamp' && typeof actual === 'string') {
    return {
      rule: 'envelope/timestamp',
      path,
      why: `${shown(actual)} is not a date-time such as '2026-02-08T19:22:11.123Z'`,
    };
  }
  return { rule: 'envelope/type', path, why: `${field} is ${kindOf(actual)}, not ${wanted(issue)}` };
}

function dataRemark(issue: Issue, type: EventType, data: Values): Remark {
  const inner = pathOf(issue);
  const path = ['data', ...inner];
  const actual = valueAt(data, inner);
  const field = path.join('.');
  const convention: readonly string[] = conventionFields[type] ?? [];
  if (actual === undefined) return { rule: 'data/expected', path, why: `${field} is missing` };
  if (issue.code === 'invalid_value' && typeof actual === 'string') {
    if (actual.includes(' | '))
      return { rule: 'data/placeholder', path, why: `${shown(actual)} is a list of words, not one of them` };
    return { rule: 'data/enum', path, why: notOneOf(actual, issue.values) };
  }
  if (issue.code === 'too_small' || issue.code === 'too_big') {
    return { rule: 'data/range', path, why: `${shown(actual)} is outside 0 to 100` };
  }
  const rule = convention.includes(String(inner[0])) ? 'data/convention' : 'data/type';
  return { rule, path, why: `${field} is ${kindOf(actual)}, not ${wanted(issue)}` };
}

function adviseEnvelope(value: Values, remarks: Remark[]): void {
  const { event_type: type, spec_version: version, session_id: session } = value;
  if (typeof type === 'string' && !isEventType(type)) {
    if (!type.startsWith('vendor.')) {
      const alike = eventTypes.find(known => known.toLowerCase() === type.toLowerCase());
      const hint = alike === undefined ? '' : `; did you mean ${alike}?`;
      remarks.push({
        rule: 'event-type/unknown',
        path: ['event_type'],
        why: `${shown(type)} is not in the taxonomy${hint}`,
      });
    } else if (!/^vendor\.[^.\s]+\.\S/.test(type)) {
      remarks.push({ rule: 'event-type/vendor', path: ['event_type'], why: `${shown(type)} lacks a vendor or a name` });
    }
  }
  if (typeof version === 'string' && /^[0-9]+\.[0-9]+\.[0-9]+$/.test(version) && !/^0+\./.test(version)) {
    remarks.push({
      rule: 'envelope/newer-version',
      path: ['spec_version'],
      why: `${shown(version)} was judged as ${SPEC_VERSION}`,
    });
  }
  if (session === '') remarks.push({ rule: 'envelope/empty', path: ['session_id'], why: 'session_id is empty' });
  if (isObject(value.source) && value.source.tool === '') {
    remarks.push({ rule: 'envelope/empty', path: ['source', 'tool'], why: 'source.tool is empty' });
  }
  const user = isObject(value.user) ? value.user.id : undefined;
  if (typeof user === 'string' && /^[^@\s]+@[^@\s]+$/.test(user)) {
    remarks.push({ rule: 'privacy/user', path: ['user', 'id'], why: 'user.id looks like an e-mail address' });
  }
  if (isObject(value.metadata)) {
    for (const key of Object.keys(value.metadata).slice(0, 50)) {
      if (/^[^.\s]+(\.[^.\s]+)+$/.test(key)) continue;
      remarks.push({
        rule: 'metadata/key',
        path: ['metadata', key],
        why: `${shown(key)} is not a name such as 'dev.example'`,
      });
    }
  }
}

/** Fields whose word comes from a list that is only an example. */
const listed: { readonly [T in EventType]?: readonly [field: string, words: readonly string[]] } = {
  'Agent.Plan.Start': ['plan_type', planTypes],
  'Agent.Plan.End': ['plan_type', planTypes],
  'Agent.Notification': ['type', notificationTypes],
  'Agent.Error': ['error_type', errorTypes],
};

const counts =
  `total_tokens total_actions duration_ms prompt_length step_count response_length input_tokens output_tokens
  latency_ms retry_count iteration_count tokens_consumed tokens_used tokens_limit tokens_remaining tokens_before tokens_after
  tokens_removed elapsed_ms`.split(/\s+/);

function adviseData(type: EventType, data: Values, remarks: Remark[]): void {
  const [field, words] = listed[type] ?? [];
  const word = field === undefined ? undefined : data[field];
  if (field !== undefined && words && typeof word === 'string' && !words.includes(word)) {
    const rule = word.includes(' | ') ? 'data/placeholder' : 'data/listed';
    remarks.push({ rule, path: ['data', field], why: notOneOf(word, words) });
  }
  const usage = isObject(data.usage) ? data.usage : {};
  for (const [prefix, values] of [
    [[], data],
    [['usage'], usage],
  ] as const) {
    for (const key of counts) {
      const value = values[key];
      if (typeof value !== 'number' || value >= 0) continue;
      remarks.push({ rule: 'data/negative', path: ['data', ...prefix, key], why: `${key} is ${value}` });
    }
  }
  const origin = type === 'Agent.Error' ? data.origin_event : undefined;
  if (typeof origin === 'string' && !isEventType(origin) && !origin.startsWith('vendor.')) {
    remarks.push({
      rule: 'event-type/unknown',
      path: ['data', 'origin_event'],
      why: `${shown(origin)} is not in the taxonomy`,
    });
  }
  if (type === 'Context.UntilCompaction' || type === 'Context.Compaction') adviseContext(data, remarks);
}

function adviseContext(data: Values, remarks: Remark[]): void {
  const number = (key: string) => (typeof data[key] === 'number' ? data[key] : Number.NaN);
  const [used, limit, share] = [number('tokens_used'), number('tokens_limit'), number('percentage_used')];
  // A comparison with an absent number is false, so that only what is there is held against each other.
  const says = (key: string, why: string) => remarks.push({ rule: 'data/consistent', path: ['data', key], why });
  if (limit > 0 && share <= 100 && Math.abs((used / limit) * 100 - share) > 1) {
    says('percentage_used', `${share} is not tokens_used / tokens_limit * 100`);
  }
  if (Math.abs(limit - used - number('tokens_remaining')) > 0 && used <= limit) {
    says('tokens_remaining', 'is not tokens_limit - tokens_used');
  }
  if (Math.abs(number('tokens_before') - number('tokens_after') - number('tokens_removed')) > 0) {
    says('tokens_removed', 'is not tokens_before - tokens_after');
  }
}

const isEventType = (type: unknown): type is EventType => (eventTypes as readonly unknown[]).includes(type);

const isActionEvent = (type: EventType) => type === 'Action.Before' || type === 'Action.After';

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const pathOf = (issue: Issue): (string | number)[] =>
  issue.path.map(part => (typeof part === 'number' ? part : String(part)));

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as { [key: string | number]: unknown })[key];
  }
  return at;
}

function wanted(issue: Issue): string {
  const expected =
    issue.code === 'invalid_type' ? issue.expected : issue.code === 'custom' ? issue.params?.wants : undefined;
  return article(typeof expected === 'string' ? expected : 'what the schema asks for');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number')
    return Number.isInteger(value) ? 'an integer' : Number.isFinite(value) ? 'a number' : 'a number too large';
  return article(Array.isArray(value) ? 'array' : typeof value);
}

function article(noun: string): string {
  return /^(what|null)/.test(noun) ? noun : `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

function notOneOf(actual: unknown, words: readonly unknown[]): string {
  return `${shown(actual)} is not one of ${words.join(', ')}`;
}

/** A value for a message: short, and harmless to a terminal. */
function shown(value: unknown): string {
  if (typeof value === 'string') return `'${plain(value, 60)}'`;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value);
}

const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

function plain(value: string, max: number): string {
  const cut = value.length > max ? `${value.slice(0, max)}…` : value;
  return cut.replace(UNPRINTABLE, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
