import { type DataOf, type Event, type EventType, isVendor, metadataOf } from '../event/event.ts';
import { own, put } from '../lib/read.ts';
import { afterAction, callNamed, decisionOf, openAction } from './actions.ts';
import { askedLate } from './amendments.ts';
import { ASKED, askedBy, chat } from './chats.ts';
import { contentWith } from './content.ts';
import { type At, higher } from './current-event.ts';
import { release } from './holding.ts';
import { isCurrent, turnOf } from './places.ts';
import { closePlan, openPlan } from './plans.ts';
import { closeLeftovers, closeSegment, follow } from './segments.ts';
import type { FoldState, OpenAction } from './state.ts';
import { closeSubagent, subagentOf } from './subagents.ts';
import { closeTurn, endHeld, endOfTurn } from './turns.ts';

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

/** What is risky beside the actions themselves. */
function raiseRisk(state: FoldState, at: At): void {
  const { risk } = at.event;
  if (state.turn && isCurrent(state, at)) state.turn.risk = higher(state.turn.risk, risk);
  if (state.segment) state.segment.risk = higher(state.segment.risk, risk);
}

export function effects(state: FoldState, at: At): void {
  for (const call of at.facts.over ?? []) {
    const action = own(state.actions, call);
    if (action) action.overMs ??= at.atMs;
  }
  if (!isVendor(at.event)) effectOf[at.event.event_type]?.(state, at, at.event);
}

/** What closes comes after the event's own record, so that the record still finds its span open. */
export function finish(state: FoldState, at: At): void {
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
