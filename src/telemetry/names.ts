/**
 * Every name on the wire: span attributes, log attributes, event names, metrics.
 *
 * Every name that `@opentelemetry/semantic-conventions` defines is imported by name, so that esbuild bundles only these
 * texts of the package. If a name is newer than that package, a comment states its source: the GenAI names are in a
 * registry without a release (semantic-conventions-genai, October 2026, all in development). `agent_hooks.*` are our
 * own names for facts that the conventions do not cover yet (decision and risk are proposals).
 */
import {
  ATTR_ERROR_TYPE,
  ATTR_EXCEPTION_MESSAGE,
  ATTR_EXCEPTION_TYPE,
  ATTR_SERVICE_INSTANCE_ID,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
  ATTR_TELEMETRY_DISTRO_NAME,
  ATTR_TELEMETRY_DISTRO_VERSION,
  ATTR_TELEMETRY_SDK_LANGUAGE,
  ATTR_TELEMETRY_SDK_NAME,
  ATTR_TELEMETRY_SDK_VERSION,
} from '@opentelemetry/semantic-conventions';
import {
  ATTR_EVENT_NAME,
  ATTR_FILE_PATH,
  ATTR_GEN_AI_AGENT_NAME,
  ATTR_GEN_AI_COMPLETION,
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_GEN_AI_PROMPT,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_ID,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_SYSTEM,
  ATTR_GEN_AI_TOKEN_TYPE,
  ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
  ATTR_GEN_AI_TOOL_CALL_ID,
  ATTR_GEN_AI_TOOL_CALL_RESULT,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_GEN_AI_TOOL_TYPE,
  ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
  ATTR_HOST_ID,
  ATTR_HOST_NAME,
  ATTR_MCP_METHOD_NAME,
  ATTR_PROCESS_COMMAND_LINE,
  ATTR_PROCESS_EXECUTABLE_NAME,
  ATTR_PROCESS_EXIT_CODE,
  ATTR_PROCESS_WORKING_DIRECTORY,
  ATTR_SESSION_ID,
  ATTR_SESSION_PREVIOUS_ID,
  ATTR_USER_HASH,
  ATTR_USER_ID,
  ATTR_VCS_OWNER_NAME,
  ATTR_VCS_PROVIDER_NAME,
  ATTR_VCS_REF_HEAD_NAME,
  ATTR_VCS_REF_HEAD_REVISION,
  ATTR_VCS_REF_HEAD_TYPE,
  ATTR_VCS_REPOSITORY_NAME,
  ATTR_VCS_REPOSITORY_URL_FULL,
  EVENT_GEN_AI_CLIENT_OPERATION_EXCEPTION,
  GEN_AI_OPERATION_NAME_VALUE_CHAT,
  GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
  GEN_AI_OPERATION_NAME_VALUE_INVOKE_AGENT,
  METRIC_GEN_AI_CLIENT_OPERATION_DURATION,
  METRIC_GEN_AI_CLIENT_TOKEN_USAGE,
  METRIC_MCP_CLIENT_OPERATION_DURATION,
} from '@opentelemetry/semantic-conventions/incubating';
import { FILE_WRITE } from '../event/event.ts';

export const SCOPE = 'otel-hooks';

/** Stable. */
export const stable = {
  errorType: ATTR_ERROR_TYPE,
  exceptionType: ATTR_EXCEPTION_TYPE,
  exceptionMessage: ATTR_EXCEPTION_MESSAGE,
  serviceName: ATTR_SERVICE_NAME,
  serviceVersion: ATTR_SERVICE_VERSION,
  serviceInstanceId: ATTR_SERVICE_INSTANCE_ID,
  telemetrySdkName: ATTR_TELEMETRY_SDK_NAME,
  telemetrySdkLanguage: ATTR_TELEMETRY_SDK_LANGUAGE,
  telemetrySdkVersion: ATTR_TELEMETRY_SDK_VERSION,
  telemetryDistroName: ATTR_TELEMETRY_DISTRO_NAME,
  telemetryDistroVersion: ATTR_TELEMETRY_DISTRO_VERSION,
} as const;

