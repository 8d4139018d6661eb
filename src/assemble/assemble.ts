/**
 * The fold: a session's events, in order, become finished spans and records.
 *
 * It has no clock, no disk and no environment, and it never throws. What decides is in the events; silence, for one, is an
 * event (`Session.Abort`). A span leaves once, when it is closed and settled: closed by evidence (a closing hook, the
 * next turn, the end of the session), settled by what the agent's contract names (see `settles`). So the size of a
 * round, or a repetition, changes nothing in what leaves.
 *
 *   turn       opens with the first event of an unknown prompt id, or with `Prompt.Submitted` where the agent has no ids;
 *              a prompt under the running id opens nothing. Closes at the final response, at a failure of the model, at the
 *              first event of another id, at the end of the session. Events under an id whose turn has left open a continuation.
 *   action     opens with Before, closes with After, by its native id, whichever comes first. What its turn, or its
 *              subagent, leaves open is closed as denied (a person was asked, and the agent went on), else as abandoned.
 *   subagent   opens and closes with its own Session.Start and End; it hangs under the action that launched it.
 *   chat       one response of a model, told whole: it leaves at once, as a child of what it was part of, however late it is.
 *
 * What a transcript tells comes late as a rule. It joins the turn that it names, open, held or gone, and never ends a
 * turn that began after it.
 *   plan       opens and closes with the agent's own words, within its turn.
 *   segment    a trace of its own for a part of a long session: after a resume, and at a turn's start when the running
 *              one has grown too large or too old; within a turn only when that alone has grown too large, and is then
 *              continued. Where each turn is to be a trace, only a resume begins a segment.
 */

import {
  type Action,
  type DataOf,
  type Event,
  type EventType,
  type Facts,
  type Fields,
  factsOf,
  isVendor,
  metadataOf,
  modelOf,
  type Risk,
  type RiskLevel,
  SETTLED,
  type TimeSource,
  type Usage,
} from '../event/event.ts';
import { dollars } from '../lib/dollars.ts';
import { own, put } from '../lib/read.ts';
import { contentWith } from './content.ts';
import {
  type ActionSpan,
  type Finished,
  type FinishedDecision,
  type FinishedSpan,
  type Link,
  type Repository,
  repositoryParts,
  type SpanKey,
  type Stated,
  type Sums,
  type TraceKey,
  type TurnSpan,
} from './finished.ts';
import type {
  AskedModel,
  FoldState,
  Held,
  KnownTurn,
  Launch,
  OpenAction,
  OpenPlan,
  OpenRequests,
  OpenRisk,
  OpenSubagent,
  OpenTurn,
  Origin,
  Segment,
} from './state.ts';

/** A segment is cut at a turn's start beyond these: less than half of what Tempo takes for one trace, and half a working day. */
const SEGMENT_SPANS = 2_000;
const SEGMENT_BYTES = 2_000_000;
/** Beyond so many times of it, within a turn too. */
const CUT_WITHIN = 1.2;
const SEGMENT_AGE_MS = 4 * 3_600_000;
/** Nothing runs longer; a number beyond it is a mistake, and would bend everything that holds the action. */
const LONGEST_ACTION_MS = 7 * 24 * 3_600_000;
const KNOWN_TURNS = 64;
const KNOWN_CALLS = 512;
const OPEN_ACTIONS = 1_024;
const OPEN_SUBAGENTS = 256;
/** Calls that launch subagents and are over, before anything told of these. */
const ENDED_LAUNCHES = 32;

export const AMENDED = 'vendor.otel-hooks.Amended';
/** What was found of the working folder's repository, and what of it has changed since. */
export const REPOSITORY = 'vendor.otel-hooks.Repository';

/** One step. Changes `state`, which the caller owns; returns what has left: `isRecorded` false, no record, where nobody takes it. */
export function step(state: FoldState, event: Event, isRecorded = true): Finished {
  const out: Finished = { spans: [], records: [], oddities: {} };
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const atMs = Date.parse(event.timestamp);
  if (Number.isNaN(atMs)) {
    odd(out, 'no_time');
    return out;
  }
  if (event.event_type === SETTLED) {
    settle(state, String(event.data.of), event.data.reason === 'timeout', out);
    return out;
  }
  if (event.event_type === REPOSITORY) {
    noteRepository(state, event.data);
    return out;
  }
  const subagent = event.session_id === state.session ? undefined : event.session_id;
  const at: At = { event, facts, atMs, subagent, out, late: undefined, isRecorded };
  if (event.event_type === AMENDED) {
    amend(state, at);
    return out;
  }
  at.late = lateness(state, at);
  if (at.late === undefined) {
    begin(state, at);
    if (subagent === undefined) moveTurn(state, at);
  }
  noteVersion(state, at);
  if (subagent !== undefined && opensWork(event) && (at.late === undefined || own(state.subagents, subagent)))
    subagentOf(state, at);
  effects(state, at);
  record(state, at);
  const working = subagent === undefined ? undefined : own(state.subagents, subagent);
  if (working) working.lastMs = Math.max(working.lastMs ?? atMs, atMs);
  finish(state, at);
  if (atMs > state.lastMs) {
    state.lastMs = atMs;
    state.lastTime = clockOf(at);
  }
  for (const span of out.spans) if (span.clamped) odd(out, 'clamped');
  return out;
}

/** Names of closed spans that wait for their transcript; the drain answers each with a Settled event. */
export const unread = (state: FoldState): string[] => state.held.flatMap(held => (held.unread ? [held.of] : []));

/** Spans that are closed and wait for their transcript, in the order in which they were closed. */
export const awaited = (state: FoldState): Held[] => state.held.filter(held => held.unread);

/** Would a better word on this call still change its span? */
export const isAmendable = (state: FoldState, call: string): boolean =>
  own(state.actions, call) !== undefined || state.held.some(held => held.unread && held.of === `action:${call}`);

/** Something is still open: silence will have to end it. */
export const isOpen = (state: FoldState): boolean =>
  (state.segment !== undefined && state.endedMs === undefined) ||
  state.turn !== undefined ||
  state.held.length > 0 ||
  Object.keys(state.subagents).length > 0 ||
  Object.keys(state.actions).length > 0;

interface At {
  event: Event;
  facts: Partial<Facts>;
  atMs: number;
  subagent: string | undefined;
  out: Finished;
  /** Told by a transcript after its time had passed: the turn it was part of, where that is known. */
  late: { turn: KnownTurn | undefined } | undefined;
  isRecorded: boolean;
}

/** Is a time told of that is over? Then nothing begins or ends by it. */
function lateness(state: FoldState, at: At): At['late'] {
  const { event, facts, atMs } = at;
  if (state.segment === undefined || !opensWork(event)) return undefined;
  if (facts.time !== 'transcript') return overtaken(state, at);
  if (at.subagent !== undefined) return isSubagentOver(state, at.subagent, atMs) ? { turn: undefined } : undefined;
  if (
    facts.turn !== undefined &&
    facts.turn === state.turn?.key &&
    (state.turn.ordinal === 0 || atMs >= state.turn.startMs)
  )
    return undefined;
  const turn = facts.turn === undefined ? turnAround(state, atMs) : partOf(state, facts.turn, atMs);
  const isOver =
    (state.endedMs !== undefined && atMs <= state.endedMs) ||
    (turn?.endMs !== undefined && (event.event_type === 'Prompt.Submitted' ? atMs < turn.endMs : atMs <= turn.endMs)) ||
    (facts.turn !== undefined && state.turn !== undefined && atMs < state.turn.startMs);
  return isOver ? { turn } : undefined;
}

/**
 * A hook that another one overtook, though it began earlier: what it tells is part of what that one closed. Without such
 * a part it begins one.
 */
function overtaken(state: FoldState, at: At): At['late'] {
  const { event, facts, atMs, subagent } = at;
  const hasEnded = state.endedMs !== undefined;
  const isRunning =
    subagent === undefined
      ? !hasEnded && (facts.turn === undefined || facts.turn === state.turn?.key)
      : own(state.subagents, subagent) !== undefined;
  if (isRunning) return undefined;
  const isLeft = event.event_type === 'Action.After' && leftBy(state).has(facts.call ?? event.event_id);
  if (subagent !== undefined) return isLeft ? { turn: undefined } : undefined;
  const turn = facts.turn === undefined ? turnAround(state, atMs) : partOf(state, facts.turn, atMs);
  if (isLeft) return { turn };
  if (turn === undefined || (facts.turn === undefined && event.event_type === 'Prompt.Submitted')) return undefined;
  const isBefore =
    (state.endedMs !== undefined && atMs < state.endedMs) ||
    (turn.endMs !== undefined && atMs < turn.endMs) ||
    (state.turn !== undefined && atMs < state.turn.startMs);
  // Alone it is no work of its own, neither in a turn that nobody saw end nor in a session that has.
  const isItsEnd =
    event.event_type === 'Agent.Response' && event.data.final && (hasEnded || unendedTurn(state, turn) !== undefined);
  return isBefore || isItsEnd ? { turn } : undefined;
}

/** It has ended, and its transcript tells of the time before; what still waits for its transcript is told it all. */
function isSubagentOver(state: FoldState, id: string, atMs: number): boolean {
  if (state.endedMs !== undefined && atMs <= state.endedMs) return true;
  if (own(state.subagents, id) !== undefined) return false;
  const endMs = state.subagentRuns.find(([known]) => known === id)?.[2];
  return (
    (endMs !== undefined && atMs <= endMs) ||
    state.held.some(({ unread, span }) => unread && span.kind === 'subagent' && span.id === id)
  );
}

/** Of a turn that went on in another part, the part that ran then. */
function partOf({ turns }: FoldState, key: string, atMs: number): KnownTurn | undefined {
  const parts = turns.filter(known => known.key === key);
  return parts.findLast(({ startMs = atMs }) => startMs <= atMs) ?? parts[0];
}

