import { own, put } from '../lib/read.ts';
import { closeActions } from './actions.ts';
import { closeRequests } from './chats.ts';
import { type At, begunBy, clockFor, clockOf, ends, odd, originOf } from './current-event.ts';
import { hold } from './holding.ts';
import { mainKey, mainTrace, segmentTrace, subagentKey } from './keys.ts';
import { isIn, launchesAt, launchKey, launchOf } from './launches.ts';
import { closePlan } from './plans.ts';
import type { FoldState, OpenSubagent } from './state.ts';

export const OPEN_SUBAGENTS = 256;

/** Returns the open subagent of an event. The first event of an unknown subagent opens the subagent. */
export function subagentOf(state: FoldState, at: At): OpenSubagent | undefined {
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
    agent: at.facts.agent ?? launched?.agent,
    ordinal: runs,
    // Its first event may be a response, whose request is older.
    startMs: Math.min(at.atMs, at.facts.started_ms ?? at.atMs),
    time: clockOf(at),
    lastMs: at.atMs,
    depth: depthOf(state, at, launched?.launch.session),
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
  const launching = launched?.launch.call === undefined ? undefined : own(state.actions, launched.launch.call);
  launchesAt(launching, at.atMs);
  return subagent;
}

/** A subagent that another one launched is one level deeper. Without a known launch, only the first one is certain. */
function depthOf({ subagents, session }: FoldState, { facts }: At, launcher: string | undefined): number | undefined {
  if (facts.depth !== undefined) return facts.depth;
  if (launcher === undefined) return Object.keys(subagents).length === 0 ? 1 : undefined;
  const outer = launcher === session ? 0 : own(subagents, launcher)?.depth;
  return outer === undefined ? undefined : outer + 1;
}

export function closeSubagent(
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
  // The end of the subagent was not observed, so the time of its last event is its end.
  const lastMs = outcome === 'abandoned' ? Math.min(endMs, subagent.lastMs ?? endMs) : endMs;
  hold(state, at, {
    of: `subagent:${subagent.id}:${subagent.ordinal}`,
    unread: state.settles.subagent === 'transcript',
    // Only an open launching call can name the subagent later.
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
      depth: subagent.depth,
      actions: subagent.actions,
      usage: subagent.usage,
      complete: true,
      launchedBy: launch?.call,
    },
  });
}

/** Completes a held subagent whose end was not observed: its session ended before the row about its end was written. */
export function completeHeld(state: FoldState, at: At, id: string): void {
  const held = state.held.findLast(({ unread, span }) => unread && span.kind === 'subagent' && span.id === id);
  if (held?.span.kind !== 'subagent' || held.span.outcome !== 'abandoned') return;
  const { span } = held;
  Object.assign(span, { outcome: 'completed', errorType: undefined, closedBy: at.event.event_id });
  Object.assign(span, ends(span.startMs, Math.max(span.startMs, at.atMs)));
  if (span.duration !== clockOf(at)) span.duration = 'arrival';
  const known = state.subagentRuns.find(([each]) => each === id);
  if (known) known[2] = span.endMs;
}

const launchesOpen = (state: FoldState): boolean =>
  Object.values(state.actions).some(action => action.launches !== undefined);
