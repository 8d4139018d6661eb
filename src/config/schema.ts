/**
 * The table of all settings: shape, description, default, and the variables and flags that also set it.
 *
 * One flat table. The nested file, the JSON Schema, docs/configuration.md, the layers and their origins are derived
 * from it, so one new entry here adds a setting.
 */
import * as z from 'zod';
import {
  type ContentClass,
  type ContentMode,
  contentClasses,
  contentModes,
  defaultModes,
} from '../event/content-classes.ts';
import { usualLoops } from '../event/loop-limits.ts';
import { fields, type SubjectKind, subjectKinds } from '../event/risk-words.ts';
import { own } from '../lib/read.ts';
import { parsePairs } from './pairs.ts';
import { presetNames } from './presets.ts';
import {
  type ContentPlaces,
  contentPlaces,
  included,
  keptKinds,
  type LogLevel,
  levels,
  type Semconv,
  semconvs,
  typeLevels,
} from './words.ts';

/** Converts the text of a variable to a value; files and flags have typed values. */
type Text = 'text' | 'word' | 'boolean' | 'number' | 'list' | 'path' | 'pairs';

export interface Facts<T> {
  schema: z.ZodType<T>;
  about: string;
  text: Text;
  default?: T;
  /** In ascending order: a later layer overrides an earlier one. */
  variables?: readonly string[];
  flag?: string;
  /** The value is secret: it is never shown and never part of a problem. */
  secret?: true;
  /**
   * A project's file may set it without consent. `true`: the setting only labels data. A list: the project may choose a
   * value that is earlier in the list. `part`: the project may choose a part of the value of the lower layers.
   */
  project?: true | readonly unknown[] | 'part';
}

const setting = <T>(schema: z.ZodType<T>, facts: Omit<Facts<T>, 'schema'>): Facts<T> => ({ schema, ...facts });

const words = z.union([z.string().min(1), z.array(z.string().min(1))]);
const count = z.int().min(0);
const path = z.string().min(1);
const address = z.string().refine(isHttpAddress, 'is not an http:// or https:// address');
const pairs = z.union([
  z.string().refine(value => parsePairs(value) !== undefined, 'is not a list of name=value, separated by commas'),
  z.record(z.string(), z.string()),
]);
const exporters = z
  .union([z.string(), z.array(z.string())])
  .refine(
    value => wordsOf(value).every(word => ['otlp', 'console', 'none'].includes(word)),
    'names an exporter other than otlp, console and none',
  );

const want = z.union([z.string().max(2_000), z.array(z.string().max(2_000)).max(200)]);
const wants = z.partialRecord(z.enum(Object.keys(fields) as [keyof typeof fields]), want);
const ownRule = z.strictObject({
  id: z.string().regex(/^[\w.:-]{1,64}$/),
  on: z.enum(Object.keys(subjectKinds) as [SubjectKind]),
  when: wants.optional(),
  unless: wants.optional(),
  score: z.int().min(0).max(100),
  factor: z.string().regex(/^[A-Z][A-Z0-9_]{1,39}$/),
  why: z.string().max(500),
});

const dollars = z.number().min(0).max(1_000_000);
const tier = z.strictObject({ start: z.int().min(0), price: dollars });
const rate = z.union([dollars, z.strictObject({ base: dollars, tiers: z.array(tier).min(1).max(8) })]);
const rates = z.strictObject({
  input_mtok: rate,
  output_mtok: rate,
  cache_read_mtok: rate.optional(),
  cache_write_mtok: rate.optional(),
  cache_write_1h_mtok: rate.optional(),
  output_reasoning_mtok: rate.optional(),
});

export const signals = ['traces', 'metrics', 'logs'] as const;
export type OtlpSignal = (typeof signals)[number];

const ownPattern = z.string().min(1).max(2_000);

const protocols = ['http/protobuf', 'http/json', 'grpc'] as const;
export type Protocol = (typeof protocols)[number];
const compressions = ['gzip', 'none'] as const;
const temporalities = ['cumulative', 'delta', 'lowmemory'] as const;
export const destinationProviders = ['otlp', 'console', 'file', ...presetNames] as const;
export type DestinationProvider = (typeof destinationProviders)[number];
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const of = (signal: OtlpSignal): string => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_`;
const endpointOf = (signal: OtlpSignal) =>
  setting(address, {
    about: `Address for ${signal}, used unchanged (nothing is appended). Over gRPC, it has no path.`,
    text: 'text',
    variables: [`${of(signal)}ENDPOINT`],
  });
const headersOf = (signal: OtlpSignal) =>
  setting(pairs, {
    about: `Headers for ${signal}, added to \`otlp.headers\`.`,
    text: 'pairs',
    secret: true,
    variables: [`${of(signal)}HEADERS`],
  });
const protocolOf = (signal: OtlpSignal) =>
  setting<Protocol>(z.enum(protocols), {
    about: `The same as \`otlp.protocol\`, for ${signal}.`,
    text: 'word',
    variables: [`${of(signal)}PROTOCOL`],
  });
const compressionOf = (signal: OtlpSignal) =>
  setting(z.enum(compressions), {
    about: `The same as \`otlp.compression\`, for ${signal}.`,
    text: 'word',
    variables: [`${of(signal)}COMPRESSION`],
  });