/** Names of the Python package otel-hooks, for `compat.span_names`: docs/from-python.md. */
export const former = {
  sourceTool: 'source_tool',
  turnDuration: 'turn.duration_seconds',
  prompt: ATTR_GEN_AI_PROMPT,
  completion: ATTR_GEN_AI_COMPLETION,
  toolName: 'tool.name',
  toolId: 'tool.id',
  toolInput: 'tool.input',
  toolOutput: 'tool.output',
  toolDuration: 'tool.duration_seconds',
} as const;

/** In development, or release candidates, upstream. */
export const development = {
  sessionId: ATTR_SESSION_ID,
  previousSessionId: ATTR_SESSION_PREVIOUS_ID,
  eventName: ATTR_EVENT_NAME,
  conversationId: ATTR_GEN_AI_CONVERSATION_ID,
  conversationCompacted: 'gen_ai.conversation.compacted', // semantic-conventions-genai, model/gen-ai/registry.yaml
  repositoryUrl: ATTR_VCS_REPOSITORY_URL_FULL,
  repositoryName: ATTR_VCS_REPOSITORY_NAME,
  repositoryOwner: ATTR_VCS_OWNER_NAME,
  repositoryProvider: ATTR_VCS_PROVIDER_NAME,
  repositoryBranch: ATTR_VCS_REF_HEAD_NAME,
  repositoryRevision: ATTR_VCS_REF_HEAD_REVISION,
  repositoryRefType: ATTR_VCS_REF_HEAD_TYPE,
  operationName: ATTR_GEN_AI_OPERATION_NAME,
  agentName: ATTR_GEN_AI_AGENT_NAME,
  providerName: ATTR_GEN_AI_PROVIDER_NAME,
  /** The name of `gen_ai.provider.name` up to 1.36. */
  system: ATTR_GEN_AI_SYSTEM,
  requestModel: ATTR_GEN_AI_REQUEST_MODEL,
  responseModel: ATTR_GEN_AI_RESPONSE_MODEL,
  responseId: ATTR_GEN_AI_RESPONSE_ID,
  finishReasons: ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  inputTokens: ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  outputTokens: ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  cacheReadTokens: ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens', // semantic-conventions-genai, pull request 440
  reasoningTokens: ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
  tokenModality: 'gen_ai.token.modality', // semantic-conventions-genai, pull request 374
  tokenType: ATTR_GEN_AI_TOKEN_TYPE,
  toolName: ATTR_GEN_AI_TOOL_NAME,
  toolCallId: ATTR_GEN_AI_TOOL_CALL_ID,
  toolType: ATTR_GEN_AI_TOOL_TYPE,
  mcpMethodName: ATTR_MCP_METHOD_NAME,
  skillName: 'gen_ai.skill.name', // semantic-conventions-genai, model/gen-ai/registry.yaml
  processExecutableName: ATTR_PROCESS_EXECUTABLE_NAME,
  processExitCode: ATTR_PROCESS_EXIT_CODE,
  processCommandLine: ATTR_PROCESS_COMMAND_LINE,
  processWorkingDirectory: ATTR_PROCESS_WORKING_DIRECTORY,
  filePath: ATTR_FILE_PATH,
  inputMessages: ATTR_GEN_AI_INPUT_MESSAGES,
  outputMessages: ATTR_GEN_AI_OUTPUT_MESSAGES,
  toolArguments: ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
  toolResult: ATTR_GEN_AI_TOOL_CALL_RESULT,
  userId: ATTR_USER_ID,
  userHash: ATTR_USER_HASH,
  hostId: ATTR_HOST_ID,
  hostName: ATTR_HOST_NAME,
} as const;