/** Where an agent has no ids of turns, what its transcript tells belongs to the turn that ran then. */
function turnAround(state: FoldState, atMs: number): KnownTurn | undefined {
  if (state.turn !== undefined && atMs >= state.turn.startMs) return undefined;
  return state.turns.findLast(
    ({ startMs, endMs }) => startMs !== undefined && startMs <= atMs && endMs !== undefined && atMs <= endMs,
  );
}

// ---------------------------------------------------------------- sessions and segments

/** Sees to it that a segment runs when the event is one of a session at work. */
function begin(state: FoldState, at: At): void {
  const { event, atMs } = at;
  const starts = event.event_type === 'Session.Start' && at.subagent === undefined;
  if (state.segment === undefined) {
    state.segment = openSegment(state, 0, at, starts ? event.data.start_reason : undefined, []);
    return;
  }
  if (starts && at.facts.time !== 'transcript' && atMs < state.segment.startMs) {
    // Another hook of the same moment was quicker; this one tells how what runs began.
    state.segment.startReason = event.data.start_reason;
    state.segment.startMs = atMs;
    state.segment.mode = event.agent_mode;
    return;
  }
  const wakes = at.subagent === undefined && (starts || opensWork(event));
  if (state.endedMs !== undefined) {
    if (!wakes) return;
    // What came late to the ended segment stays in its trace.
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

function openSegment(
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

function previousSegment(state: FoldState): Link {
  return { trace: segmentTrace(state), span: sessionKey(state), type: 'previous_segment' };
}

function closeSegment(state: FoldState, at: At, endReason: string, errorType: string | undefined, endMs: number): void {
  const segment = state.segment;
  if (segment === undefined) return;
  closeLeftovers(state, at, endMs);
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
      usage: segment.usage,
      complete: true,
      stated: statedBy(at),
    },
  });
  release(state, at.out);
}

/** What is told late may be of another version, which ran before; where none is known, it is this. */
function noteVersion({ segment }: FoldState, { event, late }: At): void {
  const { version } = event.source;
  if (segment !== undefined && version !== undefined && (late === undefined || segment.version === undefined))
    segment.version = version;
}

/** As many commits as one attribute holds. */
const MOST_COMMITS = 48;

/** The first word on it is of the start of the segment; what is said later, of its next one, and which commits were made. */
function noteRepository(state: FoldState, data: Fields): void {
  const found: Repository = {};
  for (const part of repositoryParts) if (typeof data[part] === 'string') found[part] = data[part];
  const isFirst = state.repository === undefined;
  state.repository = { ...state.repository, ...found };
  const { segment } = state;
  if (segment === undefined) return;
  if (isFirst) segment.repository = state.repository;
  const made = Array.isArray(data.commits) ? data.commits.filter(each => typeof each === 'string') : [];
  if (made.length > 0) segment.commits = [...new Set([...(segment.commits ?? []), ...made])].slice(-MOST_COMMITS);
}

/** Tokens of a whole session, which only its end tells. */
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
    model,
    provider,
  };
}

/** Whatever is still open when nothing more can come for it. */
function closeLeftovers(state: FoldState, at: At, endMs: number): void {
  closeTurn(state, at, 'unfinished', undefined, endMs);
  for (const subagent of Object.values(state.subagents)) closeSubagent(state, at, subagent, 'abandoned', endMs);
  closeRequests(state, at, state.session, endMs, false);
  closeActions(state, at, () => true, endMs, false);
  closePlan(state, at, state.session, endMs);
  for (const held of state.held) held.unlinked = false;
  release(state, at.out);
}

/** What opened it is told of what it opens, whatever closes it. */
const originOf = (event: Event): Origin & { mode: string | undefined } => ({
  mode: event.agent_mode,
  actor: event.actor,
  metadata: metadataOf(event),
});

const begunBy = ({ mode, actor, metadata }: Origin): Pick<FinishedSpan, 'mode' | 'actor' | 'metadata'> => ({
  mode,
  actor,
  metadata,
});

// ---------------------------------------------------------------- turns

/** Opens, goes on with, or changes the main agent's turn. */
function moveTurn(state: FoldState, at: At): void {
  const { event, facts } = at;
  if (state.endedMs !== undefined || !opensWork(event)) return;
  const prompt = event.event_type === 'Prompt.Submitted';
  if (facts.turn === undefined && !prompt) {
    cutTurn(state, at);
    return;
  }
  const key = facts.turn ?? event.event_id;
  if (state.turn?.key === key) {
    // A hook of the same moment may have overtaken the prompt.
    if (prompt && facts.time !== 'transcript' && at.atMs < state.turn.startMs) beganAt(state, state.turn, at);
    cutTurn(state, at);
    return;
  }
  // Nobody saw it end: its last sign of life is its end.
  closeTurn(state, at, 'unfinished', undefined, Math.max(state.lastMs, state.turn?.startMs ?? 0));
  cutSegment(state, at);
  openTurn(state, at, key);
}

function beganAt(state: FoldState, turn: OpenTurn, { atMs, event }: At): void {
  turn.startMs = atMs;
  turn.mode = event.agent_mode;
  const known = state.turns.findLast(({ key }) => key === turn.key);
  if (known) known.startMs = atMs;
}

function openTurn(state: FoldState, at: At, key: string): void {
  const segment = state.segment;
  const known = state.turns.findLast(turn => turn.key === key);
  const links: Link[] = [];
  if (known) {
    links.push({ trace: turnTrace(state, known), span: turnKey(state, key, known.ordinal), type: 'continued_turn' });
  }
  const before = state.turns.at(-1);
  if (state.shape === 'turn' && before !== undefined && before !== known)
    links.push({
      trace: turnTrace(state, before),
      span: turnKey(state, before.key, before.ordinal),
      type: 'previous_turn',
    });
  const ordinal = known ? known.ordinal + 1 : 0;
  state.turns.push({ key, ordinal, segment: segment?.number ?? 0, startMs: at.atMs, endMs: undefined });
  if (state.turns.length > KNOWN_TURNS) state.turns.shift();
  state.turn = {
    key,
    ordinal,
    startMs: at.atMs,
    time: clockOf(at),
    prompts: 0,
    promptLength: undefined,
    actions: 0,
    denied: 0,
    failed: 0,
    usage: { calls: 0 },
    waitMs: 0,
    risk: undefined,
    ...originOf(at.event),
    links,
  };
}

/** A new trace at a turn's start, when the running one is large or old enough. */
function cutSegment(state: FoldState, at: At): void {
  const segment = state.segment;
  if (segment === undefined || state.shape === 'turn') return;
  const isOld = at.atMs - segment.startMs >= SEGMENT_AGE_MS;
  if (!isOld && !isLarge(segment)) return;
  // A subagent in the background is waited for, as long as there is room.
  if (Object.keys(state.subagents).length > 0 && !isLarge(segment, CUT_WITHIN)) return;
  const startReason = segment.startReason;
  closeSegment(state, at, 'segment', undefined, Math.max(state.lastMs, segment.startMs));
  state.segment = openSegment(state, segment.number + 1, at, startReason, [previousSegment(state)]);
}

const isLarge = ({ spans, bytes = 0 }: Segment, times = 1): boolean =>
  spans >= times * SEGMENT_SPANS || bytes >= times * SEGMENT_BYTES;

/**
 * One turn may be larger than a trace can be: it goes on in the next segment, at a moment when nothing of it is open. Only
 * what hooks tell is cut: a transcript tells of the past, and joins what it names.
 */
function cutTurn(state: FoldState, at: At): void {
  const { segment, turn } = state;
  const isBeginning = at.event.event_type === 'Action.Before' && at.facts.time !== 'transcript';
  if (
    segment === undefined ||
    turn === undefined ||
    state.shape === 'turn' ||
    !isBeginning ||
    !isLarge(segment, CUT_WITHIN)
  )
    return;
  if (Object.keys(state.actions).length > 0 || Object.keys(state.subagents).length > 0) return;
  closeTurn(state, at, 'continued', undefined, Math.max(state.lastMs, turn.startMs));
  const startReason = segment.startReason;
  closeSegment(state, at, 'segment', undefined, Math.max(state.lastMs, segment.startMs));
  state.segment = openSegment(state, segment.number + 1, at, startReason, [previousSegment(state)]);
  openTurn(state, at, turn.key);
}

function closeTurn(
  state: FoldState,
  at: At,
  outcome: TurnSpan['outcome'],
  errorType: string | undefined,
  endMs: number,
): void {
  const turn = state.turn;
  const segment = state.segment;
  if (turn === undefined || segment === undefined) return;
  // Went on means: the agent itself said that it was done, so a call that a person was asked about was refused.
  const wentOn = outcome === 'completed' || at.event.event_type === 'Prompt.Submitted' || opensWork(at.event);
  closeActions(state, at, action => action.subagent === undefined, endMs, wentOn);
  closePlan(state, at, state.session, endMs);
  closeRequests(state, at, state.session, endMs, outcome === 'completed' || outcome === 'continued');
  for (const held of state.held) {
    if (held.span.kind === 'subagent' && held.unlinked) held.unlinked = false;
  }
  state.turn = undefined;
  const known = state.turns.findLast(each => each.key === turn.key);
  if (known) known.endMs = Math.max(endMs, turn.startMs);
  segment.turns += 1;
  segment.risk = higher(segment.risk, turn.risk);
  hold(state, at, {
    of: `turn:${turn.key}:${turn.ordinal}`,
    unread: state.settles.turn === 'transcript',
    unlinked: false,
    span: {
      kind: 'turn',
      trace: turnTrace(state, runningTurn(turn, segment)),
      key: turnKey(state, turn.key, turn.ordinal),
      // Where each turn is a trace, it is the root of it.
      parent: state.shape === 'turn' ? undefined : sessionKey(state),
      ...ends(turn.startMs, endMs),
      duration: clockFor(state, at, turn.time, endMs),
      links: turn.links,
      // After an error that it got over, the agent said that it was done.
      errorType: errorType ?? (outcome === 'completed' ? undefined : turn.errorType),
      ...begunBy(turn),
      risk: turn.risk,
      closedBy: at.event.event_id,
      outcome,
      turn: turn.key,
      ordinal: turn.ordinal,
      number: segment.turns,
      prompts: turn.prompts,
      promptLength: turn.promptLength,
      content: turn.content,
      actions: turn.actions,
      denied: turn.denied,
      failed: turn.failed,
      usage: turn.usage,
      complete: true,
      waitMs: turn.waitMs,
      retries: turn.retries,
      loop: turn.loop,
      budget: turn.budget,
      decision:
        outcome === 'denied'
          ? { outcome: 'deny', source: at.facts.decision?.source ?? 'unknown', basis: 'observed' }
          : undefined,
    },
  });
  release(state, at.out);
}

