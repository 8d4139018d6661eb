import { type DataOf, type Event, type EventOf, type EventType, isVendor, metadataOf } from '../event/event.ts';
import { own, put } from '../lib/read.ts';
import { afterAction, callNamed, decisionOf, openAction } from './actions.ts';
import { askedLate, decidedLate } from './amendments.ts';
import { chat, modelError, openRequest } from './chats.ts';
import { contentWith } from './content.ts';
import { type At, higher } from './current-event.ts';
import { isCurrent, turnOf } from './places.ts';
import { closePlan, openPlan } from './plans.ts';
import { linkPreviousSession } from './segments.ts';
import type { FoldState, OpenAction } from './state.ts';
import { noteCompaction } from './stated-totals.ts';
import { subagentOf } from './subagents.ts';

type Effect<T extends EventType> = (state: FoldState, at: At, event: EventOf<T>) => void;

const nothing = (): void => undefined;

/** One row per event type, so a new type does not compile without a row. */
const effectOf: { readonly [T in EventType]: Effect<T> } = {
  'Session.Start': (state, at, event) => {
    const begun = at.subagent === undefined ? state.segment : subagentOf(state, at);
    if (begun && at.late === undefined) Object.assign(begun, { actor: event.actor, metadata: metadataOf(event) });
    if (at.subagent !== undefined) return;
    if (at.facts.previous !== undefined && state.segment) state.segment.isContinued = true;
    if (at.facts.previous?.session !== undefined)
      linkPreviousSession(state, at.facts.previous.session, at.facts.previous.segment);
  },
  'Session.End': nothing,
  'Session.Abort': nothing,
  'Prompt.Submitted': (state, at, event) => {
    const turn = turnOf(state, at);
    if (turn === undefined) return;
    // The prompt began the turn, even if another event arrived first.
    if (turn.prompts === 0) Object.assign(turn, { actor: event.actor, metadata: metadataOf(event) });
    turn.prompts += 1;
    turn.promptLength ??= event.data.prompt_length;
    turn.isFollowup ??= event.data.is_followup;
    if (turn === state.turn && at.facts.no_turn_end) turn.isEndless = true;
    turn.content = contentWith(turn.content, event, at.facts);
  },
  'Agent.Plan.Start': (state, at, event) => openPlan(state, at, event.data),
  'Agent.Plan.End': (state, at, event) => closePlan(state, at, event.session_id, at.atMs, event.data),
  'Agent.Decision': (state, at, event) => {
    if (at.facts.call === undefined) return;
    const action = own(state.actions, at.facts.call);
    const outcome = event.data.decision?.outcome;
    if (action === undefined && outcome === 'ask') askedLate(state, at, at.facts.call);
    else if (action === undefined && (outcome === 'allow' || outcome === 'deny'))
      decidedLate(state, at, at.facts.call, outcome);
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
  'Model.Requested': (state, at) => openRequest(state, at),
  'Model.Responded': (state, at, event) => chat(state, at, event.data),
  'Model.Failed': (state, at, event) => chat(state, at, event.data, modelError(event.data, at.facts)),
  'Action.Before': (state, at, event) => openAction(state, at, event.data),
  'Action.After': (state, at, event) => afterAction(state, at, event.data),
  'Retry.Triggered': (state, at, event) => {
    if (event.data.action_name === undefined) return;
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
  'Context.UntilCompaction': (state, at, { data }) => {
    if (at.subagent !== undefined || at.late !== undefined) return;
    const { tokens_used: used, tokens_limit: limit, percentage_used: percent } = data;
    const isComputable = used !== undefined && limit !== undefined;
    const context = isComputable || percent === undefined ? { used, limit } : { used, limit, share: percent / 100 };
    for (const holder of [state.segment, state.turn]) if (holder) holder.context = context;
  },
  'Context.Compaction': (state, at, event) => {
    if (at.subagent === undefined) noteCompaction(state, at);
    // The start alone proves nothing: a compaction can be refused, and other requests run beside it.
    if (at.facts.phase === 'before') return;
    state.compactions ??= {};
    put(state.compactions, event.session_id, { ms: at.atMs, isTold: false });
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
    if (event.data.type !== 'ToolPermission') return;
    const action = at.facts.call === undefined ? undefined : own(state.actions, at.facts.call);
    if (action) action.askedMs ??= at.atMs;
  },
  'Agent.Error': (state, at, event) => {
    if (at.late !== undefined) return;
    const { error_type: type = '_OTHER' } = event.data;
    const errorType = at.facts.error_type ?? own(errorTypes, type) ?? (type === 'UnhandledException' ? '_OTHER' : type);
    if (isOfAction(event.data, at)) {
      const action = actionInError(state, at);
      if (action) action.errorType = errorType;
    } else if (at.subagent === undefined && state.turn && isCurrent(state, at)) state.turn.errorType ??= errorType;
  },
};

const errorTypes: { readonly [type: string]: string } = {
  ToolFailed: 'tool_error',
  ModelError: 'model_error',
  HookError: 'hook_error',
};

const isOfAction = ({ error_type, origin_event }: DataOf<'Agent.Error'>, { facts }: At): boolean =>
  facts.call !== undefined || error_type === 'ToolFailed' || origin_event?.startsWith('Action.') === true;

/** The action that the error names, otherwise the only open one. */
function actionInError(state: FoldState, { facts, subagent }: At): OpenAction | undefined {
  if (facts.call !== undefined) return own(state.actions, facts.call);
  const [only, ...others] = Object.values(state.actions).filter(action => action.subagent === subagent);
  return others.length === 0 ? only : undefined;
}

/** Raises the risk of turn and segment by an event that is not an action. */
function raiseRisk(state: FoldState, at: At): void {
  const { risk } = at.event;
  if (state.turn && isCurrent(state, at)) state.turn.risk = higher(state.turn.risk, risk);
  if (state.segment) state.segment.risk = higher(state.segment.risk, risk);
}

/** Notes the state that the agent states of the running session. */
function noteStatus({ segment }: FoldState, { event, facts, subagent, late }: At): void {
  const { session_cost_usd: costUsd, rate_limits: limits, model } = facts;
  const share =
    event.event_type === 'Context.UntilCompaction' ? (event as EventOf<'Context.UntilCompaction'>).data : undefined;
  const context = share?.percentage_used === undefined ? undefined : share.percentage_used / 100;
  if (segment === undefined || subagent !== undefined || late !== undefined) return;
  if (costUsd === undefined && limits === undefined && context === undefined) return;
  const { status } = segment;
  segment.status = {
    costUsd: costUsd ?? status?.costUsd,
    limits: limits ?? status?.limits,
    model: model ?? status?.model,
    context: context ?? status?.context,
  };
}

export function effects(state: FoldState, at: At): void {
  const { stated_budget: stated } = at.facts;
  if (at.late === undefined && stated !== undefined)
    for (const holder of [state.segment, state.turn]) if (holder) holder.context = stated;
  // The name of an agent definition that the sender states for the main agent.
  if (at.subagent === undefined && at.facts.agent !== undefined)
    for (const holder of [state.segment, state.turn]) if (holder) holder.agent ??= at.facts.agent;
  noteStatus(state, at);
  for (const call of at.facts.over ?? []) {
    const action = own(state.actions, call);
    if (action) action.overMs ??= at.atMs;
  }
  if (isVendor(at.event)) return;
  // The row of a type takes the events of that type, but the compiler cannot infer this from the index.
  const effect = effectOf[at.event.event_type] as ((state: FoldState, at: At, event: Event) => void) | undefined;
  effect?.(state, at, at.event);
}
