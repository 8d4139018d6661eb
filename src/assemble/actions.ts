import { type Action, type DataOf, type Facts, metadataOf } from '../event/event.ts';
import { own, put } from '../lib/read.ts';
import { type Closing, endOf, isRefusal, waitedFor, withError } from './action-outcome.ts';
import { correct } from './amendments.ts';
import { contentWith } from './content.ts';
import { type At, higher, LONGEST_ACTION_MS, odd } from './current-event.ts';
import type { ActionSpan, FinishedDecision } from './finished.ts';
import { heldSession, heldTurn, hold } from './holding.ts';
import { segmentTrace } from './keys.ts';
import { keepLaunch, linkLaunch } from './launches.ts';
import { placeOf } from './places.ts';
import type { FoldState, OpenAction } from './state.ts';

const KNOWN_CALLS = 512;

const OPEN_ACTIONS = 1_024;

export function openAction(state: FoldState, at: At, data: DataOf<'Action.Before'>): void {
  const { facts, event } = at;
  const call = facts.call ?? event.event_id;
  if (own(state.actions, call) || leftBy(state).has(call)) {
    // A transcript may hold the start of a call whose end came from a hook.
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

export function afterAction(state: FoldState, at: At, data: DataOf<'Action.After'>): void {
  const { facts, event } = at;
  const call = facts.call ?? event.event_id;
  if (leftBy(state).has(call)) {
    // The held span was closed without an outcome. This event states it.
    if (!correct(state, at, call)) odd(at.out, 'late_after');
    return;
  }
  const open = own(state.actions, call);
  const action = open ?? actionOf(state, at, data.action, undefined);
  if (open) open.content = contentWith(open.content, event, facts);
  // Some agents name the MCP server after the start of the call.
  if (action.mcpServer === undefined || action.mcpServer === 'unknown')
    action.mcpServer = facts.mcp?.server ?? action.mcpServer;
  action.risk = higher(action.risk, at.event.risk);
  action.decision = decided(action.decision, data, facts);
  const launched = facts.launches?.id;
  if (launched !== undefined && facts.call !== undefined)
    linkLaunch(state, at, facts.call, launched, facts.launches?.agent, action);
  const { outcome, exitCode, errorType } = endOf(data, facts);
  const isRefused = isRefusal(outcome, action, facts);
  if (isRefused) action.decision = decisionOf('deny', facts);
  closeAction(state, at, call, action, {
    outcome: isRefused ? 'denied' : outcome,
    exitCode,
    errorType: isRefused ? undefined : errorType,
    endMs: at.atMs,
    durationMs: facts.duration_ms,
    time: facts.time ?? 'arrival',
    seenBefore: open !== undefined,
  });
}

/** An observed decision is not replaced by one that is inferred from the outcome. */
export function decided(
  before: FinishedDecision | undefined,
  { decision }: DataOf<'Action.After'>,
  facts: Partial<Facts>,
): FinishedDecision | undefined {
  const after = decisionOf(decision?.outcome, facts);
  return after && (after.basis === 'observed' || before?.outcome !== after.outcome) ? after : before;
}

/** Opens an action from its first event. */
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
    options: facts.options,
    content: contentWith(undefined, event, facts),
    beforeMs: at.atMs,
    time: facts.time ?? 'arrival',
    askedMs: undefined,
    decision,
    risk: event.risk,
    mode: event.agent_mode,
    actor: event.actor,
    metadata: metadataOf(event),
    launches: facts.launches,
    overMs: undefined,
    traceRecord: facts.trace_record,
    trace: place.trace,
    parent: place.key,
  };
}

function closeAction(state: FoldState, at: At, call: string, action: OpenAction, closed: Closing): void {
  const closing = withError(closed, action);
  delete state.actions[call];
  leave(state, call);
  keepLaunch(state, call, action, closing.endMs);
  const { outcome, endMs, durationMs } = closing;
  const native = durationMs !== undefined && durationMs >= 0 && durationMs <= LONGEST_ACTION_MS;
  // The agent's own duration may leave out the launch, during which the subagent's hook ran.
  const startMs = Math.min(native ? endMs - durationMs : action.beforeMs, action.launchedMs ?? endMs);
  const waitMs = settleWait(action, closing, native ? startMs : undefined);
  countAction(state, action, { outcome, startMs, waitMs });
  hold(state, at, {
    of: `action:${call}`,
    // Without a closing event the action waits for the transcript, which may hold its end.
    unread:
      state.settles.action === 'transcript' || (closing.time === undefined && state.settles.turn === 'transcript'),
    unlinked: false,
    span: {
      kind: 'action',
      trace: action.trace ?? segmentTrace(state),
      key: { kind: 'action', session: action.subagent ?? state.session, parts: [call] },
      parent: action.parent,
      startMs: Math.min(startMs, endMs),
      endMs,
      clamped: endMs < startMs,
      duration: native ? 'native' : durationSource(action, closing),
      links: [],
      errorType: closing.errorType,
      mode: action.mode,
      actor: action.actor,
      metadata: action.metadata,
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
      options: action.options,
      content: action.content,
      traceRecord: action.traceRecord ?? at.facts.trace_record,
    },
  });
}

