/**
 * Removes content from an event before the journal. An allow list decides: each type of event names its fields that are
 * numbers or closed sets. Of a text, only the length and a keyed hash stay. All other fields are removed.
 */
import {
  type Action,
  type Body,
  type Choice,
  type DataOf,
  type Decision,
  type Event,
  type EventType,
  type Facts,
  type Fields,
  isVendor,
  type ModelCall,
} from '../event/event.ts';
import { canonicalJson } from '../lib/hash.ts';
import { own, whole } from '../lib/read.ts';
import { holdsSecret } from './secrets.ts';

/** Hash of content under the installation's key. */
export type Hash = (content: string) => string;

type Content = NonNullable<Facts['content']>;

export interface Redacted {
  body: Body;
  content: Content | undefined;
}

/** The longest name that stays: native ids, names of tools and kinds are short. */
const LONGEST_NAME = 256;

/**
 * One word of a closed set to which agents may add words. A sentence, an address, a path or an assignment never
 * matches, so that an agent cannot put content into such a field.
 */
const WORD = /^[^\s@=\\/][^\s@=\\]{0,63}$/;

export const word = (value: string | undefined): string | undefined =>
  value !== undefined && WORD.test(value) && !holdsSecret(value) ? value : undefined;

/** An id or a version. Unlike a word, it is never a path. */
export const token = (value: string | undefined): string | undefined =>
  value !== undefined && /^[\w.:+-]{1,64}$/.test(value) && !holdsSecret(value) ? value : undefined;

export function redact(body: Body, hash: Hash): Redacted {
  const content: Content = {};
  const omit: Omit = (field, value) => {
    if (value === undefined) return;
    const text = typeof value === 'string' ? value : canonicalJson(value);
    content[field] = { length: text.length, hash: hash(text) };
  };
  const kept = redactBody(body, { hash, omit });
  return { body: kept, content: Object.keys(content).length > 0 ? content : undefined };
}

/** Removes a field from the event: only the length and the hash of its value stay. */
type Omit = (field: string, value: unknown) => void;

interface Redaction {
  hash: Hash;
  omit: Omit;
}

function redactBody(body: Body, redaction: Redaction): Body {
  if (isVendorBody(body)) return { event_type: body.event_type, data: plainFields(body.data) };
  const keep = own(keptData, body.event_type) as Keep<EventType> | undefined;
  return { event_type: body.event_type, data: keep?.(body.data, redaction) ?? {} } as Body;
}

type Keep<T extends EventType> = (data: DataOf<T>, redaction: Redaction) => DataOf<T>;

const promptData: Keep<'Prompt.Submitted'> = (
  { prompt, prompt_hash, prompt_length, is_followup, decision },
  { hash, omit },
) => ({
  prompt_hash: prompt === undefined ? keyed(prompt_hash, hash) : hash(prompt),
  prompt_length: prompt?.length ?? prompt_length,
  is_followup,
  decision: decision && withoutReason(decision, omit),
});

const responseData: Keep<'Agent.Response'> = ({ response, response_hash, response_length, final }, { hash }) => ({
  response_hash: response === undefined ? keyed(response_hash, hash) : hash(response),
  response_length: response?.length ?? response_length,
  final,
});

const decisionData: Keep<'Agent.Decision'> = (data, { omit }) => ({
  decision: data.decision && withoutReason(data.decision, omit),
  action_name: name(data.action_name),
  ...chosen(data),
});

const actionData = ({ action, decision }: DataOf<'Action.After'>, { omit }: Redaction): DataOf<'Action.After'> => ({
  action: withoutContent(action, omit),
  decision: decision && withoutReason(decision, omit),
});

const failureData: Keep<'Model.Failed'> = (data, { omit }) => {
  omit('error_message', data.error_message);
  return { ...modelCall(data), error_type: word(data.error_type) };
};

const policyData = (
  { policy_name, rule, reason, override_by, action }: DataOf<'Policy.Violation'>,
  { omit }: Redaction,
): DataOf<'Policy.Violation'> => {
  omit('reason', reason);
  omit('override_by', override_by);
  return { policy_name: name(policy_name), rule: name(rule), action: action && withoutContent(action, omit) };
};

const notificationData: Keep<'Agent.Notification'> = ({ type, message, details }, { omit }) => {
  omit('message', message);
  omit('details', details);
  return { type: word(type) };
};

const errorData: Keep<'Agent.Error'> = ({ error_type, error_message, origin_event }, { omit }) => {
  omit('error_message', error_message);
  return { error_type: word(error_type), origin_event: name(origin_event) };
};

const retryData: Keep<'Retry.Triggered'> = ({ attempt, action_name, reason }, { omit }) => {
  const isWord = reason !== undefined && CHOICE.test(reason) && word(reason) !== undefined;
  if (!isWord) omit('reason', reason);
  return { attempt, action_name: name(action_name), reason: isWord ? reason : undefined };
};

const compactionData: Keep<'Context.Compaction'> = data => ({
  trigger: data.trigger,
  ...numbers(data, compactionFields),
  strategy: word(data.strategy),
});

