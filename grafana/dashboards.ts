/**
 * The dashboards, as code: `npm run dashboards` writes them as JSON beside this file, in the model that every Grafana
 * since 11 takes from a folder.
 *
 * Two rules. A counter of ours begins with a session and ends with it, so ranges are read with `increase` over the
 * whole dashboard or over the interval, never with a rate at an instant; and anchored, or the few points of a short session
 * would be extrapolated to twice what happened. And a session that still runs has no root span in Tempo: sessions are found
 * by `session.id`, never by their root.
 */
import { type cog, common, dashboard, logs, loki, prometheus, stat, table, tempo, timeseries } from './sdk.ts';

const PROMETHEUS = { type: 'prometheus', uid: 'prometheus' };
const LOKI = { type: 'loki', uid: 'loki' };
const TEMPO = { type: 'tempo', uid: 'tempo' };

/** What the variables of the first row leave. */
const AGENT = 'job=~"$agent"';
const STREAM = '{service_name=~"$agent"}';

export interface Written {
  file: string;
  uid: string;
  json: string;
}

type AnyPanel = cog.Builder<dashboard.Panel>;

interface Query {
  expr: string;
  legend?: string;
}

function promQuery({ expr, legend }: Query, i: number, instant: boolean): prometheus.DataqueryBuilder {
  const query = new prometheus.DataqueryBuilder()
    .refId(String.fromCharCode(65 + i))
    .datasource(PROMETHEUS)
    .expr(expr)
    .legendFormat(legend ?? '__auto');
  return instant ? query.instant() : query.range();
}

interface About {
  title: string;
  /** What it shows. */
  text: string;
  /** Why it may be empty on a normal day; stands in the empty panel. */
  empty?: string;
  unit?: string;
  width?: number;
  height?: number;
  /** The dashboard that says more. */
  more?: string;
}

/** What Grafana replaces in an address. */
const filled = (name: string): string => `\${${name}}`;
const kept = `${filled('__url_time_range')}&${filled('agent:queryparam')}`;

function linksOf({ more }: About): dashboard.DashboardLinkBuilder[] {
  if (more === undefined) return [];
  const link = new dashboard.DashboardLinkBuilder('More about it').type(dashboard.DashboardLinkType.Link);
  return [link.url(`/d/${more}?${kept}`)];
}

const withEmpty = ({ text, empty }: About): string => (empty === undefined ? text : `${text} ${empty}`);

/** One number, or some: a sum over the dashboard's whole range. */
function numbers(about: About, ...queries: Query[]): AnyPanel {
  const panel = number(about, PROMETHEUS);
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, true));
  });
  return panel;
}

/** The same of what log records say, for what no series may be made of: one session. */
function recordedNumbers(about: About, expr: string): AnyPanel {
  return number(about, LOKI).withTarget(
    new loki.DataqueryBuilder().refId('A').datasource(LOKI).queryType('instant').expr(expr),
  );
}

const number = (about: About, source: typeof PROMETHEUS): stat.PanelBuilder =>
  new stat.PanelBuilder()
    .title(about.title)
    .description(withEmpty(about))
    .datasource(source)
    .unit(about.unit ?? 'short')
    .span(about.width ?? 4)
    .height(about.height ?? 4)
    .noValue(about.empty ?? '0')
    .links(linksOf(about))
    .graphMode(common.BigValueGraphMode.None)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']));

/** Counts: stacked bars. */
function curve(about: About, ...queries: Query[]): AnyPanel {
  const panel = counts(about, PROMETHEUS);
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, false));
  });
  return panel;
}

function recordedCurve(about: About, { expr, legend }: Query): AnyPanel {
  const query = new loki.DataqueryBuilder().refId('A').datasource(LOKI).queryType('range').expr(expr);
  return counts(about, LOKI).withTarget(query.legendFormat(legend ?? '__auto'));
}

const counts = (about: About, source: typeof PROMETHEUS): timeseries.PanelBuilder =>
  series(about, source)
    .drawStyle(common.GraphDrawStyle.Bars)
    .fillOpacity(60)
    .stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal))
    .legend(legendWith('sum'));

/** Levels, which are not to be added up: lines. With exemplars, each of which is a way to its trace. */
function levels(about: About, ...queries: Query[]): AnyPanel {
  const panel = series(about, PROMETHEUS)
    .drawStyle(common.GraphDrawStyle.Line)
    .showPoints(common.VisibilityMode.Always)
    .spanNulls(true)
    .legend(legendWith('max'));
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, false).exemplar(true));
  });
  return panel;
}

function recordedLevels(about: About, { expr, legend }: Query): AnyPanel {
  const query = new loki.DataqueryBuilder().refId('A').datasource(LOKI).queryType('range').expr(expr);
  return series(about, LOKI)
    .drawStyle(common.GraphDrawStyle.Line)
    .showPoints(common.VisibilityMode.Always)
    .spanNulls(true)
    .legend(legendWith('max'))
    .withTarget(query.legendFormat(legend ?? '__auto'));
}

