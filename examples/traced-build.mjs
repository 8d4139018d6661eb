/**
 * A build step with OpenTelemetry: runs a command inside a span whose parent is the variable TRACEPARENT. Without the
 * variable, the span is the root of a trace of its own.
 *
 *     OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 node traced-build.mjs npm run build
 */
import { spawnSync } from 'node:child_process';
import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const [program = 'true', ...words] = process.argv.slice(2);
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
// Registers the propagator of W3C Trace Context.
provider.register();

const carrier = { traceparent: process.env.TRACEPARENT ?? '', tracestate: process.env.TRACESTATE ?? '' };
const parent = propagation.extract(context.active(), carrier);
const span = trace.getTracer('traced-build').startSpan(`build ${program}`, {}, parent);
const { status } = spawnSync(program, words, { stdio: 'inherit' });
span.setAttribute('process.exit.code', status ?? -1);
if (status !== 0) span.setStatus({ code: SpanStatusCode.ERROR });
span.end();
// A collector that does not answer is no fault of the build.
await provider.shutdown().catch(() => undefined);

console.log(`trace ${span.spanContext().traceId}`);
process.exitCode = status ?? 1;
