/** What falls out of the fold: spans and records as values, named by keys. Ids, names and attributes are telemetry's. */
import type { DecisionSource, Event, Outcome, RiskLevel, TimeSource } from '../event/event.ts';

/** What makes a span this one: its kind and the parts that its id is computed from. */
export interface SpanKey {
  readonly kind: 'session' | 'turn' | 'subagent' | 'action';
  readonly session: string;
  readonly parts: readonly string[];
}

/** A trace is a segment of a root session. */
export interface TraceKey {
  readonly agent: string;
  readonly session: string;
  readonly segment: number;
}

export interface Link {
  trace: TraceKey;
  span: SpanKey;
  type: 'previous_segment' | 'continued_turn' | 'continued_subagent' | 'launched_by';
}

export interface FinishedDecision {
  outcome: Outcome;
  source: DecisionSource;
  basis: 'observed' | 'inferred';
}

interface Common {
  trace: TraceKey;
  key: SpanKey;
  parent: SpanKey | undefined;
  startMs: number;
  endMs: number;
  /** Where the length comes from; `clamped` when its ends stood the wrong way round. */
  duration: TimeSource | 'events' | 'none';
  clamped: boolean;
  links: Link[];
  errorType: string | undefined;
  mode: string | undefined;
  risk: { score?: number | undefined; level?: RiskLevel | undefined; factors?: string[] | undefined } | undefined;
  /** The id of the event that closed it. */
  closedBy: string | undefined;
}

export interface SessionSpan extends Common {
  kind: 'session';
  startReason: string | undefined;
  endReason: string;
  turns: number;
  actions: number;
  subagents: number;
  denied: number;
  failed: number;
}

export interface TurnSpan extends Common {
  kind: 'turn';
  outcome: 'completed' | 'failed' | 'denied' | 'unfinished';
  turn: string;
  ordinal: number;
  prompts: number;
  promptLength: number | undefined;
  actions: number;
  denied: number;
  failed: number;
  waitMs: number;
  decision: FinishedDecision | undefined;
}

export interface SubagentSpan extends Common {
  kind: 'subagent';
  id: string;
  agent: string | undefined;
  ordinal: number;
  outcome: 'completed' | 'abandoned';
  actions: number;
  launchedBy: string | undefined;
}

export interface ActionSpan extends Common {
  kind: 'action';
  call: string | undefined;
  subagent: string | undefined;
  agent: string | undefined;
  name: string;
  tool: string;
  mcpServer: string | undefined;
  outcome: 'success' | 'failure' | 'denied' | 'interrupted' | 'abandoned' | 'unknown';
  decision: FinishedDecision | undefined;
  waitMs: number | undefined;
  exitCode: number | undefined;
  executable: string | undefined;
}

export type FinishedSpan = SessionSpan | TurnSpan | SubagentSpan | ActionSpan;

/** An event with the span it belongs to. */
export interface FinishedRecord {
  event: Event;
  trace: TraceKey;
  span: SpanKey;
}

export interface Finished {
  spans: FinishedSpan[];
  records: FinishedRecord[];
  /** What was odd, by kind, for the books. */
  oddities: { [kind: string]: number };
}
