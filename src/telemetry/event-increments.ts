import { REPOSITORY } from '../assemble/assemble.ts';
import {
  type BudgetFacts,
  type DataOf,
  type Event,
  type EventOf,
  type EventType,
  eventTypes,
  type Facts,
  FILE_WRITE,
  factsOf,
  isVendor,
} from '../event/event.ts';
import { msOf } from '../lib/timestamp.ts';
import { actionOnMetrics, decided } from './action-names.ts';
import { OTHER } from './cardinality.ts';
import { errorClassOf } from './error-classes.ts';
import { counterIncrement, type Increment, type Known, one } from './increments.ts';
import { development, type MetricId, ours, stable } from './names.ts';
import type { Plain } from './resource.ts';
import { modelOnMetrics } from './span-increments.ts';

export function fromEvent(event: Event, known: Known): Increment[] {
  if (event.event_type === REPOSITORY) return commitsIn(event.data.commits);
  // Events that otel-hooks derives are not counted as events of an agent.
  if (event.event_type.startsWith('vendor.otel-hooks.')) return [];
  const all = one('pipelineEvents', { [ours.eventType]: typeOnMetrics(event), [ours.pipelineResult]: 'accepted' });
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const { stated_budget: stated } = facts;
  const share = stated === undefined ? undefined : stated.used / stated.limit;
  const increments = [all, ...gaugesOf(event, facts), ...incrementsByType(event, known)];
  if (share !== undefined && share <= 1) increments.push({ metric: 'utilization', attributes: {}, value: share });
  return increments;
}

/** The state of a running session, as its agent states it. A subagent's context is not the session's. */
function gaugesOf(
  event: Event,
  { session_cost_usd: cost, rate_limits: limits = [], model }: Partial<Facts>,
): Increment[] {
  const ofModel: Plain = modelOnMetrics(model);
  const all: Increment[] = [];
  const measuredMs = msOf(event.timestamp);
  const add = (metric: MetricId, attributes: Plain, value: number) =>
    all.push({ metric, attributes, value, measuredMs });
  if (cost !== undefined) add('sessionCost', ofModel, cost);
  if (event.event_type === 'Context.UntilCompaction' && event.parent_session_id === undefined) {
    const share = (event.data.percentage_used ?? Number.NaN) / 100;
    if (share >= 0 && share <= 1) add('sessionContext', ofModel, share);
  }
  for (const { window, used, resets_at: reset } of limits) {
    const attributes = { [ours.limitWindow]: window };
    add('limitUsed', attributes, used);
    if (reset !== undefined) add('limitReset', attributes, reset);
  }
  return all;
}

const commitsIn = (commits: unknown): Increment[] =>
  counterIncrement('commits', Array.isArray(commits) ? commits.length : 0, {});

/** The increments of an event by its type. */
function incrementsByType(event: Event, known: Known): Increment[] {
  if (event.event_type === FILE_WRITE) return [one('fileWrites', written(event.data.operation))];
  if (isVendor(event)) return [];
  // The row of a type takes the events of that type, but the compiler cannot infer this from the index.
  const row = incrementsOfType[event.event_type] as Row<Event> | undefined;
  return row?.(event, factsOf(event) ?? {}, known) ?? [];
}

type Row<E> = (event: E, facts: Partial<Facts>, known: Known) => Increment[];

const loopIncrements =
  (state: 'detected' | 'aborted'): Row<EventOf<'Retry.Loop.Detected'>> =>
  ({ data }, _, known) => [
    one('loops', { [ours.actionName]: actionOnMetrics(data.action_name, known) ?? 'custom', [ours.loopState]: state }),
  ];

const policyIncrements =
  (outcome: string): Row<EventOf<'Policy.Violation'>> =>
  (_, { budget }) => [
    one('policyEvents', { [ours.decisionOutcome]: outcome }),
    ...(budget === undefined ? [] : [passed(budget)]),
  ];

/**
 * Types without a row are counted as events of the pipeline only. Their actions and responses are counted with the
 * spans.
 */
