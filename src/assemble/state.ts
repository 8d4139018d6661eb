/** What an open session remembers between rounds. JSON, bounded, with a version: it lies in the state folder. */

import type { Actor, Fields, RiskLevel, TimeSource } from '../event/event.ts';
import { isFields } from '../lib/read.ts';
import type {
  BudgetState,
  FinishedDecision,
  FinishedSpan,
  Link,
  LoopState,
  Repository,
  SpanContent,
  SpanKey,
  Sums,
  TraceKey,
} from './finished.ts';

export interface FoldState {
  v: 1;
  agent: string;
  session: string;
  /** Each turn is a trace, where that is asked for. */
  shape?: 'turn' | undefined;
  settles: {
    action: 'hook' | 'transcript';
    turn: 'hook' | 'transcript';
    subagent: 'hook' | 'transcript';
    session: 'hook' | 'transcript';
  };
  /** The segment that runs, or ran last. */
  segment: Segment | undefined;
  endedMs: number | undefined;
  /** The turn that the main agent works on. */
  turn: OpenTurn | undefined;
  /** Turns that have left or wait, newest last: which segment, how often continued. */
  turns: KnownTurn[];
  actions: { [call: string]: OpenAction };
  subagents: { [id: string]: OpenSubagent };
  /** How often a subagent has ended, when it last did, and in which trace, of those known. */
  subagentRuns: [id: string, runs: number, endMs?: number, trace?: TraceKey][];
  /** Calls whose span has left, newest last. */
  leftCalls: string[];
  /** Launching calls by the subagent they started, as far as known, newest last. */
  launches: (Launch & { subagent: string })[];
  /** Calls that launched something nobody told of, and are over. */
  endedLaunches?: (Launch & { agent: string | undefined; startMs: number; endMs: number })[];
  /** Closed, but not settled: waiting for the transcript or for evidence. */
  held: Held[];
  /** By whose they are: a session, or a subagent. */
  plans?: { [session: string]: OpenPlan };
  /** Requests to models that were not answered yet: when the last began, and how many there are. */
  requests?: { [session: string]: OpenRequests };
  /** The last compaction, and whether a response after it has said so. */
  compactions?: { [session: string]: { ms: number; phase: string | undefined; isTold: boolean } };
  repository?: Repository | undefined;
  lastMs: number;
  /** Whose clock that is, where it is not that of arrival; below likewise. */
  lastTime?: TimeSource | undefined;
}

/** Of the event that opened something. */
export interface Origin {
  mode?: string | undefined;
  actor?: Actor | undefined;
  metadata?: Fields | undefined;
}

export interface Segment extends Origin {
  number: number;
  startMs: number;
  time?: TimeSource | undefined;
  spans: number;
  /** About what its spans take on the wire. */
  bytes?: number | undefined;
  startReason: string | undefined;
  previous?: string | undefined;
  repository?: Repository | undefined;
  commits?: string[] | undefined;
  links: Link[];
  turns: number;
  actions: number;
  subagents: number;
  denied: number;
  failed: number;
  usage: Sums;
  loops?: number;
  budget?: BudgetState | undefined;
  risk: OpenRisk | undefined;
  /** The agent's version, as it was told last. */
  version?: string | undefined;
}

export interface OpenRisk {
  score?: number | undefined;
  level?: RiskLevel | undefined;
  factors?: string[] | undefined;
}

export interface KnownTurn {
  key: string;
  ordinal: number;
  segment: number;
  startMs?: number;
  /** Undefined while it runs. */
  endMs: number | undefined;
}

export interface OpenTurn extends Origin {
  key: string;
  ordinal: number;
  startMs: number;
  time?: TimeSource | undefined;
  prompts: number;
  promptLength: number | undefined;
  content?: SpanContent | undefined;
  actions: number;
  denied: number;
  failed: number;
  usage: Sums;
  waitMs: number;
  retries?: number;
  loop?: LoopState | undefined;
  budget?: BudgetState | undefined;
  /** An error of the agent within it. */
  errorType?: string | undefined;
  risk: OpenRisk | undefined;
  links: Link[];
}