// ---------------------------------------------------------------- plans

function openPlan(state: FoldState, at: At, data: DataOf<'Agent.Plan.Start'>): void {
  if (at.late !== undefined) return;
  const { event, facts, atMs } = at;
  closePlan(state, at, event.session_id, atMs);
  const place = placeOf(state, at);
  state.plans ??= {};
  put(state.plans, event.session_id, {
    id: event.event_id,
    startMs: atMs,
    time: facts.time ?? 'arrival',
    agent: facts.agent,
    type: data.plan_type,
    steps: data.step_count,
    ...originOf(event),
    trace: place.trace,
    parent: place.key,
  });
}

function closePlan(state: FoldState, at: At, session: string, endMs: number, data?: DataOf<'Agent.Plan.End'>): void {
  const plan: OpenPlan | undefined = state.plans && own(state.plans, session);
  if (state.plans === undefined || plan === undefined) return;
  delete state.plans[session];
  hold(state, at, {
    of: `plan:${plan.id}`,
    unread: false,
    unlinked: false,
    span: {
      kind: 'plan',
      trace: plan.trace,
      key: { kind: 'plan', session, parts: [plan.id] },
      parent: plan.parent,
      ...ends(plan.startMs, endMs),
      duration: plan.time === 'transcript' && at.facts.time === 'transcript' ? 'transcript' : 'events',
      links: [],
      errorType: undefined,
      ...begunBy(plan),
      risk: undefined,
      closedBy: at.event.event_id,
      subagent: session === state.session ? undefined : session,
      agent: plan.agent,
      type: data?.plan_type ?? plan.type,
      steps: data?.step_count ?? plan.steps,
    },
  });
}

// ---------------------------------------------------------------- subagents

/** The open subagent that an event belongs to; the first event of an unknown one opens it. */
function subagentOf(state: FoldState, at: At): OpenSubagent | undefined {
  const id = at.subagent;
  if (id === undefined) return undefined;
  const open = own(state.subagents, id);
  if (open) return open;
  if (at.event.event_type === 'Session.End') return undefined;
  if (Object.keys(state.subagents).length >= OPEN_SUBAGENTS) {
    odd(at.out, 'too_many_subagents');
    return undefined;
  }
  const last = state.subagentRuns.find(([known]) => known === id);
  const runs = last?.[1] ?? 0;
  const launched = launchOf(state, id, at);
  const subagent: OpenSubagent = {
    id,
    agent: at.facts.agent,
    ordinal: runs,
    startMs: at.atMs,
    time: clockOf(at),
    lastMs: at.atMs,
    actions: 0,
    usage: { calls: 0 },
    launch: launched?.launch,
    sure: launched?.sure ?? false,
    trace: mainTrace(state),
    fallback: mainKey(state),
    links:
      runs === 0
        ? []
        : [
            {
              trace: last?.[3] ?? mainTrace(state),
              span: subagentKey(state, id, runs - 1),
              type: 'continued_subagent',
            },
          ],
    ...originOf(at.event),
  };
  put(state.subagents, id, subagent);
  return subagent;
}

/** The call that launched a subagent: named by the agent, else the oldest open call for its kind that launched none yet. */
function launchOf(
  state: FoldState,
  id: string,
  { facts: { agent, launched_by: call }, atMs }: At,
): { launch: Launch; sure: boolean } | undefined {
  const named = state.launches.findLast(launch => launch.subagent === id);
  if (named !== undefined) return { launch: named, sure: true };
  if (call !== undefined) return { launch: launchAt(state, call, own(state.actions, call)), sure: true };
  const taken = new Set(Object.values(state.subagents).map(subagent => subagent.launch?.call));
  for (const held of state.held) if (held.span.kind === 'subagent') taken.add(held.span.launchedBy);
  const open = Object.values(state.actions).find(
    action =>
      action.launches !== undefined &&
      action.launches.id === undefined &&
      action.subagent !== id &&
      !taken.has(action.call) &&
      (action.launches.agent === agent || agent === undefined || agent === ''),
  );
  if (open?.call !== undefined) {
    open.launched = true;
    return { launch: launchAt(state, open.call, open), sure: false };
  }
  // Told by a transcript, it may have begun while a call ran that is over by now.
  const over = state.endedLaunches?.find(
    ended =>
      ended.startMs <= atMs &&
      atMs <= ended.endMs &&
      !taken.has(ended.call) &&
      (ended.agent === agent || agent === undefined || agent === ''),
  );
  if (over === undefined) return undefined;
  state.endedLaunches = state.endedLaunches?.filter(ended => ended !== over);
  return { launch: over, sure: true };
}

const launchAt = (
  state: FoldState,
  call: string,
  action: Pick<OpenAction, 'subagent' | 'trace'> | undefined,
): Launch => ({
  call,
  session: action?.subagent ?? state.session,
  segment: state.segment?.number ?? 0,
  trace: action?.trace ?? mainTrace(state),
});

const isIn = (launch: Launch, trace: TraceKey): boolean =>
  launch.trace === undefined ? launch.segment === trace.segment : sameTrace(launch.trace, trace);

const launchKey = ({ call, session }: Launch): SpanKey => ({ kind: 'action', session, parts: [call] });

/** The agent names the subagent that a call launched: what was only concluded is mended, as long as it is held. */
function linkLaunch(
  state: FoldState,
  at: At,
  call: string,
  id: string,
  kind: string | undefined,
  action: OpenAction,
): void {
  if (id === action.subagent) return;
  const launching = own(state.actions, call);
  if (launching) launching.launched = true;
  const launch = launchAt(state, call, action);
  state.launches.push({ subagent: id, ...launch });
  if (state.launches.length > OPEN_SUBAGENTS) state.launches.shift();
  for (const other of Object.values(state.subagents)) {
    if (other.id !== id && other.launch?.call === call) {
      other.launch = undefined;
      other.sure = false;
    }
  }
  const open = own(state.subagents, id);
  if (open) {
    open.launch = launch;
    open.sure = true;
    open.agent ??= kind;
  }
  for (const { span, ...held } of state.held.filter(each => each.unlinked)) {
    if (span.kind !== 'subagent' || !isIn(launch, span.trace)) continue;
    if (span.id === id) {
      span.launchedBy = call;
      span.agent ??= kind;
      span.parent = launchKey(launch);
      for (const each of state.held) if (each.of === held.of) each.unlinked = false;
    } else if (span.launchedBy === call) {
      span.launchedBy = undefined;
    }
  }
  release(state, at.out);
}

function closeSubagent(
  state: FoldState,
  at: At,
  subagent: OpenSubagent,
  outcome: 'completed' | 'abandoned',
  endMs: number,
): void {
  closeActions(state, at, action => action.subagent === subagent.id, endMs, outcome === 'completed');
  closePlan(state, at, subagent.id, endMs);
  closeRequests(state, at, subagent.id, endMs, outcome === 'completed');
  if (state.compactions) delete state.compactions[subagent.id];
  delete state.subagents[subagent.id];
  const known = state.subagentRuns.find(([id]) => id === subagent.id);
  const trace = subagent.trace ?? segmentTrace(state);
  if (known) known.splice(1, 3, known[1] + 1, endMs, trace);
  else state.subagentRuns.push([subagent.id, 1, endMs, trace]);
  if (state.subagentRuns.length > OPEN_SUBAGENTS) state.subagentRuns.shift();
  if (state.segment) state.segment.subagents += 1;
  const { launch } = subagent;
  const isHere = launch !== undefined && isIn(launch, trace);
  // Nobody saw it end: its last sign of life is its end.
  const lastMs = outcome === 'abandoned' ? Math.min(endMs, subagent.lastMs ?? endMs) : endMs;
  hold(state, at, {
    of: `subagent:${subagent.id}:${subagent.ordinal}`,
    unread: state.settles.subagent === 'transcript',
    // Only a launching call that is still open can name it later.
    unlinked: !subagent.sure && launchesOpen(state),
    span: {
      kind: 'subagent',
      trace,
      key: subagentKey(state, subagent.id, subagent.ordinal),
      parent: isHere ? launchKey(launch) : subagent.fallback,
      ...ends(subagent.startMs, lastMs),
      duration: clockFor(state, at, subagent.time, lastMs),
      links:
        launch === undefined || isHere
          ? subagent.links
          : [
              ...subagent.links,
              {
                trace: launch.trace ?? { ...segmentTrace(state), segment: launch.segment },
                span: launchKey(launch),
                type: 'launched_by',
              },
            ],
      errorType: outcome === 'abandoned' ? 'abandoned' : undefined,
      ...begunBy(subagent),
      risk: undefined,
      closedBy: at.event.event_id,
      id: subagent.id,
      agent: subagent.agent,
      ordinal: subagent.ordinal,
      outcome,
      actions: subagent.actions,
      usage: subagent.usage,
      complete: true,
      launchedBy: launch?.call,
    },
  });
}

const launchesOpen = (state: FoldState): boolean =>
  Object.values(state.actions).some(action => action.launches !== undefined);

