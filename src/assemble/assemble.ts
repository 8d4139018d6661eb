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
 *   segment    a trace of its own for a part of a long session: after a resume, and at a turn's start when the running
 *              one has grown too large or too old.
 */
import {
  type Action,
  type DataOf,
  type Event,
  type EventType,
  type Facts,
  factsOf,
  isVendor,
  type Risk,
  type RiskLevel,
} from '../event/event.ts';
import { own, put } from '../lib/read.ts';
import type { ActionSpan, Finished, FinishedDecision, Link, SpanKey, TraceKey, TurnSpan } from './finished.ts';
import type { FoldState, Held, Launch, OpenAction, OpenRisk, OpenSubagent, Segment } from './state.ts';

/** A segment is cut at a turn's start beyond these: half of what Tempo takes for one trace, and of a working day. */
const SEGMENT_SPANS = 2_000;
const SEGMENT_AGE_MS = 4 * 3_600_000;
/** Nothing runs longer; a number beyond it is a mistake, and would bend everything that holds the action. */
const LONGEST_ACTION_MS = 7 * 24 * 3_600_000;
const KNOWN_TURNS = 64;
const KNOWN_CALLS = 512;
const OPEN_ACTIONS = 1_024;
const OPEN_SUBAGENTS = 256;

export const SETTLED = 'vendor.otel-hooks.Settled';
export const AMENDED = 'vendor.otel-hooks.Amended';

/** One step. Changes `state`, which the caller owns; returns what has left. */
export function step(state: FoldState, event: Event): Finished {
  const out: Finished = { spans: [], records: [], oddities: {} };
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const atMs = Date.parse(event.timestamp);
  if (Number.isNaN(atMs)) {
    odd(out, 'no_time');
    return out;
  }
  if (event.event_type === SETTLED) {
    settle(state, String(event.data.of), out);
    return out;
  }
  const subagent = event.session_id === state.session ? undefined : event.session_id;
  const at: At = { event, facts, atMs, subagent, out };
  if (event.event_type === AMENDED) {
    record(state, at);
    return out;
  }
  begin(state, at);
  if (subagent === undefined) moveTurn(state, at);
  else if (opensWork(event)) subagentOf(state, at);
  effects(state, at);
  record(state, at);
  finish(state, at);
  state.lastMs = Math.max(state.lastMs, atMs);
  for (const span of out.spans) if (span.clamped) odd(out, 'clamped');
  return out;
}

/** Names of closed spans that wait for their transcript; the drain answers each with a Settled event. */
export const unread = (state: FoldState): string[] => state.held.flatMap(held => (held.unread ? [held.of] : []));

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
}

// ---------------------------------------------------------------- sessions and segments

/** Sees to it that a segment runs when the event is one of a session at work. */
function begin(state: FoldState, at: At): void {
  const { event, atMs } = at;
  const starts = event.event_type === 'Session.Start' && at.subagent === undefined;
  if (state.segment === undefined) {
    state.segment = openSegment(0, at, starts ? event.data.start_reason : undefined, []);
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
  state.segment = openSegment(state.segment.number + 1, at, starts ? event.data.start_reason : 'resume', [link]);
  state.endedMs = undefined;
}

function openSegment(number: number, at: At, startReason: string | undefined, links: Link[]): Segment {
  return {
    number,
    startMs: at.atMs,
    spans: 0,
    startReason,
    links,
    turns: 0,
    actions: 0,
    subagents: 0,
    denied: 0,
    failed: 0,
    risk: undefined,
    mode: at.event.agent_mode,
  };
}

function previousSegment(state: FoldState): Link {
  return { trace: traceOf(state), span: sessionKey(state), type: 'previous_segment' };
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
      trace: traceOf(state),
      key: sessionKey(state),
      parent: undefined,
      ...ends(segment.startMs, endMs),
      duration: 'arrival',
      links: segment.links,
      errorType,
      mode: segment.mode,
      risk: segment.risk,
      closedBy: at.event.event_id,
      startReason: segment.startReason,
      endReason,
      turns: segment.turns,
      actions: segment.actions,
      subagents: segment.subagents,
      denied: segment.denied,
      failed: segment.failed,
    },
  });
  release(state, at.out);
}