export interface OpenRequests {
  ms: number;
  time: TimeSource;
  count: number;
  isMixed?: boolean | undefined;
  /** The oldest of them, oldest first. */
  asked?: AskedModel[] | undefined;
}

export interface AskedModel extends Origin {
  id: string;
  ms: number;
  model?: string | undefined;
  provider?: string | undefined;
  agent?: string | undefined;
  trace: TraceKey;
  parent: SpanKey;
}

export interface OpenPlan extends Origin {
  id: string;
  startMs: number;
  time: TimeSource;
  agent: string | undefined;
  type: string | undefined;
  steps: number | undefined;
  trace: TraceKey;
  parent: SpanKey;
}

export interface OpenAction extends Origin {
  call: string | undefined;
  subagent: string | undefined;
  agent: string | undefined;
  turn: string | undefined;
  name: string;
  tool: string;
  mcpServer: string | undefined;
  executable: string | undefined;
  skill?: string | undefined;
  content?: SpanContent | undefined;
  beforeMs: number;
  /** Where that time comes from. */
  time: TimeSource;
  askedMs: number | undefined;
  /** Somebody answered, where that is told for itself. */
  verdictMs?: number | undefined;
  /** Which attempt at the same it is. */
  attempt?: number | undefined;
  decision: FinishedDecision | undefined;
  risk: OpenRisk | undefined;
  launches: { id?: string | undefined; agent?: string | undefined } | undefined;
  /** A subagent was found that it launched. */
  launched?: true;
  /** Known to be over at this time, without word of its outcome. */
  overMs: number | undefined;
  /** An error of the agent within it. */
  errorType?: string | undefined;
  traceRecord?: string | undefined;
  trace?: TraceKey | undefined;
  parent: SpanKey;
}

/** The call that launched a subagent: whose it is, and in which segment and trace its span is. */
export interface Launch {
  call: string;
  session: string;
  segment: number;
  trace?: TraceKey | undefined;
}

export interface OpenSubagent extends Origin {
  id: string;
  agent: string | undefined;
  ordinal: number;
  startMs: number;
  time?: TimeSource | undefined;
  /** Its last sign of life. */
  lastMs?: number | undefined;
  actions: number;
  usage: Sums;
  launch: Launch | undefined;
  /** The launching call was named by the agent, not concluded. */
  sure: boolean;
  trace?: TraceKey | undefined;
  /** Where it hangs when no launching call is known. */
  fallback: SpanKey;
  links: Link[];
}

export interface Held {
  /** How a Settled event names it. */
  of: string;
  span: FinishedSpan;
  /** Waits for the transcript (or for word that there is none). */
  unread: boolean;
  /** Waits for the action that launched it to name it. */
  unlinked: boolean;
}

export function openFold(
  agent: string,
  session: string,
  settles: FoldState['settles'],
  shape?: FoldState['shape'],
): FoldState {
  return {
    v: 1,
    agent,
    session,
    ...(shape === undefined ? {} : { shape }),
    settles,
    segment: undefined,
    endedMs: undefined,
    turn: undefined,
    turns: [],
    actions: {},
    subagents: {},
    subagentRuns: [],
    leftCalls: [],
    launches: [],
    held: [],
    lastMs: 0,
  };
}

const SHAPE = Object.entries(openFold('', '', { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' }));

/** Does what was read back from a disk have every part that the fold reaches into? A session without goes on anew. */
export const isFold = (value: unknown): value is FoldState =>
  isFields(value) &&
  SHAPE.every(([name, part]) => {
    const found = value[name];
    if (Array.isArray(part)) return Array.isArray(found);
    return !isFields(part) || isFields(found);
  });