// ---------------------------------------------------------------- actions

function openAction(state: FoldState, at: At, data: DataOf<'Action.Before'>): void {
  const { facts, event } = at;
  const call = facts.call ?? event.event_id;
  if (own(state.actions, call) || leftBy(state).has(call)) {
    // A transcript knows when a call began of which a hook told the end alone.
    if (facts.time !== 'transcript' || !correct(state, at, call)) odd(at.out, 'late_before');
    return;
  }
  if (Object.keys(state.actions).length >= OPEN_ACTIONS) {
    odd(at.out, 'too_many_actions');
    return;
  }
  const decision = decisionOf(data.decision?.outcome, facts);
  const action = actionOf(state, at, data.action, decision);
  put(state.actions, call, action);
  const launched = facts.launches?.id;
  if (launched !== undefined && facts.call !== undefined)
    linkLaunch(state, at, facts.call, launched, facts.launches?.agent, action);
  if (decision?.outcome === 'deny') closeAction(state, at, call, action, { outcome: 'denied', endMs: at.atMs });
}

function afterAction(state: FoldState, at: At, data: DataOf<'Action.After'>): void {
  const { facts, event } = at;
  const call = facts.call ?? event.event_id;
  if (leftBy(state).has(call)) {
    // Held, because it was closed without word of how it ended: here is the word.
    if (!correct(state, at, call)) odd(at.out, 'late_after');
    return;
  }
  const open = own(state.actions, call);
  const action = open ?? actionOf(state, at, data.action, undefined);
  if (open) open.content = contentWith(open.content, event, facts);
  // Some agents name the server only between the call's beginning and its end.
  if (action.mcpServer === undefined || action.mcpServer === 'unknown')
    action.mcpServer = facts.mcp?.server ?? action.mcpServer;
  action.risk = higher(action.risk, at.event.risk);
  action.decision = decided(action.decision, data, facts);
  const launched = facts.launches?.id;
  if (launched !== undefined && facts.call !== undefined)
    linkLaunch(state, at, facts.call, launched, facts.launches?.agent, action);
  closeAction(state, at, call, action, {
    ...endOf(data, facts),
    endMs: at.atMs,
    durationMs: facts.duration_ms,
    time: facts.time ?? 'arrival',
    seenBefore: open !== undefined,
  });
}

/** What the agent said before is not undone by what only follows from how the call ended. */
function decided(
  before: FinishedDecision | undefined,
  { decision }: DataOf<'Action.After'>,
  facts: Partial<Facts>,
): FinishedDecision | undefined {
  const said = decisionOf(decision?.outcome, facts);
  return said && (said.basis === 'observed' || before?.outcome !== said.outcome) ? said : before;
}

/** How an action ended, by what its closing event says. */
function endOf(
  { action: { result }, decision }: DataOf<'Action.After'>,
  facts: Partial<Facts>,
): Pick<Closing, 'outcome' | 'exitCode' | 'errorType'> {
  const outcome: ActionSpan['outcome'] =
    decision?.outcome === 'deny'
      ? 'denied'
      : facts.interrupted
        ? 'interrupted'
        : result?.success === true
          ? 'success'
          : result?.success === false
            ? 'failure'
            : 'unknown';
  return {
    outcome,
    exitCode: result?.exit_code ?? facts.exit_code,
    errorType:
      outcome === 'failure'
        ? (facts.error_type ?? 'tool_error')
        : outcome === 'interrupted'
          ? 'interrupted'
          : undefined,
  };
}

/** How an action ended, as far as facts alone say so. */
function endByFacts({
  interrupted,
  exit_code,
  error_type,
}: Partial<Facts>): Partial<Pick<Closing, 'outcome' | 'errorType'>> {
  if (interrupted) return { outcome: 'interrupted', errorType: 'interrupted' };
  if (exit_code === 0 && error_type === undefined) return { outcome: 'success' };
  if (exit_code === undefined && error_type === undefined) return {};
  return { outcome: 'failure', errorType: error_type ?? 'exit_code' };
}

/** An action as its first event tells it. */
function actionOf(state: FoldState, at: At, { name }: Action, decision: FinishedDecision | undefined): OpenAction {
  const { facts, event } = at;
  const place = placeOf(state, at);
  return {
    call: facts.call,
    subagent: at.subagent,
    agent: facts.agent,
    turn: at.subagent !== undefined ? undefined : at.late ? at.late.turn?.key : state.turn?.key,
    name: name ?? 'unknown',
    tool: facts.tool ?? name ?? 'unknown',
    mcpServer: facts.mcp?.server,
    executable: facts.executable,
    skill: facts.skill,
    content: contentWith(undefined, event, facts),
    beforeMs: at.atMs,
    time: facts.time ?? 'arrival',
    askedMs: undefined,
    decision,
    risk: event.risk,
    ...originOf(event),
    launches: facts.launches,
    overMs: undefined,
    traceRecord: facts.trace_record,
    trace: place.trace,
    parent: place.key,
  };
}

interface Closing {
  outcome: ActionSpan['outcome'];
  endMs: number;
  durationMs?: number | undefined;
  exitCode?: number | undefined;
  errorType?: string | undefined;
  seenBefore?: boolean;
  /** Where the end's time comes from; closed without a closing event it has none of its own. */
  time?: TimeSource | undefined;
}

function closeAction(state: FoldState, at: At, call: string, action: OpenAction, closed: Closing): void {
  const closing = withError(closed, action);
  delete state.actions[call];
  leave(state, call);
  keepLaunch(state, call, action, closing.endMs);
  const { outcome, endMs, durationMs } = closing;
  const native = durationMs !== undefined && durationMs >= 0 && durationMs <= LONGEST_ACTION_MS;
  const startMs = native ? endMs - durationMs : action.beforeMs;
  let waitMs = action.askedMs === undefined ? undefined : waitedFor(action.askedMs, action, closing);
  if (action.askedMs !== undefined && (outcome === 'success' || outcome === 'failure' || outcome === 'interrupted')) {
    // A person was asked and the action ran: the person allowed it, said or not. The wait ends where the work began.
    if (action.decision?.outcome !== 'allow') action.decision = { outcome: 'allow', source: 'user', basis: 'inferred' };
    if (native) waitMs = Math.max(0, startMs - action.askedMs);
  }
  const segment = state.segment;
  const turn = action.turn === state.turn?.key ? state.turn : heldTurn(state, action.parent);
  if (segment) {
    // Hooks may have been registered while the action ran: whatever holds it began no later.
    segment.startMs = Math.min(segment.startMs, startMs);
    segment.actions += 1;
    segment.risk = higher(segment.risk, action.risk);
    if (outcome === 'denied') segment.denied += 1;
    if (outcome === 'failure') segment.failed += 1;
  }
  if (action.subagent !== undefined) {
    const subagent = own(state.subagents, action.subagent);
    if (subagent) {
      subagent.startMs = Math.min(subagent.startMs, startMs);
      subagent.actions += 1;
    }
  } else if (turn !== undefined) {
    turn.startMs = Math.min(turn.startMs, startMs);
    turn.actions += 1;
    turn.risk = higher(turn.risk, action.risk);
    turn.waitMs += waitMs ?? 0;
    if (outcome === 'denied') turn.denied += 1;
    if (outcome === 'failure') turn.failed += 1;
  }
  hold(state, at, {
    of: `action:${call}`,
    // Closed without word of its end, it waits for the transcript, which may have it.
    unread:
      state.settles.action === 'transcript' || (closing.time === undefined && state.settles.turn === 'transcript'),
    unlinked: false,
    span: {
      kind: 'action',
      trace: action.trace ?? segmentTrace(state),
      key: { kind: 'action', session: action.subagent ?? state.session, parts: [call] },
      parent: action.parent,
      ...ends(startMs, endMs),
      duration: native
        ? 'native'
        : closing.seenBefore === false
          ? 'none'
          : action.time === 'transcript' && closing.time === 'transcript'
            ? 'transcript'
            : 'events',
      links: [],
      errorType: closing.errorType,
      ...begunBy(action),
      risk: action.risk,
      closedBy: at.event.event_id,
      call: action.call,
      subagent: action.subagent,
      agent: action.agent,
      name: action.name,
      tool: action.tool,
      mcpServer: action.mcpServer,
      outcome,
      decision: action.decision,
      askedMs: action.askedMs,
      waitMs,
      attempt: action.attempt,
      exitCode: closing.exitCode,
      executable: action.executable,
      skill: action.skill,
      content: action.content,
      traceRecord: action.traceRecord ?? at.facts.trace_record,
    },
  });
}

/** An error that the agent told while it ran is how it ended, unless its end says otherwise. */
function withError(closing: Closing, { errorType }: OpenAction): Closing {
  const { outcome } = closing;
  if (errorType === undefined || (outcome !== 'unknown' && outcome !== 'abandoned')) return closing;
  return { ...closing, outcome: errorType === 'interrupted' ? errorType : 'failure', errorType };
}

/** How long a person took to answer, where the answer is told: for itself, or as a refusal. */
function waitedFor(
  askedMs: number,
  { verdictMs, decision }: Pick<OpenAction, 'verdictMs' | 'decision'>,
  { outcome, endMs, time }: Closing,
): number | undefined {
  if (decision?.source !== 'user') return undefined;
  const answeredMs = verdictMs ?? (outcome === 'denied' && time !== undefined ? endMs : undefined);
  return answeredMs === undefined ? undefined : Math.max(0, answeredMs - askedMs);
}

function keepLaunch(state: FoldState, call: string, action: OpenAction, endMs: number): void {
  const { launches, launched, beforeMs } = action;
  if (launches === undefined || launches.id !== undefined || launched) return;
  const launch = { ...launchAt(state, call, action), agent: launches.agent, startMs: beforeMs, endMs };
  state.endedLaunches = [...(state.endedLaunches ?? []), launch].slice(-ENDED_LAUNCHES);
}

