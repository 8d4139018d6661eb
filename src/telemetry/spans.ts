/**
 * Maps finished spans to OTLP values. Pure; attributes have a fixed order, so that a repetition gives the same bytes.
 */
import { type Attributes, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type {
  ContextUse,
  FinishedDecision,
  FinishedSpan,
  SessionSpan,
  SessionStatus,
  SpanKey,
  Sums,
  TraceKey,
} from '../assemble/finished.ts';
import type { DecisionFacts, RateLimit } from '../event/event.ts';
import { own } from '../lib/read.ts';
import { formerAttributes, formerSpanName } from '../python/span-names.ts';
import { actionAttributes } from './action-attributes.ts';
import type { AttributeLimits, InParts } from './clean.ts';
import { type ContentFacts, metadataAttributes, spanContentAttributes, userAttributes } from './content.ts';
import { spanIdOf, traceIdOf } from './ids.ts';
import { COMPACTION_OPERATION, development, operations, ours, stable } from './names.ts';
import { instrumentationScope } from './resource.ts';

/** The limits that the `OTEL_*` variables of the standard set. */
export interface Limits {
  span: AttributeLimits & { links: number };
  log: AttributeLimits;
}

export interface SpanContextFacts {
  agent: string;
  session: string;
  provider: string | undefined;
  /** The maker of a model, used if its provider is unknown. */
  providerOf?: ((model: string) => string | undefined) | undefined;
  denyAsError: boolean;
  semconv?: 'v1.36' | 'both' | undefined;
  /** The agent's name in the Python package `otel-hooks`. If set, spans are named as by that package. */
  formerName?: string | undefined;
  /** Turns have no spans. Their children become children of the session. */
  turns?: 'off' | undefined;
  caller?: Caller | undefined;
  /** Part of the ids, for a session whose start another process got. Absent: ids depend on the session only. */
  idScope?: string | undefined;
  limits: Limits;
  /** Absent: the default, which is only hashes of prompts and answers. */
  content?: ContentFacts | undefined;
  /** The user and the machine, if configured. */
  user?: string | undefined;
}

/** The trace in which a session was started. */
export interface Caller {
  policy: 'link' | 'parent';
  traceId: string;
  spanId: string;
  /** Absent: sampled. */
  flags?: number | undefined;
}

/** A span in the form in which it is sent; its attributes are in parts, which the writer joins. */
export interface MappedSpan extends Omit<ReadableSpan, 'attributes' | 'droppedAttributesCount'>, InParts {}

export function mapSpan(span: FinishedSpan, facts: SpanContextFacts, resource: Resource): MappedSpan {
  const traceId = wireTraceId(span.trace, facts);
  const parent = parentOf(span, facts);
  const identity = { traceId, spanId: scopedSpanId(span.key, facts), traceFlags: TraceFlags.SAMPLED };
  const context = (trace: TraceKey, spanId: string) => ({
    traceId: wireTraceId(trace, facts),
    spanId,
    traceFlags: TraceFlags.SAMPLED,
  });
  const error =
    span.errorType ?? (facts.denyAsError && 'outcome' in span && span.outcome === 'denied' ? 'denied' : undefined);
  const parts = [common(span, facts)];
  const own = attributesOf(span, facts);
  if (facts.semconv === undefined && facts.formerName === undefined) for (const part of own) parts.push(part);
  else parts.push(withFormer(named(Object.assign({}, ...own), facts.semconv), span, facts));
  parts.push({ [stable.errorType]: error }, metadataAttributes(span.metadata));
  const links = [
    ...span.links.map(link => ({
      context: context(link.trace, wireSpanId(link.span, link.trace, facts)),
      attributes: { [ours.linkType]: link.type },
    })),
    ...callerLink(span, facts),
    ...startLink(span, facts),
  ];
  return {
    name: (facts.formerName && formerSpanName(span, facts.formerName)) ?? nameOf(span, facts),
    kind: span.kind === 'chat' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => identity,
    parentSpanContext: parent && { traceId, ...parent },
    startTime: hrTime(span.startMs),
    endTime: hrTime(span.endMs),
    duration: hrTime(span.endMs - span.startMs),
    status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR },
    parts,
    limits: facts.limits.span,
    links: facts.limits.span.links > 0 ? links.slice(-facts.limits.span.links) : [],
    events: [],
    ended: true,
    resource,
    instrumentationScope,
    droppedEventsCount: 0,
    droppedLinksCount: Math.max(0, links.length - facts.limits.span.links),
  };
}

