/**
 * Kinds of panels. Each panel answers one question of a user; the question begins its description, and docs/grafana.md
 * lists all of them.
 *
 * Only what every Grafana since 10 draws is used. Links lead to dashboards, because an anonymous Viewer may not open
 * Explore.
 */
import { LOKI, PROMETHEUS, type Query, TEMPO } from './queries.ts';
import { type cog, common, dashboard, logs, loki, prometheus, stat, table, tempo, timeseries } from './sdk.ts';

type AnyPanel = cog.Builder<dashboard.Panel>;

export interface Panel {
  title: string;
  question: string;
  built: AnyPanel;
}

export interface Board {
  uid: string;
  title: string;
  description: string;
  variables?: cog.Builder<dashboard.VariableModel>[];
  rows: { title: string; panels: Panel[] }[];
}

export interface About {
  title: string;
  question: string;
  /** What a reader must know to read the answer. */
  note?: string;
  /** Why the panel may be empty on a normal day. The empty panel shows it. */
  empty?: string;
  unit?: string;
  width?: number;
  height?: number;
  /** The uid of the dashboard that shows more. */
  more?: string;
  /** From this number on, the number is colored. Without it a number has no color. */
  alarm?: number;
}

const NOTHING = 'Nothing in this range';
/** A variable that Grafana replaces in an address. */
const filled = (name: string): string => `\${${name}}`;
const CHOICE = [
  filled('__url_time_range'),
  ...['agent', 'team', 'environment'].map(name => filled(`${name}:queryparam`)),
];
const kept = CHOICE.join('&');

/** The value of another column in the row of a link. */
const cell = (column: string): string => filled(`__data.fields["${column}"]`);

/** The dashboard of a session, with its variables filled in. */
const sessionLink = (values: { session: string; trace?: string; span?: string }): string =>
  `/d/otel-hooks-session?${Object.entries(values)
    .map(([name, value]) => `var-${name}=${value}`)
    .join('&')}&${kept}`;

/** A sentence about the empty panel belongs to the description; a single word does not. */
const described = ({ question, note, empty }: About): string =>
  [question, note, empty?.endsWith('.') ? empty : undefined].filter(Boolean).join(' ');

/** Adds to the note that quantiles are estimates: readers compare them with the exact lengths in tables. */
function estimated(about: About, queries: readonly { expr: string }[], each: string): About {
  if (!queries.some(({ expr }) => expr.includes('histogram_quantile'))) return about;
  const note = `Quantiles are estimates from histograms, ${each}: they differ from the exact values in tables.`;
  return { ...about, note: about.note === undefined ? note : `${about.note} ${note}` };
}

function linksOf({ more }: About): dashboard.DashboardLinkBuilder[] {
  if (more === undefined) return [];
  const link = new dashboard.DashboardLinkBuilder('More about it').type(dashboard.DashboardLinkType.Link);
  return [link.url(`/d/${more}?${kept}`)];
}

const made = ({ title, question }: About, built: AnyPanel): Panel => ({ title, question, built });

const refId = (i: number): string => String.fromCharCode(65 + i);

function promQuery({ expr, legend }: Query, i: number, isInstant: boolean): prometheus.DataqueryBuilder {
  const query = new prometheus.DataqueryBuilder()
    .refId(refId(i))
    .datasource(PROMETHEUS)
    .expr(expr)
    .legendFormat(legend ?? '__auto');
  return isInstant ? query.instant() : query.range();
}

const lokiQuery = (expr: string, i: number, queryType: 'instant' | 'range'): loki.DataqueryBuilder =>
  new loki.DataqueryBuilder().refId(refId(i)).datasource(LOKI).queryType(queryType).expr(expr);

/** Numbers over the whole range of the dashboard. */
export function numbers(about: About, ...queries: Query[]): Panel {
  const panel = number(about, PROMETHEUS);
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, true));
  });
  return made(about, panel);
}

/** Numbers from records, for facts that no series may exist for: those of one session. */
export const recordedNumbers = (about: About, expr: string): Panel =>
  made(about, number(about, LOKI).withTarget(lokiQuery(expr, 0, 'instant')));