/** The calls that have left as a set, for as long as the state itself lives. */
const leftSets = new WeakMap<FoldState, Set<string>>();

function leftBy(state: FoldState): Set<string> {
  const known = leftSets.get(state) ?? new Set(state.leftCalls);
  leftSets.set(state, known);
  return known;
}

function leave(state: FoldState, call: string): void {
  const left = leftBy(state);
  state.leftCalls.push(call);
  left.add(call);
  const oldest = state.leftCalls.length > KNOWN_CALLS ? state.leftCalls.shift() : undefined;
  if (oldest !== undefined) left.delete(oldest);
}

/** Closes what is left open: never as a success. */
function closeActions(
  state: FoldState,
  at: At,
  fits: (action: OpenAction) => boolean,
  endMs: number,
  wentOn: boolean,
): void {
  for (const [call, action] of Object.entries(state.actions)) {
    if (!fits(action)) continue;
    // All of it may have been told after the end of its turn.
    const isDone = wentOn || heldTurn(state, action.parent)?.outcome === 'completed';
    if (action.askedMs !== undefined && isDone && action.decision?.outcome !== 'deny') {
      action.decision = { outcome: 'deny', source: 'user', basis: 'inferred' };
      closeAction(state, at, call, action, { outcome: 'denied', endMs: action.overMs ?? endMs });
    } else if (action.decision?.outcome === 'deny') {
      closeAction(state, at, call, action, { outcome: 'denied', endMs: action.overMs ?? endMs });
    } else if (action.overMs !== undefined) {
      closeAction(state, at, call, action, { outcome: 'unknown', endMs: action.overMs });
    } else {
      closeAction(state, at, call, action, { outcome: 'abandoned', endMs, errorType: 'abandoned' });
    }
  }
}

function decisionOf(
  outcome: FinishedDecision['outcome'] | undefined,
  facts: Partial<Facts>,
): FinishedDecision | undefined {
  if (outcome === undefined) return undefined;
  return { outcome, source: facts.decision?.source ?? 'unknown', basis: facts.decision?.basis ?? 'observed' };
}

// ---------------------------------------------------------------- what each type of event does

type Effect = (state: FoldState, at: At, event: Event) => void;

const nothing: Effect = () => undefined;

/** Each type has its row: a new type does not compile until someone has decided. */
const effectOf: { [T in EventType]: Effect } = {
  'Session.Start': (state, at, event) => {
    const begun = at.subagent === undefined ? state.segment : subagentOf(state, at);
    if (begun && at.late === undefined) Object.assign(begun, { actor: event.actor, metadata: metadataOf(event) });
    if (at.subagent !== undefined) return;
    if (at.facts.previous?.session !== undefined) follow(state, at.facts.previous.session, at.facts.previous.segment);
  },
  'Session.End': nothing,
  'Session.Abort': nothing,
  'Prompt.Submitted': (state, at, event) => {
    const turn = turnOf(state, at);
    if (event.event_type !== 'Prompt.Submitted' || turn === undefined) return;
    // Whatever of it came first, it was the prompt that set it going.
    if (turn.prompts === 0) Object.assign(turn, { actor: event.actor, metadata: metadataOf(event) });
    turn.prompts += 1;
    turn.promptLength ??= event.data.prompt_length;
    turn.content = contentWith(turn.content, event, at.facts);
  },
  'Agent.Plan.Start': (state, at, event) => {
    if (event.event_type === 'Agent.Plan.Start') openPlan(state, at, event.data);
  },
  'Agent.Plan.End': (state, at, event) => {
    if (event.event_type === 'Agent.Plan.End') closePlan(state, at, event.session_id, at.atMs, event.data);
  },
  'Agent.Decision': (state, at, event) => {
    if (event.event_type !== 'Agent.Decision' || at.facts.call === undefined) return;
    const action = own(state.actions, at.facts.call);
    const outcome = event.data.decision?.outcome;
    if (action === undefined && outcome === 'ask') askedLate(state, at, at.facts.call);
    if (action === undefined || outcome === undefined) return;
    action.content = contentWith(action.content, event, at.facts);
    if (outcome === 'ask') action.askedMs ??= at.atMs;
    else action.verdictMs = at.atMs;
    action.decision = decisionOf(outcome, at.facts);
  },
  'Agent.Response': (state, at, event) => {
    const turn = at.subagent === undefined ? state.turn : undefined;
    if (turn) turn.content = contentWith(turn.content, event, at.facts);
  },
  'Model.Requested': (state, at, event) => {
    if (at.late !== undefined) return;
    state.requests ??= {};
    const known = own(state.requests, event.session_id);
    const request = {
      ms: at.atMs,
      time: at.facts.time ?? 'arrival',
      count: (known?.count ?? 0) + 1,
      isMixed: known?.isMixed,
      asked: [...(known?.asked ?? []), askedBy(state, at)].slice(0, ASKED),
    };
    put(state.requests, event.session_id, request);
  },
  'Model.Responded': (state, at, event) => {
    if (event.event_type === 'Model.Responded') chat(state, at, event.data);
  },
  'Model.Failed': (state, at, event) => {
    if (event.event_type === 'Model.Failed') chat(state, at, event.data, at.facts.error_type ?? 'model_error');
  },
  'Action.Before': (state, at, event) => {
    if (event.event_type === 'Action.Before') openAction(state, at, event.data);
  },
  'Action.After': (state, at, event) => {
    if (event.event_type === 'Action.After') afterAction(state, at, event.data);
  },
  'Retry.Triggered': (state, at, event) => {
    if (event.event_type !== 'Retry.Triggered' || event.data.action_name === undefined) return;
    if (state.turn) state.turn.retries = (state.turn.retries ?? 0) + 1;
    const action = at.facts.call === undefined ? undefined : own(state.actions, at.facts.call);
    if (action) action.attempt = event.data.attempt;
  },
  'Retry.Loop.Detected': (state, at) => {
    if (state.segment) state.segment.loops = (state.segment.loops ?? 0) + 1;
    if (state.turn) state.turn.loop ??= 'detected';
    raiseRisk(state, at);
  },
  'Retry.Loop.Aborted': (state, at) => {
    if (state.turn) state.turn.loop = 'aborted';
    const action = own(state.actions, callNamed(state, at) ?? '');
    if (action) action.errorType ??= 'interrupted';
    raiseRisk(state, at);
  },
  'Context.UntilCompaction': nothing,
  'Context.Compaction': (state, at, event) => {
    state.compactions ??= {};
    const { phase } = at.facts;
    const known = own(state.compactions, event.session_id);
    // Its end, of which its beginning was told: a response that came between has said so already.
    const isTold = phase === 'after' && known?.phase === 'before' && known.isTold;
    put(state.compactions, event.session_id, { ms: at.atMs, phase, isTold });
  },
  'Policy.Violation': (state, at, event) => {
    const { budget } = at.facts;
    const action = budget ? undefined : own(state.actions, callNamed(state, at) ?? '');
    if (action) action.risk = higher(action.risk, event.risk);
    const holders = [state.segment, budget?.of === 'turn' && isCurrent(state, at) ? state.turn : undefined];
    if (budget) for (const holder of holders) if (holder && holder.budget !== 'exceeded') holder.budget = budget.state;
    raiseRisk(state, at);
  },
  'Policy.Blocked': (state, at, event) => {
    const action = own(state.actions, callNamed(state, at) ?? '');
    if (action === undefined) return;
    action.content = contentWith(action.content, event, at.facts);
    action.decision = decisionOf('deny', { decision: { source: 'policy', basis: 'observed' }, ...at.facts });
    action.verdictMs = at.atMs;
    action.overMs ??= at.atMs;
  },
  'Policy.Override': (state, at, event) => {
    const action = own(state.actions, callNamed(state, at) ?? '');
    if (action === undefined) return;
    action.decision = { outcome: 'allow', source: 'user', basis: 'observed' };
    action.content = contentWith(action.content, event, at.facts);
  },
  'Agent.Notification': (state, at, event) => {
    if (event.event_type !== 'Agent.Notification' || event.data.type !== 'ToolPermission') return;
    const action = at.facts.call === undefined ? undefined : own(state.actions, at.facts.call);
    if (action) action.askedMs ??= at.atMs;
  },
  'Agent.Error': (state, at, event) => {
    if (event.event_type !== 'Agent.Error' || at.late !== undefined) return;
    const errorType = at.facts.error_type ?? own(errorTypes, event.data.error_type ?? '') ?? '_OTHER';
    if (isOfAction(event.data, at)) {
      const action = actionInError(state, at);
      if (action) action.errorType = errorType;
    } else if (at.subagent === undefined && state.turn && isCurrent(state, at)) state.turn.errorType ??= errorType;
  },
};

/**
 * The call that a policy or a stopped loop is about. Where a standard's event names an action and no call, it is the only one
 * of that name that runs.
 */
function callNamed(state: FoldState, { event, facts, subagent }: At): string | undefined {
  if (facts.call !== undefined) return facts.call;
  const data = event.data as { action?: Action | undefined; action_name?: string | undefined };
  const name = data.action?.name ?? data.action_name;
  if (name === undefined) return undefined;
  const [only, ...others] = Object.entries(state.actions).filter(
    ([, action]) => action.subagent === subagent && (action.name === name || action.tool === name),
  );
  return others.length === 0 ? only?.[0] : undefined;
}

/** Types of event that are about an action as a whole, and need not say which call. */
const aboutActions: ReadonlySet<string> = new Set([
  'Policy.Violation',
  'Policy.Blocked',
  'Policy.Override',
  'Retry.Loop.Aborted',
]);

const errorTypes: { readonly [type: string]: string } = {
  ToolFailed: 'tool_error',
  ModelError: 'model_error',
  HookError: 'hook_error',
};