export const hrTime = (ms: number): [number, number] => {
  const whole = Math.floor(ms / 1000);
  return [whole, Math.round((ms - whole * 1000) * 1e6)];
};

function nameOf(span: FinishedSpan, facts: SpanContextFacts): string {
  switch (span.kind) {
    case 'session':
      return `session ${facts.agent}`;
    case 'turn':
      return `${operations.invokeAgent} ${span.agent ?? facts.agent}`;
    case 'plan':
      return `${operations.plan} ${span.agent ?? facts.agent}`;
    case 'subagent':
      return span.agent === undefined ? operations.invokeAgent : `${operations.invokeAgent} ${span.agent}`;
    case 'action':
      return `${operations.executeTool} ${span.tool}`;
    case 'chat':
      return [span.untold === undefined ? operations.chat : COMPACTION_OPERATION, span.model ?? []].flat().join(' ');
  }
}

function common(span: FinishedSpan, facts: SpanContextFacts): Attributes {
  return {
    [development.sessionId]: facts.session,
    [development.conversationId]: facts.session,
    [ours.eventId]: span.closedBy,
    [ours.agentMode]: span.mode,
    [ours.actorType]: span.actor?.type,
    [ours.actorId]: span.actor?.id,
    [ours.durationSource]: span.clamped ? 'clamped' : span.duration,
    [ours.riskScore]: span.risk?.score,
    [ours.riskLevel]: span.risk?.level,
    [ours.riskFactors]: span.risk?.factors,
  };
}

type SpanOf<K extends FinishedSpan['kind'], S = FinishedSpan> = S extends { kind: K } ? S : never;

