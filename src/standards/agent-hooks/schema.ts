/**
 * Agent Hooks 0.1 as zod schemas: the envelope of clause 6.1 and the data of all 23 types. Unknown fields are allowed,
 * as clause 10.3 requires. docs/agent-hooks.md lists the places where text, schema and examples of the standard
 * disagree, and which one otel-hooks follows.
 *
 * A custom check puts the expected value into `params.wants`; the validator maps issues to rules.
 */
import * as z from 'zod';
import type { DataOf, EventType, Fields } from '../../event/event.ts';

/** Lists of the standard's schema, or under the heading "fields". Other values break the standard. */
export const startReasons = ['new', 'resume', 'restart'] as const;
export const endReasons = ['exit', 'completed', 'error', 'manual_reset', 'idle_timeout'] as const;
export const agentModes = ['agent', 'plan', 'execute', 'chat', 'edit'] as const;
export const actorTypes = ['user', 'ai_agent', 'system'] as const;
export const riskLevels = ['low', 'medium', 'high', 'critical'] as const;
export const outcomes = ['allow', 'deny', 'ask'] as const;
export const triggers = ['auto', 'manual', 'system'] as const;

/** Lists that the standard shows only as examples. Other values are warnings. */
export const planTypes = ['plan', 'explore', 'default'] as const;
export const notificationTypes = ['ToolPermission', 'IdleTimeout', 'ErrorAlert'] as const;
export const errorTypes = ['ToolFailed', 'ModelError', 'HookError', 'UnhandledException'] as const;

const fields = z.custom<Fields>(value => typeof value === 'object' && value !== null && !Array.isArray(value), {
  params: { wants: 'object' },
});
const text = z.string();
/** Reports one issue for the whole list, however many members are not strings. */
const texts = z.custom<string[]>(value => Array.isArray(value) && value.every(item => typeof item === 'string'), {
  params: { wants: 'array of strings' },
});
const truth = z.boolean();
/** JSON Schema's integer: any number without a fraction, however large. */
const integer = z.number().refine(Number.isInteger, { params: { wants: 'integer' } });

/**
 * Checks only the shape of a UUID: three of the six full examples of the standard have version or variant digits that
 * RFC 9562 does not define.
 */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const action = z.looseObject({
  name: text.optional(),
  input: fields.optional(),
  result: z
    .looseObject({
      success: truth.optional(),
      exit_code: integer.optional(),
      error_message: text.optional(),
      output: text.optional(),
    })
    .optional(),
});

export const decision = z.looseObject({ outcome: z.enum(outcomes), reason: text.optional() });

const modelCall = {
  model_id: text.optional(),
  input_tokens: integer.optional(),
  output_tokens: integer.optional(),
  latency_ms: integer.optional(),
  retry_count: integer.optional(),
};

const planType = z.custom<(typeof planTypes)[number]>(value => typeof value === 'string', {
  params: { wants: 'string' },
});
const plan = z.looseObject({ plan_type: planType.optional(), step_count: integer.optional() });

const sessionEnd = z.looseObject({
  end_reason: z.enum(endReasons).optional(),
  usage: z
    .looseObject({
      total_tokens: integer.optional(),
      total_actions: integer.optional(),
      duration_ms: integer.optional(),
    })
    .optional(),
});

const actionEvent = z.looseObject({ action, decision: decision.optional() });

const loop = z.looseObject({
  iteration_count: integer.optional(),
  action_name: text.optional(),
  tokens_consumed: integer.optional(),
  elapsed_ms: integer.optional(),
});

const policy = z.looseObject({
  policy_name: text.optional(),
  rule: text.optional(),
  reason: text.optional(),
  override_by: text.optional(),
  action: action.optional(),
});

/** The definition for both types, with the fields of their examples. */
const context = z.looseObject({
  trigger: z.enum(triggers).optional(),
  tokens_used: integer.optional(),
  tokens_limit: integer.optional(),
  percentage_used: z.number().min(0).max(100).optional(),
  tokens_remaining: integer.optional(),
  tokens_before: integer.optional(),
  tokens_after: integer.optional(),
  tokens_removed: integer.optional(),
  strategy: text.optional(),
});

