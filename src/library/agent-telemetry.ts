/** Starts the providers of the official SDK, and a bridge over them. */
import { parsePairs } from '../config/pairs.ts';
import { nearest } from '../lib/nearest.ts';
import { VERSION } from '../lib/version.ts';
import { stable } from '../telemetry/names.ts';
import { resourceOf } from '../telemetry/resource.ts';
import { type Bridge, type FlushOptions, type FlushResult, SessionsBridge } from './bridge.ts';
import type { BridgeOptions } from './bridge-options.ts';
import { CountedExporter } from './counted-exporter.ts';
import { isDisabled } from './options.ts';
import type {
  BridgeLoggerProvider,
  BridgeMeterProvider,
  BridgeSpanProcessor,
  BridgeTracerProvider,
} from './otel-interfaces.ts';
import { loadErrors, packages } from './sdk-packages.ts';
import { SessionIdGenerator } from './session-id-generator.ts';
import { within } from './time-limit.ts';

/**
 * The methods of an SDK's providers that the API does not have.
 *
 * @example
 * ```ts
 * const close = (provider: ShutDown): Promise<void> => provider.shutdown();
 * ```
 */
export interface Disposable {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/**
 * Options of `startAgentTelemetry`. They include the options of `createBridge`, except the providers, which
 * `startAgentTelemetry` creates.
 *
 * @example
 * ```ts
 * const options: AgentTelemetryOptions = { endpoint: 'http://127.0.0.1:4318', resource: { 'service.name': 'shop' } };
 * ```
 */
export interface AgentTelemetryOptions
  extends Omit<
    BridgeOptions,
    'tracerProvider' | 'spanProcessors' | 'spanExporters' | 'loggerProvider' | 'meterProvider' | 'resource'
  > {
  /** Base address of an OTLP/HTTP receiver, for example `http://127.0.0.1:4318`. It overrides the variables. */
  endpoint?: string | undefined;
  /** Headers of each request, in addition to those of the variables. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Attributes of the resource. They override those of the variables. */
  resource?: Readonly<Record<string, string>> | undefined;
  /** True: the providers are registered with `@opentelemetry/api`, for other instrumentations of the application. */
  register?: boolean | undefined;
  /** Processors in addition to the exporting one. */
  extraSpanProcessors?: readonly BridgeSpanProcessor[] | undefined;
  /** Time between two exports of metrics. `OTEL_METRIC_EXPORT_INTERVAL` by default, else 60,000. */
  metricIntervalMs?: number | undefined;
}

/**
 * A bridge with its providers. `shutdown` shuts them down as well.
 *
 * @example
 * ```ts
 * const telemetry: AgentTelemetry = startAgentTelemetry();
 * const tracer = telemetry.tracerProvider.getTracer('shop');
 * ```
 */
export interface AgentTelemetry extends Bridge {
  readonly tracerProvider: BridgeTracerProvider & Disposable;
  readonly loggerProvider: BridgeLoggerProvider & Disposable;
  readonly meterProvider: BridgeMeterProvider & Disposable;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The packages that the entry needs, with their lowest versions. `docs/library.md` has the command that installs them. */
const needed = {
  api: '@opentelemetry/api 1.9',
  plain: '@opentelemetry/sdk-trace-node 2.0 (or @opentelemetry/sdk-trace 3.0)',
  logs: '@opentelemetry/sdk-logs 0.203',
  metrics: '@opentelemetry/sdk-metrics 2.0',
  traceExporter: '@opentelemetry/exporter-trace-otlp-http 0.203',
  logExporter: '@opentelemetry/exporter-logs-otlp-http 0.203',
  metricExporter: '@opentelemetry/exporter-metrics-otlp-http 0.203',
} as const;

type Loaded = { [K in keyof typeof needed]: NonNullable<(typeof packages)[K]> } & typeof packages;

function loaded(): Loaded {
  const missing = Object.entries(needed).filter(([name]) => packages[name as keyof typeof packages] === undefined);
  if (missing.length > 0)
    throw new Error(
      `otel-hooks/sdk needs these packages, or newer versions: ${missing.map(([, title]) => title).join(', ')}`,
      { cause: loadErrors[0] },
    );
  return packages as Loaded;
}

const sdk = loaded();

/**
 * Starts tracing, logging and metrics on the official OpenTelemetry SDK, with exporters for OTLP/HTTP, and returns a
 * bridge over them. The standard `OTEL_*` variables apply.
 *
 * @example
 * ```ts
 * import { startAgentTelemetry } from 'otel-hooks/sdk';
 * const telemetry = startAgentTelemetry({ endpoint: 'http://127.0.0.1:4318', resource: { 'service.name': 'my-agent' } });
 * telemetry.ingest(event);
 * await telemetry.shutdown();
 * ```
 *
 * @throws TypeError when an option is unknown or has a bad value.
 */
export function startAgentTelemetry(options: AgentTelemetryOptions = {}): AgentTelemetry {
  const { endpoint, headers, resource, register, extraSpanProcessors, metricIntervalMs, ...others } = options;
  checkOwn(options);
  const env: Env = process.env;
  const isOff = isDisabled(env);
  const sdkResource = resourceOf(resourceFrom(resource, env));
  const connection = connectionTo(endpoint, headers);
  const exporter =
    exports('TRACES', env) && !isOff
      ? new CountedExporter(new sdk.traceExporter.OTLPTraceExporter(connection('traces')))
      : undefined;
  const tracerProvider = tracerProviderOf(
    [...(exporter === undefined ? [] : [batching(exporter, env)]), ...(extraSpanProcessors ?? [])],
    others.sampler ?? samplerFrom(env),
    sdkResource,
    env,
  );
  const loggerProvider = loggerProviderOf(exports('LOGS', env) && !isOff ? connection('logs') : undefined, sdkResource);
  const meterProvider = meterProviderOf(
    exports('METRICS', env) && !isOff ? connection('metrics') : undefined,
    sdkResource,
    metricIntervalMs ?? count(env.OTEL_METRIC_EXPORT_INTERVAL) ?? 60_000,
  );
  if (register === true && !isOff) registerAll(tracerProvider, loggerProvider, meterProvider);
  const { sampler: _, ...bridgeOptions } = others;
  return new StartedTelemetry(
    { ...bridgeOptions, tracerProvider, loggerProvider, meterProvider },
    exporter,
    tracerProvider,
    loggerProvider,
    meterProvider,
  );
}

class StartedTelemetry extends SessionsBridge implements AgentTelemetry {
  readonly tracerProvider: BridgeTracerProvider & Disposable;
  readonly loggerProvider: BridgeLoggerProvider & Disposable;
  readonly meterProvider: BridgeMeterProvider & Disposable;
  #ended: Promise<FlushResult> | undefined;

