/**
 * Reads the providers that an application registered with `@opentelemetry/api`. The API stores them under symbols that
 * are the same for all its copies and versions, so the bridge finds them without importing the application's copy.
 */
import type {
  BridgeLoggerProvider,
  BridgeMeterProvider,
  BridgeSpanContext,
  BridgeTracerProvider,
} from './otel-interfaces.ts';

/** A context of the API. Values are found by symbols. */
export interface OtelContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): OtelContext;
  deleteValue(key: symbol): OtelContext;
}

interface Registered {
  trace?: BridgeTracerProvider;
  metrics?: BridgeMeterProvider;
  /** Since version 1.10. */
  logs?: BridgeLoggerProvider;
  context?: { active(): OtelContext; with(context: OtelContext, run: () => void): void };
  diag?: { warn(message: string, ...more: unknown[]): void };
}

const API = Symbol.for('opentelemetry.js.api.1');
const LOGS = Symbol.for('io.opentelemetry.js.api.logs');
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');
const SUPPRESS_TRACING = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING');
/** The version of the contract between copies of the logs API. */
const LOGS_CONTRACT = 1;

const registered = (): Registered => (globalThis as { [API]?: Registered })[API] ?? {};

export const globalTracerProvider = (): BridgeTracerProvider | undefined => registered().trace;
export const globalMeterProvider = (): BridgeMeterProvider | undefined => registered().metrics;
export const globalLoggerProvider = (): BridgeLoggerProvider | undefined =>
  registered().logs ?? (globalThis as { [LOGS]?: (version: number) => BridgeLoggerProvider })[LOGS]?.(LOGS_CONTRACT);

/** Writes to the application's diagnostic logger, if it set one. */
export const warn = (message: string): void => registered().diag?.warn(message);

/** Returns the context of the span that is active at the call. */
export function activeSpanContext(): BridgeSpanContext | undefined {
  const span = registered().context?.active().getValue(SPAN) as { spanContext(): BridgeSpanContext } | undefined;
  return span?.spanContext();
}

/** Calls `run` in a context in which instrumentations make no spans of requests. */
export function withoutTracing(run: () => void): void {
  const { context } = registered();
  if (context === undefined) run();
  else context.with(context.active().setValue(SUPPRESS_TRACING, true), run);
}

class PlainContext implements OtelContext {
  readonly #values: ReadonlyMap<symbol, unknown>;

  constructor(values: ReadonlyMap<symbol, unknown>) {
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key);
  }

  setValue(key: symbol, value: unknown): OtelContext {
    return new PlainContext(new Map(this.#values).set(key, value));
  }

  deleteValue(key: symbol): OtelContext {
    const values = new Map(this.#values);
    values.delete(key);
    return new PlainContext(values);
  }
}

const ROOT: OtelContext = new PlainContext(new Map());

/** Returns a context in which `span` is the parent; without `span`, a context without a parent. */
export const contextOf = (span: BridgeSpanContext | undefined): OtelContext =>
  span === undefined ? ROOT : ROOT.setValue(SPAN, { spanContext: () => span, isRecording: () => false });