function thresholds(alarm: number | undefined): dashboard.ThresholdsConfigBuilder {
  const steps: dashboard.Threshold[] = [{ value: null as never, color: 'text' }];
  if (alarm !== undefined) steps.push({ value: alarm, color: 'orange' });
  return new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps(steps);
}

const number = (about: About, source: typeof PROMETHEUS): stat.PanelBuilder =>
  new stat.PanelBuilder()
    .title(about.title)
    .description(described(about))
    .datasource(source)
    .unit(about.unit ?? 'short')
    .span(about.width ?? 4)
    .height(about.height ?? 4)
    .noValue(about.empty ?? '0')
    .links(linksOf(about))
    .graphMode(common.BigValueGraphMode.None)
    .colorMode(common.BigValueColorMode.Value)
    .thresholds(thresholds(about.alarm))
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']));

/** Words of records that read better in another form. */
const WORDS: dashboard.ValueMap = {
  type: dashboard.MappingType.ValueToText,
  options: {
    'Session.End': { text: 'ended', index: 0 },
    'Session.Abort': { text: 'aborted', color: 'orange', index: 1 },
  },
};

/** A word from the labels of records: the branch, the model. */
export const recordedWord = (about: About, expr: string, label: string): Panel =>
  made(
    about,
    number(about, LOKI)
      .textMode(common.BigValueTextMode.Value)
      .text(new common.VizTextDisplayOptionsBuilder().valueSize(20))
      .noValue(about.empty ?? 'unknown')
      .mappings([WORDS])
      .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).fields(`/^${label}$/`))
      .withTarget(lokiQuery(expr, 0, 'instant')),
  );

/** Counts: stacked bars. */
export function bars(about: About, ...queries: Query[]): Panel {
  const panel = counts(about, PROMETHEUS);
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, false));
  });
  return made(about, panel);
}

export const recordedBars = (about: About, { expr, legend }: Query): Panel =>
  made(about, counts(about, LOKI).withTarget(lokiQuery(expr, 0, 'range').legendFormat(legend ?? '__auto')));

const counts = (about: About, source: typeof PROMETHEUS): timeseries.PanelBuilder =>
  series(about, source)
    .drawStyle(common.GraphDrawStyle.Bars)
    .barAlignment(common.BarAlignment.After)
    .barWidthFactor(0.9)
    .fillOpacity(60)
    .lineWidth(0)
    .stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal))
    .legend(legendWith('sum', 'Total'));

/** Levels, which must not be added up: lines. The dots are exemplars; each leads to its trace. */
export function levels(about: About, ...queries: Query[]): Panel {
  const panel = lined(estimated(about, queries, 'one for each interval'), PROMETHEUS);
  queries.forEach((query, i) => {
    panel.withTarget(promQuery(query, i, false).exemplar(query.expr.includes('_bucket')));
  });
  return made(about, panel);
}

export const recordedLevels = (about: About, { expr, legend }: Query): Panel =>
  made(about, lined(about, LOKI).withTarget(lokiQuery(expr, 0, 'range').legendFormat(legend ?? '__auto')));

const lined = (about: About, source: typeof PROMETHEUS): timeseries.PanelBuilder =>
  series(about, source)
    .drawStyle(common.GraphDrawStyle.Line)
    .showPoints(common.VisibilityMode.Always)
    .spanNulls(true)
    .legend(legendWith('max', 'Max'));

/** Colors of words that have a meaning. */
const COLORS: { [name: string]: string } = {
  allow: 'green',
  ask: 'blue',
  deny: 'orange',
  low: 'green',
  medium: 'yellow',
  high: 'orange',
  critical: 'red',
};

function series(about: About, source: typeof PROMETHEUS): timeseries.PanelBuilder {
  const panel = new timeseries.PanelBuilder()
    .title(about.title)
    .description(described(about))
    .datasource(source)
    .unit(about.unit ?? 'short')
    .span(about.width ?? 12)
    .height(about.height ?? 8)
    .min(0)
    .noValue(about.empty ?? NOTHING)
    .links(linksOf(about))
    // A shorter interval would hold less than one export of metrics.
    .interval('1m')
    // More bars would be too narrow to see in a range of a day.
    .maxDataPoints(60)
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    );
  for (const [name, fixedColor] of Object.entries(COLORS)) {
    panel.overrideByName(name, [{ id: 'color', value: { mode: 'fixed', fixedColor } }]);
  }
  return panel;
}

