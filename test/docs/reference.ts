/**
 * The documents that are read off the code: docs/commands.md and docs/telemetry.md. `npm run docs` writes them; the test beside
 * this fails when they are stale.
 */

import { SpanKind } from '@opentelemetry/api';
import { agents } from '../../src/agents/index.ts';
import { type Command, type Flag, globalFlags } from '../../src/commands/command.ts';
import { commands } from '../../src/commands/registry.ts';
import { lossesOf, spoolOf } from '../../src/deliver/state-limits.ts';
import { contentClasses } from '../../src/event/content-classes.ts';
import { eventTypes, FILE_WRITE } from '../../src/event/event.ts';
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
    'Exit codes: 0 done, 1 a problem was found or work is left over, 2 wrong usage. The front end that agents call always exits 0.',
    '',
    'Understood by every command:',
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
      trace: { agent, session, segment: 0 },
      span: { kind: 'turn', session, parts: ['1'] },
    },
    from,
    resource,
  );
const attributesOfEvent = (type: string): string[] => Object.keys(recordOf(type).attributes);

const kinds = Object.keys(spans) as (keyof typeof spans)[];

/** What the fold decides and its types cannot say. */
const spanNotes: Record<keyof typeof spans, { parent: string; lasts: string }> = {
  session: { parent: 'none: the root', lasts: 'one segment of a root session, from its first event to its end' },
  turn: { parent: 'session', lasts: 'one prompt, up to the final response' },
  plan: {
    parent: 'turn or subagent',
    lasts:
      'from where the agent began to plan to where it was done, or its turn over; what it did meanwhile stands beside it',
  },
  subagent: {
    parent: 'the action that launched it, else the turn',
    lasts: 'one run of a subagent; `session.id` stays that of the root session',
  },
  action: { parent: 'turn or subagent', lasts: 'one use of a tool; its own duration where the agent states one' },
  chat: {
    parent: 'turn or subagent',
    lasts:
      'one response of a model, from what it answers to its last row in the transcript, or as long as the agent says',
  },
};