function series(about: About, source: typeof PROMETHEUS): timeseries.PanelBuilder {
  return (
    new timeseries.PanelBuilder()
      .title(about.title)
      .description(withEmpty(about))
      .datasource(source)
      .unit(about.unit ?? 'short')
      .span(about.width ?? 12)
      .height(about.height ?? 8)
      .min(0)
      .noValue(about.empty ?? 'Nothing in this range')
      .links(linksOf(about))
      // Machines send when something happens: in a shorter interval there would be a single point, and no increase.
      .interval('5m')
      .tooltip(
        new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
      )
  );
}

const legendWith = (calculation: string): common.VizLegendOptionsBuilder =>
  new common.VizLegendOptionsBuilder()
    .showLegend(true)
    .placement(common.LegendPlacement.Bottom)
    .displayMode(common.LegendDisplayMode.Table)
    .calcs([calculation]);

function ranking(about: About, query: Query): AnyPanel {
  return ranked(about, PROMETHEUS).withTarget(promQuery(query, 0, true).format(prometheus.PromQueryFormat.Table));
}

function recordedRanking(about: About, expr: string): AnyPanel {
  return ranked(about, LOKI).withTarget(
    new loki.DataqueryBuilder().refId('A').datasource(LOKI).queryType('instant').expr(expr),
  );
}

const ranked = (about: About, source: typeof PROMETHEUS): table.PanelBuilder =>
  new table.PanelBuilder()
    .title(about.title)
    .description(withEmpty(about))
    .datasource(source)
    .span(about.width ?? 12)
    .height(about.height ?? 8)
    .noValue(about.empty ?? 'Nothing in this range')
    .links(linksOf(about))
    .overrideByName(about.title, [{ id: 'unit', value: about.unit ?? 'short' }])
    .withTransformation({
      id: 'organize',
      options: { excludeByName: { Time: true }, renameByName: { Value: about.title, 'Value #A': about.title } },
    })
    .withTransformation({ id: 'sortBy', options: { sort: [{ field: about.title, desc: true }] } });

function lines(about: About, expr: string): AnyPanel {
  return new logs.PanelBuilder()
    .title(about.title)
    .description(withEmpty(about))
    .datasource(LOKI)
    .span(about.width ?? 24)
    .height(about.height ?? 12)
    .noValue(about.empty ?? 'Nothing in this range')
    .showTime(true)
    .enableLogDetails(true)
    .wrapLogMessage(true)
    .sortOrder(common.LogsSortOrder.Descending)
    .withTarget(new loki.DataqueryBuilder().refId('A').datasource(LOKI).expr(expr));
}

/** Traces, or with `select` the spans: their `session.id` is a way to the dashboard of that session. */
function traces(about: About, query: string): AnyPanel {
  const asSpans = query.includes('select(');
  return new table.PanelBuilder()
    .title(about.title)
    .description(withEmpty(about))
    .datasource(TEMPO)
    .span(about.width ?? 24)
    .height(about.height ?? 10)
    .noValue(about.empty ?? 'Nothing in this range')
    .overrideByName('session.id', [
      {
        id: 'links',
        value: [{ title: 'This session', url: `/d/otel-hooks-session?var-session=${filled('__value.raw')}&${kept}` }],
      },
    ])
    .overrideByRegexp('agent_hooks.cost.*_usd|agent_hooks.cost.usd', [{ id: 'unit', value: 'currencyUSD' }])
    .withTarget(
      new tempo.DataqueryBuilder()
        .refId('A')
        .datasource(TEMPO)
        .queryType('traceql')
        .tableType(asSpans ? tempo.SearchTableType.Spans : tempo.SearchTableType.Traces)
        .limit(50)
        .query(query),
    );
}

const whole = (metric: string, by = '', more = ''): string =>
  `sum${by && ` by (${by})`} (increase(${metric}{${AGENT}${more}}[$__range] $counts))`;
const over = (metric: string, by = '', more = ''): string =>
  `sum${by && ` by (${by})`} (increase(${metric}{${AGENT}${more}}[$__interval] $counts))`;
const share = (quantile: number, histogram: string, range: string, by = '', more = ''): string =>
  `histogram_quantile(${quantile}, sum by (le${by && `, ${by}`}) (increase(${histogram}_bucket{${AGENT}${more}}[${range}] $counts)))`;

const MODEL = ',gen_ai_request_model=~"$model"';
const TOOL = ',gen_ai_tool_name=~"$tool"';
const ERRORS = ',error_type!=""';
const TOKENS = 'gen_ai_client_inference_usage_';
/** Of events; the others came again, could not be read or were dropped, and no agent has them. */
const ACCEPTED = ',agent_hooks_pipeline_result="accepted"';

const agentVariable = choice(
  'agent',
  'Agent',
  `label_values(agent_hooks_pipeline_events_total{${ACCEPTED.slice(1)}}, job)`,
  '.+',
);
const modelVariable = choice(
  'model',
  'Model',
  `label_values(${TOKENS}output_tokens_total, gen_ai_request_model)`,
  // A response without a model's name counts as well.
  '.*',
);
const toolVariable = choice(
  'tool',
  'Tool',
  'label_values(gen_ai_execute_tool_duration_seconds_count, gen_ai_tool_name)',
  '.*',
);

function choice(name: string, label: string, query: string, all: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(label)
    .datasource(PROMETHEUS)
    .query(query)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .allValue(all);
}