  constructor(
    options: BridgeOptions,
    results: CountedExporter | undefined,
    ...[tracerProvider, loggerProvider, meterProvider]: [
      BridgeTracerProvider & Disposable,
      BridgeLoggerProvider & Disposable,
      BridgeMeterProvider & Disposable,
    ]
  ) {
    super(options, { results });
    this.tracerProvider = tracerProvider;
    this.loggerProvider = loggerProvider;
    this.meterProvider = meterProvider;
  }

  override shutdown(options: FlushOptions = {}): Promise<FlushResult> {
    this.#ended ??= this.#end(options);
    return this.#ended;
  }

  async #end({ timeoutMs = 30_000 }: FlushOptions): Promise<FlushResult> {
    const startMs = Date.now();
    const result = await super.shutdown({ timeoutMs });
    const leftMs = Math.max(startMs + timeoutMs - Date.now(), 1_000);
    try {
      const all = [this.tracerProvider, this.loggerProvider, this.meterProvider];
      await within(leftMs, () => Promise.all(all.map(provider => provider.shutdown())));
      return result;
    } catch {
      // The previous flush has reported the exported items. A failed shutdown of a provider only makes the result not
      // ok.
      return { ...result, ok: false };
    }
  }
}

const ownOptions = ['endpoint', 'headers', 'resource', 'register', 'extraSpanProcessors', 'metricIntervalMs'] as const;
const made = ['tracerProvider', 'spanProcessors', 'spanExporters', 'loggerProvider', 'meterProvider'];

function checkOwn(options: AgentTelemetryOptions): void {
  const { endpoint, headers, resource, register, extraSpanProcessors, metricIntervalMs } = options;
  for (const name of made)
    if (name in options)
      throw new TypeError(`otel-hooks: startAgentTelemetry makes its own ${name}: remove the option`);
  const wrong = (name: (typeof ownOptions)[number], wanted: string): never => {
    throw new TypeError(`otel-hooks: the option ${name} is ${wanted}`);
  };
  if (endpoint !== undefined && !/^https?:\/\/./.test(endpoint)) wrong('endpoint', 'an http:// or https:// address');
  if (headers !== undefined && !areTexts(headers)) wrong('headers', 'an object of texts');
  if (resource !== undefined && !areTexts(resource)) wrong('resource', 'an object of texts');
  if (register !== undefined && typeof register !== 'boolean') wrong('register', 'true or false');
  if (extraSpanProcessors?.some(each => typeof each?.onEnd !== 'function'))
    wrong('extraSpanProcessors', 'a list of span processors');
  if (metricIntervalMs !== undefined && !(Number.isInteger(metricIntervalMs) && metricIntervalMs > 0))
    wrong('metricIntervalMs', 'an integer above 0');
  for (const name of Object.keys(options)) {
    const like = (ownOptions as readonly string[]).includes(name) ? undefined : nearest(name, ownOptions);
    if (like !== undefined && name !== 'resource')
      throw new TypeError(`otel-hooks: there is no option ${name}; there is an option ${like}`);
  }
}

const areTexts = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every(each => typeof each === 'string');

// ------------------------------------------------------------ configuration

function resourceFrom(attributes: AgentTelemetryOptions['resource'], env: Env): Record<string, string> {
  const { OTEL_SERVICE_NAME: name } = env;
  return {
    [stable.serviceName]: 'unknown_service:node',
    [stable.telemetryDistroName]: 'otel-hooks',
    [stable.telemetryDistroVersion]: VERSION,
    [stable.telemetrySdkLanguage]: 'nodejs',
    [stable.telemetrySdkName]: 'opentelemetry',
    ...parsePairs(env.OTEL_RESOURCE_ATTRIBUTES ?? ''),
    ...(name ? { [stable.serviceName]: name } : {}),
    ...attributes,
  };
}

/** Without an endpoint, the exporters read the variables themselves. */
function connectionTo(endpoint: string | undefined, headers: AgentTelemetryOptions['headers']) {
  return (signal: 'traces' | 'logs' | 'metrics') => ({
    ...(endpoint === undefined ? {} : { url: `${endpoint.replace(/\/+$/, '')}/v1/${signal}` }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
  });
}

type Connection = ReturnType<ReturnType<typeof connectionTo>>;

/** Returns true if the variable of a signal names OTLP, which is the default. */
function exports(signal: 'TRACES' | 'LOGS' | 'METRICS', env: Env): boolean {
  const names = (env[`OTEL_${signal}_EXPORTER`] ?? '').split(',').map(name => name.trim());
  return names.includes('otlp') || names.every(name => name === '');
}

function count(text: string | undefined): number | undefined {
  const value = Number(text?.trim() || Number.NaN);
  return Number.isInteger(value) && value >= 0 ? value : undefined;
}

function samplerFrom({ OTEL_TRACES_SAMPLER: name = '', OTEL_TRACES_SAMPLER_ARG: argument }: Env) {
  const { AlwaysOnSampler, AlwaysOffSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = sdk.plain;
  const ratio = Number(argument?.trim() || 1);
  const root = /always_off$/.test(name)
    ? new AlwaysOffSampler()
    : /traceidratio$/.test(name)
      ? new TraceIdRatioBasedSampler(ratio >= 0 && ratio <= 1 ? ratio : 1)
      : new AlwaysOnSampler();
  return name === '' || name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function spanLimitsFrom(env: Env) {
  const limits = {
    attributeCountLimit: count(env.OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT) ?? count(env.OTEL_ATTRIBUTE_COUNT_LIMIT),
    attributeValueLengthLimit:
      count(env.OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT) ?? count(env.OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT),
    linkCountLimit: count(env.OTEL_SPAN_LINK_COUNT_LIMIT),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

// ------------------------------------------------------------ providers

function batching(exporter: CountedExporter, env: Env): BridgeSpanProcessor {
  const settings = {
    maxQueueSize: count(env.OTEL_BSP_MAX_QUEUE_SIZE),
    maxExportBatchSize: count(env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE),
    scheduledDelayMillis: count(env.OTEL_BSP_SCHEDULE_DELAY),
    exportTimeoutMillis: count(env.OTEL_BSP_EXPORT_TIMEOUT),
  };
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  const { BatchSpanProcessor } = sdk.plain as unknown as {
    BatchSpanProcessor: new (exporter: object, settings?: object) => BridgeSpanProcessor;
  };
  return new BatchSpanProcessor(Object.assign(exporter, set), set);
}

function tracerProviderOf(
  spanProcessors: readonly BridgeSpanProcessor[],
  sampler: object,
  resource: object,
  env: Env,
): BridgeTracerProvider & Disposable {
  const { NodeTracerProvider } = (sdk.node ?? {}) as { NodeTracerProvider?: ProviderOf<BridgeTracerProvider> };
  const { TracerProvider } = sdk.plain as unknown as { TracerProvider?: ProviderOf<BridgeTracerProvider> };
  const Provider = NodeTracerProvider ?? TracerProvider;
  if (Provider === undefined) throw new Error(`otel-hooks/sdk needs ${needed.plain}, or a newer version`);
  const idGenerator = new SessionIdGenerator();
  return new Provider({ spanProcessors, sampler, resource, idGenerator, spanLimits: spanLimitsFrom(env) });
}

type ProviderOf<T> = new (config: object) => T & Disposable;

function loggerProviderOf(connection: Connection | undefined, resource: object): BridgeLoggerProvider & Disposable {
  const { LoggerProvider, BatchLogRecordProcessor } = sdk.logs as unknown as {
    LoggerProvider: ProviderOf<BridgeLoggerProvider>;
    BatchLogRecordProcessor: new (exporter: object) => object;
  };
  const exporter = connection && new sdk.logExporter.OTLPLogExporter(connection);
  // As for spans, newer versions take an object with the exporter.
  const processors = exporter ? [new BatchLogRecordProcessor(Object.assign(exporter, { exporter }))] : [];
  return new LoggerProvider({ processors, resource });
}

function meterProviderOf(
  connection: Connection | undefined,
  resource: object,
  exportIntervalMillis: number,
): BridgeMeterProvider & Disposable {
  const { MeterProvider, PeriodicExportingMetricReader } = sdk.metrics as unknown as {
    MeterProvider: ProviderOf<BridgeMeterProvider>;
    PeriodicExportingMetricReader: new (options: object) => object;
  };
  const exporter = connection && new sdk.metricExporter.OTLPMetricExporter(connection);
  const exportTimeoutMillis = Math.min(exportIntervalMillis, 30_000);
  const readers = exporter
    ? [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis })]
    : [];
  return new MeterProvider({ readers, resource });
}

/** Registers the providers. `NodeTracerProvider` also sets the context manager and the propagator. */
function registerAll(tracers: object, loggers: object, meters: object): void {
  const { register } = tracers as { register?: () => void };
  if (register === undefined) sdk.api.trace.setGlobalTracerProvider(tracers as never);
  else register.call(tracers);
  sdk.api.metrics.setGlobalMeterProvider(meters as never);
  // The API has the logs since version 1.10. For older versions, there is a separate package.
  const { logs } = sdk.api as { logs?: { setGlobalLoggerProvider(provider: never): unknown } };
  (logs ?? sdk.logsApi?.logs)?.setGlobalLoggerProvider(loggers as never);
}