const about: { readonly [name: string]: string } = {
  [stable.exceptionType]: 'The type of an exception with which a model failed',
  [stable.exceptionMessage]: "An error's message, of an action or the agent itself; with `content.results`",
  [development.inputMessages]:
    'The prompt, in the structure of the conventions; on spans as JSON text; with `content.prompt`',
  [development.outputMessages]: 'The answer, likewise; with `content.response`',
  [development.toolArguments]: 'What an action was given; on spans as JSON text; with `content.arguments`',
  [development.toolResult]: 'What an action gave back; with `content.results`',
  [development.filePath]: 'The file that an action is about; with `content.paths`',
  [development.processWorkingDirectory]: 'Where the agent works; with `content.paths`',
  [development.processCommandLine]: 'The line that a shell was given; with `content.commands`',
  [development.userId]: 'Who works with the agent; with `content.user`',
  [development.userHash]: 'Stands for who works with the agent; with `content.user` as `hash`',
  [ours.argumentsHash]: 'HMAC of what an action was given; with `content.arguments` as `hash`',
  [ours.resultHash]: 'HMAC of what it gave back; with `content.results` as `hash`',
  [ours.pathHash]: 'HMAC of the file; with `content.paths` as `hash`',
  [ours.commandHash]: 'HMAC of the line; with `content.commands` as `hash`',
  [ours.decisionReason]: 'Why it was decided so; with `content.response`',
  [ours.policyReason]: 'What the policy says of it; with `content.response`',
  [ours.retryReason]:
    'Why it was tried again: of an action `failed` or `denied`; in the words of the agent only with `content.response`',
  [ours.notificationMessage]: 'What the notification says; with `content.response`',
  [stable.errorType]:
    'What failed; with it the span has status ERROR. A denied action has none, unless `trace.deny_as_error` is set',
  [development.previousSessionId]: 'The session that this one follows, after `/clear` or as a fork, where it is known',
  [development.sessionId]: "The root session's id, on everything that belongs to it",
  [development.eventName]: "The record's event name once more, for back ends that drop that field",
  [development.conversationId]: 'The same as `session.id`, under the name that GenAI views look for',
  [development.conversationCompacted]: '`true` on the first response after the context was compacted',
  [development.repositoryUrl]:
    'Address of the repository that the session works in, as a browser has it: no user, no password, no query. `trace.repository` turns all of these off',
  [development.repositoryName]: 'Its name',
  [development.repositoryOwner]: 'Whose it is there',
  [development.repositoryProvider]: '`github`, `gitlab`, `bitbucket` or `gitea`, where its host says so',
  [development.repositoryBranch]: 'The branch at the start of the segment; none where HEAD is detached',
  [development.repositoryRevision]: 'The commit at the start of the segment',
  [development.repositoryRefType]: '`branch`',
  [development.operationName]: '`invoke_agent`, `execute_tool`, `plan` or `chat`',
  [development.agentName]:
    'The agent; for a subagent its kind; on metrics kinds that come with the agent, others as `custom`',
  [development.providerName]:
    "Who serves the agent's models, where that is known, by the conventions' names: `aws.bedrock`, however the agent calls it; of a response else who makes its model, where the model's name begins with a name of theirs",
  [development.system]: 'The same under its name of version 1.36, where `semconv` asks for it; `xai` instead of `x_ai`',
  [development.requestModel]: 'The model that the agent names',
  [development.responseModel]: 'The model that responded',
  [development.responseId]: "The provider's id of the response",
  [development.finishReasons]: "Why the model stopped, in the provider's words",
  [development.inputTokens]:
    'Tokens that the model was given, those from caches among them; on other spans the sum of the responses within',
  [development.outputTokens]: 'Tokens that the model gave, reasoning among them',
  [development.cacheReadTokens]: 'Of the input, what was read from a cache',
  [development.cacheWriteTokens]: 'Of the input, what was written to a cache',
  [development.reasoningTokens]: 'Of the output, what was reasoning, where the provider says it',
  [development.tokenModality]: '`unknown`: no agent says it',
  [ours.modelCalls]: 'Responses within; those of subagents count on the session and on themselves',
  [ours.modelRequest]: "The provider's id of the request",
  [ours.modelRetries]: 'How often the request was tried again',
  [ours.modelSum]: 'On what is no single response: `turn` or `session`, whose responses used this together',
  [development.tokenType]: 'On metrics of version 1.36: `input` or `output`',
  [ours.costUsd]: 'What it cost by a list of prices (US dollars); absent where no list has a price',
  [ours.costPrices]: 'The list of prices, with its version',
  [ours.costReported]: 'What the agent itself says it cost (US dollars)',
  [ours.costUnpriced]: 'Tokens of responses within it that no list has a price for',
  [ours.cacheWrite1hTokens]: 'Of what was written to a cache, what lives for an hour',
  [ours.usageComplete]: '`false` when the wait for the transcript was over before it was read to the end',
  [development.toolName]: "The agent's own name of what it executes",
  [development.toolCallId]: "The agent's own id of the action",
  [development.toolType]: '`function` built in, `extension` from an MCP server',
  [development.mcpMethodName]: '`tools/call`, for tools of MCP servers',
  [development.skillName]: 'The skill that an action loads: `custom`; its name with `content.arguments`',
  [development.processExecutableName]: 'The program of a simple shell command; never an argument',
  [development.processExitCode]: 'Exit code of a shell command, where the agent states it',
  [ours.sessionCommits]: 'Commits made in the working folder while the session ran, oldest first, 48 at most',
  [ours.traceRecord]: 'The id of the Agent Trace record that an event of Agent Hooks names',
  [ours.specVersion]: 'Version of Agent Hooks that the event follows',
  [ours.eventId]: 'On a record the event; on a span the event that closed it. The same in the journal',
  [ours.eventType]:
    'Type of the event, as Agent Hooks or its vendor spells it; on metrics one of Agent Hooks, `file.write` or `other`',
  [ours.eventNative]: "The agent's own name of the event",
  [ours.agentId]: "The subagent's native id",
  [ours.agentMode]: '`agent` or `plan`, as the agent says',
  [ours.parentSession]: 'The session that a subagent belongs to',
  [ours.actorType]:
    '`user`, `ai_agent` or `system`: of a record its event, of a span the event that opened it (of a turn its prompt)',
  [ours.actorId]:
    "Its id, where the event states one; a person's as `content.user` lets it, so by default not, or its HMAC",
  [ours.choiceType]: 'What the agent chose between, in a word; here and below where an event of Agent Hooks says it',
  [ours.choiceSelected]: 'What it chose, in a word',
  [ours.choiceOptions]: 'Of how many',
  [ours.choiceConfidence]: 'How sure it was, as it says',
  [ours.choiceSummaryLength]: 'Length of what it says of it in characters',
  [`${ours.metadataPrefix}*`]:
    "Vendors' metadata of an event, of a span that of the event that opened it; only what `metadata.include` names",
  [ours.durationSource]:
    "Where the span's length comes from: `native` and `transcript` say it themselves, `events` and `arrival` are times between hooks, `none` is unknown; `clamped` when its ends stood the wrong way round",
  [ours.segment]: 'Number of this part of a long session, from 0; each has a trace of its own',
  [ours.startReason]: '`new`, `resume` or `restart`',
  [ours.endReason]: 'Why the session or the segment ended',
  [ours.sessionTokens]: 'Tokens, input and output, as far as they were told; on the record as the event states them',
  [ours.sessionTurns]: 'Turns in the segment',
  [ours.sessionActions]: 'Actions in the segment, those of subagents too',
  [ours.sessionSubagents]: 'Subagent runs in the segment',
  [ours.sessionDenied]: 'Denied actions in the segment',
  [ours.sessionFailed]: 'Failed actions in the segment',
  [ours.turnId]: "The agent's own id of the prompt",
  [ours.turnOutcome]: '`completed`, `failed`, `denied`, `interrupted`, `continued` (in the next trace) or `unfinished`',
  [ours.turnPrompts]: 'Prompts that this turn answered',
  [ours.turnContinuation]: 'Which continuation of an already closed turn this is',
  [ours.turnActions]: 'Actions in the turn',
  [ours.turnDenied]: 'Denied actions in the turn',
  [ours.turnFailed]: 'Failed actions in the turn',
  [ours.turnWaitMs]: 'Time in which the turn waited for a person (ms)',
  [ours.subagentOutcome]: '`completed` or `abandoned`',
  [ours.subagentActions]: 'Actions of this run',
  [ours.subagentContinuation]: 'Which further run of the same subagent this is',
  [ours.actionName]:
    "Agent Hooks' name: `shell`, `read_file`, `write_file`, `code_edit`, `web_search`, `mcp:...`, ...; on metrics `mcp` for all of servers, `custom` beyond the standard's, `prompt` for decisions on prompts",
  [ours.actionOutcome]: '`success`, `failure`, `denied`, `interrupted`, `abandoned` or `unknown`',
  [ours.actionSuccess]: 'Whether it succeeded; absent where nobody knows',
  [ours.actionWaitMs]: 'Time that the action waited for a person, before it ran (ms)',
  [ours.actionDurationMs]: "The agent's own duration of the action (ms)",
  [ours.mcpServer]: 'Name of the MCP server',
  [ours.decisionOutcome]: '`allow`, `deny` or `ask`; on the metric of policies what became of them',
  [ours.decisionSource]:
    'Who decided: `user`, `classifier`, `config`, `hook`, `mode`, `policy`, `sandbox` or `unknown`',
  [ours.decisionBasis]: '`observed` when the agent said so, `inferred` when it follows from what it did next',
  [ours.riskScore]:
    'Risk from 0 to 100, where one is stated or a rule holds (docs/risk.md); of a turn or session the highest of its actions',
  [ours.riskLevel]: '`low`, `medium`, `high` or `critical`',
  [ours.riskFactors]: 'What makes it risky, in words that docs/risk.md explains',
  [ours.promptLength]: 'Length of the prompt in characters',
  [ours.promptHash]: 'HMAC of the prompt under the key of the installation',
  [ours.promptFollowup]: 'Whether the prompt follows an earlier one',
  [ours.responseLength]: 'Length of the response in characters',
  [ours.responseHash]: 'HMAC of the response under the key of the installation',
  [ours.responseFinal]: 'Whether it ends the turn',
  [ours.planType]: '`plan`, `explore` or `default`',
  [ours.planSteps]: 'Steps of the plan',
  [ours.contextTrigger]: '`auto`, `manual` or `system`',
  [ours.contextPhase]: '`before` or `after` the compaction',
  [ours.contextStrategy]: 'How it was compacted, as the event says',
  [ours.contextUri]: 'Where the agent works, if that is no folder; with `content.paths`',
  [ours.tokensBefore]: 'Tokens in the context before',
  [ours.tokensAfter]: 'Tokens in the context after',
  [ours.tokensRemoved]: 'Tokens that went',
  [ours.tokensUsed]: 'Tokens in the context',
  [ours.tokensLimit]: 'Tokens at which it is compacted',
  [ours.tokensRemaining]: 'Tokens up to there',
  [ours.utilization]: 'Share of the limit that is used, 0 to 1',
  [ours.policyName]: 'Name of the policy',
  [ours.policyRule]: 'Its rule',
  [ours.policyOverrideBy]: 'HMAC of who set it aside; where `content.user` is not `off`',
  [ours.fileOperation]: '`create`, `update` or `delete`',
  [ours.fileStartLine]: 'First line that changed',
  [ours.fileEndLine]: 'Last line that changed',
  [ours.notificationType]: '`ToolPermission`, `IdleTimeout`, `ErrorAlert`, or as the agent says',
  [ours.errorOrigin]: 'Type of the event that the error came from',
  [ours.retryAttempt]: 'Number of the attempt; of an action, where the same did not succeed before',
  [ours.retryAction]: 'What is tried again, by the name of Agent Hooks',
  [ours.loopState]: '`detected` or `aborted`',
  [ours.loopDetected]: '`true` where a loop was detected in the turn',
  [ours.loopAborted]: '`true` where somebody stopped it',
  [ours.sessionLoops]: 'Loops that were detected in the segment',
  [ours.turnRetries]: 'Actions of the turn that were tried again',
  [ours.budgetOf]: '`session` or `turn`: whose budget it is',
  [ours.budgetUnit]: '`tokens` or `usd`',
  [ours.budgetState]: '`warning` from 70 % of the budget on, `exceeded` from 80 %',
  [ours.budgetUsed]: 'What was used of it by then',
  [ours.budgetLimit]: 'The budget that is set',
  [ours.loopIterations]: 'Repetitions so far',
  [ours.loopTokens]: 'Tokens that the loop took',
  [ours.loopElapsedMs]: 'Time that the loop took (ms)',
  [ours.pipelineItem]: '`fragment`, `span`, `log`, `event`, `journal` or `quarantine`',
  [ours.pipelineResult]:
    '`accepted`: it is in a journal; `duplicate`, `invalid` (it could not be read) or `dropped` by a limit: of whole hooks, told apart as `other`, by the service `otel-hooks`',
  [ours.pipelineReason]:
    'Why: `duplicate`, `sampled`, `damaged`, `over-age`, `over-size`, `over-files`, ...; of what was rejected the status; of what was silenced the setting (`enabled`, `trace.sampler`)',
  [`${ours.vendorPrefix}*`]: 'Closed sets and numbers of an event that only this agent has',
};

