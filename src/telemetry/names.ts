/**
 * Every name on the wire: span attributes, log attributes, event names, metrics.
 *
 * The names of OpenTelemetry are copied, not imported: the GenAI names live in a registry without a release
 * (semantic-conventions-genai, October 2026, all in development), and the package's incubating entry marks them as moved.
 * `agent_hooks.*` are our own names, for things that the conventions do not cover yet (decision and risk are proposals).
 */
import { FILE_WRITE } from '../event/event.ts';

export const SCOPE = 'otel-hooks';

/** Stable, semantic-conventions 1.45.0. */
export const stable = {
  errorType: 'error.type',
  exceptionType: 'exception.type',
  exceptionMessage: 'exception.message',
  serviceName: 'service.name',
  serviceVersion: 'service.version',
  serviceInstanceId: 'service.instance.id',
  telemetrySdkName: 'telemetry.sdk.name',
  telemetrySdkLanguage: 'telemetry.sdk.language',
  telemetrySdkVersion: 'telemetry.sdk.version',
  telemetryDistroName: 'telemetry.distro.name',
  telemetryDistroVersion: 'telemetry.distro.version',
} as const;

/** Names of the Python package otel-hooks, for `compat.span_names`: docs/from-python.md. */
export const former = {
  sourceTool: 'source_tool',
  turnDuration: 'turn.duration_seconds',
  prompt: 'gen_ai.prompt',
  completion: 'gen_ai.completion',
  toolName: 'tool.name',
  toolId: 'tool.id',
  toolInput: 'tool.input',
  toolOutput: 'tool.output',
  toolDuration: 'tool.duration_seconds',
} as const;

/** In development, or release candidates, upstream. */
export const development = {
  sessionId: 'session.id',
  previousSessionId: 'session.previous_id',
  eventName: 'event.name',
  conversationId: 'gen_ai.conversation.id',
  conversationCompacted: 'gen_ai.conversation.compacted',
  repositoryUrl: 'vcs.repository.url.full',
  repositoryName: 'vcs.repository.name',
  repositoryOwner: 'vcs.owner.name',
  repositoryProvider: 'vcs.provider.name',
  repositoryBranch: 'vcs.ref.head.name',
  repositoryRevision: 'vcs.ref.head.revision',
  repositoryRefType: 'vcs.ref.head.type',
  operationName: 'gen_ai.operation.name',
  agentName: 'gen_ai.agent.name',
  providerName: 'gen_ai.provider.name',
  /** The name of `gen_ai.provider.name` up to 1.36. */
  system: 'gen_ai.system',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenModality: 'gen_ai.token.modality',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  mcpMethodName: 'mcp.method.name',
  skillName: 'gen_ai.skill.name',
  processExecutableName: 'process.executable.name',
  processExitCode: 'process.exit.code',
  processCommandLine: 'process.command_line',
  processWorkingDirectory: 'process.working_directory',
  filePath: 'file.path',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  userId: 'user.id',
  userHash: 'user.hash',
  hostId: 'host.id',
  hostName: 'host.name',
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
  subagentOutcome: 'agent_hooks.subagent.outcome',
  subagentActions: 'agent_hooks.subagent.actions',
  subagentContinuation: 'agent_hooks.subagent.continuation',
  actionName: 'agent_hooks.action.name',
  actionOutcome: 'agent_hooks.action.outcome',
  actionSuccess: 'agent_hooks.action.success',
  actionWaitMs: 'agent_hooks.action.wait_ms',
  actionDurationMs: 'agent_hooks.action.duration_ms',
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
  costUnpriced: 'agent_hooks.cost.unpriced_tokens',
  modelSum: 'agent_hooks.model.sum_of',
  cacheWrite1hTokens: 'agent_hooks.model.cache_write_1h_tokens',
  usageComplete: 'agent_hooks.usage.complete',
  mcpServer: 'agent_hooks.mcp.server',
  decisionOutcome: 'agent_hooks.decision.outcome',
  decisionSource: 'agent_hooks.decision.source',
  decisionBasis: 'agent_hooks.decision.basis',
  decisionReason: 'agent_hooks.decision.reason',
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
  errorOrigin: 'agent_hooks.error.origin_event',
  retryAttempt: 'agent_hooks.retry.attempt',
  retryAction: 'agent_hooks.retry.action',
  retryReason: 'agent_hooks.retry.reason',
  loopState: 'agent_hooks.retry.state',
  loopDetected: 'agent_hooks.retry.loop_detected',
  loopAborted: 'agent_hooks.retry.loop_aborted',
  sessionLoops: 'agent_hooks.session.loops',
  turnRetries: 'agent_hooks.turn.retries',
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
  invokeAgent: 'invoke_agent',
  executeTool: 'execute_tool',
  chat: 'chat',
  plan: 'plan',
} as const;