const isOfAction = ({ error_type, origin_event }: DataOf<'Agent.Error'>, { facts }: At): boolean =>
  facts.call !== undefined || error_type === 'ToolFailed' || origin_event?.startsWith('Action.') === true;

/** The action that it names, else the only one that runs. */
function actionInError(state: FoldState, { facts, subagent }: At): OpenAction | undefined {
  if (facts.call !== undefined) return own(state.actions, facts.call);
  const [only, ...others] = Object.values(state.actions).filter(action => action.subagent === subagent);
  return others.length === 0 ? only : undefined;
}

/** Another session went before this one: said by its first part. */
function follow(state: FoldState, session: string, segment = 0): void {
  const here = state.segment;
  if (here === undefined || here.previous !== undefined || session === state.session) return;
  here.previous = session;
  here.links.push({
    trace: { agent: state.agent, session, segment },
    span: { kind: 'session', session, parts: [String(segment)] },
    type: 'previous_session',
  });
}

/** What the turn of an event adds up to: it runs, or it was told late and waits for its transcript. */
function turnOf(state: FoldState, { late }: At): OpenTurn | TurnSpan | undefined {
  if (late === undefined) return state.turn;
  return late.turn && heldTurn(state, turnKey(state, late.turn.key, late.turn.ordinal));
}

const isCurrent = (state: FoldState, { facts }: At): boolean =>
  facts.turn === undefined || facts.turn === state.turn?.key;

/** What is risky beside the actions themselves. */
function raiseRisk(state: FoldState, at: At): void {
  const { risk } = at.event;
  if (state.turn && isCurrent(state, at)) state.turn.risk = higher(state.turn.risk, risk);
  if (state.segment) state.segment.risk = higher(state.segment.risk, risk);
}

// ---------------------------------------------------------------- responses

/** What a response answers, where just one request is open and both times come from one clock. */
function requestedMs(state: FoldState, { event, facts, late, atMs }: At): number | undefined {
  const open = state.requests && own(state.requests, event.session_id);
  if (state.requests === undefined || open === undefined || late !== undefined || facts.sum !== undefined)
    return undefined;
  const isSure = open.count === 1 && !open.isMixed && open.time === (facts.time ?? 'arrival') && open.ms <= atMs;
  const rest: OpenRequests = { ...open, count: open.count - 1, isMixed: true, asked: open.asked?.slice(1) };
  if (open.count > 1) put(state.requests, event.session_id, rest);
  else delete state.requests[event.session_id];
  return isSure && atMs - open.ms <= LONGEST_ACTION_MS ? open.ms : undefined;
}

/** As many of the requests that wait are remembered one by one. */
const ASKED = 16;

function askedBy(state: FoldState, at: At): AskedModel {
  const { event, facts, atMs } = at;
  const place = placeOf(state, at);
  return {
    id: event.event_id,
    ms: atMs,
    model: event.event_type === 'Model.Requested' ? modelOf(event.data, facts) : facts.model,
    provider: facts.provider,
    agent: facts.agent,
    ...originOf(event),
    trace: place.trace,
    parent: place.key,
  };
}

/**
 * Requests that nobody answered before what they were part of was over. Where that went well they were answered, and nobody told; where a
 * transcript tells of responses, they are told there.
 */
function closeRequests(state: FoldState, at: At, session: string, endMs: number, wentWell: boolean): void {
  const open = state.requests && own(state.requests, session);
  if (state.requests === undefined || open === undefined) return;
  delete state.requests[session];
  if (state.settles.turn === 'transcript') return;
  if (wentWell) {
    odd(at.out, 'response_untold');
    return;
  }
  for (const asked of open.asked ?? []) {
    const span = abandoned(asked, session === state.session ? undefined : session, session, endMs, at);
    weigh(state, span);
    at.out.spans.push(span);
  }
}

function abandoned(
  { id, ms, model, provider, agent, trace, parent, ...origin }: AskedModel,
  subagent: string | undefined,
  session: string,
  endMs: number,
  at: At,
): FinishedSpan {
  return {
    ...noResponse,
    kind: 'chat',
    trace,
    key: chatKey(session, id),
    parent,
    ...ends(ms, endMs),
    duration: 'events',
    links: [],
    errorType: 'abandoned',
    ...begunBy(origin),
    risk: undefined,
    closedBy: at.event.event_id,
    subagent,
    agent,
    model,
    provider,
  };
}

const noResponse = {
  response: undefined,
  request: undefined,
  finish: undefined,
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheWrite: undefined,
  cacheWrite1h: undefined,
  reasoning: undefined,
  costUsd: undefined,
  pricedUsd: undefined,
  prices: undefined,
  unpricedTokens: undefined,
  retries: undefined,
  sum: undefined,
} as const;

/** Is it the first after a compaction? */
function isCompacted(state: FoldState, { event, facts, atMs }: At): boolean {
  const compaction = state.compactions && own(state.compactions, event.session_id);
  if (compaction === undefined || compaction.isTold || facts.sum !== undefined || atMs < compaction.ms) return false;
  compaction.isTold = true;
  return true;
}

/** A response leaves as it is told, and adds to what it was part of, as long as that is here. */
function chat(state: FoldState, at: At, data: DataOf<'Model.Responded' | 'Model.Failed'>, errorType?: string): void {
  const { facts, event, atMs } = at;
  const askedMs = requestedMs(state, at);
  const usage: Usage = facts.usage ?? {};
  const latencyMs = data.latency_ms;
  const native = latencyMs !== undefined && latencyMs >= 0 && latencyMs <= LONGEST_ACTION_MS;
  const started = facts.started_ms !== undefined && atMs - facts.started_ms <= LONGEST_ACTION_MS;
  const startMs = native ? atMs - latencyMs : started ? (facts.started_ms ?? atMs) : (askedMs ?? atMs);
  const sums: Sums = {
    calls: facts.sum === undefined && errorType === undefined ? 1 : 0,
    input: data.input_tokens,
    output: data.output_tokens,
    cacheRead: usage.cache_read_tokens,
    cacheWrite: usage.cache_write_tokens,
    reasoning: usage.reasoning_tokens,
    costUsd: facts.cost_usd,
    ...pricedBy(facts, data),
  };
  const home = homeOf(state, at);
  const span: FinishedSpan = {
    kind: 'chat',
    trace: home.trace,
    key: chatKey(at.subagent ?? state.session, event.event_id),
    parent: home.key,
    ...ends(startMs, atMs),
    duration: native ? 'native' : started ? 'transcript' : askedMs === undefined ? 'none' : 'events',
    links: [],
    errorType,
    mode: event.agent_mode,
    actor: event.actor,
    metadata: metadataOf(event),
    version: event.source.version,
    risk: undefined,
    closedBy: event.event_id,
    subagent: at.subagent,
    agent: facts.agent,
    model: modelOf(data, facts),
    provider: facts.provider,
    response: facts.response,
    request: facts.request,
    finish: facts.finish,
    input: sums.input,
    output: sums.output,
    cacheRead: sums.cacheRead,
    cacheWrite: sums.cacheWrite,
    cacheWrite1h: usage.cache_write_1h_tokens,
    reasoning: sums.reasoning,
    costUsd: sums.costUsd,
    pricedUsd: sums.pricedUsd,
    prices: sums.pricedUsd === undefined ? undefined : facts.cost?.prices,
    unpricedTokens: sums.unpricedTokens,
    retries: data.retry_count,
    compacted: errorType === undefined && isCompacted(state, at) ? true : undefined,
    sum: facts.sum,
  };
  weigh(state, span);
  at.out.spans.push(span);
  for (const holder of [home.holder, sessionHolder(state, home.trace)]) {
    if (holder === undefined) continue;
    add(holder.usage, sums);
    // What holds it began no later, and, where it waits, ended no earlier.
    holder.startMs = Math.min(holder.startMs, startMs);
    if (holder.endMs !== undefined) holder.endMs = Math.max(holder.endMs, atMs);
  }
}

function pricedBy(
  { cost }: Partial<Facts>,
  {
    input_tokens: input = 0,
    output_tokens: output = 0,
  }: { input_tokens?: number | undefined; output_tokens?: number | undefined },
): Pick<Sums, 'pricedUsd' | 'unpricedTokens'> {
  if (cost === undefined) return {};
  return cost.usd === undefined ? { unpricedTokens: input + output } : { pricedUsd: cost.usd };
}

interface Holder {
  usage: Sums;
  startMs: number;
  endMs?: number;
}

interface Home {
  trace: TraceKey;
  key: SpanKey;
  /** Open or held, it counts what is part of it. */
  holder: Holder | undefined;
}

/** Where something hangs that its transcript tells: in the turn or subagent that it names, though that has ended. */
function homeOf(state: FoldState, at: At): Home {
  if (at.facts.sum === 'session') return { trace: segmentTrace(state), key: sessionKey(state), holder: undefined };
  if (at.subagent !== undefined) {
    const place = placeOf(state, at);
    return { ...place, holder: own(state.subagents, at.subagent) ?? heldSpan(state, place.key) };
  }
  if (at.late === undefined) return { trace: mainTrace(state), key: mainKey(state), holder: state.turn };
  const { turn } = at.late;
  if (turn === undefined) return { trace: segmentTrace(state), key: sessionKey(state), holder: undefined };
  const key = turnKey(state, turn.key, turn.ordinal);
  return { trace: turnTrace(state, turn), key, holder: heldSpan(state, key) };
}

function sessionHolder(state: FoldState, trace: TraceKey): Holder | undefined {
  if (state.segment?.number === trace.segment && state.endedMs === undefined) return state.segment;
  return heldSpan(state, { ...sessionKey(state), parts: [String(trace.segment)] });
}

function heldSpan(
  state: FoldState,
  key: SpanKey,
): Exclude<FinishedSpan, { kind: 'action' | 'chat' | 'plan' }> | undefined {
  for (const { span } of state.held) {
    if (span.kind === 'action' || span.kind === 'chat' || span.kind === 'plan' || span.kind !== key.kind) continue;
    if (sameKey(span.key, key)) return span;
  }
  return undefined;
}

