/**
 * The generated documents docs/commands.md and docs/telemetry.md. `npm run docs` writes them; the test beside this file
 * fails when they are stale.
 */

import { SpanKind } from '@opentelemetry/api';
import { agents } from '../../src/agents/index.ts';
import { REPOSITORY } from '../../src/assemble/assemble.ts';
import { type Command, type Flag, globalFlags } from '../../src/commands/command.ts';
import { commands } from '../../src/commands/registry.ts';
import { lossesOf, spoolOf } from '../../src/deliver/state-limits.ts';
import { contentClasses } from '../../src/event/content-classes.ts';
import { eventTypes, FILE_WRITE, limitWindows } from '../../src/event/event.ts';
import { accountsOf, emptyLedger } from '../../src/store/ledger.ts';
import { type Increment, incrementsOf } from '../../src/telemetry/increments.ts';
import { severities } from '../../src/telemetry/logs.ts';
import {
  development,
  EXCEPTION_EVENT,
  eventNameOf,
  FILE_WRITE_EVENT,
  type MetricName,
  metrics,
  ours,
  SCOPE,
  stable,
  VENDOR_EVENT,
} from '../../src/telemetry/names.ts';
import { metricResource, resourceAttributes, resourceOf, versioned } from '../../src/telemetry/resource.ts';
import { readableRecordOf, readableSpanOf } from '../otlp.ts';
import { agent, eventOf, session, spans, written } from './probes.ts';

const GENERATED = '<!-- Written by `npm run docs`; edits are overwritten. -->\n';

// ---------------------------------------------------------------- docs/commands.md

export function commandsPage(): string {
  return `${[
    GENERATED,
    '# Commands',
    '',
    'Exit codes: 0: done. 1: a problem was found, or work is left. 2: wrong usage. The command `hook`, which agents call, always exits with 0.',
    '',
    'Every command has these flags:',
    '',
    ...flagTable(globalFlags),
    '',
    ...commands.flatMap(commandSection),
  ]
    .join('\n')
    .trimEnd()}\n`;
}

const commandSection = (command: Command): string[] => [
  `## ${command.name}`,
  '',
  `${capital(command.summary)}.`,
  '',
  '```',
  command.usage,
  '```',
  '',
  ...(command.notes ? [command.notes.join(' '), ''] : []),
  ...(command.flags.length > 0 ? [...flagTable(command.flags), ''] : []),
  'Example:',
  '',
  '```sh',
  command.example,
  '```',
  '',
];

const flagTable = (flags: readonly Flag[]): string[] => [
  '| flag | does |',
  '| --- | --- |',
  ...flags.map(({ name, value, short, summary }) => {
    const words = `\`${name}${value === undefined ? '' : ` ${value}`}\``;
    return row(short === undefined ? words : `${words}, \`${short}\``, summary);
  }),
];

// ---------------------------------------------------------------- docs/telemetry.md

const wide = { attributes: 1_000, links: 1_000 };
const limits = { span: wide, log: wide };
const resource = resourceOf({});

const everything = Object.fromEntries(Object.keys(contentClasses).map(of => [of, 'hash']));
const from = {
  ...{ agent, session, provider: 'anthropic', denyAsError: false, limits, semconv: 'both' as const },
  content: { modes: everything, on: 'both' as const },
  user: 'kim@example.com',
};

const spanOf = (kind: keyof typeof spans) => readableSpanOf(spans[kind], from, resource);

const recordOf = (type: string, data?: object, root?: boolean, as?: 'exception') =>
  readableRecordOf(
    {
      event: eventOf(type, data, root),
      as,
      depth: type === 'Session.Start' ? 1 : undefined,
      recurrence: ['Agent.Error', 'Model.Failed', 'Action.After'].includes(type) ? 0 : undefined,
      trace: { agent, session, segment: 0 },
      span: { kind: 'turn', session, parts: ['1'] },
    },
    from,
    resource,
  );
const attributesOfEvent = (type: string): string[] => Object.keys(recordOf(type).attributes);

const kinds = Object.keys(spans) as (keyof typeof spans)[];

/** Facts that the fold decides and that its types do not state. */
const spanNotes: Record<keyof typeof spans, { parent: string; lasts: string }> = {
  session: { parent: 'none: the root', lasts: 'one segment of a root session, from its first event to its end' },
  turn: { parent: 'session', lasts: 'one prompt, up to the final response' },
  plan: {
    parent: 'turn or subagent',
    lasts: 'from the start of planning to its end, or to the end of the turn; actions in that time are siblings of it',
  },
  subagent: {
    parent: 'the action that launched it, else the turn',
    lasts: 'one run of a subagent; `session.id` stays that of the root session',
  },
  action: { parent: 'turn or subagent', lasts: 'one use of a tool; the duration that the agent states, if it does' },
  chat: {
    parent: 'turn or subagent',
    lasts:
      'one response of a model: from the message that it answers to its last row in the transcript, or the duration that the agent states',
  },
};

