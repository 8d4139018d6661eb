/**
 * The variables that a fragment carries. A session is pinned to its configuration at its first event, and deliver,
 * which another project's hook may have started, must not use its own environment. Both front ends read this one list;
 * a variable that is not listed here is not carried. An empty value means unset, as OpenTelemetry defines it.
 *
 * The names are short texts instead of a list, because a hook reads its whole program each time and seldom needs the
 * names.
 */
const others = `TRACEPARENT TRACESTATE BAGGAGE AGENT_HOOKS_LOG
GRAFANA_CLOUD_OTLP_ENDPOINT GRAFANA_CLOUD_INSTANCE_ID GRAFANA_CLOUD_API_KEY
LANGFUSE_PUBLIC_KEY LANGFUSE_SECRET_KEY LANGFUSE_BASE_URL LANGFUSE_HOST
DD_API_KEY DD_SITE DD_SERVICE DD_ENV DD_AGENT_HOST
HONEYCOMB_API_KEY HONEYCOMB_API_ENDPOINT HONEYCOMB_METRICS_DATASET NEW_RELIC_LICENSE_KEY DT_ENDPOINT DT_API_TOKEN
AXIOM_TOKEN AXIOM_URL AXIOM_DATASET LANGSMITH_API_KEY LANGSMITH_ENDPOINT LANGSMITH_PROJECT
PHOENIX_API_KEY PHOENIX_COLLECTOR_ENDPOINT`;
const ofOtel = `
SDK_DISABLED SERVICE_NAME RESOURCE_ATTRIBUTES ENTITIES LOG_LEVEL PROPAGATORS CONFIG_FILE EXPERIMENTAL_CONFIG_FILE
TRACES_SAMPLER TRACES_SAMPLER_ARG TRACES_EXPORTER METRICS_EXPORTER LOGS_EXPORTER METRICS_EXEMPLAR_FILTER
METRIC_EXPORT_INTERVAL METRIC_EXPORT_TIMEOUT SEMCONV_STABILITY_OPT_IN SEMCONV_EXCEPTION_SIGNAL_OPT_IN
INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE
EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION ATTRIBUTE_VALUE_LENGTH_LIMIT ATTRIBUTE_COUNT_LIMIT
SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT SPAN_ATTRIBUTE_COUNT_LIMIT SPAN_EVENT_COUNT_LIMIT SPAN_LINK_COUNT_LIMIT
EVENT_ATTRIBUTE_COUNT_LIMIT LINK_ATTRIBUTE_COUNT_LIMIT SPAN_ATTRIBUTE_PER_EVENT_COUNT_LIMIT
SPAN_ATTRIBUTE_PER_LINK_COUNT_LIMIT LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT LOGRECORD_ATTRIBUTE_COUNT_LIMIT
HOOKS_CONFIG HOOKS_PROVIDER HOOKS_DEBUG HOOKS_MAX_CHARS HOOKS_ENABLED HOOKS_FSYNC HOOKS_SOURCE_TOOL
`;
const ofExporters = 'ENDPOINT HEADERS TIMEOUT PROTOCOL COMPRESSION CERTIFICATE CLIENT_CERTIFICATE CLIENT_KEY INSECURE';
const ofProcessors = 'SCHEDULE_DELAY EXPORT_TIMEOUT MAX_QUEUE_SIZE MAX_EXPORT_BATCH_SIZE';

export function travelling(): string[] {
  const names = others.split(/\s/);
  const add = (prefix: string, ends: string): void => {
    for (const end of ends.trim().split(/\s/)) names.push(`OTEL_${prefix}${end}`);
  };
  add('', ofOtel);
  for (const signal of ['', 'TRACES_', 'METRICS_', 'LOGS_']) add(`EXPORTER_OTLP_${signal}`, ofExporters);
  for (const kind of ['BSP_', 'BLRP_']) add(kind, ofProcessors);
  return names;
}

/**
 * The prefixes of our variable names, by their first letters. Building a pattern would cost more than the rest of this
 * function.
 */
const starts: ReadonlyMap<string, readonly string[]> = new Map([
  ['O', ['OTEL_']],
  ['T', ['TRACE']],
  ['B', ['BAGG']],
  ['A', ['AGENT_H', 'AXIOM_']],
  ['L', ['LANGF', 'LANGSM']],
  ['D', ['DD_', 'DT_']],
  ['G', ['GRAFANA_C']],
  ['H', ['HONEYC']],
  ['N', ['NEW_R']],
  ['P', ['PHOENIX_']],
]);

export function travellingFrom(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found: Record<string, string> = {};
  let listed: string[] | undefined;
  // Loops over the variables that exist. An environment has a few dozen variables, and a lookup of a missing variable
  // costs as much as a read.
  for (const name of Object.keys(env)) {
    const start = starts.get(name[0] ?? '');
    const value = start?.some(each => name.startsWith(each)) ? env[name] : undefined;
    if (!value) continue;
    listed ??= travelling();
    if (listed.includes(name)) found[name] = value;
  }
  return found;
}
