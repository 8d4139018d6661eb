import type {
  ActionSpan,
  FinishedRecord,
  FinishedSpan,
  SpanKey,
  SubagentSpan,
  TraceKey,
} from '../assemble/finished.ts';
import { type Event, factsOf } from '../event/event.ts';
import { fromEvent } from './event-increments.ts';
import { development, type MetricId, ours } from './names.ts';
import type { Plain } from './resource.ts';
import { fromSpan } from './span-increments.ts';

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

/** Here 0 is a measurement as well. */
export const measured = (metric: MetricId, value: number | undefined, attributes: Plain): Increment[] =>
  value === undefined ? [] : [{ metric, attributes, value }];

/** Nothing is added for what is not known, or nothing. */
export const counted = (metric: MetricId, value: number | undefined, attributes: Plain): Increment[] =>
  value !== undefined && value > 0 ? [{ metric, attributes, value }] : [];

export const one = (metric: MetricId, attributes: Plain): Increment => ({ metric, attributes, value: 1 });
