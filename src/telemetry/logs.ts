/** One log record for each event, in the context of its span. */
import { type Attributes, TraceFlags } from '@opentelemetry/api';
import { type AnyValueMap, SeverityNumber } from '@opentelemetry/api-logs';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { modelError } from '../assemble/chats.ts';
import type { FinishedRecord } from '../assemble/finished.ts';
import {
  type DataOf,
  type Event,
  type EventOf,
  type EventType,
  type Facts,
  FILE_WRITE,
  factsOf,
  isVendor,
  metadataOf,
  modelOf,
} from '../event/event.ts';
import { msOf } from '../lib/timestamp.ts';
import type { InParts } from './clean.ts';
import { contentAttributes, contentValues, metadataAttributes, userAttributes } from './content.ts';
import { subMillisecondNanos } from './ids.ts';
import { lineOf } from './line.ts';
import { development, EXCEPTION_EVENT, eventNameOf, operations, ours, stable } from './names.ts';
import { instrumentationScope } from './resource.ts';
import {
  decisionFacts,
  limitAttributes,
  named,
  providerFor,
  type SpanContextFacts,
  serverOf,
  toolTypeOf,
  upperBound,
  wireSpanId,
  wireTraceId,
} from './spans.ts';

export type Level = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';

const numberOf: Record<Level, SeverityNumber> = {
  DEBUG: SeverityNumber.DEBUG,
  INFO: SeverityNumber.INFO,
  WARN: SeverityNumber.WARN,
  ERROR: SeverityNumber.ERROR,
};

export const severities = {
  'Session.Start': 'INFO',
  'Session.End': 'INFO',
  'Session.Abort': 'ERROR',
  'Prompt.Submitted': 'INFO',
  'Agent.Plan.Start': 'INFO',
  'Agent.Plan.End': 'INFO',
  'Agent.Decision': 'INFO',
  'Agent.Response': 'INFO',
  'Model.Requested': 'DEBUG',
  'Model.Responded': 'INFO',
  'Model.Failed': 'WARN',
  'Action.Before': 'INFO',
  'Action.After': 'INFO',
  'Retry.Triggered': 'INFO',
  'Retry.Loop.Detected': 'WARN',
  'Retry.Loop.Aborted': 'ERROR',
  'Context.UntilCompaction': 'DEBUG',
  'Context.Compaction': 'INFO',
  'Policy.Violation': 'WARN',
  'Policy.Blocked': 'WARN',
  'Policy.Override': 'WARN',
  'Agent.Notification': 'INFO',
  'Agent.Error': 'ERROR',
} as const satisfies Record<EventType, Level>;

/** A record in the form in which it is sent; its attributes are in parts, which the writer joins. */
export interface MappedRecord extends Omit<ReadableLogRecord, 'attributes' | 'droppedAttributesCount'>, InParts {
  /** Structured values, which have separate limits. */
  long: AnyValueMap;
}

export function mapRecord(record: FinishedRecord, from: SpanContextFacts, resource: Resource): MappedRecord {
  const { agent } = from;
  const { event } = record;
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const level = levelOf(event, facts);
  const ms = msOf(event.timestamp);
  const seconds = Math.floor(ms / 1000);
  const time: [number, number] = [seconds, (ms - seconds * 1000) * 1e6 + subMillisecondNanos(event.event_id)];
  const isException = record.as === 'exception';
  const name = isException ? EXCEPTION_EVENT : eventNameOf(event.event_type);
  const parts = [common(record, name, facts, agent)];
  for (const part of dataAttributes(event, facts, from)) parts.push(part);
  for (const part of contentAttributes(event, facts, from.content)) parts.push(part);
  parts.push({
    [ours.subagentDepth]: record.depth,
    [ours.errorRecurrence]: isException ? undefined : record.recurrence,
  });
  parts.push(repositoryOf(record), userAttributes(event.user?.id), metadataAttributes(metadataOf(event)));
  if (isException) parts.push({ [stable.exceptionType]: exceptionType(event, facts) });
  return {
    hrTime: time,
    hrTimeObserved: time,
    spanContext: {
      traceId: wireTraceId(record.trace, from),
      spanId: wireSpanId(record.span, record.trace, from),
      traceFlags: TraceFlags.SAMPLED,
    },
    severityNumber: numberOf[level],
    severityText: level,
    eventName: name,
    body: isException ? `${name} ${lineOf(event, facts)}` : lineOf(event, facts),
    parts,
    limits: from.limits.log,
    long: contentValues(event, from.content, from.limits.log.valueLength),
    resource,
    instrumentationScope,
  };
}