/** The attributes of each kind of span, in parts, which are not spread into one object. */
const attributesOfKind: {
  readonly [K in FinishedSpan['kind']]: (span: SpanOf<K>, facts: SpanContextFacts) => Attributes[];
} = {
  session: (span, facts) => [
    {
      [development.agentName]: span.agent ?? facts.agent,
    },
    userAttributes(facts.user),
    {
      [ours.segment]: span.trace.segment,
      [ours.startReason]: span.startReason,
      [development.previousSessionId]: span.previous,
      [ours.endReason]: span.endReason,
    },
    repository(span),
    {
      [ours.sessionTokens]: tokensOf(span.usage) ?? span.said?.total_tokens,
      [ours.sessionTurns]: span.turns,
      // A sender that reports only the end of a session may state the number of its actions.
      [ours.sessionActions]: span.actions === 0 ? (span.said?.total_actions ?? 0) : span.actions,
      [ours.sessionDurationMs]: span.said?.duration_ms,
      [ours.sessionSubagents]: span.subagents,
      [ours.sessionDenied]: span.denied,
      [ours.sessionFailed]: span.failed,
      [ours.sessionLoops]: span.loops,
      [ours.budgetState]: span.budget,
      ...contextUse(span.context),
      [development.requestModel]: span.stated?.model ?? span.status?.model,
      ...upperBound(span.stated?.upperUsd, span.stated?.prices),
    },
    statusOf(span.status),
    sums(span),
  ],
  turn: (span, facts) => [
    {
      [development.operationName]: operations.invokeAgent,
      [development.agentName]: span.agent ?? facts.agent,
      [development.providerName]: facts.provider,
      [ours.turnId]: span.turn,
      [ours.turnOutcome]: span.outcome,
      [ours.turnContinuation]: span.ordinal === 0 ? undefined : span.ordinal,
      [ours.turnPrompts]: span.prompts,
      [ours.turnActions]: span.actions,
      [ours.turnDenied]: span.denied,
      [ours.turnFailed]: span.failed,
      [ours.turnWaitMs]: span.waitMs === 0 ? undefined : span.waitMs,
      [ours.turnRetries]: span.retries,
      [ours.loopDetected]: span.loop === undefined ? undefined : true,
      [ours.loopAborted]: span.loop === 'aborted' ? true : undefined,
      [ours.budgetState]: span.budget,
      ...contextUse(span.context),
      [ours.promptLength]: span.promptLength,
      [ours.promptFollowup]: span.isFollowup,
    },
    decision(span),
    spanContentAttributes(span.content, facts.content, facts.limits.span.valueLength),
    sums(span),
  ],
  plan: (span, facts) => [
    {
      [development.operationName]: operations.plan,
      [development.agentName]: span.subagent === undefined ? (span.agent ?? facts.agent) : span.agent,
      [ours.agentId]: span.subagent,
      [ours.planType]: span.type,
      [ours.planSteps]: span.steps,
    },
  ],
  subagent: (span, facts) => [
    {
      [development.operationName]: operations.invokeAgent,
      [development.agentName]: span.agent,
      [development.providerName]: facts.provider,
      [ours.agentId]: span.id,
      [ours.parentSession]: facts.session,
      [ours.subagentDepth]: span.depth,
      [ours.subagentOutcome]: span.outcome,
      [ours.subagentActions]: span.actions,
      [ours.subagentContinuation]: span.ordinal === 0 ? undefined : span.ordinal,
    },
    sums(span),
  ],
  action: (span, facts) => [
    {
      [development.operationName]: operations.executeTool,
      [development.agentName]: span.subagent === undefined ? (span.agent ?? facts.agent) : span.agent,
      [development.toolName]: span.tool,
      [development.toolType]: toolTypeOf(span.mcpServer),
      [development.toolCallId]: span.call,
      [development.mcpMethodName]: span.mcpServer === undefined ? undefined : 'tools/call',
      [development.processExecutableName]: span.executable,
      [development.skillName]: span.skill,
      [development.processExitCode]: span.exitCode,
      [ours.agentId]: span.subagent,
      [ours.mcpServer]: serverOf(span.mcpServer),
      [ours.actionName]: span.name,
      [ours.actionOutcome]: span.outcome,
      [ours.actionSuccess]: span.outcome === 'success' ? true : span.outcome === 'failure' ? false : undefined,
      [ours.actionWaitMs]: span.waitMs,
      [ours.traceRecord]: span.traceRecord,
      [ours.retryAttempt]: span.attempt,
    },
    ...actionAttributes(span),
    decision(span),
    spanContentAttributes(span.content, facts.content, facts.limits.span.valueLength),
  ],
  chat: (span, facts) => [
    {
      [development.operationName]: span.untold === undefined ? operations.chat : COMPACTION_OPERATION,
      [development.agentName]: span.subagent === undefined ? (span.agent ?? facts.agent) : span.agent,
      [development.providerName]: span.provider ?? providerFor(span.model, facts),
      [development.requestModel]: span.model,
      [development.responseModel]: span.errorType === undefined ? span.model : undefined,
      [development.responseId]: span.response,
      [development.finishReasons]: span.finish === undefined ? undefined : [span.finish],
      [development.conversationCompacted]: span.compacted,
      [development.inputTokens]: span.input,
      [development.outputTokens]: span.output,
      [development.cacheReadTokens]: span.cacheRead,
      [development.cacheWriteTokens]: span.cacheWrite,
      [development.reasoningTokens]: span.reasoning,
      [ours.cacheWrite1hTokens]: span.cacheWrite1h,
      [ours.agentId]: span.subagent,
      [ours.modelRequest]: span.request,
      [ours.modelRetries]: span.retries,
      [ours.costUsd]: span.pricedUsd,
      [ours.costPrices]: span.prices,
      [ours.costReported]: span.costUsd,
      [ours.modelSum]: span.sum,
    },
  ],
};

function attributesOf(span: FinishedSpan, facts: SpanContextFacts): Attributes[] {
  // The row of a kind takes the spans of that kind, but the compiler cannot infer this from the index.
  const row = attributesOfKind[span.kind] as (span: FinishedSpan, facts: SpanContextFacts) => Attributes[];
  return row(span, facts);
}

