/** What each running session does now, from the index and the stored states; no journal is read. */
import { type FoldState, isFold, type OpenAction } from '../assemble/state.ts';
import { countsOf, type IndexedSession, IndexMemory, sessionIndex } from '../journal/session-index.ts';
import { fieldsOf } from '../lib/read.ts';
import type { Store } from '../store/store.ts';
import { contextShare } from './context-share.ts';
import { isTrial } from './trial-sessions.ts';

export interface RunningSession {
  key: string;
  session: string;
  agent: string;
  repository: string | undefined;
  branch: string | undefined;
  model: string | undefined;
  activity: Activity;
  /** Full is 1. */
  context: number | undefined;
  turns: number;
  actions: number;
  failed: number;
  denied: number;
  loops: number;
  budget: 'warning' | 'exceeded' | undefined;
  risk: string | undefined;
  input: number | undefined;
  output: number | undefined;
  cacheRead: number | undefined;
  cacheWrite: number | undefined;
  reasoning: number | undefined;
  /** By price lists, or as the agent states it if no price is known. */
  costUsd: number | undefined;
  unpricedTokens: number | undefined;
  lastMs: number;
}

/**
 * `waiting`: an action waits for the answer of a person. `idle`: no turn runs, so the session waits for a prompt.
 * `unknown`: the state of the session is missing or damaged.
 */
export interface Activity {
  state: 'waiting' | 'action' | 'subagent' | 'model' | 'idle' | 'unknown';
  /** The action or the subagent. */
  of?: string | undefined;
  /** The number of further running actions and subagents. */
  more: number;
  sinceMs: number;
}

/** Follows the running sessions; each call reads only the entries and states that changed. */
export class RunningSessions {
  private readonly memory = new IndexMemory();
  private known = new Map<string, { entry: IndexedSession; running: RunningSession }>();

  /** Returns the sessions that wait for a person first, then the others, the last active one first. */
  in(store: Store): RunningSession[] {
    const before = this.known;
    this.known = new Map();
    for (const [key, entry] of sessionIndex(store, this.memory)) {
      if (entry.state !== 'running' || isTrial(entry.session)) continue;
      const known = before.get(key);
      const running = known?.entry === entry ? known.running : runningOf(store, key, entry);
      this.known.set(key, { entry, running });
    }
    const rank = ({ activity }: RunningSession): number => (activity.state === 'waiting' ? 0 : 1);
    return [...this.known.values()]
      .map(({ running }) => running)
      .sort((a, b) => rank(a) - rank(b) || b.lastMs - a.lastMs || (a.key < b.key ? -1 : 1));
  }
}

function runningOf(store: Store, key: string, entry: IndexedSession): RunningSession {
  const { fold } = fieldsOf(store.session(key)?.state);
  const counts = countsOf(entry);
  const state = isFold(fold) ? fold : undefined;
  return {
    key,
    session: entry.session,
    agent: entry.agent,
    repository: entry.repository,
    branch: entry.branch,
    model: entry.models[0],
    activity: state === undefined ? { state: 'unknown', more: 0, sinceMs: entry.lastMs } : activityIn(state),
    context: contextShare(state?.segment?.context),
    turns: counts.turns,
    actions: counts.actions,
    failed: counts.failed,
    denied: counts.denied,
    loops: counts.loops,
    budget: state?.segment?.budget,
    risk: entry.risk,
    input: counts.input,
    output: counts.output,
    cacheRead: counts.cacheRead,
    cacheWrite: counts.cacheWrite,
    reasoning: counts.reasoning,
    costUsd: counts.costUsd ?? counts.statedCostUsd,
    unpricedTokens: counts.unpricedTokens,
    lastMs: entry.lastMs,
  };
}

/** Returns what the session of this fold does now. */
export function activityIn(fold: FoldState): Activity {
  const actions = Object.values(fold.actions).filter(({ overMs }) => overMs === undefined);
  const subagents = Object.values(fold.subagents);
  const all = actions.length + subagents.length;
  const asked = first(actions.filter(isAsked), ({ askedMs }) => askedMs);
  if (asked !== undefined)
    return { state: 'waiting', of: nameOf(asked), more: all - 1, sinceMs: asked.askedMs ?? asked.beforeMs };
  // An action that launched a subagent only waits for it; the actions of the subagent say more.
  const working = actions.filter(({ launched }) => launched === undefined);
  const action = first(working.length > 0 ? working : actions, ({ beforeMs }) => beforeMs);
  if (action !== undefined) return { state: 'action', of: nameOf(action), more: all - 1, sinceMs: action.beforeMs };
  const subagent = first(subagents, ({ startMs }) => startMs);
  if (subagent !== undefined)
    return { state: 'subagent', of: subagent.agent, more: all - 1, sinceMs: subagent.startMs };
  return { state: fold.turn === undefined ? 'idle' : 'model', more: 0, sinceMs: fold.lastMs };
}

/** The question is answered when a decision came after it. */
const isAsked = ({ askedMs, verdictMs }: OpenAction): boolean =>
  askedMs !== undefined && (verdictMs === undefined || verdictMs < askedMs);

const nameOf = ({ tool, executable }: OpenAction): string =>
  executable === undefined ? tool : `${tool} (${executable})`;

function first<T>(all: readonly T[], timeOf: (each: T) => number | undefined): T | undefined {
  return all.reduce<T | undefined>(
    (oldest, each) => (oldest === undefined || (timeOf(each) ?? 0) < (timeOf(oldest) ?? 0) ? each : oldest),
    undefined,
  );
}
