/** The body of a log record: one line with the action, its object, outcome, decision and risk. */
import {
  type DataOf,
  type Event,
  type EventType,
  type Facts,
  FILE_WRITE,
  type Fields,
  isVendor,
  modelOf,
} from '../event/event.ts';
import { number } from '../lib/read.ts';
import { cleanText } from './clean.ts';

type Words = readonly (string | number | undefined)[];

const LONGEST = 1_024;

/** Ends with the first digits of the event id, because back ends merge equal lines of one instant. */
export function lineOf(event: Event, facts: Partial<Facts>): string {
  const words: Words = [
    event.event_type,
    ...(isVendor(event) ? writtenIn(event) : wordsOf(event, facts)),
    ...(event.parent_session_id === undefined ? [] : ['by subagent', facts.agent]),
    ...riskOf(event),
    event.event_id.slice(0, 8),
  ];
  const line = words.filter(word => word !== undefined && word !== '').join(' ');
  return cleanText(line.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' '), LONGEST);
}

const writtenIn = ({ event_type, data }: Event & { data: Fields }): Words =>
  event_type === FILE_WRITE ? [String(data.operation ?? ''), ...labelled('from line', number(data.start_line))] : [];

function wordsOf<T extends EventType>(event: Event & { event_type: T }, facts: Partial<Facts>): Words {
  // The row of a type takes the data of that type. A later version of the standard may add types.
  const says = table[event.event_type] as ((data: unknown, facts: Partial<Facts>) => Words) | undefined;
  return says?.(event.data, facts) ?? [];
}

const table: { readonly [T in EventType]: (data: DataOf<T>, facts: Partial<Facts>) => Words } = {
  'Session.Start': (data, facts) => [data.start_reason, facts.model],
  'Session.End': data => [data.end_reason, ...quantity(data.usage?.total_tokens, 'tokens')],
  'Session.Abort': data => [data.end_reason],
  'Prompt.Submitted': (data, facts) => [
    ...quantity(data.prompt_length, 'characters'),
    ...decidedBy(data.decision?.outcome, facts),
  ],
  'Agent.Plan.Start': data => [data.plan_type, ...quantity(data.step_count, 'steps')],
  'Agent.Plan.End': data => [data.plan_type, ...quantity(data.step_count, 'steps')],
  'Agent.Decision': (data, facts) => [
    facts.tool ?? data.action_name,
    facts.executable,
    ...decidedBy(data.decision?.outcome, facts),
  ],
  'Agent.Response': (data, facts) => [
    ...quantity(data.response_length, 'characters'),
    facts.interrupted ? 'interrupted' : undefined,
    data.final === false ? 'not final' : undefined,
    facts.error_type,
  ],
  'Model.Requested': (data, facts) => [modelOf(data, facts)],
  'Model.Responded': (data, facts) => [
    modelOf(data, facts),
    ...quantity(data.input_tokens, 'in'),
    ...quantity(data.output_tokens, 'out'),
    facts.finish,
  ],
  'Model.Failed': (data, facts) => [modelOf(data, facts), facts.error_type ?? data.error_type],
  'Action.Before': (data, facts) => [...acted(data.action.name, facts), ...decidedBy(data.decision?.outcome, facts)],
  'Action.After': (data, facts) => [
    ...acted(data.action.name, facts),
    ...decidedBy(data.decision?.outcome, facts),
    outcomeWord(data.action.result?.success),
    facts.error_type === 'exit_code' ? undefined : facts.error_type,
    ...exited(data.action.result?.exit_code ?? facts.exit_code),
    facts.duration_ms === undefined ? undefined : `${facts.duration_ms}ms`,
  ],
  'Retry.Triggered': (data, facts) => [
    facts.tool ?? data.action_name,
    ...labelled('attempt', data.attempt),
    facts.error_type,
  ],
  'Retry.Loop.Detected': (data, facts) => [facts.tool ?? data.action_name, ...quantity(data.iteration_count, 'times')],
  'Retry.Loop.Aborted': (data, facts) => [facts.tool ?? data.action_name, ...quantity(data.iteration_count, 'times')],
  'Context.UntilCompaction': data => [
    data.percentage_used === undefined ? undefined : `${Math.round(data.percentage_used)}%`,
    ...(data.tokens_used === undefined || data.tokens_limit === undefined
      ? []
      : [`${data.tokens_used} of ${data.tokens_limit} tokens`]),
  ],
  'Context.Compaction': (data, facts) => [
    data.trigger,
    facts.phase,
    ...quantity(data.tokens_removed, 'tokens removed'),
  ],
  'Policy.Violation': (data, facts) => [
    data.policy_name,
    data.rule,
    facts.tool ?? data.action?.name,
    ...(facts.budget === undefined ? [] : [`${facts.budget.used} of ${facts.budget.limit}`]),
  ],
  'Policy.Blocked': (data, facts) => [data.policy_name, data.rule, facts.tool ?? data.action?.name],
  'Policy.Override': (data, facts) => [data.policy_name, data.rule, facts.tool ?? data.action?.name],
  'Agent.Notification': (data, facts) => [data.type, facts.tool],
  'Agent.Error': (data, facts) => [facts.error_type ?? data.error_type, ...labelled('in', data.origin_event)],
};

const acted = (name: string | undefined, facts: Partial<Facts>): Words => [
  facts.tool ?? name,
  facts.executable,
  ...labelled('of', facts.mcp?.server),
];

const decidedBy = (outcome: string | undefined, { decision }: Partial<Facts>): Words =>
  outcome === undefined
    ? []
    : [outcome, ...labelled('by', decision?.source === 'unknown' ? undefined : decision?.source)];

const outcomeWord = (success: boolean | undefined): string | undefined =>
  success === undefined ? undefined : success ? 'ok' : 'failed';

const exited = (code: number | undefined): Words => (code === undefined || code === 0 ? [] : ['exit', code]);

const quantity = (count: number | undefined, of: string): Words => (count === undefined ? [] : [count, of]);
const labelled = (label: string, value: string | number | undefined): Words =>
  value === undefined ? [] : [label, value];

const riskOf = ({ risk }: Event): Words =>
  risk?.level === undefined || risk.level === 'low' ? [] : [`risk ${risk.level}`, ...(risk.factors ?? []).slice(0, 4)];
