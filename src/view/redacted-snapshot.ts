/**
 * Removes names from a snapshot: repositories, branches, commits, folders, users, sessions, MCP servers, programs,
 * subagents, policies, foreign tools, and all content. Agent, models, times, numbers and
 * words of closed sets stay.
 *
 * Each attribute that stays is listed here, so that an attribute which is added later does not get into a file by
 * accident.
 */
import type { JournalPart, PageEvent, PageSpan, Snapshot, SpanDetails } from '../page/data.ts';
import { development, ours } from '../telemetry/names.ts';

/** `isOwnTool` returns true for the tools that the agent brings along. */
export function redactedSnapshot(snapshot: Snapshot, isOwnTool: (agent: string, tool: string) => boolean): Snapshot {
  const { part, details } = snapshot;
  const { agent } = part.row;
  const ids = new Map<string, string>();
  const numbered = (id: string): string => {
    const known = ids.get(id) ?? `span-${ids.size + 1}`;
    ids.set(id, known);
    return known;
  };
  const span = (each: PageSpan): PageSpan => ({
    ...each,
    id: numbered(each.id),
    parent: each.parent && numbered(each.parent),
    trace: '',
    name: nameOf(each, agent, isOwnTool),
    error: each.error && (errors.has(each.error) ? each.error : 'failed'),
  });
  const event = (each: PageEvent): PageEvent => ({
    ...each,
    line: typeIn(each.line),
    span: each.span && numbered(each.span),
  });
  const journal = (each: JournalPart, i: number): JournalPart => ({
    ...each,
    key: `part-${i + 1}`,
    spans: each.spans.map(span),
    open: each.open.map(span),
    events: each.events.filter(({ type }) => !type.startsWith('vendor.')).map(event),
    content: [],
    previous: undefined,
    commits: [],
  });
  const journals = part.journals.map(journal);
  const row = {
    ...part.row,
    key: 'part-1',
    session: 'without names',
    resumedAs: part.row.resumedAs?.map((_, i) => `part ${i + 2}`),
    ...{ repository: undefined, branch: undefined, cwd: undefined },
  };
  const kept = Object.entries(details).map(([id, each]): [string, SpanDetails] => [numbered(id), plain(each)]);
  return { ...snapshot, part: { v: 1, row, journals }, details: Object.fromEntries(kept) };
}

function nameOf(span: PageSpan, agent: string, isOwnTool: (agent: string, tool: string) => boolean): string {
  if (span.kind === 'chat') return span.model === undefined ? 'chat' : `chat ${span.model}`;
  if (span.kind === 'session') return `session ${agent}`;
  if (span.kind === 'turn') return `invoke_agent ${agent}`;
  if (span.kind === 'subagent') return 'invoke_agent subagent';
  if (span.kind === 'plan') return 'plan';
  const tool = span.name.split(' ')[1] ?? '';
  return isOwnTool(agent, tool) ? `execute_tool ${tool}` : 'execute_tool';
}

/** The type of the event, with which a line begins. */
const typeIn = (line: string): string => /^[A-Z][A-Za-z]*(\.[A-Z][A-Za-z]*)+(?= |$)/.exec(line)?.[0] ?? 'event';

const plain = ({ attributes, records }: SpanDetails): SpanDetails => ({
  v: 1,
  attributes: attributes.filter(([name]) => keptNames.has(name)),
  links: [],
  records: records.map(({ atMs, level, line, attributes: all }) => ({
    ...{ atMs, level, line: typeIn(line) },
    attributes: all.filter(([name]) => keptNames.has(name)),
  })),
});

/** Error types that otel-hooks itself gives; other types are words of senders. */
const errors = new Set(['tool_error', 'exit_code', 'interrupted', 'model_error', 'hook_error', 'timeout', '_OTHER']);

const keptNames = new Set<string>([
  ...[ours.actionOutcome, ours.actionSuccess, ours.actionWaitMs, ours.actionDurationMs, ours.actionFamily],
  ...[ours.actionOperation, ours.actionSubtype, ours.actionTimeoutMs, ours.actionBackground],
  ...[ours.decisionOutcome, ours.decisionSource, ours.decisionBasis, ours.decisionReasonType],
  ...[ours.decisionScope, ours.decisionGrant, ours.riskScore, ours.riskLevel, ours.riskFactors],
  ...[ours.durationSource, ours.segment, ours.startReason, ours.endReason, ours.sessionTokens],
  ...[ours.sessionDurationMs, ours.sessionTurns, ours.sessionActions, ours.sessionSubagents],
  ...[ours.sessionDenied, ours.sessionFailed, ours.sessionLoops, ours.turnOutcome, ours.turnPrompts],
  ...[ours.turnActions, ours.turnDenied, ours.turnFailed, ours.turnWaitMs, ours.turnRetries],
  ...[ours.subagentDepth, ours.subagentOutcome, ours.subagentActions, ours.modelCalls, ours.modelRetries],
  ...[ours.costUsd, ours.costPrices, ours.costReported, ours.costUpperBound, ours.costBasis, ours.costUnpriced],
  ...[ours.modelSum, ours.cacheWrite1hTokens, ours.usageComplete, ours.promptLength, ours.promptFollowup],
  ...[ours.responseLength, ours.responseFinal, ours.planSteps, ours.contextTrigger, ours.contextPhase],
  ...[ours.contextThreshold, ours.tokensBefore, ours.tokensAfter, ours.tokensRemoved, ours.tokensUsed],
  ...[ours.tokensLimit, ours.tokensRemaining, ours.utilization, ours.budgetOf, ours.budgetUnit, ours.budgetState],
  ...[ours.budgetUsed, ours.budgetLimit, ours.retryAttempt, ours.loopState, ours.loopDetected, ours.loopAborted],
  ...[ours.loopIterations, ours.loopTokens, ours.loopElapsedMs],
  ...[development.operationName, development.providerName, development.requestModel, development.responseModel],
  ...[development.inputTokens, development.outputTokens, development.cacheReadTokens],
  ...[development.cacheWriteTokens, development.reasoningTokens, development.processExitCode],
]);
