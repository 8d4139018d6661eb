/**
 * Langfuse's own span processor beside the exporter of the application: both get the spans of agents.
 *
 * The processor sets fields of its own when a span starts, so it gets spans of a real tracer: of a `NodeTracerProvider` that
 * has `SessionIdGenerator`, which gives the spans the ids that otel-hooks computes.
 */
import { LangfuseSpanProcessor, type LangfuseSpanProcessorParams } from '@langfuse/otel';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { NodeTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { type Bridge, createBridge, SessionIdGenerator } from 'otel-hooks';

export function createLangfuseBridge(
  langfuse: LangfuseSpanProcessorParams,
  others: SpanProcessor[] = [],
): { bridge: Bridge; provider: NodeTracerProvider } {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop' }),
    idGenerator: new SessionIdGenerator(),
    spanProcessors: [new LangfuseSpanProcessor(langfuse), ...others],
  });
  const bridge = createBridge({
    tracerProvider: provider,
    loggerProvider: false,
    meterProvider: false,
    // Langfuse shows prompts and answers; secrets in them are removed before.
    content: { prompt: 'redacted', response: 'redacted' },
  });
  return { bridge, provider };
}
