import type { Event, Facts } from '../event/event.ts';
import { own, put } from '../lib/read.ts';
import { aboutActions, callNamed } from './actions.ts';
import { modelError } from './chats.ts';
import type { At } from './current-event.ts';
import type { SpanKey, TraceKey } from './finished.ts';
import { heldAction } from './holding.ts';
import { chatKey, segmentTrace, sessionKey } from './keys.ts';
import { homeOf, placeOf } from './places.ts';
import type { FoldState } from './state.ts';

export function record(state: FoldState, at: At): void {
  if (!at.isRecorded) return;
  const { trace, span } = contextOf(state, at);
  const repository = state.segment?.repository;
  const depth = depthOf(state, at);
  const recurrence = recurrenceOf(state, at);
  const { event, out } = at;
  // Written out: a literal with further properties after a spread is several times slower.
  out.records.push({ event, as: undefined, trace, span, repository, depth, recurrence });
  if (isException(at)) out.records.push({ event, as: 'exception', trace, span, repository, depth, recurrence });
}

const depthOf = ({ subagents }: FoldState, { event, subagent }: At): number | undefined =>
  event.event_type === 'Session.Start' && subagent !== undefined ? own(subagents, subagent)?.depth : undefined;

const MOST_CLASSES = 32;

/** Returns how often the session had an error of this class before, and counts it. */
function recurrenceOf({ segment }: FoldState, { event, facts }: At): number | undefined {
  const errorClass = errorClassOf(event, facts);
  if (segment === undefined || errorClass === undefined) return undefined;
  segment.errors ??= {};
  const before = own(segment.errors, errorClass);
  if (before === undefined && Object.keys(segment.errors).length >= MOST_CLASSES) return undefined;
  put(segment.errors, errorClass, (before ?? 0) + 1);
  return before ?? 0;
}

function errorClassOf(event: Event, facts: Partial<Facts>): string | undefined {
  if (event.event_type === 'Model.Failed') return modelError(event.data, facts);
  if (event.event_type === 'Agent.Error') return facts.error_type ?? event.data.error_type ?? '_OTHER';
  // Parallel calls have no order, so failed actions count only for a sender that reports its errors one by one.
  return event.event_type === 'Action.After' && facts.is_error ? (facts.error_type ?? 'tool_error') : undefined;
}

/** Returns true if a failure of a model has more than `error.type`: an unknown type, or a message that was kept. */
function isException({ event, facts }: At): boolean {
  if (event.event_type !== 'Model.Failed') return false;
  const { error_type: type, error_message: message } = event.data;
  return message !== undefined || (type !== undefined && facts.error_type === undefined);
}

/** The innermost span of an event. */
function contextOf(state: FoldState, at: At): { trace: TraceKey; span: SpanKey } {
  const { facts, event } = at;
  const session = at.subagent ?? state.session;
  // Start and end belong to the session span, even if other hooks of the same moment arrived first.
  if (at.subagent === undefined && framing.has(event.event_type))
    return { trace: segmentTrace(state), span: sessionKey(state) };
  const place = placeOf(state, at);
  const call = aboutActions.has(event.event_type) ? callNamed(state, at) : facts.call;
  if (call !== undefined) {
    const trace = traceOfCall(state, call) ?? (at.late === undefined ? place : homeOf(state, at)).trace;
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

/** A call may end after its turn, or after the run of the program, in another trace than the running one. */
function traceOfCall(state: FoldState, call: string): TraceKey | undefined {
  const open = own(state.actions, call);
  if (open !== undefined) return open.trace;
  return heldAction(state, call)?.span.trace;
}