/** The data of each type. The compiler compares these schemas with the model. */
export const dataSchemas = {
  'Session.Start': z.looseObject({ start_reason: z.enum(startReasons).optional() }),
  'Session.End': sessionEnd,
  'Session.Abort': sessionEnd,
  'Prompt.Submitted': z.looseObject({
    prompt: text.optional(),
    prompt_hash: text.optional(),
    prompt_length: integer.optional(),
    is_followup: truth.optional(),
    decision: decision.optional(),
  }),
  'Agent.Plan.Start': plan,
  'Agent.Plan.End': plan,
  'Agent.Decision': z.looseObject({ decision: decision.optional(), action_name: text.optional() }),
  'Agent.Response': z.looseObject({
    response: text.optional(),
    response_length: integer.optional(),
    response_hash: text.optional(),
    final: truth.optional(),
  }),
  'Model.Requested': z.looseObject(modelCall),
  'Model.Responded': z.looseObject(modelCall),
  'Model.Failed': z.looseObject({ ...modelCall, error_type: text.optional(), error_message: text.optional() }),
  'Action.Before': actionEvent,
  'Action.After': actionEvent,
  'Retry.Triggered': z.looseObject({
    attempt: integer.optional(),
    action_name: text.optional(),
    reason: text.optional(),
  }),
  'Retry.Loop.Detected': loop,
  'Retry.Loop.Aborted': loop,
  'Context.UntilCompaction': context,
  'Context.Compaction': context,
  'Policy.Violation': policy,
  'Policy.Blocked': policy,
  'Policy.Override': policy,
  'Agent.Notification': z.looseObject({ type: text.optional(), message: text.optional(), details: fields.optional() }),
  'Agent.Error': z.looseObject({
    error_type: text.optional(),
    error_message: text.optional(),
    origin_event: text.optional(),
  }),
} as const satisfies { [T in EventType]: z.ZodType<DataOf<T>> };

/** The envelope of clause 6.1. Here `data` can be any object; `dataSchemas` checks its fields. */
export const envelopeSchema = z.looseObject({
  spec_version: z.string().regex(/^[0-9]+\.[0-9]+\.[0-9]+$/),
  event_id: z.string().regex(UUID),
  event_type: text,
  timestamp: z.string().refine(isDateTime),
  source: z.looseObject({ tool: text, version: text.optional() }),
  session_id: text,
  parent_session_id: text.optional(),
  user: z.looseObject({ id: text.optional(), name: text.optional() }).optional(),
  actor: z.looseObject({ type: z.enum(actorTypes), id: text.optional(), name: text.optional() }).optional(),
  agent_mode: z.enum(agentModes).optional(),
  data: fields.optional(),
  risk: z
    .looseObject({
      score: integer.min(0).max(100).optional(),
      level: z.enum(riskLevels).optional(),
      factors: texts.optional(),
    })
    .optional(),
  metadata: fields.optional(),
});

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):(\d\d))$/;

/**
 * An RFC 3339 date-time: with a zone, any number of fraction digits, an existing day of the month, and leap seconds.
 */
export function isDateTime(value: string): boolean {
  const parts = DATE_TIME.exec(value);
  if (!parts) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = parts
    .slice(1)
    .map(part => Number(part ?? 0));
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  const inRange = day >= 1 && day <= days && hour <= 23 && minute <= 59 && zoneHour <= 23 && zoneMinute <= 59;
  return inRange && second <= (minute === 59 || zoneMinute > 0 ? 60 : 59);
}

/**
 * Fields that otel-hooks uses in types whose data the standard leaves open. A value of another type does not break the
 * standard.
 */
export const conventionFields: { readonly [T in EventType]?: readonly (keyof DataOf<T>)[] } = {
  'Prompt.Submitted': ['prompt'],
  'Agent.Decision': ['action_name'],
  'Agent.Response': ['response'],
  'Model.Failed': ['error_type', 'error_message'],
  'Retry.Triggered': ['attempt', 'action_name', 'reason'],
  'Policy.Violation': ['policy_name', 'rule', 'reason', 'override_by'],
  'Policy.Blocked': ['policy_name', 'rule', 'reason', 'override_by'],
  'Policy.Override': ['policy_name', 'rule', 'reason', 'override_by'],
};