/** The provider of a model, if its event does not name it. */
export const providerFor = (
  model: string | undefined,
  { provider, providerOf }: Partial<Pick<SpanContextFacts, 'provider' | 'providerOf'>>,
): string | undefined => provider ?? (model === undefined ? undefined : providerOf?.(model));

/** Actions of an MCP server run outside of the agent, so their type is `extension`. */
export const toolTypeOf = (server: string | undefined): string => (server === undefined ? 'function' : 'extension');

/** The name of an MCP server. An agent or a standard may name only the tool. */
export const serverOf = (server: string | undefined): string | undefined => (server === 'unknown' ? undefined : server);

/** The use of the context, as it was last stated. */
const contextUse = (context: ContextUse | undefined): Attributes => ({
  [ours.tokensUsed]: context?.used,
  [ours.tokensLimit]: context?.limit,
});

/** The state of the session, as its agent stated it last. */
function statusOf(status: SessionStatus | undefined): Attributes {
  if (status === undefined) return {};
  return {
    [ours.sessionCost]: status.costUsd,
    [ours.sessionContext]: status.context,
    ...limitAttributes(status.limits),
  };
}

/** The use of the plan's limits. */
export function limitAttributes(limits: readonly RateLimit[] = []): Attributes {
  const attributes: Attributes = {};
  for (const { window, used, resets_at: reset } of limits) {
    attributes[`${ours.limitPrefix}${window}.utilization`] = used;
    attributes[`${ours.limitPrefix}${window}.reset_time`] = reset;
  }
  return attributes;
}

/** The most that tokens can have cost. It is derived, so no counter takes it. */
export const upperBound = (usd: number | undefined, prices: string | undefined): Attributes =>
  usd === undefined ? {} : { [ours.costUpperBound]: usd, [ours.costBasis]: 'derived', [ours.costPrices]: prices };

/** The names of providers that version 1.36 of the conventions spells differently. */
const formerSystems: { readonly [provider: string]: string } = { x_ai: 'xai' };
export const formerSystem = (provider: string): string => own(formerSystems, provider) ?? provider;

export function named(attributes: Attributes, semconv: SpanContextFacts['semconv']): Attributes {
  if (semconv === undefined) return attributes;
  const { [development.providerName]: provider, ...others } = attributes;
  if (typeof provider !== 'string') return attributes;
  const system = { [development.system]: formerSystem(provider) };
  return semconv === 'both' ? { ...attributes, ...system } : { ...others, ...system };
}

/** Adds the attributes under the names of the Python package. The values of content are the same under both names. */
function withFormer(attributes: Attributes, span: FinishedSpan, { formerName }: SpanContextFacts): Attributes {
  return formerName === undefined ? attributes : { ...attributes, ...formerAttributes(span, formerName, attributes) };
}

function repository({ repository, commits }: SessionSpan): Attributes {
  return {
    [development.repositoryUrl]: repository?.url,
    [development.repositoryName]: repository?.name,
    [development.repositoryOwner]: repository?.owner,
    [development.repositoryProvider]: repository?.provider,
    [development.repositoryBranch]: repository?.branch,
    [development.repositoryRevision]: repository?.revision,
    [development.repositoryRefType]: repository?.branch === undefined ? undefined : 'branch',
    [ours.sessionCommits]: commits,
  };
}

const tokensOf = ({ input, output }: Sums): number | undefined =>
  input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0);

/** The tokens of the responses within a span, as far as they were reported. */
function sums({ usage, complete }: { usage: Sums; complete: boolean }): Attributes {
  const isPartial = complete ? undefined : false;
  return {
    // Sums that the agent states do not include the number of responses.
    [ours.modelCalls]: usage.calls === 0 ? undefined : usage.calls,
    [development.inputTokens]: usage.input,
    [development.outputTokens]: usage.output,
    [development.cacheReadTokens]: usage.cacheRead,
    [development.cacheWriteTokens]: usage.cacheWrite,
    [development.reasoningTokens]: usage.reasoning,
    [ours.costUsd]: usage.pricedUsd,
    [ours.costReported]: usage.costUsd,
    [ours.costUnpriced]: usage.unpricedTokens,
    [ours.usageComplete]: isPartial,
  };
}