const incrementsOfType: { readonly [T in EventType]?: Row<EventOf<T>> } = {
  'Session.Start': ({ parent_session_id: parent, data }, { agent }) => {
    // Only senders that name an agent definition have a name here.
    const named: Plain = agent === undefined ? {} : { [development.agentName]: agent };
    return parent === undefined
      ? [one('sessionsStarted', { [ours.startReason]: data.start_reason ?? 'new', ...named })]
      : [];
  },
  'Prompt.Submitted': ({ data: { is_followup, decision }, risk }, facts) => {
    const prompt = one('prompts', { [ours.promptFollowup]: String(is_followup ?? 'unknown') });
    if (decision === undefined) return [prompt];
    const about = {
      [ours.decisionOutcome]: decision.outcome,
      [ours.decisionSource]: facts.decision?.source ?? 'unknown',
      [ours.actionName]: 'prompt',
      ...(risk?.level === undefined ? {} : { [ours.riskLevel]: risk.level }),
    };
    return [prompt, one('decisions', about)];
  },
  'Context.Compaction': ({ data }, { phase }) => {
    const about = { [ours.contextTrigger]: data.trigger ?? 'system' };
    // A compaction with two events is counted at the first event; the second event states the removed part. If there is
    // only one event, it does both.
    return [
      ...(phase === 'after' ? [] : [one('compactions', about)]),
      ...(phase === 'before'
        ? []
        : [...counterIncrement('tokensRemoved', data.tokens_removed, about), ...compression(data)]),
    ];
  },
  'Context.UntilCompaction': ({ data }, { crossed = [] }) => {
    const share = (data.percentage_used ?? Number.NaN) / 100;
    return [
      ...(share >= 0 && share <= 1 ? [{ metric: 'utilization', attributes: {}, value: share } as const] : []),
      ...crossed.map(percent => one('contextThresholds', { [ours.contextThreshold]: String(percent) })),
    ];
  },
  'Retry.Triggered': ({ data }, _, known) => [
    one('retries', { [ours.actionName]: actionOnMetrics(data.action_name, known) ?? 'model' }),
  ],
  'Retry.Loop.Detected': loopIncrements('detected'),
  'Retry.Loop.Aborted': loopIncrements('aborted'),
  'Policy.Violation': policyIncrements('violation'),
  'Policy.Blocked': policyIncrements('blocked'),
  'Policy.Override': policyIncrements('override'),
  'Agent.Error': ({ data }, { error_type }) => [
    one('errors', {
      [stable.errorType]: errorClassOf(data.error_type ?? error_type),
      ...originOf(data.origin_event),
    }),
  ],
  'Agent.Notification': ({ data }) => {
    const type = data.type ?? '';
    return [one('notifications', { [ours.notificationType]: notificationTypes.has(type) ? type : 'other' })];
  },
  'Agent.Decision': ({ data, risk }, facts, known) => {
    const { decision } = data;
    // The decision about a call is counted with the call. Only the question itself is counted here.
    if (decision === undefined || (decision.outcome !== 'ask' && facts.call !== undefined)) return [];
    const about = { name: data.action_name, tool: facts.tool, isMcp: facts.mcp !== undefined };
    return [decided(decision.outcome, facts.decision, about, known, risk?.level)];
  },
};

/** The type of Agent Hooks, OpenHook's `file.write`, or `other`. */
function typeOnMetrics(event: Event): string {
  if (event.event_type === FILE_WRITE) return 'file.write';
  return typesOfEvents.has(event.event_type) ? event.event_type : OTHER;
}

const written = (operation: unknown): Plain => ({
  [ours.fileOperation]: fileOperations.has(operation) ? String(operation) : 'unknown',
});

const fileOperations: ReadonlySet<unknown> = new Set(['create', 'update', 'delete']);

const originOf = (origin: string | undefined): Plain =>
  origin === undefined ? {} : { [ours.errorOrigin]: typesOfEvents.has(origin) ? origin : OTHER };

const typesOfEvents: ReadonlySet<string> = new Set(eventTypes);

const passed = ({ of, unit, state }: BudgetFacts): Increment =>
  one('budgets', { [ours.budgetOf]: of, [ours.budgetUnit]: unit, [ours.budgetState]: state });

function compression({ tokens_before: before, tokens_after: after }: DataOf<'Context.Compaction'>): Increment[] {
  if (before === undefined || after === undefined || !(before > 0 && after >= 0)) return [];
  return [{ metric: 'compression', attributes: {}, value: after / before }];
}

const notificationTypes = new Set(['ToolPermission', 'IdleTimeout', 'ErrorAlert']);
