import type { DataOf } from '../event/event.ts';
import { own, put } from '../lib/read.ts';
import { type At, begunBy, ends, originOf } from './current-event.ts';
import { hold } from './holding.ts';
import { placeOf } from './places.ts';
import type { FoldState, OpenPlan } from './state.ts';

export function openPlan(state: FoldState, at: At, data: DataOf<'Agent.Plan.Start'>): void {
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

export function closePlan(
  state: FoldState,
  at: At,
  session: string,
  endMs: number,
  data?: DataOf<'Agent.Plan.End'>,
): void {
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