const legendWith = (calculation: string, column: string): common.VizLegendOptionsBuilder =>
  new common.VizLegendOptionsBuilder()
    .showLegend(true)
    .placement(common.LegendPlacement.Right)
    .displayMode(common.LegendDisplayMode.Table)
    .calcs([calculation])
    .sortBy(column)
    .sortDesc(true);

/** Labels of series and records, as column headers. */
const HEADERS: { [label: string]: string } = {
  Line: 'Record',
  job: 'Agent',
  service_name: 'Agent',
  service_namespace: 'Team',
  deployment_environment_name: 'Environment',
  instance: 'Machine',
  exporter: 'Exporter',
  session_id: 'Session',
  trace_id: 'Trace',
  span_id: 'Span',
  user_id: 'User',
  vcs_repository_name: 'Repository',
  vcs_ref_head_name: 'Branch',
  error_type: 'Error',
  gen_ai_agent_name: 'Agent or subagent',
  gen_ai_provider_name: 'Provider',
  gen_ai_request_model: 'Model',
  gen_ai_tool_name: 'Tool',
  process_executable_name: 'Program',
  agent_hooks_action_success: 'Succeeded',
  agent_hooks_action_duration_ms: 'Duration',
  agent_hooks_decision_outcome: 'Decision',
  agent_hooks_decision_source: 'Decided by',
  agent_hooks_decision_reason_type: 'Kind of reason',
  agent_hooks_decision_scope: 'Settings',
  agent_hooks_event_type: 'Event',
  agent_hooks_mcp_server: 'MCP server',
  agent_hooks_pipeline_item: 'Item',
  agent_hooks_pipeline_reason: 'Reason',
  agent_hooks_rate_limit_window: 'Limit',
  agent_hooks_risk_level: 'Risk',
  agent_hooks_risk_score: 'Risk score',
  agent_hooks_risk_factors: 'Risk factors',
};

export interface Column {
  expr: string;
  name: string;
  unit?: string;
}

/** A table with one row for each set of labels and one column for each query, sorted by the first one. */
export function ranking(about: About, ...columns: Column[]): Panel {
  const panel = ranked(estimated(about, columns, 'over the whole range'), PROMETHEUS, columns);
  columns.forEach(({ expr }, i) => {
    panel.withTarget(promQuery({ expr }, i, true).format(prometheus.PromQueryFormat.Table));
  });
  return made(about, panel);
}

export function recordedRanking(about: About, ...columns: Column[]): Panel {
  const panel = ranked(about, LOKI, columns);
  columns.forEach(({ expr }, i) => {
    panel.withTarget(lokiQuery(expr, i, 'instant'));
  });
  return made(about, panel);
}

const HIDDEN = { id: 'custom.hidden', value: true };
/** Ids fit without being cut. */
const UUID_WIDTH = { id: 'custom.width', value: 325 };
const TRACE_WIDTH = { id: 'custom.width', value: 290 };

/** Sessions, those with the largest sum first. Each row also has the trace that adds most to the sum, for its link. */
export function sessionRanking(about: About, name: string, sumBy: (labels: string) => string, unit?: string): Panel {
  const ofSession = 'session_id, service_name';
  const columns: Column[] = [
    { expr: `topk(20, ${sumBy(ofSession)})`, name, ...(unit === undefined ? {} : { unit }) },
    { expr: `topk by (session_id) (1, ${sumBy(`${ofSession}, trace_id`)})`, name: 'Largest trace' },
  ];
  const panel = ranked(about, LOKI, columns, ['Value #B'])
    .withTransformation({ id: 'limit', options: { limitField: 20 } })
    .overrideByName('Trace', [HIDDEN])
    .overrideByName('Agent', [{ id: 'custom.width', value: 160 }]);
  columns.forEach(({ expr }, i) => {
    panel.withTarget(lokiQuery(expr, i, 'instant'));
  });
  return made(about, panel);
}

