/**
 * Queries of the dashboards, and the variables in them.
 *
 * A counter of otel-hooks begins with a session and ends with it. Therefore each range is read with `increase` over the
 * whole dashboard or over one interval, never with a rate at an instant. The range is anchored, because the few points of
 * a short session would be extrapolated to twice the count. The offset is negative: the bar at 10:05 counts from 10:05 to
 * 10:10, and the newest bar includes the present minute, as the numbers of a panel do.
 *
 * A running session has no root span in Tempo yet: sessions are found by `session.id`.
 */
import { dashboard } from './sdk.ts';

export const PROMETHEUS = { type: 'prometheus', uid: 'prometheus' };
export const LOKI = { type: 'loki', uid: 'loki' };
export const TEMPO = { type: 'tempo', uid: 'tempo' };

export interface Query {
  expr: string;
  legend?: string;
}

/** The choice of the first row. With a namespace, Prometheus calls a job `namespace/name`, and Loki only `name`. */
const OF_MACHINE = 'job=~"(.+/)?$agent",service_namespace=~"$team",deployment_environment_name=~"$environment"';
/** Repository and user are on series only where `metrics.include` lists them; `.*` matches a missing label. */
const CHOSEN = `${OF_MACHINE},vcs_repository_name=~"$repository",user_id=~"$user"`;
export const STREAM = '{service_name=~"$agent",service_namespace=~"$team",deployment_environment_name=~"$environment"}';

export const MODEL = ',gen_ai_request_model=~"$model"';
export const TOOL = ',gen_ai_tool_name=~"$tool"';
export const ERRORS = ',error_type!=""';
export const DENIED = ',agent_hooks_decision_outcome="deny"';
/** Events that the journal recorded. Duplicates, dropped and unreadable input have other results. */
export const ACCEPTED = ',agent_hooks_pipeline_result="accepted"';

export const ACTIONS = 'gen_ai_execute_tool_duration_seconds_count';
export const COMMITS = 'agent_hooks_vcs_commits_total';
export const COST = 'agent_hooks_cost_computed_USD_total';
export const TURNS = 'gen_ai_invoke_agent_duration_seconds';
const TOKENS = 'gen_ai_client_inference_usage_';
export const INPUT = `${TOKENS}input_tokens_total`;
export const OUTPUT = `${TOKENS}output_tokens_total`;
export const CACHE_READ = `${TOKENS}cache_read_input_tokens_total`;
export const CACHE_WRITE = `${TOKENS}cache_write_input_tokens_total`;
export const REASONING = `${TOKENS}reasoning_output_tokens_total`;

const summed = (metric: string, by: string, more: string, range: string, of = CHOSEN): string =>
  `sum${by && ` by (${by})`} (increase(${metric}{${of}${more}}[${range}))`;

const WHOLE = '$__range] $counts 0s';
const BAR = '$__interval] $counts -$__interval';
/** The count in the whole range of the dashboard. */
export const whole = (metric: string, by = '', more = ''): string => summed(metric, by, more, WHOLE);
/** The count of one week before. */
export const aWeekBefore = (metric: string, by = '', more = ''): string =>
  summed(metric, by, more, '$__range] $counts 1w');
/** The count of each bar. */
export const over = (metric: string, by = '', more = ''): string => summed(metric, by, more, BAR);
/** The counts up to each point of a line, and up to the same time one week before. */
export const upTo = (metric: string, by = '', more = ''): string => summed(metric, by, more, '$__interval] $counts 0s');
export const upToAWeekBefore = (metric: string, by = '', more = ''): string =>
  summed(metric, by, more, '$__interval] $counts 1w');
/** The counts of machines, whose own counters have neither repository nor user. */
export const wholeOfMachine = (metric: string, by = '', more = ''): string =>
  summed(metric, by, more, WHOLE, OF_MACHINE);
export const overOfMachine = (metric: string, by = '', more = ''): string => summed(metric, by, more, BAR, OF_MACHINE);

const QUANTILE_RANGES = { range: WHOLE, interval: BAR };

export function quantile(
  share: number,
  histogram: string,
  of: keyof typeof QUANTILE_RANGES,
  by = '',
  more = '',
): string {
  const buckets = summed(`${histogram}_bucket`, `le${by && `, ${by}`}`, more, QUANTILE_RANGES[of]);
  return `histogram_quantile(${share}, ${buckets})`;
}

