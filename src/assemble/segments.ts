import type { Fields } from '../event/event.ts';
import { closeActions } from './actions.ts';
import { closeRequests, pricedBy } from './chats.ts';
import { type At, begunBy, clockFor, clockOf, ends, LONGEST_ACTION_MS, opensWork, originOf } from './current-event.ts';
import { type Link, type Repository, repositoryParts, type Stated } from './finished.ts';
import { hold, release } from './holding.ts';
import { segmentTrace, sessionKey } from './keys.ts';
import { closePlan } from './plans.ts';
import type { FoldState, Segment } from './state.ts';
import { closeSubagent } from './subagents.ts';
import { closeTurn } from './turns.ts';

/**
 * Beyond these limits a new turn begins a new segment: less than half of Tempo's limit for one trace, and half a
 * working day.
 */
const SEGMENT_SPANS = 2_000;

const SEGMENT_BYTES = 2_000_000;

/** Beyond this multiple, a segment is cut within a turn as well. */
export const CUT_WITHIN = 1.2;

const SEGMENT_AGE_MS = 4 * 3_600_000;

/** Opens a segment for the event if none is running. */
export function begin(state: FoldState, at: At): void {
  const { event, atMs } = at;
  const starts = event.event_type === 'Session.Start' && at.subagent === undefined;
  if (state.segment === undefined) {
    state.segment = openSegment(state, 0, at, starts ? event.data.start_reason : undefined, []);
    return;
  }
  if (starts && at.facts.time !== 'transcript' && atMs < state.segment.startMs) {
    // Another hook of the same moment arrived first. This event states how the running segment began.
    state.segment.startReason = event.data.start_reason;
    state.segment.startMs = atMs;
    state.segment.mode = event.agent_mode;
    return;
  }
  const wakes = at.subagent === undefined && (starts || opensWork(event));
  if (state.endedMs !== undefined) {
    if (!wakes) return;
    // Late events of the ended segment stay in its trace.
    closeLeftovers(state, at, state.lastMs);
  } else if (!(starts && event.data.start_reason !== 'new')) {
    return;
  } else {
    closeSegment(state, at, 'exit', undefined, atMs);
  }
  const link = previousSegment(state);
  state.segment = openSegment(state, state.segment.number + 1, at, starts ? event.data.start_reason : 'resume', [link]);
  state.endedMs = undefined;
}

export function openSegment(
  { repository }: FoldState,
  number: number,
  at: At,
  startReason: string | undefined,
  links: Link[],
): Segment {
  return {
    number,
    startMs: at.atMs,
    time: clockOf(at),
    spans: 0,
    startReason,
    repository,
    links,
    turns: 0,
    actions: 0,
    subagents: 0,
    denied: 0,
    failed: 0,
    usage: { calls: 0 },
    risk: undefined,
    ...originOf(at.event),
  };
}

export function previousSegment(state: FoldState): Link {
  return { trace: segmentTrace(state), span: sessionKey(state), type: 'previous_segment' };
}

export function closeSegment(
  state: FoldState,
  at: At,
  endReason: string | undefined,
  errorType: string | undefined,
  endMs: number,
): void {
  const segment = state.segment;
  if (segment === undefined) return;
  closeLeftovers(state, at, endMs);
  const totals = at.event.event_type === 'Session.End' ? at.event.data.usage : undefined;
  // The start was not observed. The length that the end states is closer to it than the first event.
  if (totals?.duration_ms !== undefined && segment.number === 0 && segment.startReason === undefined)
    segment.startMs = Math.min(segment.startMs, endMs - Math.min(totals.duration_ms, LONGEST_ACTION_MS));
  hold(state, at, {
    of: `session:${segment.number}`,
    unread: state.settles.session === 'transcript',
    unlinked: false,
    span: {
      kind: 'session',
      trace: segmentTrace(state),
      key: sessionKey(state),
      parent: undefined,
      ...ends(segment.startMs, endMs),
      duration: clockFor(state, at, segment.time, endMs),
      links: segment.links,
      errorType,
      ...begunBy(segment),
      risk: segment.risk,
      closedBy: at.event.event_id,
      said: totals,
      startReason: segment.startReason,
      previous: segment.previous,
      endReason,
      repository: segment.repository,
      commits: segment.commits,
      turns: segment.turns,
      actions: segment.actions,
      subagents: segment.subagents,
      denied: segment.denied,
      failed: segment.failed,
      loops: segment.loops,
      budget: segment.budget,
      context: segment.context,
      status: segment.status,
      agent: segment.agent,
      compactions: segment.compactions?.map(each => ({ ...each })),
      isContinued: segment.isContinued,
      usage: segment.usage,
      complete: true,
      stated: statedBy(at),
    },
  });
  release(state, at.out);
}