function ranked(
  about: About,
  source: typeof PROMETHEUS,
  columns: readonly Column[],
  hidden: readonly string[] = [],
): table.PanelBuilder {
  const values = columns.flatMap(({ name }, i) => [[`Value #${refId(i)}`, name]]);
  if (columns.length === 1) values.push(['Value', columns[0]?.name ?? '']);
  const panel = tabular(about, source)
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: Object.fromEntries(['Time', ...hidden].map(field => [field, true])),
        renameByName: { ...HEADERS, ...Object.fromEntries(values) },
      },
    })
    .withTransformation({ id: 'sortBy', options: { sort: [{ field: columns[0]?.name, desc: true }] } });
  for (const { name, unit } of columns) {
    panel.overrideByName(name, [
      { id: 'unit', value: unit ?? about.unit ?? 'short' },
      { id: 'custom.width', value: 125 },
    ]);
  }
  return panel;
}

const tabular = (about: About, source: typeof PROMETHEUS): table.PanelBuilder =>
  new table.PanelBuilder()
    .title(about.title)
    .description(described(about))
    .datasource(source)
    .span(about.width ?? 12)
    .height(about.height ?? 8)
    // An empty table shows this text; a missing cell stays empty by the override.
    .noValue(about.empty ?? NOTHING)
    .overrideByRegexp('.*', [{ id: 'noValue', value: '' }])
    .links(linksOf(about))
    .overrideByName('Machine', [UUID_WIDTH])
    .overrideByName('Session', [
      {
        id: 'links',
        value: [{ title: 'Open this session', url: sessionLink({ session: cell('Session'), trace: cell('Trace') }) }],
      },
    ])
    .overrideByName('Limit', [{ id: 'custom.width', value: 100 }])
    // Narrow, so that half a page shows the source of a decision.
    .overrideByName('Risk score', [{ id: 'custom.width', value: 95 }])
    .overrideByName('Decided by', [{ id: 'custom.width', value: 105 }])
    .overrideByName('Risk', [
      { id: 'custom.width', value: 80 },
      { id: 'custom.cellOptions', value: { type: 'color-text' } },
      { id: 'mappings', value: [{ type: 'value', options: mapped(['low', 'medium', 'high', 'critical']) }] },
    ])
    .overrideByName('Decision', [
      { id: 'custom.width', value: 85 },
      { id: 'custom.cellOptions', value: { type: 'color-text' } },
      { id: 'mappings', value: [{ type: 'value', options: mapped(['allow', 'ask', 'deny']) }] },
    ]);

const mapped = (words: readonly string[]): object =>
  Object.fromEntries(words.map((word, index) => [word, { color: COLORS[word], index, text: word }]));

/** Lines of records as text. */
export const lines = (about: About, expr: string): Panel =>
  made(
    about,
    new logs.PanelBuilder()
      .title(about.title)
      .description(described(about))
      .datasource(LOKI)
      .span(about.width ?? 24)
      .height(about.height ?? 12)
      .noValue(about.empty ?? NOTHING)
      .showTime(true)
      .enableLogDetails(true)
      .wrapLogMessage(true)
      .sortOrder(common.LogsSortOrder.Descending)
      .withTarget(new loki.DataqueryBuilder().refId('A').datasource(LOKI).expr(expr)),
  );

/** Labels are texts; these are sorted as numbers and as times. */
const TYPED = [
  ...['Duration', 'Risk score'].map(targetField => ({ targetField, destinationType: 'number' })),
  { targetField: 'Time', destinationType: 'time' },
];

/**
 * Line and time become labels, so that a table without rows has no columns either: then Grafana 10 shows the text of the
 * empty panel, and otherwise "No data".
 */
const AS_LABELS = '| label_format Line=`{{__line__}}`, Time=`{{__timestamp__ | date "2006-01-02T15:04:05.000Z07:00"}}`';

