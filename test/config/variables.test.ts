import { describe, expect, it } from 'vitest';
import { type Config, resolve } from '../../src/config/config.ts';
import { answeredVariables, answerOf, honouredVariables } from '../../src/config/variables.ts';
import { travellingFrom } from '../../src/hook/environment.ts';
import { explain } from '../../src/problems/problem.ts';

const from = (env: Record<string, string>): Config => resolve({ env, home: '/h', cwd: '/w' });

/** Each variable that people set for OpenTelemetry, and its effect here: values, or a problem that names it. */
const honoured: [variable: string, text: string, effect: object][] = [
  ['OTEL_SDK_DISABLED', 'TRUE', { values: { enabled: false } }],
  ['OTEL_SDK_DISABLED', 'false', { values: { enabled: true } }],
  ['OTEL_SERVICE_NAME', 'app', { values: { service_name: 'app' } }],
  ['OTEL_RESOURCE_ATTRIBUTES', 'a=b,c=d%20e', { attributes: { a: 'b', c: 'd e' } }],
  ['OTEL_LOG_LEVEL', 'DEBUG', { values: { debug: true } }],
  ['OTEL_LOG_LEVEL', 'error', { values: { debug: false } }],
  ['OTEL_PROPAGATORS', 'tracecontext,baggage', { values: { 'trace.traceparent': 'link' } }],
  ['OTEL_PROPAGATORS', 'tracecontext,b3', { values: { 'trace.traceparent': 'link' } }],
  [
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'true',
    {
      values: {
        'content.prompt': 'redacted',
        'content.results': 'redacted',
        'content.paths': 'off',
        'content.on': 'both',
      },
    },
  ],
  [
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'EVENT_ONLY',
    {
      values: {
        'content.prompt': 'redacted',
        'content.results': 'redacted',
        'content.paths': 'off',
        'content.on': 'events',
      },
    },
  ],
  [
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'span_only',
    {
      values: {
        'content.prompt': 'redacted',
        'content.results': 'redacted',
        'content.paths': 'off',
        'content.on': 'spans',
      },
    },
  ],
  [
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'SPAN_AND_EVENT',
    {
      values: {
        'content.prompt': 'redacted',
        'content.results': 'redacted',
        'content.paths': 'off',
        'content.on': 'both',
      },
    },
  ],
  [
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'no_content',
    { values: { 'content.prompt': 'off', 'content.results': 'off', 'content.paths': 'off', 'content.on': 'both' } },
  ],
  [
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'false',
    { values: { 'content.prompt': 'off', 'content.results': 'off', 'content.paths': 'off', 'content.on': 'both' } },
  ],
  ['OTEL_PROPAGATORS', 'none', { values: { 'trace.traceparent': 'ignore' } }],
  ['OTEL_TRACES_SAMPLER', 'always_off', { sampler: { kind: 'always_off', ratio: 0 } }],
  ['OTEL_TRACES_SAMPLER', 'parentbased_always_on', { sampler: { kind: 'always_on', ratio: 1 } }],
  ['OTEL_TRACES_SAMPLER', 'PARENTBASED_TRACEIDRATIO', { sampler: { kind: 'traceidratio', ratio: 1 } }],
  [
    'OTEL_TRACES_SAMPLER_ARG',
    '0.25',
    { values: { 'trace.sampler_arg': 0.25 }, sampler: { kind: 'always_on', ratio: 1 } },
  ],
  ['OTEL_TRACES_SAMPLER_ARG', '.5', { values: { 'trace.sampler_arg': 0.5 } }],
  ['OTEL_TRACES_SAMPLER_ARG', '1e-3', { values: { 'trace.sampler_arg': 0.001 } }],
  ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', '99', { limits: { span: { valueLength: 99 }, log: { valueLength: 99 } } }],
  ['OTEL_ATTRIBUTE_COUNT_LIMIT', '9', { limits: { span: { attributes: 9 }, log: { attributes: 9 } } }],
  [
    'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
    '99',
    { limits: { span: { valueLength: 99 }, log: { valueLength: undefined } } },
  ],
  ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', '9', { limits: { span: { attributes: 9 }, log: { attributes: 128 } } }],
  ['OTEL_SPAN_EVENT_COUNT_LIMIT', '3', { limits: { span: { events: 3 } } }],
  ['OTEL_SPAN_LINK_COUNT_LIMIT', '3', { limits: { span: { links: 3 } } }],
  ['OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT', '3', { limits: { spanEvent: { attributes: 3 } } }],
  ['OTEL_LINK_ATTRIBUTE_COUNT_LIMIT', '3', { limits: { spanLink: { attributes: 3 } } }],
  ['OTEL_SPAN_ATTRIBUTE_PER_EVENT_COUNT_LIMIT', '3', { limits: { spanEvent: { attributes: 3 } } }],
  ['OTEL_SPAN_ATTRIBUTE_PER_LINK_COUNT_LIMIT', '3', { limits: { spanLink: { attributes: 3 } } }],
  [
    'OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT',
    '99',
    { limits: { log: { valueLength: 99 }, span: { valueLength: undefined } } },
  ],
  ['OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT', '9', { limits: { log: { attributes: 9 }, span: { attributes: 128 } } }],
  ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'Delta', { values: { 'otlp.temporality': 'delta' } }],
  ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'lowmemory', { values: { 'otlp.temporality': 'lowmemory' } }],
  ['OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION', 'explicit_bucket_histogram', {}],
  ['OTEL_TRACES_EXPORTER', 'none', { values: { 'exporters.traces': ['none'] } }],
  ['OTEL_METRICS_EXPORTER', 'otlp,console', { values: { 'exporters.metrics': ['otlp', 'console'] } }],
  ['OTEL_LOGS_EXPORTER', 'otlp/stdout', { values: { 'exporters.logs': ['console'] } }],
  ['OTEL_METRIC_EXPORT_INTERVAL', '30000', { values: { 'metrics.interval_ms': 30_000 } }],
  ['OTEL_METRICS_EXEMPLAR_FILTER', 'always_off', { values: { 'metrics.exemplars': false } }],
  ['OTEL_METRICS_EXEMPLAR_FILTER', 'Trace_Based', { values: { 'metrics.exemplars': true } }],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '512', {}],
  ['OTEL_BLRP_MAX_EXPORT_BATCH_SIZE', '512', {}],
  ['AGENT_HOOKS_LOG', 'x.jsonl', { values: { agent_hooks_log: '/w/x.jsonl' } }],
  ['LANGFUSE_BASE_URL', 'https://l.example', { values: { 'langfuse.base_url': 'https://l.example' } }],
  ['LANGFUSE_PUBLIC_KEY', 'pk', { values: { 'langfuse.public_key': 'pk' } }],
  ['LANGFUSE_SECRET_KEY', 'sk', { values: { 'langfuse.secret_key': 'sk' } }],
  [
    'GRAFANA_CLOUD_OTLP_ENDPOINT',
    'https://g.example/otlp',
    { values: { 'grafana_cloud.endpoint': 'https://g.example/otlp' } },
  ],
  ['GRAFANA_CLOUD_INSTANCE_ID', '12', { values: { 'grafana_cloud.instance_id': '12' } }],
  ['GRAFANA_CLOUD_API_KEY', 'glc_k', { values: { 'grafana_cloud.token': 'glc_k' } }],
  ['LANGFUSE_HOST', 'https://l.example', { values: { 'langfuse.base_url': 'https://l.example' } }],
  ['DD_API_KEY', 'k', { values: { 'datadog.api_key': 'k' } }],
  ['DD_SITE', 'datadoghq.eu', { values: { 'datadog.site': 'datadoghq.eu' } }],
  ['HONEYCOMB_API_KEY', 'k', { values: { 'honeycomb.api_key': 'k' } }],
  ['HONEYCOMB_API_ENDPOINT', 'https://h.example', { values: { 'honeycomb.endpoint': 'https://h.example' } }],
  ['HONEYCOMB_METRICS_DATASET', 'm', { values: { 'honeycomb.metrics_dataset': 'm' } }],
  ['NEW_RELIC_LICENSE_KEY', 'k', { values: { 'new_relic.license_key': 'k' } }],
  [
    'DT_ENDPOINT',
    'https://d.example/api/v2/otlp',
    { values: { 'dynatrace.endpoint': 'https://d.example/api/v2/otlp' } },
  ],
  ['DT_API_TOKEN', 'k', { values: { 'dynatrace.token': 'k' } }],
  ['AXIOM_TOKEN', 'k', { values: { 'axiom.token': 'k' } }],
  ['AXIOM_URL', 'https://a.example', { values: { 'axiom.endpoint': 'https://a.example' } }],
  ['AXIOM_DATASET', 'd', { values: { 'axiom.traces_dataset': 'd' } }],
  ['LANGSMITH_API_KEY', 'k', { values: { 'langsmith.api_key': 'k' } }],
  ['LANGSMITH_ENDPOINT', 'https://l.example', { values: { 'langsmith.endpoint': 'https://l.example' } }],
  ['LANGSMITH_PROJECT', 'p', { values: { 'langsmith.project': 'p' } }],
  ['PHOENIX_API_KEY', 'k', { values: { 'phoenix.api_key': 'k' } }],
  ['PHOENIX_COLLECTOR_ENDPOINT', 'https://p.example', { values: { 'phoenix.endpoint': 'https://p.example' } }],
  ['DD_AGENT_HOST', 'agent', { values: { 'datadog.agent_host': 'agent' } }],
  ['DD_SERVICE', 's', { values: { 'datadog.service': 's' } }],
  ['DD_ENV', 'e', { values: { 'datadog.env': 'e' } }],
  ['OTEL_HOOKS_PROVIDER', 'otlp,File', { values: { provider: ['otlp', 'file'] } }],
  ['OTEL_HOOKS_ENABLED', 'false', { values: { enabled: false } }],
  ['OTEL_HOOKS_DEBUG', 'true', { values: { debug: true } }],
  ['OTEL_HOOKS_MAX_CHARS', '5', { values: { max_chars: 5 } }],
  ['OTEL_HOOKS_STATE_DIR', '/s', { values: { state_dir: '/s' } }],
  ['OTEL_HOOKS_FSYNC', 'true', { values: { fsync: true } }],
  ['OTEL_HOOKS_CONFIG', '/c.json', {}],
  ...['', 'traces_', 'metrics_', 'logs_'].flatMap((signal): [string, string, object][] => {
    const variable = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}`;
    return [
      [`${variable}ENDPOINT`, 'http://h:1/p', { values: { [`otlp.${signal}endpoint`]: 'http://h:1/p' } }],
      [`${variable}HEADERS`, 'a=b%3D%20c,d=e', { values: { [`otlp.${signal}headers`]: { a: 'b= c', d: 'e' } } }],
      [`${variable}TIMEOUT`, '250', { values: { [`otlp.${signal}timeout_ms`]: 250 } }],
      [`${variable}COMPRESSION`, 'GZIP', { values: { [`otlp.${signal}compression`]: 'gzip' } }],
      [`${variable}COMPRESSION`, 'none', { values: { [`otlp.${signal}compression`]: 'none' } }],
      [`${variable}CERTIFICATE`, 'ca.pem', { values: { [`otlp.${signal}certificate`]: '/w/ca.pem' } }],
      [`${variable}CLIENT_CERTIFICATE`, '/c.pem', { values: { [`otlp.${signal}client_certificate`]: '/c.pem' } }],
      [`${variable}CLIENT_KEY`, '/k.pem', { values: { [`otlp.${signal}client_key`]: '/k.pem' } }],
      [`${variable}PROTOCOL`, 'http/json', { values: { [`otlp.${signal}protocol`]: 'http/json' } }],
    ];
  }),
];

const answered: [variable: string, text: string, code: string][] = [
  ['OTEL_SDK_DISABLED', 'yes', 'config-value'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'a=b,broken', 'config-value'],
  ['OTEL_LOG_LEVEL', 'loud', 'config-value'],
  ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'maybe', 'config-value'],
  ['OTEL_PROPAGATORS', 'b3', 'config-value'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'config-value'],
  ['OTEL_TRACES_SAMPLER_ARG', '2', 'config-value'],
  ['OTEL_TRACES_SAMPLER_ARG', 'half', 'config-value'],
  ['OTEL_ATTRIBUTE_COUNT_LIMIT', '-1', 'config-value'],
  ['OTEL_ATTRIBUTE_COUNT_LIMIT', '1.5', 'config-value'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s', 'config-value'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', 'config-value'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz', 'config-value'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd', 'config-value'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'thrift', 'config-value'],
  ['OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', 'HTTP', 'config-value'],
  ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'weekly', 'config-value'],
  [
    'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION',
    'base2_exponential_bucket_histogram',
    'variable-unsupported',
  ],
  ['OTEL_TRACES_EXPORTER', 'zipkin', 'config-value'],
  ['OTEL_METRICS_EXPORTER', 'prometheus', 'config-value'],
  ['OTEL_METRIC_EXPORT_INTERVAL', 'often', 'config-value'],
  ['OTEL_METRIC_EXPORT_TIMEOUT', '1', 'variable-unsupported'],
  ['OTEL_ENTITIES', 'x', 'variable-unsupported'],
  ['OTEL_BSP_SCHEDULE_DELAY', '1', 'variable-unsupported'],
  ['OTEL_EXPORTER_OTLP_INSECURE', 'true', 'variable-unsupported'],
  ['OTEL_EXPORTER_OTLP_TRACES_INSECURE', 'true', 'variable-unsupported'],
  ['OTEL_EXPORTER_OTLP_METRICS_INSECURE', 'true', 'variable-unsupported'],
  ['OTEL_EXPORTER_OTLP_LOGS_INSECURE', 'true', 'variable-unsupported'],
  ['OTEL_BSP_EXPORT_TIMEOUT', '1', 'variable-unsupported'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '1', 'variable-unsupported'],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '64', 'variable-unsupported'],
  ['OTEL_BLRP_SCHEDULE_DELAY', '1', 'variable-unsupported'],
  ['OTEL_BLRP_EXPORT_TIMEOUT', '1', 'variable-unsupported'],
  ['OTEL_BLRP_MAX_QUEUE_SIZE', '1', 'variable-unsupported'],
  ['OTEL_BLRP_MAX_EXPORT_BATCH_SIZE', '64', 'variable-unsupported'],
  ['OTEL_CONFIG_FILE', '/x.yaml', 'variable-unsupported'],
  ['OTEL_EXPERIMENTAL_CONFIG_FILE', '/x.yaml', 'variable-unsupported'],
  ['OTEL_HOOKS_PROVIDR', 'x', 'variable-unknown'],
];

describe('a variable that is honoured', () => {
  it.each(honoured)('%s=%s', (variable, text, effect) => {
    const config = from({ [variable]: text });
    expect(config.problems).toEqual([]);
    expect(config).toMatchObject(effect);
  });
});

describe('a variable that cannot be honoured is reported by name, and changes nothing', () => {
  it.each(answered)('%s=%s', (variable, text, code) => {
    const config = from({ [variable]: text });
    expect(config.problems).toMatchObject([{ code, variable }]);
    expect(config.problems.map(problem => explain(problem).what).join()).toContain(variable);
    expect({ ...config, problems: [] }).toEqual(from({}));
  });
});

it('every variable that is read or reported has a row here', () => {
  const tried = new Set([...honoured, ...answered].map(([variable]) => variable));
  expect([...honouredVariables, ...answeredVariables].filter(variable => !tried.has(variable))).toEqual([]);
});

it('a fragment carries every variable that is read or reported', () => {
  const here = [...honouredVariables, ...answeredVariables].filter(variable => variable !== 'OTEL_HOOKS_STATE_DIR');
  expect(Object.keys(travellingFrom(Object.fromEntries(here.map(variable => [variable, 'x'])))).sort()).toEqual(
    [...here].sort(),
  );
});

it("prefers a span's own limits to the general ones", () => {
  const { limits } = from({
    OTEL_ATTRIBUTE_COUNT_LIMIT: '10',
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '20',
    OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT: '30',
  });
  expect([limits.span.attributes, limits.log.attributes]).toEqual([20, 30]);
});

it('names an alternative for each variable without effect', () => {
  for (const variable of answeredVariables) {
    const { problems } = from({ [variable]: 'x' });
    expect(problems.map(problem => explain(problem).next)).toEqual([answerOf(variable)?.instead]);
  }
});

it('ignores variables of other programs', () => {
  expect(from({ OTEL_NODE_RESOURCE_DETECTORS: 'all', OTEL_WHATEVER: '1', PATH: '/bin' }).problems).toEqual([]);
});

it('suggests the variable that was meant', () => {
  expect(from({ OTEL_HOOKS_PROVIDR: 'x' }).problems).toMatchObject([{ nearest: 'OTEL_HOOKS_PROVIDER' }]);
});

it('samples by the ratio of the sampler that has one', () => {
  expect(from({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' }).sampler).toEqual({
    kind: 'traceidratio',
    ratio: 0.5,
  });
});
