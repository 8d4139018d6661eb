/** The state of an open session between rounds: bounded JSON with a version, stored in the state folder. */

import type { Actor, Fields, OptionFacts, RiskLevel, TimeSource } from '../event/event.ts';
import { isFields } from '../lib/read.ts';
import type {
  BudgetState,
  ContextUse,
  FinishedDecision,
  FinishedSpan,
  Link,
  LoopState,
  Repository,
  SessionStatus,
  SpanContent,
  SpanKey,
  Sums,
  TraceKey,
} from './finished.ts';

export interface FoldState {
  v: 1;
  agent: string;
  session: string;
  /** `turn`: each turn has a separate trace. */
  shape?: 'turn' | undefined;
  settles: {
    action: 'hook' | 'transcript';
    turn: 'hook' | 'transcript';
    subagent: 'hook' | 'transcript';
    session: 'hook' | 'transcript';
  };
  /** The running segment, or the last one. */
  segment: Segment | undefined;
  endedMs: number | undefined;
  /** The running turn of the main agent. */
  turn: OpenTurn | undefined;
  /** Emitted and held turns, newest last, with their segment and their continuation. */
  turns: KnownTurn[];
  actions: { [call: string]: OpenAction };
  subagents: { [id: string]: OpenSubagent };
  /** Known subagents: how often each has ended, when last, and in which trace. */
  subagentRuns: [id: string, runs: number, endMs?: number, trace?: TraceKey][];
  /** Calls whose span was emitted, newest last. */
  leftCalls: string[];
  /** Launching calls by their subagent, as far as known, newest last. */
  launches: (Launch & { subagent: string; agent?: string | undefined })[];
  /** Ended calls that launched a subagent without an event so far. */
  endedLaunches?: (Launch & { agent: string | undefined; startMs: number; endMs: number })[];
  /** Closed spans that wait for the transcript or for a link. */
  held: Held[];
  /** By session or subagent. */
  plans?: { [session: string]: OpenPlan };
  /** Requests to models without a response: the start of the last one, and their number. */
  requests?: { [session: string]: OpenRequests };
  /** The last finished compaction, and whether a response was marked as the first one after it. */
  compactions?: { [session: string]: { ms: number; isTold: boolean } };
  /** Usage of the responses of unsettled segments, by segment and model. */
  spent?: { [segment: string]: { [model: string]: Spent } };
  /** Totals of the program's runs that no segment has used yet, and the last ones that a segment has used. */
  stated?: StatedTotals[] | undefined;
  statedBase?: { [model: string]: Pick<StatedTotals, 'used' | 'costUsd'> };
  repository?: Repository | undefined;
  keeping?: Keeping | undefined;
  lastMs: number;
  /** The source of that time; absent if it is the time of arrival. The same holds for the other times below. */
  lastTime?: TimeSource | undefined;
}

/** The spans above others, of a session that keeps single spans. */
export interface Keeping {
  /** Names of open spans above kept ones. */
  above: string[];
  /** Closed spans above open ones, which are sent if an open one is kept. */
  closed: FinishedSpan[];
}

export interface Spent {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cacheWrite1h: number;
  reasoning: number;
}

/** The usage of all runs of the program so far. */
export interface StatedTotals {
  model: string;
  /** The run that ended with these totals. */
  segment: number;
  used: Spent;
  costUsd: number | undefined;
  /** The numbers include those of another session. */
  isContinued: true | undefined;
}

export interface Compacting {
  startMs: number;
  endMs?: number | undefined;
}

/** Taken from the opening event. */
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
  /** Approximate size of its spans on the wire. */
  bytes?: number | undefined;
  startReason: string | undefined;
  previous?: string | undefined;
  repository?: Repository | undefined;
  commits?: string[] | undefined;
  compactions?: Compacting[];
  /** The session continues another one. */
  isContinued?: true;
  links: Link[];
  turns: number;
  actions: number;
  subagents: number;
  denied: number;
  failed: number;
  usage: Sums;
  loops?: number;
  budget?: BudgetState | undefined;
  /** The last known use of the context. */
  context?: ContextUse | undefined;
  status?: SessionStatus | undefined;
  /** The name of the agent definition, if the sender states it. */
  agent?: string | undefined;
  /** How often each class of error was reported. */
  errors?: { [errorClass: string]: number };
  risk: OpenRisk | undefined;
  /** The last known version of the agent. */
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
  /** Undefined while the turn runs. */
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
  /** An error that the agent reported during it. */
  errorType?: string | undefined;
  /** The last attempt of a model failed, and no event followed. */
  attempt?: { errorType: string; ms: number } | undefined;
  /** The sender has no event for the end of a turn. */
  isEndless?: true | undefined;
  isFollowup?: boolean | undefined;
  context?: ContextUse | undefined;
  agent?: string | undefined;
  risk: OpenRisk | undefined;
  links: Link[];
}

export interface OpenRequests {
  ms: number;
  time: TimeSource;
  count: number;
  isMixed?: boolean | undefined;
  /** The oldest requests, oldest first. */
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
  /** The start of the first subagent that the call launched, as far as it is known. */
  launchedMs?: number | undefined;
  call: string | undefined;
  subagent: string | undefined;
  agent: string | undefined;
  turn: string | undefined;
  name: string;
  tool: string;
  mcpServer: string | undefined;
  executable: string | undefined;
  skill?: string | undefined;
  options?: OptionFacts | undefined;
  content?: SpanContent | undefined;
  beforeMs: number;
  /** The source of that time. */
  time: TimeSource;
  askedMs: number | undefined;
  /** The time of the answer, if the answer is a separate event. */
  verdictMs?: number | undefined;
  /** The number of the attempt. */
  attempt?: number | undefined;
  decision: FinishedDecision | undefined;
  risk: OpenRisk | undefined;
  launches: { id?: string | undefined; agent?: string | undefined } | undefined;
  /** The subagent of this call is known. */
  launched?: true;
  /** The time at which the call ended without an outcome. */
  overMs: number | undefined;
  /** An error that the agent reported during it. */
  errorType?: string | undefined;
  traceRecord?: string | undefined;
  trace?: TraceKey | undefined;
  parent: SpanKey;
}

/** The call that launched a subagent, with the session, segment and trace of its span. */
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
  /** The time of its last event. */
  lastMs?: number | undefined;
  actions: number;
  usage: Sums;
  depth?: number | undefined;
  launch: Launch | undefined;
  /** The agent named the launching call; it was not inferred. */
  sure: boolean;
  trace?: TraceKey | undefined;
  /** The parent if no launching call is known. */
  fallback: SpanKey;
  links: Link[];
}

export interface Held {
  /** Its name in a Settled event. */
  of: string;
  span: FinishedSpan;
  /** Waits for the transcript, or until it is known that there is no transcript. */
  unread: boolean;
  /** Waits until the launching action names it. */
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

/** Returns true if a stored value has all parts that the fold uses. A session without a valid state begins again. */
export const isFold = (value: unknown): value is FoldState =>
  isFields(value) &&
  SHAPE.every(([name, part]) => {
    const found = value[name];
    if (Array.isArray(part)) return Array.isArray(found);
    return !isFields(part) || isFields(found);
  });