/** Whatever is still open when nothing more can come for it. */
function closeLeftovers(state: FoldState, at: At, endMs: number): void {
  closeTurn(state, at, 'unfinished', undefined, endMs);
  for (const subagent of Object.values(state.subagents)) closeSubagent(state, at, subagent, 'abandoned', endMs);
  closeActions(state, at, () => true, endMs, false);
  for (const held of state.held) held.unlinked = false;
  release(state, at.out);
}

// ---------------------------------------------------------------- turns

/** Opens, goes on with, or changes the main agent's turn. */
function moveTurn(state: FoldState, at: At): void {
  const { event, facts } = at;
  if (state.endedMs !== undefined || !opensWork(event)) return;
  const prompt = event.event_type === 'Prompt.Submitted';
  if (facts.turn === undefined && !prompt) return;
  const key = facts.turn ?? event.event_id;
  if (state.turn?.key === key) return;
  // Nobody saw it end: its last sign of life is its end.
  closeTurn(state, at, 'unfinished', undefined, Math.max(state.lastMs, state.turn?.startMs ?? 0));
  cutSegment(state, at);
  openTurn(state, at, key);
}

function openTurn(state: FoldState, at: At, key: string): void {
  const segment = state.segment;
  const known = state.turns.findLast(turn => turn.key === key);
  const links: Link[] = [];
  if (known) {
    links.push({
      trace: { agent: state.agent, session: state.session, segment: known.segment },
      span: turnKey(state, key, known.ordinal),
      type: 'continued_turn',
    });
  }
  const ordinal = known ? known.ordinal + 1 : 0;
  state.turns.push({ key, ordinal, segment: segment?.number ?? 0 });
  if (state.turns.length > KNOWN_TURNS) state.turns.shift();
  state.turn = {
    key,
    ordinal,
    startMs: at.atMs,
    prompts: 0,
    promptLength: undefined,
    actions: 0,
    denied: 0,
    failed: 0,
    waitMs: 0,
    risk: undefined,
    mode: at.event.agent_mode,
    links,
  };
}

/** A new trace at a turn's start, when the running one is large or old enough. */
function cutSegment(state: FoldState, at: At): void {
  const segment = state.segment;
  if (segment === undefined) return;
  if (segment.spans < SEGMENT_SPANS && at.atMs - segment.startMs < SEGMENT_AGE_MS) return;
  const startReason = segment.startReason;
  closeSegment(state, at, 'segment', undefined, Math.max(state.lastMs, segment.startMs));
  state.segment = openSegment(segment.number + 1, at, startReason, [previousSegment(state)]);
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
  for (const held of state.held) {
    if (held.span.kind === 'subagent' && held.unlinked) held.unlinked = false;
  }
  state.turn = undefined;
  segment.turns += 1;
  segment.risk = higher(segment.risk, turn.risk);
  hold(state, at, {
    of: `turn:${turn.key}:${turn.ordinal}`,
    unread: state.settles.turn === 'transcript',
    unlinked: false,
    span: {
      kind: 'turn',
      trace: traceOf(state),
      key: turnKey(state, turn.key, turn.ordinal),
      parent: sessionKey(state),
      ...ends(turn.startMs, endMs),
      duration: 'arrival',
      links: turn.links,
      errorType,
      mode: turn.mode,
      risk: turn.risk,
      closedBy: at.event.event_id,
      outcome,
      turn: turn.key,
      ordinal: turn.ordinal,
      prompts: turn.prompts,
      promptLength: turn.promptLength,
      actions: turn.actions,
      denied: turn.denied,
      failed: turn.failed,
      waitMs: turn.waitMs,
      decision:
        outcome === 'denied'
          ? { outcome: 'deny', source: at.facts.decision?.source ?? 'unknown', basis: 'observed' }
          : undefined,
    },
  });
  release(state, at.out);
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
  const runs = state.subagentRuns.find(([known]) => known === id)?.[1] ?? 0;
  const launched = launchOf(state, id, at.facts.agent);
  const subagent: OpenSubagent = {
    id,
    agent: at.facts.agent,
    ordinal: runs,
    startMs: at.atMs,
    actions: 0,
    launch: launched?.launch,
    sure: launched?.sure ?? false,
    fallback: mainKey(state),
    links:
      runs === 0 ? [] : [{ trace: traceOf(state), span: subagentKey(state, id, runs - 1), type: 'continued_subagent' }],
    mode: at.event.agent_mode,
  };
  put(state.subagents, id, subagent);
  return subagent;
}