/**
 * Records as a table of some of their fields, sorted by the time, which comes first, or by another column. Trace and span of a row are links. The
 * link of a span also chooses its session and trace, so a table with all three does not show the trace.
 */
export function recordTable(about: About, expr: string, fields: readonly string[], sortBy = 'Time'): Panel {
  const columns = fields.map(field => HEADERS[field] ?? field);
  if (sortBy === 'Time') columns.unshift('Time');
  const session = fields.includes('session_id') ? cell('Session') : filled('session');
  const trace = fields.includes('trace_id') ? cell('Trace') : filled('trace');
  const panel = tabular(about, LOKI)
    .withTransformation({ id: 'extractFields', options: { source: 'labels', replace: true, format: 'auto' } })
    .withTransformation({ id: 'organize', options: { renameByName: HEADERS } })
    .withTransformation({ id: 'filterFieldsByName', options: { include: { names: columns } } })
    .withTransformation({
      id: 'organize',
      options: { indexByName: Object.fromEntries(columns.map((name, i) => [name, i])) },
    })
    .withTransformation({ id: 'convertFieldType', options: { conversions: TYPED } })
    // The transformation "sortBy" of Grafana 10 does not move missing cells.
    .sortBy([new common.TableSortByFieldStateBuilder().displayName(sortBy).desc(true)])
    .overrideByName('Time', [
      { id: 'unit', value: 'time:MM-DD HH:mm:ss' },
      { id: 'custom.width', value: 130 },
    ])
    .overrideByName('Duration', [
      { id: 'unit', value: 'ms' },
      { id: 'custom.width', value: 90 },
    ])
    .overrideByName('Session', [UUID_WIDTH])
    .overrideByName('Agent', [{ id: 'custom.width', value: 115 }])
    .overrideByName('Error', [{ id: 'custom.width', value: 130 }])
    .overrideByName('Program', [{ id: 'custom.width', value: 100 }])
    .overrideByName('Trace', [
      TRACE_WIDTH,
      ...(fields.includes('session_id') && fields.includes('span_id') ? [HIDDEN] : []),
      { id: 'links', value: [{ title: 'Draw this trace', url: sessionLink({ session, trace }) }] },
    ])
    .overrideByName('Span', [
      { id: 'custom.width', value: 160 },
      {
        id: 'links',
        value: [{ title: 'Records of this span', url: sessionLink({ session, trace, span: cell('Span') }) }],
      },
    ])
    .withTarget(
      new loki.DataqueryBuilder()
        .refId('A')
        .datasource(LOKI)
        .queryType('range')
        .maxLines(500)
        .expr(`${expr} ${AS_LABELS}`),
    );
  return made(about, panel);
}

/** Traces that a TraceQL query finds. A click draws one on the dashboard of a session. */
export const traceTable = (about: About, query: string): Panel =>
  made(
    about,
    new table.PanelBuilder()
      .title(about.title)
      .description(described(about))
      .datasource(TEMPO)
      .span(about.width ?? 24)
      .height(about.height ?? 8)
      .noValue(about.empty ?? NOTHING)
      .overrideByRegexp('traceID|Trace ID', [
        TRACE_WIDTH,
        {
          id: 'links',
          value: [
            {
              title: 'Draw this trace',
              url: sessionLink({ session: filled('session'), trace: filled('__value.raw') }),
            },
          ],
        },
      ])
      .withTarget(
        new tempo.DataqueryBuilder()
          .refId('A')
          .datasource(TEMPO)
          .queryType('traceql')
          .tableType(tempo.SearchTableType.Traces)
          .limit(50)
          .spss(20)
          .query(query),
      ),
  );

/** One trace, drawn as a waterfall. */
export const waterfall = (about: About, trace: string): Panel =>
  made(
    about,
    new dashboard.PanelBuilder()
      .type('traces')
      .title(about.title)
      .description(described(about))
      .datasource(TEMPO)
      .span(about.width ?? 24)
      .height(about.height ?? 18)
      .withTarget(new tempo.DataqueryBuilder().refId('A').datasource(TEMPO).queryType('traceql').query(trace)),
  );
