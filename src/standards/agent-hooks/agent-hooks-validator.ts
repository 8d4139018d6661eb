/**
 * Validates texts against Agent Hooks 0.1: the envelope, the data of each type, and the order of events in a stream.
 */
import { type EventType, eventTypes, SPEC_VERSION } from '../../event/event.ts';
import { type EventJudge, eventsValidation, type Remark as RemarkOf } from '../events-text.ts';
import type { Report, Standard } from '../validation.ts';
import { type Issue, isObject, kindOf, notOneOf, pathOf, shown, type Values, valueAt, wanted } from '../wording.ts';
import { judgePrivacy } from './privacy.ts';
import { type RuleId, rules } from './rules.ts';
import { conventionFields, dataSchemas, envelopeSchema, errorTypes, notificationTypes, planTypes } from './schema.ts';
import { judgeSequences } from './sequence.ts';

export const agentHooks: Standard = {
  title: 'Agent Hooks',
  version: SPEC_VERSION,
  rules,
  validation: (name, asked) => eventsValidation({ id: 'agent-hooks', ...agentHooks }, name, asked, judge()),
};

/**
 * `name` is shown in the report. The endings `.jsonl` and `.ndjson` set the format to one event per line.
 *
 * @example
 * ```ts
 * const { ok, findings } = validateAgentHooks(readFileSync('session.jsonl', 'utf8'), 'session.jsonl');
 * ```
 */
export function validateAgentHooks(text: string, name: string): Report {
  const validation = agentHooks.validation(name, {});
  validation.write(text);
  return validation.end();
}

type Remark = RemarkOf<RuleId>;

const MAX_IDS = 1_000_000;

function judge(): EventJudge<RuleId> {
  const ids = new Set<string>();
  const sequences = judgeSequences();
  return {
    end: () => ({ found: sequences.end() }),
    event(value, at, inStream) {
      const remarks = judgeEvent(value);
      if (!isObject(value)) return remarks;
      judgePrivacy(value, remarks);
      if (inStream) remarks.push(...sequences.event(value, at));
      const id = value.event_id;
      if (typeof id === 'string' && id.length <= 64) {
        if (ids.has(id))
          remarks.push({ rule: 'stream/duplicate-event-id', path: ['event_id'], why: `${shown(id)} was seen before` });
        else if (ids.size < MAX_IDS) ids.add(id);
      }
      return remarks;
    },
  };
}

/** Returns the remarks about one value, in any order. */
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

/** Fields whose values the standard lists only as examples. */
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
  // A comparison with an absent number is false, so only present numbers are compared.
  const differs = (key: string, why: string) => remarks.push({ rule: 'data/consistent', path: ['data', key], why });
  if (limit > 0 && share <= 100 && Math.abs((used / limit) * 100 - share) > 1) {
    differs('percentage_used', `${share} is not tokens_used / tokens_limit * 100`);
  }
  if (Math.abs(limit - used - number('tokens_remaining')) > 0 && used <= limit) {
    differs('tokens_remaining', 'is not tokens_limit - tokens_used');
  }
  if (Math.abs(number('tokens_before') - number('tokens_after') - number('tokens_removed')) > 0) {
    differs('tokens_removed', 'is not tokens_before - tokens_after');
  }
}

const isEventType = (type: unknown): type is EventType => (eventTypes as readonly unknown[]).includes(type);

const isActionEvent = (type: EventType) => type === 'Action.Before' || type === 'Action.After';
