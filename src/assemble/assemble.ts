/**
 * The fold: the events of a session, in order, become finished spans and records.
 *
 * The fold has no clock, no disk and no environment, and it never throws. Every decision depends on the events alone;
 * silence is an event as well (`Session.Abort`). A span is emitted once, when it is closed and settled. An event closes
 * it: a closing hook, the next turn, the end of the session. The agent's contract defines which source settles it
 * (`settles`). The output therefore does not depend on the size of a round or on a repetition.
 *
 *   turn       Opens with the first event of an unknown prompt id, or with `Prompt.Submitted` for agents without ids. A
 *              prompt under the running id opens nothing. Closes at the final response, at a failure of the model, at the
 *              first event of another id, or at the end of the session. Events under the id of an emitted turn open a
 *              continuation.
 *   action     Opens with Action.Before and closes with Action.After, paired by native id, in either order. An action that
 *              is open at the end of its turn or subagent becomes denied if a person was asked and the agent went on,
 *              else abandoned.
 *   subagent   Opens and closes with its own Session.Start and Session.End. Its parent is the action that launched it.
 *   chat       One response of a model. It is emitted at once, as a child of its turn or subagent, even if it is late.
 *   plan       Opens and closes with the events of the agent, within its turn.
 *   segment    The trace of a part of a long session. A resume opens one, and so does a turn when the running segment is
 *              too large or too old. A turn is cut only if it alone is too large; it is then continued. With
 *              `trace.shape: turn`, only a resume opens a segment.
 *
 * Events of a transcript usually come late. They join the turn that they name, whether it is open, held or emitted, and
 * never end a turn that began after them.
 */
import { type Event, type Facts, factsOf, SETTLED, TOTALS } from '../event/event.ts';
import { own } from '../lib/read.ts';
import { msOf } from '../lib/timestamp.ts';
import { amend } from './amendments.ts';
import { closeEnded } from './closing.ts';
import { type At, clockOf, odd, opensWork } from './current-event.ts';
import { effects } from './effects.ts';
import type { Finished, FinishedSpan } from './finished.ts';
import { heldAction, releaseEnded, settle } from './holding.ts';
import { lateness } from './late-events.ts';
import { linkStated } from './launches.ts';
import { record } from './records.ts';
import { begin, noteRepository, noteVersion } from './segments.ts';
import type { FoldState, Held } from './state.ts';
import { noteTotals } from './stated-totals.ts';
import { subagentOf } from './subagents.ts';
import { heldLateTurn, moveTurn } from './turns.ts';

export const AMENDED = 'vendor.otel-hooks.Amended';

/** The type of the event that states the repository of the working folder: at the start, and after each change. */
export const REPOSITORY = 'vendor.otel-hooks.Repository';

/**
 * Folds one event into `state`, which the caller owns. Returns the finished spans and records; no records if
 * `isRecorded` is false.
 */
export function step(state: FoldState, event: Event, isRecorded = true): Finished {
  const out: Finished = { spans: [], records: [], oddities: {} };
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const atMs = msOf(event.timestamp);
  if (Number.isNaN(atMs)) {
    odd(out, 'no_time');
    return out;
  }
  if (event.event_type === SETTLED) {
    settle(state, String(event.data.of), event.data.reason === 'timeout', out);
    return out;
  }
  if (event.event_type === TOTALS) {
    noteTotals(state, { event, facts, atMs, subagent: undefined, out, late: undefined, isRecorded });
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
  if (at.late !== undefined) at.late.turn ??= heldLateTurn(state, at);
  if (at.late === undefined) {
    begin(state, at);
    if (subagent === undefined) moveTurn(state, at);
  }
  noteVersion(state, at);
  if (subagent !== undefined && opensWork(event) && (at.late === undefined || own(state.subagents, subagent)))
    subagentOf(state, at);
  linkStated(state, at);
  effects(state, at);
  record(state, at);
  const working = subagent === undefined ? undefined : own(state.subagents, subagent);
  if (working) working.lastMs = Math.max(working.lastMs ?? atMs, atMs);
  closeEnded(state, at);
  if (atMs > state.lastMs) {
    state.lastMs = atMs;
    state.lastTime = clockOf(at);
  }
  for (const span of out.spans) if (span.clamped) odd(out, 'clamped');
  return out;
}

/** The closed spans of an ended session that no Settled event released: older journals have none for actions. */
export function remaining(state: FoldState): FinishedSpan[] {
  const out: Finished = { spans: [], records: [], oddities: {} };
  releaseEnded(state, out);
  return out.spans;
}

/** The name of the first closed span that waits for its transcript. A Settled event answers it. */
export const firstUnread = (state: FoldState): string | undefined => state.held.find(held => held.unread)?.of;

/** Closed spans that wait for their transcript, in the order in which they were closed. */
export const awaited = (state: FoldState): Held[] => state.held.filter(held => held.unread);

/** Returns true if a later event of this call can still change its span. */
export const isAmendable = (state: FoldState, call: string): boolean =>
  own(state.actions, call) !== undefined || heldAction(state, call)?.unread === true;

/** Returns true if a span is open that only an end event or silence can close. */
export const isOpen = (state: FoldState): boolean =>
  (state.segment !== undefined && state.endedMs === undefined) ||
  state.turn !== undefined ||
  state.held.length > 0 ||
  Object.keys(state.subagents).length > 0 ||
  Object.keys(state.actions).length > 0;
