/**
 * The parts of OpenTelemetry's public interfaces that the bridge calls. They list no more than that, so that objects of
 * SDK 1, 2 and 3 fit, and no OpenTelemetry package has to be installed for the types.
 */

/** An attribute value, as OpenTelemetry defines it. */
export type BridgeAttributeValue =
  | string
  | number
  | boolean
  | readonly (string | null | undefined)[]
  | readonly (number | null | undefined)[]
  | readonly (boolean | null | undefined)[];

export interface BridgeAttributes {
  [name: string]: BridgeAttributeValue | undefined;
}

/** Seconds since 1970, and nanoseconds. */
export type BridgeTime = [seconds: number, nanoseconds: number];

export interface BridgeSpanContext {
  readonly traceId: string;
  readonly spanId: string;
  /** 1: sampled. */
  readonly traceFlags: number;
}

export interface BridgeLink {
  context: BridgeSpanContext;
  attributes?: BridgeAttributes | undefined;
}

/** A finished span. `onSpan` may change its name, attributes, links and status. */
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

/** A tracer provider: `NodeTracerProvider`, `TracerProvider` of SDK 3, or the provider of `trace.getTracerProvider()`. */
export interface BridgeTracerProvider {
  getTracer(name: string, version?: string): BridgeTracer;
  forceFlush?(): Promise<void>;
}

export interface BridgeTracer {
  startSpan(name: string, options?: object, context?: never): BridgeTracerSpan;
}

/** A span of a tracer. */
export interface BridgeTracerSpan {
  spanContext(): BridgeSpanContext;
  isRecording(): boolean;
  setAttributes(attributes: never): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  updateName(name: string): unknown;
  end(endTime?: BridgeTime): void;
}

/** A span processor of any SDK. */
export interface BridgeSpanProcessor {
  onStart?(span: never, parentContext: never): void;
  onEnd(span: never): void;
  forceFlush(): Promise<void>;
}

/** A span exporter of any SDK. */
export interface BridgeSpanExporter {
  export(spans: never, done: (result: { code: number; error?: Error }) => void): void;
  forceFlush?(): Promise<void>;
}

/** A logger provider of any SDK. */
export interface BridgeLoggerProvider {
  getLogger(name: string, version?: string): { emit(record: object): void };
  forceFlush?(): Promise<void>;
}

/** A meter provider of any SDK. */
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

/** A sampler of any SDK. */
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

/** A resource of any SDK, or its attributes. */
export interface BridgeResource {
  readonly attributes: { readonly [name: string]: unknown };
}