/** The call that launched a subagent: named by the agent, else the oldest open call for its kind that launched none yet. */
function launchOf(
  state: FoldState,
  id: string,
  agent: string | undefined,
): { launch: Launch; sure: boolean } | undefined {
  const named = state.launches.findLast(launch => launch.subagent === id);
  if (named !== undefined) return { launch: named, sure: true };
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
  if (open?.call === undefined) return undefined;
  return { launch: launchAt(state, open.call, open.subagent), sure: false };
}

const launchAt = (state: FoldState, call: string, subagent: string | undefined): Launch => ({
  call,
  session: subagent ?? state.session,
  segment: state.segment?.number ?? 0,
});

const launchKey = ({ call, session }: Launch): SpanKey => ({ kind: 'action', session, parts: [call] });

/** The agent names the subagent that a call launched: what was only concluded is mended, as long as it is held. */
function linkLaunch(state: FoldState, at: At, call: string, id: string, owner: string | undefined): void {
  if (id === owner) return;
  const launch = launchAt(state, call, owner);
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
  }
  for (const { span, ...held } of state.held.filter(each => each.unlinked)) {
    if (span.kind !== 'subagent' || span.trace.segment !== launch.segment) continue;
    if (span.id === id) {
      span.launchedBy = call;
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
  delete state.subagents[subagent.id];
  const known = state.subagentRuns.find(([id]) => id === subagent.id);
  if (known) known[1] += 1;
  else state.subagentRuns.push([subagent.id, 1]);
  if (state.subagentRuns.length > OPEN_SUBAGENTS) state.subagentRuns.shift();
  const segment = state.segment?.number ?? 0;
  if (state.segment) state.segment.subagents += 1;
  const { launch } = subagent;
  hold(state, at, {
    of: `subagent:${subagent.id}:${subagent.ordinal}`,
    unread: state.settles.subagent === 'transcript',
    // Only a launching call that is still open can name it later.
    unlinked: !subagent.sure && launchesOpen(state),
    span: {
      kind: 'subagent',
      trace: traceOf(state),
      key: subagentKey(state, subagent.id, subagent.ordinal),
      parent: launch?.segment === segment ? launchKey(launch) : subagent.fallback,
      ...ends(subagent.startMs, endMs),
      duration: 'arrival',
      links:
        launch === undefined || launch.segment === segment
          ? subagent.links
          : [
              ...subagent.links,
              { trace: { ...traceOf(state), segment: launch.segment }, span: launchKey(launch), type: 'launched_by' },
            ],
      errorType: outcome === 'abandoned' ? 'abandoned' : undefined,
      mode: subagent.mode,
      risk: undefined,
      closedBy: at.event.event_id,
      id: subagent.id,
      agent: subagent.agent,
      ordinal: subagent.ordinal,
      outcome,
      actions: subagent.actions,
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
    odd(at.out, 'late_before');
    return;
  }
  if (Object.keys(state.actions).length >= OPEN_ACTIONS) {
    odd(at.out, 'too_many_actions');
    return;
  }
  const decision = decisionOf(data.decision?.outcome, facts);
  const action = actionOf(state, at, data.action, decision);
  put(state.actions, call, action);
  if (decision?.outcome === 'deny') closeAction(state, at, call, action, { outcome: 'denied', endMs: at.atMs });
}

function afterAction(state: FoldState, at: At, data: DataOf<'Action.After'>): void {
  const { facts, event } = at;
  const call = facts.call ?? event.event_id;
  if (leftBy(state).has(call)) {
    odd(at.out, 'late_after');
    return;
  }
  const open = own(state.actions, call);
  const action = open ?? actionOf(state, at, data.action, undefined);
  const result = data.action.result;
  const denied = data.decision?.outcome === 'deny';
  if (denied) action.decision = decisionOf('deny', facts);
  const launched = facts.launches?.id;
  if (launched !== undefined && facts.call !== undefined) linkLaunch(state, at, facts.call, launched, action.subagent);
  const outcome: ActionSpan['outcome'] = denied
    ? 'denied'
    : facts.interrupted
      ? 'interrupted'
      : result?.success === true
        ? 'success'
        : result?.success === false
          ? 'failure'
          : 'unknown';
  closeAction(state, at, call, action, {
    outcome,
    endMs: at.atMs,
    durationMs: facts.duration_ms,
    exitCode: result?.exit_code ?? facts.exit_code,
    errorType:
      outcome === 'failure'
        ? (facts.error_type ?? 'tool_error')
        : outcome === 'interrupted'
          ? 'interrupted'
          : undefined,
    seenBefore: open !== undefined,
  });
}

/** An action as its first event tells it. */
function actionOf(state: FoldState, at: At, { name }: Action, decision: FinishedDecision | undefined): OpenAction {
  const { facts, event } = at;
  return {
    call: facts.call,
    subagent: at.subagent,
    agent: facts.agent,
    turn: at.subagent === undefined ? state.turn?.key : undefined,
    name: name ?? 'unknown',
    tool: facts.tool ?? name ?? 'unknown',
    mcpServer: facts.mcp?.server,
    executable: facts.executable,
    beforeMs: at.atMs,
    askedMs: undefined,
    decision,
    risk: event.risk,
    mode: event.agent_mode,
    launches: facts.launches,
    overMs: undefined,
    parent: parentKey(state, at),
  };
}

interface Closing {
  outcome: ActionSpan['outcome'];
  endMs: number;
  durationMs?: number | undefined;
  exitCode?: number | undefined;
  errorType?: string | undefined;
  seenBefore?: boolean;
}

function closeAction(state: FoldState, at: At, call: string, action: OpenAction, closing: Closing): void {
  delete state.actions[call];
  leave(state, call);
  const { outcome, endMs, durationMs } = closing;
  const native = durationMs !== undefined && durationMs >= 0 && durationMs <= LONGEST_ACTION_MS;
  const startMs = native ? endMs - durationMs : action.beforeMs;
  let waitMs: number | undefined;
  if (action.askedMs !== undefined && (outcome === 'success' || outcome === 'failure' || outcome === 'interrupted')) {
    // A person was asked and the action ran: the person allowed it. The wait ends where the work began.
    action.decision = { outcome: 'allow', source: 'user', basis: 'inferred' };
    if (native) waitMs = Math.max(0, startMs - action.askedMs);
  }
  const segment = state.segment;
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
  } else if (state.turn && state.turn.key === action.turn) {
    const turn = state.turn;
    turn.startMs = Math.min(turn.startMs, startMs);
    turn.actions += 1;
    turn.risk = higher(turn.risk, action.risk);
    turn.waitMs += waitMs ?? 0;
    if (outcome === 'denied') turn.denied += 1;
    if (outcome === 'failure') turn.failed += 1;
  }
  hold(state, at, {
    of: `action:${call}`,
    unread: state.settles.action === 'transcript',
    unlinked: false,
    span: {
      kind: 'action',
      trace: traceOf(state),
      key: { kind: 'action', session: action.subagent ?? state.session, parts: [call] },
      parent: action.parent,
      ...ends(startMs, endMs),
      duration: native ? 'native' : closing.seenBefore === false ? 'none' : 'events',
      links: [],
      errorType: closing.errorType,
      mode: action.mode,
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
      waitMs,
      exitCode: closing.exitCode,
      executable: action.executable,
    },
  });
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
    if (action.askedMs !== undefined && wentOn) {
      action.decision = { outcome: 'deny', source: 'user', basis: 'inferred' };
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
  'Session.Start': (state, at) => {
    if (at.subagent !== undefined) subagentOf(state, at);
  },
  'Session.End': nothing,
  'Session.Abort': nothing,
  'Prompt.Submitted': (state, _at, event) => {
    const turn = state.turn;
    if (event.event_type !== 'Prompt.Submitted' || turn === undefined) return;
    turn.prompts += 1;
    turn.promptLength ??= event.data.prompt_length;
  },
  'Agent.Plan.Start': nothing,
  'Agent.Plan.End': nothing,
  'Agent.Decision': (state, at, event) => {
    if (event.event_type !== 'Agent.Decision' || at.facts.call === undefined) return;
    const action = own(state.actions, at.facts.call);
    const outcome = event.data.decision?.outcome;
    if (action === undefined || outcome === undefined) return;
    if (outcome === 'ask') action.askedMs ??= at.atMs;
    action.decision = decisionOf(outcome, at.facts);
  },
  'Agent.Response': nothing,
  'Model.Requested': nothing,
  'Model.Responded': nothing,
  'Model.Failed': nothing,
  'Action.Before': (state, at, event) => {
    if (event.event_type === 'Action.Before') openAction(state, at, event.data);
  },
  'Action.After': (state, at, event) => {
    if (event.event_type === 'Action.After') afterAction(state, at, event.data);
  },
  'Retry.Triggered': nothing,
  'Retry.Loop.Detected': nothing,
  'Retry.Loop.Aborted': nothing,
  'Context.UntilCompaction': nothing,
  'Context.Compaction': nothing,
  'Policy.Violation': nothing,
  'Policy.Blocked': nothing,
  'Policy.Override': nothing,
  'Agent.Notification': nothing,
  'Agent.Error': nothing,
};

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
  if (event.event_type === 'Agent.Response' && event.data.final && main) {
    closeTurn(state, at, 'completed', undefined, at.atMs);
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

/** Types that mean the agent is at work, so that a turn, a subagent or an ended session opens. */
function opensWork(event: Event): boolean {
  switch (event.event_type) {
    case 'Prompt.Submitted':
    case 'Agent.Plan.Start':
    case 'Agent.Response':
    case 'Model.Requested':
    case 'Model.Responded':
    case 'Model.Failed':
    case 'Action.Before':
    case 'Action.After':
      return true;
    default:
      return false;
  }
}

// ---------------------------------------------------------------- records

function record(state: FoldState, at: At): void {
  at.out.records.push({ event: at.event, trace: traceOf(state), span: contextOf(state, at) });
}

/** The span that an event happened in, nearest first. */
function contextOf(state: FoldState, at: At): SpanKey {
  const { facts, event } = at;
  const session = at.subagent ?? state.session;
  if (facts.call !== undefined) return { kind: 'action', session, parts: [facts.call] };
  if (event.event_type === 'Action.Before' || event.event_type === 'Action.After') {
    return { kind: 'action', session, parts: [event.event_id] };
  }
  return parentKey(state, at);
}

/** Where something that happens now hangs: in its subagent, else in the turn that runs, else in the session. */
function parentKey(state: FoldState, at: At): SpanKey {
  if (at.subagent !== undefined) {
    const open = own(state.subagents, at.subagent);
    const runs = state.subagentRuns.find(([id]) => id === at.subagent)?.[1];
    return subagentKey(state, at.subagent, open?.ordinal ?? Math.max(0, (runs ?? 1) - 1));
  }
  return mainKey(state);
}

const mainKey = (state: FoldState): SpanKey =>
  state.turn ? turnKey(state, state.turn.key, state.turn.ordinal) : sessionKey(state);

// ---------------------------------------------------------------- holding and releasing

function hold(state: FoldState, at: At, held: Held): void {
  if (state.segment) state.segment.spans += 1;
  if (held.unread || held.unlinked) state.held.push(held);
  else at.out.spans.push(held.span);
}

function settle(state: FoldState, of: string, out: Finished): void {
  for (const held of state.held) if (held.of === of) held.unread = false;
  release(state, out);
}

function release(state: FoldState, out: Finished): void {
  const ready = state.held.filter(held => !held.unread && !held.unlinked);
  if (ready.length === 0) return;
  state.held = state.held.filter(held => held.unread || held.unlinked);
  out.spans.push(...ready.map(held => held.span));
}

// ---------------------------------------------------------------- keys

const traceOf = (state: FoldState): TraceKey => ({
  agent: state.agent,
  session: state.session,
  segment: state.segment?.number ?? 0,
});
const sessionKey = (state: FoldState): SpanKey => ({
  kind: 'session',
  session: state.session,
  parts: [String(state.segment?.number ?? 0)],
});
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