const about: { readonly [name: string]: string } = {
  [stable.exceptionType]: 'The type of the exception of a model failure',
  [stable.exceptionMessage]: "An error's message, of an action or the agent itself; with `content.results`",
  [development.inputMessages]:
    'The prompt, in the structure of the conventions; on spans as JSON text; with `content.prompt`',
  [development.outputMessages]: 'The answer, in the same structure; with `content.response`',
  [development.toolArguments]: 'The arguments of an action; on spans as JSON text; with `content.arguments`',
  [development.toolResult]: 'The result of an action; with `content.results`',
  [development.filePath]: 'The file that an action reads or changes; with `content.paths`',
  [development.processWorkingDirectory]: 'The working folder of the agent; with `content.paths`',
  [development.processCommandLine]: 'The command line of a shell; with `content.commands`',
  [development.userId]: 'The user of the agent; with `content.user`',
  [development.userHash]: 'HMAC of the user of the agent; with `content.user` as `hash`',
  [ours.argumentsHash]: 'HMAC of the arguments of an action; with `content.arguments` as `hash`',
  [ours.resultHash]: 'HMAC of the result; with `content.results` as `hash`',
  [ours.pathHash]: 'HMAC of the file; with `content.paths` as `hash`',
  [ours.commandHash]: 'HMAC of the command line; with `content.commands` as `hash`',
  [ours.decisionReason]: 'The reason of the decision; with `content.response`',
  [ours.policyReason]: 'The reason that the policy states; with `content.response`',
  [ours.retryReason]:
    'The reason of the retry in one word (`failed`, `denied`, `rate_limit`); longer words of the agent only with `content.response`',
  [ours.notificationMessage]: 'The text of the notification; with `content.response`',
  [stable.errorType]:
    'The kind of error; the span then has status ERROR. A denied action has none, unless `trace.deny_as_error` is set',
  [development.previousSessionId]: 'The previous session, after `/clear` or for a fork, if it is known',
  [development.sessionId]: "The root session's id, on all its spans and records",
  [development.eventName]: "The record's event name again, for back ends that drop that field",
  [development.conversationId]: 'The same as `session.id`, under the name that GenAI views use',
  [development.conversationCompacted]: '`true` on the first response after the context was compacted',
  [development.repositoryUrl]:
    "Address of the session's repository without user, password and query. `trace.repository` turns all of these attributes off",
  [development.repositoryName]: 'Name of the repository',
  [development.repositoryOwner]: 'Owner of the repository',
  [development.repositoryProvider]: '`github`, `gitlab`, `bitbucket` or `gitea`, if the host shows it',
  [development.repositoryBranch]: 'The branch at the start of the segment; absent when HEAD is detached',
  [development.repositoryRevision]: 'The commit at the start of the segment',
  [development.repositoryRefType]: '`branch`',
  [development.operationName]: '`invoke_agent`, `execute_tool`, `plan` or `chat`',
  [development.agentName]:
    'The agent; for a subagent its kind; on metrics kinds that come with the agent, others as `custom`',
  [development.providerName]:
    "The provider of the agent's models, if it is known, by the conventions' names, such as `aws.bedrock`; for a response otherwise the maker of its model, if the model's name shows it",
  [development.system]:
    'The same provider under the attribute name of version 1.36, with the setting `semconv`; `xai` instead of `x_ai`',
  [development.requestModel]: 'The model that the agent names',
  [development.responseModel]: 'The model that responded',
  [development.responseId]: "The provider's id of the response",
  [development.finishReasons]: "Why the model stopped, in the provider's words",
  [development.inputTokens]: 'Input tokens of the model, caches included; on other spans the sum of their responses',
  [development.outputTokens]: 'Output tokens of the model, reasoning included',
  [development.cacheReadTokens]: 'The part of the input that was read from a cache',
  [development.cacheWriteTokens]: 'The part of the input that was written to a cache',
  [development.reasoningTokens]: 'The part of the output that was reasoning, if the provider states it',
  [development.tokenModality]: '`unknown`: no agent states it',
  [ours.modelCalls]: 'Number of responses; those of subagents count on the session and on the subagent',
  [ours.modelRequest]: "The provider's id of the request",
  [ours.modelRetries]: 'Number of retries of the request',
  [ours.modelSum]: 'On a sum over several responses: `turn` or `session`',
  [development.tokenType]: 'On metrics of version 1.36: `input` or `output`',
  [ours.costUsd]: 'Cost by a list of prices (US dollars); absent when no list has a price',
  [ours.costPrices]: 'The list of prices, with its version',
  [ours.costReported]: 'Cost that the agent reports (US dollars)',
  [ours.costUnpriced]: 'Tokens of its responses for which no list has a price',
  [ours.cacheWrite1hTokens]: 'The part of the cache writes that is kept for an hour',
  [ours.usageComplete]: '`false` when the transcript was not read to its end before the span was sent',
  [development.toolName]: "The agent's own name of the tool",
  [development.toolCallId]: "The agent's own id of the action",
  [development.toolType]: '`function`: built in; `extension`: from an MCP server',
  [development.mcpMethodName]: '`tools/call`, for tools of MCP servers',
  [development.skillName]: 'The skill that an action loads: `custom`, or its name with `content.arguments`',
  [development.processExecutableName]: 'The program of a simple shell command; never an argument',
  [development.processExitCode]: 'Exit code of a shell command, if the agent states it',
  [ours.sessionCommits]: 'Commits made in the working folder while the session ran, oldest first, 48 at most',
  [ours.actionFamily]: 'The family of the action: `explore`, `file`, `terminal`, `coordination`',
  [ours.actionOperation]:
    'Its operation: `read`, `search`, `modify`, `execute`, `monitor`, `delegate`, `invoke`, `plan`, `ask`, or `lsp_` with the operation of a language server',
  [ours.actionSubtype]:
    'Its subtype: `read_file`, `grep_code`, `edit_file`, `run_command`, `mcp_call`, ...; `run_test`, `run_lint` and `run_build` for programs with one purpose',
  [ours.actionTimeoutMs]: 'The time limit that a call sets for its command',
  [ours.actionBackground]: 'True if a call asks to run in the background',
  [ours.actionOffset]: 'The first line that a read asks for, or the entries that a search skips',
  [ours.actionLimit]: 'The most lines or entries that a call asks for',
  [ours.actionOutputMode]: 'What a search returns: `content`, `files_with_matches`, `count`',
  [ours.actionCaseInsensitive]: 'True if a search ignores case',
  [ours.actionMultiline]: 'True if a search matches across lines',
  [ours.actionReplaceAll]: 'True if an edit replaces every occurrence',
  [ours.actionEditMode]: 'The change of a notebook cell: `replace`, `insert`, `delete`',
  [ours.actionAgentModel]: 'The model that a call asks for its subagent',
  [ours.traceRecord]: 'The id of the Agent Trace record that an event of Agent Hooks names',
  [ours.specVersion]: 'Version of Agent Hooks that the event follows',
  [ours.eventId]:
    'On a record the id of its event, on a span that of the event that closed it; the same id as in the journal',
  [ours.eventType]:
    'Type of the event, in the spelling of Agent Hooks or the vendor; on metrics one of Agent Hooks, `file.write` or `other`',
  [ours.eventNative]: "The agent's own name of the event",
  [ours.agentId]: "The subagent's native id",
  [ours.agentMode]: '`agent` or `plan`',
  [ours.parentSession]: 'The session of a subagent',
  [ours.actorType]:
    '`user`, `ai_agent` or `system`: the actor of the event, for a span that of the event that opened it (for a turn its prompt)',
  [ours.actorId]: 'Id of the actor, if the event states one; the id of a person only with `content.user`, or as HMAC',
  [ours.choiceType]:
    'What the agent chose between, in one word; this and the next four only from events of Agent Hooks',
  [ours.choiceSelected]: 'The choice, in one word',
  [ours.choiceOptions]: 'Number of options',
  [ours.choiceConfidence]: 'Confidence that the event states',
  [ours.choiceSummaryLength]: 'Length of the summary in characters',
  [`${ours.metadataPrefix}*`]:
    "Vendors' metadata of an event, for a span that of the event that opened it; only the paths of `metadata.include`",
  [ours.durationSource]:
    "Source of the span's duration: `native` (the agent), `transcript`, `events` and `arrival` (times between hooks), `none` (unknown), `clamped` (its end was before its start)",
  [ours.segment]: 'Number of this part of a long session, from 0; each has a trace of its own',
  [ours.startReason]: '`new`, `resume` or `restart`',
  [ours.endReason]: 'Why the session or the segment ended; `unknown` on metrics if the agent states no known reason',
  [ours.sessionTokens]: 'Input and output tokens that are known; on the record as the event states them',
  [ours.sessionDurationMs]: 'The length of the whole session, as its end states it',
  [ours.costUpperBound]:
    'The most that the tokens of the session can have cost: all of them at the highest rate of the price list. Only where the end of a session states tokens without the cached ones',
  [ours.costBasis]: '`derived`: the amount is not a measurement, and no counter takes it',
  [ours.subagentDepth]: 'How deep the subagent is nested, from 1; absent if it is not known',
  [ours.errorRecurrence]: 'How often the session had an error of this class before',
  [ours.sessionTurns]: 'Turns in the segment',
  [ours.sessionActions]: 'Actions in the segment, those of subagents included',
  [ours.sessionSubagents]: 'Subagent runs in the segment',
  [ours.sessionDenied]: 'Denied actions in the segment',
  [ours.sessionFailed]: 'Failed actions in the segment',
  [ours.turnId]: "The agent's own id of the prompt",
  [ours.turnOutcome]:
    '`completed`, `failed`, `denied`, `interrupted`, `continued` (in the next trace) or `unfinished`; absent if the standard has no event for the end of a turn',
  [ours.turnPrompts]: 'Prompts that this turn answered',
  [ours.turnContinuation]: 'Number of this continuation of a turn that was already closed',
  [ours.turnActions]: 'Actions in the turn',
  [ours.turnDenied]: 'Denied actions in the turn',
  [ours.turnFailed]: 'Failed actions in the turn',
  [ours.turnWaitMs]: 'Time in which the turn waited for a person (ms)',
  [ours.subagentOutcome]: '`completed` or `abandoned`',
  [ours.subagentActions]: 'Actions of this run',
  [ours.subagentContinuation]: 'Number of this further run of the same subagent',
  [ours.actionName]:
    "Agent Hooks' name: `shell`, `read_file`, `write_file`, `code_edit`, `web_search`, `mcp:...`, ...; on metrics `mcp` for all tools of MCP servers, `custom` for names outside the standard, `prompt` for decisions on prompts",
  [ours.actionOutcome]: '`success`, `failure`, `denied`, `interrupted`, `abandoned` or `unknown`',
  [ours.actionSuccess]: 'Whether the action succeeded; absent when this is unknown',
  [ours.actionWaitMs]: 'Time that the action waited for a person, before it ran (ms)',
  [ours.actionDurationMs]: "The agent's own duration of the action (ms)",
  [ours.mcpServer]: 'Name of the MCP server',
  [ours.decisionOutcome]: '`allow`, `deny` or `ask`; on the metric of policies their result',
  [ours.decisionSource]:
    'Source of the decision: `user`, `classifier`, `config`, `hook`, `mode`, `policy`, `sandbox` or `unknown`',
  [ours.decisionBasis]: '`observed`: the agent states it; `inferred`: it follows from the next events',
  [ours.decisionReasonType]:
    'Kind of reason, where the agent states it: `rule`, `mode`, `hook`, `classifier`, `subcommands`, `sandbox`, `answer` or `other`',
  [ours.decisionScope]:
    'Settings that hold the rule: `user`, `project`, `local`, `managed`, `flags`, `session` or `other`',
  [ours.decisionGrant]: 'How long a permission holds: `once`, `session`, `always` or `other`',
  [ours.riskScore]:
    'Risk from 0 to 100, if the event states one or its action was judged (docs/risk.md); for a turn or session the highest of its actions',
  [ours.riskLevel]: '`low`, `medium`, `high` or `critical`',
  [ours.riskFactors]: 'The reasons of the risk; docs/risk.md explains the words',
  [ours.promptLength]: 'Length of the prompt in characters',
  [ours.promptHash]: 'HMAC of the prompt under the key of the installation',
  [ours.promptFollowup]: 'Whether the prompt follows an earlier one',
  [ours.responseLength]: 'Length of the response in characters',
  [ours.responseHash]: 'HMAC of the response under the key of the installation',
  [ours.responseFinal]: 'Whether the response ends the turn',
  [ours.planType]: '`plan`, `explore` or `default`',
  [ours.planSteps]: 'Steps of the plan',
  [ours.contextTrigger]: '`auto`, `manual` or `system`',
  [ours.contextThreshold]: '`70` or `80`: the share of the window, in percent',
  [ours.contextPhase]: '`before` or `after` the compaction',
  [ours.contextStrategy]: 'Strategy of the compaction, as the event states it',
  [ours.contextUri]: 'The place where the agent works, if it is not a folder; with `content.paths`',
  [ours.tokensBefore]: 'Tokens in the context before',
  [ours.tokensAfter]: 'Tokens in the context after',
  [ours.tokensRemoved]: 'Tokens that the compaction removed',
  [ours.tokensUsed]: 'Tokens in the context',
  [ours.tokensLimit]: 'Tokens at which the agent compacts the context',
  [ours.tokensRemaining]: 'Tokens that remain until the compaction',
  [ours.utilization]: 'Share of the limit that is used, 0 to 1',
  [ours.policyName]: 'Name of the policy',
  [ours.policyRule]: 'Rule of the policy',
  [ours.policyOverrideBy]: 'HMAC of the user who overrode the policy; when `content.user` is not `off`',
  [ours.fileOperation]: '`create`, `update` or `delete`',
  [ours.fileStartLine]: 'First line that changed',
  [ours.fileEndLine]: 'Last line that changed',
  [ours.notificationType]: "`ToolPermission`, `IdleTimeout`, `ErrorAlert`, or the agent's own word",
  [ours.errorOrigin]: 'Type of the event that caused the error',
  [ours.retryAttempt]: 'Number of the attempt; for an action only after the same action did not succeed',
  [ours.retryAction]: 'The action that is tried again, by its name in Agent Hooks',
  [ours.loopState]: '`detected` or `aborted`',
  [ours.loopDetected]: '`true` when a loop was detected in the turn',
  [ours.loopAborted]: '`true` when the loop was stopped',
  [ours.sessionLoops]: 'Loops that were detected in the segment',
  [ours.turnRetries]: 'Actions of the turn that were tried again',
  [ours.limitWindow]: `The span of time of the limit: ${limitWindows.map(window => `\`${window}\``).join(', ')}`,
  [ours.sessionCost]: 'Cost of the session so far in US dollars, as the agent stated it last',
  [ours.sessionContext]: "Used share of the model's window, as the agent stated it last, 0 to 1",
  ...Object.fromEntries(
    limitWindows.flatMap(window => [
      [`${ours.limitPrefix}${window}.utilization`, `Used share of the plan's limit \`${window}\`, 0 to 1`],
      [`${ours.limitPrefix}${window}.reset_time`, `Unix time (s) at which the limit \`${window}\` begins anew`],
    ]),
  ),
  [ours.budgetOf]: '`session`, `turn`, or `envelope` (the sender states use and limit)',
  [ours.budgetUnit]: '`tokens` or `usd`',
  [ours.budgetState]: '`warning` from 70 % of the budget, `exceeded` from 80 %',
  [ours.budgetUsed]: 'Used part of the budget',
  [ours.budgetLimit]: 'The budget that is set',
  [ours.loopIterations]: 'Repetitions so far',
  [ours.loopTokens]: 'Tokens that the loop used',
  [ours.loopElapsedMs]: 'Duration of the loop (ms)',
  [ours.pipelineItem]: '`fragment`, `span`, `log`, `event`, `journal` or `quarantine`',
  [ours.pipelineResult]:
    '`accepted`: the event is in a journal; `duplicate`; `invalid`: it could not be read; `dropped`: by a limit. The service `otel-hooks` counts whole hooks, with the agent `other`',
  [ours.pipelineReason]:
    'Why: `duplicate`, `sampled`, `damaged`, `over-age`, `over-size`, `over-files`, ...; for rejected items the status; for silenced ones the setting (`enabled`, `trace.sampler`)',
  [`${ours.vendorPrefix}*`]: 'Closed sets and numbers of an event that only this agent has',
};

