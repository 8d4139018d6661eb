/**
 * Counters and histograms, cumulative, one state for each destination, kept as JSON between processes.
 *
 * Attributes come from closed sets, so the number of series is bounded: names that users or servers invent become
 * `mcp` or `custom`. Back ends compute increases from what they saw of late, so each value that grew has what it grew from
 * beside it: a series starts when it first appears, and leaves once as 0 at that moment before its first value leaves; after a
 * silence what stood until then is said again.
 */
import { ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type {
  ActionSpan,
  ChatSpan,
  FinishedRecord,
  FinishedSpan,
  SpanKey,
  SubagentSpan,
  Sums,
  TraceKey,
} from '../assemble/finished.ts';
import {
  type BudgetFacts,
  type DataOf,
  type Event,
  eventTypes,
  FILE_WRITE,
  factsOf,
  isVendor,
  type RiskLevel,
} from '../event/event.ts';
import { dollars } from '../lib/dollars.ts';
import { admit, bounded, type Census, censusOf, MOST_SERIES, OTHER } from './cardinality.ts';
import { development, type MetricId, type MetricName, metrics, operations, ours, stable } from './names.ts';
import { type Exemplar, writeMetrics } from './otlp-writer.ts';
import { instrumentationScope, metricResource, type Plain, resourceOf } from './resource.ts';
import { formerSystem, hrTime, providerFor, toolTypeOf } from './spans.ts';

export interface Increment {
  metric: MetricId;
  attributes: Plain;
  value: number;
  place?: Place | undefined;
}

/** Where something was counted. */
export interface Place {
  trace: TraceKey;
  span: SpanKey;
  ms: number;
}

export interface MetricState {
  v: 1;
  /** Counts the changes; a destination that has accepted it is up to date. */
  version: number;
  accepted: number;
  /** Time of the newest points that were encoded; the next are later, whatever the clock says. */
  lastMs: number;
  resources: { [key: string]: { attributes: Plain; series: { [key: string]: Series } } };
}

interface Series {
  metric: MetricId;
  attributes: Plain;
  startMs: number;
  /** Has left as 0. */
  begun: boolean;
  now: Sum;
  /** What the destination has accepted, for differences. */
  sent: Sum;
  /** A measurement since then, and where it was taken. */
  exemplar?: { ms: number; value: number; traceId: string; spanId: string } | undefined;
}

export interface Sum {
  sum: number;
  count: number;
  buckets?: number[];
}

/** Name of the store's document that holds a destination's state. */
export const metricsDocument = (destination: string): string => `metrics-${destination}`;

export const noMetrics = (): MetricState => ({ v: 1, version: 0, accepted: 0, lastMs: 0, resources: {} });

/** Names that may stand on metrics as they are. */
export type Known = (tool: string) => boolean;

/** Names that metrics say where they were asked for. */
type Included =
  | typeof development.sessionId
  | typeof development.toolName
  | typeof development.agentName
  | typeof ours.mcpServer
  | typeof ours.agentMode;

/** What is said beside the closed sets, and under which names. */
export interface Widening {
  provider?: string | undefined;
  providerOf?: ((model: string) => string | undefined) | undefined;
  semconv?: 'v1.36' | 'both' | undefined;
  include?: readonly Included[] | undefined;
  session?: string | undefined;
  /** Kinds of subagents that may stand on metrics as they are. */
  knownSubagent?: Known | undefined;
  /** Where events happened. */
  records?: readonly FinishedRecord[] | undefined;
}

export function incrementsOf(
  events: readonly Event[],
  spans: readonly FinishedSpan[],
  agent: string,
  known: Known,
  widening: Widening = {},
): Increment[] {
  const { include = [], session, records = [] } = widening;
  const all: Increment[] = [];
  const contexts = new Map(records.map(record => [record.event, record]));
  const wide = new Set(include);
  const add = (increments: readonly Increment[], place: Place | undefined, about: About): void => {
    for (const increment of increments) {
      // Every event is one of these: an exemplar would say nothing.
      if (increment.metric !== 'pipelineEvents') {
        increment.place = place;
        circumstances(increment, about);
      }
      if (wide.size > 0) increment.attributes = widened(increment.attributes, wide, session, about);
      all.push(increment);
    }
  };
  for (const event of events) {
    const record = contexts.get(event);
    const place = record && { trace: record.trace, span: record.span, ms: Date.parse(event.timestamp) };
    const facts = factsOf(event);
    const about = {
      tool: facts?.tool,
      server: facts?.mcp?.server,
      agent: undefined,
      mode: event.agent_mode,
      actor: event.actor?.type,
    };
    add(fromEvent(event, known), place, about);
  }
  for (const span of spans) {
    const place = { trace: span.trace, span: span.key, ms: span.endMs };
    const about = {
      tool: span.kind === 'action' ? span.tool : undefined,
      server: span.kind === 'action' ? span.mcpServer : undefined,
      agent: span.kind === 'subagent' || span.kind === 'action' ? subagentIn(span) : undefined,
      mode: span.mode,
      actor: span.actor?.type,
    };
    add(fromSpan(span, agent, known, widening), place, about);
  }
  return all;
}

interface About {
  tool: string | undefined;
  server: string | undefined;
  agent: string | undefined;
  mode: string | undefined;
  actor: string | undefined;
}

/** Histograms of which each tool has one: another for each mode would be more series than there may be. */
const byTool: ReadonlySet<MetricId> = new Set(['toolDuration', 'mcpDuration', 'riskScore']);

/** Counters of what people, agents and systems do: the rest is the agent's alone. */
const byActor: ReadonlySet<MetricId> = new Set([
  'sessionsStarted',
  'prompts',
  'decisions',
  'compactions',
  'tokensRemoved',
  'policyEvents',
  'errors',
  'fileWrites',
  'notifications',
  'retries',
  'loops',
]);

/** In which mode it happened, and who set it going. Changes what was made just before. */
function circumstances({ metric, attributes }: Increment, { mode, actor }: About): void {
  if (byTool.has(metric)) return;
  const said = attributes as Record<string, string>;
  if (mode !== undefined) said[ours.agentMode] = mode;
  if (actor !== undefined && byActor.has(metric)) said[ours.actorType] = actor;
}

const subagentIn = (span: SubagentSpan | ActionSpan): string | undefined =>
  span.kind === 'action' && span.subagent === undefined ? undefined : span.agent;

/** Names as they are, where they were asked for. */
function widened(
  attributes: Plain,
  include: ReadonlySet<Included>,
  session: string | undefined,
  { tool, server, agent, mode }: About,
): Plain {
  const more: Record<string, string> = {};
  const has = (name: Included, on: string): boolean => include.has(name) && attributes[on] !== undefined;
  if (include.has('session.id') && session !== undefined) more[development.sessionId] = session;
  if (include.has('agent_hooks.agent.mode') && mode !== undefined) more[ours.agentMode] = mode;
  if (tool !== undefined && has('gen_ai.tool.name', development.toolName)) more[development.toolName] = tool;
  if (agent !== undefined && has('gen_ai.agent.name', development.agentName)) more[development.agentName] = agent;
  if (server !== undefined && has('agent_hooks.mcp.server', development.toolName)) more[ours.mcpServer] = server;
  return { ...attributes, ...more };
}

function fromEvent(event: Event, known: Known): Increment[] {
  // What the drain notes for itself is no event of an agent.
  if (event.event_type.startsWith('vendor.otel-hooks.')) return [];
  const facts = factsOf(event);
  const all = one('pipelineEvents', { [ours.eventType]: typeOnMetrics(event), [ours.pipelineResult]: 'accepted' });
  if (event.event_type === FILE_WRITE) return [all, one('fileWrites', written(event.data.operation))];
  if (isVendor(event)) return [all];
  const root = event.parent_session_id === undefined;
  switch (event.event_type) {
    case 'Session.Start':
      return root ? [all, one('sessionsStarted', { [ours.startReason]: event.data.start_reason ?? 'new' })] : [all];
    case 'Prompt.Submitted':
      return [
        all,
        one('prompts', { [ours.promptFollowup]: String(event.data.is_followup ?? 'unknown') }),
        ...(event.data.decision === undefined
          ? []
          : [
              one('decisions', {
                [ours.decisionOutcome]: event.data.decision.outcome,
                [ours.decisionSource]: facts?.decision?.source ?? 'unknown',
                [ours.actionName]: 'prompt',
                ...(event.risk?.level === undefined ? {} : { [ours.riskLevel]: event.risk.level }),
              }),
            ]),
      ];
    case 'Context.Compaction': {
      const about = { [ours.contextTrigger]: event.data.trigger ?? 'system' };
      // Whoever tells two moments of it is counted at the first, and says at the second what it left; some tell one, with all.
      return [
        all,
        ...(facts?.phase === 'after' ? [] : [one('compactions', about)]),
        ...(facts?.phase === 'before'
          ? []
          : [...counted('tokensRemoved', event.data.tokens_removed, about), ...compression(event.data)]),
      ];
    }
    case 'Retry.Triggered':
      return [all, one('retries', { [ours.actionName]: actionOnMetrics(event.data.action_name) ?? 'model' })];
    case 'Retry.Loop.Detected':
    case 'Retry.Loop.Aborted':
      return [
        all,
        one('loops', {
          [ours.actionName]: actionOnMetrics(event.data.action_name) ?? 'custom',
          [ours.loopState]: event.event_type === 'Retry.Loop.Detected' ? 'detected' : 'aborted',
        }),
      ];
    case 'Context.UntilCompaction': {
      const share = (event.data.percentage_used ?? Number.NaN) / 100;
      return share >= 0 && share <= 1 ? [all, { metric: 'utilization', attributes: {}, value: share }] : [all];
    }
    case 'Policy.Violation':
    case 'Policy.Blocked':
    case 'Policy.Override':
      return [
        all,
        one('policyEvents', { [ours.decisionOutcome]: event.event_type.slice('Policy.'.length).toLowerCase() }),
        ...(facts?.budget === undefined ? [] : [passed(facts.budget)]),
      ];
    case 'Agent.Error':
      return [
        all,
        one('errors', {
          [stable.errorType]: errorTypes.has(event.data.error_type ?? '')
            ? (event.data.error_type ?? '_OTHER')
            : '_OTHER',
          ...originOf(event.data.origin_event),
        }),
      ];
    case 'Agent.Notification':
      return [
        all,
        one('notifications', {
          [ours.notificationType]: notificationTypes.has(event.data.type ?? '')
            ? (event.data.type ?? 'other')
            : 'other',
        }),
      ];
    case 'Agent.Decision':
      // How a call was decided is counted with the call; that somebody was asked, here.
      return event.data.decision === undefined || (event.data.decision.outcome !== 'ask' && facts?.call !== undefined)
        ? [all]
        : [
            all,
            decided(
              event.data.decision.outcome,
              facts?.decision?.source ?? 'unknown',
              { name: event.data.action_name, tool: facts?.tool, isMcp: facts?.mcp !== undefined },
              known,
              event.risk?.level,
            ),
          ];
    default:
      return [all];
  }
}

/** Those of Agent Hooks, the one that OpenHook alone has, and the rest. */
function typeOnMetrics(event: Event): string {
  if (event.event_type === FILE_WRITE) return 'file.write';
  return typesOfEvents.has(event.event_type) ? event.event_type : OTHER;
}

const written = (operation: unknown): Plain => ({
  [ours.fileOperation]: fileOperations.has(operation) ? String(operation) : 'unknown',
});
const fileOperations: ReadonlySet<unknown> = new Set(['create', 'update', 'delete']);

const originOf = (origin: string | undefined): Plain =>
  origin === undefined ? {} : { [ours.errorOrigin]: typesOfEvents.has(origin) ? origin : OTHER };
const typesOfEvents: ReadonlySet<string> = new Set(eventTypes);

const passed = ({ of, unit, state }: BudgetFacts): Increment =>
  one('budgets', { [ours.budgetOf]: of, [ours.budgetUnit]: unit, [ours.budgetState]: state });

function compression({ tokens_before: before, tokens_after: after }: DataOf<'Context.Compaction'>): Increment[] {
  if (before === undefined || after === undefined || !(before > 0 && after >= 0)) return [];
  return [{ metric: 'compression', attributes: {}, value: after / before }];
}

/** The names of the standard; whatever else agents call an action is one. */
function actionOnMetrics(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return name.startsWith('mcp:') ? 'mcp' : standardActions.has(name) ? name : 'custom';
}
const standardActions = new Set(['shell', 'read_file', 'write_file', 'web_search', 'code_edit', 'compaction']);

const errorTypes = new Set(['ToolFailed', 'ModelError', 'HookError', 'UnhandledException']);
const notificationTypes = new Set(['ToolPermission', 'IdleTimeout', 'ErrorAlert']);

function fromSpan(span: FinishedSpan, agent: string, known: Known, widening: Widening): Increment[] {
  const { semconv, knownSubagent } = widening;
  const subagent = (kind: string | undefined): string =>
    kind !== undefined && knownSubagent?.(kind) ? kind : 'custom';
  const seconds = (span.endMs - span.startMs) / 1000;
  const error: Plain = span.errorType === undefined ? {} : { [stable.errorType]: errorKind(span.errorType, span.kind) };
  switch (span.kind) {
    case 'session':
      return [
        { metric: 'sessionDuration', attributes: { [ours.endReason]: span.endReason, ...error }, value: seconds },
        ...(span.stated === undefined ? [] : tokensOf(span.usage, aboutModel(span.stated, widening), semconv)),
      ];
    case 'turn':
    case 'subagent': {
      const name = span.kind === 'turn' ? agent : subagent(span.agent);
      return [
        { metric: 'agentDuration', attributes: { [development.agentName]: name, ...error }, value: seconds },
        { metric: 'agentToolCalls', attributes: { [development.agentName]: name }, value: span.actions },
        ...counted('agentInferenceCalls', span.usage.calls, { [development.agentName]: name }),
      ];
    }
    case 'plan':
      return [];
    case 'chat':
      return fromChat(span, widening, error);
    case 'action': {
      const about = { name: span.name, tool: span.tool, isMcp: span.mcpServer !== undefined };
      const duration: Increment = {
        metric: 'toolDuration',
        attributes: {
          [development.toolName]: toolOnMetrics(span.tool, span.mcpServer !== undefined, known),
          [development.toolType]: toolTypeOf(span.mcpServer),
          [development.agentName]: span.subagent === undefined ? agent : subagent(span.agent),
          ...error,
        },
        value: seconds,
      };
      const decision = span.decision;
      // An ask is counted where it was asked; here stands what came of it. No length is known of what never ran.
      const counted =
        decision === undefined || decision.outcome === 'ask'
          ? []
          : [decided(decision.outcome, decision.source, about, known, span.risk?.level)];
      if (span.waitMs !== undefined) {
        counted.push({
          metric: 'decisionWait',
          attributes: { [ours.decisionOutcome]: decision?.outcome ?? 'ask' },
          value: span.waitMs / 1000,
        });
      }
      if (span.risk?.score !== undefined) {
        counted.push({
          metric: 'riskScore',
          attributes: {
            ...acted(about, known),
            ...(decision === undefined ? {} : { [ours.decisionOutcome]: decision.outcome }),
          },
          value: span.risk.score,
        });
      }
      if (span.outcome === 'denied' || span.duration === 'none') return counted;
      const mcp: Increment = {
        metric: 'mcpDuration',
        attributes: {
          [development.mcpMethodName]: 'tools/call',
          [development.toolName]: toolOnMetrics(span.tool, true, known),
          ...error,
        },
        value: seconds,
      };
      return [duration, ...(span.mcpServer === undefined ? [] : [mcp]), ...counted];
    }
  }
}

const errorKinds = new Set([
  'tool_error',
  'timeout',
  'interrupted',
  'exit_code',
  'model_error',
  'hook_error',
  'abandoned',
]);
/** Or what a server answered. How a model fails agents have words of their own for. */
const errorKind = (type: string, kind: FinishedSpan['kind']): string => {
  if (errorKinds.has(type) || /^[45]\d\d$/.test(type)) return type;
  return kind === 'chat' ? 'model_error' : '_OTHER';
};

const toolOnMetrics = (tool: string, mcp: boolean, known: Known): string =>
  mcp ? 'mcp' : known(tool) ? tool : 'custom';

interface Acted {
  name: string | undefined;
  tool: string | undefined;
  isMcp: boolean;
}

/** By the standard's name and by the agent's. */
const acted = ({ name, tool, isMcp }: Acted, known: Known): Plain => ({
  [ours.actionName]: isMcp ? 'mcp' : (actionOnMetrics(name) ?? 'custom'),
  [development.toolName]: tool === undefined ? 'custom' : toolOnMetrics(tool, isMcp, known),
});

function decided(outcome: string, source: string, about: Acted, known: Known, risk: RiskLevel | undefined): Increment {
  return one('decisions', {
    [ours.decisionOutcome]: outcome,
    [ours.decisionSource]: source,
    ...acted(about, known),
    ...(risk === undefined ? {} : { [ours.riskLevel]: risk }),
  });
}

const aboutModel = (
  { model, provider }: { model: string | undefined; provider: string | undefined },
  widening: Widening,
): Plain => ({
  [development.operationName]: operations.chat,
  [development.providerName]: provider ?? providerFor(model, widening) ?? 'unknown',
  [development.requestModel]: MODEL.test(model ?? '') ? (model ?? 'unknown') : 'unknown',
});

/** Tokens are counted once: for each response, or for the session where nothing told of its responses. */
function tokensOf(used: TokenCounts, about: Plain, semconv: Widening['semconv']): Increment[] {
  const tokens = { ...about, [development.tokenModality]: 'unknown' };
  const newest =
    semconv === 'v1.36'
      ? []
      : [...counted('inputTokens', used.input, tokens), ...counted('outputTokens', used.output, tokens)];
  return [
    ...newest,
    ...counted('cacheReadTokens', used.cacheRead, tokens),
    ...counted('cacheWriteTokens', used.cacheWrite, tokens),
    ...counted('reasoningTokens', used.reasoning, tokens),
    ...counted('cost', used.pricedUsd, about),
    ...counted('costReported', used.costUsd, about),
    ...counted('costUnpriced', used.unpricedTokens, about),
  ];
}

type TokenCounts = Pick<Partial<ChatSpan>, keyof Sums & keyof ChatSpan>;

function fromChat(span: ChatSpan, widening: Widening, error: Plain): Increment[] {
  const { semconv } = widening;
  const about = aboutModel(span, widening);
  const { input, output } = span.sum === undefined ? span : { input: undefined, output: undefined };
  const seconds = span.duration === 'none' ? undefined : (span.endMs - span.startMs) / 1000;
  const told = { ...about, ...error };
  const all = tokensOf(span, about, semconv);
  if (semconv !== 'v1.36') {
    all.push(...measured('inputTokensEach', input, told), ...measured('outputTokensEach', output, told));
    all.push(...measured('inferenceDuration', seconds, told));
  }
  if (semconv !== undefined) {
    const { [development.providerName]: system = 'unknown', ...rest } = told;
    const old = { ...rest, [development.system]: formerSystem(system) };
    all.push(...measured('tokenUsage', input, { ...old, [development.tokenType]: 'input' }));
    all.push(...measured('tokenUsage', output, { ...old, [development.tokenType]: 'output' }));
    all.push(...measured('operationDuration', seconds, old));
  }
  return all;
}

/** Here 0 is a measurement as well. */
const measured = (metric: MetricId, value: number | undefined, attributes: Plain): Increment[] =>
  value === undefined ? [] : [{ metric, attributes, value }];

const MODEL = /^[A-Za-z0-9][A-Za-z0-9._:@/[\]-]{0,95}$/;

/** Nothing is added for what is not known, or nothing. */
const counted = (metric: MetricId, value: number | undefined, attributes: Plain): Increment[] =>
  value !== undefined && value > 0 ? [{ metric, attributes, value }] : [];

const one = (metric: MetricId, attributes: Plain): Increment => ({ metric, attributes, value: 1 });

/** The ids on the wire of where something was counted; undefined where that trace does not leave. */
export type Locate = (from: Place) => { traceId: string; spanId: string } | undefined;

export interface Adding {
  /** Without it nothing is exemplified. */
  locate?: Locate | undefined;
  mostSeries?: number | undefined;
}

/** Changes `state`, which the caller owns. */
export function addTo(
  state: MetricState,
  resource: Plain,
  increments: readonly Increment[],
  nowMs: number,
  { locate, mostSeries = MOST_SERIES }: Adding = {},
): void {
  if (increments.length === 0) return;
  const identity = metricResource(resource);
  const resourceKey = JSON.stringify(identity);
  state.resources[resourceKey] ??= { attributes: identity, series: {} };
  const all = state.resources[resourceKey].series;
  const census = censuses.get(all) ?? censusOf(Object.values(all));
  censuses.set(all, census);
  const places = new Map<Series, { place: Place; value: number }>();
  const over: Increment[] = [];
  const add = (increment: Increment, bounds = boundsOf(increment.metric)): void => {
    const { metric, value, place } = increment;
    let { attributes } = increment;
    let key = seriesKey(increment);
    if (all[key] === undefined) {
      const within = bounded(census, metric, attributes, mostSeries);
      over.push(...within.over.map(reason => one('pipelineOverflow', { [ours.pipelineReason]: reason })));
      if (within.attributes !== attributes) {
        attributes = within.attributes;
        key = seriesKey({ metric, attributes });
      }
      if (all[key] === undefined) admit(census, metric, attributes);
    }
    const series = all[key] ?? {
      metric,
      attributes,
      startMs: nowMs,
      begun: false,
      now: zero(bounds),
      sent: zero(bounds),
    };
    all[key] = series;
    addValue(series.now, value, bounds, (metrics[metric] as MetricName).fractional);
    if (locate === undefined || place === undefined) return;
    const known = places.get(series);
    // The highest measurement tells most; of a counter the newest.
    if (bounds === undefined || known === undefined || value > known.value) places.set(series, { place, value });
  };
  for (const increment of increments) add(increment);
  for (const increment of over) add(increment);
  for (const [series, { place, value }] of places) exemplify(series, place, value, locate);
  state.version += 1;
}

/** Of the series of a resource, for as long as they live. */
const censuses = new WeakMap<object, Census>();

function addValue(
  now: Sum,
  value: number,
  bounds: readonly number[] | undefined,
  isFractional: boolean | undefined,
): void {
  now.sum = isFractional ? dollars(now.sum + value) : now.sum + value;
  now.count += 1;
  if (bounds === undefined || now.buckets === undefined) return;
  const at = bounds.findIndex(bound => value <= bound);
  const bucket = at < 0 ? bounds.length : at;
  now.buckets[bucket] = (now.buckets[bucket] ?? 0) + 1;
}

/** One for each series, until the destination has it. */
function exemplify(series: Series, place: Place, value: number, locate: Locate | undefined): void {
  const { exemplar } = series;
  if (exemplar !== undefined && boundsOf(series.metric) !== undefined && exemplar.value > value) return;
  const ids = locate?.(place);
  if (ids !== undefined) series.exemplar = { ms: place.ms, value, ...ids };
}

/**
 * What is counted elsewhere, brought to what is said there: counters never down, levels either way. A
 * level above nothing is always news, since back ends take what is not repeated for gone.
 */
export function raiseTo(state: MetricState, resource: Plain, totals: readonly Increment[], nowMs: number): void {
  const series = seriesIn(state, resource);
  const missing = totals.flatMap(total => {
    const value = total.value - (series[seriesKey(total)]?.now.sum ?? 0);
    const isNews = isLevel(total.metric) ? value !== 0 || total.value > 0 : value > 0;
    return isNews ? [{ ...total, value }] : [];
  });
  addTo(state, resource, missing, nowMs);
}

/** A histogram that is kept elsewhere, and only grows there. */
export function histogramTo(
  state: MetricState,
  resource: Plain,
  series: Pick<Increment, 'metric' | 'attributes'>,
  total: Sum,
  nowMs: number,
): void {
  const key = seriesKey(series);
  if (total.count <= (seriesIn(state, resource)[key]?.now.count ?? 0)) return;
  addTo(state, resource, [{ ...series, value: 0 }], nowMs);
  const known = seriesIn(state, resource)[key];
  if (known !== undefined) known.now = structuredClone(total);
}

/** One more measurement of a histogram that is kept elsewhere. */
export function measuredOnce(metric: MetricId, total: Sum | undefined, value: number): Sum {
  const bounds = boundsOf(metric);
  const now = total ?? zero(bounds);
  addValue(now, value, bounds, undefined);
  return now;
}

const seriesIn = (state: MetricState, resource: Plain): { readonly [key: string]: Series } =>
  state.resources[JSON.stringify(metricResource(resource))]?.series ?? {};

/** What is told of the pipeline is read off the books, which every destination hears of by itself. */
const fromBooks: readonly MetricId[] = [
  'pipelineDropped',
  'pipelineRejected',
  'pipelineQuarantined',
  'pipelineSpool',
  'pipelineExport',
];

const isFromBooks = ({ metric, attributes }: Pick<Series, 'metric' | 'attributes'>): boolean =>
  fromBooks.includes(metric) || (attributes[ours.pipelineResult] ?? 'accepted') !== 'accepted';

/** Adds to `to` what `from` has and its destination has not accepted. The caller owns both. */
export function handOver(from: MetricState, to: MetricState, nowMs: number): void {
  for (const [resource, { attributes, series }] of Object.entries(from.resources)) {
    to.resources[resource] ??= { attributes, series: {} };
    const theirs = to.resources[resource].series;
    for (const [key, each] of Object.entries(series)) {
      const left = difference(each.now, each.sent);
      each.sent = structuredClone(each.now);
      if (left.count === 0 || isFromBooks(each)) continue;
      const none = zero(boundsOf(each.metric));
      theirs[key] ??= { ...each, startMs: nowMs, begun: false, now: none, sent: structuredClone(none) };
      const { now } = theirs[key];
      now.sum += left.sum;
      now.count += left.count;
      if (now.buckets) now.buckets = now.buckets.map((count, i) => count + (left.buckets?.[i] ?? 0));
    }
  }
  from.accepted = from.version;
  to.version += 1;
}

function seriesKey({ metric, attributes }: Pick<Increment, 'metric' | 'attributes'>): string {
  let said: string = metric;
  for (const name in attributes) said += `\0${name}\0${attributes[name]}`;
  const known = seriesKeys.get(said);
  if (known !== undefined) return known;
  const key = `${metric} ${JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
  if (seriesKeys.size >= MOST_SERIES) seriesKeys.clear();
  seriesKeys.set(said, key);
  return key;
}

/** The same few series are counted again and again: sorting their attributes each time costs more than counting. */
const seriesKeys = new Map<string, string>();

const isLevel = (metric: MetricId): boolean => (metrics[metric] as MetricName).isLevel ?? false;

const boundsOf = (metric: MetricId): readonly number[] | undefined => (metrics[metric] as MetricName).bounds;

const zero = (bounds: readonly number[] | undefined): Sum =>
  bounds ? { sum: 0, count: 0, buckets: Array.from({ length: bounds.length + 1 }, () => 0) } : { sum: 0, count: 0 };

/** The shortest range that people look at: a point from before may lie outside of it. */
const SILENCE_MS = 60_000;

export interface EncodedMetrics {
  /** In this order: what stood before, where nobody would know it any more, then what stands now. */
  bodies: { items: number; bytes: Uint8Array }[];
  /** The state once the destination has accepted all bodies. */
  settled: MetricState;
}

/** Nothing to send: undefined. */
export function encodeMetrics(
  state: MetricState,
  nowMs: number,
  temporality: 'cumulative' | 'delta',
): EncodedMetrics | undefined {
  if (state.accepted >= state.version) return undefined;
  const settled: MetricState = structuredClone(state);
  const all = Object.values(settled.resources).flatMap(resource => Object.values(resource.series));
  const newest = all.reduce(
    (latest, series) => (series.begun ? latest : Math.max(latest, series.startMs)),
    state.lastMs,
  );
  const timeMs = Math.max(nowMs, newest + 1);
  const isAfterSilence = timeMs - state.lastMs > SILENCE_MS;
  const bodies: EncodedMetrics['bodies'] = [];
  if (temporality === 'cumulative') {
    const before = encode(
      settled,
      // A level has been what it is: it did not begin at nothing.
      ({ metric, begun, now, sent }) => !isLevel(metric) && (!begun || (isAfterSilence && now.count !== sent.count)),
      series => point(series, series.sent, series.startMs, series.begun ? timeMs - 1 : series.startMs),
    );
    if (before) bodies.push(before);
    const values = encode(
      settled,
      () => true,
      series => exemplified(series, point(series, series.now, series.startMs, timeMs)),
    );
    if (values) bodies.push(values);
  } else {
    const changed = (series: Series): boolean => series.now.count !== series.sent.count;
    const values = encode(settled, changed, series =>
      isLevel(series.metric)
        ? point(series, series.now, series.startMs, timeMs)
        : exemplified(
            series,
            point(series, difference(series.now, series.sent), Math.max(series.startMs, state.lastMs), timeMs),
          ),
    );
    if (values) bodies.push(values);
  }
  for (const series of all) {
    series.begun = true;
    series.sent = structuredClone(series.now);
  }
  settled.accepted = settled.version;
  settled.lastMs = timeMs;
  return { bodies, settled };

  function encode(
    from: MetricState,
    fits: (series: Series) => boolean,
    pointOf: (series: Series) => Point,
  ): { items: number; bytes: Uint8Array } | undefined {
    const resources: ResourceMetrics[] = [];
    let items = 0;
    for (const { attributes, series } of Object.values(from.resources)) {
      const byMetric = new Map<MetricId, Point[]>();
      for (const each of Object.values(series)) {
        if (!fits(each)) continue;
        const points = byMetric.get(each.metric) ?? [];
        points.push(pointOf(each));
        byMetric.set(each.metric, points);
        items += 1;
      }
      if (byMetric.size === 0) continue;
      resources.push({
        resource: resourceOf(attributes),
        scopeMetrics: [
          {
            scope: instrumentationScope,
            metrics: [...byMetric].map(([metric, points]) => dataOf(metric, points, temporality)),
          },
        ],
      });
    }
    if (items === 0) return undefined;
    return { items, bytes: writeMetrics(resources) };
  }
}

/** What was accepted, noted in a state that may have grown since it was encoded. */
export function settleMetrics(current: MetricState, settled: MetricState): MetricState {
  const noted = structuredClone(current);
  for (const [resource, { series }] of Object.entries(settled.resources)) {
    for (const [key, { sent, exemplar }] of Object.entries(series)) {
      const known = noted.resources[resource]?.series[key];
      if (known === undefined) continue;
      known.begun = true;
      known.sent = structuredClone(sent);
      if (known.exemplar?.spanId === exemplar?.spanId && known.exemplar?.ms === exemplar?.ms) delete known.exemplar;
    }
  }
  noted.accepted = settled.accepted;
  noted.lastMs = settled.lastMs;
  return noted;
}

interface Point {
  startTime: [number, number];
  endTime: [number, number];
  attributes: Plain;
  sum: Sum;
  exemplars?: Exemplar[];
}

function exemplified({ exemplar }: Series, point: Point): Point {
  if (exemplar === undefined) return point;
  const { ms, ...rest } = exemplar;
  return { ...point, exemplars: [{ time: hrTime(ms), ...rest }] };
}

const point = (series: Series, sum: Sum, startMs: number, timeMs: number): Point => ({
  startTime: hrTime(startMs),
  endTime: hrTime(timeMs),
  attributes: series.attributes,
  sum,
});

const difference = (now: Sum, sent: Sum): Sum => ({
  sum: now.sum - sent.sum,
  count: now.count - sent.count,
  ...(now.buckets ? { buckets: now.buckets.map((count, i) => count - (sent.buckets?.[i] ?? 0)) } : {}),
});

function dataOf(metric: MetricId, points: Point[], temporality: 'cumulative' | 'delta'): MetricData {
  const { name, unit, description } = metrics[metric];
  const bounds = boundsOf(metric);
  // A level is cumulative under every preference of the standard.
  const aggregationTemporality =
    temporality === 'delta' && !isLevel(metric) ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
  if (bounds === undefined) {
    return {
      descriptor: {
        name,
        unit,
        description,
        valueType: (metrics[metric] as MetricName).fractional ? ValueType.DOUBLE : ValueType.INT,
      },
      aggregationTemporality,
      dataPointType: DataPointType.SUM,
      isMonotonic: !isLevel(metric),
      dataPoints: points.map(({ sum, ...rest }) => ({ ...rest, value: sum.sum })),
    };
  }
  return {
    descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
    aggregationTemporality,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: points.map(({ sum, ...rest }) => ({
      ...rest,
      value: { buckets: { boundaries: [...bounds], counts: sum.buckets ?? [] }, sum: sum.sum, count: sum.count },
    })),
  };
}