function add(to: Sums, more: Sums): void {
  for (const name of Object.keys(more) as (keyof Sums)[]) {
    const count = more[name];
    if (count === undefined) continue;
    const sum = (to[name] ?? 0) + count;
    // Of fractions the order would matter.
    to[name] = name === 'costUsd' || name === 'pricedUsd' ? dollars(sum) : sum;
  }
}

// ---------------------------------------------------------------- what is known better

/** The transcript's word on an event that was told before: it counts while the action is open or held. */
function amend(state: FoldState, at: At): void {
  const { facts } = at;
  const open = facts.call === undefined ? undefined : own(state.actions, facts.call);
  if (open !== undefined && at.event.event_type === AMENDED && at.event.data.type === 'Action.Before') {
    open.beforeMs = at.atMs;
    open.time = facts.time ?? open.time;
    return;
  }
  if (facts.call !== undefined && correct(state, at, facts.call)) release(state, at.out);
  else record(state, at);
}

/** Changes the held span of an action by what is told now. */
function correct(state: FoldState, at: At, call: string): boolean {
  const held = state.held.find(each => each.of === `action:${call}`);
  const span = held?.span;
  if (held === undefined || span?.kind !== 'action') return false;
  const { event, facts, atMs } = at;
  const type = event.event_type === AMENDED ? event.data.type : event.event_type;
  const source = facts.time ?? 'arrival';
  if (span.tool === 'unknown' && facts.tool !== undefined) {
    // Some hooks tell the end of a call without its name.
    span.tool = facts.tool;
    span.mcpServer = facts.mcp?.server;
    if (event.event_type === 'Action.Before') span.name = event.data.action.name ?? span.name;
  }
  if (type === 'Action.Before') {
    Object.assign(span, ends(atMs, Math.max(atMs, span.endMs)));
    return true;
  }
  if (event.event_type === 'Action.After') {
    const { outcome: supposed } = span;
    Object.assign(span, endOf(event.data, facts));
    recount(state, span, supposed);
    span.content = contentWith(span.content, event, facts);
    span.risk = higher(span.risk, event.risk);
    const wasSupposed = supposed === 'denied' && span.decision?.basis === 'inferred';
    if (span.outcome === 'denied') span.decision = decisionOf('deny', facts);
    // It was supposed to be refused, since the agent went on; it was not, so the person allowed it.
    else if (wasSupposed) span.decision = { outcome: 'allow', source: 'user', basis: 'inferred' };
    else span.decision = decided(span.decision, event.data, facts);
    if (span.askedMs !== undefined && span.outcome === 'denied')
      span.waitMs = waitedFor(
        span.askedMs,
        { decision: span.decision },
        { outcome: 'denied', endMs: atMs, time: source },
      );
    span.closedBy = event.event_id;
  } else {
    span.exitCode = facts.exit_code ?? span.exitCode;
    // A hook may tell that a call is over, and not how it ended.
    if (span.outcome === 'unknown') {
      const { outcome = span.outcome, errorType } = endByFacts(facts);
      Object.assign(span, { outcome, errorType });
      recount(state, span, 'unknown');
    }
  }
  const native = facts.duration_ms !== undefined && facts.duration_ms >= 0 && facts.duration_ms <= LONGEST_ACTION_MS;
  const startMs = native ? atMs - (facts.duration_ms ?? 0) : Math.min(span.startMs, atMs);
  Object.assign(span, ends(startMs, atMs));
  span.duration = native ? 'native' : source === 'transcript' ? 'transcript' : span.duration;
  if (native && span.askedMs !== undefined && span.decision?.outcome === 'allow') {
    const waitMs = Math.max(0, startMs - span.askedMs);
    const turn = span.parent && heldTurn(state, span.parent);
    if (turn) turn.waitMs += waitMs - (span.waitMs ?? 0);
    span.waitMs = waitMs;
  }
  // The transcript's own word on it is what it waited for.
  if (source === 'transcript') held.unread = false;
  return true;
}

/** What held an action when it closed has counted it already, and as something else. */
function recount(
  state: FoldState,
  { parent, subagent, trace, outcome }: ActionSpan,
  before: ActionSpan['outcome'],
): void {
  if (outcome === before) return;
  const { turn, segment } = state;
  const isOpen =
    turn !== undefined && parent?.kind === 'turn' && sameKey(turnKey(state, turn.key, turn.ordinal), parent);
  const holder = isOpen ? turn : parent && subagent === undefined ? heldSpan(state, parent) : undefined;
  const session =
    segment?.number === trace.segment && state.endedMs === undefined
      ? segment
      : heldSpan(state, { ...sessionKey(state), parts: [String(trace.segment)] });
  const counted = { failure: 'failed', denied: 'denied' } as const;
  for (const each of [holder, session]) {
    if (each === undefined || !('failed' in each)) continue;
    if (before === 'failure' || before === 'denied') each[counted[before]] -= 1;
    if (outcome === 'failure' || outcome === 'denied') each[counted[outcome]] += 1;
  }
}

const sameKey = (one: SpanKey, other: SpanKey): boolean =>
  one.session === other.session && one.parts.join('\0') === other.parts.join('\0');

function effects(state: FoldState, at: At): void {
  for (const call of at.facts.over ?? []) {
    const action = own(state.actions, call);
    if (action) action.overMs ??= at.atMs;
  }
  if (!isVendor(at.event)) effectOf[at.event.event_type]?.(state, at, at.event);
}

/** What closes comes after the event's own record, so that the record still finds its span open. */
function finish(state: FoldState, at: At): void {
  const { event } = at;
  const main = at.subagent === undefined;
  if (at.late !== undefined) {
    const isResponse = event.event_type === 'Agent.Response';
    const isEnd = isResponse && event.data.final === true && main && at.facts.time !== 'transcript';
    if (isEnd || (isResponse && at.facts.interrupted)) endHeld(state, at);
  } else if (event.event_type === 'Agent.Response' && event.data.final && main) {
    const { outcome, errorType } = endOfTurn(at.facts);
    closeTurn(state, at, outcome, errorType, at.atMs);
  } else if (event.event_type === 'Model.Failed' && main) {
    closeTurn(state, at, 'failed', at.facts.error_type ?? 'model_error', at.atMs);
  } else if (event.event_type === 'Prompt.Submitted' && event.data.decision?.outcome === 'deny') {
    closeTurn(state, at, 'denied', undefined, at.atMs);
  } else if (event.event_type === 'Session.End' || event.event_type === 'Session.Abort') {
    const aborted = event.event_type === 'Session.Abort';
    if (!main) {
      const subagent = own(state.subagents, at.subagent ?? '');
      if (subagent) closeSubagent(state, at, subagent, aborted ? 'abandoned' : 'completed', at.atMs);
    } else if (state.endedMs === undefined) {
      // Nobody saw when a silent session ended: its last sign of life is its end.
      const endMs = aborted ? Math.max(state.lastMs, state.segment?.startMs ?? 0) : at.atMs;
      closeSegment(
        state,
        at,
        event.data.end_reason ?? (aborted ? 'abandoned' : 'completed'),
        aborted ? 'abandoned' : undefined,
        endMs,
      );
      state.endedMs = at.atMs;
    } else {
      closeLeftovers(state, at, state.lastMs);
    }
  }
  release(state, at.out);
}

function heldTurn(state: FoldState, key: SpanKey): TurnSpan | undefined {
  const span = heldSpan(state, key);
  return span?.kind === 'turn' ? span : undefined;
}

/** A turn that nobody saw end, and that waits for its transcript. */
function unendedTurn(state: FoldState, turn: KnownTurn): TurnSpan | undefined {
  const span = heldTurn(state, turnKey(state, turn.key, turn.ordinal));
  return span?.outcome === 'unfinished' ? span : undefined;
}

/** Here is its end. */
function endHeld(state: FoldState, at: At): void {
  const turn = at.late?.turn;
  const span = turn && unendedTurn(state, turn);
  if (turn === undefined || span === undefined) return;
  const end = endOfTurn(at.facts);
  for (const { span: left } of state.held) {
    if (left.kind !== 'action' || left.closedBy !== span.closedBy || left.parent === undefined) continue;
    if (sameKey(left.parent, span.key)) endWith(state, left, at, end.outcome === 'completed');
  }
  span.outcome = end.outcome;
  span.errorType = end.errorType;
  span.closedBy = at.event.event_id;
  Object.assign(span, ends(span.startMs, at.atMs));
  turn.endMs = span.endMs;
  if (span.duration !== clockOf(at)) span.duration = 'arrival';
}

/** An action that its turn had left open ends where the turn does; one that a person was asked about was refused, if the agent was done. */
function endWith(state: FoldState, span: ActionSpan, { event, atMs }: At, wentWell: boolean): void {
  Object.assign(span, ends(span.startMs, atMs));
  span.closedBy = event.event_id;
  if (span.askedMs !== undefined && span.outcome === 'abandoned' && wentWell) refused(state, span);
}

/** A person was asked about it, which was told after what came of its turn. */
function askedLate(state: FoldState, at: At, call: string): void {
  const span = state.held.find(({ of }) => of === `action:${call}`)?.span;
  if (span?.kind !== 'action' || span.outcome !== 'abandoned') return;
  span.askedMs ??= at.atMs;
  span.decision = decisionOf('ask', at.facts);
  if (span.parent && heldTurn(state, span.parent)?.outcome === 'completed') refused(state, span);
}

function refused(state: FoldState, span: ActionSpan): void {
  Object.assign(span, { outcome: 'denied', errorType: undefined });
  span.decision = { outcome: 'deny', source: 'user', basis: 'inferred' };
  recount(state, span, 'abandoned');
}

