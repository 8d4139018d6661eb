/** What falls out of the fold: spans and records as values, named by keys. Ids, names and attributes are telemetry's. */
import type { Actor, DecisionSource, Event, Fields, Outcome, RiskLevel, TimeSource } from '../event/event.ts';
import type { Json } from '../lib/fitted.ts';

/** What makes a span this one: its kind and the parts that its id is computed from. */
export interface SpanKey {
  readonly kind: 'session' | 'turn' | 'plan' | 'subagent' | 'action' | 'chat';
  readonly session: string;
  readonly parts: readonly string[];
}

/** A trace is a segment of a root session, or, where each turn is to be one, a turn of it. */
export interface TraceKey {
  readonly agent: string;
  readonly session: string;
  readonly segment: number;
  readonly turn?: string | undefined;
}

export interface Link {
  trace: TraceKey;
  span: SpanKey;
  type:
    | 'previous_session'
    | 'previous_segment'
    | 'previous_turn'
    | 'continued_turn'
    | 'continued_subagent'
    | 'launched_by';
}

export interface FinishedDecision {
  outcome: Outcome;
  source: DecisionSource;
  basis: 'observed' | 'inferred';
}

export type LoopState = 'detected' | 'aborted';
export type BudgetState = 'warning' | 'exceeded';

/** Of what was said, as far as it was asked for, what a span has room for. */
export interface SpanContent {
  prompt?: string | undefined;
  response?: string | undefined;
  input?: Json | undefined;
  output?: string | undefined;
  path?: string | undefined;
  command?: string | undefined;
  /** Why it was decided so. */
  reason?: string | undefined;
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
  /** Of the event that opened it: who set it going, and what of its vendor's metadata was asked for. */
  actor?: Actor | undefined;
  metadata?: Fields | undefined;
  /** The agent's, as far as it was told when the span left. */
  version?: string | undefined;
  risk: { score?: number | undefined; level?: RiskLevel | undefined; factors?: string[] | undefined } | undefined;
  /** The id of the event that closed it. */
  closedBy: string | undefined;
}

/** What the responses within one span used; a class that no response told is absent. */
export interface Sums {
  calls: number;
  input?: number | undefined;
  output?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  reasoning?: number | undefined;
  /** What the agent itself says it cost. */
  costUsd?: number | undefined;
  /** What they cost by lists of prices, and the tokens of those that no list has a price for. */
  pricedUsd?: number | undefined;
  unpricedTokens?: number | undefined;
}

/** Where the work is done, without credentials; what is not known is absent. */
export interface Repository {
  url?: string | undefined;
  name?: string | undefined;
  owner?: string | undefined;
  provider?: string | undefined;
  branch?: string | undefined;
  revision?: string | undefined;
}

export const repositoryParts = ['url', 'name', 'owner', 'provider', 'branch', 'revision'] as const;

export interface Stated {
  usage: Sums;
  model: string | undefined;
  provider: string | undefined;
}

export interface SessionSpan extends Common {
  kind: 'session';
  usage: Sums;
  /** False when the wait for the transcript was over before it was read. */
  complete: boolean;
  /** What the end of the session stated of all of it: `usage` is this when nothing told of its responses. */
  stated?: Stated | undefined;
  startReason: string | undefined;
  /** The session that it follows. */
  previous?: string | undefined;
  endReason: string;
  repository?: Repository | undefined;
  /** Made while it ran, oldest first. */
  commits?: string[] | undefined;
  turns: number;
  actions: number;
  subagents: number;
  denied: number;
  failed: number;
  loops?: number | undefined;
  budget?: BudgetState | undefined;
}

export interface TurnSpan extends Common {
  kind: 'turn';
  usage: Sums;
  complete: boolean;
  outcome: 'completed' | 'failed' | 'denied' | 'interrupted' | 'continued' | 'unfinished';
  turn: string;
  ordinal: number;
  /** Its place in its segment, from 1. */
  number?: number | undefined;
  prompts: number;
  promptLength: number | undefined;
  content?: SpanContent | undefined;
  actions: number;
  denied: number;
  failed: number;
  waitMs: number;
  /** Actions that were tried again. */
  retries?: number | undefined;
  loop?: LoopState | undefined;
  budget?: BudgetState | undefined;
  decision: FinishedDecision | undefined;
}

export interface PlanSpan extends Common {
  kind: 'plan';
  subagent: string | undefined;
  agent: string | undefined;
  type: string | undefined;
  steps: number | undefined;
}

export interface SubagentSpan extends Common {
  kind: 'subagent';
  usage: Sums;
  complete: boolean;
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
  /** When a person was asked, and for how long. */
  askedMs?: number | undefined;
  waitMs: number | undefined;
  attempt?: number | undefined;
  exitCode: number | undefined;
  executable: string | undefined;
  skill?: string | undefined;
  content?: SpanContent | undefined;
  /** The record of Agent Trace that tells which lines came of it. */
  traceRecord?: string | undefined;
}

/** One response of a model. */
export interface ChatSpan extends Common {
  kind: 'chat';
  subagent: string | undefined;
  agent: string | undefined;
  model: string | undefined;
  provider: string | undefined;
  response: string | undefined;
  request: string | undefined;
  finish: string | undefined;
  input: number | undefined;
  output: number | undefined;
  cacheRead: number | undefined;
  cacheWrite: number | undefined;
  cacheWrite1h: number | undefined;
  reasoning: number | undefined;
  costUsd: number | undefined;
  pricedUsd: number | undefined;
  /** The list that says so. */
  prices: string | undefined;
  unpricedTokens: number | undefined;
  retries: number | undefined;
  /** The context was compacted before it. */
  compacted?: true | undefined;
  /** No single response, but all of a turn or of a session's run. */
  sum: 'turn' | 'session' | undefined;
}

export type FinishedSpan = SessionSpan | TurnSpan | PlanSpan | SubagentSpan | ActionSpan | ChatSpan;

/** An event with the span it belongs to. */
export interface FinishedRecord {
  event: Event;
  /** What failed was an exception, which the conventions have a record of their own for. */
  as?: 'exception' | undefined;
  trace: TraceKey;
  span: SpanKey;
}

export interface Finished {
  spans: FinishedSpan[];
  records: FinishedRecord[];
  /** What was odd, by kind, for the books. */
  oddities: { [kind: string]: number };
}