const ran: ReadonlySet<string> = new Set(['success', 'failure', 'interrupted']);

/**
 * Returns the time that a person took to answer. If a person was asked and the action ran, the person allowed it, even
 * if no event states this. `startedMs`: the start of the work, if the agent states it; the wait ends there.
 */
function settleWait(action: OpenAction, closing: Closing, startedMs: number | undefined): number | undefined {
  const { askedMs } = action;
  if (askedMs === undefined) return undefined;
  const waitMs = waitedFor(askedMs, action, closing);
  if (!ran.has(closing.outcome)) return waitMs;
  if (action.decision?.outcome !== 'allow') action.decision = { outcome: 'allow', source: 'user', basis: 'inferred' };
  return startedMs === undefined ? waitMs : Math.max(0, startedMs - askedMs);
}

function durationSource(action: OpenAction, closing: Closing): ActionSpan['duration'] {
  if (closing.seenBefore === false) return 'none';
  return action.time === 'transcript' && closing.time === 'transcript' ? 'transcript' : 'events';
}

/**
 * Adds a closed action to the sums of its segment, and of its turn or subagent. None of them began after the action.
 */
function countAction(
  state: FoldState,
  action: OpenAction,
  { outcome, startMs, waitMs }: Pick<ActionSpan, 'outcome' | 'startMs' | 'waitMs'>,
): void {
  const ended = state.segment && state.endedMs !== undefined ? heldSession(state, state.segment.number) : undefined;
  const segment = ended ?? state.segment;
  const turn = action.turn === state.turn?.key ? state.turn : heldTurn(state, action.parent);
  for (const holder of [segment, action.subagent === undefined ? turn : undefined]) {
    if (holder === undefined) continue;
    holder.startMs = Math.min(holder.startMs, startMs);
    holder.actions += 1;
    holder.risk = higher(holder.risk, action.risk);
    if (outcome === 'denied') holder.denied += 1;
    if (outcome === 'failure') holder.failed += 1;
  }
  if (action.subagent === undefined) {
    if (turn !== undefined) turn.waitMs += waitMs ?? 0;
    return;
  }
  const subagent = own(state.subagents, action.subagent);
  if (subagent === undefined) return;
  subagent.startMs = Math.min(subagent.startMs, startMs);
  subagent.actions += 1;
}

/** Caches the calls whose spans were emitted as a set, as long as the state object exists. */
const leftSets = new WeakMap<FoldState, Set<string>>();

export function leftBy(state: FoldState): Set<string> {
  let known = leftSets.get(state);
  if (known === undefined) {
    known = new Set(state.leftCalls);
    leftSets.set(state, known);
  }
  return known;
}

function leave(state: FoldState, call: string): void {
  const left = leftBy(state);
  state.leftCalls.push(call);
  left.add(call);
  const oldest = state.leftCalls.length > KNOWN_CALLS ? state.leftCalls.shift() : undefined;
  if (oldest !== undefined) left.delete(oldest);
}

/** Closes the actions that are still open. None of them becomes a success. */
export function closeActions(
  state: FoldState,
  at: At,
  fits: (action: OpenAction) => boolean,
  endMs: number,
  wentOn: boolean,
): void {
  for (const [call, action] of Object.entries(state.actions)) {
    if (!fits(action)) continue;
    // All events of the action may arrive after the end of its turn.
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

export function decisionOf(
  outcome: FinishedDecision['outcome'] | undefined,
  facts: Partial<Facts>,
): FinishedDecision | undefined {
  if (outcome === undefined) return undefined;
  return { outcome, source: 'unknown', basis: 'observed', ...facts.decision };
}

/**
 * Returns the call of an event. If the event names an action but no call, the call is the only open one of that action.
 */
export function callNamed(state: FoldState, { event, facts, subagent }: At): string | undefined {
  if (facts.call !== undefined) return facts.call;
  const data = event.data as { action?: Action | undefined; action_name?: string | undefined };
  const name = data.action?.name ?? data.action_name;
  if (name === undefined) return undefined;
  const [only, ...others] = Object.entries(state.actions).filter(
    ([, action]) => action.subagent === subagent && (action.name === name || action.tool === name),
  );
  return others.length === 0 ? only?.[0] : undefined;
}

/** Event types that concern a whole action and may omit the call. */
export const aboutActions: ReadonlySet<string> = new Set([
  'Policy.Violation',
  'Policy.Blocked',
  'Policy.Override',
  'Retry.Loop.Aborted',
]);