/** Repository and branch, so that records can be filtered by them. The session span has the other facts. */
const repositoryOf = ({ repository }: FinishedRecord): Attributes => ({
  [development.repositoryName]: repository?.name,
  [development.repositoryBranch]: repository?.branch,
});

function common(
  { event, trace: { session } }: FinishedRecord,
  name: string,
  facts: Partial<Facts>,
  agent: string,
): Attributes {
  return {
    [development.eventName]: name,
    [development.sessionId]: session,
    [development.conversationId]: session,
    [development.agentName]: event.session_id === session ? (facts.agent ?? agent) : facts.agent,
    [ours.agentId]: event.session_id === session ? undefined : event.session_id,
    [ours.parentSession]: event.parent_session_id,
    [ours.eventId]: event.event_id,
    [ours.eventType]: event.event_type,
    [ours.eventNative]: facts.native,
    [ours.specVersion]: event.spec_version,
    [ours.traceRecord]: facts.trace_record,
    [ours.agentMode]: event.agent_mode,
    [ours.actorType]: event.actor?.type,
    [ours.actorId]: event.actor?.id,
    [ours.turnId]: facts.turn,
    [ours.riskScore]: event.risk?.score,
    [ours.riskLevel]: event.risk?.level,
    [ours.riskFactors]: event.risk?.factors,
    [ours.tokensUsed]: facts.stated_budget?.used,
    [ours.tokensLimit]: facts.stated_budget?.limit,
    [ours.sessionCost]: facts.session_cost_usd,
    ...(facts.rate_limits === undefined ? {} : limitAttributes(facts.rate_limits)),
  };
}

/** The attributes of an event's data, in parts, which are not spread into one object. */
function dataAttributes(event: Event, facts: Partial<Facts>, from: SpanContextFacts): Attributes[] {
  if (event.event_type === FILE_WRITE) {
    const { operation, start_line, end_line } = event.data;
    return [
      {
        [ours.fileOperation]: operation as string | undefined,
        [ours.fileStartLine]: start_line as number | undefined,
        [ours.fileEndLine]: end_line as number | undefined,
        [development.toolCallId]: facts.call,
        [development.requestModel]: facts.model,
      },
    ];
  }
  if (isVendor(event)) {
    const plain = Object.entries(event.data).filter(([, value]) =>
      ['string', 'number', 'boolean'].includes(typeof value),
    );
    return [
      ...plain.slice(0, 24).map(([name, value]) => ({ [`${ours.vendorPrefix}${name}`]: value as string | number })),
      { [development.toolName]: facts.tool, [ours.mcpServer]: serverOf(facts.mcp?.server) },
    ];
  }
  // The row of a type takes the events of that type, but the compiler cannot infer this from the index. A type of a
  // later version of the standard has no row: only its envelope is recorded.
  const row = attributesOfType[event.event_type] as Row<Event> | undefined;
  return row?.(event, facts, from) ?? [];
}

type Row<E> = (event: E, facts: Partial<Facts>, from: SpanContextFacts) => Attributes[];

const endAttributes: Row<EventOf<'Session.End' | 'Session.Abort'>> = (event, { cost }) => [
  upperBound(cost?.upper_usd, cost?.prices),
  {
    [ours.endReason]: event.data.end_reason,
    [ours.sessionTokens]: event.data.usage?.total_tokens,
    [ours.sessionActions]: event.data.usage?.total_actions,
    [ours.sessionDurationMs]: event.data.usage?.duration_ms,
    [stable.errorType]: event.event_type === 'Session.Abort' ? 'abandoned' : undefined,
  },
];

const planAttributes: Row<EventOf<'Agent.Plan.Start' | 'Agent.Plan.End'>> = event => [
  { [ours.planType]: event.data.plan_type, [ours.planSteps]: event.data.step_count },
];

