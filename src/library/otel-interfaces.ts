/**
 * The parts of OpenTelemetry's public interfaces that the bridge calls. They contain only these parts, so that objects
 * of SDK 1, 2 and 3 match, and the types need no OpenTelemetry package.
 */

/**
 * An attribute value, as OpenTelemetry defines it.
 *
 * @example
 * ```ts
 * const value: BridgeAttributeValue = ['a', 'b'];
 * ```
 */
export type BridgeAttributeValue =
  | string
  | number
  | boolean
  | readonly (string | null | undefined)[]
  | readonly (number | null | undefined)[]
  | readonly (boolean | null | undefined)[];

/**
 * Attributes of a span or a link.
 *
 * @example
 * ```ts
 * const attributes: BridgeAttributes = { team: 'checkout' };
 * ```
 */
export interface BridgeAttributes {
  [name: string]: BridgeAttributeValue | undefined;
}

/**
 * Seconds since 1970, and nanoseconds.
 *
 * @example
 * ```ts
 * const msOf = ([seconds, nanoseconds]: BridgeTime): number => seconds * 1000 + nanoseconds / 1e6;
 * ```
 */
export type BridgeTime = [seconds: number, nanoseconds: number];

/**
 * The ids of a span.
 *
 * @example
 * ```ts
 * const isSampled = ({ traceFlags }: BridgeSpanContext): boolean => (traceFlags & 1) === 1;
 * ```
 */
export interface BridgeSpanContext {
  readonly traceId: string;
  readonly spanId: string;
  /** 1: sampled. */
  readonly traceFlags: number;
}

/**
 * A link of a span to another span.
 *
 * @example
 * ```ts
 * const traceOf = ({ context }: BridgeLink): string => context.traceId;
 * ```
 */
export interface BridgeLink {
  context: BridgeSpanContext;
  attributes?: BridgeAttributes | undefined;
}

/**
 * A finished span. `onSpan` may change its name, attributes, links and status.
 *
 * @example
 * ```ts
 * const onSpan = (span: BridgeSpan): void => {
 *   span.attributes.team = 'checkout';
 * };
 * ```
 */
export interface BridgeSpan {
  name: string;
  readonly kind: number;
  spanContext(): BridgeSpanContext;
  readonly parentSpanContext?: BridgeSpanContext | undefined;
  readonly startTime: BridgeTime;
  readonly endTime: BridgeTime;
  status: { code: number; message?: string };
  attributes: BridgeAttributes;
  links: BridgeLink[];
}

/**
 * A tracer provider: `NodeTracerProvider`, `TracerProvider` of SDK 3, or the provider of `trace.getTracerProvider()`.
 *
 * @example
 * ```ts
 * const provider: BridgeTracerProvider = new NodeTracerProvider({ idGenerator: new SessionIdGenerator() });
 * ```
 */
export interface BridgeTracerProvider {
  getTracer(name: string, version?: string): BridgeTracer;
  forceFlush?(): Promise<void>;
}

/**
 * A tracer of any SDK.
 *
 * @example
 * ```ts
 * const tracer: BridgeTracer = new NodeTracerProvider().getTracer('shop');
 * ```
 */
export interface BridgeTracer {
  startSpan(name: string, options?: object, context?: never): BridgeTracerSpan;
}

/**
 * A span of a tracer.
 *
 * @example
 * ```ts
 * const rename = (span: BridgeTracerSpan): void => void span.updateName('checkout');
 * ```
 */
export interface BridgeTracerSpan {
  spanContext(): BridgeSpanContext;
  isRecording(): boolean;
  setAttributes(attributes: never): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  updateName(name: string): unknown;
  end(endTime?: BridgeTime): void;
}

/**
 * A span processor of any SDK.
 *
 * @example
 * ```ts
 * const processor: BridgeSpanProcessor = new SimpleSpanProcessor(new ConsoleSpanExporter());
 * ```
 */
export interface BridgeSpanProcessor {
  onStart?(span: never, parentContext: never): void;
  onEnd(span: never): void;
  forceFlush(): Promise<void>;
}

/**
 * A span exporter of any SDK.
 *
 * @example
 * ```ts
 * const exporter: BridgeSpanExporter = new InMemorySpanExporter();
 * ```
 */
export interface BridgeSpanExporter {
  export(spans: never, done: (result: { code: number; error?: Error }) => void): void;
  forceFlush?(): Promise<void>;
}

/**
 * A logger provider of any SDK.
 *
 * @example
 * ```ts
 * const loggerProvider: BridgeLoggerProvider = new LoggerProvider();
 * ```
 */
export interface BridgeLoggerProvider {
  getLogger(name: string, version?: string): { emit(record: object): void };
  forceFlush?(): Promise<void>;
}

/**
 * A meter provider of any SDK.
 *
 * @example
 * ```ts
 * const meterProvider: BridgeMeterProvider = new MeterProvider();
 * ```
 */
export interface BridgeMeterProvider {
  getMeter(
    name: string,
    version?: string,
  ): {
    createCounter(name: string, options?: object): { add(value: number, attributes?: object): void };
    createHistogram(name: string, options?: object): { record(value: number, attributes?: object): void };
  };
  forceFlush?(): Promise<void>;
}

/**
 * A sampler of any SDK.
 *
 * @example
 * ```ts
 * const sampler: BridgeSampler = new TraceIdRatioBasedSampler(0.1);
 * ```
 */
export interface BridgeSampler {
  shouldSample(
    context: never,
    traceId: string,
    spanName: string,
    spanKind: number,
    attributes: never,
    links: never,
  ): { decision: number; attributes?: object };
}

/**
 * A resource of any SDK, or its attributes.
 *
 * @example
 * ```ts
 * const resource: BridgeResource = { attributes: { 'service.name': 'shop' } };
 * ```
 */
export interface BridgeResource {
  readonly attributes: { readonly [name: string]: unknown };
}