/** A late event may carry an older version of the agent. It counts only if none is known. */
export function noteVersion({ segment }: FoldState, { event, late }: At): void {
  const { version } = event.source;
  if (segment !== undefined && version !== undefined && (late === undefined || segment.version === undefined))
    segment.version = version;
}

/** Number of commits that fit into one attribute. */
const MOST_COMMITS = 48;

/** The first event describes the running segment. Later ones describe the next segment, and add commits. */
export function noteRepository(state: FoldState, data: Fields): void {
  const found: Repository = {};
  for (const part of repositoryParts) if (typeof data[part] === 'string') found[part] = data[part];
  const isFirst = state.repository === undefined;
  if (data.stated === true) found.isStated = true;
  state.repository = { ...state.repository, ...found };
  const { segment } = state;
  if (segment === undefined) return;
  // A repository that the sender states also applies to the running segment, in addition to the folder's.
  if (isFirst || found.isStated) segment.repository = state.repository;
  const made = Array.isArray(data.commits) ? data.commits.filter(each => typeof each === 'string') : [];
  if (made.length > 0) segment.commits = [...new Set([...(segment.commits ?? []), ...made])].slice(-MOST_COMMITS);
}

/** Returns the usage of the whole session, if the end of the session states it. */
function statedBy({ event, facts }: At): Stated | undefined {
  const { totals, model, provider } = facts;
  if (event.event_type !== 'Session.End' || totals === undefined) return undefined;
  return {
    usage: {
      calls: 0,
      input: totals.input_tokens,
      output: totals.output_tokens,
      cacheRead: totals.cache_read_tokens,
      cacheWrite: totals.cache_write_tokens,
      reasoning: totals.reasoning_tokens,
      ...pricedBy(facts, totals),
    },
    upperUsd: facts.cost?.upper_usd,
    prices: facts.cost?.upper_usd === undefined ? undefined : facts.cost.prices,
    model,
    provider,
  };
}

/** Closes all open items. */
export function closeLeftovers(state: FoldState, at: At, endMs: number): void {
  closeTurn(state, at, 'unfinished', undefined, endMs);
  for (const subagent of Object.values(state.subagents)) closeSubagent(state, at, subagent, 'abandoned', endMs);
  closeRequests(state, at, state.session, endMs, false);
  closeActions(state, at, () => true, endMs, false);
  closePlan(state, at, state.session, endMs);
  for (const held of state.held) held.unlinked = false;
  release(state, at.out);
}

/** Begins a new segment before a turn if the running one is large or old. */
export function cutSegment(state: FoldState, at: At): void {
  const segment = state.segment;
  if (segment === undefined || state.shape === 'turn') return;
  const isOld = at.atMs - segment.startMs >= SEGMENT_AGE_MS;
  if (!isOld && !isLarge(segment)) return;
  // A running background subagent delays the cut while there is room.
  if (Object.keys(state.subagents).length > 0 && !isLarge(segment, CUT_WITHIN)) return;
  const startReason = segment.startReason;
  closeSegment(state, at, 'segment', undefined, Math.max(state.lastMs, segment.startMs));
  state.segment = openSegment(state, segment.number + 1, at, startReason, [previousSegment(state)]);
}

export const isLarge = ({ spans, bytes = 0 }: Segment, times = 1): boolean =>
  spans >= times * SEGMENT_SPANS || bytes >= times * SEGMENT_BYTES;

/** Links the first segment to the previous session. */
export function linkPreviousSession(state: FoldState, session: string, segment = 0): void {
  const here = state.segment;
  if (here === undefined || here.previous !== undefined || session === state.session) return;
  here.previous = session;
  here.links.push({
    trace: { agent: state.agent, session, segment },
    span: { kind: 'session', session, parts: [String(segment)] },
    type: 'previous_session',
  });
}
