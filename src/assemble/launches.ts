import { own } from '../lib/read.ts';
import type { At } from './current-event.ts';
import type { SpanKey, TraceKey } from './finished.ts';
import { heldAction, release } from './holding.ts';
import { mainTrace, sameTrace } from './keys.ts';
import type { FoldState, Launch, OpenAction } from './state.ts';
import { OPEN_SUBAGENTS } from './subagents.ts';

/** Number of ended launching calls that are kept for a subagent that is not known yet. */
const ENDED_LAUNCHES = 32;

/**
 * The call that launched a subagent: the one that the agent names, else the oldest open call for its kind without a
 * subagent.
 */
export function launchOf(
  state: FoldState,
  id: string,
  { facts: { agent, launched_by: call }, atMs }: At,
): { launch: Launch; sure: boolean; agent?: string | undefined } | undefined {
  const named = state.launches.findLast(launch => launch.subagent === id);
  if (named !== undefined) return { launch: named, sure: true, agent: named.agent };
  if (call !== undefined) {
    const launching = own(state.actions, call);
    return { launch: launchAt(state, call, launching), sure: true, agent: launching?.launches?.agent };
  }
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
  // A subagent of a transcript may have begun during a call that is over by now.
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

export const isIn = (launch: Launch, trace: TraceKey): boolean =>
  launch.trace === undefined ? launch.segment === trace.segment : sameTrace(launch.trace, trace);

export const launchKey = ({ call, session }: Launch): SpanKey => ({ kind: 'action', session, parts: [call] });

/** A launched subagent may begin a moment before its call: the call began no later. */
export function launchesAt(launching: OpenAction | undefined, startMs: number): void {
  if (launching) launching.launchedMs = Math.min(launching.launchedMs ?? startMs, startMs);
}

/** Corrects an inferred link when an event of the subagent names the call that launched it. */
export function linkStated(state: FoldState, at: At): void {
  const { facts, subagent: id } = at;
  const { launched_by: call } = facts;
  if (id === undefined || call === undefined) return;
  const open = own(state.subagents, id);
  const isInferred = open === undefined ? isUnlinked(state, id) : !open.sure;
  if (!isInferred) return;
  const held = heldAction(state, call)?.span;
  const launching = own(state.actions, call) ?? (held?.kind === 'action' ? held : undefined);
  linkLaunch(state, at, call, id, facts.agent, launching ?? { subagent: undefined, trace: undefined });
}

const isUnlinked = ({ held }: FoldState, id: string): boolean =>
  held.some(({ unlinked, span }) => unlinked && span.kind === 'subagent' && span.id === id);

/** Stores the subagent that the agent names for a call, and corrects inferred links of open and held spans. */
export function linkLaunch(
  state: FoldState,
  at: At,
  call: string,
  id: string,
  kind: string | undefined,
  action: Pick<OpenAction, 'subagent' | 'trace'>,
): void {
  if (id === action.subagent) return;
  const launching = own(state.actions, call);
  if (launching) launching.launched = true;
  const launch = launchAt(state, call, action);
  state.launches.push({ subagent: id, ...launch, agent: kind });
  if (state.launches.length > OPEN_SUBAGENTS) state.launches.shift();
  for (const other of Object.values(state.subagents)) {
    if (other.id !== id && other.launch?.call === call) {
      other.launch = undefined;
      other.sure = false;
    }
  }
  const open = own(state.subagents, id);
  if (open) {
    launchesAt(launching, open.startMs);
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

export function keepLaunch(state: FoldState, call: string, action: OpenAction, endMs: number): void {
  const { launches, launched, beforeMs } = action;
  if (launches === undefined || launches.id !== undefined || launched) return;
  const launch = { ...launchAt(state, call, action), agent: launches.agent, startMs: beforeMs, endMs };
  state.endedLaunches = [...(state.endedLaunches ?? []), launch].slice(-ENDED_LAUNCHES);
}