const timeoutOf = (signal: OtlpSignal) =>
  setting(z.int().min(1).max(600_000), {
    about: `The same as \`otlp.timeout_ms\`, for ${signal}.`,
    text: 'number',
    variables: [`${of(signal)}TIMEOUT`],
  });
const fileOf = (signal: OtlpSignal, key: string, variable: string) =>
  setting(path, {
    about: `The same as \`otlp.${key}\`, for ${signal}.`,
    text: 'path',
    variables: [`${of(signal)}${variable}`],
  });
const exporterOf = (signal: OtlpSignal) =>
  setting(exporters, {
    about: `The exporters of ${signal}: \`otlp\`, \`console\`, both, or \`none\`. Unset: to every provider.`,
    text: 'list',
    variables: [`OTEL_${signal.toUpperCase()}_EXPORTER`],
  });
/** A type of Agent Hooks or of a vendor, or the beginning of one with `*`. */
const EVENT_PATTERN = /^([A-Za-z][\w.-]{0,120}\*?|\*)$/;
const limit = (about: string, variables: string[], value?: number) =>
  setting(count, { about, text: 'number', variables, ...(value === undefined ? {} : { default: value }) });

const MESSAGES = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';
const content = (of: ContentClass, variables: readonly string[] = []) =>
  setting<ContentMode>(z.enum(contentModes), {
    about: `Recorded form of ${contentClasses[of]}: \`off\`, a keyed \`hash\`, \`redacted\` (without secrets) or \`full\`.`,
    text: 'word',
    default: defaultModes[of],
    variables,
    project: contentModes,
  });

const budget = (about: string, schema: z.ZodType<number>) =>
  setting(schema, {
    about: `${about}. A \`Policy.Violation\` is recorded at 70 % and at 80 %; the session is not stopped.`,
    text: 'number',
    project: true,
  });

/** Only files can set the state folder, because it holds the data of many sessions. */
const keep = (most: number, value: number, about: string) =>
  setting(z.int().min(0).max(most), { about, text: 'number', default: value });

/** A setting of a back end that `provider` may name (presets.ts). */
const text = (about: string, ...variables: string[]) =>
  setting(z.string().min(1).max(1_000), { about, text: 'text', ...(variables.length > 0 ? { variables } : {}) });
const secret = (about: string, ...variables: string[]) => ({ ...text(about, ...variables), secret: true as const });
const door = (about: string, value?: string, ...variables: string[]) =>
  setting(address, {
    about,
    text: 'text',
    ...(value === undefined ? {} : { default: value }),
    ...(variables.length > 0 ? { variables } : {}),
  });

