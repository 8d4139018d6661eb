/**
 * What stays in the house stays out of the journal. Works by what is allowed, not by what is forbidden: each type of
 * event names the fields that are numbers or closed sets; text becomes a length and a keyed hash; the rest goes.
 */
import {
  type Action,
  type Body,
  type Choice,
  type DataOf,
  type Decision,
  type Event,
  type Facts,
  type Fields,
  isVendor,
  type ModelCall,
} from '../event/event.ts';
import { canonicalJson } from '../lib/hash.ts';
import { whole } from '../lib/read.ts';
import { holdsSecret } from './secrets.ts';

/** Hash of content under the installation's key. */
export type Hash = (content: string) => string;

type Content = NonNullable<Facts['content']>;

export interface Redacted {
  body: Body;
  content: Content | undefined;
}

/** The longest name that passes: native ids, tool names and kinds are names, and names are short. */
const LONGEST_NAME = 256;

/**
 * What agents fill from a closed set that grows: one word. No sentence, address, path or assignment passes for one,
 * should an agent put there what nobody foresaw.
 */
const WORD = /^[^\s@=\\/][^\s@=\\]{0,63}$/;

export const word = (value: string | undefined): string | undefined =>
  value !== undefined && WORD.test(value) && !holdsSecret(value) ? value : undefined;

/** An id or a version: no path of any kind, as a word that agents choose may be. */
export const token = (value: string | undefined): string | undefined =>
  value !== undefined && /^[\w.:+-]{1,64}$/.test(value) && !holdsSecret(value) ? value : undefined;

export function redact(body: Body, hash: Hash): Redacted {
  const content: Content = {};
  const leave = (field: string, value: unknown): void => {
    if (value === undefined) return;
    const said = typeof value === 'string' ? value : canonicalJson(value);
    content[field] = { length: said.length, hash: hash(said) };
  };
  const kept = redactBody(body, leave);
  return { body: kept, content: Object.keys(content).length > 0 ? content : undefined };

  function redactBody(from: Body, out: typeof leave): Body {
    if (isVendorBody(from)) return { event_type: from.event_type, data: plainFields(from.data) };
    switch (from.event_type) {
      case 'Prompt.Submitted': {
        const { prompt, prompt_hash, prompt_length, is_followup, decision } = from.data;
        return {
          event_type: from.event_type,
          data: {
            prompt_hash: prompt === undefined ? keyed(prompt_hash, hash) : hash(prompt),
            prompt_length: prompt?.length ?? prompt_length,
            is_followup,
            decision: decision && withoutReason(decision, out),
          },
        };
      }
      case 'Agent.Response': {
        const { response, response_hash, response_length, final } = from.data;
        return {
          event_type: from.event_type,
          data: {
            response_hash: response === undefined ? keyed(response_hash, hash) : hash(response),
            response_length: response?.length ?? response_length,
            final,
          },
        };
      }
      case 'Agent.Decision': {
        const { decision, action_name } = from.data;
        return {
          event_type: from.event_type,
          data: {
            decision: decision && withoutReason(decision, out),
            action_name: name(action_name),
            ...chosen(from.data),
          },
        };
      }
      case 'Action.Before':
      case 'Action.After': {
        const { action, decision } = from.data;
        return {
          event_type: from.event_type,
          data: { action: withoutContent(action, out), decision: decision && withoutReason(decision, out) },
        };
      }
      case 'Model.Failed': {
        const { error_type, error_message } = from.data;
        out('error_message', error_message);
        return { event_type: from.event_type, data: { ...modelCall(from.data), error_type: word(error_type) } };
      }
      case 'Policy.Violation':
      case 'Policy.Blocked':
      case 'Policy.Override': {
        const { policy_name, rule, reason, override_by, action } = from.data;
        out('reason', reason);
        out('override_by', override_by);
        return {
          event_type: from.event_type,
          data: { policy_name: name(policy_name), rule: name(rule), action: action && withoutContent(action, out) },
        };
      }
      case 'Agent.Notification': {
        const { type, message, details } = from.data;
        out('message', message);
        out('details', details);
        return { event_type: from.event_type, data: { type: word(type) } };
      }
      case 'Agent.Error': {
        const { error_type, error_message, origin_event } = from.data;
        out('error_message', error_message);
        return {
          event_type: from.event_type,
          data: { error_type: word(error_type), origin_event: name(origin_event) },
        };
      }
      case 'Retry.Triggered': {
        const { attempt, action_name, reason } = from.data;
        out('reason', reason);
        return { event_type: from.event_type, data: { attempt, action_name: name(action_name) } };
      }
      case 'Context.Compaction': {
        const { trigger, strategy } = from.data;
        return {
          event_type: from.event_type,
          data: { trigger, ...numbers(from.data, compactionFields), strategy: word(strategy) },
        };
      }
      case 'Session.Start':
        return { event_type: from.event_type, data: { start_reason: from.data.start_reason } };
      case 'Session.End':
      case 'Session.Abort': {
        const { end_reason, usage } = from.data;
        return { event_type: from.event_type, data: { end_reason, usage: usage && sums(usage) } };
      }
      case 'Agent.Plan.Start':
      case 'Agent.Plan.End': {
        const { plan_type, step_count } = from.data;
        return { event_type: from.event_type, data: { plan_type: kind(plan_type), step_count } };
      }
      case 'Model.Requested':
      case 'Model.Responded':
        return { event_type: from.event_type, data: modelCall(from.data) };
      case 'Retry.Loop.Detected':
      case 'Retry.Loop.Aborted': {
        const { iteration_count, action_name, tokens_consumed, elapsed_ms } = from.data;
        return {
          event_type: from.event_type,
          data: { iteration_count, action_name: name(action_name), tokens_consumed, elapsed_ms },
        };
      }
      case 'Context.UntilCompaction':
        return { event_type: from.event_type, data: numbers(from.data, shareFields) };
    }
  }
}

