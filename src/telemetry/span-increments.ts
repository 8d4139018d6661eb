import type { ActionSpan, ChatSpan, FinishedSpan, Sums } from '../assemble/finished.ts';
import { type Acted, acted, decided, toolOnMetrics } from './action-names.ts';
import { errorClassOf } from './error-classes.ts';
import { counterIncrement, histogramIncrement, type Increment, type Known, type Widening } from './increments.ts';
import { development, operations, ours, stable } from './names.ts';
import type { Plain } from './resource.ts';
import { formerSystem, providerFor, toolTypeOf } from './spans.ts';

export function fromSpan(span: FinishedSpan, agent: string, known: Known, widening: Widening): Increment[] {
  const seconds = (span.endMs - span.startMs) / 1000;
  const error: Plain =
    span.errorType === undefined
      ? {}
      : { [stable.errorType]: errorClassOf(span.errorType, span.kind === 'chat' ? 'model_error' : '_OTHER') };
  switch (span.kind) {
    case 'session':
      return [
        {
          metric: 'sessionDuration',
          attributes: { [ours.endReason]: span.endReason ?? 'unknown', ...error },
          value: seconds,
        },
        ...(span.statedCosts ?? []).flatMap(({ model, usd }) =>
          counterIncrement('costReported', usd, aboutModel({ model, provider: undefined }, widening)),
        ),
        ...(span.stated === undefined ? [] : tokensOf(span.usage, aboutModel(span.stated, widening), widening.semconv)),
      ];
    case 'turn':
    case 'subagent': {
      const name = span.kind === 'turn' && span.agent === undefined ? agent : subagentOnMetrics(span.agent, widening);
      return [
        { metric: 'agentDuration', attributes: { [development.agentName]: name, ...error }, value: seconds },
        { metric: 'agentToolCalls', attributes: { [development.agentName]: name }, value: span.actions },
        ...counterIncrement('agentInferenceCalls', span.usage.calls, { [development.agentName]: name }),
      ];
    }
    case 'plan':
      return [];
    case 'chat':
      return fromChat(span, widening, error);
    case 'action': {
      const about = { name: span.name, tool: span.tool, isMcp: span.mcpServer !== undefined };
      const name =
        span.subagent === undefined && span.agent === undefined ? agent : subagentOnMetrics(span.agent, widening);
      // A denied action did not run, so it has no duration.
      const isTimed = span.outcome !== 'denied' && span.duration !== 'none';
      return [
        ...(isTimed ? actionDurations(span, name, known, { seconds, error }) : []),
        ...actionDecisions(span, about, known),
      ];
    }
  }
}

const subagentOnMetrics = (kind: string | undefined, { knownSubagent }: Widening): string =>
  kind !== undefined && knownSubagent?.(kind) ? kind : 'custom';

function actionDurations(
  { name, tool, mcpServer }: ActionSpan,
  agent: string,
  known: Known,
  { seconds, error }: { seconds: number; error: Plain },
): Increment[] {
  const attributes = {
    ...acted({ name, tool, isMcp: mcpServer !== undefined }, known),
    [development.toolType]: toolTypeOf(mcpServer),
    [development.agentName]: agent,
    ...error,
  };
  const duration: Increment = { metric: 'toolDuration', attributes, value: seconds };
  if (mcpServer === undefined) return [duration];
  const call = {
    [development.mcpMethodName]: 'tools/call',
    [development.toolName]: toolOnMetrics(tool, true, known),
    ...error,
  };
  return [duration, { metric: 'mcpDuration', attributes: call, value: seconds }];
}

/**
 * Counts the answer to a question, the time until the answer, and the risk. The event of the question counts itself.
 */
function actionDecisions({ decision, waitMs, risk }: ActionSpan, about: Acted, known: Known): Increment[] {
  const all: Increment[] = [];
  if (decision !== undefined && decision.outcome !== 'ask')
    all.push(decided(decision.outcome, decision, about, known, risk?.level));
  if (waitMs !== undefined) {
    const attributes = { [ours.decisionOutcome]: decision?.outcome ?? 'ask' };
    all.push({ metric: 'decisionWait', attributes, value: waitMs / 1000 });
  }
  if (risk?.score !== undefined) {
    const outcome: Plain = decision === undefined ? {} : { [ours.decisionOutcome]: decision.outcome };
    all.push({ metric: 'riskScore', attributes: { ...acted(about, known), ...outcome }, value: risk.score });
  }
  return all;
}

const aboutModel = (
  { model, provider }: { model: string | undefined; provider: string | undefined },
  widening: Widening,
): Plain => ({
  [development.operationName]: operations.chat,
  [development.providerName]: provider ?? providerFor(model, widening) ?? 'unknown',
  ...modelOnMetrics(model),
});

/** Tokens are counted once: for each response, or for the session if no source reported its responses. */
function tokensOf(used: TokenCounts, about: Plain, semconv: Widening['semconv']): Increment[] {
  const tokens = { ...about, [development.tokenModality]: 'unknown' };
  const newest =
    semconv === 'v1.36'
      ? []
      : [
          ...counterIncrement('inputTokens', used.input, tokens),
          ...counterIncrement('outputTokens', used.output, tokens),
        ];
  return [
    ...newest,
    ...counterIncrement('cacheReadTokens', used.cacheRead, tokens),
    ...counterIncrement('cacheWriteTokens', used.cacheWrite, tokens),
    ...counterIncrement('reasoningTokens', used.reasoning, tokens),
    ...counterIncrement('cost', used.pricedUsd, about),
    ...counterIncrement('costReported', used.costUsd, about),
    ...counterIncrement('costUnpriced', used.unpricedTokens, about),
  ];
}

type TokenCounts = Pick<Partial<ChatSpan>, keyof Sums & keyof ChatSpan>;

function fromChat(span: ChatSpan, widening: Widening, error: Plain): Increment[] {
  const { semconv } = widening;
  const about = aboutModel(span, widening);
  const { input, output } = span.sum === undefined ? span : { input: undefined, output: undefined };
  const seconds = span.duration === 'none' ? undefined : (span.endMs - span.startMs) / 1000;
  const attributes = { ...about, ...error };
  const all = tokensOf(span, about, semconv);
  if (semconv !== 'v1.36') {
    all.push(
      ...histogramIncrement('inputTokensEach', input, attributes),
      ...histogramIncrement('outputTokensEach', output, attributes),
    );
    all.push(...histogramIncrement('inferenceDuration', seconds, attributes));
  }
  if (semconv !== undefined) {
    const { [development.providerName]: system = 'unknown', ...rest } = attributes;
    const old = { ...rest, [development.system]: formerSystem(system) };
    all.push(...histogramIncrement('tokenUsage', input, { ...old, [development.tokenType]: 'input' }));
    all.push(...histogramIncrement('tokenUsage', output, { ...old, [development.tokenType]: 'output' }));
    all.push(...histogramIncrement('operationDuration', seconds, old));
  }
  return all;
}

export const modelOnMetrics = (model: string | undefined): Plain => ({
  [development.requestModel]: MODEL.test(model ?? '') ? (model ?? 'unknown') : 'unknown',
});

const MODEL = /^[A-Za-z0-9][A-Za-z0-9._:@/[\]-]{0,95}$/;
