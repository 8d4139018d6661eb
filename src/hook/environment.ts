/**
 * The variables that travel with a fragment, because a session is pinned to its configuration at its first event and
 * deliver, a process started by somebody else, must not use its own. Both front ends read this one list: a variable
 * that is not here reaches nobody. An empty value means unset, as OpenTelemetry says.
 */
const signals = ['', '_TRACES', '_METRICS', '_LOGS'] as const;
const exporterSettings = [
  'ENDPOINT',
  'HEADERS',
  'TIMEOUT',
  'PROTOCOL',
  'COMPRESSION',
  'CERTIFICATE',
  'CLIENT_CERTIFICATE',
  'CLIENT_KEY',
  'INSECURE',
] as const;

export const travelling: readonly string[] = [
  // Context of the process that runs the agent.
  'TRACEPARENT',
  'TRACESTATE',
  'BAGGAGE',

  'OTEL_SDK_DISABLED',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_ENTITIES',
  'OTEL_LOG_LEVEL',
  'OTEL_PROPAGATORS',
  'OTEL_CONFIG_FILE',
  'OTEL_EXPERIMENTAL_CONFIG_FILE',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
  'OTEL_LOGS_EXPORTER',
  'OTEL_METRICS_EXEMPLAR_FILTER',
  'OTEL_METRIC_EXPORT_INTERVAL',
  'OTEL_METRIC_EXPORT_TIMEOUT',
  'OTEL_SEMCONV_STABILITY_OPT_IN',
  'OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN',
  'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',

  ...signals.flatMap(signal => exporterSettings.map(setting => `OTEL_EXPORTER_OTLP${signal}_${setting}`)),
  'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
  'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION',

  ...['BSP', 'BLRP'].flatMap(processor =>
    ['SCHEDULE_DELAY', 'EXPORT_TIMEOUT', 'MAX_QUEUE_SIZE', 'MAX_EXPORT_BATCH_SIZE'].map(
      limit => `OTEL_${processor}_${limit}`,
    ),
  ),
  'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  'OTEL_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_SPAN_EVENT_COUNT_LIMIT',
  'OTEL_SPAN_LINK_COUNT_LIMIT',
  'OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_LINK_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_SPAN_ATTRIBUTE_PER_EVENT_COUNT_LIMIT',
  'OTEL_SPAN_ATTRIBUTE_PER_LINK_COUNT_LIMIT',
  'OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  'OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT',

  'OTEL_HOOKS_CONFIG',
  'OTEL_HOOKS_PROVIDER',
  'OTEL_HOOKS_DEBUG',
  'OTEL_HOOKS_MAX_CHARS',
  'OTEL_HOOKS_ENABLED',
  'OTEL_HOOKS_FSYNC',
  'OTEL_HOOKS_SERVICE_NAME',
  'OTEL_HOOKS_SOURCE_TOOL',
  'AGENT_HOOKS_LOG',
];

export function travellingFrom(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of travelling) {
    const value = env[name];
    if (value) found[name] = value;
  }
  return found;
}