export const ours = {
  specVersion: 'agent_hooks.spec.version',
  eventId: 'agent_hooks.event.id',
  eventType: 'agent_hooks.event.type',
  eventNative: 'agent_hooks.event.native',
  traceRecord: 'agent_hooks.trace_record.id',
  agentId: 'agent_hooks.agent.id',
  agentMode: 'agent_hooks.agent.mode',
  parentSession: 'agent_hooks.session.parent_id',
  actorType: 'agent_hooks.actor.type',
  actorId: 'agent_hooks.actor.id',
  linkType: 'agent_hooks.link.type',
  durationSource: 'agent_hooks.duration.source',
  segment: 'agent_hooks.session.segment',
  startReason: 'agent_hooks.session.start_reason',
  endReason: 'agent_hooks.session.end_reason',
  sessionTokens: 'agent_hooks.session.tokens',
  sessionDurationMs: 'agent_hooks.session.duration_ms',
  sessionTurns: 'agent_hooks.session.turns',
  sessionActions: 'agent_hooks.session.actions',
  sessionSubagents: 'agent_hooks.session.subagents',
  sessionDenied: 'agent_hooks.session.actions_denied',
  sessionFailed: 'agent_hooks.session.actions_failed',
  turnId: 'agent_hooks.turn.id',
  turnOutcome: 'agent_hooks.turn.outcome',
  turnPrompts: 'agent_hooks.turn.prompts',
  turnContinuation: 'agent_hooks.turn.continuation',
  turnActions: 'agent_hooks.turn.actions',
  turnDenied: 'agent_hooks.turn.actions_denied',
  turnFailed: 'agent_hooks.turn.actions_failed',
  turnWaitMs: 'agent_hooks.turn.wait_ms',
  subagentDepth: 'agent_hooks.subagent.depth',
  subagentOutcome: 'agent_hooks.subagent.outcome',
  subagentActions: 'agent_hooks.subagent.actions',
  subagentContinuation: 'agent_hooks.subagent.continuation',
  actionName: 'agent_hooks.action.name',
  actionOutcome: 'agent_hooks.action.outcome',
  actionSuccess: 'agent_hooks.action.success',
  actionWaitMs: 'agent_hooks.action.wait_ms',
  actionDurationMs: 'agent_hooks.action.duration_ms',
  actionFamily: 'agent_hooks.action.family',
  actionOperation: 'agent_hooks.action.operation',
  actionSubtype: 'agent_hooks.action.subtype',
  actionTimeoutMs: 'agent_hooks.action.timeout_ms',
  actionBackground: 'agent_hooks.action.background',
  actionOffset: 'agent_hooks.action.offset',
  actionLimit: 'agent_hooks.action.limit',
  actionOutputMode: 'agent_hooks.action.output_mode',
  actionCaseInsensitive: 'agent_hooks.action.case_insensitive',
  actionMultiline: 'agent_hooks.action.multiline',
  actionReplaceAll: 'agent_hooks.action.replace_all',
  actionEditMode: 'agent_hooks.action.edit_mode',
  actionAgentModel: 'agent_hooks.action.agent_model',
  argumentsHash: 'agent_hooks.action.arguments_hash',
  resultHash: 'agent_hooks.action.result_hash',
  pathHash: 'agent_hooks.action.path_hash',
  commandHash: 'agent_hooks.action.command_hash',
  modelCalls: 'agent_hooks.model.calls',
  modelRequest: 'agent_hooks.model.request_id',
  modelRetries: 'agent_hooks.model.retry_count',
  costUsd: 'agent_hooks.cost.usd',
  costPrices: 'agent_hooks.cost.prices',
  costReported: 'agent_hooks.cost.reported_usd',
  costUpperBound: 'agent_hooks.cost.upper_bound_usd',
  costBasis: 'agent_hooks.cost.basis',
  costUnpriced: 'agent_hooks.cost.unpriced_tokens',
  modelSum: 'agent_hooks.model.sum_of',
  cacheWrite1hTokens: 'agent_hooks.model.cache_write_1h_tokens',
  usageComplete: 'agent_hooks.usage.complete',
  mcpServer: 'agent_hooks.mcp.server',
  decisionOutcome: 'agent_hooks.decision.outcome',
  decisionSource: 'agent_hooks.decision.source',
  decisionBasis: 'agent_hooks.decision.basis',
  decisionReason: 'agent_hooks.decision.reason',
  decisionReasonType: 'agent_hooks.decision.reason_type',
  decisionScope: 'agent_hooks.decision.scope',
  decisionGrant: 'agent_hooks.decision.grant',
  choiceType: 'agent_hooks.agent_decision.type',
  choiceSelected: 'agent_hooks.agent_decision.selected',
  choiceOptions: 'agent_hooks.agent_decision.options_count',
  choiceConfidence: 'agent_hooks.agent_decision.confidence',
  choiceSummaryLength: 'agent_hooks.agent_decision.summary_length',
  riskScore: 'agent_hooks.risk.score',
  riskLevel: 'agent_hooks.risk.level',
  riskFactors: 'agent_hooks.risk.factors',
  promptLength: 'agent_hooks.prompt.length',
  promptHash: 'agent_hooks.prompt.hash',
  promptFollowup: 'agent_hooks.prompt.is_followup',
  responseLength: 'agent_hooks.response.length',
  responseHash: 'agent_hooks.response.hash',
  responseFinal: 'agent_hooks.response.final',
  sessionCommits: 'agent_hooks.session.commits',
  planType: 'agent_hooks.plan.type',
  planSteps: 'agent_hooks.plan.step_count',
  contextTrigger: 'agent_hooks.context.trigger',
  contextPhase: 'agent_hooks.context.phase',
  contextThreshold: 'agent_hooks.context.threshold',
  contextStrategy: 'agent_hooks.context.strategy',
  contextUri: 'agent_hooks.context_uri',
  tokensBefore: 'agent_hooks.context.tokens_before',
  tokensAfter: 'agent_hooks.context.tokens_after',
  tokensRemoved: 'agent_hooks.context.tokens_removed',
  tokensUsed: 'agent_hooks.context.tokens_used',
  tokensLimit: 'agent_hooks.context.tokens_limit',
  tokensRemaining: 'agent_hooks.context.tokens_remaining',
  utilization: 'agent_hooks.context.utilization',
  policyName: 'agent_hooks.policy.name',
  policyRule: 'agent_hooks.policy.rule',
  policyReason: 'agent_hooks.policy.reason',
  policyOverrideBy: 'agent_hooks.policy.override_by',
  fileOperation: 'agent_hooks.file.operation',
  fileStartLine: 'agent_hooks.file.start_line',
  fileEndLine: 'agent_hooks.file.end_line',
  notificationType: 'agent_hooks.notification.type',
  notificationMessage: 'agent_hooks.notification.message',
  errorRecurrence: 'agent_hooks.error.recurrence',
  errorOrigin: 'agent_hooks.error.origin_event',
  retryAttempt: 'agent_hooks.retry.attempt',
  retryAction: 'agent_hooks.retry.action',
  retryReason: 'agent_hooks.retry.reason',
  loopState: 'agent_hooks.retry.state',
  loopDetected: 'agent_hooks.retry.loop_detected',
  loopAborted: 'agent_hooks.retry.loop_aborted',
  sessionLoops: 'agent_hooks.session.loops',
  turnRetries: 'agent_hooks.turn.retries',
  limitWindow: 'agent_hooks.rate_limit.window',
  limitPrefix: 'agent_hooks.rate_limit.',
  sessionCost: 'agent_hooks.session.cost_usd',
  sessionContext: 'agent_hooks.session.context_utilization',
  budgetOf: 'agent_hooks.budget.of',
  budgetUnit: 'agent_hooks.budget.unit',
  budgetState: 'agent_hooks.budget.state',
  budgetUsed: 'agent_hooks.budget.used',
  budgetLimit: 'agent_hooks.budget.limit',
  loopIterations: 'agent_hooks.retry.iteration_count',
  loopTokens: 'agent_hooks.retry.tokens_consumed',
  loopElapsedMs: 'agent_hooks.retry.elapsed_ms',
  pipelineItem: 'agent_hooks.pipeline.item',
  pipelineReason: 'agent_hooks.pipeline.reason',
  pipelineResult: 'agent_hooks.pipeline.result',
  vendorPrefix: 'agent_hooks.vendor.',
  metadataPrefix: 'agent_hooks.metadata.',
} as const;

