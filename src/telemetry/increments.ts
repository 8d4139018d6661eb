import type {
  ActionSpan,
  FinishedRecord,
  FinishedSpan,
  Repository,
  SpanKey,
  SubagentSpan,
  TraceKey,
} from '../assemble/finished.ts';
import { type Event, factsOf } from '../event/event.ts';
import { msOf } from '../lib/timestamp.ts';
import { fromEvent } from './event-increments.ts';
import { development, type MetricId, ours } from './names.ts';
import type { Plain } from './resource.ts';
import { fromSpan } from './span-increments.ts';

export interface Increment {
  metric: MetricId;
  attributes: Plain;
  value: number;
  place?: Place | undefined;
  /** The time of a gauge's measurement. */
  measuredMs?: number | undefined;
}

/** The span and time of a count. */
export interface Place {
  trace: TraceKey;
  span: SpanKey;
  ms: number;
}

/** Returns true if a name may appear on metrics unchanged. */
export type Known = (tool: string) => boolean;

/** Open attributes that `metrics.include` can add. */
type Included =
  | typeof development.sessionId
  | typeof development.toolName
  | typeof development.agentName
  | typeof ours.mcpServer
  | typeof ours.agentMode
  | typeof development.repositoryName
  | typeof development.repositoryBranch
  | typeof development.userId;

/** Additions to the closed sets, and the version of the names. */
export interface Widening {
  provider?: string | undefined;
  providerOf?: ((model: string) => string | undefined) | undefined;
  semconv?: 'v1.36' | 'both' | undefined;
  include?: readonly Included[] | undefined;
  session?: string | undefined;
  repository?: Repository | undefined;
  /** The user in the configured form, a hash included. */
  user?: string | undefined;
  /** Returns true if a kind of subagent may appear on metrics unchanged. */
  knownSubagent?: Known | undefined;
  /** Records with the places of the events. */
  records?: readonly FinishedRecord[] | undefined;
}

export function incrementsOf(
  events: readonly Event[],
  spans: readonly FinishedSpan[],
  agent: string,
  known: Known,
  widening: Widening = {},
): Increment[] {
  const { include = [], records = [] } = widening;
  const all: Increment[] = [];
  const contexts = new Map(records.map(record => [record.event, record]));
  const wide = new Set(include);
  const add = (increments: readonly Increment[], place: Place | undefined, about: About): void => {
    for (const increment of increments) {
      // This counter counts every event, so an exemplar would not help.
      if (increment.metric !== 'pipelineEvents') {
        increment.place = place;
        circumstances(increment, about);
      }
      if (wide.size > 0 || widening.repository?.isStated)
        increment.attributes = widened(increment.attributes, wide, widening, about);
      all.push(increment);
    }
  };
  for (const event of events) {
    const record = contexts.get(event);
    const place = record && { trace: record.trace, span: record.span, ms: msOf(event.timestamp) };
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

/** Histograms per tool. The agent mode on them would exceed the limit of series. */
const byTool: ReadonlySet<MetricId> = new Set(['toolDuration', 'mcpDuration', 'riskScore']);

/** Counters of actions by users, agents and systems. All other counters concern the agent only. */
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

/** Adds mode and actor to a new increment. Changes it. */
function circumstances({ metric, attributes }: Increment, { mode, actor }: About): void {
  if (byTool.has(metric)) return;
  const writable = attributes as Record<string, string>;
  if (mode !== undefined) writable[ours.agentMode] = mode;
  if (actor !== undefined && byActor.has(metric)) writable[ours.actorType] = actor;
}

const subagentIn = (span: SubagentSpan | ActionSpan): string | undefined =>
  span.kind === 'action' && span.subagent === undefined ? undefined : span.agent;

/** Adds the names that `metrics.include` asks for. */
function widened(
  attributes: Plain,
  include: ReadonlySet<Included>,
  { session, repository, user }: Widening,
  { tool, server, agent, mode }: About,
): Plain {
  const more: Record<string, string> = {};
  const has = (name: Included, on: string): boolean => include.has(name) && attributes[on] !== undefined;
  const ofSession: readonly (readonly [Included, string | undefined])[] = [
    [development.sessionId, session],
    [development.repositoryName, repository?.name],
    [development.repositoryBranch, repository?.branch],
    [development.userId, user],
  ];
  for (const [name, value] of ofSession) {
    const isStated =
      repository?.isStated && (name === development.repositoryName || name === development.repositoryBranch);
    if (value !== undefined && (isStated || include.has(name))) more[name] = value;
  }
  if (include.has(ours.agentMode) && mode !== undefined) more[ours.agentMode] = mode;
  if (tool !== undefined && has(development.toolName, development.toolName)) more[development.toolName] = tool;
  if (agent !== undefined && has(development.agentName, development.agentName)) more[development.agentName] = agent;
  if (server !== undefined && has(ours.mcpServer, development.toolName)) more[ours.mcpServer] = server;
  return { ...attributes, ...more };
}

/** An increment of a histogram. Zero is a measurement here. */
export const histogramIncrement = (metric: MetricId, value: number | undefined, attributes: Plain): Increment[] =>
  value === undefined ? [] : [{ metric, attributes, value }];

/** An increment of a counter. Unknown and zero add nothing. */
export const counterIncrement = (metric: MetricId, value: number | undefined, attributes: Plain): Increment[] =>
  value !== undefined && value > 0 ? [{ metric, attributes, value }] : [];

export const one = (metric: MetricId, attributes: Plain): Increment => ({ metric, attributes, value: 1 });