const isVendorBody = (body: Body): body is Extract<Body, { event_type: `vendor.${string}` }> => isVendor(body as Event);

function withoutContent(action: Action, leave: (field: string, value: unknown) => void): Action {
  const { result } = action;
  leave('input', action.input && Object.keys(action.input).length > 0 ? action.input : undefined);
  leave('error_message', result?.error_message);
  leave('output', result?.output);
  return {
    name: name(action.name),
    result: result && { success: result.success, exit_code: result.exit_code },
  };
}

function withoutReason(decision: Decision, leave: (field: string, value: unknown) => void): Decision {
  leave('reason', decision.reason);
  return { outcome: decision.outcome };
}

/** A name passes; a key in its place does not. */
const name = (value: string | undefined): string | undefined =>
  value !== undefined && holdsSecret(value) ? '[redacted]' : value?.slice(0, LONGEST_NAME);

/** A word of a list that agents lengthen. */
const kind = <T extends string>(value: T | undefined): T | undefined =>
  /^[a-z_-]{1,32}$/.test(value ?? '') ? value : undefined;

/** A hash that others made without a key lets a short text be guessed: what stays is a keyed hash of it. */
export const keyed = (said: string | undefined, hash: Hash): string | undefined =>
  said === undefined || /^hmac-sha256:[0-9a-f]{32,64}$/.test(said) ? said : hash(said);

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

/** Names of files have a point, those of people and places a blank or worse. */
const CHOICE = /^[A-Za-z0-9_-]{1,32}$/;
const choiceWords = ['decision_type', 'selected'] as const;
const choiceNumbers = ['options_count', 'confidence', 'summary_length'] as const;

/** What an agent chose: numbers and single words, where they are such. */
function chosen(data: Choice): Choice {
  const kept: Choice = {};
  for (const field of choiceWords) if (CHOICE.test(data[field] ?? '')) kept[field] = word(data[field]);
  for (const field of choiceNumbers) if (Number.isFinite(data[field])) kept[field] = data[field];
  return kept;
}

/** Agents state parts of a millisecond; the standard has whole ones. */
const sums = ({ total_tokens, total_actions, duration_ms }: NonNullable<DataOf<'Session.End'>['usage']>) => ({
  total_tokens: whole(total_tokens),
  total_actions: whole(total_actions),
  duration_ms: whole(duration_ms),
});

function modelCall({ model_id, input_tokens, output_tokens, latency_ms, retry_count }: ModelCall): ModelCall {
  return { model_id: name(model_id), input_tokens, output_tokens, latency_ms: whole(latency_ms), retry_count };
}

/** Numbers, truth values and short words: what a reader has named as plain. */
function plainFields(data: Fields): Fields {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(data)) {
    const isWord = typeof value === 'string' && word(value) !== undefined;
    if (isWord || typeof value === 'number' || typeof value === 'boolean') kept[key] = value;
  }
  return kept;
}
