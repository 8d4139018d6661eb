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
import { type Event, type Facts, factsOf, SETTLED } from '../event/event.ts';
import { own } from '../lib/read.ts';
import { amend } from './amendments.ts';
import { closeEnded } from './closing.ts';
import { type At, clockOf, odd, opensWork } from './current-event.ts';
import { effects } from './effects.ts';
import type { Finished } from './finished.ts';
import { settle } from './holding.ts';
import { lateness } from './late-events.ts';
import { record } from './records.ts';
import { begin, noteRepository, noteVersion } from './segments.ts';
import type { FoldState, Held } from './state.ts';
import { subagentOf } from './subagents.ts';
import { moveTurn } from './turns.ts';

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
  closeEnded(state, at);
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