export function telemetryPage(): string {
  return `${[
    GENERATED,
    '# Telemetry',
    '',
    `What leaves, name by name. Instrumentation scope \`${SCOPE}\`. Names of OpenTelemetry are marked \`stable\` or \`development\` as the conventions mark them;`,
    '`own` are ours, under `agent_hooks.`, where the conventions have nothing. What is unknown is absent, never 0 or a guess.',
    '',
    '## Resource',
    '',
    'The same for all sessions of an agent under one configuration; nothing of a session, a process or a person. Metrics carry it without versions, so that',
    'an upgrade does not begin new series.',
    '',
    ...resourceTable(),
    '',
    `Spans and records say the agent's version in ${code(stable.serviceVersion)}, where it is known: a record, an action and a response as their event states it; plans, turns, subagents and sessions as it was told`,
    'by the time they left. Some agents state it in each hook, some in their transcripts alone, some never.',
    '',
    'Attributes of `OTEL_RESOURCE_ATTRIBUTES` and of the key `attributes` are added.',
    '',
    '## Spans',
    '',
    'A session is one trace. A resumed session goes on in a new trace with a link to the former one, and so does one with 2,000 spans, about 2 MB or an age of four hours, at',
    'the start of its next turn; one turn that alone grows beyond 2,400 spans or 2.4 MB goes on in the next trace, too. With `trace.shape` `turn`, each turn is a trace, its span the root,',
    'linked to the turn before; the span of the session is then a trace of its own. Each span leaves once, when it is over: a session that still runs has no root yet, so look for',
    '`session.id`, never for roots.',
    '',
    '| span | stability | kind | name, for example | child of | is |',
    '| --- | --- | --- | --- | --- | --- |',
    ...kinds.map(kind => {
      const { name, kind: of, attributes } = spanOf(kind);
      // The conventions know spans by their operation.
      const stability = development.operationName in attributes ? 'development' : 'own';
      return row(kind, stability, SpanKind[of], code(name), spanNotes[kind].parent, spanNotes[kind].lasts);
    }),
    '',
    `Links say in \`${ours.linkType}\` why: \`previous_session\`, \`previous_segment\`, \`previous_turn\`, \`continued_turn\`, \`continued_subagent\`, \`launched_by\` (a call in another trace), or \`caller\` (the trace in whose \`TRACEPARENT\` the agent was started; \`trace.traceparent\` can make it the parent, or nothing).`,
    '',
    '## Attributes',
    '',
    'Tempo and Jaeger show attributes by these names. Loki and Prometheus put underscores for dots, where an attribute is on logs or on metrics: in Loki it is structured metadata, whose',
    'values are text; a list is its JSON, and the fields of an object stand each for itself (`gen_ai_tool_call_arguments_command`). In Prometheus it is a label. Whole amounts of a `double` leave as integers.',
    '',
    'Of the conventions:',
    '',
    ...attributeTable('upstream'),
    '',
    'Ours:',
    '',
    ...attributeTable('own'),
    '',
    'Values are cut at 2,048 bytes, at a whole character; on log records messages are up to 32,000 bytes of JSON, arguments and results up to 16,000 each.',
    'With content that was asked for ([privacy](privacy.md)), a record stays below the 64 KB and 128 fields that Loki takes.',
    '',
    '## Metrics',
    '',
    'Cumulative by default, delta with `otlp.temporality`. Attributes come from closed sets, so that the number of series is bounded: a tool that is not built into the',
    'agent counts as `mcp` or `custom`, a kind of subagent likewise, an error outside the list as `_OTHER`. The mode stands on all but the histograms of which each tool has one. A new series leaves once as 0 before its first value, and after a',
    'minute of silence what grew leaves once more as it stood, so that `increase()` sees short sessions, also the second one of a day.',
    '',
    ...metricTable(),
    '',
    'One series of each, as Prometheus shows it. The names are those of its OTLP receiver with the default translation: dots become underscores, a unit of seconds or of',
    'dollars is appended, counters end in `_total`; a histogram has `_bucket` and `_sum` beside `_count`.',
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
    'One record for each event that an agent told or that silence ended, in the context of its span, whether or not that span is sampled. The body is one line for people that ends in the first',
    'digits of the event id. All event names are `own`.',
    '',
    `Every record has ${commonOnLogs().map(code).join(', ')} (the last ones where the event has them).`,
    '',
    '| event | event name | severity | besides |',
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
    `A \`Model.Failed\` that tells more than a kind of failure, a type of exception of its own or a message that stays, has a second record beside its own: \`${EXCEPTION_EVENT}\`, WARN,`,
    `with what the first has, ${code(stable.exceptionType)} and ${code(stable.exceptionMessage)}. \`logs.level\` keeps records of less weight back.`,
    '',
    'An event with a decision `ask` or `deny`, a failed and an interrupted action are WARN; a violation of critical risk is ERROR.',
    '',
    'A line of each, as an operator reads it:',
    '',
    '```',
    ...eventTypes.map(type => String(recordOf(type, undefined, true).body)),
    '```',
    '',
    "In Loki `service_name` is the label (with Loki's own list `service_instance_id` is another: [Grafana](grafana.md)); all else is structured metadata, beside `trace_id`, `span_id`, `severity_text` and",
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
      'Computed from the installation, the agent and the static attributes; says nothing about the machine',
    [stable.serviceVersion]: 'Of the agent, where it is known; not on metrics',
    [stable.telemetryDistroName]: '`otel-hooks`',
    [stable.telemetryDistroVersion]: 'Its version; not on metrics',
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
  /** On spans, logs and metrics, as far as it is there. */
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
  // No response comes of a failure.
  note(readableSpanOf({ ...spans.chat, errorType: undefined }, from, resource).attributes, 'chat');
  for (const type of eventTypes) note(recordOf(type).attributes, 'logs');
  note(recordOf(FILE_WRITE, written).attributes, 'logs');
  note(recordOf('Model.Failed', undefined, undefined, 'exception').attributes, 'logs');
  note(recordOf('vendor.x.Y', { '*': 'plugin' }).attributes, 'logs');
  for (const { attributes } of allIncrements()) note(attributes, 'metrics');
  return [...found.values()];
}