/** Names of the signals that `doctor` sends and reads back. */
export const doctor = {
  synthetic: 'otel_hooks.doctor.synthetic',
  event: 'otel_hooks.doctor',
  metric: 'otel_hooks.doctor.time',
} as const;

export const operations = {
  invokeAgent: GEN_AI_OPERATION_NAME_VALUE_INVOKE_AGENT,
  executeTool: GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
  chat: GEN_AI_OPERATION_NAME_VALUE_CHAT,
  plan: 'plan', // semantic-conventions-genai, operation of gen_ai.plan.internal
} as const;

/** Our own operation: the request that summarizes the context. The conventions name none for it. */
export const COMPACTION_OPERATION = 'compaction';

/** The event name of vendor and unknown events. The type is an attribute. */
export const VENDOR_EVENT = 'agent_hooks.vendor';

/** The conventions' record of a model's failure, beside the event's own record. */
export const EXCEPTION_EVENT = EVENT_GEN_AI_CLIENT_OPERATION_EXCEPTION;

export const FILE_WRITE_EVENT = 'agent_hooks.file.write';

/** The event name on the wire: `Session.Start` becomes `agent_hooks.session.start`. */
export function eventNameOf(type: string): string {
  if (type === FILE_WRITE) return FILE_WRITE_EVENT;
  return type.startsWith('vendor.') ? VENDOR_EVENT : `agent_hooks.${type.toLowerCase()}`;
}

