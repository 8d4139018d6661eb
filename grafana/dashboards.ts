/**
 * The dashboards, as code: `npm run dashboards` writes them as JSON beside this file, in the model that every Grafana
 * since 11 takes from a folder.
 *
 * Two rules. A counter of ours begins with a session and ends with it, so ranges are read with `increase` over the
 * whole dashboard or over the interval, never with a rate at an instant. And a session that still runs has no root span
 * in Tempo: sessions are found by `session.id`, never by their root.
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
  /** What it shows, and why it may be empty. */
  text: string;
  unit?: string;
  width?: number;
  height?: number;
}

/** One number, or some: a sum over the dashboard's whole range. */
function numbers(about: About, ...queries: Query[]): AnyPanel {
  const panel = new stat.PanelBuilder()
    .title(about.title)
    .description(about.text)
    .datasource(PROMETHEUS)
    .unit(about.unit ?? 'short')
    .span(about.width ?? 4)
    .height(about.height ?? 4)
    .noValue('0')
    .graphMode(common.BigValueGraphMode.None)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']));
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, true));
  });
  return panel;
}

function curve(about: About, ...queries: Query[]): AnyPanel {
  const panel = new timeseries.PanelBuilder()
    .title(about.title)
    .description(about.text)
    .datasource(PROMETHEUS)
    .unit(about.unit ?? 'short')
    .span(about.width ?? 12)
    .height(about.height ?? 8)
    .min(0)
    .drawStyle(common.GraphDrawStyle.Bars)
    .fillOpacity(60)
    .stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal))
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    )
    .legend(
      new common.VizLegendOptionsBuilder()
        .showLegend(true)
        .placement(common.LegendPlacement.Bottom)
        .displayMode(common.LegendDisplayMode.Table)
        .calcs(['sum']),
    );
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, false));
  });
  return panel;
}

function ranking(about: About, query: Query): AnyPanel {
  return new table.PanelBuilder()
    .title(about.title)
    .description(about.text)
    .datasource(PROMETHEUS)
    .unit(about.unit ?? 'short')
    .span(about.width ?? 12)
    .height(about.height ?? 8)
    .withTarget(promQuery(query, 0, true).format(prometheus.PromQueryFormat.Table))
    .withTransformation({
      id: 'organize',
      options: { excludeByName: { Time: true }, renameByName: { Value: about.title } },
    })
    .withTransformation({ id: 'sortBy', options: { sort: [{ field: about.title, desc: true }] } });
}

function lines(about: About, expr: string): AnyPanel {
  return new logs.PanelBuilder()
    .title(about.title)
    .description(about.text)
    .datasource(LOKI)
    .span(about.width ?? 24)
    .height(about.height ?? 12)
    .showTime(true)
    .enableLogDetails(true)
    .wrapLogMessage(true)
    .sortOrder(common.LogsSortOrder.Descending)
    .withTarget(new loki.DataqueryBuilder().refId('A').datasource(LOKI).expr(expr));
}

function traces(about: About, query: string): AnyPanel {
  return new table.PanelBuilder()
    .title(about.title)
    .description(about.text)
    .datasource(TEMPO)
    .span(about.width ?? 24)
    .height(about.height ?? 10)
    .withTarget(
      new tempo.DataqueryBuilder()
        .refId('A')
        .datasource(TEMPO)
        .queryType('traceql')
        .tableType(tempo.SearchTableType.Traces)
        .limit(50)
        .query(query),
    );
}

const whole = (metric: string, by = '', more = ''): string =>
  `sum${by && ` by (${by})`} (increase(${metric}{${AGENT}${more}}[$__range]))`;
const over = (metric: string, by = '', more = ''): string =>
  `sum${by && ` by (${by})`} (increase(${metric}{${AGENT}${more}}[$__interval]))`;

const agentVariable = new dashboard.QueryVariableBuilder('agent')
  .label('Agent')
  .datasource(PROMETHEUS)
  .query('label_values(agent_hooks_pipeline_events_total, job)')
  .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
  .multi(true)
  .includeAll(true)
  .allValue('.+');

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