/** Not every Prometheus can anchor a range; without an offset it is what it was. */
const EXACT = 'anchored';
const countsVariable = new dashboard.CustomVariableBuilder('counts')
  .label('Counts')
  .description('Exact ones need promql-extended-range-selectors in Prometheus; others are extrapolated')
  .values(`exact : ${EXACT}, extrapolated : offset 0s`)
  .current({ text: 'exact', value: EXACT });

const sessionVariable = new dashboard.TextBoxVariableBuilder('session')
  .label('Session')
  .description('The session.id, or a pattern of it')
  .defaultValue('.+');

interface Board {
  uid: string;
  title: string;
  description: string;
  variables?: cog.Builder<dashboard.VariableModel>[];
  rows: { title: string; panels: AnyPanel[] }[];
}

// A cost is a double, and Tempo finds no double that is compared with a whole number.
const EXPENSIVE =
  '{ name =~ "session .*" && span.agent_hooks.cost.usd > 0.0 && resource.service.name =~ "$agent" }' +
  ' | select(span.session.id, span.agent_hooks.cost.usd, span.gen_ai.usage.output_tokens, span.agent_hooks.session.actions)';
const NO_TOKENS = 'Empty where no agent keeps a transcript or tells tokens.';
const SESSION_STREAM = `${STREAM} | session_id=~"$session"`;
const RESPONSES = `${SESSION_STREAM} | event_name="agent_hooks.model.responded"`;