const modelAttributes: Row<EventOf<'Model.Requested' | 'Model.Responded' | 'Model.Failed'>> = (event, facts, from) => [
  named(
    {
      [development.operationName]: operations.chat,
      [development.providerName]: facts.provider ?? providerFor(modelOf(event.data, facts), from),
    },
    from.semconv,
  ),
  {
    [development.requestModel]: modelOf(event.data, facts),
    [development.responseModel]: event.event_type === 'Model.Responded' ? modelOf(event.data, facts) : undefined,
    [development.responseId]: facts.response,
    [development.finishReasons]: facts.finish === undefined ? undefined : [facts.finish],
    [development.inputTokens]: event.data.input_tokens,
    [development.outputTokens]: event.data.output_tokens,
    [development.cacheReadTokens]: facts.usage?.cache_read_tokens,
    [development.cacheWriteTokens]: facts.usage?.cache_write_tokens,
    [development.reasoningTokens]: facts.usage?.reasoning_tokens,
    [ours.cacheWrite1hTokens]: facts.usage?.cache_write_1h_tokens,
    [ours.modelRequest]: facts.request,
    [ours.modelRetries]: event.data.retry_count,
    [ours.costUsd]: facts.cost?.usd,
    [ours.costPrices]: facts.cost?.usd === undefined ? undefined : facts.cost.prices,
    [ours.costReported]: facts.cost_usd,
    [ours.modelSum]: facts.sum,
    [stable.errorType]: event.event_type === 'Model.Failed' ? modelError(event.data, facts) : facts.error_type,
  },
];

const outcomeAttributes: Row<EventOf<'Action.Before' | 'Action.After'>> = (event, facts) => [
  actionAttributes(event.data.action.name, facts),
  {
    [development.toolType]: toolTypeOf(facts.mcp?.server),
    [ours.actionSuccess]: event.data.action.result?.success,
    [ours.actionDurationMs]: facts.duration_ms,
    [development.processExitCode]: event.data.action.result?.exit_code ?? facts.exit_code,
    [development.processExecutableName]: facts.executable,
    [development.skillName]: facts.skill,
    [stable.errorType]: facts.error_type ?? errorOf(event.data, facts),
  },
  decisionAttributes(event.data.decision?.outcome, facts),
];

const loopAttributes: Row<EventOf<'Retry.Loop.Detected' | 'Retry.Loop.Aborted'>> = (event, facts) => [
  actionAttributes(event.data.action_name, facts),
  {
    [ours.retryAction]: event.data.action_name,
    [ours.loopIterations]: event.data.iteration_count,
    [ours.loopTokens]: event.data.tokens_consumed,
    [ours.loopElapsedMs]: event.data.elapsed_ms,
  },
];

const policyAttributes: Row<EventOf<'Policy.Violation' | 'Policy.Blocked' | 'Policy.Override'>> = (event, facts) => [
  actionAttributes(event.data.action?.name, facts),
  {
    [ours.policyName]: event.data.policy_name,
    [ours.policyRule]: event.data.rule,
    [ours.budgetOf]: facts.budget?.of,
    [ours.budgetUnit]: facts.budget?.unit,
    [ours.budgetState]: facts.budget?.state,
    [ours.budgetUsed]: facts.budget?.used,
    [ours.budgetLimit]: facts.budget?.limit,
    ...decisionFacts(facts.decision),
  },
];