/** A part of a count, 0 where the part is missing. */
export const shareOf = (part: string, all: string): string => `(${part} or ${all} * 0) / ${all}`;

/** The metric of the chosen agents at an instant. */
export const chosen = (metric: string, more = ''): string => `${metric}{${CHOSEN}${more}}`;

/** The last value of a gauge. An agent states each value once, so it is looked for in the whole range. */
export const last = (metric: string, by: string, range: string): string =>
  `max by (${by}) (last_over_time(${chosen(metric)}[${range}]))`;

/** Records of the chosen agents. On series a user is always `user_id`; on records, a hash of the user has its own name. */
export const records = (filter = ''): string =>
  `${STREAM} | vcs_repository_name=~"$repository" | (user_id=~"$user" or user_hash=~"$user")${filter && ` | ${filter}`}`;
export const ACTION_ENDED = 'event_name="agent_hooks.action.after"';
export const RESPONDED = 'event_name="agent_hooks.model.responded"';

/** The number of records in the whole range. */
export const recorded = (filter: string, by = ''): string =>
  `sum${by && ` by (${by})`} (count_over_time(${records(filter)} [$__range]))`;
/** The sum of a field of records in the whole range. */
export const added = (field: string, filter: string, by = ''): string =>
  `sum${by && ` by (${by})`} (sum_over_time(${records(`${filter} | ${field}!="" | unwrap ${field}`)} [$__range]))`;

export const agentVariable = choice(
  'agent',
  'Agent',
  `label_values(agent_hooks_pipeline_events_total{${ACCEPTED.slice(1)}}, job)`,
  '.+',
).regex('/^(?:.+\\/)?(.+)$/');
export const teamVariable = choice(
  'team',
  'Team',
  'label_values(agent_hooks_pipeline_events_total, service_namespace)',
  '.*',
);
export const environmentVariable = choice(
  'environment',
  'Environment',
  'label_values(agent_hooks_pipeline_events_total, deployment_environment_name)',
  '.*',
);
// A response without the name of a model counts as well.
export const modelVariable = choice('model', 'Model', `label_values(${OUTPUT}, gen_ai_request_model)`, '.*');
export const toolVariable = choice('tool', 'Tool', `label_values(${ACTIONS}, gen_ai_tool_name)`, '.*');
export const repositoryVariable = choice(
  'repository',
  'Repository',
  'label_values(agent_hooks_session_started_total, vcs_repository_name)',
  '.*',
);
export const userVariable = choice('user', 'User', 'label_values(agent_hooks_session_started_total, user_id)', '.*');

function choice(name: string, label: string, query: string, all: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(label)
    .datasource(PROMETHEUS)
    .query(query)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .current({ text: 'All', value: '$__all' })
    .allValue(all);
}

/** The modifier of ranges; each query adds its offset. Not every Prometheus knows `anchored`. */
const EXACT = 'anchored offset';
export const countsVariable = new dashboard.CustomVariableBuilder('counts')
  .label('Counts')
  .description('Exact counts need promql-extended-range-selectors in Prometheus. Others are extrapolated.')
  .values(`exact : ${EXACT}, extrapolated : offset`)
  .current({ text: 'exact', value: EXACT });

/** Ids of one session. An empty field means all; queries therefore match the field as a prefix. */
const id = (name: string, label: string, description: string, value = ''): dashboard.TextBoxVariableBuilder =>
  new dashboard.TextBoxVariableBuilder(name)
    .label(label)
    .description(description)
    .defaultValue(value)
    .current({ text: value, value });
export const sessionVariable = id('session', 'Session', 'The session.id, or its beginning');
/** A query that finds nothing: an empty one is an error. */
const NO_TRACE = '{false}';
export const traceVariable = id(
  'trace',
  'Trace',
  `The id of the drawn trace; a click on a trace fills it in. ${NO_TRACE} draws none.`,
  NO_TRACE,
);
export const segmentVariable = id(
  'segment',
  'Only trace',
  'Numbers and tables of one trace only; empty means the whole session',
);
export const spanVariable = id('span', 'Span', 'The id of one span; a click on an action fills it in');