/** The event name of vendor and unknown events. The type is an attribute. */
export const VENDOR_EVENT = 'agent_hooks.vendor';

/** The conventions' record of a model's failure, beside the event's own record. */
export const EXCEPTION_EVENT = 'gen_ai.client.operation.exception';

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
    name: 'gen_ai.execute_tool.duration',
    unit: 's',
    description: 'Length of actions; equal to their spans.',
    bounds: doubling(0.01, 14),
  },
  agentDuration: {
    name: 'gen_ai.invoke_agent.duration',
    unit: 's',
    description: 'Length of turns and of subagents; equal to their spans.',
    bounds: doubling(0.1, 13),
  },
  inputTokens: {
    name: 'gen_ai.client.inference.usage.input_tokens',
    unit: '{token}',
    description: 'Tokens that models were given, those from caches among them.',
  },
  outputTokens: {
    name: 'gen_ai.client.inference.usage.output_tokens',
    unit: '{token}',
    description: 'Tokens that models gave, reasoning among them.',
  },
  cacheReadTokens: {
    name: 'gen_ai.client.inference.usage.cache_read.input_tokens',
    unit: '{token}',
    description: 'Of the input, what was read from a cache.',
  },
  cacheWriteTokens: {
    name: 'gen_ai.client.inference.usage.cache_write.input_tokens',
    unit: '{token}',
    description: 'Of the input, what was written to a cache.',
  },
  reasoningTokens: {
    name: 'gen_ai.client.inference.usage.reasoning.output_tokens',
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
    name: 'gen_ai.client.inference.duration',
    unit: 's',
    description: 'Time from what was asked to the response; equal to their spans, where that is known.',
    bounds: doubling(0.01, 14),
  },
  mcpDuration: {
    name: 'mcp.client.operation.duration',
    unit: 's',
    description: 'Length of actions that an MCP server carried out, as the agent saw it.',
    bounds: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
  },
  inputTokensEach: {
    name: 'gen_ai.client.inference.operation.input_tokens',
    unit: '{token}',
    description: 'Tokens that a model was given for one response.',
    bounds: powersOf4,
  },
  outputTokensEach: {
    name: 'gen_ai.client.inference.operation.output_tokens',
    unit: '{token}',
    description: 'Tokens of one response.',
    bounds: powersOf4,
  },
  tokenUsage: {
    name: 'gen_ai.client.token.usage',
    unit: '{token}',
    description: 'Tokens of one response, by kind; the name of version 1.36, with `semconv`.',
    bounds: powersOf4,
  },
  operationDuration: {
    name: 'gen_ai.client.operation.duration',
    unit: 's',
    description: 'As gen_ai.client.inference.duration; the name of version 1.36, with `semconv`.',
    bounds: doubling(0.01, 14),
  },
  agentInferenceCalls: {
    name: 'gen_ai.invoke_agent.inference_calls',
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
  loops: {
    name: 'agent_hooks.retry.loops',
    unit: '{loop}',
    description: 'Loops that were detected, and those that somebody stopped.',
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
    name: 'gen_ai.invoke_agent.tool_calls',
    unit: '{tool_call}',
    description: 'Actions in one turn or one subagent, those of its own subagents apart.',
    bounds: [1, 2, 4, 8, 16, 32, 64, 128],
  },
} as const satisfies Record<string, MetricName>;

export type MetricId = keyof typeof metrics;