const attributesOfType: { readonly [T in EventType]: Row<EventOf<T>> } = {
  'Session.Start': (event, facts) => [
    {
      [ours.startReason]: event.data.start_reason,
      [development.previousSessionId]: facts.previous?.session,
      [development.requestModel]: facts.model,
    },
  ],
  'Session.End': endAttributes,
  'Session.Abort': endAttributes,
  'Prompt.Submitted': (event, facts) => [
    {
      [ours.promptLength]: event.data.prompt_length,
      [ours.promptFollowup]: event.data.is_followup,
    },
    decisionAttributes(event.data.decision?.outcome, facts),
  ],
  'Agent.Plan.Start': planAttributes,
  'Agent.Plan.End': planAttributes,
  'Agent.Decision': (event, facts) => [
    actionAttributes(event.data.action_name, facts),
    decisionAttributes(event.data.decision?.outcome, facts),
    {
      [ours.choiceType]: event.data.decision_type,
      [ours.choiceSelected]: event.data.selected,
      [ours.choiceOptions]: event.data.options_count,
      [ours.choiceConfidence]: event.data.confidence,
      [ours.choiceSummaryLength]: event.data.summary_length,
    },
  ],
  'Agent.Response': event => [
    {
      [ours.responseLength]: event.data.response_length,
      [ours.responseFinal]: event.data.final,
    },
  ],
  'Model.Requested': modelAttributes,
  'Model.Responded': modelAttributes,
  'Model.Failed': modelAttributes,
  'Action.Before': outcomeAttributes,
  'Action.After': outcomeAttributes,
  'Retry.Triggered': (event, facts) => [
    actionAttributes(event.data.action_name, facts),
    { [ours.retryAttempt]: event.data.attempt, [ours.retryAction]: event.data.action_name },
  ],
  'Retry.Loop.Detected': loopAttributes,
  'Retry.Loop.Aborted': loopAttributes,
  'Context.UntilCompaction': event => [
    {
      [ours.tokensUsed]: event.data.tokens_used,
      [ours.tokensLimit]: event.data.tokens_limit,
      [ours.tokensRemaining]: event.data.tokens_remaining,
      [ours.utilization]: event.data.percentage_used === undefined ? undefined : event.data.percentage_used / 100,
    },
  ],
  'Context.Compaction': (event, facts) => [
    {
      [ours.contextTrigger]: event.data.trigger,
      [ours.contextPhase]: facts.phase,
      [ours.tokensBefore]: event.data.tokens_before,
      [ours.tokensAfter]: event.data.tokens_after,
      [ours.tokensRemoved]: event.data.tokens_removed,
      [ours.contextStrategy]: event.data.strategy,
    },
  ],
  'Policy.Violation': policyAttributes,
  'Policy.Blocked': policyAttributes,
  'Policy.Override': policyAttributes,
  'Agent.Notification': (event, facts) => [
    { [ours.notificationType]: event.data.type },
    actionAttributes(undefined, facts),
  ],
  'Agent.Error': (event, facts) => [
    { [stable.errorType]: facts.error_type ?? event.data.error_type, [ours.errorOrigin]: event.data.origin_event },
  ],
};

/** Returns the same error type as on the span. */
function errorOf({ action, decision }: DataOf<'Action.After'>, facts: Partial<Facts>): string | undefined {
  if (decision?.outcome === 'deny') return undefined;
  if (facts.interrupted) return 'interrupted';
  return action.result?.success === false ? 'tool_error' : undefined;
}

const exceptionType = (event: Event, facts: Partial<Facts>): string | undefined =>
  event.event_type === 'Model.Failed' ? (event.data.error_type ?? facts.error_type) : undefined;

function actionAttributes(name: string | undefined, facts: Partial<Facts>): Attributes {
  return {
    [ours.actionName]: name,
    [development.toolName]: facts.tool ?? name,
    [development.toolCallId]: facts.call,
    [ours.mcpServer]: serverOf(facts.mcp?.server),
  };
}

function decisionAttributes(outcome: string | undefined, facts: Partial<Facts>): Attributes {
  if (outcome === undefined) return {};
  return { [ours.decisionOutcome]: outcome, ...decisionFacts(facts.decision) };
}

/** Returns true if the record has at least the configured level. */
export function isOfWeight({ event, as }: FinishedRecord, least: Lowercase<Level>): boolean {
  const lowest = least.toUpperCase() as Level;
  return numberOf[as === undefined ? levelOf(event, factsOf(event) ?? {}) : 'WARN'] >= numberOf[lowest];
}

export function levelOf(event: Event, facts: Partial<Facts>): Level {
  if (isVendor(event)) return 'INFO';
  const outcome = 'decision' in event.data ? event.data.decision?.outcome : undefined;
  if (outcome === 'deny' || outcome === 'ask') return 'WARN';
  if (event.event_type === 'Action.After' && (event.data.action.result?.success === false || facts.interrupted))
    return 'WARN';
  if (event.event_type === 'Policy.Violation' && event.risk?.level === 'critical') return 'ERROR';
  return severities[event.event_type] ?? 'INFO';
}