/** Where it is not the same everywhere, it says so. */
const typesOf = ({ types }: Attribute): string => {
  const [first = ''] = types.values();
  return [first, ...[...types].flatMap(([on, type]) => (type === first ? [] : [`on ${on} ${type}`]))].join(', ');
};

export const typeOf = (value: unknown): string => {
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'double';
  if (Array.isArray(value)) return value.every(each => typeof each === 'string') ? 'string[]' : 'structured';
  return typeof value === 'object' ? 'structured' : typeof value;
};

/** Ids and hashes are known by their beginnings. */
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

/** Everything that counts, counted once. */
function allIncrements(): Increment[] {
  const events = eventTypes.map(type => eventOf(type, undefined, true));
  events.push(eventOf('Context.Compaction', undefined, true, { phase: 'after' }), eventOf(FILE_WRITE, written, true));
  const finished = kinds.map(kind => spans[kind]);
  const lost = emptyLedger();
  lost.fragments.dropped.duplicate = 1;
  lost.counters['quarantined.torn'] = 1;
  lost.counters['failed.traces.503'] = 1;
  lost.counters['silenced.enabled'] = 1;
  accountsOf(lost, 'd').traces.rejected['400'] = 1;
  const response = { ...spans.chat, sum: undefined };
  const told = incrementsOf(events, [...finished, response], agent, () => true, { semconv: 'both' });
  const over: Increment = { metric: 'pipelineOverflow', attributes: { [ours.pipelineReason]: 'series' }, value: 1 };
  const took: Increment = { metric: 'pipelineExport', attributes: { [ours.pipelineItem]: 'span' }, value: 0.02 };
  const waiting = [{ name: 'b', signal: 'traces', items: 1, sizeBytes: 48_213, isSkeleton: false } as const];
  const spool = spoolOf({ destinations: () => ['d'], next: () => waiting });
  return [...told, over, took, ...spool, ...lossesOf(lost, 'd')];
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
        metric.bounds ? 'histogram' : metric.isLevel ? 'up-down counter' : 'counter',
        code(metric.unit),
        attributesOf(metric).map(code).join(' '),
        metric.description.replace(/\.$/, ''),
      ),
    ),
  ];
}

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
function prometheusName({ name, unit, bounds, isLevel }: MetricName): string {
  const plain = name.replace(/[^a-zA-Z0-9_]/g, '_');
  const isBare = /^\{.*\}$/.test(unit) || (unit === '1' && bounds !== undefined);
  const suffix = { s: '_seconds', USD: '_USD', By: '_bytes' }[unit] ?? '';
  if (suffix === '' && !isBare) throw new Error(`no rule for the unit ${unit}`);
  return `${plain}${suffix}${bounds || isLevel ? '' : '_total'}`;
}

function commonOnLogs(): string[] {
  const [first = [], ...others] = eventTypes.map(type => attributesOfEvent(type));
  return first.filter(name => others.every(names => names.includes(name)));
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const code = (text: string): string => `\`${text}\``;
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