/** All settings but `destinations`, which repeats some of them for each destination. */
const single = {
  provider: setting(words, {
    about:
      'The providers that get the data: one or several of `otlp`, `console`, `file` and those of docs/providers.md. ' +
      'Unset: `otlp` as soon as an endpoint is set, otherwise none.',
    text: 'list',
    variables: ['OTEL_HOOKS_PROVIDER'],
  }),
  enabled: setting(z.boolean(), {
    about: 'False: sessions have no destination; their data stays on this machine. A project may only set it to false.',
    text: 'boolean',
    default: true,
    variables: ['OTEL_SDK_DISABLED', 'OTEL_HOOKS_ENABLED'],
    project: [false, true],
  }),
  'projects.may_silence': setting(z.boolean(), {
    about:
      "False: a project's file may not switch its sessions off (`enabled`) or lower their share of traces (`trace.sampler`) " +
      'without your consent. `status` counts the sessions that a project has silenced.',
    text: 'boolean',
    default: true,
  }),
  service_name: setting(z.string().min(1), {
    about: '`service.name` of the resource. Unset: the name of the agent. A project may set it where you have not.',
    text: 'text',
    variables: ['OTEL_SERVICE_NAME'],
    project: true,
  }),
  attributes: setting(pairs, {
    about:
      'Attributes of the resource. Those of several layers are merged; the later layer wins. A project may add some, ' +
      'but replace none; it may not name the person, the machine or the program.',
    text: 'pairs',
    variables: ['OTEL_RESOURCE_ATTRIBUTES'],
    project: true,
  }),
  'otlp.endpoint': setting(address, {
    about:
      'Base address of an OTLP receiver. Over HTTP, `/v1/traces`, `/v1/metrics` and `/v1/logs` are appended; over gRPC, the address has no path. ' +
      'With provider `otlp` and no endpoint at all: `http://localhost:4318`, over gRPC `http://localhost:4317`.',
    text: 'text',
    variables: ['OTEL_EXPORTER_OTLP_ENDPOINT'],
  }),
  'otlp.headers': setting(pairs, {
    about:
      'Headers of the requests, or metadata over gRPC, as `name=value,name=value` with percent-encoding, or as an object.',
    text: 'pairs',
    secret: true,
    variables: ['OTEL_EXPORTER_OTLP_HEADERS'],
  }),
  'otlp.protocol': setting<Protocol>(z.enum(protocols), {
    about:
      'Protocol and encoding: `http/protobuf`, `http/json`, or `grpc`, for which collectors usually listen on port 4317.',
    text: 'word',
    default: 'http/protobuf',
    variables: ['OTEL_EXPORTER_OTLP_PROTOCOL'],
  }),
  'otlp.compression': setting(z.enum(compressions), {
    about: 'Compression of bodies on the wire.',
    text: 'word',
    default: 'gzip',
    variables: ['OTEL_EXPORTER_OTLP_COMPRESSION'],
  }),
  'otlp.timeout_ms': setting(z.int().min(1).max(600_000), {
    about: 'Longest time for one request, from connecting to the last byte of the answer.',
    text: 'number',
    default: 10_000,
    variables: ['OTEL_EXPORTER_OTLP_TIMEOUT'],
  }),
  'otlp.certificate': setting(path, {
    about:
      'PEM file of the certificate authority that must have signed the server certificate, instead of the public ones.',
    text: 'path',
    variables: ['OTEL_EXPORTER_OTLP_CERTIFICATE'],
  }),
  'otlp.client_certificate': setting(path, {
    about: 'PEM file of our own certificate, for servers that ask for one.',
    text: 'path',
    variables: ['OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE'],
  }),
  'otlp.client_key': setting(path, {
    about: 'PEM file of the key of `otlp.client_certificate`.',
    text: 'path',
    variables: ['OTEL_EXPORTER_OTLP_CLIENT_KEY'],
  }),
  'otlp.headers_command': setting(words, {
    about:
      'Command that prints further headers, as lines `name: value` or as one JSON object: a text for the shell, or a list of words. ' +
      'The process that delivers runs it; a hook never does. docs/networks.md has examples with keychains.',
    text: 'list',
  }),
  'otlp.headers_command_seconds': setting(z.int().min(1).max(86_400), {
    about:
      'For how long a process uses the output of `otlp.headers_command`. When the server refuses it, the command runs again at once, one time.',
    text: 'number',
    default: 300,
  }),
  'otlp.oauth_token_url': setting(address, {
    about:
      'Token server of OAuth 2. With it, `otlp.oauth_client_id` and `otlp.oauth_client_secret`, requests carry a token of the grant `client_credentials`.',
    text: 'text',
  }),
  'otlp.oauth_client_id': text('Client at the token server.'),
  'otlp.oauth_client_secret': secret('Secret of this client.'),
  'otlp.oauth_scope': text('Scopes of the token, separated by spaces.'),
  'otlp.oauth_audience': text('Audience of the token, for token servers that expect one.'),
  'otlp.oauth_auth': setting(z.enum(['basic', 'post']), {
    about: 'Where the client and its secret are sent: in the header `Authorization`, or in the body.',
    text: 'word',
    default: 'basic',
  }),
  'otlp.oauth_certificate': setting(path, {
    about: 'PEM file of the authority that must have signed the certificate of the token server.',
    text: 'path',
  }),
  'otlp.temporality': setting(z.enum(temporalities), {
    about:
      'Temporality of metrics: `cumulative` for Prometheus, `delta` for back ends that add values up (`lowmemory` means the same).',
    text: 'word',
    default: 'cumulative',
    variables: ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'],
  }),
  'otlp.traces_endpoint': endpointOf('traces'),
  'otlp.traces_headers': headersOf('traces'),
  'otlp.traces_protocol': protocolOf('traces'),
  'otlp.traces_compression': compressionOf('traces'),
  'otlp.traces_timeout_ms': timeoutOf('traces'),
  'otlp.traces_certificate': fileOf('traces', 'certificate', 'CERTIFICATE'),
  'otlp.traces_client_certificate': fileOf('traces', 'client_certificate', 'CLIENT_CERTIFICATE'),
  'otlp.traces_client_key': fileOf('traces', 'client_key', 'CLIENT_KEY'),
  'otlp.metrics_endpoint': endpointOf('metrics'),
  'otlp.metrics_headers': headersOf('metrics'),
  'otlp.metrics_protocol': protocolOf('metrics'),
  'otlp.metrics_compression': compressionOf('metrics'),
  'otlp.metrics_timeout_ms': timeoutOf('metrics'),
  'otlp.metrics_certificate': fileOf('metrics', 'certificate', 'CERTIFICATE'),
  'otlp.metrics_client_certificate': fileOf('metrics', 'client_certificate', 'CLIENT_CERTIFICATE'),
  'otlp.metrics_client_key': fileOf('metrics', 'client_key', 'CLIENT_KEY'),
  'otlp.logs_endpoint': endpointOf('logs'),
  'otlp.logs_headers': headersOf('logs'),
  'otlp.logs_protocol': protocolOf('logs'),
  'otlp.logs_compression': compressionOf('logs'),
  'otlp.logs_timeout_ms': timeoutOf('logs'),
  'otlp.logs_certificate': fileOf('logs', 'certificate', 'CERTIFICATE'),
  'otlp.logs_client_certificate': fileOf('logs', 'client_certificate', 'CLIENT_CERTIFICATE'),
  'otlp.logs_client_key': fileOf('logs', 'client_key', 'CLIENT_KEY'),
  'exporters.traces': exporterOf('traces'),
  'exporters.metrics': exporterOf('metrics'),
  'exporters.logs': exporterOf('logs'),
  'metrics.interval_ms': setting(z.int().min(1_000).max(3_600_000), {
    about: 'Shortest time between two sends of metrics to one destination.',
    text: 'number',
    default: 15_000,
    variables: ['OTEL_METRIC_EXPORT_INTERVAL'],
  }),
  'metrics.include': setting(z.array(z.enum(included)), {
    about:
      'Attributes of metrics with open values: `session.id`, the unchanged names of tools, subagents and MCP servers ' +
      "(`gen_ai.tool.name`, `gen_ai.agent.name`, `agent_hooks.mcp.server`), the agent's mode also on histograms of tools " +
      '(`agent_hooks.agent.mode`), repository, branch and user of the session (`vcs.repository.name`, `vcs.ref.head.name`, ' +
      '`user.id` in the form of `content.user`), within `metrics.series`.',
    text: 'list',
  }),
  'metrics.series': setting(z.int().min(500).max(1_000_000), {
    about:
      'Largest number of series of one agent at one destination, as Prometheus counts them. Further series are counted under `other`.',
    text: 'number',
    default: 2_000,
  }),
  'metrics.exemplars': setting(z.boolean(), {
    about: 'False: measurements have no exemplars, which name their traces.',
    text: 'boolean',
    default: true,
    variables: ['OTEL_METRICS_EXEMPLAR_FILTER'],
  }),
  'compat.span_names': setting(z.enum(['latest', 'v0']), {
    about:
      'Names of spans: those of the GenAI conventions, or `v0`, those of the Python package of the same name, with its attributes ' +
      'in addition to the newest: docs/from-python.md.',
    text: 'word',
    default: 'latest',
    project: true,
  }),
  semconv: setting<Semconv>(z.enum(semconvs), {
    about:
      'Names of the GenAI conventions: the newest, those of version 1.36, which many dashboards still use, or both, ' +
      'where they differ.',
    text: 'word',
    default: 'latest',
    project: true,
  }),
  'grafana_cloud.endpoint': door(
    "The stack's OTLP gateway, as its page *OpenTelemetry* shows it: `https://otlp-gateway-....grafana.net/otlp`.",
    undefined,
    'GRAFANA_CLOUD_OTLP_ENDPOINT',
  ),
  'grafana_cloud.instance_id': text('Its instance id, a number.', 'GRAFANA_CLOUD_INSTANCE_ID'),
  'grafana_cloud.token': secret(
    'An access policy token that may write metrics, logs and traces.',
    'GRAFANA_CLOUD_API_KEY',
  ),
  'langfuse.base_url': door(
    'Address of Langfuse: another region, or your own.',
    'https://cloud.langfuse.com',
    'LANGFUSE_HOST',
    'LANGFUSE_BASE_URL',
  ),
  'langfuse.public_key': text('Public key of the project.', 'LANGFUSE_PUBLIC_KEY'),
  'langfuse.secret_key': secret('Secret key of the project.', 'LANGFUSE_SECRET_KEY'),
  'datadog.api_key': secret(
    "API key for Datadog's intake. Unset: data is sent to the Agent's OTLP receiver.",
    'DD_API_KEY',
  ),
  'datadog.site': setting(
    // The key is sent to this host, so only hosts of Datadog are allowed.
    z.string().regex(/^([a-z0-9-]+\.)?(datadoghq\.(com|eu)|ddog-gov\.com)$/, "is not one of Datadog's sites"),
    { about: 'Site of the account. Unset: `datadoghq.com`.', text: 'text', variables: ['DD_SITE'] },
  ),
  'datadog.agent_host': text('Host of the Agent; its OTLP port is 4318. Unset: `localhost`.', 'DD_AGENT_HOST'),
  'datadog.endpoint': door('Base address. Unset: it follows from site, key and host.'),
  'datadog.otlp_source': setting(z.string().min(1).max(200), {
    about:
      'Name of the source in requests to the intake of traces: `llmobs`, or the name that Datadog assigned to you.',
    text: 'text',
    default: 'llmobs',
  }),
  'datadog.service': text('`service.name`, if `service_name` is unset and the provider is Datadog.', 'DD_SERVICE'),
  'datadog.env': text('`deployment.environment.name`, if the provider is Datadog.', 'DD_ENV'),
  'honeycomb.api_key': secret('An ingest key.', 'HONEYCOMB_API_KEY'),
  'honeycomb.endpoint': door(
    'In Europe `https://api.eu1.honeycomb.io`.',
    'https://api.honeycomb.io',
    'HONEYCOMB_API_ENDPOINT',
  ),
  'honeycomb.metrics_dataset': setting(z.string().min(1).max(200), {
    about: 'Dataset of metrics; spans and records are sorted by their service.',
    text: 'text',
    default: 'otel-hooks-metrics',
    variables: ['HONEYCOMB_METRICS_DATASET'],
  }),
  'new_relic.license_key': secret('A license key (ingest).', 'NEW_RELIC_LICENSE_KEY'),
  'new_relic.endpoint': door('In Europe `https://otlp.eu01.nr-data.net`.', 'https://otlp.nr-data.net'),
  'dynatrace.endpoint': door(
    '`https://<environment>.live.dynatrace.com/api/v2/otlp`, or that of an ActiveGate.',
    undefined,
    'DT_ENDPOINT',
  ),
  'dynatrace.token': secret(
    'A token with `openTelemetryTrace.ingest`, `metrics.ingest` and `logs.ingest`.',
    'DT_API_TOKEN',
  ),
  'axiom.token': secret('An API token that may ingest.', 'AXIOM_TOKEN'),
  'axiom.endpoint': door('Address of Axiom; another region has its own domain.', 'https://api.axiom.co', 'AXIOM_URL'),
  'axiom.traces_dataset': text('Dataset of traces; each signal has its own.', 'AXIOM_DATASET'),
  'axiom.logs_dataset': text('Dataset of logs. Unset: they are not sent.'),
  'axiom.metrics_dataset': text('Dataset of metrics. Unset: they are not sent.'),
  'signoz.endpoint': door('Address of your region, or of your own collector.', 'https://ingest.us.signoz.cloud'),
  'signoz.ingestion_key': secret('Ingestion key; a collector of your own needs none.'),
  'langsmith.api_key': secret('An API key of the workspace.', 'LANGSMITH_API_KEY'),
  'langsmith.endpoint': door(
    'In Europe `https://eu.api.smith.langchain.com`; or your own.',
    'https://api.smith.langchain.com',
    'LANGSMITH_ENDPOINT',
  ),
  'langsmith.project': text("Project to write to. Unset: LangSmith's default.", 'LANGSMITH_PROJECT'),
  'phoenix.endpoint': door(
    'Base address of Phoenix; in the cloud with the space, `https://app.phoenix.arize.com/s/<space>`.',
    'http://localhost:6006',
    'PHOENIX_COLLECTOR_ENDPOINT',
  ),
  'phoenix.api_key': secret('API key, if authentication is switched on.', 'PHOENIX_API_KEY'),
  'azure_monitor.endpoint': door(
    'The collector that runs collector-config/azure-monitor.yaml.',
    'http://localhost:4318',
  ),
  'file.path': setting(path, {
    about: 'File to which the provider `file` appends one OTLP/JSON request per line.',
    text: 'path',
  }),
  'read_back.tempo': door(
    'Address at which Tempo answers queries, so that `doctor` can read a trace back. Unset: port 3200 of this machine is tried.',
  ),
  'read_back.jaeger': door('The same for Jaeger (port 16686).'),
  'read_back.loki': door('The same for Loki and a log record (port 3100).'),
  'read_back.prometheus': door('The same for Prometheus and a metric (port 9090).'),
  agent_hooks_log: setting(path, {
    about: 'File to which every event is appended as one line of Agent Hooks 0.1. Providers get their data as usual.',
    text: 'path',
    variables: ['AGENT_HOOKS_LOG'],
  }),
  'hooks.event': setting(words, {
    about:
      'Events for `hooks.output` and `hooks.endpoint`: `*` for all, or types of Agent Hooks such as `Action.*, Policy.*`.',
    text: 'list',
    default: '*',
  }),
  'hooks.output': setting(path, {
    about:
      'File to which the events of `hooks.event` are appended, one per line, in the form of `agent_hooks_log`: docs/exporting.md.',
    text: 'path',
  }),
  'hooks.endpoint': setting(address, {
    about:
      'Address to which the events of `hooks.event` are posted, one per line (`application/vnd.agent-hooks.stream+jsonl`).',
    text: 'text',
  }),
  'hooks.headers': setting(pairs, {
    about: 'Headers of the requests to `hooks.endpoint`, such as `authorization=Bearer ...`.',
    text: 'pairs',
    secret: true,
  }),
  'hooks.certificate': setting(path, {
    about: 'PEM file of the certificate authorities for `hooks.endpoint`.',
    text: 'path',
  }),
  'hooks.sign_key': setting(path, {
    about: 'Ed25519 key that signs the requests to `hooks.endpoint`; `otel-hooks signing-key` creates one.',
    text: 'path',
  }),
  'trace.deny_as_error': setting(z.boolean(), {
    about: 'True: a denied action has the status ERROR. False: it has none, because the policy worked.',
    text: 'boolean',
    default: false,
    project: true,
  }),
  'trace.shape': setting(z.enum(['session', 'turn']), {
    about:
      'Content of one trace: a `session`, in linked segments if it is long, or a `turn`, linked to the turn before. ' +
      'Both carry `session.id`.',
    text: 'word',
    default: 'session',
    project: true,
  }),
  'trace.turns': setting(z.enum(['on', 'off']), {
    about:
      '`off`: turns have no span, and their spans become children of the session. Metrics and logs of turns stay. ' +
      'It has no effect if each turn is a trace.',
    text: 'word',
    default: 'on',
    project: true,
  }),
  'trace.repository': setting(z.boolean(), {
    about:
      "False: the session's span does not name the repository, the branch and the commit. " +
      'A project may only set it to false.',
    text: 'boolean',
    default: true,
    project: [false, true],
  }),
  'openhook.enabled': setting(z.boolean(), {
    about:
      'True: the commands of `.openhook.json` get the events of new sessions as OpenHook envelopes, ' +
      'after your consent to each file. See [openhook.md](openhook.md). A project may only set it to false.',
    text: 'boolean',
    default: false,
    project: [false, true],
  }),
  'trace.sampler': setting(z.enum(samplers), {
    about:
      'The sampler, which decides which sessions send their traces: docs/sampling.md. Logs and metrics are not sampled. ' +
      'A project may only lower the share.',
    text: 'word',
    default: 'parentbased_always_on',
    variables: ['OTEL_TRACES_SAMPLER'],
    project: true,
  }),
  'trace.sampler_arg': setting(z.number().min(0).max(1), {
    about:
      "Share of sessions that the ratio samplers keep, decided by the id of a session's first trace, so that all traces of a " +
      'session are sent or none.',
    text: 'number',
    default: 1,
    variables: ['OTEL_TRACES_SAMPLER_ARG'],
    project: true,
  }),
  'trace.keep': setting(z.array(z.enum(keptKinds)), {
    about:
      'Spans of sessions that the sampler does not keep which are sent nevertheless, with the spans above them: `failures`, ' +
      '`denials`, `risk` (actions of high and critical risk). A project may only remove kinds.',
    text: 'list',
    project: 'part',
  }),
  'trace.traceparent': setting(z.enum(['link', 'parent', 'ignore']), {
    about: "Use of a TRACEPARENT in the hook's environment: as a link, as the session's parent, or not at all.",
    text: 'word',
    default: 'link',
    variables: ['OTEL_PROPAGATORS'],
    project: true,
  }),
  'content.prompt': content('prompt', [MESSAGES]),
  'content.response': content('response', [MESSAGES]),
  'content.arguments': content('arguments', [MESSAGES]),
  'content.results': content('results', [MESSAGES]),
  'content.paths': content('paths'),
  'content.commands': content('commands'),
  'content.user': content('user'),
  'content.host': content('host'),
  'content.on': setting<ContentPlaces>(z.enum(contentPlaces), {
    about: 'Place of recorded content: spans (2,048 bytes of each), log records (24,000), or both.',
    text: 'word',
    default: 'both',
    variables: [MESSAGES],
    project: true,
  }),
  'content.hash_key': setting(z.string().min(16).max(256), {
    about: 'Key of hashes, so that hashes of several machines can be compared. Unset: a key of this installation only.',
    text: 'text',
    secret: true,
  }),
  'metadata.include': setting(z.array(z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$/)).max(32), {
    about:
      'Metadata of vendors to record and send, named by paths with dots: `dev.cursor.workspace_id`. Secrets are removed from ' +
      'texts, which are cut to 256 characters. A project may only remove names.',
    text: 'list',
    project: 'part',
  }),
  'logs.level': setting<LogLevel>(z.enum(levels), {
    about:
      'Log records below this level are not sent. Spans and metrics do not depend on it. A project may only raise it.',
    text: 'word',
    default: 'debug',
    project: levels,
  }),
  'logs.levels': setting(z.record(z.string().regex(EVENT_PATTERN), z.enum(typeLevels)), {
    about:
      'Other levels for types of events, such as `{"Action.*": "warn", "Context.*": "off"}`; `off` sends no record of a type. ' +
      'The longest pattern counts.',
    text: 'pairs',
  }),
  'redaction.patterns': setting(z.array(ownPattern).max(200), {
    about: 'RE2 patterns of further secrets, which are removed from content in mode `redacted`.',
    text: 'list',
  }),
  'redaction.allow': setting(z.array(ownPattern).max(200), {
    about:
      'RE2 patterns of texts that are not secrets although they look like secrets. A pattern must match the whole text.',
    text: 'list',
  }),
  'risk.enabled': setting(z.boolean(), {
    about: 'False: no risk of actions is computed. Risk that an event states is kept.',
    text: 'boolean',
    default: true,
  }),
  'risk.rules': setting(z.array(ownRule).max(500), {
    about: 'Your own rules, in addition to the built-in ones; docs/risk.md describes their form. Patterns are RE2.',
    text: 'list',
  }),
  'risk.overrides': setting(z.record(z.string(), z.union([z.int().min(0).max(100), z.literal('off')])), {
    about: 'Other scores for built-in rules, by their ids; `off` removes a rule.',
    text: 'pairs',
  }),
  'cost.enabled': setting(z.boolean(), {
    about: 'False: no cost of responses is computed. Cost that the agent states is still sent.',
    text: 'boolean',
    default: true,
  }),
  'cost.prices': setting(z.record(z.string().min(1).max(256), z.union([z.string().min(1).max(64), rates])), {
    about:
      'Your own prices, by `provider/model` or `model`, with `*` at the end for a prefix: US dollars for a ' +
      'million tokens, or the name of the provider whose listed prices apply. See docs/cost.md.',
    text: 'pairs',
  }),
  'loops.failing': setting(z.int().min(0).max(100), {
    about:
      'Number of equal actions with the same failure that make a loop; docs/loops-and-budgets.md has the rules. 0: no check.',
    text: 'number',
    default: usualLoops.failing,
    project: true,
  }),
  'loops.unchanged': setting(z.int().min(0).max(100), {
    about: 'Number of equal actions that succeed with the same output and make a loop. 0: no check.',
    text: 'number',
    default: usualLoops.unchanged,
    project: true,
  }),
  'loops.minutes': setting(z.int().min(1).max(1_440), {
    about: 'Longest time between two equal actions of the same loop, in minutes.',
    text: 'number',
    default: usualLoops.minutes,
    project: true,
  }),
  'budget.session_tokens': budget('Tokens of one session, input and output, subagents included', z.int().min(1)),
  'budget.turn_tokens': budget('The same for one turn', z.int().min(1)),
  'budget.session_usd': budget('US dollars of one session, if its cost is known', z.number().positive()),
  'budget.turn_usd': budget('The same for one turn', z.number().positive()),
  'limits.attribute_count': limit(
    'Largest number of attributes of a span or record.',
    ['OTEL_ATTRIBUTE_COUNT_LIMIT'],
    128,
  ),
  'limits.attribute_value_length': limit('Longest text of an attribute, in characters. Unset: 2,048 bytes.', [
    'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  ]),
  'limits.span_attribute_count': limit('The same as `limits.attribute_count`, for spans.', [
    'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
  ]),
  'limits.span_attribute_value_length': limit('The same as `limits.attribute_value_length`, for spans.', [
    'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  ]),
  'limits.span_event_count': limit(
    'Largest number of events of a span. It has no effect, because events are sent as log records.',
    ['OTEL_SPAN_EVENT_COUNT_LIMIT'],
    128,
  ),
  'limits.span_link_count': limit('Largest number of links of a span.', ['OTEL_SPAN_LINK_COUNT_LIMIT'], 128),
  'limits.event_attribute_count': limit(
    "Largest number of attributes of a span's event. It has no effect, because events are sent as log records.",
    ['OTEL_SPAN_ATTRIBUTE_PER_EVENT_COUNT_LIMIT', 'OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT'],
    128,
  ),
  'limits.link_attribute_count': limit(
    "Largest number of attributes of a span's link.",
    ['OTEL_SPAN_ATTRIBUTE_PER_LINK_COUNT_LIMIT', 'OTEL_LINK_ATTRIBUTE_COUNT_LIMIT'],
    128,
  ),
  'limits.log_attribute_count': limit('The same as `limits.attribute_count`, for log records.', [
    'OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT',
  ]),
  'limits.log_attribute_value_length': limit('The same as `limits.attribute_value_length`, for log records.', [
    'OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  ]),
  'proxy.url': setting(address, {
    about:
      'HTTP proxy for all requests. Without this setting, the variables HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY of the process that delivers count. Read from the global file only.',
    text: 'text',
  }),
  'proxy.direct': setting(words, {
    about:
      'Hosts that are reached without the proxy: names, addresses, networks such as `10.0.0.0/8`, and patterns with `*` (`*` alone: all). Without this setting and `proxy.url`, the variable NO_PROXY counts. Loopback addresses are always reached without it. Read from the global file only.',
    text: 'list',
  }),
  'proxy.ca': setting(path, {
    about:
      'PEM file with the authorities that sign the certificate of the proxy, or the certificates that an inspecting proxy puts in place of those of servers. Read from the global file only.',
    text: 'path',
  }),
  'keep.inbox_mb': keep(
    1_000_000,
    1_024,
    'Largest size in MB of the hooks in the inbox that only a later version can read. 0: no limit, also for the settings below.',
  ),
  'keep.inbox_files': keep(100_000_000, 200_000, 'Largest number of hooks that only a later version can read.'),
  'keep.inbox_days': keep(3_650, 30, 'Days for which these hooks are kept.'),
  'keep.outbox_mb': keep(1_000_000, 1_024, 'Largest size in MB of the data that waits for all destinations together.'),
  'keep.outbox_files': keep(100_000_000, 100_000, 'Largest number of files that wait for destinations.'),
  'keep.outbox_days': keep(3_650, 30, 'Days for which data waits for a destination.'),
  'keep.journal_mb': keep(1_000_000, 1_024, 'Largest size in MB of all journals.'),
  'keep.journal_files': keep(100_000_000, 20_000, 'Largest number of journals; each session has one.'),
  'keep.journal_days': keep(3_650, 90, 'Days for which the journal of an ended session is kept.'),
  'keep.quarantine_mb': keep(1_000_000, 256, 'Largest size in MB of the quarantine.'),
  'keep.quarantine_files': keep(100_000_000, 10_000, 'Largest number of files in the quarantine.'),
  'keep.quarantine_hours': keep(87_600, 24, 'Hours for which data stays in the quarantine.'),
  max_chars: setting(z.int().min(0).max(10_000_000), {
    about: 'Longest text of recorded content, in characters.',
    text: 'number',
    default: 20_000,
    variables: ['OTEL_HOOKS_MAX_CHARS'],
  }),
  state_dir: setting(path, {
    about: 'Folder for all data of otel-hooks.',
    text: 'path',
    variables: ['OTEL_HOOKS_STATE_DIR'],
    flag: '--state-dir',
  }),
  fsync: setting(z.boolean(), {
    about: 'True: recorded data also survives a power cut, but writes are slower.',
    text: 'boolean',
    default: false,
    variables: ['OTEL_HOOKS_FSYNC'],
  }),
  'attribution.enabled': setting(z.boolean(), {
    about:
      'A setting of the Python package of the same name. It is accepted, so that its files stay valid, and has no effect.',
    text: 'boolean',
    project: true,
  }),
  debug: setting(z.boolean(), {
    about: 'Accepted for earlier configurations. `OTEL_HOOKS_DEBUG=true` prints the place of an unexpected error.',
    text: 'boolean',
    default: false,
    variables: ['OTEL_LOG_LEVEL', 'OTEL_HOOKS_DEBUG'],
  }),
} satisfies { [key: string]: { schema: z.ZodType } };

/** The settings of named destinations by name, as the file has them. */
export type DestinationTables = { readonly [name: string]: { readonly [member: string]: unknown } };

/** Names of destinations are words of the command line and of hooks. */
export const DESTINATION_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Members of a named destination that are not settings of its provider. */
export const commonMembers = {
  provider: z.enum(destinationProviders).optional().describe('The kind of the destination. Unset: `otlp`.'),
  signals: z.array(z.enum(signals)).min(1).optional().describe('The signals that it gets. Unset: all that it accepts.'),
  content: z
    .partialRecord(z.enum(Object.keys(contentClasses) as [ContentClass]), z.enum(contentModes))
    .optional()
    .describe('Narrower content settings, by class. A class that is not named has the global setting.'),
  sampler: z.enum(samplers).optional().describe('The same as `trace.sampler`, for this destination.'),
  sampler_arg: z.number().min(0).max(1).optional().describe('The same as `trace.sampler_arg`, for this destination.'),
};

const destinationTables: z.ZodType<DestinationTables> = z.record(
  z.string().regex(DESTINATION_NAME),
  z.strictObject({ ...providerMembers(), ...commonMembers }),
);

export const settings = {
  ...single,
  destinations: setting<DestinationTables>(destinationTables, {
    about:
      'Named destinations, in addition to those of `provider`. Each has a provider (`otlp` if none is named), and the settings ' +
      'of that provider without the name of their group, such as `endpoint` and `headers`; docs/providers.md describes them. ' +
      'A later layer replaces a destination of the same name as a whole.',
    text: 'pairs',
    secret: true,
  }),
};

/** The settings of providers under the names that they have in a named destination. */
function providerMembers(): { [member: string]: z.ZodType } {
  const members: { [member: string]: z.ZodType } = {};
  for (const provider of destinationProviders)
    for (const member of membersOf(provider)) {
      const { schema, about } = factsIn(keyOfMember(provider, member));
      members[member] ??= schema.describe(about).optional();
    }
  return members;
}

function factsIn(key: string | undefined): Facts<unknown> {
  return own(single, key ?? '') as unknown as Facts<unknown>;
}

/** The names of the settings of a provider's destination. */
export function membersOf(provider: DestinationProvider): string[] {
  const groups = [groupOf(provider), ...(provider === 'console' || provider === 'file' ? [] : ['otlp'])];
  const members = groups.flatMap(group =>
    Object.keys(single).flatMap(key => (key.startsWith(`${group}.`) ? [key.slice(group.length + 1)] : [])),
  );
  return [...new Set(members)].filter(member => keyOfMember(provider, member) !== undefined);
}

/** Returns the setting of a member. A preset has its own settings, and those of `otlp` about the form of requests. */
export function keyOfMember(provider: DestinationProvider, member: string): Key | undefined {
  const ofGroup = `${groupOf(provider)}.${member}`;
  // These two label the resource of a session, which all of its destinations share.
  const isLabel = ofGroup === 'datadog.service' || ofGroup === 'datadog.env';
  if (Object.hasOwn(single, ofGroup) && !isLabel) return ofGroup as Key;
  const general = `otlp.${member}`;
  const isRequest = /(^|_)(compression|timeout_ms|temporality)$/.test(member);
  const isPresetMember = provider !== 'console' && provider !== 'file' && isRequest;
  return isPresetMember && Object.hasOwn(single, general) ? (general as Key) : undefined;
}

function groupOf(provider: DestinationProvider): string {
  return provider.replaceAll('-', '_');
}

export type Key = keyof typeof settings;
export type Value<K extends Key> = z.output<(typeof settings)[K]['schema']>;
export type Values = { [K in Key]?: Value<K> };

export const keys = Object.keys(settings) as Key[];
export const isKey = (text: string): text is Key => Object.hasOwn(settings, text);
/** The entry without the type of its value. */
export const factsOf = (key: Key): Facts<unknown> => settings[key] as unknown as Facts<unknown>;

/** The value is an address. Its user, password and query are never shown. */
export const isAddress = (key: Key): boolean => factsOf(key).schema === address;

/** JSON Schema of a config file, for `config --schema` and for editors. */
export function jsonSchema(): object {
  const top: { [name: string]: z.ZodType } = { $schema: z.string().optional() };
  const groups: { [name: string]: { [name: string]: z.ZodType } } = {};
  for (const key of keys) {
    const facts = factsOf(key);
    const described = facts.schema.describe(facts.about).optional();
    const [group, name] = key.split('.');
    if (group === undefined) continue;
    if (name === undefined) top[group] = described;
    else {
      groups[group] ??= {};
      groups[group][name] = described;
    }
  }
  for (const [group, members] of Object.entries(groups)) top[group] = z.strictObject(members).optional();
  const schema = z.toJSONSchema(z.strictObject(top), { io: 'input' });
  return { ...schema, title: 'otel-hooks configuration' };
}

/** Returns the list of a word, of words in one text, or of a list. */
export function wordsOf(value: string | readonly string[] | undefined): string[] {
  const parts = typeof value === 'string' ? value.split(/[\s,]+/) : (value ?? []);
  return [...new Set(parts.map(part => part.trim().toLowerCase()).filter(part => part !== ''))];
}

function isHttpAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return (protocol === 'http:' || protocol === 'https:') && hostname !== '';
}