const endData = ({ end_reason, usage }: DataOf<'Session.End'>): DataOf<'Session.End'> => ({
  end_reason,
  usage: usage && sums(usage),
});

const planData = ({ plan_type, step_count }: DataOf<'Agent.Plan.Start'>): DataOf<'Agent.Plan.Start'> => ({
  plan_type: kind(plan_type),
  step_count,
});

const loopData = ({
  iteration_count,
  action_name,
  tokens_consumed,
  elapsed_ms,
}: DataOf<'Retry.Loop.Detected'>): DataOf<'Retry.Loop.Detected'> => ({
  iteration_count,
  action_name: name(action_name),
  tokens_consumed,
  elapsed_ms,
});

/** The data that stays, by type of event: numbers, closed sets and hashes. */
const keptData: { readonly [T in EventType]: Keep<T> } = {
  'Session.Start': ({ start_reason }) => ({ start_reason }),
  'Session.End': endData,
  'Session.Abort': endData,
  'Prompt.Submitted': promptData,
  'Agent.Response': responseData,
  'Agent.Decision': decisionData,
  'Agent.Notification': notificationData,
  'Agent.Error': errorData,
  'Agent.Plan.Start': planData,
  'Agent.Plan.End': planData,
  'Action.Before': actionData,
  'Action.After': actionData,
  'Model.Requested': modelCall,
  'Model.Responded': modelCall,
  'Model.Failed': failureData,
  'Policy.Violation': policyData,
  'Policy.Blocked': policyData,
  'Policy.Override': policyData,
  'Retry.Triggered': retryData,
  'Retry.Loop.Detected': loopData,
  'Retry.Loop.Aborted': loopData,
  'Context.Compaction': compactionData,
  'Context.UntilCompaction': data => numbers(data, shareFields),
};

const isVendorBody = (body: Body): body is Extract<Body, { event_type: `vendor.${string}` }> => isVendor(body as Event);

function withoutContent(action: Action, omit: Omit): Action {
  const { result } = action;
  omit('input', action.input && Object.keys(action.input).length > 0 ? action.input : undefined);
  omit('error_message', result?.error_message);
  omit('output', result?.output);
  return {
    name: name(action.name),
    result: result && { success: result.success, exit_code: result.exit_code },
  };
}

function withoutReason(decision: Decision, omit: Omit): Decision {
  omit('reason', decision.reason);
  return { outcome: decision.outcome };
}

/** A name stays, unless it holds a secret. */
const name = (value: string | undefined): string | undefined =>
  value !== undefined && holdsSecret(value) ? '[redacted]' : value?.slice(0, LONGEST_NAME);

/** A word of a list to which new versions of an agent may add words. */
const kind = <T extends string>(value: T | undefined): T | undefined =>
  /^[a-z_-]{1,32}$/.test(value ?? '') ? value : undefined;

/** A hash without a key lets an attacker guess a short text: such a hash is hashed again, with the key. */
export const keyed = (given: string | undefined, hash: Hash): string | undefined =>
  given === undefined || /^hmac-sha256:[0-9a-f]{32,64}$/.test(given) ? given : hash(given);

const shareFields = ['tokens_used', 'tokens_limit', 'percentage_used', 'tokens_remaining'] as const;
const compactionFields = ['tokens_before', 'tokens_after', 'tokens_removed'] as const;

function numbers<K extends string>(
  from: { readonly [key in K]?: number | undefined },
  fields: readonly K[],
): { [key in K]?: number | undefined } {
  const kept: { [key in K]?: number | undefined } = {};
  for (const field of fields) if (from[field] !== undefined) kept[field] = from[field];
  return kept;
}

/** Not the name of a file, which has a dot, nor of a person, which has a blank. */
const CHOICE = /^[A-Za-z0-9_-]{1,32}$/;
const choiceWords = ['decision_type', 'selected'] as const;
const choiceNumbers = ['options_count', 'confidence', 'summary_length'] as const;

/** The choice of an agent: only numbers and single words. */
function chosen(data: Choice): Choice {
  const kept: Choice = {};
  for (const field of choiceWords) if (CHOICE.test(data[field] ?? '')) kept[field] = word(data[field]);
  for (const field of choiceNumbers) if (Number.isFinite(data[field])) kept[field] = data[field];
  return kept;
}

/** The standard has whole milliseconds; some agents report fractions. */
const sums = ({ total_tokens, total_actions, duration_ms }: NonNullable<DataOf<'Session.End'>['usage']>) => ({
  total_tokens: whole(total_tokens),
  total_actions: whole(total_actions),
  duration_ms: whole(duration_ms),
});

function modelCall({ model_id, input_tokens, output_tokens, latency_ms, retry_count }: ModelCall): ModelCall {
  return { model_id: name(model_id), input_tokens, output_tokens, latency_ms: whole(latency_ms), retry_count };
}

/** Numbers, booleans and single words of an event that only one agent has. */
function plainFields(data: Fields): Fields {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(data)) {
    const isWord = typeof value === 'string' && word(value) !== undefined;
    if (isWord || typeof value === 'number' || typeof value === 'boolean') kept[key] = value;
  }
  return kept;
}