const boards: Board[] = [
  {
    uid: 'otel-hooks-fleet',
    title: 'Agents: fleet',
    description: 'Which agents work, how much, what it costs, and where it goes wrong.',
    variables: [countsVariable],
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Sessions', text: 'Sessions that started.', width: 3 },
            { expr: whole('agent_hooks_session_started_total') },
          ),
          numbers(
            { title: 'Prompts', text: 'Prompts submitted by people.', width: 3 },
            { expr: whole('agent_hooks_prompt_submitted_total') },
          ),
          numbers(
            {
              title: 'Actions',
              text: 'Actions that ended, failed ones among them.',
              width: 3,
              more: 'otel-hooks-tools',
            },
            { expr: whole('gen_ai_execute_tool_duration_seconds_count') },
          ),
          numbers(
            { title: 'Failed actions', text: 'Actions that ended with an error.', width: 3, more: 'otel-hooks-tools' },
            { expr: whole('gen_ai_execute_tool_duration_seconds_count', '', ERRORS) },
          ),
          numbers(
            {
              title: 'Denied',
              text: 'Decisions against an action, whoever took them.',
              width: 3,
              more: 'otel-hooks-decisions',
            },
            { expr: whole('agent_hooks_decisions_total', '', ',agent_hooks_decision_outcome="deny"') },
          ),
          numbers(
            { title: 'Loops', text: 'Times that an agent went in circles.', width: 3, more: 'otel-hooks-loops' },
            { expr: whole('agent_hooks_retry_loops_total', '', ',agent_hooks_retry_state="detected"') },
          ),
          numbers(
            {
              title: 'Cost',
              text: 'By a list of prices, whatever your contract says.',
              unit: 'currencyUSD',
              width: 3,
              more: 'otel-hooks-tokens',
            },
            { expr: whole('agent_hooks_cost_computed_USD_total') },
          ),
          numbers(
            { title: 'Machines', text: 'Installations that sent something.', width: 3, more: 'otel-hooks-pipeline' },
            {
              expr: `count(count by (instance) (last_over_time(agent_hooks_pipeline_events_total{${AGENT}${ACCEPTED}}[$__range])))`,
            },
          ),
        ],
      },
      {
        title: 'Over time',
        panels: [
          curve(
            { title: 'Sessions by agent', text: 'Sessions that started.' },
            { expr: over('agent_hooks_session_started_total', 'job'), legend: '{{job}}' },
          ),
          curve(
            { title: 'Cost by agent', text: 'By a list of prices.', empty: NO_TOKENS, unit: 'currencyUSD' },
            { expr: over('agent_hooks_cost_computed_USD_total', 'job'), legend: '{{job}}' },
          ),
          curve(
            { title: 'Actions by tool', text: 'Actions that ended. MCP tools stand together as one.' },
            {
              expr: over('gen_ai_execute_tool_duration_seconds_count', 'gen_ai_tool_name'),
              legend: '{{gen_ai_tool_name}}',
            },
          ),
          curve(
            {
              title: 'Failures by kind',
              text: 'Actions that ended with an error.',
              empty: 'Empty on a day without any.',
            },
            {
              expr: over('gen_ai_execute_tool_duration_seconds_count', 'error_type', ERRORS),
              legend: '{{error_type}}',
            },
          ),
          curve(
            {
              title: 'Errors of agents',
              text: 'What went wrong in the agent itself, its model or its limits.',
              empty: 'Empty on a day without any.',
            },
            { expr: over('agent_hooks_errors_total', 'error_type'), legend: '{{error_type}}' },
          ),
          curve(
            { title: 'Events by type', text: 'Everything that agents told, as Agent Hooks names it.' },
            {
              expr: over('agent_hooks_pipeline_events_total', 'agent_hooks_event_type', ACCEPTED),
              legend: '{{agent_hooks_event_type}}',
            },
          ),
        ],
      },
      {
        title: 'Sessions',
        panels: [
          traces(
            {
              title: 'Sessions that are over',
              text: 'With what they cost and did. A session that still runs is among the turns below.',
            },
            '{ name =~ "session .*" && resource.service.name =~ "$agent" } | select(span.session.id, span.agent_hooks.cost.usd, span.agent_hooks.session.actions, span.agent_hooks.session.actions_failed, span.agent_hooks.session.actions_denied)',
          ),
          traces(
            { title: 'Latest turns', text: 'Turns of the agents, newest first. A trace opens with its whole session.' },
            '{ span.gen_ai.operation.name = "invoke_agent" && resource.service.name =~ "$agent" }',
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-session',
    title: 'Agents: one session',
    description:
      'Everything about one session: put its id into the field above, or come here from a trace or a log line.',
    variables: [sessionVariable],
    rows: [
      {
        title: 'Session',
        panels: [
          recordedNumbers(
            { title: 'Prompts', text: 'Prompts of the session.' },
            `sum (count_over_time(${SESSION_STREAM} | event_name="agent_hooks.prompt.submitted" [$__range]))`,
          ),
          recordedNumbers(
            { title: 'Actions', text: 'Actions that ended.' },
            `sum (count_over_time(${SESSION_STREAM} | event_name="agent_hooks.action.after" [$__range]))`,
          ),
          recordedNumbers(
            { title: 'Warnings', text: 'Denials, failures, loops, budgets.' },
            `sum (count_over_time(${SESSION_STREAM} | severity_number>=13 [$__range]))`,
          ),
          recordedNumbers(
            { title: 'Input tokens', text: 'Given to models, cached ones among them.' },
            `sum (sum_over_time(${RESPONSES} | unwrap gen_ai_usage_input_tokens [$__range]))`,
          ),
          recordedNumbers(
            { title: 'Output tokens', text: 'Given by models.' },
            `sum (sum_over_time(${RESPONSES} | unwrap gen_ai_usage_output_tokens [$__range]))`,
          ),
          recordedNumbers(
            { title: 'Cost', text: 'By a list of prices.', unit: 'currencyUSD' },
            `sum (sum_over_time(${RESPONSES} | agent_hooks_cost_usd!="" | unwrap agent_hooks_cost_usd [$__range]))`,
          ),
          traces(
            { title: 'Traces', text: 'A long session is several traces, linked to each other.' },
            '{ span.session.id =~ "$session" }',
          ),
        ],
      },
      {
        title: 'Over time',
        panels: [
          recordedCurve(
            { title: 'Timeline', text: 'What happened when, by type of event.', width: 24 },
            {
              expr: `sum by (agent_hooks_event_type) (count_over_time(${SESSION_STREAM} [$__interval]))`,
              legend: '{{agent_hooks_event_type}}',
            },
          ),
          recordedCurve(
            { title: 'Output tokens by model', text: 'As responses came.', empty: NO_TOKENS },
            {
              expr: `sum by (gen_ai_request_model) (sum_over_time(${RESPONSES} | unwrap gen_ai_usage_output_tokens [$__interval]))`,
              legend: '{{gen_ai_request_model}}',
            },
          ),
          recordedLevels(
            {
              title: 'Context in use',
              text: "Share of the model's window, each time that it is known.",
              empty: 'Empty where the agent does not state the size of the window.',
              unit: 'percentunit',
            },
            {
              expr: `max (max_over_time(${SESSION_STREAM} | agent_hooks_context_utilization!="" | unwrap agent_hooks_context_utilization [$__interval]))`,
              legend: 'in use',
            },
          ),
        ],
      },
      {
        title: 'What happened',
        panels: [
          recordedRanking(
            {
              title: 'Decisions',
              text: 'How often what was decided, and by whom.',
              empty: 'Empty where nothing was asked.',
            },
            `sum by (agent_hooks_decision_outcome, agent_hooks_decision_source, gen_ai_tool_name) (count_over_time(${SESSION_STREAM} | agent_hooks_decision_outcome!="" [$__range]))`,
          ),
          recordedRanking(
            { title: 'Actions by tool', text: 'Actions that ended.' },
            `sum by (gen_ai_tool_name, agent_hooks_action_success) (count_over_time(${SESSION_STREAM} | event_name="agent_hooks.action.after" [$__range]))`,
          ),
          lines(
            {
              title: 'Decisions, failures, warnings',
              text: 'What somebody should look at.',
              empty: 'Empty for a session that ran smoothly.',
              height: 8,
            },
            `${SESSION_STREAM} | severity_number>=13`,
          ),
          lines(
            { title: 'Events', text: 'One line for each event, in the order in which it happened.' },
            SESSION_STREAM,
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-tokens',
    title: 'Agents: tokens and cost',
    description:
      'What models were given and gave, and what that costs. Tokens come from the transcripts of the agents or from what they tell; an agent with neither has none here. Cost is by a list of prices (docs/cost.md).',
    variables: [modelVariable, countsVariable],
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Cost', text: 'By a list of prices.', unit: 'currencyUSD' },
            { expr: whole('agent_hooks_cost_computed_USD_total', '', MODEL) },
          ),
          numbers(
            {
              title: 'Reported cost',
              text: 'What agents themselves say, where they do.',
              empty: 'No agent says it.',
              unit: 'currencyUSD',
            },
            { expr: whole('agent_hooks_cost_reported_USD_total', '', MODEL) },
          ),
          numbers(
            { title: 'Without a price', text: 'Tokens of models that no list has a price for; cost is without them.' },
            { expr: whole('agent_hooks_cost_unpriced_total', '', MODEL) },
          ),
          numbers(
            { title: 'Input', text: 'Tokens given to models, cached ones among them.' },
            { expr: whole(`${TOKENS}input_tokens_total`, '', MODEL) },
          ),
          numbers(
            { title: 'Output', text: 'Tokens that models gave, reasoning among them.' },
            { expr: whole(`${TOKENS}output_tokens_total`, '', MODEL) },
          ),
          numbers(
            { title: 'Read from cache', text: 'Share of the input that came from a cache.', unit: 'percentunit' },
            {
              expr: `${whole(`${TOKENS}cache_read_input_tokens_total`, '', MODEL)} / ${whole(`${TOKENS}input_tokens_total`, '', MODEL)}`,
            },
          ),
        ],
      },
      {
        title: 'Cost',
        panels: [
          curve(
            { title: 'Cost by model', text: 'By a list of prices.', empty: NO_TOKENS, unit: 'currencyUSD' },
            {
              expr: over('agent_hooks_cost_computed_USD_total', 'gen_ai_request_model', MODEL),
              legend: '{{gen_ai_request_model}}',
            },
          ),
          ranking(
            { title: 'Cost by agent and model', text: 'In the whole range.', empty: NO_TOKENS, unit: 'currencyUSD' },
            { expr: whole('agent_hooks_cost_computed_USD_total', 'job, gen_ai_request_model', MODEL) },
          ),
          traces(
            {
              title: 'Sessions that cost most',
              text: 'Sessions that are over; sort by a column.',
              empty: NO_TOKENS,
              width: 16,
            },
            EXPENSIVE,
          ),
          ranking(
            {
              title: 'Tokens without a price',
              text: 'Give these models a price in `cost.prices`.',
              empty: 'Empty where every model has a price.',
              width: 8,
              height: 10,
            },
            {
              expr: `${whole('agent_hooks_cost_unpriced_total', 'gen_ai_provider_name, gen_ai_request_model', MODEL)} > 0`,
            },
          ),
        ],
      },
      {
        title: 'Tokens',
        panels: [
          curve(
            { title: 'Input by model', text: 'Tokens given, cached ones among them.', empty: NO_TOKENS },
            {
              expr: over(`${TOKENS}input_tokens_total`, 'gen_ai_request_model', MODEL),
              legend: '{{gen_ai_request_model}}',
            },
          ),
          curve(
            { title: 'Output by model', text: 'Tokens that models gave.', empty: NO_TOKENS },
            {
              expr: over(`${TOKENS}output_tokens_total`, 'gen_ai_request_model', MODEL),
              legend: '{{gen_ai_request_model}}',
            },
          ),
          curve(
            { title: 'Parts of it', text: 'Read from caches, written to them, reasoning.', empty: NO_TOKENS },
            { expr: over(`${TOKENS}cache_read_input_tokens_total`, '', MODEL), legend: 'read from a cache' },
            { expr: over(`${TOKENS}cache_write_input_tokens_total`, '', MODEL), legend: 'written to a cache' },
            { expr: over(`${TOKENS}reasoning_output_tokens_total`, '', MODEL), legend: 'reasoning' },
          ),
          levels(
            {
              title: 'Length of responses, 95 of 100',
              text: 'From what was asked to the last word, where both are known.',
              empty: NO_TOKENS,
              unit: 's',
            },
            {
              expr: share(
                0.95,
                'gen_ai_client_inference_duration_seconds',
                '$__interval',
                'gen_ai_request_model',
                MODEL,
              ),
              legend: '{{gen_ai_request_model}}',
            },
          ),
          ranking(
            { title: 'Output tokens by agent and model', text: 'In the whole range.', empty: NO_TOKENS, width: 24 },
            { expr: whole(`${TOKENS}output_tokens_total`, 'job, gen_ai_request_model', MODEL) },
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-decisions',
    title: 'Agents: decisions and risk',
    description: 'What was allowed, asked and denied, by whom, how risky it was and how long people were waited for.',
    variables: [toolVariable, countsVariable],
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Decisions', text: 'Decisions that agents told or that follow from what they did.' },
            { expr: whole('agent_hooks_decisions_total', '', TOOL) },
          ),
          numbers(
            { title: 'Denied', text: 'Decisions against an action.' },
            { expr: whole('agent_hooks_decisions_total', '', `${TOOL},agent_hooks_decision_outcome="deny"`) },
          ),
          numbers(
            { title: 'By people', text: 'Decisions that a person took.' },
            { expr: whole('agent_hooks_decisions_total', '', `${TOOL},agent_hooks_decision_source="user"`) },
          ),
          numbers(
            { title: 'Of high risk', text: 'Decisions on actions of high or critical risk (docs/risk.md).' },
            { expr: whole('agent_hooks_decisions_total', '', `${TOOL},agent_hooks_risk_level=~"high|critical"`) },
          ),
          numbers(
            { title: 'Against policies', text: 'Violations, blocks and overrides, those of budgets among them.' },
            { expr: whole('agent_hooks_policy_events_total') },
          ),
          numbers(
            {
              title: 'Waited for people',
              text: 'Time in which agents waited for an answer, all together.',
              unit: 's',
            },
            { expr: whole('agent_hooks_decision_wait_seconds_sum') },
          ),
        ],
      },
      {
        title: 'Decisions',
        panels: [
          curve(
            { title: 'Decisions by outcome', text: 'Allowed, denied, asked.' },
            {
              expr: over('agent_hooks_decisions_total', 'agent_hooks_decision_outcome', TOOL),
              legend: '{{agent_hooks_decision_outcome}}',
            },
          ),
          curve(
            { title: 'Decisions by who took them', text: 'A person, a rule, a mode, a classifier, a hook, a sandbox.' },
            {
              expr: over('agent_hooks_decisions_total', 'agent_hooks_decision_source', TOOL),
              legend: '{{agent_hooks_decision_source}}',
            },
          ),
          ranking(
            { title: 'Denied by tool', text: 'What was denied, and by whom.', empty: 'Empty on a day without any.' },
            {
              expr: `${whole('agent_hooks_decisions_total', 'job, gen_ai_tool_name, agent_hooks_decision_source', `${TOOL},agent_hooks_decision_outcome="deny"`)} > 0`,
            },
          ),
          levels(
            {
              title: 'Wait for people',
              text: 'Half of the answers came faster than the lower line, nine of ten faster than the upper.',
              empty: 'Empty where nobody was asked.',
              unit: 's',
            },
            { expr: share(0.5, 'agent_hooks_decision_wait_seconds', '$__interval'), legend: 'half' },
            { expr: share(0.9, 'agent_hooks_decision_wait_seconds', '$__interval'), legend: 'nine of ten' },
          ),
          lines(
            { title: 'Denied actions', text: 'Newest first.', empty: 'Empty on a day without any.' },
            `${STREAM} | agent_hooks_decision_outcome="deny" | gen_ai_tool_name=~"$tool"`,
          ),
        ],
      },
      {
        title: 'Risk',
        panels: [
          curve(
            {
              title: 'Decisions by risk',
              text: 'Only actions that a rule says something of have a risk.',
              empty: 'Empty on a day without any.',
            },
            {
              expr: over('agent_hooks_decisions_total', 'agent_hooks_risk_level', `${TOOL},agent_hooks_risk_level!=""`),
              legend: '{{agent_hooks_risk_level}}',
            },
          ),
          levels(
            {
              title: 'Risk, 95 of 100',
              text: 'Of actions that have one, from 0 to 100.',
              empty: 'Empty on a day without any.',
            },
            {
              expr: share(0.95, 'agent_hooks_risk_score', '$__interval', 'gen_ai_tool_name', TOOL),
              legend: '{{gen_ai_tool_name}}',
            },
          ),
          traces(
            {
              title: 'Actions of high risk',
              text: 'Newest first; a trace opens with what led there.',
              empty: 'Empty on a day without any.',
            },
            '{ span.gen_ai.operation.name = "execute_tool" && span.agent_hooks.risk.level =~ "high|critical" && resource.service.name =~ "$agent" } | select(span.session.id, span.gen_ai.tool.name, span.agent_hooks.risk.score, span.agent_hooks.decision.outcome)',
          ),
          lines(
            { title: 'Events of high risk', text: 'Newest first.', empty: 'Empty on a day without any.', height: 8 },
            `${STREAM} | agent_hooks_risk_level=~"high|critical"`,
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-tools',
    title: 'Agents: tools and MCP',
    description: 'What agents do, how long it takes, what fails.',
    variables: [toolVariable, countsVariable],
    rows: [
      {
        title: 'Tools',
        panels: [
          ranking(
            { title: 'Calls by tool', text: 'Actions that ended in the range.' },
            { expr: whole('gen_ai_execute_tool_duration_seconds_count', 'job, gen_ai_tool_name', TOOL) },
          ),
          ranking(
            { title: 'Failures by tool', text: 'Actions that failed.', empty: 'Empty on a day without any.' },
            {
              expr: `${whole('gen_ai_execute_tool_duration_seconds_count', 'job, gen_ai_tool_name, error_type', `${TOOL}${ERRORS}`)} > 0`,
            },
          ),
          levels(
            {
              title: 'Length of actions, 95 of 100',
              text: 'Waiting for a person is not counted. A dot is one action and opens its trace.',
              unit: 's',
              width: 24,
            },
            {
              expr: share(0.95, 'gen_ai_execute_tool_duration_seconds', '$__interval', 'gen_ai_tool_name', TOOL),
              legend: '{{gen_ai_tool_name}}',
            },
          ),
          recordedRanking(
            { title: 'Programs in the shell', text: 'Simple commands by their program; nothing of their arguments.' },
            `topk(30, sum by (service_name, process_executable_name, agent_hooks_action_success) (count_over_time(${STREAM} | event_name="agent_hooks.action.after" | process_executable_name!="" [$__range])))`,
          ),
          levels(
            {
              title: 'Actions in a turn, 95 of 100',
              text: 'How much agents do between a prompt and the answer to it.',
            },
            {
              expr: share(0.95, 'gen_ai_invoke_agent_tool_calls', '$__interval', 'gen_ai_agent_name'),
              legend: '{{gen_ai_agent_name}}',
            },
          ),
        ],
      },
      {
        title: 'MCP',
        panels: [
          recordedRanking(
            {
              title: 'Calls by MCP server',
              text: 'Actions that ended, counted in log records: a series for each server would have no bound.',
              empty: 'Empty where no MCP server is used.',
            },
            `topk(30, sum by (agent_hooks_mcp_server, gen_ai_tool_name, agent_hooks_action_success) (count_over_time(${STREAM} | event_name="agent_hooks.action.after" | agent_hooks_mcp_server!="" [$__range])))`,
          ),
          levels(
            {
              title: 'Length of MCP calls, 95 of 100',
              text: 'As the agent saw them.',
              empty: 'Empty where no MCP server is used.',
              unit: 's',
            },
            { expr: share(0.95, 'mcp_client_operation_duration_seconds', '$__interval', 'job'), legend: '{{job}}' },
          ),
          curve(
            {
              title: 'MCP calls',
              text: 'With what went wrong, where something did.',
              empty: 'Empty where no MCP server is used.',
              width: 24,
            },
            {
              expr: over('mcp_client_operation_duration_seconds_count', 'job, error_type'),
              legend: '{{job}} {{error_type}}',
            },
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-loops',
    title: 'Agents: loops, budget, context',
    description: 'Where agents go in circles, pass a budget, or run out of context (docs/loops-and-budgets.md).',
    variables: [countsVariable],
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Loops', text: 'The same action, the same end, again and again.' },
            { expr: whole('agent_hooks_retry_loops_total', '', ',agent_hooks_retry_state="detected"') },
          ),
          numbers(
            { title: 'Loops stopped', text: 'Loops that somebody refused or interrupted.' },
            { expr: whole('agent_hooks_retry_loops_total', '', ',agent_hooks_retry_state="aborted"') },
          ),
          numbers(
            { title: 'Tried again', text: 'Actions that had failed or were refused, and requests to models.' },
            { expr: whole('agent_hooks_retry_triggered_total') },
          ),
          numbers(
            { title: 'Budgets nearly used', text: 'Sessions and turns that passed 70 % of a budget.' },
            { expr: whole('agent_hooks_budget_thresholds_total', '', ',agent_hooks_budget_state="warning"') },
          ),
          numbers(
            { title: 'Budgets exceeded', text: 'Sessions and turns that passed 80 % of a budget.' },
            { expr: whole('agent_hooks_budget_thresholds_total', '', ',agent_hooks_budget_state="exceeded"') },
          ),
          numbers(
            { title: 'Compactions', text: 'Times that a context was compacted.' },
            { expr: whole('agent_hooks_context_compactions_total') },
          ),
        ],
      },
      {
        title: 'Loops',
        panels: [
          curve(
            {
              title: 'Loops by action',
              text: 'Detected ones, and those that somebody stopped.',
              empty: 'Empty on a day without any.',
            },
            {
              expr: over('agent_hooks_retry_loops_total', 'agent_hooks_action_name, agent_hooks_retry_state'),
              legend: '{{agent_hooks_action_name}} {{agent_hooks_retry_state}}',
            },
          ),
          curve(
            {
              title: 'Tried again, by action',
              text: 'A second try is no loop yet.',
              empty: 'Empty on a day without any.',
            },
            {
              expr: over('agent_hooks_retry_triggered_total', 'agent_hooks_action_name'),
              legend: '{{agent_hooks_action_name}}',
            },
          ),
          lines(
            { title: 'Loops, one by one', text: 'Newest first.', empty: 'Empty on a day without any.', height: 8 },
            `${STREAM} | event_name=~"agent_hooks.retry.loop.+"`,
          ),
        ],
      },
      {
        title: 'Budget',
        panels: [
          curve(
            {
              title: 'Thresholds passed',
              text: 'Of sessions and turns, in tokens or dollars.',
              empty: 'Empty where no budget is set, or none was nearly used.',
            },
            {
              expr: over(
                'agent_hooks_budget_thresholds_total',
                'agent_hooks_budget_of, agent_hooks_budget_unit, agent_hooks_budget_state',
              ),
              legend: '{{agent_hooks_budget_of}} {{agent_hooks_budget_unit}} {{agent_hooks_budget_state}}',
            },
          ),
          lines(
            {
              title: 'Budgets, one by one',
              text: 'Newest first, with what was used of how much.',
              empty: 'Empty where no budget is set, or none was nearly used.',
              width: 12,
              height: 8,
            },
            `${STREAM} | agent_hooks_budget_state!=""`,
          ),
        ],
      },
      {
        title: 'Context',
        panels: [
          levels(
            {
              title: 'Context in use',
              text: "Share of the model's window, each time that it is known.",
              empty: 'Empty where no agent states the size of the window.',
              unit: 'percentunit',
            },
            { expr: share(0.5, 'agent_hooks_context_utilization', '$__interval'), legend: 'half' },
            { expr: share(0.95, 'agent_hooks_context_utilization', '$__interval'), legend: '95 of 100' },
          ),
          curve(
            {
              title: 'Compactions by trigger',
              text: 'By itself, or because somebody asked.',
              empty: 'Empty on a day without any.',
            },
            {
              expr: over('agent_hooks_context_compactions_total', 'agent_hooks_context_trigger'),
              legend: '{{agent_hooks_context_trigger}}',
            },
          ),
          levels(
            {
              title: 'Left by compactions',
              text: 'What a compaction left of the context, as a share; near to 1 it did nothing.',
              empty: 'Empty where no agent states the size before and after.',
              unit: 'percentunit',
            },
            { expr: share(0.5, 'agent_hooks_context_compression', '$__interval'), legend: 'half' },
          ),
          curve(
            {
              title: 'Tokens removed',
              text: 'What compactions took out of contexts.',
              empty: 'Empty where no agent states the size before and after.',
            },
            { expr: over('agent_hooks_context_tokens_removed_total', 'job'), legend: '{{job}}' },
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-pipeline',
    title: 'Agents: pipeline health',
    description: 'Our own books: what was recorded, and whether anything was lost on the way.',
    variables: [countsVariable],
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Events', text: 'Events that were journaled.', width: 5 },
            { expr: whole('agent_hooks_pipeline_events_total', '', ACCEPTED) },
          ),
          numbers(
            { title: 'Dropped', text: 'What machines dropped, duplicates among it. 0 is the normal day.', width: 5 },
            { expr: whole('agent_hooks_pipeline_dropped_total') },
          ),
          numbers(
            { title: 'Refused', text: 'What a destination refused for good. 0 is the normal day.', width: 5 },
            { expr: whole('agent_hooks_pipeline_export_rejected_total') },
          ),
          numbers(
            { title: 'Quarantined', text: 'Hooks that could not be read. 0 is the normal day.', width: 5 },
            { expr: whole('agent_hooks_pipeline_quarantined_total') },
          ),
          numbers(
            { title: 'Under other', text: 'Measurements beyond the bound of series. 0 is the normal day.' },
            { expr: whole('agent_hooks_pipeline_overflow_total') },
          ),
        ],
      },
      {
        title: 'Where',
        panels: [
          curve(
            { title: 'Events by machine', text: 'A machine that has gone silent ends here.', width: 24 },
            { expr: over('agent_hooks_pipeline_events_total', 'instance', ACCEPTED), legend: '{{instance}}' },
          ),
          ranking(
            {
              title: 'Losses by reason',
              text: 'Dropped, by item and reason.',
              empty: 'Empty on a normal day.',
              width: 24,
            },
            {
              expr: `${whole('agent_hooks_pipeline_dropped_total', 'instance, agent_hooks_pipeline_item, agent_hooks_pipeline_reason')} > 0`,
            },
          ),
        ],
      },
      {
        title: 'Waiting',
        panels: [
          curve(
            {
              title: 'Tries that failed',
              text: 'By machine and reason; what was sent waits there and is tried again.',
              empty: 'Empty on a normal day.',
              width: 24,
            },
            {
              expr: over(
                'agent_hooks_pipeline_failed_total',
                'instance, agent_hooks_pipeline_item, agent_hooks_pipeline_reason',
              ),
              legend: '{{instance}} {{agent_hooks_pipeline_item}} {{agent_hooks_pipeline_reason}}',
            },
          ),
        ],
      },
      {
        title: 'Collector',
        panels: [
          levels(
            {
              title: 'Waiting in the collector',
              text: 'Batches in its queues on disk; a hill is a back end that was away.',
            },
            { expr: 'sum by (exporter) (otelcol_exporter_queue_size)', legend: '{{exporter}}' },
          ),
          curve(
            { title: 'Given up by the collector', text: 'Spans, records and points.', empty: '0 is the normal day.' },
            {
              expr: 'sum by (exporter) (increase({__name__=~"otelcol_exporter_send_failed_.+_total"}[$__interval]))',
              legend: '{{exporter}}',
            },
          ),
        ],
      },
    ],
  },
];

export function dashboards(): Written[] {
  return boards.map(({ uid, title, description, variables = [], rows }) => {
    const built = new dashboard.DashboardBuilder(title)
      .uid(uid)
      .description(description)
      .tags(['otel-hooks'])
      .readonly()
      .time({ from: 'now-6h', to: 'now' })
      .refresh('30s')
      .timezone('browser')
      .tooltip(dashboard.DashboardCursorSync.Crosshair)
      .link(
        new dashboard.DashboardLinkBuilder('Agents')
          .type(dashboard.DashboardLinkType.Dashboards)
          .tags(['otel-hooks'])
          .keepTime(true)
          .includeVars(true),
      )
      .withVariable(agentVariable);
    for (const variable of variables) built.withVariable(variable);
    for (const { title: row, panels } of rows) {
      built.withRow(new dashboard.RowBuilder(row));
      for (const panel of panels) built.withPanel(panel);
    }
    const model = built.build();
    model.panels?.forEach((panel, i) => {
      panel.id = i + 1;
    });
    return { file: `${uid}.json`, uid, json: `${JSON.stringify(model, null, 2)}\n` };
  });
}