/** How a turn ended, by what its final response says. */
function endOfTurn({ interrupted, error_type }: Partial<Facts>): Pick<TurnSpan, 'outcome' | 'errorType'> {
  const errorType = interrupted ? 'interrupted' : error_type;
  return { outcome: interrupted ? 'interrupted' : errorType === undefined ? 'completed' : 'failed', errorType };
}

/** Types that mean the agent is at work, so that a turn, a subagent or an ended session opens. */
function opensWork(event: Event): boolean {
  switch (event.event_type) {
    case 'Prompt.Submitted':
    case 'Agent.Plan.Start':
    case 'Agent.Response':
    case 'Model.Requested':
    case 'Model.Failed':
    case 'Action.Before':
    case 'Action.After':
      return true;
    case 'Model.Responded':
      // A session's account is drawn when its work is over.
      return factsOf(event)?.sum !== 'session';
    default:
      return false;
  }
}

// ---------------------------------------------------------------- records

function record(state: FoldState, at: At): void {
  if (!at.isRecorded) return;
  const context = contextOf(state, at);
  at.out.records.push({ event: at.event, ...context });
  if (isException(at)) at.out.records.push({ event: at.event, as: 'exception', ...context });
}

/** A model that failed with more than a kind of failure, which is `error.type`: with a type that nobody took for one, or in words that stayed. */
function isException({ event, facts }: At): boolean {
  if (event.event_type !== 'Model.Failed') return false;
  const { error_type: type, error_message: message } = event.data;
  return message !== undefined || (type !== undefined && facts.error_type === undefined);
}

/** Where a span, or what happens in it, is to be found. */
interface Place {
  trace: TraceKey;
  key: SpanKey;
}

/** The span that an event happened in, nearest first. */
function contextOf(state: FoldState, at: At): { trace: TraceKey; span: SpanKey } {
  const { facts, event } = at;
  const session = at.subagent ?? state.session;
  // Its ends are the session's, whatever hooks of the same moment they overtook.
  if (at.subagent === undefined && framing.has(event.event_type))
    return { trace: segmentTrace(state), span: sessionKey(state) };
  const place = placeOf(state, at);
  const call = aboutActions.has(event.event_type) ? callNamed(state, at) : facts.call;
  if (call !== undefined) {
    const trace = (state.shape === 'turn' ? traceOfCall(state, call) : undefined) ?? place.trace;
    return { trace, span: { kind: 'action', session, parts: [call] } };
  }
  if (event.event_type === 'Action.Before' || event.event_type === 'Action.After') {
    return { trace: place.trace, span: { kind: 'action', session, parts: [event.event_id] } };
  }
  if (event.event_type === 'Model.Responded' || event.event_type === 'Model.Failed')
    return { trace: homeOf(state, at).trace, span: chatKey(session, event.event_id) };
  return { trace: place.trace, span: place.key };
}

const framing: ReadonlySet<string> = new Set(['Session.Start', 'Session.End']);

/** In a trace of its own for each turn, a call may end when its turn is over. */
function traceOfCall(state: FoldState, call: string): TraceKey | undefined {
  const open = own(state.actions, call);
  if (open !== undefined) return open.trace;
  return state.held.find(({ of }) => of === `action:${call}`)?.span.trace;
}

/** Where something that happens now hangs: in its subagent, else in the turn that runs, else in the session. */
function placeOf(state: FoldState, at: At): Place {
  if (at.subagent !== undefined) {
    const open = own(state.subagents, at.subagent);
    const [, runs = 1, , trace] = state.subagentRuns.find(([id]) => id === at.subagent) ?? [];
    const key = subagentKey(state, at.subagent, open?.ordinal ?? Math.max(0, runs - 1));
    return { trace: (open ? open.trace : trace) ?? mainTrace(state), key };
  }
  if (at.late === undefined && isCurrent(state, at)) return { trace: mainTrace(state), key: mainKey(state) };
  // Told late, it belongs to the turn that it names.
  const turn = at.late ? at.late.turn : state.turns.findLast(({ key }) => key === at.facts.turn);
  if (at.late === undefined && turn === undefined) return { trace: mainTrace(state), key: mainKey(state) };
  return turn?.segment === state.segment?.number && turn
    ? { trace: turnTrace(state, turn), key: turnKey(state, turn.key, turn.ordinal) }
    : { trace: segmentTrace(state), key: sessionKey(state) };
}

const mainKey = (state: FoldState): SpanKey =>
  state.turn ? turnKey(state, state.turn.key, state.turn.ordinal) : sessionKey(state);

// ---------------------------------------------------------------- holding and releasing

function hold(state: FoldState, at: At, held: Held): void {
  held.span.version = held.span.kind === 'action' ? at.event.source.version : state.segment?.version;
  weigh(state, held.span);
  if (held.unread || held.unlinked) state.held.push(held);
  else at.out.spans.push(leaving(state, held.span));
}

/** What holds others says the agent's version as it was told by then; an action, as the event says it that closed it. */
function leaving({ segment }: FoldState, span: FinishedSpan): FinishedSpan {
  if (span.kind !== 'action' && segment?.number === span.trace.segment) span.version ??= segment.version;
  return counted(span);
}

/** Tokens count once: what was stated of the whole only where nothing told of the parts. */
function counted(span: FinishedSpan): FinishedSpan {
  if (span.kind !== 'session' || span.stated === undefined) return span;
  const { calls, input, output } = span.usage;
  const isTold = calls > 0 || input !== undefined || output !== undefined;
  return isTold ? { ...span, stated: undefined } : { ...span, usage: span.stated.usage };
}

/** What every span takes on the wire beside its own texts and numbers: names, ids, times. */
const SPAN_BYTES = 400;

function weigh({ segment }: FoldState, span: FinishedSpan): void {
  if (segment === undefined) return;
  segment.spans += 1;
  segment.bytes = (segment.bytes ?? 0) + SPAN_BYTES + 2 * span.trace.session.length + weightOf(span);
}

function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : 8;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const part of value) if (part !== undefined) sum += 24 + weightOf(part);
    return sum;
  }
  // Each span comes by here: a list of its parts would be garbage at once.
  for (const name in value) {
    const part: unknown = value[name as keyof typeof value];
    if (part !== undefined) sum += 24 + weightOf(part);
  }
  return sum;
}

function settle(state: FoldState, of: string, tooLate: boolean, out: Finished): void {
  for (const held of state.held) {
    if (held.of !== of) continue;
    held.unread = false;
    if (tooLate && 'complete' in held.span) held.span.complete = false;
  }
  release(state, out);
}

const isReady = ({ unread, unlinked }: Held): boolean => !unread && !unlinked;

function release(state: FoldState, out: Finished): void {
  if (!state.held.some(isReady)) return;
  const ready = state.held.filter(isReady);
  state.held = state.held.filter(held => held.unread || held.unlinked);
  out.spans.push(...ready.map(held => leaving(state, held.span)));
}

// ---------------------------------------------------------------- keys

/** The trace of the session's own span. */
const segmentTrace = (state: FoldState): TraceKey => ({
  agent: state.agent,
  session: state.session,
  segment: state.segment?.number ?? 0,
});
const turnTrace = (
  state: FoldState,
  { segment, key, ordinal }: Pick<KnownTurn, 'segment' | 'key' | 'ordinal'>,
): TraceKey =>
  state.shape === 'turn'
    ? { agent: state.agent, session: state.session, segment, turn: `${key}\0${ordinal}` }
    : { agent: state.agent, session: state.session, segment };
/** The trace of what the main agent does now. */
const mainTrace = (state: FoldState): TraceKey =>
  state.turn ? turnTrace(state, runningTurn(state.turn, state.segment)) : segmentTrace(state);
const runningTurn = ({ key, ordinal }: OpenTurn, segment: Segment | undefined) => ({
  key,
  ordinal,
  segment: segment?.number ?? 0,
});
const sameTrace = (one: TraceKey, other: TraceKey): boolean =>
  one.session === other.session && one.segment === other.segment && one.turn === other.turn;
const sessionKey = (state: FoldState): SpanKey => ({
  kind: 'session',
  session: state.session,
  parts: [String(state.segment?.number ?? 0)],
});
const chatKey = (session: string, id: string): SpanKey => ({ kind: 'chat', session, parts: [id] });
const turnKey = (state: FoldState, key: string, ordinal: number): SpanKey => ({
  kind: 'turn',
  session: state.session,
  parts: [key, String(ordinal)],
});
const subagentKey = (state: FoldState, id: string, ordinal: number): SpanKey => ({
  kind: 'subagent',
  session: state.session,
  parts: [id, String(ordinal)],
});

/** Whose clock an event's time is of; undefined where it is that of its arrival. */
const clockOf = ({ facts }: At): TimeSource | undefined => (facts.time === 'arrival' ? undefined : facts.time);

/** Where a length comes from: both ends by the same clock, else it is as good as times of arrival. */
function clockFor(state: FoldState, at: At, started: TimeSource | undefined, endMs: number): TimeSource {
  const ended = endMs === state.lastMs ? state.lastTime : endMs === at.atMs ? clockOf(at) : undefined;
  return started === ended ? (ended ?? 'arrival') : 'arrival';
}

function ends(startMs: number, endMs: number): { startMs: number; endMs: number; clamped: boolean } {
  return endMs < startMs ? { startMs: endMs, endMs, clamped: true } : { startMs, endMs, clamped: false };
}

const levels: readonly (RiskLevel | undefined)[] = [undefined, 'low', 'medium', 'high', 'critical'];

function higher(a: OpenRisk | undefined, b: Risk | undefined): OpenRisk | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const byScore = (b.score ?? -1) - (a.score ?? -1);
  const byLevel = levels.indexOf(b.level) - levels.indexOf(a.level);
  return (byScore || byLevel) > 0 ? b : a;
}

function odd(out: Finished, kind: string): void {
  out.oddities[kind] = (out.oddities[kind] ?? 0) + 1;
}