/** The origin of a decision, on spans and records. */
export const decisionFacts = (origin: DecisionFacts | undefined): Attributes => ({
  [ours.decisionSource]: origin?.source,
  [ours.decisionBasis]: origin?.basis,
  [ours.decisionReasonType]: origin?.reason,
  [ours.decisionScope]: origin?.scope,
  [ours.decisionGrant]: origin?.grant,
});

const decision = ({ decision: known }: { decision: FinishedDecision | undefined }): Attributes => ({
  [ours.decisionOutcome]: known?.outcome,
  ...decisionFacts(known),
});

/** Returns a link to the trace of the program that started the agent, if the configuration asks for a link. */
function callerLink(span: FinishedSpan, { caller }: SpanContextFacts): ReadableSpan['links'] {
  if (span.parent !== undefined || span.trace.segment !== 0 || caller?.policy !== 'link') return [];
  const { traceId, spanId, flags: traceFlags = TraceFlags.SAMPLED } = caller;
  return [
    {
      context: { traceId, spanId, traceFlags, isRemote: true },
      attributes: { [ours.linkType]: 'caller' },
    },
  ];
}

/** Returns a link to the trace in which the session started, if the session has different ids in this process. */
function startLink(span: FinishedSpan, { agent, idScope }: SpanContextFacts): ReadableSpan['links'] {
  const { session, segment } = span.trace;
  if (idScope === undefined || span.kind !== 'session' || segment !== 0) return [];
  const traceId = traceIdOf({ agent, session, segment });
  const spanId = spanIdOf(agent, span.key);
  const type = 'previous_segment' satisfies FinishedSpan['links'][number]['type'];
  return [{ context: { traceId, spanId, traceFlags: TraceFlags.SAMPLED }, attributes: { [ours.linkType]: type } }];
}

/** The spans that are sent: with `trace.turns: off` those of turns are left out. */
export const spansToSend = (
  spans: readonly FinishedSpan[],
  { turns }: Pick<SpanContextFacts, 'turns'>,
): readonly FinishedSpan[] =>
  spans.some(span => isUnsent(span, turns)) ? spans.filter(span => !isUnsent(span, turns)) : spans;

/** A sum over several compactions is counted, but is not sent as a span. */
const isUnsent = (span: FinishedSpan, turns: SpanContextFacts['turns']): boolean =>
  span.kind === 'turn' ? turns === 'off' : span.kind === 'chat' && span.untold === 'several';

/** Returns the id of a span on the wire. If turns have no spans, a turn has the id of its session. */
export function wireSpanId(
  key: SpanKey,
  { session, segment }: TraceKey,
  facts: Pick<SpanContextFacts, 'agent' | 'turns' | 'idScope'>,
): string {
  const isLeftOut = facts.turns === 'off' && key.kind === 'turn';
  return scopedSpanId(isLeftOut ? { kind: 'session', session, parts: [String(segment)] } : key, facts);
}

const scoped = (agent: string, scope: string | undefined): string =>
  scope === undefined ? agent : `${agent}\0${scope}`;

const scopedSpanId = (key: SpanKey, { agent, idScope }: Pick<SpanContextFacts, 'agent' | 'idScope'>): string =>
  spanIdOf(scoped(agent, idScope), key);

/**
 * Returns the id of a trace on the wire: our computed id, or the id of the caller's trace that contains the session.
 */
export function wireTraceId(
  trace: TraceKey,
  { caller, idScope }: Pick<SpanContextFacts, 'caller' | 'idScope'>,
): string {
  if (caller?.policy === 'parent' && trace.segment === 0) return caller.traceId;
  return traceIdOf(idScope === undefined ? trace : { ...trace, agent: scoped(trace.agent, idScope) });
}

function parentOf(span: FinishedSpan, facts: SpanContextFacts): { spanId: string; traceFlags: number } | undefined {
  const { caller } = facts;
  if (span.parent) return { spanId: wireSpanId(span.parent, span.trace, facts), traceFlags: TraceFlags.SAMPLED };
  if (caller?.policy !== 'parent' || span.trace.segment !== 0) return undefined;
  return { spanId: caller.spanId, traceFlags: caller.flags ?? TraceFlags.SAMPLED };
}