export function telemetryPage(): string {
  return `${[
    GENERATED,
    '# Telemetry',
    '',
    `This page lists every name that otel-hooks sends. The instrumentation scope is \`${SCOPE}\`. Names of OpenTelemetry are marked \`stable\` or \`development\`, as in the conventions;`,
    '`own` names begin with `agent_hooks.` and fill the gaps of the conventions. An unknown value is absent, never 0 or a guess.',
    '',
    '## Resource',
    '',
    'The resource is the same for all sessions of an agent under one configuration. It says nothing about a session, a process or a person. Metrics have it without versions,',
    'so that an upgrade starts no new series.',
    '',
    ...resourceTable(),
    '',
    `Spans and records have the agent's version in ${code(stable.serviceVersion)}, if it is known: records, actions and responses as their event states it; plans, turns, subagents and sessions the version that was known`,
    'when they were sent. Some agents state it in each hook, some only in their transcripts, some never.',
    '',
    'Attributes of `OTEL_RESOURCE_ATTRIBUTES` and of the key `attributes` are added.',
    '',
    '## Spans',
    '',
    'A session is one trace. A session continues in a new trace, with a link to the former one, when it is resumed, and at the start of its next turn after 2,000 spans, about 2 MB or',
    'four hours. A single turn continues in a new trace after 2,400 spans or 2.4 MB. With `trace.shape` `turn`, each turn is a trace with the turn as root,',
    'linked to the turn before; the span of the session is then a trace of its own. Each span is sent once, when it is over. A running session has no root yet, so search for',
    '`session.id` and not for roots.',
    '',
    '| span | stability | kind | name, for example | child of | is |',
    '| --- | --- | --- | --- | --- | --- |',
    ...kinds.map(kind => {
      const { name, kind: of, attributes } = spanOf(kind);
      // The conventions identify spans by their operation.
      const stability = development.operationName in attributes ? 'development' : 'own';
      return row(kind, stability, SpanKind[of], code(name), spanNotes[kind].parent, spanNotes[kind].lasts);
    }),
    '',
    `Links have their reason in \`${ours.linkType}\`: \`previous_session\`, \`previous_segment\`, \`previous_turn\`, \`continued_turn\`, \`continued_subagent\`, \`launched_by\` (a call in another trace), or \`caller\` (the trace in whose \`TRACEPARENT\` the agent was started; \`trace.traceparent\` can make it the parent, or ignore it).`,
    '',
    '## Attributes',
    '',
    'Tempo and Jaeger show attributes by these names. Loki and Prometheus replace dots by underscores. In Loki an attribute is structured metadata: its',
    'values are text, a list is JSON, and each field of an object is an attribute of its own (`gen_ai_tool_call_arguments_command`). In Prometheus it is a label. A whole `double` is sent as an integer.',
    '',
    'Names of the conventions:',
    '',
    ...attributeTable('upstream'),
    '',
    'Own names:',
    '',
    ...attributeTable('own'),
    '',
    'Values are truncated at 2,048 bytes, after a whole character. On log records, messages have up to 32,000 bytes of JSON, and arguments and results up to 16,000 each.',
    "So a record with content ([privacy](privacy.md)) stays below Loki's limits of 64 KB and 128 fields.",
    '',
    '## Metrics',
    '',
    'Metrics are cumulative by default, and deltas with `otlp.temporality`. Attributes have values of closed sets, so that the number of series is limited: a tool that is not built into the',
    'agent counts as `mcp` or `custom`, a kind of subagent too, an error outside the list as `_OTHER`. The agent mode is on all metrics except the histograms per tool. A new series is sent once as 0 before its first value. After a',
    'minute of silence, the previous value is sent again before a new one, so that `increase()` counts short sessions, also the second one of a day.',
    '',
    ...metricTable(),
    '',
    'This is one series of each, as Prometheus shows it. Its OTLP receiver translates the names by default: dots become underscores, a unit of seconds or',
    'dollars is appended, and counters end in `_total`. A histogram also has `_bucket` and `_sum`.',
    '',
    '```',
    ...prometheusSeries(),
    '```',
    '',
    'Bounds of the histograms:',
    '',
    '| metric | bounds |',
    '| --- | --- |',
    ...allMetrics.flatMap(({ name, bounds }) => (bounds ? [row(`\`${name}\``, bounds.join(', '))] : [])),
    '',
    '```promql',
    'sum by (gen_ai_tool_name) (increase(gen_ai_execute_tool_duration_seconds_count[1h]))',
    'histogram_quantile(0.95, sum by (le, gen_ai_tool_name) (rate(gen_ai_execute_tool_duration_seconds_bucket[1h])))',
    'sum by (agent_hooks_decision_source) (increase(agent_hooks_decisions_total{agent_hooks_decision_outcome="deny"}[1d]))',
    '```',
    '',
    '## Logs',
    '',
    'There is one record for each event, also for `Session.Abort` after silence. It has the context of its span, whether or not that span is sampled. The body is one line for people; it ends with the first',
    'digits of the event id. All event names are `own`.',
    '',
    `Every record has ${commonOnLogs().map(code).join(', ')} (the last ones if the event has them).`,
    '',
    '| event | event name | severity | further attributes |',
    '| --- | --- | --- | --- |',
    ...eventTypes.map(type =>
      row(
        code(type),
        code(eventNameOf(type)),
        severities[type],
        attributesOfEvent(type)
          .filter(name => !commonOnLogs().includes(name))
          .map(code)
          .join(' '),
      ),
    ),
    row(
      code(FILE_WRITE),
      code(FILE_WRITE_EVENT),
      'INFO',
      Object.keys(recordOf(FILE_WRITE, written).attributes)
        .filter(name => !commonOnLogs().includes(name))
        .map(code)
        .join(' '),
    ),
    row('`vendor.*`', code(VENDOR_EVENT), 'INFO', code(`${ours.vendorPrefix}*`)),
    '',
    `A \`Model.Failed\` with an exception type of its own, or with a message that is kept, has a second record: \`${EXCEPTION_EVENT}\`, WARN,`,
    `with the attributes of the first, ${code(stable.exceptionType)} and ${code(stable.exceptionMessage)}. \`logs.level\` suppresses records below a severity.`,
    '',
    'An event with a decision `ask` or `deny`, and a failed or interrupted action, are WARN. A violation of critical risk is ERROR.',
    '',
    'The body of each:',
    '',
    '```',
    ...eventTypes.map(type => String(recordOf(type, undefined, true).body)),
    '```',
    '',
    "In Loki `service_name` is the label (with Loki's default list also `service_instance_id`: [Grafana](grafana.md)). All other attributes are structured metadata, with `trace_id`, `span_id`, `severity_text` and",
    '`scope_name`. Loki 3.7 drops the event name of a record, so query the attribute:',
    '',
    '```logql',
    `{service_name="${agents[0]?.id}"} | event_name="agent_hooks.action.after" | agent_hooks_action_success="false"`,
    `sum by (gen_ai_tool_name) (count_over_time({service_name="${agents[0]?.id}"} | event_name="agent_hooks.action.before" [1h]))`,
    `{service_name="${agents[0]?.id}"} | session_id="..." | severity_text="WARN"`,
    '```',
  ].join('\n')}\n`;
}

function resourceTable(): string[] {
  const meaning: { [name: string]: string } = {
    [stable.serviceName]: 'The agent, or `service_name` of the configuration',
    [stable.serviceInstanceId]:
      'Computed from the installation, the agent and the static attributes; it does not identify the machine',
    [stable.serviceVersion]: 'Version of the agent, if it is known; not on metrics',
    [stable.telemetryDistroName]: '`otel-hooks`',
    [stable.telemetryDistroVersion]: 'Version of otel-hooks; not on metrics',
    [stable.telemetrySdkLanguage]: '`nodejs`',
    [stable.telemetrySdkName]: '`opentelemetry`',
  };
  const own = resourceAttributes({ agent, serviceName: undefined, attributes: {}, installation: '' });
  const all = versioned(own)(spans.session.version).attributes as typeof own;
  const onMetrics = metricResource(all);
  const labels: { [name: string]: string } = { [stable.serviceName]: 'job', [stable.serviceInstanceId]: 'instance' };
  return [
    '| attribute | stability | type | example | in Loki | in Prometheus | is |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...Object.entries(all).map(([name, value]) =>
      row(
        code(name),
        stabilityOf(name),
        typeOf(value),
        exampleOf(name, value),
        `${name in labels ? 'label ' : ''}${code(underscored(name))}`,
        name in onMetrics ? (name in labels ? `label ${code(labels[name] ?? '')}` : 'on `target_info`') : '',
        meaningOf(meaning, name),
      ),
    ),
  ];
}

export interface Attribute {
  name: string;
  on: Set<string>;
  /** On spans, logs and metrics, as far as the value exists. */
  types: Map<string, string>;
  example: unknown;
}

export const signalOf = (place: string): string => (place === 'logs' || place === 'metrics' ? place : 'spans');

/** Everything that spans, records and metrics can carry. */
export function allAttributes(): Attribute[] {
  const found = new Map<string, Attribute>();
  const note = (attributes: object, place: string): void => {
    for (const [name, example] of Object.entries(attributes)) {
      const known = found.get(name) ?? { name, on: new Set(), types: new Map(), example };
      found.set(name, known);
      known.on.add(place);
      const type = typeOf(example);
      if (known.types.get(signalOf(place)) !== 'double') known.types.set(signalOf(place), type);
    }
  };
  for (const kind of kinds) note(spanOf(kind).attributes, kind);
  // A failure has no response.
  note(readableSpanOf({ ...spans.chat, errorType: undefined }, from, resource).attributes, 'chat');
  for (const type of eventTypes) note(recordOf(type).attributes, 'logs');
  note(recordOf(FILE_WRITE, written).attributes, 'logs');
  note(recordOf('Model.Failed', undefined, undefined, 'exception').attributes, 'logs');
  note(recordOf('vendor.x.Y', { '*': 'plugin' }).attributes, 'logs');
  for (const { attributes } of allIncrements()) note(attributes, 'metrics');
  return [...found.values()];
}

/** States where a value is not the same everywhere. */
const typesOf = ({ types }: Attribute): string => {
  const [first = ''] = types.values();
  return [first, ...[...types].flatMap(([on, type]) => (type === first ? [] : [`on ${on} ${type}`]))].join(', ');
};

export const typeOf = (value: unknown): string => {
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'double';
  if (Array.isArray(value)) return value.every(each => typeof each === 'string') ? 'string[]' : 'structured';
  return typeof value === 'object' ? 'structured' : typeof value;
};

/** Ids and hashes are identified by their prefixes. */
const LONGEST_EXAMPLE = 40;
function exampleOf(name: string, value: unknown): string {
  if (name.endsWith('*')) return code('plugin');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return code(text.length > LONGEST_EXAMPLE ? `${text.slice(0, LONGEST_EXAMPLE - 1)}…` : text);
}

const underscored = (name: string): string => name.replace(/[^a-zA-Z0-9_*]/g, '_');

function attributeTable(whose: 'upstream' | 'own'): string[] {
  const all = allAttributes();
  const undone = Object.keys(about).filter(name => !all.some(each => each.name === name));
  if (undone.length > 0)
    throw new Error(`described in test/docs/reference.ts, but nothing carries it: ${undone.join(', ')}`);
  const rank = ({ name }: Attribute): number => ['stable', 'development', 'own'].indexOf(stabilityOf(name));
  const isOurs = whose === 'own';
  return [
    `| attribute | ${isOurs ? '' : 'stability | '}type | example | on | in Loki and Prometheus | is |`,
    `| --- | --- | --- | --- | --- | --- |${isOurs ? '' : ' --- |'}`,
    ...all
      .filter(({ name }) => (stabilityOf(name) === 'own') === isOurs)
      .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
      .map(attribute => {
        const { name, on, example } = attribute;
        return row(
          code(name),
          ...(isOurs ? [] : [stabilityOf(name)]),
          name.endsWith('*') ? 'string, int, double or boolean' : typesOf(attribute),
          exampleOf(name, example),
          placesOf(on),
          on.has('logs') || on.has('metrics') ? code(underscored(name)) : '',
          meaningOf(about, name),
        );
      }),
  ];
}

function placesOf(on: ReadonlySet<string>): string {
  const isOnAll = kinds.every(kind => on.has(kind));
  return [...(isOnAll ? ['all spans'] : []), ...[...on].filter(place => !isOnAll || !isOneOf(spanKinds, place))].join(
    ', ',
  );
}
const spanKinds = Object.fromEntries(kinds.map(kind => [kind, kind]));

const stabilityOf = (name: string): string =>
  isOneOf(stable, name) ? 'stable' : isOneOf(development, name) ? 'development' : 'own';
const isOneOf = (names: Readonly<Record<string, string>>, name: string): boolean => Object.values(names).includes(name);

function meaningOf(meanings: { readonly [name: string]: string }, name: string): string {
  const meaning = meanings[name];
  if (meaning === undefined) throw new Error(`test/docs/reference.ts does not say what ${name} is`);
  return meaning;
}

const allMetrics: readonly MetricName[] = Object.values(metrics);

/** One of each counted event. */
function allIncrements(): Increment[] {
  const events = eventTypes.map(type => eventOf(type, undefined, true));
  events.push(
    eventOf('Context.Compaction', undefined, true, { phase: 'after' }),
    eventOf(FILE_WRITE, written, true),
    eventOf(REPOSITORY, { commits: ['1f'.repeat(20)] }, true),
  );
  const finished = kinds.map(kind => spans[kind]);
  const lost = emptyLedger();
  lost.fragments.dropped.duplicate = 1;
  lost.counters['quarantined.torn'] = 1;
  lost.counters['failed.traces.503'] = 1;
  lost.counters['silenced.enabled'] = 1;
  accountsOf(lost, 'd').traces.rejected['400'] = 1;
  const response = { ...spans.chat, sum: undefined };
  const recorded = incrementsOf(events, [...finished, response], agent, () => true, { semconv: 'both' });
  const over: Increment = { metric: 'pipelineOverflow', attributes: { [ours.pipelineReason]: 'series' }, value: 1 };
  const took: Increment = { metric: 'pipelineExport', attributes: { [ours.pipelineItem]: 'span' }, value: 0.02 };
  const waiting = [{ name: 'b', signal: 'traces', items: 1, sizeBytes: 48_213, isSkeleton: false } as const];
  const spool = spoolOf({ destinations: () => ['d'], next: () => waiting });
  return [...recorded, over, took, ...spool, ...lossesOf(lost, 'd')];
}

function metricTable(): string[] {
  const increments = allIncrements();
  const attributesOf = ({ name }: MetricName): string[] => [
    ...new Set(
      increments.flatMap(({ metric, attributes }) => (metrics[metric].name === name ? Object.keys(attributes) : [])),
    ),
  ];
  return [
    '| metric | stability | type | unit | attributes | is |',
    '| --- | --- | --- | --- | --- | --- |',
    ...allMetrics.map(metric =>
      row(
        code(metric.name),
        metric.name.startsWith('agent_hooks.') ? 'own' : 'development',
        kindOf(metric),
        code(metric.unit),
        attributesOf(metric).map(code).join(' '),
        metric.description.replace(/\.$/, ''),
      ),
    ),
  ];
}

const kindOf = ({ bounds, isLevel, isGauge }: MetricName): string =>
  bounds ? 'histogram' : isGauge ? 'gauge' : isLevel ? 'up-down counter' : 'counter';

function prometheusSeries(): string[] {
  const increments = allIncrements();
  return allMetrics.map(metric => {
    const counted = increments.filter(each => metrics[each.metric].name === metric.name);
    const [first] = counted.sort((a, b) => Object.keys(b.attributes).length - Object.keys(a.attributes).length);
    if (first === undefined) throw new Error(`nothing counts ${metric.name}`);
    const labels = Object.entries(first.attributes).map(([name, value]) => `${underscored(name)}="${value}"`);
    const name = `${prometheusName(metric)}${metric.bounds ? '_count' : ''}`;
    return `${name}${labels.length > 0 ? `{${labels.join(', ')}}` : ''} ${metric.bounds ? 1 : first.value}`;
  });
}

/** Units in braces are annotations and leave no trace in the name; 1 leaves one in the names of gauges alone. */
function prometheusName({ name, unit, bounds, isLevel, isGauge }: MetricName): string {
  const plain = name.replace(/[^a-zA-Z0-9_]/g, '_');
  const isBare = /^\{.*\}$/.test(unit) || (unit === '1' && bounds !== undefined);
  const suffix = { s: '_seconds', USD: '_USD', By: '_bytes', '1': isGauge ? '_ratio' : '' }[unit] ?? '';
  if (suffix === '' && !isBare) throw new Error(`no rule for the unit ${unit}`);
  return `${plain}${suffix}${bounds || isLevel || isGauge ? '' : '_total'}`;
}

function commonOnLogs(): string[] {
  const [first = [], ...others] = eventTypes.map(type => attributesOfEvent(type));
  return first.filter(name => others.every(names => names.includes(name)));
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const code = (text: string): string => `\`${text}\``;
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
