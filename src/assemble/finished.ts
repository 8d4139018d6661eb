/** The output of the fold: spans and records as values with keys. telemetry/ gives them ids, names and attributes. */
import type {
  Actor,
  DataOf,
  DecisionFacts,
  Event,
  Fields,
  OptionFacts,
  Outcome,
  RateLimit,
  RiskLevel,
  TimeSource,
} from '../event/event.ts';
import type { Json } from '../lib/fitted.ts';
import type { Compacting } from './state.ts';

/** The kind of a span, and the parts that its id is computed from. */
export interface SpanKey {
  readonly kind: 'session' | 'turn' | 'plan' | 'subagent' | 'action' | 'chat';
  readonly session: string;
  readonly parts: readonly string[];
}

/** A trace is a segment of a root session or, with `trace.shape: turn`, one turn. */
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

export interface FinishedDecision extends DecisionFacts {
  outcome: Outcome;
}

export interface ContextUse {
  used?: number | undefined;
  limit?: number | undefined;
  /** The used share, where 1 is full, if the agent states it without used and limit. */
  share?: number | undefined;
}

/** The state of a running session, as its agent stated it last. */
export interface SessionStatus {
  costUsd?: number | undefined;
  limits?: RateLimit[] | undefined;
  model?: string | undefined;
  /** The used share of the model's window. */
  context?: number | undefined;
}

export type LoopState = 'detected' | 'aborted';
export type BudgetState = 'warning' | 'exceeded';

/** Content that the configuration asks for, cut to the size of an attribute. */
export interface SpanContent {
  prompt?: string | undefined;
  response?: string | undefined;
  input?: Json | undefined;
  output?: string | undefined;
  path?: string | undefined;
  command?: string | undefined;
  /** The reason of the decision. */
  reason?: string | undefined;
}

interface Common {
  trace: TraceKey;
  key: SpanKey;
  parent: SpanKey | undefined;
  startMs: number;
  endMs: number;
  /** The source of the duration. `clamped`: the end was before the start. */
  duration: TimeSource | 'events' | 'none';
  clamped: boolean;
  links: Link[];
  errorType: string | undefined;
  mode: string | undefined;
  /** Actor and vendor metadata of the event that opened the span. */
  actor?: Actor | undefined;
  metadata?: Fields | undefined;
  /** The agent's version, as far as it was known when the span was emitted. */
  version?: string | undefined;
  risk: { score?: number | undefined; level?: RiskLevel | undefined; factors?: string[] | undefined } | undefined;
  /** The id of the closing event. */
  closedBy: string | undefined;
}

/** The usage of the responses within a span. A class of tokens is absent if no response states it. */
export interface Sums {
  calls: number;
  input?: number | undefined;
  output?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  reasoning?: number | undefined;
  /** Cost as the agent states it. */
  costUsd?: number | undefined;
  /** Cost by price lists, and the tokens without a price. */
  pricedUsd?: number | undefined;
  unpricedTokens?: number | undefined;
}

/** The repository of the session, without credentials. Unknown parts are absent. */
export interface Repository {
  url?: string | undefined;
  name?: string | undefined;
  owner?: string | undefined;
  provider?: string | undefined;
  branch?: string | undefined;
  revision?: string | undefined;
  /** A sender stated it. */
  isStated?: true | undefined;
}

export const repositoryParts = ['url', 'name', 'owner', 'provider', 'branch', 'revision'] as const;

export interface Stated {
  usage: Sums;
  /** The most that it can have cost, and the price list. */
  upperUsd?: number | undefined;
  prices?: string | undefined;
  model: string | undefined;
  provider: string | undefined;
}

export interface SessionSpan extends Common {
  kind: 'session';
  usage: Sums;
  /** False if the transcript was not read to its end in time. */
  complete: boolean;
  /** Usage that the end of the session states. It is used when no response states any. */
  stated?: Stated | undefined;
  /** Sums over the whole session that its end states without parts. */
  said?: DataOf<'Session.End'>['usage'] | undefined;
  startReason: string | undefined;
  /** The previous session. */
  previous?: string | undefined;
  /** Undefined: the agent states no reason, or one that is not known. */
  endReason: string | undefined;
  repository?: Repository | undefined;
  /** Commits made during the session, oldest first. */
  commits?: string[] | undefined;
  turns: number;
  actions: number;
  subagents: number;
  denied: number;
  failed: number;
  loops?: number | undefined;
  budget?: BudgetState | undefined;
  context?: ContextUse | undefined;
  status?: SessionStatus | undefined;
  agent?: string | undefined;
  compactions?: Compacting[] | undefined;
  isContinued?: true | undefined;
  /** The cost of this run by model, as the agent states it. */
  statedCosts?: { model: string; usd: number }[] | undefined;
}

export interface TurnSpan extends Common {
  kind: 'turn';
  usage: Sums;
  complete: boolean;
  /** Undefined: the sender has no event for the end of a turn. */
  outcome: 'completed' | 'failed' | 'denied' | 'interrupted' | 'continued' | 'unfinished' | undefined;
  turn: string;
  ordinal: number;
  /** The number of the turn in its segment, from 1. */
  number?: number | undefined;
  prompts: number;
  promptLength: number | undefined;
  isFollowup?: boolean | undefined;
  content?: SpanContent | undefined;
  actions: number;
  denied: number;
  failed: number;
  waitMs: number;
  /** Number of retried actions. */
  retries?: number | undefined;
  loop?: LoopState | undefined;
  budget?: BudgetState | undefined;
  context?: ContextUse | undefined;
  agent?: string | undefined;
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
  /** How deep it is nested, from 1. */
  depth?: number | undefined;
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
  /** When a person was asked, and the time until the answer. */
  askedMs?: number | undefined;
  waitMs: number | undefined;
  attempt?: number | undefined;
  exitCode: number | undefined;
  executable: string | undefined;
  skill?: string | undefined;
  options?: OptionFacts | undefined;
  content?: SpanContent | undefined;
  /** The Agent Trace record with the lines that this action wrote. */
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
  /** The price list. */
  prices: string | undefined;
  unpricedTokens: number | undefined;
  retries: number | undefined;
  /** This is the first response after a compaction. */
  compacted?: true | undefined;
  /** A sum over a turn or a session instead of one response. */
  sum: 'turn' | 'session' | undefined;
  /**
   * The transcript has no row for this response; its usage is computed from the totals of the run. `compaction`: the
   * only compaction of the run used it. `several`: the usage cannot be divided, so it is counted and has no span.
   */
  untold?: 'compaction' | 'several' | undefined;
}

export type FinishedSpan = SessionSpan | TurnSpan | PlanSpan | SubagentSpan | ActionSpan | ChatSpan;

/** An event with its span. */
export interface FinishedRecord {
  event: Event;
  /** The record of an exception, which the semantic conventions define beside the event's own record. */
  as?: 'exception' | undefined;
  trace: TraceKey;
  span: SpanKey;
  /** The repository of the segment in which the event happened. */
  repository?: Repository | undefined;
  /** The depth of the subagent that begins. */
  depth?: number | undefined;
  /** How often the session had an error of this class before. */
  recurrence?: number | undefined;
}

export interface Finished {
  spans: FinishedSpan[];
  records: FinishedRecord[];
  /** Counts of oddities, by kind. */
  oddities: { [kind: string]: number };
}