export interface MetricName {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  /** The bucket bounds of a histogram. Absent for a counter. */
  readonly bounds?: readonly number[];
  /** The values are fractions. */
  readonly fractional?: true;
  /** The value goes up and down: it states a present level. */
  readonly isLevel?: true;
  /** Each measurement replaces the one before it, and is sent once: back ends then know when it was measured. */
  readonly isGauge?: true;
}

const doubling = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Number((first * 2 ** i).toPrecision(6)));

const powersOf4 = Array.from({ length: 14 }, (_, i) => 4 ** i);

export const metrics = {
  sessionsStarted: {
    name: 'agent_hooks.session.started',
    unit: '{session}',
    description: 'Sessions that started, by reason.',
  },
  sessionDuration: {
    name: 'agent_hooks.session.duration',
    unit: 's',
    description: 'Length of sessions, from the first to the last event of a segment.',
    bounds: [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800],
  },
  prompts: { name: 'agent_hooks.prompt.submitted', unit: '{prompt}', description: 'Prompts submitted.' },
  commits: {
    name: 'agent_hooks.vcs.commits',
    unit: '{commit}',
    description: 'Commits made in working folders while sessions ran.',
  },
  decisions: {
    name: 'agent_hooks.decisions',
    unit: '{decision}',
    description: 'Decisions on actions and prompts, by outcome and by who took them.',
  },
  riskScore: {
    name: 'agent_hooks.risk.score',
    unit: '1',
    description: 'Risk of actions, where one is stated.',
    bounds: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
  },
  compactions: {
    name: 'agent_hooks.context.compactions',
    unit: '{compaction}',
    description: 'Compactions of the context that began.',
  },
  policyEvents: {
    name: 'agent_hooks.policy.events',
    unit: '{event}',
    description: 'Violations, blocks and overrides of policies.',
  },
  errors: { name: 'agent_hooks.errors', unit: '{error}', description: 'Errors of the agent itself.' },
  fileWrites: {
    name: 'agent_hooks.file.writes',
    unit: '{write}',
    description: 'Files that were created, changed or deleted, as OpenHook tells it.',
  },
  notifications: { name: 'agent_hooks.notifications', unit: '{notification}', description: 'Notifications, by type.' },
  pipelineEvents: {
    name: 'agent_hooks.pipeline.events',
    unit: '{event}',
    description: 'Events, by type and by what became of them.',
  },
  pipelineDropped: {
    name: 'agent_hooks.pipeline.dropped',
    unit: '{item}',
    description: 'What was received or produced and dropped on this machine, by reason.',
  },
  pipelineRejected: {
    name: 'agent_hooks.pipeline.export.rejected',
    unit: '{item}',
    description: 'What the destination refused for good, by reason.',
  },
  pipelineFailed: {
    name: 'agent_hooks.pipeline.failed',
    unit: '{try}',
    description:
      'Tries to send that came to nothing, by reason; what was sent waits on this machine and is tried again.',
  },
  pipelineOverflow: {
    name: 'agent_hooks.pipeline.overflow',
    unit: '{measurement}',
    description:
      'What was counted under `other`, since there were too many series or values, by what there was too much of.',
  },
  pipelineSpool: {
    name: 'agent_hooks.pipeline.spool.size',
    unit: 'By',
    description: 'What lies in the outboxes of this machine and waits to be sent, to whichever destination.',
    isLevel: true,
  },
  pipelineExport: {
    name: 'agent_hooks.pipeline.export.duration',
    unit: 's',
    description: 'Time that the destination took to take one request.',
    bounds: doubling(0.01, 14),
  },
  pipelineQuarantined: {
    name: 'agent_hooks.pipeline.quarantined',
    unit: '{item}',
    description: 'Fragments that could not be read, by reason.',
  },
  pipelineSilenced: {
    name: 'agent_hooks.pipeline.silenced',
    unit: '{session}',
    description: 'Sessions whose spans do not leave since the file of their project says so, by the setting.',
  },
  toolDuration: {
    name: 'gen_ai.execute_tool.duration', // semantic-conventions-genai, model/gen-ai/metrics.yaml
    unit: 's',
    description: 'Length of actions; equal to their spans.',
    bounds: doubling(0.01, 14),
  },
  agentDuration: {
    name: 'gen_ai.invoke_agent.duration', // semantic-conventions-genai, model/gen-ai/metrics.yaml
    unit: 's',
    description: 'Length of turns and of subagents; equal to their spans.',
    bounds: doubling(0.1, 13),
  },
  inputTokens: {
    name: 'gen_ai.client.inference.usage.input_tokens', // semantic-conventions-genai, pull request 374
    unit: '{token}',
    description: 'Tokens that models were given, those from caches among them.',
  },
  outputTokens: {
    name: 'gen_ai.client.inference.usage.output_tokens', // semantic-conventions-genai, pull request 374
    unit: '{token}',
    description: 'Tokens that models gave, reasoning among them.',
  },
  cacheReadTokens: {
    name: 'gen_ai.client.inference.usage.cache_read.input_tokens', // semantic-conventions-genai, pull request 374
    unit: '{token}',
    description: 'Of the input, what was read from a cache.',
  },
  cacheWriteTokens: {
    name: 'gen_ai.client.inference.usage.cache_write.input_tokens', // semantic-conventions-genai, pull request 440
    unit: '{token}',
    description: 'Of the input, what was written to a cache.',
  },
  reasoningTokens: {
    name: 'gen_ai.client.inference.usage.reasoning.output_tokens', // semantic-conventions-genai, pull request 374
    unit: '{token}',
    description: 'Of the output, what was reasoning, where the provider says it.',
  },
  cost: {
    name: 'agent_hooks.cost.computed',
    unit: 'USD',
    description: 'What responses cost by lists of prices.',
    fractional: true,
  },
  costReported: {
    name: 'agent_hooks.cost.reported',
    unit: 'USD',
    description: 'What responses cost by the word of the agent itself.',
    fractional: true,
  },
  costUnpriced: {
    name: 'agent_hooks.cost.unpriced',
    unit: '{token}',
    description: 'Tokens of responses that no list has a price for.',
  },
  inferenceDuration: {
    name: 'gen_ai.client.inference.duration', // semantic-conventions-genai, model/gen-ai/metrics.yaml
    unit: 's',
    description: 'Time from what was asked to the response; equal to their spans, where that is known.',
    bounds: doubling(0.01, 14),
  },
  mcpDuration: {
    name: METRIC_MCP_CLIENT_OPERATION_DURATION,
    unit: 's',
    description: 'Length of actions that an MCP server carried out, as the agent saw it.',
    bounds: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
  },
  inputTokensEach: {
    name: 'gen_ai.client.inference.operation.input_tokens', // semantic-conventions-genai, pull request 374
    unit: '{token}',
    description: 'Tokens that a model was given for one response.',
    bounds: powersOf4,
  },
  outputTokensEach: {
    name: 'gen_ai.client.inference.operation.output_tokens', // semantic-conventions-genai, pull request 374
    unit: '{token}',
    description: 'Tokens of one response.',
    bounds: powersOf4,
  },
  tokenUsage: {
    name: METRIC_GEN_AI_CLIENT_TOKEN_USAGE,
    unit: '{token}',
    description: 'Tokens of one response, by kind; the name of version 1.36, with `semconv`.',
    bounds: powersOf4,
  },
  operationDuration: {
    name: METRIC_GEN_AI_CLIENT_OPERATION_DURATION,
    unit: 's',
    description: 'As gen_ai.client.inference.duration; the name of version 1.36, with `semconv`.',
    bounds: doubling(0.01, 14),
  },
  agentInferenceCalls: {
    name: 'gen_ai.invoke_agent.inference_calls', // semantic-conventions-genai, model/gen-ai/metrics.yaml
    unit: '{inference_call}',
    description: 'Responses of models in one turn or one subagent, those of its own subagents apart.',
    bounds: [1, 2, 4, 8, 16, 32, 64, 128],
  },
  decisionWait: {
    name: 'agent_hooks.decision.wait',
    unit: 's',
    description: 'Time for which a person was asked, where the answer shows in what the agent tells.',
    bounds: [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
  },
  utilization: {
    name: 'agent_hooks.context.utilization',
    unit: '1',
    description: "Share of the model's window that is used, each time that it is known.",
    bounds: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  },
  compression: {
    name: 'agent_hooks.context.compression',
    unit: '1',
    description: 'What a compaction left of the context, as a share.',
    bounds: [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  },
  budgets: {
    name: 'agent_hooks.budget.thresholds',
    unit: '{threshold}',
    description: 'Thresholds of budgets that sessions and turns passed.',
  },
  contextThresholds: {
    name: 'agent_hooks.context.thresholds',
    unit: '{threshold}',
    description: "Times that the use of the model's window reached 70 % or 80 %.",
  },
  sessionContext: {
    name: 'agent_hooks.session.context_utilization',
    unit: '1',
    description: "Share of the model's window that the running session uses, as the agent stated it last.",
    fractional: true,
    isGauge: true,
  },
  sessionCost: {
    name: 'agent_hooks.session.cost',
    unit: 'USD',
    description: 'Cost of the running session so far, as the agent stated it last.',
    fractional: true,
    isGauge: true,
  },
  limitUsed: {
    name: 'agent_hooks.rate_limit.utilization',
    unit: '1',
    description: "Used share of a limit of the user's plan, as the agent stated it last.",
    fractional: true,
    isGauge: true,
  },
  limitReset: {
    name: 'agent_hooks.rate_limit.reset_time',
    unit: 's',
    description: "Time at which the use of a limit of the user's plan begins anew, in Unix seconds.",
    isGauge: true,
  },
  loops: {
    name: 'agent_hooks.retry.loops',
    unit: '{loop}',
    description: 'Loops that were detected, and those that were stopped.',
  },
  retries: {
    name: 'agent_hooks.retry.triggered',
    unit: '{retry}',
    description: 'Actions, and requests to models, that were tried again.',
  },
  tokensRemoved: {
    name: 'agent_hooks.context.tokens_removed',
    unit: '{token}',
    description: 'Tokens that compactions took out of the context.',
  },
  agentToolCalls: {
    name: 'gen_ai.invoke_agent.tool_calls', // semantic-conventions-genai, model/gen-ai/metrics.yaml
    unit: '{tool_call}',
    description: 'Actions in one turn or one subagent, those of its own subagents apart.',
    bounds: [1, 2, 4, 8, 16, 32, 64, 128],
  },
} as const satisfies Record<string, MetricName>;

export type MetricId = keyof typeof metrics;