const boards: Board[] = [
  {
    uid: 'otel-hooks-fleet',
    title: 'Agents: fleet',
    description: 'Which agents work, how much, and where it goes wrong.',
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Sessions', text: 'Sessions that started.' },
            { expr: whole('agent_hooks_session_started_total') },
          ),
          numbers(
            { title: 'Prompts', text: 'Prompts submitted by people.' },
            { expr: whole('agent_hooks_prompt_submitted_total') },
          ),
          numbers(
            { title: 'Actions', text: 'Actions that ended, failed ones among them.' },
            { expr: whole('gen_ai_execute_tool_duration_seconds_count') },
          ),
          numbers(
            { title: 'Failed actions', text: 'Actions that ended with an error.' },
            { expr: whole('gen_ai_execute_tool_duration_seconds_count', '', ',error_type!=""') },
          ),
          numbers(
            { title: 'Denied', text: 'Decisions against an action, whoever took them.' },
            { expr: whole('agent_hooks_decisions_total', '', ',agent_hooks_decision_outcome="deny"') },
          ),
          numbers(
            { title: 'Machines', text: 'Installations that sent something.' },
            {
              expr: `count(count by (instance) (last_over_time(agent_hooks_pipeline_events_total{${AGENT}}[$__range])))`,
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
            { title: 'Actions by tool', text: 'Actions that ended. MCP tools stand together as one.' },
            {
              expr: over('gen_ai_execute_tool_duration_seconds_count', 'gen_ai_tool_name'),
              legend: '{{gen_ai_tool_name}}',
            },
          ),
          curve(
            { title: 'Failures by kind', text: 'Actions that ended with an error. Empty on a day without any.' },
            {
              expr: over('gen_ai_execute_tool_duration_seconds_count', 'error_type', ',error_type!=""'),
              legend: '{{error_type}}',
            },
          ),
          curve(
            { title: 'Events by type', text: 'Everything that agents told, as Agent Hooks names it.' },
            {
              expr: over('agent_hooks_pipeline_events_total', 'agent_hooks_event_type'),
              legend: '{{agent_hooks_event_type}}',
            },
          ),
        ],
      },
      {
        title: 'Sessions',
        panels: [
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
          traces(
            { title: 'Traces', text: 'A long session is several traces, linked to each other.' },
            '{ span.session.id =~ "$session" }',
          ),
          lines(
            { title: 'Events', text: 'One line for each event, in the order in which it happened.' },
            `${STREAM} | session_id=~"$session"`,
          ),
          lines(
            {
              title: 'Decisions, failures, warnings',
              text: 'What somebody should look at. Empty for a session that ran smoothly.',
              height: 8,
            },
            `${STREAM} | session_id=~"$session" | severity_number>=13`,
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-tokens',
    title: 'Agents: tokens and models',
    description:
      'What models were given and gave. Tokens come from the transcripts of the agents; an agent without one has none here.',
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Input', text: 'Tokens given to models, cached ones among them.' },
            { expr: whole('gen_ai_client_inference_usage_input_tokens_total') },
          ),
          numbers(
            { title: 'Output', text: 'Tokens that models gave.' },
            { expr: whole('gen_ai_client_inference_usage_output_tokens_total') },
          ),
          numbers(
            { title: 'Read from cache', text: 'Share of the input that came from a cache.', unit: 'percentunit' },
            {
              expr: `${whole('gen_ai_client_inference_usage_cache_read_input_tokens_total')} / ${whole('gen_ai_client_inference_usage_input_tokens_total')}`,
            },
          ),
          numbers(
            { title: 'Responses', text: 'Responses of models.' },
            { expr: whole('gen_ai_invoke_agent_inference_calls_sum') },
          ),
          numbers(
            { title: 'Compactions', text: 'Times that a context was compacted.' },
            { expr: whole('agent_hooks_context_compactions_total') },
          ),
        ],
      },
      {
        title: 'Over time',
        panels: [
          curve(
            { title: 'Input by model', text: 'Tokens given, cached ones among them.' },
            {
              expr: over('gen_ai_client_inference_usage_input_tokens_total', 'gen_ai_response_model'),
              legend: '{{gen_ai_response_model}}',
            },
          ),
          curve(
            { title: 'Output by model', text: 'Tokens that models gave.' },
            {
              expr: over('gen_ai_client_inference_usage_output_tokens_total', 'gen_ai_response_model'),
              legend: '{{gen_ai_response_model}}',
            },
          ),
          ranking(
            { title: 'Output tokens by agent and model', text: 'In the whole range.', width: 24 },
            { expr: whole('gen_ai_client_inference_usage_output_tokens_total', 'job, gen_ai_response_model') },
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-tools',
    title: 'Agents: tools and decisions',
    description: 'What agents do, how long it takes, who allowed it.',
    rows: [
      {
        title: 'Tools',
        panels: [
          ranking(
            { title: 'Calls by tool', text: 'Actions that ended in the range.' },
            { expr: whole('gen_ai_execute_tool_duration_seconds_count', 'job, gen_ai_tool_name') },
          ),
          ranking(
            { title: 'Failures by tool', text: 'Actions that failed. Empty on a day without any.' },
            {
              expr: `${whole('gen_ai_execute_tool_duration_seconds_count', 'job, gen_ai_tool_name, error_type', ',error_type!=""')} > 0`,
            },
          ),
          curve(
            {
              title: 'Length of actions, 95 of 100',
              text: 'Waiting for a person is not counted.',
              unit: 's',
              width: 24,
            },
            {
              expr: `histogram_quantile(0.95, sum by (le, gen_ai_tool_name) (increase(gen_ai_execute_tool_duration_seconds_bucket{${AGENT}}[$__range])))`,
              legend: '{{gen_ai_tool_name}}',
            },
          ),
        ],
      },
      {
        title: 'Decisions',
        panels: [
          curve(
            {
              title: 'Decisions by outcome',
              text: 'Allowed, denied, asked. Only decisions that the agent told or that follow from what it did.',
            },
            {
              expr: over('agent_hooks_decisions_total', 'agent_hooks_decision_outcome'),
              legend: '{{agent_hooks_decision_outcome}}',
            },
          ),
          curve(
            { title: 'Decisions by who took them', text: 'A person, a rule, a classifier, a hook, a sandbox.' },
            {
              expr: over('agent_hooks_decisions_total', 'agent_hooks_decision_source'),
              legend: '{{agent_hooks_decision_source}}',
            },
          ),
          lines(
            { title: 'Denied actions', text: 'Newest first. Empty on a day without any.' },
            `${STREAM} | agent_hooks_decision_outcome="deny"`,
          ),
        ],
      },
    ],
  },
  {
    uid: 'otel-hooks-pipeline',
    title: 'Agents: pipeline health',
    description: 'Our own books: what was recorded, and whether anything was lost on the way.',
    rows: [
      {
        title: 'In this range',
        panels: [
          numbers(
            { title: 'Events', text: 'Events that were journaled.' },
            { expr: whole('agent_hooks_pipeline_events_total') },
          ),
          numbers(
            { title: 'Dropped', text: 'What machines dropped, duplicates among it. 0 is the normal day.' },
            { expr: whole('agent_hooks_pipeline_dropped_total') },
          ),
          numbers(
            { title: 'Refused', text: 'What a destination refused for good. 0 is the normal day.' },
            { expr: whole('agent_hooks_pipeline_rejected_total') },
          ),
          numbers(
            { title: 'Quarantined', text: 'Hooks that could not be read. 0 is the normal day.' },
            { expr: whole('agent_hooks_pipeline_quarantined_total') },
          ),
        ],
      },
      {
        title: 'Where',
        panels: [
          curve(
            { title: 'Events by machine', text: 'A machine that has gone silent ends here.', width: 24 },
            { expr: over('agent_hooks_pipeline_events_total', 'instance'), legend: '{{instance}}' },
          ),
          ranking(
            { title: 'Losses by reason', text: 'Dropped, by item and reason. Empty on a normal day.', width: 24 },
            {
              expr: `${whole('agent_hooks_pipeline_dropped_total', 'instance, agent_hooks_pipeline_item, agent_hooks_pipeline_reason')} > 0`,
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
